"""Tables of several runs as one Parquet file.

Numbers are stored as differences, compressed. A time series is stored name by name instead of time by time, because a difference to the
value of another queue says little; the mark in the file's metadata has readers bring its rows back into the order of time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa

_BY_NAME = b"rows by name"
#: The columns of which one names what a row of a series is of.
_NAMES = ("flow", "link")


def write(keys: Sequence[str], tables: Sequence[pa.Table]) -> bytes:
    """The tables of these runs, which have the same columns, with the run's key in front."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    orders = [_by_name(table) for table in tables]
    if by_name := all(order is not None for order in orders):
        tables = [table.take(pa.array(order)) for table, order in zip(tables, orders, strict=True)]
    whole = pa.concat_tables(tables).unify_dictionaries()
    run = [pa.repeat(key, len(table)) for key, table in zip(keys, tables, strict=True)]
    whole = whole.add_column(0, "run", pa.chunked_array(run)).replace_schema_metadata(
        {_BY_NAME: b""} if by_name else None
    )
    integers = {one.name for one in whole.schema if pa.types.is_integer(one.type)}
    numbers = integers | {one.name for one in whole.schema if pa.types.is_floating(one.type)}
    sink = pa.BufferOutputStream()
    pq.write_table(
        whole,
        sink,
        compression="zstd",
        use_dictionary=[name for name in whole.column_names if name not in numbers],
        column_encoding=dict.fromkeys(integers, "DELTA_BINARY_PACKED"),
        write_statistics=False,
    )
    return bytes(sink.getvalue())


def read(data: bytes, columns: Sequence[str] | None) -> pa.Table:
    """Such a file, or some columns of it with what is needed to order its rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = pq.ParquetFile(pa.BufferReader(data))
    have = [name for name in file.schema_arrow.names if name != "run"]
    some = have if columns is None else [name for name in have if name in columns or name == "at_ns"]
    # Without threads. A thread of Arrow's pool that gives a column's buffer back while the interpreter ends aborts the process.
    return file.read(columns=some, use_threads=False)


def of_run(whole: pa.Table, rows: tuple[int, int], columns: Sequence[str] | None) -> pa.Table:
    """The ``rows`` of one run (the first, and how many) in what :func:`read` gave, in the order in which they were made."""
    import pyarrow as pa

    table = whole.slice(*rows)
    metadata = whole.schema.metadata or {}
    if _BY_NAME in metadata:
        table = table.take(pa.array(np.argsort(table["at_ns"].to_numpy(), kind="stable")))
    return (table if columns is None else chosen(table, columns)).replace_schema_metadata(None)


def chosen(table: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Those of these columns that the table has."""
    return table.select([name for name in table.column_names if name in columns])


def _by_name(table: pa.Table) -> NDArray[Any] | None:
    """The order by name of the rows of a series; ``None``: it has none, or its rows could not be brought back."""
    import pyarrow as pa

    name = next((one for one in _NAMES if one in table.column_names), None)
    if name is None or "at_ns" not in table.column_names:
        return None
    names = table[name].combine_chunks()
    if not pa.types.is_dictionary(names.type):
        names = names.dictionary_encode()
    order: NDArray[Any] = np.argsort(names.indices.to_numpy(), kind="stable")
    at = table["at_ns"].to_numpy()
    back = np.argsort(at[order], kind="stable")
    return order if (order[back] == np.arange(len(order))).all() else None
