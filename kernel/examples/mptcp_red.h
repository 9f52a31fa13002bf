/* SPDX-License-Identifier: GPL-2.0 */
/*
 * RED (redundant diversity) without the kernel: windows of smoothed round-trip
 * times, Spearman's coefficient in whole numbers, and the paths that carry.
 * It is what the simulator's `red_cpi` (integer arithmetic) and `red` (rule
 * `module`) compute; tests/python/test_mptcp_kernel.py holds the two together.
 *
 * Source: B. Felix, I. Steuck, A. Santos, M. Nogueira, "Escalonador de Pacotes
 * para Transmissao por Multi-caminhos Nao-Correlacionados em Redes
 * Heterogeneas sem Fio", sections 3.1, 3.2 and 4.2.
 *
 * No division of 64 bits: the largest sums fit, and the quotients are taken by
 * red_div(), which the kernel gives for 32-bit machines.
 */
#ifndef MPTCP_RED_H
#define MPTCP_RED_H

#define RED_WINDOW	50	/* samples of a path */
#define RED_PATHS	8	/* MPTCP_SUBFLOWS_MAX */
#define RED_PHI		800	/* of 1000 */
#define RED_UNKNOWN	2000	/* no coefficient: a window is not full */

struct red_path {
	u32 samples[RED_WINDOW];
	u32 next, filled;
};

static inline void red_sample(struct red_path *path, u32 srtt)
{
	path->samples[path->next] = srtt;
	path->next = (path->next + 1) % RED_WINDOW;
	if (path->filled < RED_WINDOW)
		path->filled++;
}

/* The rank of each sample times 1000, from the oldest on. Equal samples share the mean of their ranks. */
static inline void red_ranks(const struct red_path *path, s64 *ranks)
{
	int i, j;

	for (i = 0; i < RED_WINDOW; i++) {
		u32 mine = path->samples[(path->next + i) % RED_WINDOW];
		int less = 0, equal = 0;

		for (j = 0; j < RED_WINDOW; j++) {
			less += path->samples[j] < mine;
			equal += path->samples[j] == mine;
		}
		/* The mean of less + 1 to less + equal. */
		ranks[i] = (2 * less + 1 + equal) * 500;
	}
}

static inline s64 red_root(s64 value)
{
	s64 root = 0, bit;

	for (bit = 1LL << 31; bit; bit >>= 1)
		if ((root + bit) * (root + bit) <= value)
			root += bit;
	return root;
}

static inline s64 red_deviation(const s64 *ranks, s64 sum)
{
	s64 mean = red_div(sum, RED_WINDOW), squares = 0;
	int i;

	for (i = 0; i < RED_WINDOW; i++)
		squares += (ranks[i] - mean) * (ranks[i] - mean);
	return red_root(red_div(squares, RED_WINDOW));
}

/* Spearman's coefficient of two paths times 1000. */
static inline int red_coefficient(const struct red_path *a, const struct red_path *b)
{
	s64 k[RED_WINDOW], l[RED_WINDOW], sum_k = 0, sum_l = 0, product = 0;
	s64 covariance, s, t, c;
	int i;

	if (a->filled < RED_WINDOW || b->filled < RED_WINDOW)
		return RED_UNKNOWN;
	red_ranks(a, k);
	red_ranks(b, l);
	for (i = 0; i < RED_WINDOW; i++) {
		sum_k += k[i];
		sum_l += l[i];
		product += k[i] * l[i];
	}
	covariance = red_div(product - red_div(sum_k * sum_l, RED_WINDOW), RED_WINDOW);
	s = red_deviation(k, sum_k);
	t = red_deviation(l, sum_l);
	/* Two constant windows are fully correlated, one is not correlated with anything. */
	if (!s || !t)
		return s || t ? 0 : 1000;
	c = red_div(covariance * 1000, s * t);
	return c > 1000 ? 1000 : c < -1000 ? -1000 : (int)c;
}

/*
 * The paths that carry, as bits. The first usable path begins the chain. Next
 * comes the path that is least correlated with the one before it, of either
 * sign, while that coefficient is at most phi.
 */
static inline u32 red_chain(int of[RED_PATHS][RED_PATHS], u32 usable, int phi)
{
	u32 chosen = 0;
	int last = -1, path;

	for (;;) {
		int next = -1, least = RED_UNKNOWN;

		for (path = 0; path < RED_PATHS; path++) {
			int c;

			if (!(usable & ~chosen & (1U << path)))
				continue;
			if (last < 0) {
				next = path;
				least = 0;
				break;
			}
			c = of[last][path] < 0 ? -of[last][path] : of[last][path];
			if (c < least) {
				next = path;
				least = c;
			}
		}
		if (next < 0 || least > phi)
			return chosen;
		chosen |= 1U << next;
		last = next;
	}
}

#endif
