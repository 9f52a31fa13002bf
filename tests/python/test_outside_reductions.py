"""Reductions that no loss begins, in controls written in Python: a reduction that is asked for, and a packet that a switch returns."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from haltere import HaltereError
from test_outside import EXAMPLES, experiment, same, tables

OWN = '''
from functools import reduce
from operator import add

from reno import Reno


class Cdg(Reno):
    """CDG without a shadow window and HyStart, which backs off at any gradient above 0."""

    shows = {}

    def __init__(self):
        super().__init__()
        self.round = self.last = None  # least and largest round-trip time in ms
        self.changes = ([], [])
        self.round_end = self.delayed = 0
        self.reducing = self.restarted = False

    def on_ack(self, ev):
        self.wants_reduction = False
        if ev.rtt is not None:
            self.sample(ev.rtt * 1e-9 * 1e3, -(-ev.acked // self.mss), not ev.in_recovery)
        if not ev.in_recovery:
            if self.restarted:
                # Its round-trip time belongs to the reduction, too.
                self.restarted, self.round_end = False, ev.snd_nxt
                self.last, self.round = self.round, None
            if ev.snd_una > self.round_end and self.round is not None:
                self.round_end = ev.snd_nxt
                self.end_round()
                self.wants_reduction = self.wants_reduction and not ev.in_rto_recovery
        if not self.wants_reduction:
            super().on_ack(ev)

    def sample(self, ms, segments, in_order):
        least, largest = self.round or (ms, ms)
        least = min(least, ms)
        if in_order and segments == 1 and self.delayed:
            self.delayed -= 1
            self.round = (least, self.round[1]) if self.round else None
            return
        self.delayed += in_order and segments > 1 and self.delayed < 5
        self.round = least, max(largest, ms)

    def end_round(self):
        before, self.last, self.round = self.last, self.round, None
        if before is None:
            return
        for changes, old, new in zip(self.changes, before, self.last):
            changes.append(new - old)
            del changes[:-8]
        least, largest = (reduce(add, changes, 0.0) / len(changes) for changes in self.changes)
        steps = (least if least > 0 else largest) * 1e6
        assert not 1e-9 < steps < 40, "neither never nor always"
        self.wants_reduction = steps > 1

    def reduced(self):
        self.reducing = True
        asked, self.wants_reduction = self.wants_reduction, False
        return max(int(self.window * 0.7) if asked else self.window // 2, 2)

    def on_loss(self, ev):
        self.kinds = {*getattr(self, "kinds", ()), ev.kind}
        self.before = (self.window, self.protected()) if ev.kind == "loss" else None
        self.window = self.threshold = self.reduced()
        self.credit = 0
        self.answer()

    def on_rto(self, ev):
        if ev.first:
            self.before = (self.window, self.protected())
            self.threshold = self.reduced()
            self.reducing = False
        self.credit = 0
        self.window = ev.still_in_flight // self.mss + 1
        self.answer()

    def on_recovered(self, now):
        if self.reducing:
            self.reducing, self.restarted = False, True


class Dctcp(Reno):
    """DCTCP, which counts returned packets as marked."""

    ecn = "per_packet"
    shows = {}

    def __init__(self):
        super().__init__()
        self.alpha, self.end, self.acked, self.marked = 1024, None, 0, 0

    def on_ack(self, ev):
        if self.end is None:
            self.end = ev.snd_nxt
        elif ev.snd_una >= self.end:
            share = min(self.marked / max(self.acked, 1), 1.0)
            self.alpha += int(64 * share) - min(max(self.alpha // 16, 1), self.alpha)
            self.alpha = min(self.alpha, 1024)
            self.acked = self.marked = 0
            self.end = ev.snd_nxt
        self.acked += ev.delivered
        self.marked += ev.ce
        super().on_ack(ev)

    def on_loss(self, ev):
        self.before = (self.window, self.protected()) if ev.kind == "loss" else None
        left = self.window - self.window * self.alpha // 2048 if ev.kind == "ecn" else self.window // 2
        self.window = self.threshold = max(left, 2)
        self.credit = 0
        self.answer()

    def on_returned(self, now, size):
        assert size % self.mss == 0 and now > 0, (now, size)
        self.marked += size
        return True


class Deaf(Dctcp):
    """It does not support packets that come back."""

    def on_returned(self, now, size):
        return False


class Flights(Reno):
    """It counts the starts of flights, and those after an idle time."""

    shows = {"flights": "", "restarts": ""}
    flights = restarts = 0

    def on_flight_start(self, now):
        assert now > 0
        self.flights += 1

    def on_restart(self, ev):
        self.restarts += 1
        super().on_restart(ev)


class Unsure(Reno):
    """Its wish is no truth value."""

    def on_ack(self, ev):
        self.wants_reduction = "perhaps"


class Pleased(Cdg):
    """It says which reductions it met, and fails at the end."""

    def on_ack(self, ev):
        super().on_ack(ev)
        if ev.now > 3_500_000_000:
            raise RuntimeError(" ".join(sorted(self.kinds)))
'''
CDG = {"kind": "cdg", "scale": "1ns", "ineffectual": 0, "shadow": False, "hystart": False}
RETURNING = {"kind": "threshold", "limit": "100p", "upper": "20p", "return_to_sender": True}


@pytest.fixture
def own(tmp_path: Path) -> str:
    """What an experiment writes for the module, up to its class."""
    shutil.copy(EXAMPLES / "reno.py", tmp_path / "reno.py")
    (tmp_path / "own.py").write_text(OWN)
    return f"python:{tmp_path / 'own.py'}"


@pytest.mark.parametrize(
    "network",
    [
        {},
        {"rate": "5Mbit"},
        {"loss": 0.01},
        {"queue": {"kind": "drop_tail", "limit": "10p"}},
        {"queue": {"kind": "codel", "ecn": True}, "traffic": {"ecn": True}},
    ],
)
def test_cdg_in_python_asks_for_the_reductions_of_cdg(network: dict[str, Any], own: str) -> None:
    ours = tables(experiment(CDG, **network))
    assert ours["flow_series"].num_rows > 0
    same(ours, tables(experiment(f"{own}:Cdg", **network)))


def test_a_reduction_that_was_asked_for_has_its_own_kind(own: str) -> None:
    with pytest.raises(HaltereError, match=r"on_ack must return without an error, got RuntimeError: asked( loss)? at"):
        tables(experiment(f"{own}:Pleased"))


def test_a_wish_that_is_no_truth_value_ends_the_run(own: str) -> None:
    rule = r"on_ack must leave `wants_reduction` `True` or `False`, got `'perhaps'`"
    with pytest.raises(HaltereError, match=rule):
        tables(experiment(f"{own}:Unsure"))


@pytest.mark.parametrize("network", [{}, {"rate": "50Mbit", "delay": "2ms"}])
def test_returned_packets_reach_a_control_in_python_as_they_reach_dctcp(network: dict[str, Any], own: str) -> None:
    network = {**network, "queue": RETURNING, "traffic": {"ecn": True}}
    ours = tables(experiment("dctcp", **network))
    same(ours, tables(experiment(f"{own}:Dctcp", **network)))
    # What the control answers is heard: the same control without support reduces otherwise.
    with pytest.raises(AssertionError):
        same(ours, tables(experiment(f"{own}:Deaf", **network)))


#: From 2 s to 4 s all packets are lost.
OUTAGE = {"kind": "csv", "rows": "time,rate,loss\n0,10Mbit,0\n2,10Mbit,1\n4,10Mbit,0"}


def test_a_flight_starts_with_nothing_in_flight_also_if_all_that_is_outstanding_was_lost(own: str) -> None:
    outage = experiment({"kind": f"{own}:Flights"}, trace=OUTAGE, reverse={"rate": "10Mbit"}, duration="6s")
    del outage["topology"]["dumbbell"]["bottleneck"]["rate"]
    counted = tables(outage)["flow_series"].to_pylist()
    before, after = counted[50], counted[-1]  # after 1 s, and at the end
    assert (before["flights"], before["restarts"]) == (1, 0)
    assert after["timeouts"] == 2
    assert after["flights"] >= 1 + after["timeouts"] and after["restarts"] == 0
