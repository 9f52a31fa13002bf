// SPDX-License-Identifier: GPL-2.0
/*
 * Haltere: the network between the hosts of an experiment, inside the guest
 * kernel.
 *
 * /proc/haltere is its control:
 *   write  JSON of the fabric      makes it, and one Ethernet device "n<node>"
 *                                  for each port in the caller's network
 *                                  namespace; they are then moved to the hosts
 *   write  "start <ns>"            the run begins at that CLOCK_MONOTONIC time
 *   write "capture"                keep the heads of all packets of hosts
 *   write "refuse <n>"             for tests: every n-th request of the fabric for
 *                                  memory is refused
 *   read                           what was counted until the end, as JSON
 * /proc/haltere_pcap is what was captured, as pcap with nanoseconds since the
 * run began.
 * /proc/haltere_line is a person's terminal: see line.h.
 *
 * A link may have one of Linux's own queue disciplines. It is attached to a
 * device "q<number>" that nobody sends to: the fabric calls the discipline.
 *
 * A frame that a device sends goes to the fabric (Rust, fabric.o), which holds
 * it in queues and on lines, and is received by the device of its destination.
 * One high-resolution timer runs what is due. All of it happens in softirq
 * context under one lock.
 */
#include <linux/etherdevice.h>
#include <linux/hrtimer.h>
#include <linux/if_arp.h>
#include <linux/ip.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/proc_fs.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <linux/tcp.h>
#include <linux/uaccess.h>
#include <linux/version.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>
#include <net/dsfield.h>
#include <net/ip.h>
#include <net/pkt_sched.h>
#include <net/tcp.h>

/* As `Seen` in door/src/lib.rs. */
struct hk_seen {
	u32 src, dst, seq, len;
	u16 src_port, dst_port, node;
	u8 tos, protocol, flags;
	/* What hk_k_queue_put() was given. */
	u32 tag;
};

#define HK_HAS_SEQ 1
#define HK_IS_SYN 2
#define HK_TEXT_MAX (16 << 20)

void *hk_new(const u8 *text, size_t len, char *why);
u64 hk_start(void *fabric, u64 origin);
u64 hk_arrive(void *fabric, u64 now, u32 node, u64 skb, const struct hk_seen *seen);
u64 hk_advance(void *fabric, u64 now);
u64 hk_wake(void *fabric, u64 now, u32 queue);
size_t hk_counted(void *fabric, bool first, const char **text);
size_t hk_now(void *fabric, u64 now, const char **text);
u64 hk_change(void *fabric, u64 now, const u8 *text, size_t len, char *why);
void hk_free(void *fabric);

static DEFINE_SPINLOCK(lock);
static void *fabric;
static struct hrtimer timer;
static u64 armed = U64_MAX;
/* By node; NULL: no port there. */
static struct net_device **devices;
static unsigned int nodes;
static unsigned int framing = ETH_HLEN;

/* Capture. */

#define HK_CAPTURE_MAX (96 << 20)
#define HK_SNAP 96

struct hk_pcap_head {
	u32 magic;
	u16 major, minor;
	u32 zone, accuracy, snap, link;
};

struct hk_pcap_packet {
	u32 s, ns, kept, len;
};

static u8 *capture;
static size_t captured;
static u64 origin_ns;

static int begin_capture(void)
{
	struct hk_pcap_head head = { 0xa1b23c4d, 2, 4, 0, 0, HK_SNAP, 1 };

	capture = vmalloc(HK_CAPTURE_MAX);
	if (!capture)
		return -ENOMEM;
	memcpy(capture, &head, sizeof(head));
	captured = sizeof(head);
	return 0;
}

/* The packet as it leaves or reaches a host. What does not fit is left out. */
static void keep(const struct sk_buff *skb)
{
	u64 now = ktime_get_ns();
	struct hk_pcap_packet packet = { .kept = min_t(u32, skb->len, HK_SNAP), .len = skb->len };

	if (!capture || captured + sizeof(packet) + HK_SNAP > HK_CAPTURE_MAX)
		return;
	now = now > origin_ns ? now - origin_ns : 0;
	packet.ns = do_div(now, NSEC_PER_SEC);
	packet.s = now;
	memcpy(capture + captured, &packet, sizeof(packet));
	captured += sizeof(packet);
	if (!skb_copy_bits(skb, 0, capture + captured, packet.kept))
		captured += packet.kept;
	else
		captured -= sizeof(packet);
}

struct hk_port {
	u32 node;
};

/* What the Rust side calls. */

/*
 * Memory: the fabric asks in softirq context, where the kernel may refuse. A
 * reserve of blocks of every size serves it then. It is filled again where the
 * kernel can wait.
 */
