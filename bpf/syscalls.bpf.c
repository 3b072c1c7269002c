// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * System calls of traced processes, counted where they return: per call its results, latency and
 * bytes, per file what was done with it, per stack who made it.
 *
 * A call counts once for the program, however often the kernel begins it anew. When a signal comes,
 * it leaves the kernel with an ERESTART* that no program sees, and waits here: until it is entered
 * again, or until a handler that forbids the restart turns it into EINTR.
 */
#include "abi_syscalls.h"
#include "event_stack.bpf.h"
#include "file.bpf.h"
#include "restart.bpf.h"
#include "syscall_count.bpf.h"
#include "target.bpf.h"

#include <bpf/bpf_core_read.h>

char LICENSE[] SEC("license") = "GPL";

#define AT_EMPTY_PATH 0x1000

/* Interrupted calls of a thread that wait at once: handlers within handlers. */
#define WAITING_MAX 4
/* UIO_MAXIOV: more messages the kernel does not take. */
#define MESSAGES_MAX 1024

/* struct mmsghdr: what the kernel stored into msg_len. */
#define MESSAGE_SIZE 64
#define MESSAGE_LEN_AT 56

struct call {
	__u64 start_ns; /* 0: was not seen */
	__u64 stack;
	__u64 messages; /* ABI_OP_MESSAGES: the array */
	struct abi_file_id file, file_out;
	struct abi_syscall_op op;
	__u32 slot;
	__s32 number;
	__u8 has_file, has_file_out;
	__u8 busy;
	__u8 pad;
	/* While it waits to be begun anew. */
	__u64 ip, sp;
	__s64 result;
};

struct syscall_thread {
	struct call now;
	struct call waiting[WAITING_MAX];
	struct abi_file_id known; /* the file that was published last */
	__u32 next_waiting;
	/* 1 + index of the waiting call that the next system call instruction begins anew */
	__u32 armed;
};

/* By task, not by tid: a thread that calls execve gets the tid of its leader. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u64);
	__type(value, struct syscall_thread);
} syscall_threads SEC(".maps");

const volatile struct abi_syscall_op knob_syscall_ops[ABI_SYSCALLS];

/* Too large for the stack of a program. */
static const struct syscall_thread fresh_thread;

/* A call that never returns to the program. */
static __always_inline void count_unfinished(const struct call *call)
{
	struct abi_syscall *s = syscall_get(call->slot, call->number);

	if (s)
		__sync_fetch_and_add(&s->untimed, 1);
	if (knob_max_stack)
		count_stack(call->stack, call->slot, call->number, 0);
}

/* --- files ----------------------------------------------------------------------------------- */

/* The file behind a descriptor; false when there is none. */
static __always_inline bool file_find(struct syscall_thread *t, __u64 fd, struct abi_file_id *ret)
{
	struct file *file = file_of(fd);

	if (!file)
		return false;
	file_id(file, ret);
	if (ret->ino == t->known.ino && ret->dev == t->known.dev && ret->kind == t->known.kind)
		return true;
	if (file_publish((__u64)file))
		t->known = *ret;
	return true;
}

/* Argument n, from 1, of the system call that is being entered. */
static __always_inline __u64 argument(struct pt_regs *regs, __u32 n)
{
	switch (n) {
	case 1:
		return syscall_argument_1(regs);
	case 2:
		return PT_REGS_PARM2_CORE(regs);
	case 3:
		return PT_REGS_PARM3_CORE(regs);
	case 4:
		return syscall_argument_4(regs);
	default:
		return PT_REGS_PARM5_CORE(regs);
	}
}

static __always_inline void call_files(struct syscall_thread *t, struct pt_regs *regs)
{
	struct call *call = &t->now;

	if (call->op.flags & ABI_OP_EMPTY_PATH && !(argument(regs, 4) & AT_EMPTY_PATH))
		return;
	if (call->op.fd)
		call->has_file = file_find(t, argument(regs, call->op.fd), &call->file);
	if (call->op.fd_out)
		call->has_file_out = file_find(t, argument(regs, call->op.fd_out), &call->file_out);
	if (call->op.flags & ABI_OP_MESSAGES)
		call->messages = argument(regs, 2);
}

