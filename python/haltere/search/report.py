"""What `haltere search` prints and writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..analysis import metrics
from ..report.document import Block, Bullets, Document, Table, Text
from ..runs.files import write_atomically
from ..runs.records import short_keys
from . import pictures
from .tune import KEPT, Tuned, verdict


def write(tuned: Tuned, out: Path) -> Document:
    """Writes `best.toml`, the tables, the figures and the report into ``out``; returns the report."""
    write_atomically(out / "best.toml", tuned.text)
    document = Document(f"Search: {tuned.question.scenario.title or tuned.question.file.name}", _blocks(tuned, out))
    document.write(out)
    return document


def _blocks(tuned: Tuned, out: Path) -> list[Block]:
    q = tuned.question
    one = metrics.metric(q.metric, q.scenario.to_dict())
    factor, unit = one.printed
    names, keys = short_keys(q.over), list(q.over)
    label = f"{q.metric} ({unit})" if unit else q.metric
    digits = max(one.digits, 2 if one.percent else 0)
    goal = "Highest" if q.maximise else "Lowest"
    shown = pictures.Shown(label, q.sign * factor, digits, names, tuned.base)
    return [
        Text(f"{goal} {q.metric} ({one.about}) over {', '.join(f'{names[key]} = {q.over[key]}' for key in keys)}."),
        Text(verdict(tuned)),
        _values(tuned, names),
        _result(tuned),
        pictures.table(tuned.found, keys, shown),
        *pictures.figures(tuned.found, q.over, shown, out / "figures"),
        Bullets(tuned.cost.notes(tuned.found, tuned.budget.trials, "candidates")),
    ]


def _values(tuned: Tuned, names: dict[str, str]) -> Table:
    best = tuned.found.best
    rows = [
        [names[key], str(best.values[key]) if best else "", str(tuned.values.get(key, "as in the file"))]
        for key in tuned.question.over
    ]
    note = f"Values that the result does not need are put back to the file's, and others rounded, as long as {KEPT:.0%} of what was won remains."
    return Table("values", "Values", ["key", "best candidate", "best.toml"], rows, note)


def _result(tuned: Tuned) -> Table:
    q = tuned.question
    rows = [
        ["the file", q.printed(tuned.before)],
        ["best.toml", q.printed(tuned.after)],
        ["difference, seed by seed", q.printed(tuned.signed)],
    ]
    title = f"With {tuned.difference.n} seeds that the search did not use, and 95 % intervals"
    return Table("result", title, ["", q.metric], rows)


def to_dict(tuned: Tuned, out: Path) -> dict[str, Any]:
    """For programs."""
    q = tuned.question
    return {
        "experiment": str(out / "best.toml"), "metric": q.metric, "values": tuned.values, "better": tuned.better,
        "file": tuned.before.to_dict(), "best": tuned.after.to_dict(), "difference": tuned.signed.to_dict(),
        **tuned.found.counts(), **tuned.cost.to_dict(),
    }  # fmt: skip
