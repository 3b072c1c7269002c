// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One histogram: this object is loaded once for each that is asked for, its knobs say of what.
 *
 * A call that a signal interrupts (restart.bpf.h) is one call, counted once.
 */
#include "abi_jobs.h"
#include "arguments.bpf.h"
#include "kernel_stack.bpf.h"
#include "registers.bpf.h"
#include "restart.bpf.h"
#include "syscall_filter.bpf.h"
#include "target.bpf.h"
#include "thread.bpf.h"

char LICENSE[] SEC("license") = "GPL";

const volatile __u32 knob_source;   /* enum abi_hist_source */
const volatile __u32 knob_by;	    /* enum abi_hist_by */
const volatile __u32 knob_index;    /* ABI_HIST_ARGUMENT: which, from 0 */
const volatile __u32 knob_offset;   /* ABI_HIST_FIELD: in the record */
const volatile __u32 knob_size = 8; /* ABI_HIST_ARGUMENT, ABI_HIST_FIELD: bytes of the value */
const volatile bool knob_signed;
/* That of a system call, which is to be picked out of all of them; or -1. */
const volatile __s32 knob_number = -1;
const volatile bool knob_linear;
const volatile __s64 knob_min;
const volatile __s64 knob_max;
const volatile __u64 knob_step = 1;

/* kernel/trace/trace_syscalls.c: struct syscall_tp_t, as programs get it; the same layout on every
 * kernel, as the daemon checks against tracefs's format. What is behind nr was never written. */
struct enter_record {
	__u64 head;
	__s32 nr;
	__u32 rubbish;
	__u64 args[6];
};
struct exit_record {
	__u64 head;
	__s32 nr;
	__u32 rubbish;
	__s64 ret;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, ABI_HIST_MAX_BUCKETS);
	__type(key, __u32);
	__type(value, __u64);
} buckets SEC(".maps");

/* Buckets of groups, and what is counted beside buckets. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, struct abi_hist_key);
	__type(value, __u64);
} groups SEC(".maps");

struct call {
	__u64 start; /* ns; 0: not in a call whose beginning was seen */
	__s32 nr;
	__u32 restarting; /* ERESTART* that it returned last, 0: none */
	__u64 sp, ip;	  /* then: a handler's own calls are made elsewhere */
};

/* By task: a thread's id changes when it executes a program, its task does not. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u64);
	__type(value, struct call);
} calls SEC(".maps");

/* Newest call of an allocator function by each thread: to tell what a wrapper passes on. */
struct size_call {
	__u64 sp;
	__u64 size;
	__u64 fn;
};
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u64);
	__type(value, struct size_call);
} size_calls SEC(".maps");

static __always_inline void count_in_array(__u32 bucket)
{
	__u64 *count = bpf_map_lookup_elem(&buckets, &bucket);

	/* Tracepoint programs are not preempted by others on their CPU (kernel/preemption.h saw to
	 * that); those of uprobes may be. */
	if (!count)
		return;
	if (knob_source == ABI_HIST_SIZE)
		__sync_fetch_and_add(count, 1);
	else
		*count += 1;
}

static __always_inline void count_in_group(enum abi_hist_count what, __u32 which, __s64 n)
{
	struct abi_hist_key key = {
		.which = which,
		.count = what,
		.cpu = bpf_get_smp_processor_id(),
	};
	__u64 *count, zero = 0;

	if (knob_by == ABI_HIST_BY_COMM)
		bpf_get_current_comm(key.group, sizeof(key.group));
	else if (knob_by == ABI_HIST_BY_PID)
		*(__u32 *)key.group = current_tgid();
	count = bpf_map_lookup_elem(&groups, &key);
	if (!count) {
		bpf_map_update_elem(&groups, &key, &zero, BPF_NOEXIST);
		count = bpf_map_lookup_elem(&groups, &key);
		if (!count) {
			count_loss(ABI_LOST_HISTOGRAM);
			return;
		}
	}
	__sync_fetch_and_add(count, n);
}

/* Position of the highest bit of v > 0. */
static __always_inline __u32 log2_of(__u64 v)
{
	__u32 n = 0;

	if (v >> 32) {
		n = 32;
		v >>= 32;
	}
	if (v >> 16) {
		n += 16;
		v >>= 16;
	}
	if (v >> 8) {
		n += 8;
		v >>= 8;
	}
	if (v >> 4) {
		n += 4;
		v >>= 4;
	}
	if (v >> 2) {
		n += 2;
		v >>= 2;
	}
	return n + (v >> 1);
}

static __always_inline __u32 bucket_of(__s64 value)
{
	bool negative = knob_signed && value < 0;

	if (!knob_linear)
		return negative ? 0 : value ? 2 + log2_of(value) : 1;
	if (negative ? value < knob_min : knob_min > 0 && (__u64)value < (__u64)knob_min)
		return 0;
	if (!negative && (knob_max < 0 || (__u64)value >= (__u64)knob_max))
		return 1 + (__u64)(knob_max - knob_min) / knob_step;
	if (negative && value >= knob_max)
		return 1 + (__u64)(knob_max - knob_min) / knob_step;
	return 1 + (__u64)(value - knob_min) / knob_step;
}

