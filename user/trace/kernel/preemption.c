/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/kernel/preemption.h"

#include "base/cleanup.h"
#include "bpf/abi.h"
#include "trace/bpf/bpf_link.h"
#include "trace/kernel/boot_facts.h"
#include "trace/kernel/feature.h"
#include "trace/kernel/kernel_btf.h"

#include <bpf/bpf.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define FACTS "preemption"

static enum abi_preemption try_tracepoint(int prog_fd, volatile struct abi_control *control,
					  const char *name)
{
	_cleanup_close_ int link = -1;
	char own_name[16];

	control->preemption = ABI_PREEMPTION_UNKNOWN;
	control->preemption_tid = syscall(SYS_gettid);
	link = link_raw_tracepoint(prog_fd, name);
	if (link < 0 || prctl(PR_GET_NAME, own_name))
		return ABI_PREEMPTION_UNKNOWN;
	(void)prctl(PR_SET_NAME, own_name); /* the tracepoint is passed in any case */
	return control->preemption;
}

void preemption_find(int prog_fd, volatile struct abi_control *control,
		     struct preemption *ret_preemption)
{
	enum abi_preemption raw, syscalls;

	if (feature_left_out(FEATURE_WHOLE_TRACEPOINTS)) {
		*ret_preemption = (struct preemption){ .raw = true, .syscalls = true };
		return;
	}
	if (boot_facts_get(NULL, FACTS, ret_preemption, sizeof(*ret_preemption)) == 0)
		return;
	raw = try_tracepoint(prog_fd, control, "task_rename");
	syscalls = try_tracepoint(prog_fd, control, "sys_enter");
	ret_preemption->raw = raw == ABI_PREEMPTION_YES;
	ret_preemption->syscalls = syscalls == ABI_PREEMPTION_YES ||
				   btf_file_has(KERNEL_BTF, "trace_call_bpf_faultable") > 0;
	if (raw != ABI_PREEMPTION_UNKNOWN && syscalls != ABI_PREEMPTION_UNKNOWN)
		/* where it cannot be kept, it is found again */
		(void)boot_facts_put(NULL, FACTS, ret_preemption, sizeof(*ret_preemption));
}
