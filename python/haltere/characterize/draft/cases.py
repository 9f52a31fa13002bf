"""The test cases of draft-ietf-ccwg-bbr-06, appendix A: for each what it expects, and what a run shows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .paths import LOSS_AT_S, MSS, RATE_MBIT, RTT_MS, STEP_S, payload
from .trace import Phase, Trace

#: How close an estimate must be (A.1).
_CLOSE = 0.02
#: LossThresh.
_LOSS_THRESH = 0.02
_MIN_CWND = 4 * MSS


@dataclass(frozen=True)
class Check:
    """One expectation."""

    expects: str
    held: bool | None
    """``None``: the run did not come to the condition."""
    figures: str


#: Of each expectation in turn whether it held, and the figures that say so.
Verdicts = Iterator[tuple[bool | None, str]]


@dataclass(frozen=True)
class Case:
    """A test case: the experiment that shows it, and its checks."""

    number: str
    title: str
    experiment: str
    expects: Sequence[str]
    verdicts: Callable[[Trace], Verdicts]

    def check(self, trace: Trace) -> list[Check]:
        """What the run shows."""
        return [Check(one, *shown) for one, shown in zip(self.expects, self.verdicts(trace), strict=True)]


CASES: list[Case] = []


def _case(number: str, title: str, experiment: str, expects: Sequence[str]) -> Callable[..., Any]:
    """The case that the function below decides, with what the draft expects."""
    return lambda verdicts: CASES.append(Case(number, title, experiment, expects, verdicts))


def _close(value: float, to: float) -> bool:
    return abs(value - to) <= _CLOSE * to


def _mbit(bps: float) -> str:
    return "none" if math.isinf(bps) else f"{bps * 1e-6:.2f} Mbit/s"


def _packets(value: float) -> str:
    return "none" if math.isinf(value) else f"{value / MSS:.0f} segments"


def _moves(t: Trace, phase: Phase, to: str) -> tuple[bool, str]:
    after = t.follows(phase)
    return after == to, f"{after or 'the end'} at {t.at[phase.last]:.2f} s"


@_case("A.1", "Exiting STARTUP on bandwidth plateau", "plain", [
    "max_bw is within 2 % of the link's",
    "full_bw_count is 3 and full_bw_reached is set",
    "startup is followed by drain",
])  # fmt: skip
def _exit_startup(t: Trace) -> Verdicts:
    startup = t.first("startup")
    end = t.end(startup)
    bw, count, full = t.variable("max_bw")[end], t.variable("full_bw_count")[end], t.variable("full_bw_reached")[end]
    wanted = payload(RATE_MBIT) * 1e6
    yield _close(bw, wanted), f"{_mbit(bw)} of {_mbit(wanted)}"
    yield count == 3 and full == 1, f"count {count:.0f}, reached {full:.0f}"
    yield _moves(t, startup, "drain")


@_case("A.2", "Exiting STARTUP on loss when application-limited", "limited-loss", [
    "the flow stays in STARTUP until packets are lost",
    "full_bw_reached is set",
    "DRAIN follows, or what follows DRAIN if the flight is below the BDP at once",
])  # fmt: skip
def _startup_loss(t: Trace) -> Verdicts:
    startup = t.first("startup")
    left, after = t.at[startup.last], t.follows(startup)
    full = t.variable("full_bw_reached")[startup.last + 1]
    yield left >= 1.0, f"left at {left:.2f} s, loss of 20 % from 1.00 s"
    yield full == 1, f"reached {full:.0f}"
    yield after in ("drain", "down", "cruise"), after


@_case("A.3", "Exiting DRAIN based on inflight", "plain", [
    "the pacing gain is 0.5",
    "it ends with a flight of at most the BDP",
    "a phase of PROBE_BW follows",
])  # fmt: skip
def _drain(t: Trace) -> Verdicts:
    drain = t.first("drain")
    gains = t.variable("pacing_gain")[drain.first : drain.last + 1]
    after = t.end(drain)
    flight, bdp = t.column("in_flight_bytes")[after], t.variable("bdp")[after]
    yield bool(np.allclose(gains, 0.5)), f"{gains.min():.2f} to {gains.max():.2f}"
    yield flight <= bdp + MSS, f"{_packets(flight)} of {_packets(bdp)}"
    yield t.follows(drain) in ("down", "cruise"), t.follows(drain)


@_case("A.4", "Exiting DRAIN based on time", "less-in-drain", [
    "after 3 rounds DRAIN ends though the flight is larger than the BDP",
])  # fmt: skip
def _drain_time(t: Trace) -> Verdicts:
    drain = t.first("drain")
    after = t.end(drain)
    rounds = t.variable("rounds")[after] - t.variable("rounds")[drain.first]
    flight, bdp = t.column("in_flight_bytes")[after], t.variable("bdp")[after]
    figures = f"{rounds:.0f} rounds; flight {_packets(flight)}, BDP {_packets(bdp)}"
    reached = flight <= bdp + MSS and rounds < 3
    yield None if reached else 3 <= rounds <= 4, figures


@_case("A.5", "Exiting PROBE_UP on bandwidth plateau", "plain", [
    "without loss PROBE_UP ends with full_bw_count = 3",
    "PROBE_DOWN follows",
])  # fmt: skip
def _up_plateau(t: Trace) -> Verdicts:
    ups = [one for one in t.ended("up") if t.follows(one) != "probe_rtt"]
    counts = [t.variable("full_bw_count")[one.last + 1] for one in ups]
    next_states = [t.follows(one) for one in ups]
    lost = t.grown("retransmissions", ups[0].first)
    yield (
        lost == 0 and all(c == 3 for c in counts),
        f"counts {', '.join(f'{c:.0f}' for c in counts)}; {lost:.0f} segments sent again",
    )
    yield all(one == "down" for one in next_states), ", ".join(next_states)


@_case("A.6", "Exiting PROBE_UP on loss when application-limited", "limited-later", [
    "the flow is in PROBE_UP, limited by its application",
    "loss of 20 % ends it, by way of PROBE_DOWN",
    "inflight_longterm is left alone by an application-limited sample (section 5.5.10.2)",
])  # fmt: skip
def _up_loss_limited(t: Trace) -> Verdicts:
    here = t.since(LOSS_AT_S)
    state = t.states[here]
    found = next(one for one in t.phases() if one.first <= here <= one.last)
    left = t.at[found.last]
    longterm = t.variable("inflight_longterm")
    before, after = longterm[here], longterm[t.end(found)]
    yield state == "up" or None, f"{state} at {LOSS_AT_S:g} s"
    yield (
        (left - LOSS_AT_S < 5 * RTT_MS / 1e3 and t.follows(found) in ("down", "cruise")) if state == "up" else None,
        f"{t.follows(found)} after {1e3 * (left - LOSS_AT_S):.0f} ms",
    )
    yield before == after if state == "up" else None, f"{_packets(before)} before, {_packets(after)} after"


@_case("A.7", "Never exiting STARTUP when application-limited with no loss", "limited", [
    "without loss the flow stays in STARTUP, but for PROBE_RTT (A.20)",
])  # fmt: skip
def _stays(t: Trace) -> Verdicts:
    states = sorted(set(t.states))
    held = set(states) <= {"startup", "probe_rtt"} and t.states[-1] == "startup"
    yield held, f"{t.at[-1]:.0f} s in {', '.join(states)}"


@_case("A.8", "Exiting PROBE_DOWN on inflight", "plain", [
    "the pacing gain is 0.9",
    "PROBE_CRUISE follows when the flight is at most the BDP",
])  # fmt: skip
def _down_flight(t: Trace) -> Verdicts:
    downs = [one for one in t.ended("down") if t.follows(one) == "cruise"]
    gains = [t.variable("pacing_gain")[one.first] for one in t.phases("down")]
    over = [t.column("in_flight_bytes")[one.last + 1] - t.variable("bdp")[one.last + 1] for one in downs]
    yield all(abs(g - 0.9) < 1e-9 for g in gains), f"{min(gains):.2f} to {max(gains):.2f}"
    yield (
        bool(downs) and max(over) <= MSS,
        f"{len(downs)} times; at most {max(over, default=math.nan) / MSS:.1f} segments over it",
    )


@_case("A.9", "Exiting PROBE_DOWN after max time", "less-in-down", [
    "PROBE_DOWN lasts for bw_probe_wait, 2 to 3 s, or as many rounds as Reno would need",
    "down is followed by refill",
])  # fmt: skip
def _down_time(t: Trace) -> Verdicts:
    down = t.first("down", after_s=5.0)
    rounds = t.variable("rounds")[down.last] - t.variable("rounds")[down.first]
    # Section 5.3.3.9: as many rounds as there are segments in flight, at most 63; both waits begin at random, by a round at most.
    reno = min(t.variable("bdp")[down.first] / MSS, 63) - 2
    yield t.seconds(down) >= 2.0 - 0.01 or rounds >= reno, f"{t.seconds(down):.2f} s, {rounds:.0f} rounds"
    yield _moves(t, down, "refill")


@_case("A.10", "Entering and exiting PROBE_RTT", "plain", [
    "PROBE_RTT comes when the least round-trip time is 5 s old",
    "its cwnd gain is 0.5",
    "it lasts for at least 200 ms and a round trip",
    "a phase of PROBE_BW follows",
])  # fmt: skip
def _probe_rtt(t: Trace) -> Verdicts:
    found = t.ended("probe_rtt")
    gaps = np.diff([t.at[one.first] for one in found])
    gains = [t.variable("cwnd_gain")[one.first] for one in found]
    spans = [t.seconds(one) for one in found]
    yield bool(len(gaps)) and float(gaps.min()) >= 5.0, f"every {', '.join(f'{gap:.1f}' for gap in gaps)} s"
    yield all(gain == 0.5 for gain in gains), f"{min(gains):.2f} to {max(gains):.2f}"
    yield min(spans) >= 0.2 - 0.01, f"{', '.join(f'{1e3 * span:.0f}' for span in spans)} ms"
    yield (
        all(t.follows(one) in ("cruise", "down", "refill") for one in found),
        ", ".join(t.follows(one) for one in found),
    )


@_case("A.11", "Skipping PROBE_RTT due to application-limited sending", "idle", [
    "the flow was idle for more than 5 s",
    "PROBE_RTT is skipped when it sends again",
])  # fmt: skip
def _idle(t: Trace) -> Verdicts:
    again = t.since(14.0)
    before = t.column("in_flight_bytes")[again - 200 : again - 1].max()
    soon = t.states[again : t.since(15.0)]
    yield before == 0 or None, f"{_packets(before)} in flight in the second before"
    yield "probe_rtt" not in soon, f"{', '.join(dict.fromkeys(soon))} in the first second"


@_case("A.12", "Achieving expected STARTUP bandwidth on a link with aggregation", "aggregated", [
    "extra_acked is above 0, and cwnd above 2 BDP",
    "STARTUP finds the link's bandwidth",
])  # fmt: skip
def _startup_aggregated(t: Trace) -> Verdicts:
    startup = t.first("startup")
    end = t.end(startup)
    extra, cwnd = t.variable("extra_acked")[: end + 1].max(), t.column("cwnd_bytes")[end]
    bdp, bw = t.variable("bdp")[end], t.variable("max_bw")[end]
    wanted = payload(RATE_MBIT) * 1e6
    yield extra > 0 and cwnd > 2 * bdp, f"extra_acked {_packets(extra)}, cwnd {_packets(cwnd)}, BDP {_packets(bdp)}"
    yield _close(bw, wanted), f"{_mbit(bw)} of {_mbit(wanted)}"


@_case("A.13", "Achieving expected CRUISE bandwidth on a link with aggregation", "aggregated", [
    "extra_acked is above 0",
    "cwnd is augmented by it",
    "the link stays full",
])  # fmt: skip
def _cruise_aggregated(t: Trace) -> Verdicts:
    cruise = t.first("cruise", after_s=5.0)
    here = slice(cruise.first, cruise.last + 1)
    extra, cwnd, bdp = t.variable("extra_acked")[here], t.column("cwnd_bytes")[here], t.variable("bdp")[here]
    rate = t.rate(cruise.first, cruise.last)
    wanted = payload(RATE_MBIT) * 1e6
    yield bool(extra.min() > 0), f"{_packets(extra.min())} to {_packets(extra.max())}"
    yield bool(np.all(cwnd > 2 * bdp)), f"cwnd {_packets(cwnd.min())}, BDP {_packets(bdp.max())}"
    yield _close(rate, wanted), f"{_mbit(rate)} of {_mbit(wanted)}"


@_case("A.14", "Correctly managing sub-packet BDPs", "tiny", [
    "cwnd is at least 4 segments",
    "the bandwidth to which the pace belongs is the link's",
    "the link stays full",
])  # fmt: skip
def _tiny(t: Trace) -> Verdicts:
    late = t.since(20.0)
    cwnd, bw = t.column("cwnd_bytes")[late:].min(), t.variable("max_bw")[late:]
    rate = t.rate(late)
    wanted = payload(0.064) * 1e6
    yield cwnd >= _MIN_CWND, _packets(cwnd)
    yield _close(float(np.median(bw)), wanted), f"{np.median(bw) * 1e-3:.1f} of {wanted * 1e-3:.1f} kbit/s"
    yield _close(rate, wanted), f"{rate * 1e-3:.1f} of {wanted * 1e-3:.1f} kbit/s"


@_case("A.15", "Increasing bandwidth 10x", "faster", [
    "the step by which inflight_longterm grows doubles each round",
    "one probe finds the new bandwidth",
])  # fmt: skip
def _faster(t: Trace) -> Verdicts:
    wanted = payload(100.0) * 1e6
    bw, rounds = t.variable("max_bw"), t.variable("rounds")
    up = t.first("up", after_s=STEP_S)
    found = np.flatnonzero((bw >= (1 - _CLOSE) * wanted) & (t.at >= STEP_S))
    took = rounds[found[0]] - rounds[up.first] if len(found) else math.inf
    probes = sum(t.at[one.first] <= t.at[found[0]] for one in t.phases("up", after_s=STEP_S)) if len(found) else 0
    bdp = wanted * RTT_MS / 1e3 / 8 / MSS
    longterm = t.variable("inflight_longterm")[up.first : up.last + 1]
    if math.isinf(longterm[0]):
        yield None, "no bound was set before"
    else:
        yield longterm.max() > longterm[0], f"{_packets(longterm[0])} to {_packets(longterm.max())}"
    yield probes == 1, f"{took:.0f} rounds of PROBE_UP; log2 of the BDP is {math.log2(bdp):.1f}"


@_case("A.16", "Decreasing bandwidth 10x", "slower", [
    "bw_shortterm falls because of the loss",
    "two cycles later max_bw is that of the new link",
])  # fmt: skip
def _slower(t: Trace) -> Verdicts:
    wanted = payload(10.0) * 1e6
    start = t.since(STEP_S)
    short, bw = t.variable("bw_shortterm")[start:], t.variable("max_bw")
    bounded = np.flatnonzero(np.isfinite(short))
    probes = t.phases("up", after_s=STEP_S)
    ends = [t.at[one.last] for one in probes if t.follows(one)]
    settled = t.since(ends[1] + 1.0) if len(ends) > 1 else len(t.at) - 1
    if len(bounded):
        after_ms = 1e3 * (t.at[start + bounded[0]] - STEP_S)
        yield True, f"first set {after_ms:.0f} ms after, least {_mbit(float(short.min()))}"
    else:
        yield False, "never set"
    yield (
        _close(float(bw[settled]), wanted) if len(ends) > 1 else None,
        f"{_mbit(float(bw[settled]))} of {_mbit(wanted)} at {t.at[settled] - STEP_S:.1f} s",
    )


@_case("A.17", "Handling token bucket policers", "policed", [
    "bw_shortterm and inflight_shortterm are set",
    "the loss is not more than LossThresh (2 %) in the long run",
])  # fmt: skip
def _policer(t: Trace) -> Verdicts:
    late = t.since(10.0)
    short, flight = np.isfinite(t.variable("bw_shortterm")), np.isfinite(t.variable("inflight_shortterm"))
    sent, again = t.grown("segments_sent", late), t.grown("retransmissions", late)
    rate = t.rate(late)
    yield bool(short.any() and flight.any()), f"{100 * short.mean():.0f} and {100 * flight.mean():.0f} % of the time"
    yield (
        again <= _LOSS_THRESH * sent,
        f"{100 * again / sent:.2f} % sent again, {_mbit(rate)} of {_mbit(payload(5.0) * 1e6)}",
    )


@_case("A.18", "Handling spurious fast recovery", "reordered", [
    "reordering begins recovery",
    "the bounds are taken back: none is left at the end",
])  # fmt: skip
def _spurious(t: Trace) -> Verdicts:
    again, recoveries = t.column("retransmissions")[-1], t.column("recoveries")[-1]
    free = np.isinf(t.variable("bw_shortterm")) & np.isinf(t.variable("inflight_longterm"))
    rate = t.rate(t.since(5.0))
    yield recoveries > 0 or None, f"{recoveries:.0f} episodes, {again:.0f} segments sent again"
    yield bool(free[-1]), f"no bound for {100 * free.mean():.0f} % of the time; {_mbit(rate)}"


@_case("A.19", "Handling spurious RTO recovery", "late", [
    "a delay that rises by 400 ms begins a timeout",
    "the bounds are taken back",
    "the window is what it was",
])  # fmt: skip
def _spurious_timeout(t: Trace) -> Verdicts:
    before, after = t.since(STEP_S - 0.05), t.since(STEP_S + 2.5)
    timeouts = t.grown("timeouts", before, after)
    bounds = [t.variable(name)[after] for name in ("bw_shortterm", "inflight_longterm")]
    cwnd = t.column("cwnd_bytes")
    yield timeouts > 0 or None, f"{timeouts:.0f} timeouts"
    yield (
        all(math.isinf(one) for one in bounds),
        f"bw_shortterm {_mbit(bounds[0])}, inflight_longterm {_packets(bounds[1])}",
    )
    yield cwnd[after] >= cwnd[before], f"{_packets(cwnd[before])} before, {_packets(cwnd[after])} after"


@_case("A.20", "Entering and exiting PROBE_RTT during STARTUP", "limited-longer", [
    "PROBE_RTT comes before full_bw_reached",
    "STARTUP follows",
])  # fmt: skip
def _probe_rtt_in_startup(t: Trace) -> Verdicts:
    found = [one for one in t.phases("probe_rtt") if t.variable("full_bw_reached")[one.first] == 0]
    yield bool(found) or None, f"at {t.at[found[0].first]:.2f} s" if found else "never"
    yield (
        all(t.follows(one) == "startup" for one in found) if found else None,
        ", ".join(t.follows(one) for one in found),
    )


@_case("A.21", "Handling loss during PROBE_UP after inflight_longterm is set", "shallow", [
    "loss ends PROBE_UP, and PROBE_DOWN follows",
    "inflight_longterm is not below beta (0.7) of what it was",
])  # fmt: skip
def _up_loss_bounded(t: Trace) -> Verdicts:
    longterm, again = t.variable("inflight_longterm"), t.column("retransmissions")
    ups = [one for one in t.phases("up") if t.follows(one) and math.isfinite(longterm[one.first])]
    lossy = [one for one in ups if again[min(one.last + 10, len(again) - 1)] > again[one.first]]
    ratios = [longterm[one.last + 1] / longterm[one.first] for one in lossy]
    yield (
        all(t.follows(one) == "down" for one in lossy) if lossy else None,
        f"{len(lossy)} of {len(ups)} probes with loss",
    )
    yield min(ratios) >= 0.69 if ratios else None, f"after over before: {', '.join(f'{ratio:.2f}' for ratio in ratios)}"


@_case("A.22", "Handling application-limited sending during PROBE_REFILL", "pause-in-refill", [
    "max_bw is not lowered",
    "refill is followed by up",
])  # fmt: skip
def _refill_limited(t: Trace) -> Verdicts:
    refill = t.first("refill")
    bw = t.variable("max_bw")
    low = bw[refill.first : refill.last + 20].min()
    yield bool(low >= bw[refill.first - 1]), f"{_mbit(bw[refill.first - 1])} before, at least {_mbit(low)} since"
    yield _moves(t, refill, "up")
