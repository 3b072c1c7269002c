/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/kernel/old_kernel.h"

#include "base/cleanup.h"
#include "trace/kernel/feature.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>

/* Instructions, as in the kernel's include/linux/filter.h. */
#define MOV_REG(dst, src)                                                                          \
	(struct bpf_insn)                                                                          \
	{                                                                                          \
		.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = (dst), .src_reg = (src)            \
	}
#define MOV_IMM(dst, value)                                                                        \
	(struct bpf_insn)                                                                          \
	{                                                                                          \
		.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = (dst), .imm = (value)              \
	}
#define ADD_IMM(dst, value)                                                                        \
	(struct bpf_insn)                                                                          \
	{                                                                                          \
		.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = (dst), .imm = (value)              \
	}
/* Half of a 64-bit immediate; the second has no code. */
#define LOAD_LOW(dst, kind, value)                                                                 \
	(struct bpf_insn)                                                                          \
	{                                                                                          \
		.code = BPF_LD | BPF_DW | BPF_IMM, .dst_reg = (dst), .src_reg = (kind),            \
		.imm = (int)(value)                                                                \
	}
#define LOAD_HIGH(value)                                                                           \
	(struct bpf_insn)                                                                          \
	{                                                                                          \
		.imm = (int)(value)                                                                \
	}
#define STORE(size, offset, src)                                                                   \
	(struct bpf_insn)                                                                          \
	{                                                                                          \
		.code = BPF_STX | BPF_MEM | (size), .dst_reg = BPF_REG_10, .src_reg = (src),       \
		.off = (offset)                                                                    \
	}
#define CALL(helper)                                                                               \
	(struct bpf_insn)                                                                          \
	{                                                                                          \
		.code = BPF_JMP | BPF_CALL, .imm = (helper)                                        \
	}
#define EXIT()                                                                                     \
	(struct bpf_insn)                                                                          \
	{                                                                                          \
		.code = BPF_JMP | BPF_EXIT                                                         \
	}

static int load_stub(const struct bpf_insn *insns, size_t n)
{
	int fd = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "memtraced_stub", "GPL", insns, n, NULL);

	return fd < 0 ? -errno : fd;
}

/* Loads and lets go. */
static int try_load(const struct bpf_insn *insns, size_t n)
{
	_cleanup_close_ int fd = load_stub(insns, n);

	return fd < 0 ? fd : 0;
}

int old_kernel_try_atomics(void)
{
	const struct bpf_insn insns[] = {
		MOV_IMM(BPF_REG_0, 1),
		STORE(BPF_DW, -8, BPF_REG_0),
		/* r0 = fetch and add */
		{ .code = BPF_STX | BPF_ATOMIC | BPF_DW,
		  .dst_reg = BPF_REG_10,
		  .src_reg = BPF_REG_0,
		  .off = -8,
		  .imm = BPF_ADD | BPF_FETCH },
		EXIT(),
	};

	if (feature_left_out(FEATURE_ATOMICS))
		return -EOPNOTSUPP;
	return try_load(insns, sizeof(insns) / sizeof(insns[0]));
}

int old_kernel_try_cookies(void)
{
	const struct bpf_insn insns[] = { CALL(BPF_FUNC_get_attach_cookie), EXIT() };

	if (feature_left_out(FEATURE_COOKIES))
		return -EOPNOTSUPP;
	return try_load(insns, sizeof(insns) / sizeof(insns[0]));
}

bool old_kernel(void)
{
	return old_kernel_try_atomics() || old_kernel_try_cookies();
}

int old_kernel_open(struct bpf_object_skeleton *skeleton, const void *elf, size_t size)
{
	skeleton->data = (void *)elf; /* libbpf only reads it */
	skeleton->data_sz = size;
	return bpf_object__open_skeleton(skeleton, NULL);
}

/* Index of the program in the array that stubs call on by; negative errno. */
static int stub_index(struct probe_stubs *stubs, int target_fd)
{
	uint32_t i;
	int r;

	for (i = 0; i < stubs->n; i++)
		if (stubs->targets[i] == target_fd)
			return i;
	if (i == ABI_STUB_PROGRAMS)
		return -ENOSPC;
	r = bpf_map_update_elem(stubs->programs_fd, &i, &target_fd, BPF_ANY);
	if (r)
		return r;
	stubs->targets[stubs->n++] = target_fd;
	return i;
}

int probe_stub_load(struct probe_stubs *stubs, int target_fd, uint64_t cookie)
{
	int index = stub_index(stubs, target_fd);
	const struct bpf_insn insns[] = {
		MOV_REG(BPF_REG_6, BPF_REG_1),
		CALL(BPF_FUNC_get_current_pid_tgid),
		STORE(BPF_W, -4, BPF_REG_0),
		LOAD_LOW(BPF_REG_1, 0, cookie),
		LOAD_HIGH(cookie >> 32),
		STORE(BPF_DW, -16, BPF_REG_1),
		/* cookies[thread] = cookie */
		LOAD_LOW(BPF_REG_1, BPF_PSEUDO_MAP_FD, stubs->cookies_fd),
		LOAD_HIGH(0),
		MOV_REG(BPF_REG_2, BPF_REG_10),
		ADD_IMM(BPF_REG_2, -4),
		MOV_REG(BPF_REG_3, BPF_REG_10),
		ADD_IMM(BPF_REG_3, -16),
		MOV_IMM(BPF_REG_4, BPF_ANY),
		CALL(BPF_FUNC_map_update_elem),
		/* What comes back here has not been called. */
		MOV_REG(BPF_REG_1, BPF_REG_6),
		LOAD_LOW(BPF_REG_2, BPF_PSEUDO_MAP_FD, stubs->programs_fd),
		LOAD_HIGH(0),
		MOV_IMM(BPF_REG_3, index),
		CALL(BPF_FUNC_tail_call),
		MOV_IMM(BPF_REG_0, 0),
		EXIT(),
	};

	return index < 0 ? index : load_stub(insns, sizeof(insns) / sizeof(insns[0]));
}
