"""What `haltere search` and `haltere attack` print and write."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..analysis import metrics
from ..report.document import Block, Bullets, Document, Table, Text
from ..runs.files import write_atomically
from ..runs.records import short_keys
from . import attack, pictures
from .attack import Worst
from .climb import Cost, Found
from .network import KEYS
from .tune import KEPT, Tuned, verdict


def _written(title: str, blocks: Sequence[Block], out: Path) -> Document:
    document = Document(title, list(blocks))
    document.write(out)
    return document


def _compared(where: str, what: str, seeds: int, sides: Sequence[tuple[str, str]], difference: str) -> Table:
    title = f"{where} {seeds} seeds that the search did not use, and 95 % intervals"
    return Table("result", title, ["", what], [*map(list, sides), ["difference, seed by seed", difference]])


def _numbers(found: Found, cost: Cost) -> dict[str, Any]:
    return {**found.counts(), **cost.to_dict()}


# -- search ---------------------------------------------------------------------------------------------------------------


def write(tuned: Tuned, out: Path) -> Document:
    """Writes `best.toml`, the tables, the figures and the report into ``out``; returns the report."""
    write_atomically(out / "best.toml", tuned.text)
    q = tuned.question
    one = metrics.metric(q.metric, q.scenario.to_dict())
    factor, unit = one.printed
    names, keys = short_keys(q.over), list(q.over)
    digits = max(one.digits, 2 if one.percent else 0)
    shown = pictures.Shown(f"{q.metric} ({unit})" if unit else q.metric, q.sign * factor, digits, names, tuned.base)
    over = ", ".join(f"{names[key]} = {q.over[key]}" for key in keys)
    sides = [("the file", q.printed(tuned.before)), ("best.toml", q.printed(tuned.after))]
    blocks = [
        Text(f"{'Highest' if q.maximise else 'Lowest'} {q.metric} ({one.about}) over {over}."),
        Text(verdict(tuned)),
        _values(tuned, names),
        _compared("With", q.metric, tuned.difference.n, sides, q.printed(tuned.signed)),
        *pictures.blocks(tuned.found, keys, q.over, shown, out),
        Bullets(tuned.cost.notes(tuned.found, tuned.budget.trials, "candidates")),
    ]  # fmt: skip
    return _written(f"Search: {q.scenario.title or q.file.name}", blocks, out)


def _values(tuned: Tuned, names: dict[str, str]) -> Table:
    best = tuned.found.best
    rows = [
        [names[key], str(best.values[key]) if best else "", str(tuned.values.get(key, "as in the file"))]
        for key in tuned.question.over
    ]
    note = f"Values that the result does not need are put back to the file's, and others rounded, as long as {KEPT:.0%} of what was won remains."
    return Table("values", "Values", ["key", "best candidate", "best.toml"], rows, note)


def to_dict(tuned: Tuned, out: Path) -> dict[str, Any]:
    """For programs."""
    q = tuned.question
    return {
        "experiment": str(out / "best.toml"), "metric": q.metric, "values": tuned.values, "better": tuned.better,
        "file": tuned.before.to_dict(), "best": tuned.after.to_dict(), "difference": tuned.signed.to_dict(),
        **_numbers(tuned.found, tuned.cost),
    }  # fmt: skip


# -- attack ---------------------------------------------------------------------------------------------------------------


def write_worst(worst: Worst, out: Path, command: str) -> Document:
    """Writes `worst.toml`, the tables, the figures and the report into ``out``; returns the report."""
    if worst.values:
        write_atomically(out / "worst.toml", attack.text(worst, command).replace("worst.toml", str(out / "worst.toml")))
    scene, harm, ranges = worst.scene, worst.scene.harm, worst.space.ranges
    blocks: list[Block] = [Text(f"{harm.name}: {harm.about} ({harm.unit})."), Text(attack.verdict(worst))]
    if worst.values:
        rows = [[key, str(value), KEYS[key][1] or "as above"] for key, value in worst.values.items()]
        columns = ["condition", "value", "meaning"]
        sides = [
            (f"{attack.named(one)} ({what})", worst.printed(value))
            for one, what, value in (
                (scene.target, "target", worst.harm),
                (scene.reference, "reference", worst.reference),
            )
        ]
        blocks += [
            Table("network", "The worst network", columns, rows, worst.left_out, left=3),
            _compared(
                "In the worst network, with", harm.name, worst.difference.n, sides, worst.printed(worst.difference)
            ),
        ]
    every = ("rate", "rtt", "buffer", "queue", "control", "flows", "beside_flows")
    shown = pictures.Shown(f"{harm.name}, target less reference ({harm.unit})", digits=harm.digits)
    blocks += pictures.blocks(worst.found, [key for key in every if key in ranges], ranges, shown, out)
    notes = worst.cost.notes(worst.found, worst.budget.trials, "networks")
    if worst.values and (refused := attack.kernel_refuses(worst)):
        notes.append(f"The kernel world refuses this network: {refused}.")
    return _written(f"Attack: {harm.name} of {scene.name}", [*blocks, Bullets(notes)], out)


def worst_to_dict(worst: Worst, out: Path) -> dict[str, Any]:
    """For programs."""
    has = bool(worst.values)
    return {
        "experiment": str(out / "worst.toml") if has else None, "harm": worst.scene.harm.name, "unit": worst.scene.harm.unit,
        "network": worst.values, "left_out": worst.removed, "found": worst.is_found,
        "target": worst.harm.to_dict() if has else None, "reference": worst.reference.to_dict() if has else None,
        "difference": worst.difference.to_dict() if has else None, "kernel_refuses": attack.kernel_refuses(worst) if has else "",
        **_numbers(worst.found, worst.cost),
    }  # fmt: skip
