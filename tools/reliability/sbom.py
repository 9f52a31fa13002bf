"""A bill of materials in CycloneDX 1.5: every locked crate and Python package, with its hash. `make supply` runs it."""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from locked import ROOT, locked


def components() -> list[dict[str, Any]]:
    """Crates of Cargo.lock that come from a registry, then packages of requirements-lock.txt."""
    crates = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    out: list[dict[str, Any]] = [
        {
            "type": "library", "name": one["name"], "version": one["version"], "purl": f"pkg:cargo/{one['name']}@{one['version']}",
            "hashes": [{"alg": "SHA-256", "content": one["checksum"]}],
        }
        for one in crates
        if "checksum" in one
    ]  # fmt: skip
    for name, (version, _) in locked((ROOT / "requirements-lock.txt").read_text()).items():
        out.append({"type": "library", "name": name, "version": version, "purl": f"pkg:pypi/{name}@{version}"})
    return out


def main(arguments: Sequence[str]) -> int:
    """Writes it."""
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    found = components()
    bom = {
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "metadata": {"component": {"type": "application", "name": "haltere", "version": version}},
        "components": found,
    }  # fmt: skip
    Path(arguments[0]).write_text(json.dumps(bom, indent=1) + "\n")
    print(f"{arguments[0]}: {len(found)} components")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
