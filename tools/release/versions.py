"""Whether all files name the same version: `python tools/release/versions.py [--release]`.

Cargo.toml has the version. The package takes it from there. `CITATION.cff` and the newest version of the changelog must agree. With
``--release`` the changelog must also have no unreleased changes, and its newest version a date.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def versions(root: Path) -> dict[str, str]:
    """The version that each file names."""
    cargo = tomllib.loads((root / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    citation = re.search(r"^version: [\"']?([^\s\"']+)", (root / "CITATION.cff").read_text(), re.MULTILINE)
    headings = re.findall(r"^## \[(\d[^\]]*)\]", (root / "CHANGELOG.md").read_text(), re.MULTILINE)
    door = tomllib.loads((root / "kernel/door/Cargo.toml").read_text())["package"]["version"]
    return {
        "Cargo.toml": str(cargo),
        "pyproject.toml": str(project["version"]) if "version" in project else str(cargo),
        "CITATION.cff": citation[1] if citation else "none",
        "CHANGELOG.md": headings[0] if headings else "none",
        "kernel/door/Cargo.toml": str(door),
    }


def faults(root: Path, *, release: bool) -> list[str]:
    """What is wrong, a line each."""
    named = versions(root)
    wanted = named["Cargo.toml"]
    wrong = [
        f"{file}: version must be {wanted}, as in Cargo.toml, got {got}" for file, got in named.items() if got != wanted
    ]
    changelog = (root / "CHANGELOG.md").read_text()
    heading = re.search(rf"^## \[{re.escape(wanted)}\](.*)$", changelog, re.MULTILINE)
    date = re.fullmatch(r" - (\d{4}-\d{2}-\d{2})", heading[1]) if heading else None
    if heading and not date:
        wrong.append(
            f"CHANGELOG.md: [{wanted}] must have a date, as in `## [{wanted}] - 2026-01-31`, got `{heading[0]}`"
        )
    cited = re.search(r"^date-released: [\"']?([\d-]+)", (root / "CITATION.cff").read_text(), re.MULTILINE)
    if date and (not cited or cited[1] != date[1]):
        wrong.append(
            f"CITATION.cff: date-released must be {date[1]}, as in CHANGELOG.md, got {cited[1] if cited else 'none'}"
        )
    unreleased = re.search(r"^## \[Unreleased\]\n(.*?)(?=^## \[|\Z)", changelog, re.MULTILINE | re.DOTALL)
    if unreleased is None:
        wrong.append("CHANGELOG.md: it must have a section [Unreleased], got none")
    elif release and unreleased[1].strip():
        wrong.append(
            "CHANGELOG.md: [Unreleased] must be empty in a release, got changes; give them a version and a date"
        )
    return wrong


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Whether all files name the same version.")
    parser.add_argument("--release", action="store_true", help="nothing may be unreleased")
    wrong = faults(ROOT, release=parser.parse_args(arguments).release)
    print(*(wrong or [f"every file names {versions(ROOT)['Cargo.toml']}"]), sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