#define HK_SMALLEST 6
#define HK_SIZES 12
#define HK_BLOCKS 32

static void *reserve[HK_SIZES][HK_BLOCKS];
static u32 in_reserve[HK_SIZES];
static u32 refuse_every, asked;
static u64 refused;

/* Blocks of the smallest power of two that holds so much; beyond the reserve: HK_SIZES. */
static unsigned int size_class(size_t bytes)
{
	return max_t(int, order_base_2(bytes), HK_SMALLEST) - HK_SMALLEST;
}

static void fill_reserve(struct work_struct *unused)
{
	unsigned int class;

	for (class = 0; class < HK_SIZES; class++) {
		void *block;

		while (READ_ONCE(in_reserve[class]) < HK_BLOCKS) {
			block = kmalloc(1UL << (class + HK_SMALLEST), GFP_KERNEL | __GFP_NOWARN);
			if (!block)
				return;
			spin_lock_bh(&lock);
			reserve[class][in_reserve[class]++] = block;
			spin_unlock_bh(&lock);
		}
	}
}
static DECLARE_WORK(refill, fill_reserve);

static void *from_reserve(size_t bytes)
{
	unsigned int class = size_class(bytes);

	refused++;
	schedule_work(&refill);
	if (class >= HK_SIZES || !in_reserve[class])
		return NULL;
	return reserve[class][--in_reserve[class]];
}

u64 hk_k_refused(void)
{
	return refused;
}

void *hk_k_alloc(size_t bytes, size_t align)
{
	/* Powers of two are aligned to themselves. */
	size_t size = align > ARCH_KMALLOC_MINALIGN ? roundup_pow_of_two(max(bytes, align)) : bytes;
	/* While the run goes on, and what the reserve can serve. */
	bool refuse = refuse_every && origin_ns && size_class(size) < HK_SIZES && ++asked % refuse_every == 0;
	void *block = refuse ? NULL : kmalloc(size, GFP_ATOMIC | __GFP_NOWARN);

	return block ?: from_reserve(size);
}

void hk_k_free(void *at)
{
	kfree(at);
}

void __noreturn hk_k_stop(const u8 *text, size_t len)
{
	panic("haltere: %.*s", (int)len, text);
}

void hk_k_deliver(u32 node, u64 packet)
{
	struct sk_buff *skb = (struct sk_buff *)packet;
	struct net_device *dev = node < nodes ? devices[node] : NULL;

	if (!dev || !(dev->flags & IFF_UP)) {
		kfree_skb(skb);
		return;
	}
	keep(skb);
	/* Counts, scrubs what belongs to the sender's namespace, and receives. */
	dev_forward_skb(dev, skb);
}

void hk_k_drop(u64 packet)
{
	kfree_skb((struct sk_buff *)packet);
}

void hk_k_set_tos(u64 packet, u8 tos)
{
	struct sk_buff *skb = (struct sk_buff *)packet;
	unsigned int need = skb_network_offset(skb) + sizeof(struct iphdr);

	/* TCP may hold a clone for retransmission: its header stays as it is. */
	if (skb->protocol == htons(ETH_P_IP) && !skb_ensure_writable(skb, need))
		ipv4_change_dsfield(ip_hdr(skb), 0, tos);
}

static void see(const struct sk_buff *skb, struct hk_seen *seen)
{
	const struct ethhdr *eth = (const struct ethhdr *)skb->data;
	unsigned int at = skb_network_offset(skb), units = 1;
	struct iphdr ip_copy;
	const struct iphdr *ip;

	memset(seen, 0, sizeof(*seen));
	seen->node = get_unaligned_be16(eth->h_dest + 4);
	seen->len = skb->len - ETH_HLEN + framing;
	if (skb->protocol != htons(ETH_P_IP))
		return;
	ip = skb_header_pointer(skb, at, sizeof(ip_copy), &ip_copy);
	if (!ip)
		return;
	seen->src = ntohl(ip->saddr);
	seen->dst = ntohl(ip->daddr);
	seen->tos = ip->tos;
	seen->protocol = ip->protocol;
	if (ip->frag_off & htons(IP_MF | IP_OFFSET))
		return;
	at += ip->ihl * 4;
	if (ip->protocol == IPPROTO_TCP) {
		struct tcphdr tcp_copy;
		const struct tcphdr *tcp = skb_header_pointer(skb, at, sizeof(tcp_copy), &tcp_copy);

		if (!tcp)
			return;
		seen->src_port = ntohs(tcp->source);
		seen->dst_port = ntohs(tcp->dest);
		seen->seq = ntohl(tcp->seq);
		seen->flags = HK_HAS_SEQ | (tcp->syn ? HK_IS_SYN : 0);
		/* A buffer of several segments takes the line as long as they would: each with its headers. */
		if (skb_is_gso(skb))
			units = max_t(unsigned int, skb_shinfo(skb)->gso_segs, 1);
		seen->len += (units - 1) * (framing + ip->ihl * 4 + tcp->doff * 4);
	} else if (ip->protocol == IPPROTO_UDP) {
		__be16 copy[2];
		const __be16 *ports = skb_header_pointer(skb, at, sizeof(copy), copy);

		if (ports) {
			seen->src_port = ntohs(ports[0]);
			seen->dst_port = ntohs(ports[1]);
		}
	}
}

