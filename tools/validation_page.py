"""Makes the page of the validation, docs/validation.md, from the results measured on Linux.

python tools/validation_page.py validation/linux                   runs every scenario; also writes DIR/rows.csv, DIR/outside.md
python tools/validation_page.py validation/linux --rows            makes the page of the rows that are there
python tools/validation_page.py validation/linux --world kernel    adds to DIR/kernel.csv, which the page shows beside the simulator's rows
"""

from __future__ import annotations

import argparse
import csv
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import validation_blind as blind
import validation_causes as causes
from haltere.validate import ROWS, Outcome, Row, read_directory, report, validate
from haltere.validate.compare import FRACTIONS, write_csv
from haltere.worlds import DEFAULT, WORLDS
from validation_causes import Cause

PAGE = Path(__file__).parents[1] / "docs" / "validation.md"
FIGURE = "images/validation.png"
FINDINGS = "findings.md"
"""In the directory of results: a part of the page, written by hand."""

INTRODUCTION = """\
# Haltere against Linux

<!-- Made by `python tools/validation_page.py {source}`; do not edit. The causes are in `{source}/causes.toml`, findings in
`{source}/findings.md`. -->

How far the simulator agrees with Linux 6.1, and where it does not. Each scenario ran on Linux's TCP stack and queue disciplines, in a
kernel in virtual time, so that the machine's load and timers have no effect. The same scenario then ran in the simulator:

    haltere validate {source}

A row is one measure of one scenario; a cell has the number of rows inside the tolerance, of all rows. [`rows.csv`]({rows}) has every row: Linux's mean
and half the range of its repetitions, the simulator's mean with a 95 % interval over {seeds} seeds, and the tolerance.

Linux ran few times, so an exact copy of it would not have all rows inside. "A copy" is the part that it would have: as many runs of the simulator as
Linux has repetitions stand for Linux, and the other runs are compared with them. Set I has as many repetitions as the simulator has runs.
"""

METHOD = """\
## Method

| measure | tolerance |
|---|---|
| goodput, BBR's bandwidth estimate of a single flow | 3 % |
| shares, transfers done | 5 percentage points |
| Jain's index | 0.03 |
| queue, ping, completion time; times and windows of a single flow | 15 % |
| loss and mark rates, queue of a single BBR flow | 25 % |

If the spread of Linux's repetitions is larger, it replaces the tolerance.

Each run has the start times and short flows of one of Linux's repetitions, in turn. The seeds vary port numbers, sequence numbers, hashes, and the
draws of queues, losses and controls. Set A100 has one repetition, so nine of ten runs draw their own start times.

Set J is BBRv3 by its authors (`variant = "linux"`), in Linux 6.12 with their patch, in two repetitions.
"""

AGREES_NOT = """\
## Rows outside

[`outside.md`]({outside}) lists them. Each cause below has its number of rows; a row without a cause is not explained.
"""

OUTSIDE = """\
# Rows outside the tolerance

<!-- Made by `tools/validation_page.py`; do not edit. -->
"""


def read_csv(path: Path) -> list[Row]:
    """The rows that `write_csv` wrote."""
    with path.open(newline="") as file:
        return [Row(**{name: _value(name, text) for name, text in values.items()}) for values in csv.DictReader(file)]


def _value(name: str, text: str) -> Any:
    if name in FRACTIONS:
        return float(text) if text else None
    if name in ("decimals", "linux_runs", "our_runs"):
        return int(text)
    return text == "yes" if name == "inside" else text


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


def worlds_of(directory: Path) -> list[Beside]:
    """What lies in a directory of results and below it, a world each."""
    found = []
    for name, kind in WORLDS.items():
        files = sorted(directory.rglob(f"{name}.csv")) if name != DEFAULT else []
        rows = {(row.case, row.measure): row for path in files for row in read_csv(path)}
        if rows:
            found.append(Beside(name, kind.title, rows))
    return found


def besides(rows: Iterable[Row], worlds: Sequence[Beside], why: Sequence[Cause] = ()) -> list[str]:
    """A table of each world: by set, how many of its rows are inside, and how many of the simulator's are near it; then the causes of those outside."""
    every, lines = list(rows), []
    for world in worlds:
        lines += [f"## The simulator and the {world.title}", "", WORLD_HEAD.format(title=world.title), ""]
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


WORLD_HEAD = """\
The kernel world runs the kernel's own TCP with Haltere's queues and links. "Near" is within the row's tolerance. If the {title} is far from Linux, the
cause is in a queue, a link or the set-up. If the simulator is far from the {title}, the cause is in TCP."""


def _share(some: int, of: int) -> str:
    return f"{some} ({100 * some / of:.0f} %)"


def markdown_table(rows: Iterable[Row], why: Sequence[Cause] = (), others: Sequence[Beside] = ()) -> list[str]:
    """The rows as a Markdown table, with a column for each other world; the last column has the cause of a row outside."""
    names = "".join(f" {other.title} |" for other in others)
    lines = [
        f"| scenario | measure | Linux | Haltere |{names} difference | tolerance | a copy inside | |",
        f"|---|---|--:|--:|{'--:|' * len(others)}--:|--:|--:|---|",
    ]
    for row in rows:
        *first, verdict = report.cells(row)
        first[4:4] = [report.number(found.ours, row.decimals) if (found := other.of(row)) else "" for other in others]
        copy = "" if row.copy is None else f"{100 * row.copy:.0f} %"
        lines.append("| " + " | ".join([*first, copy, verdict if row.inside else causes.cause_of(row, why)]) + " |")
    return lines


