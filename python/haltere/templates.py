"""The experiments that `haltere new` writes: commented files, which are also the gallery and run as tests.

Each file begins with a comment: a line with what it is, a paragraph that says what one learns, and the commands that run and draw it, each
indented by three spaces. A new one is a file in ``python/haltere/examples`` and an entry of ``SECTIONS``.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from .errors import InputError, nearest
from .starters import KINDS

FOLDER = Path(__file__).parent / "examples"

#: The files by subject, in the order in which they are listed.
SECTIONS: dict[str, tuple[str, ...]] = {
    "Congestion controls": ("bbr-vs-cubic", "rtt-fairness", "ledbat", "satellite", "thousand-flows"),
    "Queues": ("bufferbloat", "rrul", "rrul_be", "tcp_nup", "rtt_fair", "aqm-shootout", "ecn-aqm", "l4s", "rafle"),
    "Traffic": ("web", "video", "short-flows"),
    "Paths": ("access", "cellular", "outage", "cell", "wifi-airtime", "rate-change", "asymmetric", "multipath"),
    "Data centres": ("incast", "dctcp-fabric"),
    "Method": ("precision", "sweep-dask"),
}


@dataclass(frozen=True)
class Template:
    """One of the files."""

    name: str

    @cached_property
    def path(self) -> Path:
        """Its path in the package."""
        return next(
            FOLDER / f"{self.name}{suffix}" for suffix in (".toml", ".py") if (FOLDER / f"{self.name}{suffix}").exists()
        )

    @cached_property
    def text(self) -> str:
        """The whole file."""
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def _comment(self) -> list[str]:
        lines = []
        for line in self.text.splitlines():
            if not line.startswith("#"):
                break
            lines.append(line.removeprefix("#").removeprefix(" "))
        return lines

    @property
    def title(self) -> str:
        """What it is, in a line without a full stop."""
        return self._comment[0].rstrip(".")

    @property
    def about(self) -> str:
        """What one learns: the first paragraph."""
        return self._paragraphs[1]

    @property
    def _paragraphs(self) -> list[str]:
        text = "\n".join(line if line.strip() else "" for line in self._comment)
        return [" ".join(part.split()) for part in text.split("\n\n")]

    @property
    def commands(self) -> list[list[str]]:
        """The commands that run and draw it, in words."""
        return [shlex.split(line) for line in self._comment if line.startswith("  ")]


def every() -> list[Template]:
    """All of them, in order."""
    return [Template(name) for names in SECTIONS.values() for name in names]


def find(name: str) -> Template:
    """The one of that name."""
    names = [one.name for one in every()]
    if name in names:
        return Template(name)
    raise InputError(f"template must be one that `haltere new` lists, got `{name}`{nearest(name, [*names, *KINDS], 3)}")