u64 hk_k_turn(u64 packet, struct hk_seen *seen)
{
	const struct sk_buff *from = (const struct sk_buff *)packet;
	struct sk_buff *skb = skb_copy(from, GFP_ATOMIC);
	unsigned int l3, l4;
	struct ethhdr *eth;
	struct iphdr *ip;

	if (!skb)
		return 0;
	l3 = skb_network_offset(skb);
	if (skb->protocol != htons(ETH_P_IP) || skb->len < l3 + sizeof(*ip)) {
		kfree_skb(skb);
		return 0;
	}
	eth = (struct ethhdr *)skb->data;
	swap(eth->h_dest[4], eth->h_source[4]);
	swap(eth->h_dest[5], eth->h_source[5]);
	ip = ip_hdr(skb);
	swap(ip->saddr, ip->daddr);
	l4 = l3 + ip->ihl * 4;
	if ((ip->protocol == IPPROTO_TCP || ip->protocol == IPPROTO_UDP) && skb->len >= l4 + 4) {
		__be16 *ports = (__be16 *)(skb->data + l4);

		swap(ports[0], ports[1]);
	}
	ip->ttl = 64;
	ip->tos |= INET_ECN_CE;
	ip_send_check(ip);
	see(skb, seen);
	return (u64)skb;
}

/* Time. */

static void arm(u64 at)
{
	if (at == armed)
		return;
	armed = at;
	if (at >= KTIME_MAX)
		hrtimer_try_to_cancel(&timer);
	else
		hrtimer_start(&timer, ns_to_ktime(at), HRTIMER_MODE_ABS_SOFT);
}

static enum hrtimer_restart expired(struct hrtimer *unused)
{
	spin_lock_bh(&lock);
	armed = U64_MAX;
	if (fabric)
		arm(hk_advance(fabric, ktime_get_ns()));
	spin_unlock_bh(&lock);
	return HRTIMER_NORESTART;
}

#include "queues.h"

/* Devices. */

static netdev_tx_t xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct hk_port *port = netdev_priv(dev);
	struct hk_seen seen;

	dev_sw_netstats_tx_add(dev, 1, skb->len);
	/* The host does not hold back for what lies in the fabric. */
	skb_orphan(skb);
	skb_tx_timestamp(skb);
	see(skb, &seen);
	spin_lock_bh(&lock);
	keep(skb);
	if (fabric)
		arm(hk_arrive(fabric, ktime_get_ns(), port->node, (u64)skb, &seen));
	else
		kfree_skb(skb);
	spin_unlock_bh(&lock);
	return NETDEV_TX_OK;
}

static int init_device(struct net_device *dev)
{
	dev->tstats = netdev_alloc_pcpu_stats(struct pcpu_sw_netstats);
	return dev->tstats ? 0 : -ENOMEM;
}

static void uninit_device(struct net_device *dev)
{
	struct hk_port *port = netdev_priv(dev);

	spin_lock_bh(&lock);
	if (port->node < nodes && devices[port->node] == dev)
		devices[port->node] = NULL;
	spin_unlock_bh(&lock);
	free_percpu(dev->tstats);
}

static const struct net_device_ops ops = {
	.ndo_init = init_device,
	.ndo_uninit = uninit_device,
	.ndo_start_xmit = xmit,
	.ndo_set_mac_address = eth_mac_addr,
	.ndo_get_stats64 = dev_get_tstats64,
};

static void set_up(struct net_device *dev)
{
	ether_setup(dev);
	dev->netdev_ops = &ops;
	dev->needs_free_netdev = true;
	dev->flags &= ~IFF_MULTICAST;
	dev->priv_flags |= IFF_NO_QUEUE;
	dev->features |= NETIF_F_SG | NETIF_F_HW_CSUM | NETIF_F_ALL_TSO | NETIF_F_HIGHDMA | NETIF_F_FRAGLIST;
	dev->hw_features |= dev->features;
	dev->min_mtu = ETH_MIN_MTU;
	dev->max_mtu = ETH_MAX_MTU;
	dev->tx_queue_len = 1000;
}