COLUMNS = {
    "goodput": ("goodput",),
    "share": ("share",),
    "Jain": ("jain",),
    "queue": ("queue",),
    "ping": ("ping",),
    "loss": ("loss",),
    "marks": ("marks",),
    "completion time": ("fct", "done"),
    "single flow": ("first", "cwnd", "period", "bandwidth", "probe_rtt"),
    "path": ("path",),
}
"""The columns of the page's table, with the first words of the measures that they count."""


def by_measure(outcome: Outcome) -> list[str]:
    """Rows inside by set and measure as a Markdown table, with a last line for all sets."""
    names = [name for name, words in COLUMNS.items() if _counted(outcome.rows, words)]
    head = "| set | rows | inside | | a copy | "
    lines = [head + " | ".join(names) + " |", "|---|--:|--:|--:|--:|" + "--:|" * len(names)]
    for group, of in [*((group, outcome.of(group)) for group in outcome.groups()), ("all", outcome)]:
        share = 100 * of.inside / len(of.rows) if of.rows else 0
        counts = " | ".join(_counted(of.rows, COLUMNS[name]) for name in names)
        copies = [row.copy for row in of.rows if row.copy is not None]
        copy = f"{100 * fmean(copies):.0f} %" if copies else ""
        lines.append(f"| {group} | {len(of.rows)} | {of.inside} | {share:.0f} % | {copy} | {counts} |")
    return lines


def _counted(rows: Sequence[Row], words: Sequence[str]) -> str:
    some = [row for row in rows if row.measure.split()[0] in words]
    return f"{sum(row.inside for row in some)} of {len(some)}" if some else ""


def _seeds_of(rows: Sequence[Row]) -> str:
    """How many seeds ours had: one number, or from the least to the greatest."""
    numbers = sorted({row.our_runs for row in rows})
    if not numbers:
        return "no"
    return str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"


def page(
    outcome: Outcome, source: str, figure: str | None, findings: str, rows: str = "rows.csv", why: Sequence[Cause] = (),
    others: Sequence[Beside] = (),
) -> str:  # fmt: skip
    """The page: one table, the figure, the method, and the causes of rows outside; `rows` leads to all rows."""
    introduction = INTRODUCTION.format(source=source, rows=rows, seeds=_seeds_of(outcome.rows))
    own = causes.of_world(why, DEFAULT)
    lines = [introduction, *by_measure(outcome), ""]
    if figure:
        lines += [f"![Haltere and Linux, one panel per measure; the band is the tolerance]({figure})", ""]
    lines += [METHOD, *besides(outcome.rows, others, why)]
    for title, cases in (("Not comparable", outcome.skipped), ("Not repeated exactly", outcome.differing)):
        if cases:
            lines += [f"## {title}", "", *(f"- {name}: {reason}" for name, reason in cases), ""]
    outside = [row for row in outcome.rows if not row.inside]
    if outside:
        lines += [
            AGREES_NOT.format(outside=Path(rows).with_name("outside.md").as_posix()),
            *causes.markdown(outside, own),
            "",
        ]
    if findings:
        lines += [findings.strip(), ""]
    return "\n".join(lines)


def outside_page(outcome: Outcome, why: Sequence[Cause] = (), others: Sequence[Beside] = ()) -> str:
    """A table of the rows outside, each with its cause."""
    rows = [row for row in outcome.rows if not row.inside]
    return "\n".join([OUTSIDE, *markdown_table(rows, causes.of_world(why, DEFAULT), others), ""])


def write(outcome: Outcome, directory: Path, page_path: Path) -> None:
    """Writes the page, its figure, and the list of rows outside, which lies beside the rows."""
    findings = directory / FINDINGS
    parts = [findings.read_text().strip() if findings.is_file() else "", blind.section(directory)]
    drawn = report.figure(outcome, page_path.parent / FIGURE)
    why, others = causes.load(directory), worlds_of(directory)
    rows = os.path.relpath(directory / ROWS, page_path.parent)
    text = page(
        outcome, directory.as_posix().rstrip("/"), FIGURE if drawn else None, "\n\n".join(filter(None, parts)), rows, why, others
    )  # fmt: skip
    page_path.parent.mkdir(parents=True, exist_ok=True)
    page_path.write_text(text.rstrip() + "\n")
    (directory / "outside.md").write_text(outside_page(outcome, why, others))


def add_rows(rows: Sequence[Row], path: Path) -> None:
    """Adds the rows to a file. Rows of scenarios that were run again are replaced."""
    again = {row.case for row in rows}
    kept = [row for row in read_csv(path) if row.case not in again] if path.is_file() else []
    write_csv(sorted([*kept, *rows], key=lambda row: (row.group, row.case)), path)


def main(argv: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--page", type=Path, default=PAGE)
    parser.add_argument("--rows", action="store_true")
    parser.add_argument("--world", choices=[one for one in WORLDS if one != DEFAULT])
    parser.add_argument("--only", default="", help="only scenarios whose name matches")
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--jobs", type=int)
    args = parser.parse_args(argv)
    directory: Path = args.directory
    if args.rows:
        outcome = Outcome(read_csv(directory / ROWS))
    else:
        cases = [case for case in read_directory(directory) if re.search(args.only, case.name)]
        outcome = validate(cases, args.seeds, args.jobs, quiet=False, world=args.world or DEFAULT)
    if args.world:
        add_rows(outcome.rows, directory / f"{args.world}.csv")
        return
    write_csv(outcome.rows, directory / ROWS)
    if (directory / blind.TRAINING).is_file() and not args.rows:
        blind.write_called(blind.confusion(directory), directory / blind.CALLED)
    write(outcome, directory, args.page)


if __name__ == "__main__":
    main()