/* Bytes of the messages that the call says to have sent or received. */
__noinline __u64 message_bytes(__u64 messages, __s64 n)
{
	__u64 sum = 0, at = messages + MESSAGE_LEN_AT;
	__u32 len;
	int i;

	for (i = 0; i < MESSAGES_MAX; i++, at += MESSAGE_SIZE) {
		if (i >= n)
			break;
		if (!bpf_probe_read_user(&len, sizeof(len), (void *)at))
			sum += len;
	}
	return sum;
}

static __always_inline __u64 call_bytes(const struct call *call, __s64 result)
{
	if (result <= 0)
		return 0;
	if (call->op.flags & ABI_OP_BYTES)
		return result;
	return call->op.flags & ABI_OP_MESSAGES ? message_bytes(call->messages, result) : 0;
}

static __always_inline void count_files(struct syscall_thread *t, const struct call *call,
					__u32 slot, __s64 result, __u64 bytes, __u64 ns)
{
	struct abi_file_id opened;

	if (call->has_file)
		count_file(&call->file, slot, call->op.use, bytes, ns);
	if (call->has_file_out)
		count_file(&call->file_out, slot, ABI_FILE_WRITE, bytes, ns);
	if (call->op.use == ABI_FILE_OPEN && result >= 0 && file_find(t, result, &opened))
		count_file(&opened, slot, ABI_FILE_OPEN, 0, ns);
}

/* --- calls ----------------------------------------------------------------------------------- */

/* A call has returned to the program, in the process image that is now behind `slot`. */
static __always_inline void call_done(struct syscall_thread *t, const struct call *call, __u32 slot,
				      __s64 result, __u64 now_ns)
{
	struct abi_syscall *s = syscall_get(slot, call->number);
	__u64 ns = call->start_ns ? now_ns - call->start_ns : 0, bytes = call_bytes(call, result);

	if (!s)
		return;
	if (call->start_ns)
		count_latency(s, ns);
	else
		__sync_fetch_and_add(&s->untimed, 1);
	if (bytes)
		__sync_fetch_and_add(&s->bytes, bytes);
	/* What rt_sigreturn leaves in the register of results is the interrupted code's. */
	if (result < 0 && result >= -MAX_ERRNO && !(call->op.flags & ABI_OP_SIGRETURN))
		count_error(slot, call->number, -result);
	count_files(t, call, slot, result, bytes, ns);
	if (knob_max_stack)
		count_stack(call->stack, slot, call->number, ns);
	count_event();
}

/* NULL: no room. */
static __always_inline struct syscall_thread *thread_of(void)
{
	__u64 task = bpf_get_current_task();
	struct syscall_thread *t = bpf_map_lookup_elem(&syscall_threads, &task);

	if (t)
		return t;
	bpf_map_update_elem(&syscall_threads, &task, &fresh_thread, BPF_NOEXIST);
	return bpf_map_lookup_elem(&syscall_threads, &task);
}

static __always_inline struct abi_syscall_op op_of(long number)
{
	const struct abi_syscall_op none = {};
	/* By one that is not volatile clang 19 takes the declaration's zeros for its value. */
	const volatile struct abi_syscall_op *op = &knob_syscall_ops[number];

	if (number < 0 || number >= ABI_SYSCALLS)
		return none;
	return (struct abi_syscall_op){
		.use = op->use, .fd = op->fd, .fd_out = op->fd_out, .flags = op->flags
	};
}

/*
 * The call that left with ERESTART* waits. One that waits at the same place can only have been left
 * by longjmp, else its re-entry would have taken it out: it never returns.
 */
static __always_inline void call_wait(struct syscall_thread *t, struct pt_regs *regs, __s64 result)
{
	struct call *now = &t->now, *w;
	__u32 i, place = WAITING_MAX;

	now->result = result;
	now->ip = PT_REGS_IP_CORE(regs);
	now->sp = PT_REGS_SP_CORE(regs);
	for (i = 0; i < WAITING_MAX; i++) {
		w = &t->waiting[i];
		if (w->busy && w->ip == now->ip && w->sp == now->sp) {
			place = i;
			break;
		}
		if (!w->busy && place == WAITING_MAX)
			place = i;
	}
	if (place >= WAITING_MAX)
		place = t->next_waiting++ % WAITING_MAX;
	w = &t->waiting[place];
	if (w->busy)
		count_unfinished(w);
	*w = *now;
	w->busy = 1;
	t->armed = place + 1;
}

