"""Shows the outcome of a validation: the table, JSON, the report and its figure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..report.document import Bullets, Document, Figure, Table
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


def number(value: float | None, decimals: int) -> str:
    """A value as text."""
    return "none" if value is None else f"{value:.{decimals}f}"


def _with(value: float | None, around: float, runs: int, decimals: int) -> str:
    text = number(value, decimals)
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
    """The lines for standard output."""
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


def document(outcome: Outcome, figure: Path | None) -> Document:
    """Rows inside by set, the figure and every row."""
    sets = [*((group, outcome.of(group)) for group in outcome.groups()), ("all", outcome)]
    counts = [
        [group, str(len(of.rows)), str(of.inside), of.verdict().partition("(")[2].rstrip(")")] for group, of in sets
    ]
    lines = [f"Not repeated exactly: {name}: {reason}" for name, reason in outcome.differing]
    lines += [f"Not comparable: {name}: {reason}" for name, reason in outcome.skipped]
    caption = "Haltere and Linux, one panel a measure; the band is the tolerance."
    return Document(
        "Haltere against Linux",
        [
            Table("sets", "Rows inside the tolerance", ["set", "rows", "inside", "part"], counts),
            *([Figure(figure, caption)] if figure else []),
            Table("rows", "Every row", [*HEAD[:-1], "verdict"], [list(cells(row)) for row in outcome.rows], left=2),
            *([Bullets(lines)] if lines else []),
        ],
    )


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
        from ..report import plot
    except ImportError:
        return False
    shown = {word: rows for word in PANELS if (rows := _pairs(outcome.rows, word))}
    if not shown:
        return False
    across = min(4, len(shown))
    canvas, panels = plot.panels(len(shown), across, width=3.1 * across, height=0.0, row=3.2)
    for axis, (word, rows) in zip(panels, shown.items(), strict=True):
        _panel(axis, word, rows)
    panels[0].legend(fontsize=7, frameon=False, loc="upper left")
    path.parent.mkdir(parents=True, exist_ok=True)
    canvas.savefig(path, dpi=90, metadata={"Software": None})
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
