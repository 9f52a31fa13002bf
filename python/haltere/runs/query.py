"""Results asked in SQL, through DuckDB.

In a directory every table is a view over the Parquet files of the runs, read as far as the question needs; at a URL the tables that
the question names are fetched. A question reads tables and nothing else: no other file, no network, and it writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from glob import escape
from typing import Any

import pyarrow as pa

from ..errors import InputError
from .results import Results
from .store import AGAIN, Damaged, need, tables_of


def query(results: Results, sql: str) -> pa.Table:
    """The answer to a question in DuckDB's SQL.

    Tables: those of the runs (``flows``, ``links``, ...), with ``point`` and ``seed`` in front; ``points`` (``point``, ``name`` and a
    column for each swept key, under its last word); ``runs`` (``key``, ``point``, ``seed``, ``digest``, ``wall_s``). Of two columns of
    one name the second is ``name_2``.
    """
    duckdb = need("duckdb", "sql", "results")
    with _connect(duckdb, results, sql) as connection:
        try:
            asked = connection.extract_statements(sql)
            if [one.type for one in asked] != [duckdb.StatementType.SELECT]:
                raise InputError(
                    f"{results.where}: query must be one SELECT, which gives rows and changes nothing, got `{sql}`"
                )
            table: pa.Table = connection.sql(sql).to_arrow_table()
        except duckdb.Error as error:
            why = " ".join(str(error).split())
            raise InputError(f"{results.where}: query must be SQL that these tables can answer, got `{why}`") from None
    return table.rename_columns(_told_apart(table.column_names))


def _told_apart(names: Sequence[str]) -> list[str]:
    """
    >>> _told_apart(["point", "seed", "point", "point", "point_2"])
    ['point', 'seed', 'point_2', 'point_3', 'point_2_2']
    """
    out: list[str] = []
    for name in names:
        free = (text for n in range(1, len(names) + 2) if (text := name if n == 1 else f"{name}_{n}") not in out)
        out.append(next(free))
    return out


def columns(results: Results) -> dict[str, list[str]]:
    """The tables that a question may name, each with its columns."""
    duckdb = need("duckdb", "sql", "results")
    with _connect(duckdb, results) as connection:
        names = [
            str(name) for (name,) in connection.execute("SELECT table_name FROM information_schema.tables").fetchall()
        ]
        return {
            name: [str(one[0]) for one in connection.execute(f'DESCRIBE "{name}"').fetchall()]
            for name in sorted(names)
            if not name.endswith("_")
        }


def _connect(duckdb: Any, results: Results, wanted: str | None = None) -> Any:
    """A connection that knows the tables; at a URL those that the text ``wanted`` names, fetched whole."""
    if not results.runs:
        raise InputError(f"{results.where}: runs must be at least 1, got none")
    connection = duckdb.connect(config={"python_enable_replacements": "false"})
    connection.register("points_", results.points_table())
    connection.execute("CREATE TABLE points AS SELECT * FROM points_")
    tables = tables_of(map(results.seal, results.runs))
    # If the text names none, it may ask which there are.
    named = [name for name in tables if name in (wanted or "").casefold()] or tables
    paths: list[str] = []
    connection.register("runs_", results.runs_table())
    connection.execute("CREATE TABLE runs AS SELECT * FROM runs_")
    for name in tables:
        if results.store.local and name in named:
            _verify(results, name)
            paths += _view(connection, results, name)
        elif not results.store.local and (wanted is None or name in wanted.casefold()):
            connection.register(name, results.table(name, points=None if wanted else [results.runs[0].point]))
    for name in ("points_", "runs_"):
        connection.unregister(name)
    connection.execute(f"SET allowed_paths = [{_quoted([*paths, *map(escape, paths)])}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


def _quoted(texts: Iterable[str]) -> str:
    return ", ".join("'" + text.replace("'", "''") + "'" for text in dict.fromkeys(texts))


def _verify(results: Results, name: str) -> None:
    """DuckDB reads the files itself, so they are compared with their checksum files before."""
    seals = {run.key: results.seal(run) for run in results.runs}
    if wrong := results.store.check(seals.values(), name):
        raise Damaged(f"{wrong[0]}; {AGAIN}")


def _view(connection: Any, results: Results, name: str) -> list[str]:
    """Makes the view ``name``: the files of that table, each row with the point and the seed of its run. Returns their paths."""
    file = f"{name}.parquet"
    seals = {seal["batch"]: seal for seal in map(results.seal, results.runs) if file in seal["files"]}
    paths = [results.store.file(seal, file) for seal in seals.values()]
    connection.execute(
        f'CREATE TEMP VIEW "{name}" AS SELECT r.point, r.seed, t.* EXCLUDE (run) '
        f"FROM read_parquet([{_quoted(map(escape, paths))}], union_by_name = true) t JOIN runs r ON r.key = t.run"
    )
    return paths
