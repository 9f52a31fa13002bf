"""Running a program and asking the operating system what it cost; ratios of what two programs cost."""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Run:
    """One run of one program: its line of JSON, and its cost as the operating system counts it."""

    said: dict[str, Any]
    cpu_s: float
    """User and system time of the whole process, start and set-up included."""
    wall_s: float
    peak_kb: int
    """The most memory that was resident: what the program says of itself; else `ru_maxrss`, in which a small program inherits what
    this one held when it started it."""


class ProgramFailed(RuntimeError):
    """A program ended badly, or too late, or said nothing that can be read."""


def parse(output: str) -> dict[str, Any]:
    """The last line that is a JSON object; what a library prints before it does not matter. Of a program that prints a table
    for people instead: the numbers of its rows."""
    for line in reversed(output.splitlines()):
        if line.startswith("{"):
            value = json.loads(line)
            assert isinstance(value, dict)
            return value
    if rows := re.findall(r"^  (\S.*?)  +([0-9.]+)( .*)?$", output, re.MULTILINE):
        return {name: float(number) for name, number, _ in rows}
    raise ProgramFailed(f"no line of JSON in {output[-300:]!r}")


def run(command: Sequence[str], limit_s: float) -> Run:
    """Runs `command` to its end, at most `limit_s` seconds of CPU time."""
    import resource
    import time

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (int(limit_s) + 1, int(limit_s) + 2))

    with tempfile.TemporaryFile("w+") as out:
        began = time.monotonic()
        child = subprocess.Popen(list(command), stdout=out, stderr=subprocess.STDOUT, preexec_fn=limited)
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.monotonic() - began
        # Popen would wait for the child that is gone already.
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        text = out.read()
    if child.returncode != 0:
        raise ProgramFailed(f"`{' '.join(command)}` ended with {child.returncode}: {text[-300:].strip()}")
    said = parse(text)
    return Run(said, usage.ru_utime + usage.ru_stime, wall, said.get("peak_kb") or usage.ru_maxrss)


@dataclass(frozen=True)
class Spread:
    """A median, and the least and the most."""

    median: float
    least: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        if not values:
            raise ValueError("a spread needs a value")
        return cls(statistics.median(values), min(values), max(values))


def ratios(dividends: Sequence[float], divisors: Sequence[float]) -> Spread:
    """Of runs taken in turn: the ratio of each pair of neighbours, so that a slow spell of the machine meets both."""
    if len(dividends) != len(divisors):
        raise ValueError(f"runs taken in turn come in pairs, got {len(dividends)} and {len(divisors)}")
    return Spread.of([a / b for a, b in zip(dividends, divisors, strict=True)])


def slope(points: Sequence[tuple[float, float]]) -> float:
    """The straight line of least squares through `points`: how much more for one more."""
    if len(points) < 2:
        raise ValueError("a slope needs two points")
    xs, ys = zip(*points, strict=True)
    return float(statistics.linear_regression(xs, ys).slope)
