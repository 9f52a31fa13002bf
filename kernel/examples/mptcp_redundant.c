// SPDX-License-Identifier: GPL-2.0
/*
 * The redundant scheduler of Linux's MPTCP, for Linux 6.12: every segment on
 * every subflow.
 *
 *   cd kernel/examples
 *   haltere kernel build 6.12 --patch mptcp_replicas.patch --add mptcp_redundant.c
 *
 * It takes the place of the kernel's scheduler `default`. Limit: as mptcp_red.c.
 */
#include <linux/module.h>
#include "protocol.h"

static int redundant_get_subflow(struct mptcp_sock *msk, struct mptcp_sched_data *data)
{
	struct mptcp_subflow_context *subflow;
	long timeout = TCP_RTO_MIN;
	int given = 0;

	mptcp_for_each_subflow(msk, subflow) {
		struct sock *ssk = mptcp_subflow_tcp_sock(subflow);

		if (!mptcp_subflow_active(subflow) || !sk_stream_memory_free(ssk))
			continue;
		timeout = max_t(long, timeout, inet_csk(ssk)->icsk_rto);
		mptcp_subflow_set_scheduled(subflow, true);
		given++;
	}
	msk->snd_burst = 0;
	msk->timer_ival = timeout;
	return given ? 0 : -EINVAL;
}

static struct mptcp_sched_ops redundant = {
	.get_subflow = redundant_get_subflow,
	.name = "default",
	.owner = THIS_MODULE,
};

static int __init redundant_register(void)
{
	return mptcp_register_scheduler(&redundant);
}
core_initcall(redundant_register);
MODULE_LICENSE("GPL");
