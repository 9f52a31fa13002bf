"""What the parts of `make hostile` share: the score, the clock, changed files, and a command that must end well."""

from __future__ import annotations

import contextlib
import faulthandler
import io
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CORPUS = ROOT / "fuzz" / "corpus"
HALTERE = [sys.executable, "-m", "haltere"]
#: A try that takes longer has fallen: its process says where it is, and ends. That needs neither the interpreter nor its lock.
ALARM_S = 60


class Score:
    """What a part tried, what it reached, and what fell. A part ends when its work is done or its time is up."""

    def __init__(self, seconds: float = float("inf"), keep: Path | None = None) -> None:
        self.tried = 0
        #: Tries that were not refused.
        self.accepted = 0
        self.fallen: list[str] = []
        self.end = time.monotonic() + seconds
        #: What was reached, how often; and what must be.
        self.reached: Counter[str] = Counter()
        self.needed: set[str] = set()
        self.keep = keep

    def trying(self, text: str) -> None:
        """Keeps the input: if it ends the process, nothing else says what it was."""
        if self.keep:
            self.keep.write_text(text)

    def end_part(self) -> None:
        """A part that never came behind a reader, or never to a name, has shown nothing."""
        if self.tried > 20 and not self.accepted:
            self.fallen.append("every try was refused: what is behind the reader was not reached")
        if missing := sorted(self.needed - self.reached.keys()):
            self.fallen.append(f"never reached: {', '.join(missing)}")

    def tries(self, most: int, least: int = 1) -> Iterator[int]:
        """The numbers of the tries: at most so many, and after the least none once the time is up."""
        for i in range(most):
            if i >= least and time.monotonic() > self.end:
                return
            yield i

    @contextlib.contextmanager
    def one(self, name: str, *fine: type[BaseException], count: int = 1) -> Iterator[None]:
        """One try, or several that stand and fall together: it may end well, or with one of these errors."""
        self.tried += count
        faulthandler.dump_traceback_later(ALARM_S, exit=True, file=sys.__stderr__)
        try:
            yield
            self.accepted += count
        except fine:
            pass
        except BaseException as error:
            self.fallen += [f"{name}: {type(error).__name__}: {str(error)[:200]}"] * count
        finally:
            faulthandler.cancel_dump_traceback_later()


Part = Callable[[Score, random.Random, Path], None]
#: Each part: its row in the table, what it does, its share of the time, and with how many random seeds it is done.
PARTS: dict[str, tuple[str, Part, float, int]] = {}


class Missing(Exception):
    """A part needs what this machine does not have."""


def part(what: str, share: float = 1, seeds: int = 1) -> Callable[[Part], Part]:
    """Registers a part."""

    def register(does: Part) -> Part:
        PARTS[does.__name__] = (what, does, share, seeds)
        return does

    return register


def corpus(target: str) -> list[bytes]:
    """The files of a fuzz target."""
    return [path.read_bytes() for path in sorted((CORPUS / target).iterdir())]


WORDS = [
    b"0", b"-1", b"1e300", b"18446744073709551616", b'"\\u0000"', b"[]", b"{}", b"true", b'"1bdp"', b"null", b'"99999999999s"', b"\xff",
]  # fmt: skip


def mutated(files: Sequence[bytes], draw: random.Random) -> bytes:
    """One of the files with one to four changes."""
    data = bytearray(draw.choice(files))
    for _ in range(draw.randint(1, 4)):
        at = draw.randrange(len(data) + 1)
        span = data[at : at + draw.randrange(1, 20)]
        match draw.randrange(6):
            case 0:
                del data[at : at + len(span)]
            case 1:
                data[at:at] = span
            case 2:
                other = draw.choice(files)
                start = draw.randrange(len(other) + 1)
                data[at:at] = other[start : start + 20]
            case 3:
                data[at:at] = draw.choice(WORDS)
            case 4 if at < len(data):
                data[at] = draw.randrange(256)
            case _ if at < len(data):
                data[at] ^= 1 << draw.randrange(8)
    return bytes(data)


EXPERIMENT = """\
title = "Attack"
duration = "2s"
seeds = 2
[topology.dumbbell]
pairs = 1
access = { rate = "100Mbit", delay = "1ms" }
bottleneck = { delay = "5ms", BOTTLENECK }
[[traffic]]
kind = "TRAFFIC
"""


def experiment(bottleneck: str = 'rate = "10Mbit"', traffic: str = 'bulk"') -> str:
    """A small experiment."""
    return EXPERIMENT.replace("BOTTLENECK", bottleneck).replace("TRAFFIC", traffic)


def command(score: Score, line: Sequence[str], folder: Path, fine: set[int]) -> None:
    """A command in this process, which is far quicker than one of its own: its status is one of these, and an error is one line."""
    from haltere import cli

    out, err = io.StringIO(), io.StringIO()
    with score.one(" ".join(line)):
        here = Path.cwd()
        os.chdir(folder)
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                status = cli.main(list(line))
        except SystemExit as error:
            status = error.code if isinstance(error.code, int) else 1
        finally:
            os.chdir(here)
        told = err.getvalue()
        assert status in fine, f"status {status}: {told[-300:]}"
        assert "Traceback" not in told and "this is a bug" not in told, told[-300:]
        assert all(len(one) < 1100 for one in told.splitlines()), "a line over 1,000 characters"
