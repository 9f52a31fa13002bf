// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Registers the congestion controls of BPF objects, says "ready", and keeps them until its standard input ends.
 *
 * The registration is a link that belongs to this process: however it or its parent ends, the kernel takes it back. libbpf 1.1
 * makes no such links for struct_ops yet: so the map is flagged for one, libbpf fills it, and the link is made here.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FLAG_LINK (1U << 13)	/* BPF_F_LINK */
#define ATTACH_STRUCT_OPS 44	/* BPF_STRUCT_OPS */

static int fail(const char *path, const char *doing, int error)
{
	fprintf(stderr, "%s: %s: %s\n", path, doing, strerror(error < 0 ? -error : error));
	return 1;
}

static int add(const char *path)
{
	struct bpf_object *object = bpf_object__open_file(path, NULL);
	struct bpf_map *map = NULL;
	int error;

	if (!object)
		return fail(path, "reading", errno);
	bpf_object__for_each_map(map, object)
		if (bpf_map__type(map) == BPF_MAP_TYPE_STRUCT_OPS)
			break;
	if (!map)
		return fail(path, "holds no struct_ops", EINVAL);
	error = bpf_map__set_map_flags(map, bpf_map__map_flags(map) | FLAG_LINK);
	if (error)
		return fail(path, "asking for a link", error);
	error = bpf_object__load(object);
	if (error)
		return fail(path, "the kernel's check", error);
	if (!bpf_map__attach_struct_ops(map))
		return fail(path, "filling in", errno);
	/* Never closed: the registration lives as long as this process. */
	if (bpf_link_create(bpf_map__fd(map), 0, ATTACH_STRUCT_OPS, NULL) < 0)
		return fail(path, "registering", errno);
	return 0;
}

int main(int argc, char **argv)
{
	char byte;

	for (int i = 1; i < argc; i++)
		if (add(argv[i]))
			return 1;
	puts("ready");
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	return 0;
}