/* The waiting call that this entry begins anew becomes the current one; false: there is none. */
static __always_inline bool call_resume(struct syscall_thread *t, __u32 slot, long number,
					const struct abi_syscall_op *op)
{
	__u32 armed = t->armed - 1;
	struct abi_syscall *s;
	struct call *w;

	t->armed = 0;
	if (armed >= WAITING_MAX)
		return false;
	w = &t->waiting[armed];
	if (!w->busy || (w->number != number && !(op->flags & ABI_OP_RESTART)))
		return false;
	t->now = *w;
	w->busy = 0;
	s = syscall_get(slot, t->now.number);
	if (s)
		__sync_fetch_and_add(&s->restarted, 1);
	return true;
}

/* rt_sigreturn has restored the registers: do they begin a waiting call anew? */
static __always_inline void rearm(struct syscall_thread *t, struct pt_regs *regs)
{
	__u64 ip = PT_REGS_IP_CORE(regs) + SYSCALL_INSN_BYTES, sp = PT_REGS_SP_CORE(regs);
	__s32 number = next_syscall_number(regs);
	__u32 i;

	for (i = 0; i < WAITING_MAX; i++) {
		const struct call *w = &t->waiting[i];

		if (w->busy && w->ip == ip && w->sp == sp && w->number == number)
			t->armed = i + 1;
	}
}

static __always_inline __u64 call_stack(void *ctx, __u32 slot)
{
	struct abi_proc *proc = proc_by_slot(slot);

	return proc ? user_stack_capture(ctx, proc, slot, true) : 0;
}

/* The slot of the current process; ABI_NO_SLOT: its calls are not wanted. */
static __always_inline __u32 target_slot(void)
{
	__u32 slot = slot_of_pid(current_tgid());

	if (slot == ABI_NO_SLOT && knob_scope != ABI_SCOPE_PROCESSES && !target_proc(&slot))
		return ABI_NO_SLOT;
	return slot == ABI_NO_SLOT || access_holds(slot) ? slot : ABI_NO_SLOT;
}

static __always_inline void call_enter(void *ctx, struct pt_regs *regs, long number)
{
	struct abi_syscall_op op = op_of(number);
	__u32 slot = target_slot();
	struct syscall_thread *t;
	struct call *call;

	if (slot == ABI_NO_SLOT || op.flags & ABI_OP_IGNORE)
		return;
	t = thread_of();
	if (!t || (t->armed && call_resume(t, slot, number, &op)))
		return;
	call = &t->now;
	call->op = op;
	call->slot = slot;
	call->number = number;
	call->has_file = call->has_file_out = 0;
	call->busy = 1;
	if (op.fd)
		call_files(t, regs);
	if (knob_max_stack)
		call->stack = call_stack(ctx, slot);
	if (op.flags & ABI_OP_NO_RETURN) {
		count_unfinished(call);
		call->busy = 0;
		return;
	}
	call->start_ns = bpf_ktime_get_ns();
}

/*
 * An exit without its entry: the call began before the process was traced, or was refused before
 * the kernel announces it (seccomp). False: it is not a call, but the return of a new thread or
 * process from the call that made it, or of rt_sigreturn, after which its number is unknown, or a
 * probe's.
 */
static __always_inline bool call_adopt(struct syscall_thread *t, struct pt_regs *regs, __u32 slot,
				       __s64 result)
{
	long number = syscall_number(regs);
	struct call *call = &t->now;

	call->op = op_of(number);
	if (number < 0 || call->op.flags & ABI_OP_IGNORE ||
	    (call->op.flags & ABI_OP_CHILD && result == 0))
		return false;
	call->slot = slot;
	call->number = number;
	call->has_file = call->has_file_out = 0;
	call->messages = 0;
	call->op.flags &= ~ABI_OP_MESSAGES;
	call->start_ns = 0;
	call->stack = 0;
	return true;
}

