"""Files of traces: Mahimahi's, CSV, TheaterQ's, LeoEM's and CellReplay's are read, the first three are written.

A format is a name in the package's ``READ`` or ``WRITTEN``, and a function here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from .. import _core
from ..errors import InputError
from ..formats.found import text_of
from . import READ, WRITTEN
from .trace import STEP_S, Array, Reader, Trace

#: Units in which the columns of a CSV file are, if a number has none; and what reads one with a unit.
_COLUMNS = {"rate": ("rate", "bit"), "delay": ("duration", "s"), "loss": ("probability", ""), "limit": ("", "")}
#: A share of TheaterQ is a part of this.
_WHOLE = 2**32 - 1
#: What LeoEM's emulator gives each link, bit/s; and by how much a hand-over lasts longer than the delays of the old and the new first hop.
_LEOEM_RATE, _LEOEM_HANDOVER = 150e6, 3.0


def read(path: str, kind: str | None = None) -> Trace:
    """The trace in a file of that format; by default of that which its first line shows."""
    text = text_of(path)
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    if not lines:
        raise InputError(f"{path}: file must have at least one line, got none")
    return READERS[kind or _guessed(path, lines)](path, text)


def _guessed(path: str, lines: list[str]) -> str:
    first, last = lines[0].strip(), lines[-1].strip()
    if path.lower().endswith(".csv") or first.startswith("time"):
        return "csv"
    if "$" in first:
        return "leoem"
    if last.count(",") >= 4:
        return "theaterq"
    return "cellreplay" if len(first.split()) > 1 else "mahimahi"


def _numbers(path: str, text: str, separator: str | None, what: str) -> Iterator[list[float]]:
    for number, line in enumerate(text.splitlines(), 1):
        if not re.match(r"\s*\d", line):
            continue
        try:
            yield [float(cell) for cell in line.split(separator)]
        except ValueError:
            raise InputError(f"{path}: line {number} must be {what}, got `{line[:40]}`") from None


def _mahimahi(path: str, text: str) -> Trace:
    ms = np.array([row[0] for row in _numbers(path, text, None, "a time in ms")])
    if not len(ms) or ms[-1] <= 0 or (np.diff(ms) < 0).any():
        raise InputError(f"{path}: file must have times in ms in order, the last above 0")
    return Trace.of_instants(ms * 1e-3)


def _csv(path: str, text: str) -> Trace:
    rows = [line.split(",") for line in text.splitlines() if line.strip() and not line.startswith("#")]
    names = [name.strip() for name in rows[0]]
    if names[0] != "time" or not set(names[1:]) <= set(_COLUMNS) or any(len(row) != len(names) for row in rows):
        raise InputError(
            f"{path}: file must be CSV with the columns `time` and some of {', '.join(_COLUMNS)}, got `{','.join(names)[:40]}`"
        )
    cells = {name: np.array([_value(path, name, row[i]) for row in rows[1:]]) for i, name in enumerate(names)}
    at = cells.pop("time")
    if len(at) > 1 and all(one[-1] == one[-2] for one in cells.values()):  # the last row says only when the trace ends
        return Trace(at[:-1], float(at[-1]), {name: one[:-1] for name, one in cells.items()})
    return Trace(at, float(at[-1] + (at[-1] - at[-2] if len(at) > 1 else 1.0)), cells)


def _value(path: str, name: str, cell: str) -> float:
    quantity, _ = _COLUMNS.get(name, ("duration", "s"))
    try:
        return float(cell)
    except ValueError:
        return _core.parse_quantity(quantity, cell.strip())


def _theaterq(path: str, text: str) -> Trace:
    rows = list(_numbers(path, text, ",", "KEEP,LATENCY,RATE,LOSS,LIMIT"))
    if any(len(row) not in (5, 8, 9) for row in rows):
        raise InputError(f"{path}: lines must be KEEP,LATENCY,RATE,LOSS,LIMIT or TheaterQ's extended form")
    # The extended form has JITTER behind LATENCY, and duplication behind LIMIT.
    table = np.array([row if len(row) == 5 else [*row[:2], *row[3:6]] for row in rows])
    ends = np.cumsum(table[:, 0]) * 1e-6
    columns = {"rate": table[:, 2], "delay": table[:, 1] * 1e-9, "loss": table[:, 3] / _WHOLE, "limit": table[:, 4]}
    return Trace(np.concatenate([[0.0], ends[:-1]]), float(ends[-1]), columns)


def _leoem(path: str, text: str) -> Trace:
    """A row a second: number, nodes of the path, their number, delay of each hop (s), sum of these, apart by `$`; without a path the number alone.

    As LeoEM's emulator has it, the link is down without a path. When the first or the last satellite is another one, it is down for three
    times the delays of the old and the new hop.
    """
    at: list[float] = []
    rate: list[float] = []
    delay: list[float] = []
    before: tuple[list[int], list[float]] | None = None
    for second, line in enumerate(line for line in text.splitlines() if line.strip()):
        cells = line.split("$")
        try:
            now = (
                (
                    [int(node) for node in cells[1].strip("[] ").split(",")],
                    [float(hop) for hop in cells[3].strip("[] ").split(",")],
                )
                if len(cells) > 4
                else None
            )
        except ValueError:
            raise InputError(f"{path}: line {second + 1} must be a path of LeoEM, got `{line[:40]}`") from None
        down = 1.0 if now is None else _handover(before, now)
        last = sum(now[1]) if now else delay[-1] if delay else 0.0
        if down > 0:
            at, rate, delay = [*at, float(second)], [*rate, 0.0], [*delay, last]
        if down < 1:
            at, rate, delay = [*at, second + down], [*rate, _LEOEM_RATE], [*delay, last]
        before = now
    return Trace(np.array(at), float(second + 1), {"rate": np.array(rate), "delay": np.array(delay)})


def _handover(before: tuple[list[int], list[float]] | None, now: tuple[list[int], list[float]]) -> float:
    """For how many seconds the link is down as this second begins: at the end that changes its satellite, or the longer of both."""
    if before is None:
        return 0.0
    ends = [
        (before[1][i] + now[1][i]) * _LEOEM_HANDOVER
        for i, node in ((0, 1), (-1, -2))
        if before[0][node] != now[0][node]
    ]
    return min(1.0, max(ends, default=0.0))


def _cellreplay(path: str, text: str) -> Trace:
    """CellReplay's file of base delays and light load: `TIME DELAY T T ...`, all in ms. What its trains say of the rate is left out.

    Its file for heavy load has Mahimahi's format, with opportunities of 1400 bytes.
    """
    rows = list(_numbers(path, text, None, "TIME DELAY and delivery times, in ms"))
    if len(rows) < 2 or any(len(row) < 2 for row in rows):
        raise InputError(f"{path}: file must have at least two lines with a time and a delay in ms")
    at = np.array([row[0] for row in rows]) * 1e-3
    return Trace(at - at[0], float(2 * at[-1] - at[-2] - at[0]), {"delay": np.array([row[1] for row in rows]) * 1e-3})


READERS: dict[str, Reader] = dict(zip(READ, (_mahimahi, _csv, _theaterq, _leoem, _cellreplay), strict=True))


# -- writing --------------------------------------------------------------------------------------------------------------


def _to_mahimahi(trace: Trace) -> str:
    ms = np.round(trace.opportunities() * 1e3).astype(int)
    if not len(ms):
        raise InputError("trace: rate must be above zero at some time, got none")
    return "\n".join(map(str, ms)) + "\n"


def _table(trace: Trace) -> Trace:
    """The trace as pieces; of delivery opportunities the mean rates of intervals, equal neighbours as one."""
    if trace.instants_s is None:
        return trace
    edges, rates = trace.rates(STEP_S)
    first = np.concatenate([[True], np.diff(rates) != 0])
    return Trace(edges[:-1][first], trace.end_s, {"rate": rates[first]})


def _to_csv(trace: Trace) -> str:
    table = _table(trace)
    # With `cont = "loop"` the last row says when the trace begins again.
    columns = {"time": np.append(table.at_s, table.end_s)}
    columns |= {name: np.append(values, values[-1]) for name, values in table.columns.items()}
    cells = [[_WRITTEN.get(name, "{:.9g}").format(value) for value in of] for name, of in columns.items()]
    return "\n".join([",".join(columns), *map(",".join, zip(*cells, strict=True))]) + "\n"


#: The laboratory reads whole ns and whole bit/s.
_WRITTEN = {"time": "{:.9f}", "delay": "{:.9f}", "rate": "{:.0f}"}


def _to_theaterq(trace: Trace) -> str:
    table = _table(trace)

    def column(name: str, scale: float, default: float) -> Array:
        return np.round(table.columns.get(name, np.full(len(table.at_s), default / scale)) * scale)

    keeps = np.round(np.diff(np.append(table.at_s, table.end_s)) * 1e6)
    columns = [
        keeps,
        column("delay", 1e9, 0),
        np.round(table.rate),
        column("loss", _WHOLE, 0),
        column("limit", 1, 1000),
    ]
    rows = [",".join(f"{int(value)}" for value in row) for row in zip(*columns, strict=True) if row[0] > 0]
    return "\n".join(["KEEP,LATENCY,RATE,LOSS,LIMIT", *rows]) + "\n"


WRITERS = dict(zip(WRITTEN, (_to_mahimahi, _to_csv, _to_theaterq), strict=True))
