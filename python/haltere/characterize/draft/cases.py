"""The test cases of draft-ietf-ccwg-bbr-06, appendix A: for each what it expects, and what a run shows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

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


@dataclass(frozen=True)
class Case:
    """A test case: the experiment that shows it, and its checks."""

    number: str
    title: str
    experiment: str
    check: Callable[[Trace], list[Check]]


def _close(value: float, to: float) -> bool:
    return abs(value - to) <= _CLOSE * to


def _mbit(bps: float) -> str:
    return "none" if math.isinf(bps) else f"{bps * 1e-6:.2f} Mbit/s"


def _packets(value: float) -> str:
    return "none" if math.isinf(value) else f"{value / MSS:.0f} segments"


def _moves(t: Trace, phase: Phase, to: str) -> Check:
    after = t.follows(phase)
    return Check(f"{phase.state} is followed by {to}", after == to, f"{after or 'the end'} at {t.at[phase.last]:.2f} s")


def _exit_startup(t: Trace) -> list[Check]:
    startup = t.first("startup")
    end = min(startup.last + 1, len(t.at) - 1)
    bw, count, full = t.variable("max_bw")[end], t.variable("full_bw_count")[end], t.variable("full_bw_reached")[end]
    wanted = payload(RATE_MBIT) * 1e6
    return [
        Check("max_bw is within 2 % of the link's", _close(bw, wanted), f"{_mbit(bw)} of {_mbit(wanted)}"),
        Check(
            "full_bw_count is 3 and full_bw_reached is set",
            count == 3 and full == 1,
            f"count {count:.0f}, reached {full:.0f}",
        ),
        _moves(t, startup, "drain"),
    ]


def _startup_loss(t: Trace) -> list[Check]:
    startup = t.first("startup")
    left, after = t.at[startup.last], t.follows(startup)
    full = t.variable("full_bw_reached")[startup.last + 1]
    return [
        Check(
            "the flow stays in STARTUP until packets are lost",
            left >= 1.0,
            f"left at {left:.2f} s, loss of 20 % from 1.00 s",
        ),
        Check("full_bw_reached is set", full == 1, f"reached {full:.0f}"),
        Check(
            "DRAIN follows, or what follows DRAIN if the flight is below the BDP at once",
            after in ("drain", "down", "cruise"),
            after,
        ),
    ]


def _drain(t: Trace) -> list[Check]:
    drain = t.first("drain")
    gains = t.variable("pacing_gain")[drain.first : drain.last + 1]
    after = min(drain.last + 1, len(t.at) - 1)
    flight, bdp = t.column("in_flight_bytes")[after], t.variable("bdp")[after]
    return [
        Check("the pacing gain is 0.5", bool(np.allclose(gains, 0.5)), f"{gains.min():.2f} to {gains.max():.2f}"),
        Check(
            "it ends with a flight of at most the BDP", flight <= bdp + MSS, f"{_packets(flight)} of {_packets(bdp)}"
        ),
        Check("a phase of PROBE_BW follows", t.follows(drain) in ("down", "cruise"), t.follows(drain)),
    ]


def _drain_time(t: Trace) -> list[Check]:
    drain = t.first("drain")
    after = min(drain.last + 1, len(t.at) - 1)
    rounds = t.variable("rounds")[after] - t.variable("rounds")[drain.first]
    flight, bdp = t.column("in_flight_bytes")[after], t.variable("bdp")[after]
    figures = f"{rounds:.0f} rounds; flight {_packets(flight)}, BDP {_packets(bdp)}"
    reached = flight <= bdp + MSS and rounds < 3
    return [
        Check(
            "after 3 rounds DRAIN ends though the flight is larger than the BDP",
            None if reached else 3 <= rounds <= 4,
            figures,
        )
    ]


def _up_plateau(t: Trace) -> list[Check]:
    ups = [one for one in t.ended("up") if t.follows(one) != "probe_rtt"]
    counts = [t.variable("full_bw_count")[one.last + 1] for one in ups]
    next_states = [t.follows(one) for one in ups]
    lost = t.column("retransmissions")[-1] - t.column("retransmissions")[ups[0].first]
    return [
        Check(
            "without loss PROBE_UP ends with full_bw_count = 3",
            lost == 0 and all(c == 3 for c in counts),
            f"counts {', '.join(f'{c:.0f}' for c in counts)}; {lost:.0f} segments sent again",
        ),
        Check("PROBE_DOWN follows", all(one == "down" for one in next_states), ", ".join(next_states)),
    ]


def _up_loss_limited(t: Trace) -> list[Check]:
    here = t.since(LOSS_AT_S)
    state = t.states[here]
    found = next(one for one in t.phases() if one.first <= here <= one.last)
    left = t.at[found.last]
    before, after = (
        t.variable("inflight_longterm")[here],
        t.variable("inflight_longterm")[min(found.last + 1, len(t.at) - 1)],
    )
    return [
        Check(
            "the flow is in PROBE_UP, limited by its application", state == "up" or None, f"{state} at {LOSS_AT_S:g} s"
        ),
        Check(
            "loss of 20 % ends it, by way of PROBE_DOWN",
            (left - LOSS_AT_S < 5 * RTT_MS / 1e3 and t.follows(found) in ("down", "cruise")) if state == "up" else None,
            f"{t.follows(found)} after {1e3 * (left - LOSS_AT_S):.0f} ms",
        ),
        Check(
            "inflight_longterm is left alone by an application-limited sample (section 5.5.10.2)",
            before == after if state == "up" else None,
            f"{_packets(before)} before, {_packets(after)} after",
        ),
    ]


def _stays(t: Trace) -> list[Check]:
    states = sorted(set(t.states))
    held = set(states) <= {"startup", "probe_rtt"} and t.states[-1] == "startup"
    return [
        Check(
            "without loss the flow stays in STARTUP, but for PROBE_RTT (A.20)",
            held,
            f"{t.at[-1]:.0f} s in {', '.join(states)}",
        )
    ]


def _down_flight(t: Trace) -> list[Check]:
    downs = [one for one in t.ended("down") if t.follows(one) == "cruise"]
    gains = [t.variable("pacing_gain")[one.first] for one in t.phases("down")]
    over = [t.column("in_flight_bytes")[one.last + 1] - t.variable("bdp")[one.last + 1] for one in downs]
    return [
        Check(
            "the pacing gain is 0.9", all(abs(g - 0.9) < 1e-9 for g in gains), f"{min(gains):.2f} to {max(gains):.2f}"
        ),
        Check(
            "PROBE_CRUISE follows when the flight is at most the BDP",
            bool(downs) and max(over) <= MSS,
            f"{len(downs)} times; at most {max(over, default=math.nan) / MSS:.1f} segments over it",
        ),
    ]


def _down_time(t: Trace) -> list[Check]:
    down = t.first("down", after_s=5.0)
    rounds = t.variable("rounds")[down.last] - t.variable("rounds")[down.first]
    # Section 5.3.3.9: as many rounds as there are segments in flight, at most 63; both waits begin at random, by a round at most.
    reno = min(t.variable("bdp")[down.first] / MSS, 63) - 2
    return [
        Check(
            "PROBE_DOWN lasts for bw_probe_wait, 2 to 3 s, or as many rounds as Reno would need",
            t.seconds(down) >= 2.0 - 0.01 or rounds >= reno,
            f"{t.seconds(down):.2f} s, {rounds:.0f} rounds",
        ),
        _moves(t, down, "refill"),
    ]


def _probe_rtt(t: Trace) -> list[Check]:
    found = t.ended("probe_rtt")
    gaps = np.diff([t.at[one.first] for one in found])
    gains = [t.variable("cwnd_gain")[one.first] for one in found]
    spans = [t.seconds(one) for one in found]
    return [
        Check(
            "PROBE_RTT comes when the least round-trip time is 5 s old",
            bool(len(gaps)) and float(gaps.min()) >= 5.0,
            f"every {', '.join(f'{gap:.1f}' for gap in gaps)} s",
        ),
        Check("its cwnd gain is 0.5", all(gain == 0.5 for gain in gains), f"{min(gains):.2f} to {max(gains):.2f}"),
        Check(
            "it lasts for at least 200 ms and a round trip",
            min(spans) >= 0.2 - 0.01,
            f"{', '.join(f'{1e3 * span:.0f}' for span in spans)} ms",
        ),
        Check(
            "a phase of PROBE_BW follows",
            all(t.follows(one) in ("cruise", "down", "refill") for one in found),
            ", ".join(t.follows(one) for one in found),
        ),
    ]


def _idle(t: Trace) -> list[Check]:
    again = t.since(14.0)
    before = t.column("in_flight_bytes")[again - 200 : again - 1].max()
    soon = t.states[again : t.since(15.0)]
    return [
        Check(
            "the flow was idle for more than 5 s",
            before == 0 or None,
            f"{_packets(before)} in flight in the second before",
        ),
        Check(
            "PROBE_RTT is skipped when it sends again",
            "probe_rtt" not in soon,
            f"{', '.join(dict.fromkeys(soon))} in the first second",
        ),
    ]


def _startup_aggregated(t: Trace) -> list[Check]:
    startup = t.first("startup")
    end = min(startup.last + 1, len(t.at) - 1)
    extra, cwnd = t.variable("extra_acked")[: end + 1].max(), t.column("cwnd_bytes")[end]
    bdp, bw = t.variable("bdp")[end], t.variable("max_bw")[end]
    wanted = payload(RATE_MBIT) * 1e6
    return [
        Check(
            "extra_acked is above 0, and cwnd above 2 BDP",
            extra > 0 and cwnd > 2 * bdp,
            f"extra_acked {_packets(extra)}, cwnd {_packets(cwnd)}, BDP {_packets(bdp)}",
        ),
        Check("STARTUP finds the link's bandwidth", _close(bw, wanted), f"{_mbit(bw)} of {_mbit(wanted)}"),
    ]


def _cruise_aggregated(t: Trace) -> list[Check]:
    cruise = t.first("cruise", after_s=5.0)
    here = slice(cruise.first, cruise.last + 1)
    extra, cwnd, bdp = t.variable("extra_acked")[here], t.column("cwnd_bytes")[here], t.variable("bdp")[here]
    acked = t.column("acked_bytes")[here]
    rate = (acked[-1] - acked[0]) * 8 / max(t.seconds(cruise), 1e-9)
    wanted = payload(RATE_MBIT) * 1e6
    return [
        Check("extra_acked is above 0", bool(extra.min() > 0), f"{_packets(extra.min())} to {_packets(extra.max())}"),
        Check(
            "cwnd is augmented by it",
            bool(np.all(cwnd > 2 * bdp)),
            f"cwnd {_packets(cwnd.min())}, BDP {_packets(bdp.max())}",
        ),
        Check("the link stays full", _close(rate, wanted), f"{_mbit(rate)} of {_mbit(wanted)}"),
    ]


def _tiny(t: Trace) -> list[Check]:
    late = t.since(20.0)
    cwnd, bw = t.column("cwnd_bytes")[late:].min(), t.variable("max_bw")[late:]
    acked = t.column("acked_bytes")
    rate = (acked[-1] - acked[late]) * 8 / (t.at[-1] - t.at[late])
    wanted = payload(0.064) * 1e6
    return [
        Check("cwnd is at least 4 segments", cwnd >= _MIN_CWND, _packets(cwnd)),
        Check(
            "the bandwidth to which the pace belongs is the link's",
            _close(float(np.median(bw)), wanted),
            f"{np.median(bw) * 1e-3:.1f} of {wanted * 1e-3:.1f} kbit/s",
        ),
        Check("the link stays full", _close(rate, wanted), f"{rate * 1e-3:.1f} of {wanted * 1e-3:.1f} kbit/s"),
    ]


def _faster(t: Trace) -> list[Check]:
    wanted = payload(100.0) * 1e6
    bw, rounds = t.variable("max_bw"), t.variable("rounds")
    up = t.first("up", after_s=STEP_S)
    found = np.flatnonzero((bw >= (1 - _CLOSE) * wanted) & (t.at >= STEP_S))
    took = rounds[found[0]] - rounds[up.first] if len(found) else math.inf
    probes = sum(t.at[one.first] <= t.at[found[0]] for one in t.phases("up", after_s=STEP_S)) if len(found) else 0
    bdp = wanted * RTT_MS / 1e3 / 8 / MSS
    longterm = t.variable("inflight_longterm")[up.first : up.last + 1]
    figures = (
        "no bound was set before"
        if math.isinf(longterm[0])
        else f"{_packets(longterm[0])} to {_packets(longterm.max())}"
    )
    return [
        Check(
            "the step by which inflight_longterm grows doubles each round",
            None if math.isinf(longterm[0]) else longterm.max() > longterm[0],
            figures,
        ),
        Check(
            "one probe finds the new bandwidth",
            probes == 1,
            f"{took:.0f} rounds of PROBE_UP; log2 of the BDP is {math.log2(bdp):.1f}",
        ),
    ]


def _slower(t: Trace) -> list[Check]:
    wanted = payload(10.0) * 1e6
    start = t.since(STEP_S)
    short, bw = t.variable("bw_shortterm")[start:], t.variable("max_bw")
    bounded = np.flatnonzero(np.isfinite(short))
    probes = t.phases("up", after_s=STEP_S)
    ends = [t.at[one.last] for one in probes if t.follows(one)]
    settled = t.since(ends[1] + 1.0) if len(ends) > 1 else len(t.at) - 1
    return [
        Check(
            "bw_shortterm falls because of the loss",
            len(bounded) > 0,
            f"first set {1e3 * (t.at[start + bounded[0]] - STEP_S):.0f} ms after, least {_mbit(float(short.min()))}"
            if len(bounded)
            else "never set",
        ),
        Check(
            "two cycles later max_bw is that of the new link",
            _close(float(bw[settled]), wanted) if len(ends) > 1 else None,
            f"{_mbit(float(bw[settled]))} of {_mbit(wanted)} at {t.at[settled] - STEP_S:.1f} s",
        ),
    ]


def _policer(t: Trace) -> list[Check]:
    late = t.since(10.0)
    short, flight = np.isfinite(t.variable("bw_shortterm")), np.isfinite(t.variable("inflight_shortterm"))
    sent = t.column("segments_sent")[-1] - t.column("segments_sent")[late]
    again = t.column("retransmissions")[-1] - t.column("retransmissions")[late]
    acked = t.column("acked_bytes")
    rate = (acked[-1] - acked[late]) * 8 / (t.at[-1] - t.at[late])
    return [
        Check(
            "bw_shortterm and inflight_shortterm are set",
            bool(short.any() and flight.any()),
            f"{100 * short.mean():.0f} and {100 * flight.mean():.0f} % of the time",
        ),
        Check(
            "the loss is not more than LossThresh (2 %) in the long run",
            again <= _LOSS_THRESH * sent,
            f"{100 * again / sent:.2f} % sent again, {_mbit(rate)} of {_mbit(payload(5.0) * 1e6)}",
        ),
    ]


def _spurious(t: Trace) -> list[Check]:
    again, recoveries = t.column("retransmissions")[-1], t.column("recoveries")[-1]
    free = np.isinf(t.variable("bw_shortterm")) & np.isinf(t.variable("inflight_longterm"))
    acked, late = t.column("acked_bytes"), t.since(5.0)
    rate = (acked[-1] - acked[late]) * 8 / (t.at[-1] - t.at[late])
    return [
        Check(
            "reordering begins recovery",
            recoveries > 0 or None,
            f"{recoveries:.0f} episodes, {again:.0f} segments sent again",
        ),
        Check(
            "the bounds are taken back: none is left at the end",
            bool(free[-1]),
            f"no bound for {100 * free.mean():.0f} % of the time; {_mbit(rate)}",
        ),
    ]


def _spurious_timeout(t: Trace) -> list[Check]:
    before, after = t.since(STEP_S - 0.05), t.since(STEP_S + 2.5)
    timeouts = t.column("timeouts")[after] - t.column("timeouts")[before]
    bounds = [t.variable(name)[after] for name in ("bw_shortterm", "inflight_longterm")]
    cwnd = t.column("cwnd_bytes")
    return [
        Check("a delay that rises by 400 ms begins a timeout", timeouts > 0 or None, f"{timeouts:.0f} timeouts"),
        Check(
            "the bounds are taken back",
            all(math.isinf(one) for one in bounds),
            f"bw_shortterm {_mbit(bounds[0])}, inflight_longterm {_packets(bounds[1])}",
        ),
        Check(
            "the window is what it was",
            cwnd[after] >= cwnd[before],
            f"{_packets(cwnd[before])} before, {_packets(cwnd[after])} after",
        ),
    ]


def _probe_rtt_in_startup(t: Trace) -> list[Check]:
    found = [one for one in t.phases("probe_rtt") if t.variable("full_bw_reached")[one.first] == 0]
    return [
        Check(
            "PROBE_RTT comes before full_bw_reached",
            bool(found) or None,
            f"at {t.at[found[0].first]:.2f} s" if found else "never",
        ),
        Check(
            "STARTUP follows",
            all(t.follows(one) == "startup" for one in found) if found else None,
            ", ".join(t.follows(one) for one in found),
        ),
    ]


def _up_loss_bounded(t: Trace) -> list[Check]:
    longterm, again = t.variable("inflight_longterm"), t.column("retransmissions")
    ups = [one for one in t.phases("up") if t.follows(one) and math.isfinite(longterm[one.first])]
    lossy = [one for one in ups if again[min(one.last + 10, len(again) - 1)] > again[one.first]]
    ratios = [longterm[one.last + 1] / longterm[one.first] for one in lossy]
    return [
        Check(
            "loss ends PROBE_UP, and PROBE_DOWN follows",
            all(t.follows(one) == "down" for one in lossy) if lossy else None,
            f"{len(lossy)} of {len(ups)} probes with loss",
        ),
        Check(
            "inflight_longterm is not below beta (0.7) of what it was",
            min(ratios) >= 0.69 if ratios else None,
            f"after over before: {', '.join(f'{ratio:.2f}' for ratio in ratios)}",
        ),
    ]


def _refill_limited(t: Trace) -> list[Check]:
    refill = t.first("refill")
    bw = t.variable("max_bw")
    low = bw[refill.first : refill.last + 20].min()
    return [
        Check(
            "max_bw is not lowered",
            bool(low >= bw[refill.first - 1]),
            f"{_mbit(bw[refill.first - 1])} before, at least {_mbit(low)} since",
        ),
        _moves(t, refill, "up"),
    ]


CASES = (
    Case("A.1", "Exiting STARTUP on bandwidth plateau", "plain", _exit_startup),
    Case("A.2", "Exiting STARTUP on loss when application-limited", "limited-loss", _startup_loss),
    Case("A.3", "Exiting DRAIN based on inflight", "plain", _drain),
    Case("A.4", "Exiting DRAIN based on time", "less-in-drain", _drain_time),
    Case("A.5", "Exiting PROBE_UP on bandwidth plateau", "plain", _up_plateau),
    Case("A.6", "Exiting PROBE_UP on loss when application-limited", "limited-later", _up_loss_limited),
    Case("A.7", "Never exiting STARTUP when application-limited with no loss", "limited", _stays),
    Case("A.8", "Exiting PROBE_DOWN on inflight", "plain", _down_flight),
    Case("A.9", "Exiting PROBE_DOWN after max time", "less-in-down", _down_time),
    Case("A.10", "Entering and exiting PROBE_RTT", "plain", _probe_rtt),
    Case("A.11", "Skipping PROBE_RTT due to application-limited sending", "idle", _idle),
    Case("A.12", "Achieving expected STARTUP bandwidth on a link with aggregation", "aggregated", _startup_aggregated),
    Case("A.13", "Achieving expected CRUISE bandwidth on a link with aggregation", "aggregated", _cruise_aggregated),
    Case("A.14", "Correctly managing sub-packet BDPs", "tiny", _tiny),
    Case("A.15", "Increasing bandwidth 10x", "faster", _faster),
    Case("A.16", "Decreasing bandwidth 10x", "slower", _slower),
    Case("A.17", "Handling token bucket policers", "policed", _policer),
    Case("A.18", "Handling spurious fast recovery", "reordered", _spurious),
    Case("A.19", "Handling spurious RTO recovery", "late", _spurious_timeout),
    Case("A.20", "Entering and exiting PROBE_RTT during STARTUP", "limited-longer", _probe_rtt_in_startup),
    Case("A.21", "Handling loss during PROBE_UP after inflight_longterm is set", "shallow", _up_loss_bounded),
    Case("A.22", "Handling application-limited sending during PROBE_REFILL", "pause-in-refill", _refill_limited),
)  # fmt: skip
