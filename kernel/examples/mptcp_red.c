// SPDX-License-Identifier: GPL-2.0
/*
 * RED (redundant diversity) as a scheduler of Linux's MPTCP, for Linux 6.12:
 * every segment on the subflows whose smoothed round-trip times do not
 * correlate. Computation: mptcp_red.h.
 *
 *   cd kernel/examples
 *   haltere kernel build 6.12 --patch mptcp_replicas.patch --add mptcp_red.h --add mptcp_red.c
 *
 * It takes the place of the kernel's scheduler `default`: the name is taken
 * before MPTCP begins. As in the authors' module a sample is taken of every
 * subflow that the scheduler visits, and the coefficients are computed every
 * two seconds.
 *
 * Limit: data that had to wait for room, and are sent from an interrupt, go
 * on one subflow only (__mptcp_subflow_push_pending).
 */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include "protocol.h"

#define red_div(a, b)	div64_s64(a, b)
#include "mptcp_red.h"

#define RED_INTERVAL	(2 * HZ)

/* What RED knows of a connection. Its subflows are numbered in the order of the connection's list. */
struct red_connection {
	struct list_head list;
	struct mptcp_sock *msk;
	struct red_path paths[RED_PATHS];
	struct sock *of[RED_PATHS];
	int coefficients[RED_PATHS][RED_PATHS];
	bool started;
	unsigned long due;
};

static LIST_HEAD(red_connections);
static DEFINE_SPINLOCK(red_lock);

static struct red_connection *red_find(struct mptcp_sock *msk)
{
	struct red_connection *one, *found = NULL;

	spin_lock_bh(&red_lock);
	list_for_each_entry(one, &red_connections, list)
		if (one->msk == msk)
			found = one;
	spin_unlock_bh(&red_lock);
	return found;
}

static void red_init(struct mptcp_sock *msk)
{
	struct red_connection *one = kzalloc(sizeof(*one), GFP_ATOMIC);

	if (!one)
		return;		/* red_get_subflow() then takes the first subflow */
	one->msk = msk;
	memset32((u32 *)one->coefficients, RED_UNKNOWN, RED_PATHS * RED_PATHS);
	spin_lock_bh(&red_lock);
	list_add(&one->list, &red_connections);
	spin_unlock_bh(&red_lock);
}

static void red_release(struct mptcp_sock *msk)
{
	struct red_connection *one = red_find(msk);

	if (!one)
		return;
	spin_lock_bh(&red_lock);
	list_del(&one->list);
	spin_unlock_bh(&red_lock);
	kfree(one);
}

/* The number of a subflow. A socket that is new takes a free number, with an empty window. */
static int red_number(struct red_connection *red, struct sock *ssk)
{
	int path, free = -1;

	for (path = RED_PATHS - 1; path >= 0; path--) {
		if (red->of[path] == ssk)
			return path;
		if (!red->of[path])
			free = path;
	}
	if (free >= 0) {
		red->of[free] = ssk;
		memset(&red->paths[free], 0, sizeof(red->paths[free]));
	}
	return free;
}

static void red_relate(struct red_connection *red)
{
	int a, b;

	/* The socket may be older than its connection: time begins with the first data. */
	if (!red->started) {
		red->started = true;
		red->due = jiffies + RED_INTERVAL;
	}
	if (time_before(jiffies, red->due))
		return;
	red->due = jiffies + RED_INTERVAL;
	for (b = 1; b < RED_PATHS; b++)
		for (a = 0; a < b; a++)
			red->coefficients[a][b] = red->coefficients[b][a] =
				red_coefficient(&red->paths[a], &red->paths[b]);
}

static int red_get_subflow(struct mptcp_sock *msk, struct mptcp_sched_data *data)
{
	struct mptcp_subflow_context *subflow, *numbered[RED_PATHS] = {};
	struct red_connection *red = red_find(msk);
	u32 usable = 0, chosen;
	long timeout = TCP_RTO_MIN;
	int path, given = 0;

	mptcp_for_each_subflow(msk, subflow) {
		struct sock *ssk = mptcp_subflow_tcp_sock(subflow);

		if (!mptcp_subflow_active(subflow))
			continue;
		path = red ? red_number(red, ssk) : 0;
		if (path < 0 || numbered[path])
			continue;
		numbered[path] = subflow;
		usable |= 1U << path;
		if (red)
			red_sample(&red->paths[path], tcp_sk(ssk)->srtt_us);
	}
	if (red) {
		for (path = 0; path < RED_PATHS; path++)
			if (!numbered[path])
				red->of[path] = NULL;
		red_relate(red);
	}
	chosen = red ? red_chain(red->coefficients, usable, RED_PHI) : usable;
	for (path = 0; path < RED_PATHS; path++) {
		struct sock *ssk;

		if (!(chosen & (1U << path)))
			continue;
		ssk = mptcp_subflow_tcp_sock(numbered[path]);
		if (!sk_stream_memory_free(ssk))
			continue;
		timeout = max_t(long, timeout, inet_csk(ssk)->icsk_rto);
		mptcp_subflow_set_scheduled(numbered[path], true);
		given++;
	}
	/* One piece of data at a time, and no retransmission before the subflows have had theirs. */
	msk->snd_burst = 0;
	msk->timer_ival = timeout;
	return given ? 0 : -EINVAL;
}

static struct mptcp_sched_ops red = {
	.get_subflow = red_get_subflow,
	.init = red_init,
	.release = red_release,
	.name = "default",
	.owner = THIS_MODULE,
};

static int __init red_register(void)
{
	return mptcp_register_scheduler(&red);
}
core_initcall(red_register);
MODULE_LICENSE("GPL");
