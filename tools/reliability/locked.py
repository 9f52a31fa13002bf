"""Whether the locked Python packages satisfy pyproject.toml, and each has its hashes. `make supply` runs it.

The lock is made by: uv pip compile pyproject.toml --all-extras --generate-hashes --python-version 3.11 --universal -o requirements-lock.txt
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def locked(text: str) -> dict[str, tuple[str, int]]:
    """Version and number of hashes of each package."""
    found: dict[str, tuple[str, int]] = {}
    name = ""
    for line in text.splitlines():
        if match := re.match(r"([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==([^\s;\\]+)", line):
            name = match[1].lower().replace("_", "-")
            found[name] = (match[2], 0)
        if "--hash=sha256:" in line:
            found[name] = (found[name][0], found[name][1] + line.count("--hash=sha256:"))
    return found


def at_least(version: str, least: str) -> bool:
    """Whether a version is no lower: numbers are compared part by part."""
    parts = [[int(part) for part in re.findall(r"\d+", one)[:3]] for one in (version, least)]
    return parts[0] >= parts[1]


def main(arguments: Sequence[str]) -> int:
    """Compares the two files."""
    found = locked((ROOT / arguments[0]).read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = [*project["dependencies"], *(one for extra in project["optional-dependencies"].values() for one in extra)]
    wrong = [f"{name} {version}: no hash" for name, (version, hashes) in found.items() if not hashes]
    for one in asked:
        match = re.match(r"([A-Za-z0-9._-]+)(?:\[[^\]]*\])?(?:>=([0-9.]+))?", one)
        assert match is not None
        name = match[1].lower().replace("_", "-")
        if name not in found:
            wrong.append(f"{one}: not in the lock")
        elif match[2] and not at_least(found[name][0], match[2]):
            wrong.append(f"{one}: the lock has {found[name][0]}")
    print("\n".join(wrong) or f"{arguments[0]}: {len(found)} packages, each with hashes")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