static int add_device(struct net *net, u32 node)
{
	u8 address[ETH_ALEN] = { 0x02, 'H', 'L', 0, node >> 8, node };
	struct net_device *dev;
	char name[IFNAMSIZ];
	int error;

	snprintf(name, sizeof(name), "n%u", node);
	dev = alloc_netdev(sizeof(struct hk_port), name, NET_NAME_ENUM, set_up);
	if (!dev)
		return -ENOMEM;
	((struct hk_port *)netdev_priv(dev))->node = node;
	dev_net_set(dev, net);
	eth_hw_addr_set(dev, address);
	error = register_netdev(dev);
	if (error)
		free_netdev(dev);
	else
		devices[node] = dev;
	return error;
}

/* Control. The text before the JSON: "<nodes> <framing> <port> <port> ..." and a line feed. */

static int make(char *text, size_t len)
{
	char *json = memchr(text, '\n', len), *word;
	struct net *net = current->nsproxy->net_ns;
	char why[240];
	unsigned int node;
	int error = 0;

	if (fabric)
		return -EBUSY;
	if (!json)
		return -EINVAL;
	*json++ = 0;
	word = strsep(&text, " ");
	if (!word || kstrtouint(word, 10, &nodes) || nodes > U16_MAX)
		return -EINVAL;
	word = strsep(&text, " ");
	if (!word || kstrtouint(word, 10, &framing))
		return -EINVAL;
	devices = kvcalloc(nodes, sizeof(*devices), GFP_KERNEL);
	if (!devices)
		return -ENOMEM;
	fabric = hk_new(json, strlen(json), why);
	if (!fabric) {
		pr_err("haltere: %s\n", why);
		return -EINVAL;
	}
	while (!error && (word = strsep(&text, " "))) {
		if (kstrtouint(word, 10, &node) || node >= nodes)
			return -EINVAL;
		error = add_device(net, node);
	}
	return error;
}

static ssize_t control(struct file *file, const char __user *from, size_t len, loff_t *at)
{
	char *text;
	u64 origin;
	int error;

	if (len > HK_TEXT_MAX)
		return -E2BIG;
	text = kvmalloc(len + 1, GFP_KERNEL);
	if (!text)
		return -ENOMEM;
	if (copy_from_user(text, from, len)) {
		kvfree(text);
		return -EFAULT;
	}
	text[len] = 0;
	if (!strncmp(text, "start ", 6)) {
		error = kstrtou64(text + 6, 10, &origin);
		spin_lock_bh(&lock);
		if (!error && fabric)
			arm(hk_start(fabric, origin_ns = origin));
		spin_unlock_bh(&lock);
	} else if (!strncmp(text, "refuse ", 7)) {
		error = kstrtouint(text + 7, 10, &refuse_every);
	} else if (!strcmp(text, "capture")) {
		error = begin_capture();
	} else {
		error = make(text, len);
	}
	kvfree(text);
	return error ? error : len;
}

static ssize_t counted(struct file *file, char __user *to, size_t len, loff_t *at)
{
	/* The present piece of the text, and where it begins in the file. */
	static const char *text;
	static size_t size;
	static loff_t begin;
	loff_t within;
	ssize_t read;

	if (!fabric)
		return 0;
	if (*at == 0 || *at >= begin + size) {
		/* The run is over. */
		refuse_every = 0;
		begin = *at;
		spin_lock_bh(&lock);
		size = hk_counted(fabric, *at == 0, &text);
		spin_unlock_bh(&lock);
	}
	within = *at - begin;
	read = simple_read_from_buffer(to, len, &within, text, size);
	if (read > 0)
		*at += read;
	return read;
}

static const struct proc_ops files = {
	.proc_write = control,
	.proc_read = counted,
	.proc_lseek = default_llseek,
};

static ssize_t read_capture(struct file *file, char __user *to, size_t len, loff_t *at)
{
	return simple_read_from_buffer(to, len, at, capture, captured);
}

static const struct proc_ops capture_files = {
	.proc_read = read_capture,
	.proc_lseek = default_llseek,
};

#include "line.h"

static int __init start(void)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
	hrtimer_init(&timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	timer.function = expired;
#else
	hrtimer_setup(&timer, expired, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
#endif
	fill_reserve(NULL);
	if (!proc_create("haltere_pcap", 0400, NULL, &capture_files) || !proc_create("haltere_line", 0600, NULL, &line_files))
		return -ENOMEM;
	return proc_create("haltere", 0600, NULL, &files) ? 0 : -ENOMEM;
}
device_initcall(start);
MODULE_LICENSE("GPL");
