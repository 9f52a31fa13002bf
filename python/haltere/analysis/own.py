"""Metrics of your own: a query in SQL over the tables of one run, which returns one number."""

from __future__ import annotations

import hashlib
import math
import re
from typing import Any

import pyarrow as pa

from ..errors import HaltereError, InputError
from ..runs.store import need
from ..runs.tables import ROWS
from .measures import Run

_WORD = re.compile(r"[a-z_]+")


def version(sql: str) -> str:
    """Tells one question from another, for what was measured before."""
    return hashlib.sha256(sql.encode()).hexdigest()[:12]


def answer(run: Run, name: str, sql: str) -> float:
    """The answer of one run, NaN if it is null. The question may read tables and nothing else: no file, no network."""
    where = f"measure.metrics.{name}"
    duckdb = need("duckdb", "sql", where)
    with duckdb.connect(
        config={"enable_external_access": "false", "python_enable_replacements": "false", "threads": "1"}
    ) as asked:
        for table, rows in _tables(run, sql).items():
            asked.register(table, rows)
        span = {"from_ns": pa.array([round(run.warmup_s * 1e9)]), "to_ns": pa.array([round(run.until_s * 1e9)])}
        asked.register("span", pa.table(span))
        try:
            found = asked.sql(sql)
            rows = None if found is None else found.fetchall()
        except duckdb.Error as error:
            why = " ".join(str(error).split())
            raise InputError(f"{where}: sql must be a query that the tables of a run can answer, got `{why}`") from None
    if rows is None or len(rows) != 1 or len(rows[0]) != 1:
        got = "none" if not rows else f"{len(rows)} rows of {len(rows[0])} values"
        raise InputError(f"{where}: answer must be one row with one number, got {got}")
    return _number(rows[0][0], where)


def _tables(run: Run, sql: str) -> dict[str, pa.Table]:
    """The tables of the run that the text names. One that the run lacks is left out, and DuckDB says so."""
    out: dict[str, pa.Table] = {}
    for table in sorted(set(_WORD.findall(sql.casefold())) & set(ROWS)):
        try:
            out[table] = run.table(table)
        except (HaltereError, KeyError):
            continue
    return out


def _number(value: Any, where: str) -> float:
    if value is None:
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InputError(f"{where}: answer must be a number, got `{value}`") from None
