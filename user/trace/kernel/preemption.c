/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/kernel/preemption.h"

#include "base/cleanup.h"
#include "bpf/abi.h"
#include "trace/bpf/bpf_link.h"
#include "trace/kernel/feature.h"
#include "trace/kernel/kernel_btf.h"

#include <bpf/bpf.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

bool raw_tracepoint_preempted(int prog_fd, volatile struct abi_control *control, const char *name)
{
	_cleanup_close_ int link = -1;
	char own_name[16];

	if (feature_left_out(FEATURE_WHOLE_TRACEPOINTS))
		return true;
	control->preemption = ABI_PREEMPTION_UNKNOWN;
	control->preemption_tid = syscall(SYS_gettid);
	link = link_raw_tracepoint(prog_fd, name);
	if (link < 0 || prctl(PR_GET_NAME, own_name))
		return false;
	(void)prctl(PR_SET_NAME, own_name); /* the tracepoint is passed in any case */
	return control->preemption == ABI_PREEMPTION_YES;
}

bool syscall_programs_preempted(int prog_fd, volatile struct abi_control *control)
{
	return raw_tracepoint_preempted(prog_fd, control, "sys_enter") ||
	       btf_file_has(KERNEL_BTF, "trace_call_bpf_faultable") > 0;
}
