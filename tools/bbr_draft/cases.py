"""The test cases of draft-ietf-ccwg-bbr-06, appendix A, which `bbr.toml` lists: what a run shows of each."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from haltere.characterize.files import read

from .paths import LOSS_AT_S, MSS, RATE_MBIT, RTT_MS, STEP_S, payload
from .trace import Phase, Trace

#: How close an estimate must be (A.1).
_CLOSE = 0.02
#: LossThresh.
_LOSS_THRESH = 0.02
_MIN_CWND = 4 * MSS


@dataclass(frozen=True)
class Case:
    """A test case: the experiment that shows it, and what the draft expects."""

    number: str
    title: str
    experiment: str
    expects: Sequence[str]

    def check(self, trace: Trace) -> list[tuple[str, bool | None, str]]:
        """Each expectation, whether it held (``None``: the run did not come to the condition), and the figures that say so."""
        return [(one, *shown) for one, shown in zip(self.expects, _VERDICTS[self.number](trace), strict=True)]


FILE = read(Path(__file__).with_name("bbr.toml"))
CASES = [Case(**one) for one in FILE["case"]]
#: Of each expectation in turn whether it held, and the figures.
Verdicts = Iterator[tuple[bool | None, str]]
_VERDICTS: dict[str, Callable[[Trace], Verdicts]] = {}


def _verdicts(number: str) -> Callable[[Callable[[Trace], Verdicts]], None]:
    """The function below decides that case."""
    return lambda decides: _VERDICTS.__setitem__(number, decides)


def _close(value: float, to: float) -> bool:
    return abs(value - to) <= _CLOSE * to


def _mbit(bps: float) -> str:
    return "none" if math.isinf(bps) else f"{bps * 1e-6:.2f} Mbit/s"


def _packets(value: float) -> str:
    return "none" if math.isinf(value) else f"{value / MSS:.0f} segments"


def _states(t: Trace, phases: Sequence[Phase], wanted: Sequence[str]) -> tuple[bool, str]:
    """Whether each of these phases is followed by one of those wanted."""
    after = [t.follows(one) for one in phases]
    return all(one in wanted for one in after), ", ".join(after)


def _moves(t: Trace, phase: Phase, to: str) -> tuple[bool, str]:
    after = t.follows(phase)
    return after == to, f"{after or 'the end'} at {t.at[phase.last]:.2f} s"


@_verdicts("A.1")
def _exit_startup(t: Trace) -> Verdicts:
    startup = t.first("startup")
    end = t.end(startup)
    bw, count, full = t.variable("max_bw")[end], t.variable("full_bw_count")[end], t.variable("full_bw_reached")[end]
    wanted = payload(RATE_MBIT) * 1e6
    yield _close(bw, wanted), f"{_mbit(bw)} of {_mbit(wanted)}"
    yield count == 3 and full == 1, f"count {count:.0f}, reached {full:.0f}"
    yield _moves(t, startup, "drain")


@_verdicts("A.2")
def _startup_loss(t: Trace) -> Verdicts:
    startup = t.first("startup")
    left, after = t.at[startup.last], t.follows(startup)
    full = t.variable("full_bw_reached")[startup.last + 1]
    yield left >= 1.0, f"left at {left:.2f} s, loss of 20 % from 1.00 s"
    yield full == 1, f"reached {full:.0f}"
    yield after in ("drain", "down", "cruise"), after


@_verdicts("A.3")
def _drain(t: Trace) -> Verdicts:
    drain = t.first("drain")
    gains = t.variable("pacing_gain")[drain.first : drain.last + 1]
    after = t.end(drain)
    flight, bdp = t.column("in_flight_bytes")[after], t.variable("bdp")[after]
    yield bool(np.allclose(gains, 0.5)), f"{gains.min():.2f} to {gains.max():.2f}"
    yield flight <= bdp + MSS, f"{_packets(flight)} of {_packets(bdp)}"
    yield t.follows(drain) in ("down", "cruise"), t.follows(drain)


@_verdicts("A.4")
def _drain_time(t: Trace) -> Verdicts:
    drain = t.first("drain")
    after = t.end(drain)
    rounds = t.variable("rounds")[after] - t.variable("rounds")[drain.first]
    flight, bdp = t.column("in_flight_bytes")[after], t.variable("bdp")[after]
    figures = f"{rounds:.0f} rounds; flight {_packets(flight)}, BDP {_packets(bdp)}"
    reached = flight <= bdp + MSS and rounds < 3
    yield None if reached else 3 <= rounds <= 4, figures


@_verdicts("A.5")
def _up_plateau(t: Trace) -> Verdicts:
    ups = [one for one in t.ended("up") if t.follows(one) != "probe_rtt"]
    counts = [t.variable("full_bw_count")[one.last + 1] for one in ups]
    lost = t.grown("retransmissions", ups[0].first)
    shown = f"counts {', '.join(f'{c:.0f}' for c in counts)}; {lost:.0f} segments sent again"
    yield lost == 0 and all(c == 3 for c in counts), shown
    yield _states(t, ups, ["down"])


@_verdicts("A.6")
def _up_loss_limited(t: Trace) -> Verdicts:
    here = t.since(LOSS_AT_S)
    state = t.states[here]
    found = next(one for one in t.phases() if one.first <= here <= one.last)
    left = t.at[found.last]
    longterm = t.variable("inflight_longterm")
    before, after = longterm[here], longterm[t.end(found)]
    yield state == "up" or None, f"{state} at {LOSS_AT_S:g} s"
    is_left = left - LOSS_AT_S < 5 * RTT_MS / 1e3 and t.follows(found) in ("down", "cruise")
    yield is_left if state == "up" else None, f"{t.follows(found)} after {1e3 * (left - LOSS_AT_S):.0f} ms"
    yield before == after if state == "up" else None, f"{_packets(before)} before, {_packets(after)} after"


@_verdicts("A.7")
def _stays(t: Trace) -> Verdicts:
    states = sorted(set(t.states))
    held = set(states) <= {"startup", "probe_rtt"} and t.states[-1] == "startup"
    yield held, f"{t.at[-1]:.0f} s in {', '.join(states)}"


@_verdicts("A.8")
def _down_flight(t: Trace) -> Verdicts:
    downs = [one for one in t.ended("down") if t.follows(one) == "cruise"]
    gains = [t.variable("pacing_gain")[one.first] for one in t.phases("down")]
    over = [t.column("in_flight_bytes")[one.last + 1] - t.variable("bdp")[one.last + 1] for one in downs]
    yield all(abs(g - 0.9) < 1e-9 for g in gains), f"{min(gains):.2f} to {max(gains):.2f}"
    most = max(over, default=math.nan)
    yield bool(downs) and most <= MSS, f"{len(downs)} times; at most {most / MSS:.1f} segments over it"


@_verdicts("A.9")
def _down_time(t: Trace) -> Verdicts:
    down = t.first("down", after_s=5.0)
    rounds = t.variable("rounds")[down.last] - t.variable("rounds")[down.first]
    # Section 5.3.3.9: as many rounds as there are segments in flight, at most 63; both waits begin at random, by a round at most.
    reno = min(t.variable("bdp")[down.first] / MSS, 63) - 2
    yield t.seconds(down) >= 2.0 - 0.01 or rounds >= reno, f"{t.seconds(down):.2f} s, {rounds:.0f} rounds"
    yield _moves(t, down, "refill")


@_verdicts("A.10")
def _probe_rtt(t: Trace) -> Verdicts:
    found = t.ended("probe_rtt")
    gaps = np.diff([t.at[one.first] for one in found])
    gains = [t.variable("cwnd_gain")[one.first] for one in found]
    spans = [t.seconds(one) for one in found]
    yield bool(len(gaps)) and float(gaps.min()) >= 5.0, f"every {', '.join(f'{gap:.1f}' for gap in gaps)} s"
    yield all(gain == 0.5 for gain in gains), f"{min(gains):.2f} to {max(gains):.2f}"
    yield min(spans) >= 0.2 - 0.01, f"{', '.join(f'{1e3 * span:.0f}' for span in spans)} ms"
    yield _states(t, found, ["cruise", "down", "refill"])


@_verdicts("A.11")
def _idle(t: Trace) -> Verdicts:
    again = t.since(14.0)
    before = t.column("in_flight_bytes")[again - 200 : again - 1].max()
    soon = t.states[again : t.since(15.0)]
    yield before == 0 or None, f"{_packets(before)} in flight in the second before"
    yield "probe_rtt" not in soon, f"{', '.join(dict.fromkeys(soon))} in the first second"


@_verdicts("A.12")
def _startup_aggregated(t: Trace) -> Verdicts:
    startup = t.first("startup")
    end = t.end(startup)
    extra, cwnd = t.variable("extra_acked")[: end + 1].max(), t.column("cwnd_bytes")[end]
    bdp, bw = t.variable("bdp")[end], t.variable("max_bw")[end]
    wanted = payload(RATE_MBIT) * 1e6
    yield extra > 0 and cwnd > 2 * bdp, f"extra_acked {_packets(extra)}, cwnd {_packets(cwnd)}, BDP {_packets(bdp)}"
    yield _close(bw, wanted), f"{_mbit(bw)} of {_mbit(wanted)}"


@_verdicts("A.13")
def _cruise_aggregated(t: Trace) -> Verdicts:
    # Bursts come every 20 ms: over less than a second, the rate depends on whether the last one is in it.
    cruise = next(one for one in t.ended("cruise", after_s=5.0) if t.seconds(one) >= 1.0)
    here = slice(cruise.first, cruise.last + 1)
    extra, cwnd, bdp = t.variable("extra_acked")[here], t.column("cwnd_bytes")[here], t.variable("bdp")[here]
    rate = t.rate(cruise.first, cruise.last)
    wanted = payload(RATE_MBIT) * 1e6
    yield bool(extra.min() > 0), f"{_packets(extra.min())} to {_packets(extra.max())}"
    yield bool(np.all(cwnd > 2 * bdp)), f"cwnd {_packets(cwnd.min())}, BDP {_packets(bdp.max())}"
    yield _close(rate, wanted), f"{_mbit(rate)} of {_mbit(wanted)}"


@_verdicts("A.14")
def _tiny(t: Trace) -> Verdicts:
    late = t.since(20.0)
    cwnd, bw = t.column("cwnd_bytes")[late:].min(), t.variable("max_bw")[late:]
    rate = t.rate(late)
    wanted = payload(0.064) * 1e6
    yield cwnd >= _MIN_CWND, _packets(cwnd)
    yield _close(float(np.median(bw)), wanted), f"{np.median(bw) * 1e-3:.1f} of {wanted * 1e-3:.1f} kbit/s"
    yield _close(rate, wanted), f"{rate * 1e-3:.1f} of {wanted * 1e-3:.1f} kbit/s"


@_verdicts("A.15")
def _faster(t: Trace) -> Verdicts:
    wanted = payload(100.0) * 1e6
    bw, rounds, bounds = t.variable("max_bw"), t.variable("rounds"), t.variable("inflight_longterm")
    # After a probe that lost too much the next one stops at the bound; the one after that, which raises it, is the case's.
    ups = t.ended("up", after_s=STEP_S)
    up = next((one for one in ups if bounds[one.last] > bounds[one.first]), ups[0])
    found = np.flatnonzero((bw >= (1 - _CLOSE) * wanted) & (t.at >= STEP_S))
    took = rounds[found[0]] - rounds[up.first] if len(found) else math.inf
    probes = sum(t.at[up.first] <= t.at[one.first] <= t.at[found[0]] for one in ups) if len(found) else 0
    bdp = wanted * RTT_MS / 1e3 / 8 / MSS
    longterm = bounds[up.first : up.last + 1]
    is_bound = math.isfinite(longterm[0])
    grown = f"{_packets(longterm[0])} to {_packets(longterm.max())}" if is_bound else "no bound was set before"
    yield longterm.max() > longterm[0] if is_bound else None, grown
    yield probes == 1, f"{took:.0f} rounds of PROBE_UP; log2 of the BDP is {math.log2(bdp):.1f}"


@_verdicts("A.16")
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
    found = float(bw[settled])
    figures = f"{_mbit(found)} of {_mbit(wanted)} at {t.at[settled] - STEP_S:.1f} s"
    yield _close(found, wanted) if len(ends) > 1 else None, figures


@_verdicts("A.17")
def _policer(t: Trace) -> Verdicts:
    late = t.since(10.0)
    short, flight = np.isfinite(t.variable("bw_shortterm")), np.isfinite(t.variable("inflight_shortterm"))
    sent, again = t.grown("segments_sent", late), t.grown("retransmissions", late)
    rate = t.rate(late)
    yield bool(short.any() and flight.any()), f"{100 * short.mean():.0f} and {100 * flight.mean():.0f} % of the time"
    figures = f"{100 * again / sent:.2f} % sent again, {_mbit(rate)} of {_mbit(payload(5.0) * 1e6)}"
    yield again <= _LOSS_THRESH * sent, figures


@_verdicts("A.18")
def _spurious(t: Trace) -> Verdicts:
    again, recoveries = t.column("retransmissions")[-1], t.column("recoveries")[-1]
    free = np.isinf(t.variable("bw_shortterm")) & np.isinf(t.variable("inflight_longterm"))
    rate = t.rate(t.since(5.0))
    yield recoveries > 0 or None, f"{recoveries:.0f} episodes, {again:.0f} segments sent again"
    yield bool(free[-1]), f"no bound for {100 * free.mean():.0f} % of the time; {_mbit(rate)}"


@_verdicts("A.19")
def _spurious_timeout(t: Trace) -> Verdicts:
    before, after = t.since(STEP_S - 0.05), t.since(STEP_S + 2.5)
    timeouts = t.grown("timeouts", before, after)
    bounds = [t.variable(name)[after] for name in ("bw_shortterm", "inflight_longterm")]
    cwnd = t.column("cwnd_bytes")
    yield timeouts > 0 or None, f"{timeouts:.0f} timeouts"
    figures = f"bw_shortterm {_mbit(bounds[0])}, inflight_longterm {_packets(bounds[1])}"
    yield all(math.isinf(one) for one in bounds), figures
    yield cwnd[after] >= cwnd[before], f"{_packets(cwnd[before])} before, {_packets(cwnd[after])} after"


@_verdicts("A.20")
def _probe_rtt_in_startup(t: Trace) -> Verdicts:
    found = [one for one in t.phases("probe_rtt") if t.variable("full_bw_reached")[one.first] == 0]
    yield bool(found) or None, f"at {t.at[found[0].first]:.2f} s" if found else "never"
    yield _states(t, found, ["startup"]) if found else (None, "")


@_verdicts("A.21")
def _up_loss_bounded(t: Trace) -> Verdicts:
    longterm, again = t.variable("inflight_longterm"), t.column("retransmissions")
    ups = [one for one in t.phases("up") if t.follows(one) and math.isfinite(longterm[one.first])]
    lossy = [one for one in ups if again[min(one.last + 10, len(again) - 1)] > again[one.first]]
    ratios = [longterm[one.last + 1] / longterm[one.first] for one in lossy]
    is_down, _ = _states(t, lossy, ["down"])
    yield is_down if lossy else None, f"{len(lossy)} of {len(ups)} probes with loss"
    yield min(ratios) >= 0.69 if ratios else None, f"after over before: {', '.join(f'{ratio:.2f}' for ratio in ratios)}"


@_verdicts("A.22")
def _refill_limited(t: Trace) -> Verdicts:
    refill = t.first("refill")
    bw = t.variable("max_bw")
    low = bw[refill.first : refill.last + 20].min()
    yield bool(low >= bw[refill.first - 1]), f"{_mbit(bw[refill.first - 1])} before, at least {_mbit(low)} since"
    yield _moves(t, refill, "up")
