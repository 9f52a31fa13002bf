"""Shows the outcome of a validation: the table, JSON, the page and its figure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..worlds import DEFAULT
from . import beside, causes
from .beside import Beside
from .causes import Cause
from .compare import KINDS, Row

HEAD = ("scenario", "measure", "linux", "haltere", "difference", "tolerance", "")


@dataclass
class Outcome:
    """All rows, the cases that could not be compared, with the reason."""

    rows: list[Row] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    differing: list[tuple[str, str]] = field(default_factory=list)
    """Cases that were compared though one thing in them is not repeated exactly, with that thing."""

    @property
    def inside(self) -> int:
        """Rows inside their tolerance."""
        return sum(row.inside for row in self.rows)

    def groups(self) -> list[str]:
        """The sets, in order."""
        return list(dict.fromkeys(row.group for row in self.rows))

    def of(self, group: str) -> Outcome:
        """Only the rows of one set."""
        return Outcome([row for row in self.rows if row.group == group])

    def verdict(self) -> str:
        """The last line."""
        share = 100 * self.inside / len(self.rows) if self.rows else 0.0
        return f"inside: {self.inside} of {len(self.rows)} ({share:.0f} %)"


def _number(value: float | None, decimals: int) -> str:
    return "none" if value is None else f"{value:.{decimals}f}"


def _with(value: float | None, around: float, runs: int, decimals: int) -> str:
    text = _number(value, decimals)
    return f"{text} ± {around:.{decimals}f}" if value is not None and runs > 1 else text


def cells(row: Row) -> tuple[str, ...]:
    """One row as texts."""
    signed = "" if row.difference is None else f"{row.difference:+.{row.decimals}f}"
    return (
        row.case,
        f"{row.measure} ({row.unit})" if row.unit else row.measure,
        _with(row.linux, row.spread, row.linux_runs, row.decimals),
        _with(row.ours, row.interval, row.our_runs, row.decimals),
        signed,
        "" if row.difference is None else f"{row.tolerance:.{row.decimals}f}",
        "inside" if row.inside else "OUTSIDE",
    )


def table(rows: Iterable[Row]) -> list[str]:
    """The rows as lines of aligned text; names left, numbers right."""
    texts = [HEAD, *(cells(row) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    signs = "<<>>>><"
    return [
        "  ".join(f"{cell:{sign}{width}}" for cell, sign, width in zip(line, signs, widths, strict=True)).rstrip()
        for line in texts
    ]


def text(outcome: Outcome) -> list[str]:
    """What goes to standard output."""
    lines = table(outcome.rows)
    groups = outcome.groups()
    if len(groups) > 1:
        lines += [f"set {group}: {outcome.of(group).verdict()}" for group in groups]
    lines += [f"not repeated exactly: {name}: {reason}" for name, reason in outcome.differing]
    lines += [f"not comparable: {name}: {reason}" for name, reason in outcome.skipped]
    lines.append(f"not comparable: {len(outcome.skipped)} scenarios")
    return [*lines, outcome.verdict()]


def as_json(outcome: Outcome) -> str:
    """For programs."""
    sets = {group: outcome.of(group) for group in outcome.groups()}
    groups = {group: {"inside": of.inside, "rows": len(of.rows)} for group, of in sets.items()}
    out: dict[str, Any] = {"inside": outcome.inside, "rows_total": len(outcome.rows), "sets": groups}
    out["rows"] = [row.as_dict() for row in outcome.rows]
    out["not_comparable"] = [{"scenario": name, "reason": reason} for name, reason in outcome.skipped]
    out["not_exact"] = [{"scenario": name, "reason": reason} for name, reason in outcome.differing]
    return json.dumps(out, indent=1)


def markdown_table(rows: Iterable[Row], why: Sequence[Cause] = (), others: Sequence[Beside] = ()) -> list[str]:
    """The rows as a Markdown table, with a column for each other world; the last column has the cause of a row outside."""
    names = "".join(f" {other.title} |" for other in others)
    lines = [
        f"| scenario | measure | Linux | Haltere |{names} difference | tolerance | |",
        f"|---|---|--:|--:|{'--:|' * len(others)}--:|--:|---|",
    ]
    for row in rows:
        *first, verdict = cells(row)
        first[4:4] = [_number(found.ours, row.decimals) if (found := other.of(row)) else "" for other in others]
        lines.append("| " + " | ".join([*first, verdict if row.inside else causes.cause_of(row, why)]) + " |")
    return lines


# ------------------------------------------------------------------ the page
INTRODUCTION = """\
# Haltere against Linux

<!-- Made by `haltere validate {source} --page ...`; do not edit. The causes are in `{source}/causes.toml`, findings in
`{source}/findings.md`. -->

How far the simulator agrees with Linux 6.1, and where it does not. Each scenario ran on Linux's TCP stack and queue disciplines, in a
kernel in virtual time, so that the machine's load and timers have no effect. The same scenario then ran in the simulator:

    haltere validate {source}

