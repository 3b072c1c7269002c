/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What yardstick.c attaches: programs that do nothing, and one that takes a stack by its id. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#define STACK_FRAMES 127

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 1024);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, STACK_FRAMES * sizeof(__u64));
} stacks SEC(".maps");

SEC("uprobe")
int uprobe_empty(void *ctx)
{
	(void)ctx; /* the probe alone is measured */
	return 0;
}

SEC("uprobe")
int uprobe_stackid(void *ctx)
{
	(void)bpf_get_stackid(ctx, &stacks, BPF_F_USER_STACK); /* its time is measured */
	return 0;
}

SEC("tracepoint/syscalls/sys_exit_read")
int tracepoint_empty(void *ctx)
{
	(void)ctx; /* the link alone is measured */
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
