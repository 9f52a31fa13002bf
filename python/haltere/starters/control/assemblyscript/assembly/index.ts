// The congestion control `@name@`: Reno, to begin with (RFC 5681, RFC 3465). Change this file; `haltere.ts` is the interface.

import {
  ANSWER, Ack, CachedSsthresh, ControlAnswer, EVENT, Loss, Restart, Rto, Start, UNLIMITED, encoded, parameter, setState,
} from "./haltere";
export { haltere_abi, haltere_answer, haltere_event, haltere_params } from "./haltere";

const ABOUT = `{
  "kind": "control",
  "summary": "One segment more each round trip, a part of the window after a loss.",
  "parameters": [
    { "name": "beta", "format": "number", "default": 0.5, "minimum": 0.1, "maximum": 0.9,
      "meaning": "The part of the window that a loss leaves." }
  ],
  "state": [{ "name": "credit", "unit": "segments" }]
}`;

export function haltere_about(): usize {
  return encoded(ABOUT);
}

// Windows are in whole segments.
let mss: i64 = 0;
let initial: i64 = 0;
let cwnd: i64 = 0;
let ssthresh: i64 = 0;
/** Segments acknowledged towards the next increase. */
let credit: i64 = 0;
/** Acknowledged bytes that do not make a segment yet. */
let carry: i64 = 0;
/** Window and threshold before the last reduction; 0: it may not be taken back. */
let priorCwnd: i64 = 0;
let priorSsthresh: i64 = 0;

function answer(): void {
  const out = changetype<ControlAnswer>(ANSWER);
  out.cwnd = cwnd * mss;
  out.ssthresh = ssthresh == UNLIMITED ? UNLIMITED : ssthresh * mss;
  out.pacing_rate = -1;
  setState(0, <f64>credit);
}

/** The threshold after a loss: at least two segments. */
function reduced(): i64 {
  return max<i64>(<i64>(<f64>cwnd * parameter(0)), 2);
}

/** What a pause or a mistaken reduction leaves: at least three quarters of the window (RFC 2861). */
function protectedSsthresh(): i64 {
  return max<i64>(ssthresh, cwnd / 2 + cwnd / 4);
}

function remember(isLoss: bool): void {
  priorCwnd = isLoss ? cwnd : 0;
  priorSsthresh = isLoss ? protectedSsthresh() : 0;
}

/** Slow start up to the threshold, then one segment for each window acknowledged. */
function grow(acked: i64): void {
  const fast = cwnd < ssthresh ? min<i64>(acked, ssthresh - cwnd) : 0;
  cwnd += fast;
  if (fast == acked) return;
  const perSegment = cwnd;
  if (credit >= perSegment) {
    credit = 0;
    cwnd += 1;
  }
  credit += acked - fast;
  cwnd += credit / perSegment;
  credit %= perSegment;
}

export function start(): void {
  const sender = changetype<Start>(EVENT);
  mss = max<i64>(sender.mss, 1);
  initial = max<i64>(sender.initial_window / mss, 1);
  cwnd = initial;
  ssthresh = UNLIMITED;
  answer();
}

export function on_ack(): void {
  const ev = changetype<Ack>(EVENT);
  if (ev.in_recovery || !ev.acked) return;
  const bytes = carry + ev.delivered;
  carry = bytes % mss;
  if (ev.cwnd_limited) grow(bytes / mss);
  answer();
}

export function on_loss(): void {
  remember(!changetype<Loss>(EVENT).ecn); // an echo of congestion is never spurious
  ssthresh = reduced();
  cwnd = ssthresh;
  credit = 0;
  answer();
}

export function on_rto(): void {
  const ev = changetype<Rto>(EVENT);
  if (ev.first) {
    remember(true);
    ssthresh = reduced();
  }
  credit = 0;
  cwnd = ev.still_in_flight / mss + 1;
  answer();
}

export function on_spurious(): void {
  cwnd = max<i64>(cwnd, priorCwnd);
  ssthresh = max<i64>(ssthresh, priorSsthresh);
  priorCwnd = 0;
  priorSsthresh = 0;
  answer();
}

export function on_restart(): void {
  const ev = changetype<Restart>(EVENT);
  if (ev.rto == 0 || ev.idle <= ev.rto) return;
  ssthresh = protectedSsthresh();
  cwnd = max<i64>(cwnd >> min<i64>((ev.idle - 1) / ev.rto, 62), min<i64>(initial, cwnd));
  answer();
}

export function on_cached_ssthresh(): void {
  ssthresh = max<i64>(changetype<CachedSsthresh>(EVENT).ssthresh / mss, 2);
  answer();
}