A row is one measure of one scenario; a cell has the number of rows inside the tolerance, of all rows. [`rows.csv`]({rows}) has every row: Linux's mean
and half the range of its repetitions, the simulator's mean with a 95 % interval over {seeds} seeds, and the tolerance.
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
"""

AGREES_NOT = """\
## Rows outside

[`outside.md`]({outside}) lists them. Each cause below has its number of rows; a row without a cause is not explained.
"""

OUTSIDE = """\
# Rows outside the tolerance

<!-- Made by `haltere validate --page`; do not edit. -->
"""

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
    head = "| set | rows | inside | | "
    lines = [head + " | ".join(names) + " |", "|---|--:|--:|--:|" + "--:|" * len(names)]
    for group, of in [*((group, outcome.of(group)) for group in outcome.groups()), ("all", outcome)]:
        share = 100 * of.inside / len(of.rows) if of.rows else 0
        counts = " | ".join(_counted(of.rows, COLUMNS[name]) for name in names)
        lines.append(f"| {group} | {len(of.rows)} | {of.inside} | {share:.0f} % | {counts} |")
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
    lines += [METHOD, *beside.markdown(outcome.rows, others, why)]
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


# ------------------------------------------------------------------ the figure
PANELS = {
    "goodput": "Goodput", "share": "Share of a control", "jain": "Jain's index", "queue": "Mean queue", "ping": "Ping", "loss": "Loss rate",
    "marks": "Mark rate", "cwnd": "Window of a single flow", "fct": "Completion time",
}  # fmt: skip
"""The panels by the first word of the measures that they show, each with its title."""
LOGARITHMIC = ("goodput", "queue", "ping", "loss", "marks", "fct")


def figure(outcome: Outcome, path: Path) -> bool:
    """Ours against Linux, one panel a kind of measure, with the line of equality and the tolerance band. False without matplotlib."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        return False
    shown = {word: rows for word in PANELS if (rows := _pairs(outcome.rows, word))}
    if not shown:
        return False
    across = min(4, len(shown))
    down = -(-len(shown) // across)
    size = (3.1 * across, 3.2 * down)
    canvas, axes = pyplot.subplots(down, across, figsize=size, squeeze=False, layout="constrained")
    for axis in axes.flat[len(shown) :]:
        axis.set_visible(False)
    for axis, (word, rows) in zip(axes.flat, shown.items(), strict=False):
        _panel(axis, word, rows)
    axes.flat[0].legend(fontsize=7, frameon=False, loc="upper left")
    path.parent.mkdir(parents=True, exist_ok=True)
    canvas.savefig(path, dpi=90, metadata={"Software": None})
    pyplot.close(canvas)
    return True


def _pairs(rows: Sequence[Row], word: str) -> list[Row]:
    found = [row for row in rows if row.measure.split()[0] == word and row.linux is not None and row.ours is not None]
    return [row for row in found if word not in LOGARITHMIC or min(row.linux or 0, row.ours or 0) > 0]


def _logarithmic(axis: Any, ratio: float) -> None:
    """Both scales, with few plain numbers; `ratio`: their greatest over their least."""
    from ..report import plot

    axis.set_xscale("log")
    axis.set_yscale("log")
    for scale in (axis.xaxis, axis.yaxis):
        scale.set_major_formatter(plot.plain_number())
        scale.set_minor_formatter(plot.plain_number((2, 5) if ratio < 100 else ()))


def _panel(axis: Any, word: str, rows: Sequence[Row]) -> None:
    kind, values = KINDS[word], [v for row in rows for v in (row.linux, row.ours) if v is not None]
    low, high = min(values), max(values)
    parts = np.arange(201) / 200
    if word in LOGARITHMIC:
        low, high = low / 1.3, high * 1.3
        _logarithmic(axis, high / low)
        line, floor = low * (high / low) ** parts, low
    else:
        room = 0.05 * ((high - low) or 1)
        low, high = low - room, high + room
        line, floor = low + (high - low) * parts, -np.inf
    around = np.array([kind.tolerance.around(x) for x in line])
    axis.fill_between(line, np.maximum(floor, line - around), line + around, color="0.88", lw=0)
    axis.plot([low, high], [low, high], color="0.5", lw=0.8)
    for inside, colour, marker in ((True, "#0072B2", "o"), (False, "#D55E00", "x")):
        some = [row for row in rows if row.inside is inside]
        axis.errorbar(
            [row.linux for row in some], [row.ours for row in some], xerr=[row.spread for row in some], yerr=[row.interval for row in some],
            fmt=marker, ms=3.5, color=colour, lw=0, elinewidth=0.5, label="inside" if inside else "outside",
        )  # fmt: skip
    axis.set_xlim(low, high)
    axis.set_ylim(low, high)
    axis.set_title(PANELS[word] + (f" ({kind.unit})" if kind.unit else ""), fontsize=9)
    axis.set_xlabel("Linux", fontsize=8)
    axis.set_ylabel("Haltere", fontsize=8)
    axis.tick_params(labelsize=7, which="both")
