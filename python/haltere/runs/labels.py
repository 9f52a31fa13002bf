"""What was swept, as columns of tables; and tables as files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from .. import kinds
from .cells import csv
from .files import write_atomically
from .records import Done, Point, short_keys


def points_table(points: Sequence[Point]) -> pa.Table:
    """One row a point. A swept key is a column under its last word, or under as many more as tell it from another."""
    out: dict[str, Any] = {
        "point": pa.array([point.index for point in points], pa.int32()),
        "name": [point.name for point in points],
    }
    for key, end in short_keys(dict.fromkeys(key for point in points for key in point.labels)).items():
        out[end if end not in out else key] = _column([point.words.get(key) for point in points])
    return pa.table(out)


def runs_table(runs: Sequence[Done]) -> pa.Table:
    """One row a run."""
    return pa.table(
        {
            "key": [run.key for run in runs],
            "point": pa.array([run.point for run in runs], pa.int32()),
            "seed": pa.array([run.seed for run in runs], pa.uint64()),
            "digest": [run.digest for run in runs],
            "wall_s": [run.wall_s for run in runs],
        }
    )


def _column(values: list[Any]) -> pa.Array:
    """Numbers as numbers, anything else as it is written."""
    given = [value for value in values if value is not None]
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in given):
        kind = pa.int64() if all(isinstance(value, int) for value in given) else pa.float64()
        return pa.array(values, kind)
    texts = [
        value if value is None else kinds.label(value) if isinstance(value, str) else json.dumps(value)
        for value in values
    ]
    return pa.array(texts, pa.string())


def with_labels(table: pa.Table, points: pa.Table) -> pa.Table:
    """The table with the axes of the sweep behind ``seed``, each row with the values of its point."""
    row = {point: i for i, point in enumerate(points["point"].to_pylist())}
    take = pa.array([row[point] for point in table["point"].to_pylist()], pa.int64())
    place = table.column_names.index("seed") + 1
    for name in points.column_names[2:]:
        free = name if name not in table.column_names else f"swept {name}"
        table = table.add_column(place, free, points[name].take(take))
        place += 1
    return table


def write(table: pa.Table, path: Path) -> None:
    """Writes a table as CSV, Parquet or JSON (a list of rows), by the suffix of the path."""
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, compression="zstd")
        write_atomically(path, bytes(sink.getvalue()))
    elif path.suffix == ".json":
        write_atomically(path, json.dumps(table.to_pylist(), default=str) + "\n")
    else:
        write_atomically(path, csv([table.column_names, *(row.values() for row in table.to_pylist())]))
