/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/kernel/sampling.h"

#include "base/cleanup.h"
#include "trace/bpf/bpf_link.h"
#include "trace/kernel/feature.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <unistd.h>

/* r1 = the map; return 0 */
static int load_sampler(int map_fd)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_LD | BPF_DW | BPF_IMM,
		  .dst_reg = BPF_REG_1,
		  .src_reg = BPF_PSEUDO_MAP_FD,
		  .imm = map_fd },
		{ .code = 0 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_PERF_EVENT, "memtraced_try", "GPL", insns,
			       sizeof(insns) / sizeof(insns[0]), NULL);

	return fd < 0 ? -errno : fd;
}

int sampling_try(void)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_NO_PREALLOC);
	_cleanup_close_ int map_fd = -1, prog_fd = -1, link_fd = -1;

	if (feature_left_out(FEATURE_SAMPLING))
		return -EOPNOTSUPP;
	map_fd = bpf_map_create(BPF_MAP_TYPE_HASH, "memtraced_try", 8, 8, 1, &opts);
	if (map_fd < 0)
		return -errno;
	prog_fd = load_sampler(map_fd);
	if (prog_fd < 0)
		return prog_fd;
	link_fd = link_cpu_clock(prog_fd, 0, 1);
	return link_fd < 0 ? link_fd : 0;
}
