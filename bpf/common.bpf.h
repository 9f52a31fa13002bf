/* SPDX-License-Identifier: GPL-2.0 */
/* What both controls need of the kernel's types. vmlinux.h is made from the running kernel's BTF when they are built. */
#pragma once

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#ifndef CONTROL_NAME
#error "CONTROL_NAME: the name under which sockets ask for this control, at most 15 characters"
#endif

/* Macros are not in BTF: the kernel's values. */
#define INFINITE_SSTHRESH 0x7fffffff
#define NEEDS_ECN 0x2
#define DEMAND_CWR 0x4

static inline struct tcp_sock *tcp(struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

/* The control's own memory in the socket. */
static inline void *own(struct sock *sk)
{
	return ((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

static inline bool before(__u32 a, __u32 b)
{
	return (__s32)(a - b) < 0;
}

static inline __u32 at_least(__u32 value, __u32 floor)
{
	return value < floor ? floor : value;
}

static inline __u32 at_most(__u32 value, __u32 ceiling)
{
	return value > ceiling ? ceiling : value;
}
