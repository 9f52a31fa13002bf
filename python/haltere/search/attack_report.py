"""What `haltere attack` prints and writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..report.document import Block, Bullets, Document, Table, Text
from ..runs.files import write_atomically
from . import pictures
from .attack import Worst, kernel_refuses, named, text, verdict
from .network import KEYS


def write(worst: Worst, out: Path, command: str) -> Document:
    """Writes `worst.toml`, the tables, the figures and the report into ``out``; returns the report."""
    if worst.values:
        write_atomically(out / "worst.toml", text(worst, command).replace("worst.toml", str(out / "worst.toml")))
    document = Document(f"Attack: {worst.scene.harm.name} of {worst.scene.name}", _blocks(worst, out))
    document.write(out)
    return document


def _blocks(worst: Worst, out: Path) -> list[Block]:
    harm = worst.scene.harm
    shown = pictures.Shown(f"{harm.name}, target less reference ({harm.unit})", digits=harm.digits)
    blocks: list[Block] = [Text(f"{harm.name}: {harm.about} ({harm.unit})."), Text(verdict(worst))]
    if worst.values:
        rows = [[key, str(value), KEYS[key][1] or "as above"] for key, value in worst.values.items()]
        title, columns = "The worst network", ["condition", "value", "meaning"]
        blocks += [Table("network", title, columns, rows, worst.left_out, left=3), _result(worst)]
    every = ("rate", "rtt", "buffer", "queue", "control", "flows", "beside_flows")
    base = [key for key in every if key in worst.space.ranges]
    blocks += [
        pictures.table(worst.found, base, shown),
        *pictures.figures(worst.found, worst.space.ranges, shown, out / "figures"),
    ]
    notes = worst.cost.notes(worst.found, worst.budget.trials, "networks")
    if worst.values and (refused := kernel_refuses(worst)):
        notes.append(f"The kernel world refuses this network: {refused}.")
    return [*blocks, Bullets(notes)]


def _result(worst: Worst) -> Table:
    scene = worst.scene
    rows = [
        [f"{named(scene.target)} (target)", worst.printed(worst.harm)],
        [f"{named(scene.reference)} (reference)", worst.printed(worst.reference)],
        ["difference, seed by seed", worst.printed(worst.difference)],
    ]
    title = f"In the worst network, with {worst.difference.n} seeds that the search did not use, and 95 % intervals"
    return Table("result", title, ["", scene.harm.name], rows)


def to_dict(worst: Worst, out: Path) -> dict[str, Any]:
    """For programs."""
    has = bool(worst.values)
    return {
        "experiment": str(out / "worst.toml") if has else None, "harm": worst.scene.harm.name, "unit": worst.scene.harm.unit,
        "network": worst.values, "left_out": worst.removed, "found": worst.is_found,
        "target": worst.harm.to_dict() if has else None, "reference": worst.reference.to_dict() if has else None,
        "difference": worst.difference.to_dict() if has else None, "kernel_refuses": kernel_refuses(worst) if has else "",
        **worst.found.counts(), **worst.cost.to_dict(),
    }  # fmt: skip
