"""The lines of each crate that its tests reach, from the JSON of cargo-llvm-cov on standard input. `make coverage` runs it."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

#: Per cent of the lines of a crate. Fewer is a failure.
LEAST = 90.0


def main(arguments: Sequence[str]) -> int:
    """Prints a line a crate, and each file below the limit."""
    files = json.load(sys.stdin)["data"][0]["files"]
    status = 0
    for crate in arguments:
        place = f"/crates/haltere-{crate}/src/"
        own = {one["filename"].split(place)[1]: one["summary"]["lines"] for one in files if place in one["filename"]}
        count, covered = (sum(lines[key] for lines in own.values()) for key in ("count", "covered"))
        part = 100 * covered / max(count, 1)
        print(f"{crate:12} {part:5.1f} % of {count} lines")
        for name, lines in sorted(own.items()):
            if lines["percent"] < LEAST:
                print(f"  {name}: {lines['percent']:.1f} % of {lines['count']}")
        status |= part < LEAST
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
