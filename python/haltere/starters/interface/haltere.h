/* Haltere's interface for WebAssembly modules, version 1. This file stays as it is: write the mechanism beside it.
 *
 * A time is in nanoseconds, a size in bytes, a rate in bits a second, a truth value 0 or 1. What is not there is -1. */
#ifndef HALTERE_H
#define HALTERE_H

typedef long long i64;
_Static_assert(sizeof(i64) == 8, "every field has 8 bytes");

/* A window or a time without a limit. */
#define UNLIMITED 0x7fffffffffffffffLL

#ifdef __wasm__
#define EXPORT(name) __attribute__((export_name(#name)))
#define IMPORT(name) __attribute__((import_module("haltere"), import_name(#name)))
#else /* A test on this machine. */
#define EXPORT(name)
#define IMPORT(name)
#endif

/* The table of the interface begins here. */

/* start: A control is made, before any other event. */
struct start {
    i64 mss; /* Payload of a full segment. Unit: B. */
    i64 initial_window; /* The initial congestion window. Unit: B. */
    i64 seed; /* Differs between flows and not between repetitions of a run. */
};

/* on_established: The connection is established. */
struct established {
    i64 now; /* Now. Unit: ns. */
    i64 rtt; /* The round-trip time of the handshake. Unit: ns. */
};

/* on_cached_ssthresh: Before anything is sent: the host remembers this threshold of an earlier connection. */
struct cached_ssthresh {
    i64 ssthresh; /* The slow-start threshold. Unit: B. */
};

/* on_ack: Data was newly acknowledged, cumulatively or selectively. */
struct ack {
    i64 now; /* Now. Unit: ns. */
    i64 acked; /* By how much the cumulative acknowledgement advanced. Unit: B. */
    i64 delivered; /* What is newly known to be delivered. Unit: B. */
    i64 lost; /* What is newly marked lost. Unit: B. */
    i64 ce; /* What of `delivered` arrived with CE, as the receiver says. Unit: B. */
    i64 ece; /* The ECN echo was set, or counted marks grew. Unit: 0/1. */
    i64 accurate; /* The receiver counts marks (RFC 9768): `ce` is exact. Unit: 0/1. */
    i64 rtt; /* A round-trip time measured by this acknowledgement; -1: none. Unit: ns. */
    i64 srtt; /* The smoothed round-trip time; 0 before the first sample. Unit: ns. */
    i64 min_rtt; /* The least round-trip time so far; 0 before the first sample. Unit: ns. */
    i64 prior_in_flight; /* In flight before this acknowledgement. Unit: B. */
    i64 in_flight; /* In flight after it. Unit: B. */
    i64 snd_una; /* Stream offset of the first byte not yet acknowledged cumulatively. Unit: B. */
    i64 snd_nxt; /* Stream offset of the first byte not yet sent. Unit: B. */
    i64 round; /* Round trips, counted by delivery. */
    i64 round_start; /* This acknowledgement begins a round. Unit: 0/1. */
    i64 cwnd_limited; /* The window limited the sender: only then may it grow. Unit: 0/1. */
    i64 in_recovery; /* In recovery, or reducing after an ECN echo: no growth. Unit: 0/1. */
    i64 in_rto_recovery; /* Repairs after a timeout: slow start is allowed. Unit: 0/1. */
    i64 next_departure; /* The earliest time at which pacing lets a segment leave; 0 without pacing. Unit: ns. */
    i64 rate_delivered; /* Delivery rate sample: delivered over `rate_interval`; -1: no sample. Unit: B. */
    i64 rate_interval; /* Delivery rate sample: the interval. Unit: ns. */
    i64 rate_prior_delivered; /* Delivered in all when the sampled segment was sent. Unit: B. */
    i64 rate_total_delivered; /* Delivered in all now. Unit: B. */
    i64 rate_lost; /* Marked lost over the sample's flight. Unit: B. */
    i64 rate_total_lost; /* Marked lost in all. Unit: B. */
    i64 rate_tx_in_flight; /* In flight when the sampled segment was sent. Unit: B. */
    i64 rate_delivered_ce; /* Delivered with CE over the sample's flight. Unit: B. */
    i64 rate_app_limited; /* The application had nothing more to send when the sampled segment was sent. Unit: 0/1. */
};

/* on_segment_lost: A segment was marked lost; before the event of the acknowledgement or timeout that marked it. */
struct segment_lost {
    i64 seq; /* Stream offset of its first byte. Unit: B. */
    i64 bytes; /* Its payload. Unit: B. */
    i64 tx_in_flight; /* In flight when it was sent, itself included. Unit: B. */
    i64 lost; /* Marked lost since it was sent, itself included. Unit: B. */
    i64 prior_delivered; /* Delivered in all when it was sent. Unit: B. */
    i64 total_delivered; /* Delivered in all now. Unit: B. */
    i64 app_limited; /* The application had nothing more to send when it was sent. Unit: 0/1. */
};

/* on_loss: A recovery episode begins: reduce once. */
struct loss {
    i64 now; /* Now. Unit: ns. */
    i64 ecn; /* An ECN echo began it, not a lost segment. Unit: 0/1. */
    i64 in_flight; /* In flight, lost segments left out. Unit: B. */
    i64 lost; /* Marked lost so far in this episode. Unit: B. */
    i64 snd_nxt; /* Stream offset of the first byte not yet sent: the episode ends when it is acknowledged. Unit: B. */
    i64 asked; /* The control asked for it by `ask_reduction`. Unit: 0/1. */
};

/* on_recovered: The recovery episode is over. */
struct recovered {
    i64 now; /* Now. Unit: ns. */
};

