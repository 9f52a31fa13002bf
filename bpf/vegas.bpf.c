// SPDX-License-Identifier: GPL-2.0
/*
 * TCP Vegas as BPF struct_ops, for kernels that lack it.
 * Source: Brakmo, O'Malley and Peterson, "TCP Vegas: New Techniques for Congestion Detection and Avoidance", 1994; the
 * arithmetic in whole packets and the least RTT of a round as its sample, as Linux's own module has them.
 * Model, once a round trip, with the window W, the least RTT ever B and the least RTT of the round R:
 *   diff = W (R - B) / B      packets that wait in queues
 *   slow start: diff > gamma ends it with the window W B / R + 1
 *   avoidance:  diff < alpha: W + 1;  diff > beta: W - 1;  otherwise W stays
 * Rounds with two samples or fewer, and all time outside the open state, are Reno's.
 */
#include "common.bpf.h"

char _license[] SEC("license") = "GPL";

/* Packets; Linux's defaults (the paper speaks of 1 and 3 buffers). */
enum { ALPHA = 2, BETA = 4, GAMMA = 1 };
#define NEVER 0x7fffffff

struct vegas {
	__u32 round_ends;	/* the round is over when this is acknowledged */
	__u32 base_rtt_us;	/* least ever */
	__u32 round_rtt_us;	/* least of this round */
	__u16 samples;		/* in this round */
	__u8 active;		/* the socket is in the open state */
};

extern __u32 tcp_reno_ssthresh(struct sock *sk) __ksym;
extern __u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;
extern void tcp_reno_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) __ksym;
extern __u32 tcp_slow_start(struct tcp_sock *tp, __u32 acked) __ksym;

static void new_round(struct sock *sk)
{
	struct vegas *v = own(sk);

	v->round_ends = tcp(sk)->snd_nxt;
	v->samples = 0;
	v->round_rtt_us = NEVER;
}

static void activate(struct sock *sk)
{
	struct vegas *v = own(sk);

	v->active = 1;
	new_round(sk);
}

SEC("struct_ops")
void BPF_PROG(vegas_init, struct sock *sk)
{
	struct vegas *v = own(sk);

	v->base_rtt_us = NEVER;
	activate(sk);
}

SEC("struct_ops")
void BPF_PROG(vegas_set_state, struct sock *sk, __u8 state)
{
	struct vegas *v = own(sk);

	if (state == TCP_CA_Open)
		activate(sk);
	else
		v->active = 0;
}

/* What was measured before an idle time says nothing about the round after it. */
SEC("struct_ops")
void BPF_PROG(vegas_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct vegas *v = own(sk);

	if (event == CA_EVENT_CWND_RESTART || event == CA_EVENT_TX_START) {
		v->base_rtt_us = NEVER;
		activate(sk);
	}
}

SEC("struct_ops")
void BPF_PROG(vegas_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct vegas *v = own(sk);
	__u32 rtt;

	if (sample->rtt_us < 0)
		return;
	rtt = sample->rtt_us + 1; /* never zero: it divides */
	v->base_rtt_us = at_most(v->base_rtt_us, rtt);
	v->round_rtt_us = at_most(v->round_rtt_us, rtt);
	v->samples++;
}

/* A threshold below the window, so that the next ack does not fall back into slow start. */
static __u32 below_window(struct tcp_sock *tp)
{
	return at_most(tp->snd_ssthresh, tp->snd_cwnd - 1);
}

static void adjust(struct sock *sk, __u32 acked)
{
	struct tcp_sock *tp = tcp(sk);
	struct vegas *v = own(sk);
	__u32 cwnd = tp->snd_cwnd, rtt = v->round_rtt_us, base = v->base_rtt_us;
	__u32 waiting = (__u64)cwnd * (rtt - base) / base;
	bool slow_start = cwnd < tp->snd_ssthresh;

	if (slow_start && waiting > GAMMA) {
		__u32 target = (__u64)cwnd * base / rtt;

		tp->snd_cwnd = at_most(cwnd, target + 1);
		tp->snd_ssthresh = below_window(tp);
	} else if (slow_start) {
		tcp_slow_start(tp, acked);
	} else if (waiting > BETA) {
		tp->snd_cwnd = cwnd - 1;
		tp->snd_ssthresh = below_window(tp);
	} else if (waiting < ALPHA) {
		tp->snd_cwnd = cwnd + 1;
	}
	tp->snd_cwnd = at_most(at_least(tp->snd_cwnd, 2), tp->snd_cwnd_clamp);
	/* Three quarters of the window at least, as Linux reports the threshold outside recovery. */
	tp->snd_ssthresh = at_least(tp->snd_ssthresh, (tp->snd_cwnd >> 1) + (tp->snd_cwnd >> 2));
}

SEC("struct_ops")
void BPF_PROG(vegas_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = tcp(sk);
	struct vegas *v = own(sk);

	if (!v->active) {
		tcp_reno_cong_avoid(sk, ack, acked);
		return;
	}
	if (before(v->round_ends, ack)) {
		if (v->samples <= 2)
			tcp_reno_cong_avoid(sk, ack, acked);
		else
			adjust(sk, acked);
		new_round(sk);
	} else if (tp->snd_cwnd < tp->snd_ssthresh) {
		tcp_slow_start(tp, acked);
	}
}

SEC("struct_ops")
__u32 BPF_PROG(vegas_ssthresh, struct sock *sk)
{
	return tcp_reno_ssthresh(sk);
}

SEC("struct_ops")
__u32 BPF_PROG(vegas_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops")
struct tcp_congestion_ops vegas = {
	.init = (void *)vegas_init,
	.ssthresh = (void *)vegas_ssthresh,
	.undo_cwnd = (void *)vegas_undo_cwnd,
	.cong_avoid = (void *)vegas_cong_avoid,
	.pkts_acked = (void *)vegas_pkts_acked,
	.set_state = (void *)vegas_set_state,
	.cwnd_event = (void *)vegas_cwnd_event,
	.name = CONTROL_NAME,
};
