"""Mutants of the queue disciplines and congestion controls, by cargo-mutants: `make mutants`.

cargo-mutants finds modules by their `mod` lines. A registry's macro declares those of the mechanisms, so it does not see them. In a copy of
the sources, each line of a registry gets a `mod` line beside it that the compiler ignores.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CRATES = ("queue", "congestion")
ENTRY = re.compile(r"^    (?P<module>[a-z0-9_]+) => [A-Z]\w*(?:<\w+>)?(?:, boxed)?;$", re.MULTILINE)
#: Files that hold registries.
REGISTRIES = ("src/lib.rs", "src/classify/mod.rs", "src/service/mod.rs", "src/service.rs")


def declared(text: str) -> str:
    """The text with a `mod` line for each module that a registry's macro declares. No compiler sees `cfg(any())`."""
    return text + "".join(f"\n#[cfg(any())]\nmod {found['module']};" for found in ENTRY.finditer(text)) + "\n"


def copied(to: Path) -> None:
    """The workspace, with the modules declared."""
    for name in ("Cargo.toml", "Cargo.lock", "crates", "tests", "fuzz", "p4"):
        source = ROOT / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, to / name)
    for crate in CRATES:
        for name in REGISTRIES:
            file = to / "crates" / f"haltere-{crate}" / name
            if file.exists():
                file.write_text(declared(file.read_text(encoding="utf-8")), encoding="utf-8")


def summary(out: Path) -> str:
    """Noticed and missed by file, then the missed ones."""
    outcomes = json.loads((out / "mutants.out" / "outcomes.json").read_text())["outcomes"]
    by_file: dict[str, dict[str, int]] = {}
    missed = []
    for one in outcomes:
        if one["scenario"] == "Baseline":
            continue
        mutant, what = one["scenario"]["Mutant"], one["summary"]
        by_file.setdefault(mutant["file"], {}).setdefault(what, 0)
        by_file[mutant["file"]][what] += 1
        if what == "MissedMutant":
            missed.append(f"  survived: {mutant['name']}")
    lines = []
    for file, counts in sorted(by_file.items()):
        caught, late = counts.get("CaughtMutant", 0), counts.get("Timeout", 0)
        # A mutant that never ends is noticed, but on a busy machine one that does may take too long.
        lines.append(
            f"{file}: {caught} of {caught + late + counts.get('MissedMutant', 0)} noticed, {late} took too long"
        )
    return "\n".join([*lines, *missed])


def main(arguments: Sequence[str]) -> int:
    """Tries a shard of the mutants, of all files or of some."""
    to = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    to.add_argument("--shard", default="1/24", help="which part of the mutants (1/24)")
    to.add_argument("--crate", choices=CRATES, action="append", help="one crate (both)")
    to.add_argument("--file", action="append", default=[], help="a file, as a pattern (all)")
    to.add_argument("--out", type=Path, default=ROOT / "target" / "mutants")
    to.add_argument("--list", action="store_true", help="list the mutants")
    given = to.parse_args(arguments)
    given.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="haltere-mutants-") as folder:
        copied(Path(folder))
        line = [
            "cargo",
            "mutants",
            "--in-place",
            "--no-shuffle",
            "--sharding",
            "round-robin",
            "--shard",
            given.shard,
            "-o",
            str(given.out.resolve()),
        ]
        line += [f"-phaltere-{crate}" for crate in given.crate or CRATES]
        line += [word for file in given.file for word in ("-f", file)]
        if given.list:
            return subprocess.run([*line, "--list"], cwd=folder, check=False).returncode
        # What was compiled is kept for the next time, and a mutant compiles one crate again.
        env = {**os.environ, "CARGO_TARGET_DIR": str(given.out.resolve() / "build"), "CARGO_INCREMENTAL": "1"}
        status = subprocess.run([*line, "--minimum-test-timeout", "300"], cwd=folder, env=env, check=False).returncode
    print(summary(given.out))
    # 2: some survived; 3: some took too long. The list says which.
    return 0 if status in (0, 2, 3) else status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