static __always_inline void call_exit(struct pt_regs *regs, __s64 result)
{
	__u32 slot = target_slot();
	struct syscall_thread *t;
	__u64 now_ns;

	if (slot == ABI_NO_SLOT)
		return;
	now_ns = bpf_ktime_get_ns();
	t = thread_of();
	if (!t) {
		lost(slot, ABI_LOST_SYSCALL_INFLIGHT);
		return;
	}
	if (!t->now.busy && !call_adopt(t, regs, slot, result))
		return;
	t->now.busy = 0;
	if (t->now.op.flags & ABI_OP_SIGRETURN)
		rearm(t, regs);
	else if (is_restart(result)) {
		call_wait(t, regs, result);
		return;
	}
	call_done(t, &t->now, slot, result, now_ns);
}

/*
 * --- programs: jobs/syscalls_job.c chooses a set of them ----------------------------------------
 *
 * tp_btf costs least; raw where that is refused; perf where the others are preempted.
 */

SEC("tp_btf/sys_enter")
int on_sys_enter(__u64 *ctx)
{
	call_enter(ctx, (void *)ctx[0], ctx[1]);
	return 0;
}

SEC("tp_btf/sys_exit")
int on_sys_exit(__u64 *ctx)
{
	call_exit((void *)ctx[0], ctx[1]);
	return 0;
}

SEC("raw_tp/sys_enter")
int on_sys_enter_raw(struct bpf_raw_tracepoint_args *ctx)
{
	call_enter(ctx, (void *)ctx->args[0], ctx->args[1]);
	return 0;
}

SEC("raw_tp/sys_exit")
int on_sys_exit_raw(struct bpf_raw_tracepoint_args *ctx)
{
	call_exit((void *)ctx->args[0], ctx->args[1]);
	return 0;
}

SEC("tracepoint")
int on_sys_enter_perf(struct trace_event_raw_sys_enter *ctx)
{
	call_enter(ctx, task_registers(), ctx->id);
	return 0;
}

SEC("tracepoint")
int on_sys_exit_perf(struct trace_event_raw_sys_exit *ctx)
{
	call_exit(task_registers(), ctx->ret);
	return 0;
}

static __always_inline int signal_delivered(__u64 handler, __u64 flags)
{
	__u64 task = bpf_get_current_task();
	struct syscall_thread *t = bpf_map_lookup_elem(&syscall_threads, &task);
	__u32 armed, slot;
	struct call *w;

	if (!t || !t->armed || handler <= 1)
		return 0;
	armed = t->armed - 1;
	t->armed = 0;
	if (armed >= WAITING_MAX)
		return 0;
	w = &t->waiting[armed];
	if (!ends_with_eintr(w->result, handler, flags))
		return 0;
	w->busy = 0;
	slot = slot_of_pid(current_tgid());
	if (slot != ABI_NO_SLOT)
		call_done(t, w, slot, -EINTR, bpf_ktime_get_ns());
	return 0;
}

SEC("raw_tp/signal_deliver")
int on_signal(struct bpf_raw_tracepoint_args *ctx)
{
	struct k_sigaction *action = (void *)ctx->args[2];

	return signal_delivered((__u64)BPF_CORE_READ(action, sa.sa_handler),
				BPF_CORE_READ(action, sa.sa_flags));
}

SEC("tracepoint")
int on_signal_perf(struct trace_event_raw_signal_deliver *ctx)
{
	return signal_delivered(ctx->sa_handler, ctx->sa_flags);
}

/* Calls that the end of their thread ended. */
static __always_inline int thread_ended(void)
{
	__u64 task = bpf_get_current_task();
	struct syscall_thread *t = bpf_map_lookup_elem(&syscall_threads, &task);
	__u32 i;

	if (!t)
		return 0;
	if (t->now.busy)
		count_unfinished(&t->now);
	for (i = 0; i < WAITING_MAX; i++)
		if (t->waiting[i].busy)
			count_unfinished(&t->waiting[i]);
	bpf_map_delete_elem(&syscall_threads, &task);
	return 0;
}

SEC("raw_tp/sched_process_exit")
int on_thread_end(void *ctx)
{
	(void)ctx; /* it is of the current task */
	return thread_ended();
}

SEC("tracepoint")
int on_thread_end_perf(void *ctx)
{
	(void)ctx; /* it is of the current task */
	return thread_ended();
}
