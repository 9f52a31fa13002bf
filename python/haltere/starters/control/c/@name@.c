/* The congestion control `@name@`: Reno, to begin with (RFC 5681, RFC 3465). Change this file; haltere.h is the interface. */
#include "haltere.h"

ABOUT({
    "kind": "control",
    "summary": "One segment more each round trip, a part of the window after a loss.",
    "parameters": [
        { "name": "beta", "format": "number", "default": 0.5, "minimum": 0.1, "maximum": 0.9,
          "meaning": "The part of the window that a loss leaves." }
    ],
    "state": [{ "name": "credit", "unit": "segments" }]
})

/* Windows are in whole segments. */
static i64 mss, initial, cwnd, ssthresh;
static i64 credit;                     /* segments acknowledged towards the next increase */
static i64 carry;                      /* acknowledged bytes that do not make a segment yet */
static i64 prior_cwnd, prior_ssthresh; /* before the last reduction; 0: it may not be taken back */

static i64 min(i64 a, i64 b) { return a < b ? a : b; }
static i64 max(i64 a, i64 b) { return a > b ? a : b; }

static void answer(void)
{
    out.answer.cwnd = cwnd * mss;
    out.answer.ssthresh = ssthresh == UNLIMITED ? UNLIMITED : ssthresh * mss;
    out.state[0] = credit;
}

/* The threshold after a loss: at least two segments. */
static i64 reduced(void) { return max((i64)(cwnd * parameters[0]), 2); }

/* What a pause or a mistaken reduction leaves: at least three quarters of the window (RFC 2861). */
static i64 protected_ssthresh(void) { return max(ssthresh, cwnd / 2 + cwnd / 4); }

static void remember(int is_loss)
{
    prior_cwnd = is_loss ? cwnd : 0;
    prior_ssthresh = is_loss ? protected_ssthresh() : 0;
}

/* Slow start up to the threshold, then one segment for each window acknowledged. */
static void grow(i64 acked)
{
    i64 fast = cwnd < ssthresh ? min(acked, ssthresh - cwnd) : 0;
    cwnd += fast;
    if (fast == acked)
        return;
    i64 per_segment = cwnd;
    if (credit >= per_segment) {
        credit = 0;
        cwnd += 1;
    }
    credit += acked - fast;
    cwnd += credit / per_segment;
    credit %= per_segment;
}

EXPORT(start) void start(void)
{
    mss = max(event.start.mss, 1);
    initial = cwnd = max(event.start.initial_window / mss, 1);
    ssthresh = UNLIMITED;
    answer();
}

EXPORT(on_ack) void on_ack(void)
{
    const struct ack *ev = &event.ack;
    if (ev->in_recovery || !ev->acked)
        return;
    i64 bytes = carry + ev->delivered;
    carry = bytes % mss;
    if (ev->cwnd_limited)
        grow(bytes / mss);
    answer();
}

EXPORT(on_loss) void on_loss(void)
{
    remember(!event.loss.ecn); /* an echo of congestion is never spurious */
    ssthresh = cwnd = reduced();
    credit = 0;
    answer();
}

EXPORT(on_rto) void on_rto(void)
{
    if (event.rto.first) {
        remember(1);
        ssthresh = reduced();
    }
    credit = 0;
    cwnd = event.rto.still_in_flight / mss + 1;
    answer();
}

EXPORT(on_spurious) void on_spurious(void)
{
    cwnd = max(cwnd, prior_cwnd);
    ssthresh = max(ssthresh, prior_ssthresh);
    prior_cwnd = prior_ssthresh = 0;
    answer();
}

EXPORT(on_restart) void on_restart(void)
{
    const struct restart *ev = &event.restart;
    if (ev->rto == 0 || ev->idle <= ev->rto)
        return;
    ssthresh = protected_ssthresh();
    cwnd = max(cwnd >> min((ev->idle - 1) / ev->rto, 62), min(initial, cwnd));
    answer();
}

EXPORT(on_cached_ssthresh) void on_cached_ssthresh(void)
{
    ssthresh = max(event.cached_ssthresh.ssthresh / mss, 2);
    answer();
}
