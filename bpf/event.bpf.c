// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The stacks of one event, any tracepoint, of samples, or of waits: this object is loaded once for
 * each that is asked for, with the program that fits.
 */
#include "abi_event.h"
#include "abi_jobs.h"
#include "code_watch.bpf.h"
#include "event_stack.bpf.h"
#include "fault_sample.bpf.h"
#include "syscall_filter.bpf.h"
#include "target.bpf.h"

char LICENSE[] SEC("license") = "GPL";

const volatile __u32 knob_event; /* the daemon's number of it */
const volatile bool knob_kernel; /* kernel stacks, too */
/* The kernel's where there is no user code: who uses a CPU or waits has one of the two. */
const volatile bool knob_any_stack;
const volatile bool knob_each; /* every event with its own time */
/* That of a system call, which is to be picked out of all of them; or -1. */
const volatile __s32 knob_number = -1;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 262144);
	__type(key, struct abi_event_key);
	__type(value, struct abi_event_count);
} event_counts SEC(".maps");

/* Threads, each with its wait; only for waits. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 262144);
	__type(key, __u32);
	__type(value, struct abi_blocked);
} blocked SEC(".maps");

static __always_inline void send_occurrence(struct abi_proc *proc, const struct abi_event_key *key,
					    __u32 slot, __u64 time_ns, __u64 weight)
{
	struct abi_ev_occurrence ev = {
		.head = { .type = ABI_EV_OCCURRENCE, .slot = slot, .time_ns = time_ns },
		.id = knob_event,
		.tid = bpf_get_current_pid_tgid(),
		.cpu = key->cpu,
		.weight = weight > 0xffffffff ? 0xffffffff : weight,
		.stack = key->stack,
		.kernel_stack = key->kernel_stack,
	};

	bpf_get_current_comm(ev.comm, sizeof(ev.comm));
	if (ring_send_later(&ev, sizeof(ev)))
		proc_lost(proc, ABI_LOST_RING_FULL);
}

/* False: there is no room. */
static __always_inline bool count_stacks(const struct abi_event_key *key, __u64 time_ns,
					 __u64 took_ns, __u64 weight)
{
	struct abi_event_count fresh = { .first_ns = time_ns, .last_ns = time_ns }, *count;

	count = bpf_map_lookup_elem(&event_counts, key);
	if (!count) {
		bpf_map_update_elem(&event_counts, key, &fresh, BPF_NOEXIST);
		count = bpf_map_lookup_elem(&event_counts, key);
		if (!count)
			return false;
	}
	/* Only this CPU writes it. */
	__sync_fetch_and_add(&count->count, 1);
	count->ns += took_ns;
	count->weight += weight;
	count->variance += weight * (weight - 1);
	count->last_ns = time_ns;
	return true;
}

static __always_inline void capture(void *ctx, struct abi_proc *proc, __u32 slot, __u64 repeated,
				    bool in_kernel, struct abi_event_key *key)
{
	key->stack = user_stack_capture(ctx, proc, slot, in_kernel);
	key->image = proc->image;
	if (knob_kernel || (knob_any_stack && key->stack == ABI_STACK_NO_CODE))
		key->kernel_stack = kernel_stack_capture(ctx, proc, repeated);
	key->cpu = bpf_get_smp_processor_id();
}

static __always_inline void take_event(void *ctx, struct abi_proc *proc, __u32 slot, __u64 repeated,
				       bool in_kernel, __u64 weight)
{
	struct abi_event_key key = {};
	__u64 time_ns;

	capture(ctx, proc, slot, repeated, in_kernel, &key);
	time_ns = bpf_ktime_get_ns();
	if (!count_stacks(&key, time_ns, 0, weight))
		proc_lost(proc, ABI_LOST_EVENT);
	if (knob_each)
		send_occurrence(proc, &key, slot, time_ns, weight);
}

SEC("tracepoint")
int on_event(void *ctx)
{
	struct abi_proc *proc;
	__u32 slot;

	if (knob_number >= 0 && !is_syscall(ctx, knob_number))
		return 0;
	proc = target_proc(&slot);
	if (proc)
		take_event(ctx, proc, slot, KERNEL_FRAMES_REPEATED, true, 1);
	return 0;
}

/* In the clock's interrupt; the kernel's walk begins with what was interrupted. */
SEC("?perf_event")
int on_sample(void *ctx)
{
	__u64 mode = *(const __u64 *)(ctx + REGS_MODE); /* of what was interrupted */
	__u32 slot;
	struct abi_proc *proc = target_proc(&slot);

	if (!proc)
		return 0;
	if (code_is_watched())
		watch_code(proc, slot, false);
	take_event(ctx, proc, slot, 0, !MODE_IS_USER(mode), 1);
	return 0;
}

SEC("?perf_event")
int on_page_fault(void *ctx)
{
	__u64 mode = *(const __u64 *)(ctx + REGS_MODE);
	__u32 slot, cpu = bpf_get_smp_processor_id();
	struct abi_fault_clock *clock = bpf_map_lookup_elem(&fault_clocks, &cpu);
	struct abi_proc *proc;
	__u64 n;

	if (!clock)
		return 0;
	n = faults_since(ctx, clock);
	count_tick(clock);
	proc = target_proc(&slot);
	if (!proc)
		return 0;
	n = fault_weight(clock, n);
	if (!n)
		return 0;
	if (code_is_watched())
		watch_code(proc, slot, false);
	take_event(ctx, proc, slot, 0, !MODE_IS_USER(mode), n);
	return 0;
}

/*
 * prev_state of sched_switch, a bit for each state (TASK_REPORT in include/linux/sched.h): those in
 * which a thread waits. It has none, or the one above, when it could go on; others when a tracer
 * (which we are) has stopped it, or when it is over.
 */
#define STATE_WAITS 0xc7

static __always_inline void end_wait(__u32 tid)
{
	__u64 now_ns = bpf_ktime_get_ns();
	struct abi_blocked *wait = bpf_map_lookup_elem(&blocked, &tid);
	struct abi_event_key key;

	if (!wait)
		return;
	key = wait->key;
	key.cpu = bpf_get_smp_processor_id();
	if (!count_stacks(&key, now_ns, now_ns - wait->since_ns, 1))
		count_loss(ABI_LOST_EVENT);
	bpf_map_delete_elem(&blocked, &tid);
}

static __always_inline void begin_wait(void *ctx, __u32 tid)
{
	struct abi_blocked wait = {};
	__u32 slot;
	struct abi_proc *proc = target_proc(&slot);

	if (!proc)
		return;
	capture(ctx, proc, slot, KERNEL_FRAMES_REPEATED, true, &wait.key);
	wait.since_ns = bpf_ktime_get_ns();
	if (bpf_map_update_elem(&blocked, &tid, &wait, BPF_ANY))
		proc_lost(proc, ABI_LOST_EVENT);
}

/* The current thread is still the one that stops. */
SEC("?tracepoint")
int on_switch(struct trace_event_raw_sched_switch *ctx)
{
	if (ctx->next_pid)
		end_wait(ctx->next_pid);
	if (ctx->prev_pid && (ctx->prev_state & STATE_WAITS))
		begin_wait(ctx, ctx->prev_pid);
	return 0;
}