static __always_inline void observe(__s64 value)
{
	__u32 bucket = bucket_of(value);

	if (knob_by == ABI_HIST_BY_NONE)
		count_in_array(bucket);
	else
		count_in_group(ABI_HIST_BUCKET, bucket, 1);
}

/* --- system calls ---------------------------------------------------------------------------- */

static __always_inline __u64 user_register(__u32 offset)
{
	void *regs = task_registers();
	__u64 value = 0;

	bpf_probe_read_kernel(&value, sizeof(value), regs + offset);
	return value;
}

static __always_inline struct call *call_find(void)
{
	__u64 task = bpf_get_current_task();

	return bpf_map_lookup_elem(&calls, &task);
}

static __always_inline void call_set(const struct call *call)
{
	__u64 task = bpf_get_current_task();

	if (bpf_map_update_elem(&calls, &task, call, BPF_ANY))
		count_loss(ABI_LOST_INFLIGHT);
}

/* The program sees this result; `call`: what is known of its beginning, or NULL. */
static __always_inline void call_over(struct call *call, __s64 ret)
{
	if (knob_source == ABI_HIST_LATENCY) {
		if (!call || !call->start || call->restarting)
			return; /* it began before the trace, or in a handler (counted) */
		observe(bpf_ktime_get_ns() - call->start);
		call->start = 0;
	} else if (knob_source == ABI_HIST_RESULT) {
		observe(ret);
		if (ret < 0 && ret >= -MAX_ERRNO)
			count_in_group(ABI_HIST_ERROR, -ret, 1);
	}
}

static __always_inline void call_interrupted(struct call *call, __s32 nr, __s64 ret)
{
	struct call fresh = {
		.nr = nr,
		.restarting = -ret,
		.sp = user_register(REGS_SP),
		.ip = user_register(REGS_IP),
	};

	count_in_group(ABI_HIST_RESTARTED, 0, 1);
	if (call) {
		call->nr = nr;
		call->restarting = -ret;
		call->sp = fresh.sp;
		call->ip = fresh.ip;
	} else {
		call_set(&fresh);
	}
}

/*
 * Only the argument that is asked for is read: the kernel refuses programs that read beyond the
 * record of a call with fewer. Tied to its number, so that the compiler does not make one load with
 * a chosen offset of them, which the verifier refuses.
 */
#define ARGUMENT(n)                                                                                \
	({                                                                                         \
		__u64 value = ctx->args[n];                                                        \
		asm volatile("" : "+r"(value) : "i"(n));                                           \
		value;                                                                             \
	})

static __always_inline __u64 syscall_argument(const struct enter_record *ctx)
{
	switch (knob_index) {
	case 0:
		return ARGUMENT(0);
	case 1:
		return ARGUMENT(1);
	case 2:
		return ARGUMENT(2);
	case 3:
		return ARGUMENT(3);
	case 4:
		return ARGUMENT(4);
	default:
		return ARGUMENT(5);
	}
}

SEC("tracepoint")
int on_enter(struct enter_record *ctx)
{
	struct call fresh = { .nr = ctx->nr }, *call;
	__u64 value;

	if (knob_number >= 0 && !is_syscall(ctx, knob_number))
		return 0;
	if (!in_target())
		return 0;
	call = call_find();
	if (call && call->restarting && call->sp == user_register(REGS_SP)) {
		call->restarting = 0;
		return 0;
	}
	if (knob_source == ABI_HIST_LATENCY) {
		/* A handler's call within one that will begin anew: there is room for one. */
		if (call && call->restarting) {
			count_loss(ABI_LOST_INFLIGHT);
			return 0;
		}
		fresh.start = bpf_ktime_get_ns();
		if (call)
			call->start = fresh.start;
		else
			call_set(&fresh);
		return 0;
	}
	value = syscall_argument(ctx);
	if (knob_size == 4)
		value = knob_signed ? (__u64)(__s64)(__s32)value : (__u32)value;
	else if (knob_size == 2)
		value = knob_signed ? (__u64)(__s64)(__s16)value : (__u16)value;
	else if (knob_size == 1)
		value = knob_signed ? (__u64)(__s64)(__s8)value : (__u8)value;
	observe(value);
	return 0;
}

SEC("tracepoint")
int on_exit_call(struct exit_record *ctx)
{
	__s64 ret = ctx->ret;
	bool restart = is_restart(ret);

	if (knob_number >= 0 && !is_syscall(ctx, knob_number))
		return 0;
	if (knob_source == ABI_HIST_ARGUMENT && !restart)
		return 0;
	if (!in_target())
		return 0;
	if (restart)
		call_interrupted(call_find(), ctx->nr, ret);
	else
		call_over(knob_source == ABI_HIST_LATENCY ? call_find() : NULL, ret);
	return 0;
}

