"""What other worlds gave for the same scenarios, beside the simulator's: rows that lie with the results, and their part of the page.

``haltere validate DIR --world NAME --beside`` writes ``DIR/NAME.csv``. The page of a directory shows every such file below it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..worlds import DEFAULT, WORLDS
from . import causes
from .causes import Cause
from .compare import Row, read_csv, write_csv


@dataclass(frozen=True)
class Beside:
    """The rows of another world by scenario and measure."""

    name: str
    title: str
    rows: dict[tuple[str, str], Row]

    def of(self, row: Row) -> Row | None:
        """Its row of the same measure."""
        return self.rows.get((row.case, row.measure))

    def outside(self) -> list[Row]:
        """Its rows that are far from Linux."""
        return [row for row in self.rows.values() if not row.inside]

    def agrees(self, row: Row) -> bool | None:
        """The simulator's value is within the row's tolerance of this world's; ``None``: one of them does not exist."""
        other = self.of(row)
        if other is None or other.ours is None or row.ours is None:
            return None
        return abs(row.ours - other.ours) <= row.tolerance


def write(rows: Sequence[Row], directory: Path, world: str) -> Path:
    """Adds the rows to the file of that world. Rows of scenarios that were run again are replaced."""
    path = directory / f"{world}.csv"
    again = {row.case for row in rows}
    kept = [row for row in read_csv(path) if row.case not in again] if path.is_file() else []
    write_csv(sorted([*kept, *rows], key=lambda row: (row.group, row.case)), path)
    return path


def load(directory: Path) -> list[Beside]:
    """What lies in a directory of results and below it, a world each."""
    found = []
    for name, kind in WORLDS.items():
        files = sorted(directory.rglob(f"{name}.csv")) if name != DEFAULT else []
        rows = {(row.case, row.measure): row for path in files for row in read_csv(path)}
        if rows:
            found.append(Beside(name, kind.title, rows))
    return found


def markdown(rows: Iterable[Row], worlds: Sequence[Beside], why: Sequence[Cause] = ()) -> list[str]:
    """A table of each world: by set, how many of its rows are inside, and how many of the simulator's are near it; then the causes of those outside."""
    every, lines = list(rows), []
    for world in worlds:
        lines += [f"## The simulator and the {world.title}", "", HEAD.format(title=world.title), ""]
        lines += [
            f"| set | rows of both | {world.title} near Linux | simulator near Linux | simulator near {world.title} |",
            "|---|--:|--:|--:|--:|",
        ]
        for group in [*dict.fromkeys(row.group for row in every), "all"]:
            own = [row for row in every if group in (row.group, "all") and world.agrees(row) is not None]
            if own:
                theirs = sum(other.inside for row in own if (other := world.of(row)))
                near = sum(world.agrees(row) is True for row in own)
                cells = [_share(n, len(own)) for n in (theirs, sum(row.inside for row in own), near)]
                lines.append(f"| {group} | {len(own)} | {' | '.join(cells)} |")
        lines.append("")
        if outside := world.outside():
            lines_of_causes = causes.markdown(outside, causes.of_world(why, world.name))
            lines += [f"Causes of the rows in which the {world.title} is far from Linux:", "", *lines_of_causes, ""]
    return lines


HEAD = """\
The kernel world runs the kernel's own TCP with Haltere's queues and links. "Near" is within the row's tolerance. If the {title} is far from Linux, the
cause is in a queue, a link or the set-up. If the simulator is far from the {title}, the cause is in TCP."""


def _share(some: int, of: int) -> str:
    return f"{some} ({100 * some / of:.0f} %)"
