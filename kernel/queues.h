/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Haltere: Linux's own queue disciplines as queues of the fabric. A part of
 * haltere.c, which includes it.
 */

#define HK_QUEUES_MAX 4096
/* Packets that one call may drop. */
#define HK_DROPPED_MAX 16384

static struct net_device *queues[HK_QUEUES_MAX];
static unsigned int queue_count;
/* What the discipline that is being called has dropped. */
static struct hk_seen *dropped;
static u32 dropped_count;

static netdev_tx_t xmit_nothing(struct sk_buff *skb, struct net_device *dev)
{
	kfree_skb(skb);
	return NETDEV_TX_OK;
}

static const struct net_device_ops queue_ops = {
	.ndo_start_xmit = xmit_nothing,
};

static void set_up_queue(struct net_device *dev)
{
	/* Of this type no protocol sends by itself: an IPv6 host would look for its routers. */
	dev->type = ARPHRD_VOID;
	dev->flags = IFF_NOARP;
	dev->mtu = ETH_DATA_LEN;
	/* Disciplines take a full packet to be the sum of both. */
	dev->hard_header_len = framing;
	dev->min_mtu = ETH_MIN_MTU;
	dev->max_mtu = ETH_MAX_MTU;
	dev->tx_queue_len = 1000;
	dev->netdev_ops = &queue_ops;
	dev->needs_free_netdev = true;
}

/* The device of a new queue in the caller's network namespace. Its discipline is attached to it before the run begins. */
int hk_k_queue_new(void)
{
	struct net_device *dev;
	char name[IFNAMSIZ];
	int error;

	if (queue_count == HK_QUEUES_MAX)
		return -ENOSPC;
	if (!dropped)
		dropped = vmalloc(array_size(HK_DROPPED_MAX, sizeof(*dropped)));
	if (!dropped)
		return -ENOMEM;
	snprintf(name, sizeof(name), "q%u", queue_count);
	dev = alloc_netdev(sizeof(u32), name, NET_NAME_ENUM, set_up_queue);
	if (!dev)
		return -ENOMEM;
	*(u32 *)netdev_priv(dev) = queue_count;
	dev_net_set(dev, current->nsproxy->net_ns);
	error = register_netdev(dev);
	if (error) {
		free_netdev(dev);
		return error;
	}
	queues[queue_count] = dev;
	return queue_count++;
}

/* The kernel would send now: the discipline has a packet that it withheld. The fabric takes it, if its line is free. */
static struct sk_buff *woken(struct Qdisc *q)
{
	spin_lock_bh(&lock);
	if (fabric)
		arm(hk_wake(fabric, ktime_get_ns(), *(u32 *)netdev_priv(qdisc_dev(q))));
	spin_unlock_bh(&lock);
	return NULL;
}

static struct Qdisc *discipline(u32 queue)
{
	struct Qdisc *q = rcu_dereference_raw(netdev_get_tx_queue(queues[queue], 0)->qdisc);

	q->dequeue = woken;
	return q;
}

/* The discipline frees a packet that it was given: it drops it. */
static void gone(struct sk_buff *skb)
{
	if (dropped_count == HK_DROPPED_MAX)
		panic("haltere: more than %u packets were dropped at once", HK_DROPPED_MAX);
	see(skb, &dropped[dropped_count]);
	dropped[dropped_count++].tag = skb->mark;
}

/* From Linux 6.19 on, what a discipline drops while it dequeues waits for its caller to free it, the last one first. */
static void free_left(struct Qdisc *q)
{
#ifdef TCQ_F_DEQUEUE_DROPS
	struct sk_buff *skb, *next, *first = NULL;

	if (!(q->flags & TCQ_F_DEQUEUE_DROPS))
		return;
	for (skb = q->to_free; skb; skb = next) {
		next = skb->next;
		skb->next = first;
		first = skb;
	}
	q->to_free = NULL;
	kfree_skb_list(first);
#endif
}

/* A packet of that length arrives at the queue. Returned: how many were dropped, which are at *which until the next call. */
u32 hk_k_queue_put(u32 queue, u64 packet, u32 len, u32 tag, const struct hk_seen **which)
{
	struct sk_buff *skb = (struct sk_buff *)packet, *to_free = NULL;
	struct Qdisc *q = discipline(queue);
	u32 waiting = q->q.qlen;

	dropped_count = 0;
	*which = dropped;
	skb->mark = tag;
	skb->destructor = gone;
	qdisc_skb_cb(skb)->pkt_len = len;
	q->enqueue(skb, q, &to_free);
	if (to_free)
		kfree_skb_list(to_free);
	free_left(q);
	/* fq disowns a packet that no socket sent, which calls its destructor as well. But then the packet waits. */
	if (dropped_count == 1 && dropped[0].tag == tag && q->q.qlen == waiting + 1) {
		skb->destructor = gone;
		dropped_count = 0;
	}
	return dropped_count;
}

/* The next packet and what it is; 0: there is none. Dropped ones are told as above. */
u64 hk_k_queue_take(u32 queue, struct hk_seen *seen, u32 *count, const struct hk_seen **which)
{
	struct Qdisc *q = discipline(queue);
	struct sk_buff *skb;

	dropped_count = 0;
	*which = dropped;
	skb = q->ops->dequeue(q);
	free_left(q);
	WARN_ON_ONCE(skb && skb->destructor != gone);
	*count = dropped_count;
	if (!skb)
		return 0;
	skb->destructor = NULL;
	see(skb, seen);
	seen->tag = skb->mark;
	skb->mark = 0;
	return (u64)skb;
}

void hk_k_queue_holds(u32 queue, u32 *packets, u32 *bytes)
{
	qdisc_qstats_qlen_backlog(discipline(queue), packets, bytes);
}

u64 hk_k_now(void)
{
	return ktime_get_ns();
}