/* Of calls that go on where they were, such as nanosleep. */
SEC("tracepoint")
int on_exit_restart(struct exit_record *ctx)
{
	struct call *call;

	if (knob_number >= 0 && !is_syscall(ctx, NR_RESTART_SYSCALL))
		return 0;
	call = call_find();
	/* Where entries are not seen, other marks outlive the restart of their call. */
	if (!call || call->restarting != ERESTART_RESTARTBLOCK)
		return 0;
	if (is_restart(ctx->ret)) {
		count_in_group(ABI_HIST_RESTARTED, 0, 1);
		return 0;
	}
	call->restarting = 0;
	call_over(call, ctx->ret);
	return 0;
}

/* include/linux/signal_types.h: struct k_sigaction begins with these two. */
struct action {
	__u64 handler, flags;
};

/*
 * The ERESTART* of the call in which a signal comes; 0: it comes elsewhere, while a mark is left of
 * one that has begun anew and ended.
 */
static __always_inline __s64 interrupted_result(const struct call *call)
{
	__s64 ret, nr;

	if (SIGNAL_FINDS_CALL_REWOUND)
		return user_register(REGS_IP) + SYSCALL_INSN_BYTES == call->ip &&
				       user_register(REGS_SP) == call->sp ?
			       -(__s64)call->restarting :
			       0;
	ret = user_register(REGS_RESULT);
	nr = user_register(REGS_NR);
	if (nr == NR_RESTART_SYSCALL ? call->restarting != ERESTART_RESTARTBLOCK : nr != call->nr)
		return 0;
	return is_restart(ret) ? ret : 0;
}

static __always_inline int signal_delivered(const struct action *action)
{
	struct call *call = call_find();
	__s64 ret;

	if (!call || !call->restarting)
		return 0;
	ret = interrupted_result(call);
	if (!ret)
		return 0;
	if (!ends_with_eintr(ret, action->handler, action->flags))
		return 0;
	count_in_group(ABI_HIST_RESTARTED, 0, -1);
	call->restarting = 0;
	call_over(call, -EINTR);
	return 0;
}

/* Of both there is one for raw tracepoints, and one for perf's: trace/kernel/preemption.h. */

/* signal_deliver(int sig, struct kernel_siginfo *info, struct k_sigaction *ka) */
SEC("raw_tracepoint")
int on_signal(struct bpf_raw_tracepoint_args *ctx)
{
	struct action action = {};

	bpf_probe_read_kernel(&action, sizeof(action), (void *)ctx->args[2]);
	return signal_delivered(&action);
}

/* include/trace/events/signal.h; not by the kernel's types, which take 16 ms to read. */
struct signal_record {
	__u64 head;
	__s32 sig, error, code;
	__u32 pad;
	__u64 handler, flags;
};

SEC("tracepoint")
int on_signal_perf(struct signal_record *ctx)
{
	const struct action action = { .handler = ctx->handler, .flags = ctx->flags };

	return signal_delivered(&action);
}

static __always_inline int thread_exited(void)
{
	__u64 task = bpf_get_current_task();

	bpf_map_delete_elem(&calls, &task);
	bpf_map_delete_elem(&size_calls, &task);
	return 0;
}

SEC("raw_tracepoint")
int on_thread_exit(void *ctx)
{
	(void)ctx; /* it is of the current task */
	return thread_exited();
}

SEC("tracepoint")
int on_thread_exit_perf(void *ctx)
{
	(void)ctx; /* it is of the current task */
	return thread_exited();
}

/* --- tracepoints, allocators ----------------------------------------------------------------- */

SEC("tracepoint")
int on_field(void *ctx)
{
	__u64 value = 0;

	if (knob_number >= 0 && !is_syscall(ctx, knob_number))
		return 0;
	if (!in_target())
		return 0;
	bpf_probe_read_kernel(&value, knob_size, ctx + knob_offset);
	if (knob_signed && knob_size < 8)
		value = (__s64)(value << (64 - knob_size * 8)) >> (64 - knob_size * 8);
	observe(value);
	return 0;
}

/*
 * Entry of an allocator function. An interposed one that passes its call on, further down the stack
 * and for the same size, is one request.
 */
SEC("uprobe")
int on_size(struct pt_regs *ctx)
{
	__u64 cookie = attach_cookie(ctx), task = bpf_get_current_task();
	struct size_call now = { .sp = PT_REGS_SP(ctx), .fn = ABI_COOKIE_FN(cookie) }, *last;
	__u32 slot;

	keep_kernel_stack(ctx);
	if (!counted_proc(ABI_COOKIE_OWNER(cookie), &slot))
		return 0;
	now.size = requested_size(ctx, ABI_COOKIE_ARGS(cookie));
	last = bpf_map_lookup_elem(&size_calls, &task);
	if (!last) {
		if (bpf_map_update_elem(&size_calls, &task, &now, BPF_ANY))
			count_loss(ABI_LOST_INFLIGHT);
	} else {
		if (last->fn != now.fn && last->size == now.size && now.sp <= last->sp &&
		    last->sp - now.sp < NESTING_RANGE) {
			count_in_group(ABI_HIST_PASSED_ON, 0, 1);
			return 0;
		}
		*last = now;
	}
	observe(now.size);
	return 0;
}
