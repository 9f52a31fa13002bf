"""The lines of each crate that its tests reach, after `cargo llvm-cov --no-report`. `make coverage` runs it.

`cargo llvm-cov report` reads all test programs together. If one of them has a function and does not call it, the function may count as not
reached although another program calls it. So here each program is read by itself, and a line is reached if one of them reaches it.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

#: Per cent of the lines of a crate. Fewer is a failure.
LEAST = 90.0
#: What cargo says of a program that it starts.
RUNNING = re.compile(r"^ +Running .* \((\S+)\)$", re.MULTILINE)


def reached(tools: Path, programs: Sequence[Path], folder: Path) -> dict[str, dict[int, bool]]:
    """By file: each line with code, and whether a program reached it."""
    profile = folder / "covered.profdata"
    raw = sorted(folder.glob("*.profraw"))
    subprocess.run([tools / "llvm-profdata", "merge", "-sparse", *raw, "-o", profile], check=True)
    lines: dict[str, dict[int, bool]] = defaultdict(dict)
    for program in programs:
        line = [tools / "llvm-cov", "export", "-format=lcov", f"-instr-profile={profile}", program]
        file: dict[int, bool] = {}
        told = subprocess.run(line, capture_output=True, text=True, check=False)
        if told.returncode and "no coverage data" not in told.stderr:  # a program may have no tests
            raise SystemExit(told.stderr)
        for one in told.stdout.splitlines():
            key, _, value = one.partition(":")
            if key == "SF":
                file = lines[value]
            elif key == "DA":
                number, count = map(int, value.split(",")[:2])
                file[number] = file.get(number, False) or count > 0
    return lines


def main(arguments: Sequence[str]) -> int:
    """Prints a line a crate, and each file below the limit. Arguments: what cargo said, and the crates."""
    programs = [Path(one) for one in RUNNING.findall(Path(arguments[0]).read_text(encoding="utf-8"))]
    library = subprocess.run(["rustc", "--print", "target-libdir"], capture_output=True, text=True, check=True).stdout
    lines = reached(Path(library.strip()).parent / "bin", programs, programs[0].parents[2])
    status = 0
    for crate in arguments[1:]:
        place = f"/crates/haltere-{crate}/src/"
        own = {file.split(place)[1]: list(some.values()) for file, some in lines.items() if place in file}
        count = sum(map(len, own.values()))
        part = 100 * sum(map(sum, own.values())) / max(count, 1)
        print(f"{crate:12} {part:5.1f} % of {count} lines")
        for name, some in sorted(own.items()):
            if 100 * sum(some) < LEAST * len(some):
                print(f"  {name}: {100 * sum(some) / len(some):.1f} % of {len(some)}")
        status |= part < LEAST
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
