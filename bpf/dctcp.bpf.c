// SPDX-License-Identifier: GPL-2.0
/*
 * Data Center TCP as BPF struct_ops, for kernels that lack it.
 * Source: RFC 8257 (sections by number below). Deviations: counts packets, not bytes, as the kernel's own delivered
 * counters do; the window grows as Reno's.
 * Model: the receiver echoes each packet's CE (3.2); the sender estimates the marked share F once a window,
 *   alpha = (1 - g) alpha + g F        (3.3, g = 1/16)
 * and cuts once a window to  W (1 - alpha / 2)  (3.4).
 * Units: alpha in 1/1024.
 */
#include "common.bpf.h"

char _license[] SEC("license") = "GPL";

enum { ONE = 1024, GAIN_SHIFT = 4 };

struct dctcp {
	__u32 window_ends;	/* the estimate is renewed when this is acknowledged */
	__u32 delivered;	/* at the start of the window */
	__u32 delivered_ce;	/* at the start of the window */
	__u32 alpha;
	__u32 seen_to;		/* receiver: what had come when the CE state last was looked at */
	__u32 loss_cwnd;
	__u8 ce;		/* receiver: the last packet was marked */
};

extern __u32 tcp_reno_ssthresh(struct sock *sk) __ksym;
extern void tcp_reno_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) __ksym;

static void new_window(struct sock *sk)
{
	struct dctcp *d = own(sk);
	struct tcp_sock *tp = tcp(sk);

	d->window_ends = tp->snd_nxt;
	d->delivered = tp->delivered;
	d->delivered_ce = tp->delivered_ce;
}

SEC("struct_ops")
void BPF_PROG(dctcp_init, struct sock *sk)
{
	struct dctcp *d = own(sk);

	/* 4.2: begin with the worst, so that the first mark halves the window. */
	d->alpha = ONE;
	d->seen_to = tcp(sk)->rcv_nxt;
	d->loss_cwnd = 0;
	d->ce = 0;
	new_window(sk);
}

/* 3.3: once per window of data. */
SEC("struct_ops")
void BPF_PROG(dctcp_in_ack_event, struct sock *sk, __u32 flags)
{
	struct dctcp *d = own(sk);
	struct tcp_sock *tp = tcp(sk);
	__u32 delivered, marked, share;

	if (before(tp->snd_una, d->window_ends))
		return;
	delivered = at_least(tp->delivered - d->delivered, 1);
	marked = at_most(tp->delivered_ce - d->delivered_ce, delivered);
	share = (__u64)marked * (ONE >> GAIN_SHIFT) / delivered;
	/* Below 16 the shift gives nothing: fall to zero all the same. */
	d->alpha -= d->alpha >> GAIN_SHIFT ? d->alpha >> GAIN_SHIFT : d->alpha;
	d->alpha = at_most(d->alpha + share, ONE);
	new_window(sk);
}

/* 3.4: cwnd (1 - alpha / 2), at least two segments. */
SEC("struct_ops")
__u32 BPF_PROG(dctcp_ssthresh, struct sock *sk)
{
	struct dctcp *d = own(sk);
	__u32 cwnd = tcp(sk)->snd_cwnd;

	d->loss_cwnd = cwnd;
	return at_least(cwnd - (__u32)((__u64)cwnd * d->alpha / (2 * ONE)), 2);
}

/* 3.5: packet loss is answered as ever, by half. */
SEC("struct_ops")
void BPF_PROG(dctcp_set_state, struct sock *sk, __u8 state)
{
	struct dctcp *d = own(sk);
	struct tcp_sock *tp = tcp(sk);

	if (state == TCP_CA_Recovery && ((struct inet_connection_sock *)sk)->icsk_ca_state != TCP_CA_Recovery) {
		d->loss_cwnd = tp->snd_cwnd;
		tp->snd_ssthresh = at_least(tp->snd_cwnd >> 1, 2);
	}
}

/* 3.2: the state of CE changed; what came before is acknowledged with the old state, at once. */
static void ce_changed(struct sock *sk, __u8 ce)
{
	struct dctcp *d = own(sk);
	struct tcp_sock *tp = tcp(sk);

	if (d->ce != ce) {
		if (((struct inet_connection_sock *)sk)->icsk_ack.pending & ICSK_ACK_TIMER)
			bpf_tcp_send_ack(tp, d->seen_to);
		((struct inet_connection_sock *)sk)->icsk_ack.pending |= ICSK_ACK_NOW;
	}
	d->seen_to = tp->rcv_nxt;
	d->ce = ce;
	if (ce)
		tp->ecn_flags |= DEMAND_CWR;
	else
		tp->ecn_flags &= ~DEMAND_CWR;
}

SEC("struct_ops")
void BPF_PROG(dctcp_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_ECN_IS_CE)
		ce_changed(sk, 1);
	else if (event == CA_EVENT_ECN_NO_CE)
		ce_changed(sk, 0);
}

SEC("struct_ops")
void BPF_PROG(dctcp_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	tcp_reno_cong_avoid(sk, ack, acked);
}

SEC("struct_ops")
__u32 BPF_PROG(dctcp_undo_cwnd, struct sock *sk)
{
	struct dctcp *d = own(sk);

	return at_least(tcp(sk)->snd_cwnd, d->loss_cwnd);
}

SEC(".struct_ops")
struct tcp_congestion_ops dctcp = {
	.init = (void *)dctcp_init,
	.in_ack_event = (void *)dctcp_in_ack_event,
	.ssthresh = (void *)dctcp_ssthresh,
	.set_state = (void *)dctcp_set_state,
	.cwnd_event = (void *)dctcp_cwnd_event,
	.cong_avoid = (void *)dctcp_cong_avoid,
	.undo_cwnd = (void *)dctcp_undo_cwnd,
	.flags = NEEDS_ECN,
	.name = CONTROL_NAME,
};
