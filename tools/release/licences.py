"""Licences of all that comes from others, against the list that `deny.toml` allows, and which packages nothing could be said of.

`make supply` runs it; a test runs it, too. Crates: what `cargo metadata` says of each, without a network. Python packages: the metadata of
those locked packages that are installed. Advisories need a database from the network: `cargo deny check advisories` has one.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "reliability"))
from locked import locked  # noqa: E402

#: Licences of Python packages beside those of crates: none asks for more than a notice, or for more than its own files as they are.
PYTHON = {"BSD-3-Clause", "PSF-2.0", "MPL-2.0", "0BSD", "MIT-CMU", "MIT-0", "ISC"}
#: Packages whose metadata names no licence; their licence files do.
STATED = {"pyftpdlib": "MIT"}
#: Another licence, of what work on Haltere needs and no user gets.
TOOLS_ALONE = {"codespell": "GPL-2.0-only", "flent": "GNU GPLv3"}
#: What metadata says in words, as SPDX says it.
WORDS = {
    "apache": "Apache-2.0", "apache 2.0": "Apache-2.0", "apache license 2.0": "Apache-2.0", "apache license, version 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0", "bsd": "BSD-3-Clause", "bsd license": "BSD-3-Clause", "bsd 3-clause": "BSD-3-Clause",
    "isc license (iscl)": "ISC", "mit license": "MIT", "the mit license": "MIT", "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0", "psf": "PSF-2.0",
    "python software foundation license": "PSF-2.0", "gnu general public license v2 (gplv2)": "GPL-2.0-only",
}  # fmt: skip


def allowed(expression: str, licences: set[str]) -> bool:
    """Whether an SPDX expression can be met with these licences: one side of each OR, both of each AND.

    >>> allowed("(MIT OR GPL-3.0) AND Zlib", {"MIT", "Zlib"}), allowed("MIT/Apache-2.0", {"MIT"}), allowed("GPL-3.0 AND MIT", {"MIT"})
    (True, True, False)
    """
    words = re.findall(r"\(|\)|[^\s()]+", expression.replace("/", " OR "))
    joined: list[str] = []
    for word in words:  # an exception belongs to its licence
        if word == "WITH" or (joined and joined[-1].endswith(" WITH")):
            joined[-1] += f" {word}"
        else:
            joined.append(word)
    logic = {"AND": "and", "OR": "or", "(": "(", ")": ")"}
    return bool(
        eval(" ".join(logic.get(word, str(word in licences)) for word in joined))
    )  # of True, False, and, or, brackets


def crates() -> dict[str, str]:
    """Each crate of a registry with its licence expression."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--offline"]
    told = json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout)
    return {f"{one['name']} {one['version']}": one["license"] or "" for one in told["packages"] if one["source"]}


def packages() -> tuple[dict[str, str], list[str]]:
    """Each locked Python package that is installed with its licence; and the names of those that are not."""
    found, missing = {}, []
    for name in locked((ROOT / "requirements-lock.txt").read_text()):
        try:
            found[name] = _licence(metadata.metadata(name)) or STATED.get(name, "")
        except metadata.PackageNotFoundError:
            missing.append(name)
    return found, missing


def _licence(told: metadata.PackageMetadata) -> str:
    given: Mapping[str, str | None] = {key: told.get(key) for key in ("License-Expression", "License")}  # type: ignore[attr-defined]
    classified = [one.rpartition(" :: ")[2] for one in told.get_all("Classifier") or () if one.startswith("License :: ") and one.count(" :: ") > 1]  # fmt: skip
    for text in (given["License-Expression"], *classified, given["License"]):
        line = (text or "").strip().partition("\n")[0]
        if line and line not in ("OSI Approved", "UNKNOWN"):
            return WORDS.get(line.lower(), line)
    return ""


def refused() -> Iterator[str]:
    """A sentence for each package whose licence is not among those allowed."""
    licences = set(tomllib.loads((ROOT / "deny.toml").read_text())["licenses"]["allow"])
    for name, licence in crates().items():
        if not allowed(licence or "none", licences):
            yield f"crate {name}: licence must be one that deny.toml allows, got `{licence or 'none'}`"
    for name, licence in packages()[0].items():
        if TOOLS_ALONE.get(name) != licence and not allowed(licence or "none", licences | PYTHON):
            yield f"package {name}: licence must be one of tools/release/licences.py, got `{licence or 'none'}`"


def main() -> int:
    """Prints what is wrong, and what could not be looked at."""
    wrong = list(refused())
    found, missing = packages()
    print("\n".join(wrong) or f"licences: {len(crates())} crates and {len(found)} Python packages, all allowed")
    if missing:
        print(f"licences: not installed, so not looked at: {', '.join(missing)}")
    print(
        "advisories: not checked here; `cargo deny check advisories` and a scan of requirements-lock.txt need a network"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
