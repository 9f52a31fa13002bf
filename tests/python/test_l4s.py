"""Prague beside CUBIC behind one queue with RFC 3168's marks and behind one of L4S, with the fall-back and without."""

from __future__ import annotations

from pathlib import Path

import pytest

import haltere

EXPERIMENT = """
duration = "60s"
warmup = "20s"
seeds = 2
[topology.dumbbell]
pairs = 2
access = { rate = "1Gbit" }
bottleneck = { rate = "50Mbit", delay = "10ms", queue = QUEUE }
[[traffic]]
kind = "bulk"
name = "prague"
pairs = [1]
congestion = { kind = "prague", fallback = "FALLBACK" }
[[traffic]]
kind = "bulk"
name = "cubic"
pairs = [2]
congestion = "cubic"
ecn = true
"""
CODEL = '{ kind = "codel", ecn = true }'
DUALPI2 = '"dualpi2"'


def share(folder: Path, queue: str, fallback: str) -> float:
    """Prague's share of the goodput of both."""
    file = folder / "l4s.toml"
    file.write_text(EXPERIMENT.replace("QUEUE", queue).replace("FALLBACK", fallback))
    flows = haltere.load(file).run().pandas("flows")
    goodput = flows.groupby("group", observed=True)["goodput_bps"].mean()
    return float(goodput["prague"] / goodput.sum())


def test_without_the_fallback_prague_takes_most_of_a_classic_queue(tmp_path: Path) -> None:
    assert share(tmp_path, CODEL, "off") > 0.9


def test_with_the_fallback_prague_shares_a_classic_queue_fairly(tmp_path: Path) -> None:
    assert share(tmp_path, CODEL, "linux") == pytest.approx(0.5, abs=0.1)


def test_prague_does_not_fall_back_behind_dualpi2(tmp_path: Path) -> None:
    assert share(tmp_path, DUALPI2, "linux") == share(tmp_path, DUALPI2, "off")