/* on_rto: The retransmission timer fired. */
struct rto {
    i64 now; /* Now. Unit: ns. */
    i64 in_flight; /* In flight before everything was marked lost. Unit: B. */
    i64 first; /* The first timeout of this episode: only then is the threshold lowered. Unit: 0/1. */
    i64 still_in_flight; /* What still counts as in flight. Unit: B. */
    i64 snd_nxt; /* Stream offset of the first byte not yet sent. Unit: B. */
};

/* on_spurious: The last reduction was spurious: restore the window. */
struct spurious {
    i64 now; /* Now. Unit: ns. */
};

/* on_restart: A transmission while nothing is outstanding, before it is sent: after an idle time, or with a pace below a segment a round trip. */
struct restart {
    i64 now; /* Now. Unit: ns. */
    i64 idle; /* How long nothing was in flight. Unit: ns. */
    i64 rto; /* The current retransmission timeout. Unit: ns. */
    i64 app_limited; /* The application had nothing more to send. Unit: 0/1. */
};

/* on_flight_start: A transmission while nothing is in flight, before it is sent: after an idle time, or when all that is outstanding was lost. */
struct flight_start {
    i64 now; /* Now. Unit: ns. */
};

/* haltere_answer: What a control answers: read after each event. */
struct control_answer {
    i64 cwnd; /* The congestion window, at least 1. Unit: B. */
    i64 ssthresh; /* The slow-start threshold; the largest value: none yet. Unit: B. */
    i64 pacing_rate; /* The rate at which payload leaves; -1: as soon as the window allows. Unit: bit/s. */
};

/* start: A queue discipline is made, before any other event. */
struct link {
    i64 rate; /* The rate of the link; -1: packets take no time. Unit: bit/s. */
    i64 rtt; /* The round-trip time without queues of the flows that cross the link; -1: unknown. Unit: ns. */
    i64 packet; /* The length of a full packet on this link. Unit: B. */
    i64 seed; /* Differs between runs. */
};

/* enqueue: A packet arrives. It waits from now on, unless it is dropped. */
struct enqueue {
    i64 now; /* Now. Unit: ns. */
    i64 id; /* The number of the packet: 0, 1, 2 ... in order of arrival. */
    i64 len; /* Its length on the link. Unit: B. */
    i64 ecn; /* Its ECN field: 0 not capable, 1 ECT(1), 2 ECT(0), 3 CE. */
    i64 flow; /* A hash of its flow. */
    i64 priority; /* Its priority, 0 to 15. */
    i64 dscp; /* Its DSCP. */
    i64 stream_offset; /* Offset of its first payload byte in its stream; -1: unknown. Unit: B. */
    i64 backlog_packets; /* Packets that wait, this one included. */
    i64 backlog_bytes; /* Bytes that wait, this packet included. Unit: B. */
};

/* dequeue: The link can send: the answer names the next packet. */
struct dequeue {
    i64 now; /* Now. Unit: ns. */
    i64 backlog_packets; /* Packets that wait. */
    i64 backlog_bytes; /* Bytes that wait. Unit: B. */
};

/* on_timer: The time of `next_timer` has come. */
struct timer {
    i64 now; /* Now. Unit: ns. */
};

/* haltere_answer: What a queue discipline answers: read after each event. */
struct queue_answer {
    i64 next; /* After `dequeue`: the number of the packet that leaves; -1: none. */
    i64 next_timer; /* When `on_timer` is to be called; -1, from the start: never. Unit: ns. */
    i64 ready_at; /* When the next packet may leave, of a shaper; -1, from the start: at once. Unit: ns. */
};

union haltere_event {
    struct start start;
    struct established established;
    struct cached_ssthresh cached_ssthresh;
    struct ack ack;
    struct segment_lost segment_lost;
    struct loss loss;
    struct recovered recovered;
    struct rto rto;
    struct spurious spurious;
    struct restart restart;
    struct flight_start flight_start;
    struct link link;
    struct enqueue enqueue;
    struct dequeue dequeue;
    struct timer timer;
    unsigned char room[512];
};

/* The table of the interface ends here. */

/* What the host wrote before a call. */
static union haltere_event event __attribute__((aligned(8)));
/* The values of the parameters, in the order of the description. */
static double parameters[64];
/* What the host reads after a call: the answer, and behind it the state variables in the order of the description. */
#ifdef HALTERE_QUEUE
static struct { struct queue_answer answer; double state[32]; } out = { { -1, -1, -1 }, { 0 } };
#else
static struct { struct control_answer answer; double state[32]; } out = { { 0, UNLIMITED, -1 }, { 0 } };
#endif

EXPORT(haltere_abi) int haltere_abi(void) { return 1; }
EXPORT(haltere_event) void *haltere_event(void) { return &event; }
EXPORT(haltere_params) void *haltere_params(void) { return parameters; }
EXPORT(haltere_answer) void *haltere_answer(void) { return &out; }

/* The description: JSON as it is, without quotes around it. */
#define ABOUT(...) EXPORT(haltere_about) const char *haltere_about(void) { return #__VA_ARGS__; }

/* 64 random bits. */
IMPORT(random) i64 haltere_random(void);
/* Ends the run with a message. */
IMPORT(fail) void haltere_fail(const char *message, int length);
#ifndef HALTERE_QUEUE
/* In on_ack: asks for a reduction without loss or echo. If none goes on, one begins, and on_loss follows with `asked`. */
IMPORT(ask_reduction) void haltere_ask_reduction(void);
#else
/* Drops a packet that waits: reason 0, the queue is full; 1, to signal congestion. */
IMPORT(drop) void haltere_drop(i64 id, int reason);
/* Marks a packet that waits: reason 0, congestion; 1, a threshold. 0 if it is not ECN-capable: drop it instead. */
IMPORT(mark) int haltere_mark(i64 id, int reason);
#endif

#endif
