"""What `haltere search` prints and writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..analysis import metrics
from ..analysis.stats import Mean
from ..report.document import Block, Bullets, Document, Table, Text
from ..runs.files import write_atomically
from ..runs.records import short_keys
from . import pictures
from .tune import KEPT, Tuned, verdict

__all__ = ["to_dict", "write"]


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
    blocks: list[Block] = [
        Text(f"{goal} {q.metric} ({one.about}) over {', '.join(f'{names[key]} = {q.over[key]}' for key in keys)}."),
        Text(verdict(tuned)),
        _values(tuned, names),
        _result(tuned, digits),
        pictures.table(tuned.found, keys, names, label, q.sign * factor, digits),
        *pictures.figures(tuned.found, q.over, names, out / "figures", label, q.sign * factor, tuned.base),
        Bullets(_notes(tuned)),
    ]
    return blocks


def _values(tuned: Tuned, names: dict[str, str]) -> Table:
    best = tuned.found.best
    rows = [
        [names[key], str(best.values[key]) if best else "", str(tuned.values.get(key, "as in the file"))]
        for key in tuned.question.over
    ]
    note = f"Values that the result does not need are put back to the file's, and others rounded, as long as {KEPT:.0%} of what was won remains."
    return Table("values", "Values", ["key", "best candidate", "best.toml"], rows, note)


def _result(tuned: Tuned, digits: int) -> Table:
    q = tuned.question
    signed = Mean(q.sign * tuned.difference.mean, tuned.difference.half, tuned.difference.sd, tuned.difference.n)
    rows = [
        ["the file", q.printed(tuned.before)],
        ["best.toml", q.printed(tuned.after)],
        ["difference, seed by seed", q.printed(signed)],
    ]
    return Table(
        "result",
        f"With {tuned.difference.n} seeds that the search did not use, and 95 % intervals",
        ["", q.metric],
        rows,
    )


def _notes(tuned: Tuned) -> list[str]:
    lines = [f"CPU time of this call: {tuned.cpu_s:.0f} s. Runs: {tuned.made} made, {tuned.there} found in the store."]
    if tuned.found.out_of_time:
        lines.append(
            f"The time was used up after {len(tuned.found.trials)} of {tuned.budget.trials} candidates. The same command goes on."
        )
    if tuned.found.failed:
        lines.append(f"The first candidate that failed: {tuned.found.failed[0].outcome.error}.")
    return lines


def to_dict(tuned: Tuned, out: Path) -> dict[str, Any]:
    """For programs."""
    q = tuned.question

    def interval(value: Mean, sign: float = 1.0) -> dict[str, Any]:
        return {"mean": sign * value.mean, "half": value.half, "n": value.n}

    return {
        "experiment": str(out / "best.toml"), "metric": q.metric, "values": tuned.values, "better": tuned.better,
        "file": interval(tuned.before), "best": interval(tuned.after), "difference": interval(tuned.difference, q.sign),
        "candidates": len(tuned.found.trials), "stopped": len(tuned.found.stopped), "failed": len(tuned.found.failed),
        "runs_made": tuned.made, "runs_found": tuned.there, "cpu_s": round(tuned.cpu_s, 3),
    }  # fmt: skip
