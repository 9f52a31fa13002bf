// SPDX-License-Identifier: GPL-2.0
/*
 * Reno that reduces its window to four fifths instead of half: an example of a
 * congestion control of one's own.
 *
 *   haltere kernel build --add kernel/examples/tcp_foo.c
 *   haltere run FILE --world kernel --control reno=foo
 */
#include <linux/module.h>
#include <net/tcp.h>

static u32 foo_ssthresh(struct sock *sk)
{
	return max(tcp_snd_cwnd(tcp_sk(sk)) * 4 / 5, 2U);
}

static struct tcp_congestion_ops foo __read_mostly = {
	.name = "foo",
	.owner = THIS_MODULE,
	.ssthresh = foo_ssthresh,
	.cong_avoid = tcp_reno_cong_avoid,
	.undo_cwnd = tcp_reno_undo_cwnd,
};

static int __init foo_register(void)
{
	return tcp_register_congestion_control(&foo);
}
module_init(foo_register);
MODULE_LICENSE("GPL");
