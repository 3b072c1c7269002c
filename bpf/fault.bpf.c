// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Signals (bpf/signal.bpf.h) where on_exit_mmap does not stand at their tracepoint. For the two
 * programs see bpf/lifecycle.bpf.c.
 */
#include "signal.bpf.h"

SEC("raw_tracepoint")
int on_fault(struct bpf_raw_tracepoint_args *ctx)
{
	struct kernel_siginfo *info = (void *)ctx->args[1];
	struct k_sigaction *action = (void *)ctx->args[2];

	return delivered(ctx, (int)ctx->args[0], BPF_CORE_READ(info, si_code),
			 !BPF_CORE_READ(action, sa.sa_handler));
}

SEC("tracepoint")
int on_fault_perf(struct trace_event_raw_signal_deliver *ctx)
{
	return signal_delivered(ctx);
}
