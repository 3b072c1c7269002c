// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mmap, munmap, mremap and brk by their own syscall tracepoints. Regions are kept in user space,
 * which can search ranges; events go through the ring in the order in which they happened: an
 * unmapping is announced at entry, when nothing can yet have got the range anew, and confirmed at
 * its return.
 */
#include "abi_event.h"
#include "event_stack.bpf.h"
#include "hold.bpf.h"
#include "knobs.bpf.h"
#include "nesting.bpf.h"
#include "ring.bpf.h"
#include "signal.bpf.h"
#include "space.bpf.h"
#include "syscall_filter.bpf.h"
#include "target.bpf.h"

#include <bpf/bpf_core_read.h>

enum {
	PROT_WRITE = 0x2,
	PROT_EXEC = 0x4,
	MAP_FIXED = 0x10,
	MAP_ANONYMOUS = 0x20,
	MAP_FIXED_NOREPLACE = 0x100000,
};

struct map_call {
	__u64 addr, len, offset;
	__u64 new_len;
	__u32 prot, flags;
	__s32 fd;
	__u32 unmapped; /* an unmapping was reported at entry */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, struct map_call);
} map_calls SEC(".maps");

static __always_inline struct abi_proc *traced_proc(__u32 *ret_slot)
{
	__u32 slot = slot_of_pid(current_tgid());
	struct abi_proc *proc;

	if (slot == ABI_NO_SLOT)
		return NULL;
	proc = proc_by_slot(slot);
	*ret_slot = slot;
	if (!proc || proc->state == ABI_PROC_ENDED || proc->state == ABI_PROC_UNWANTED)
		return NULL;
	return access_holds(slot) ? proc : NULL;
}

static __always_inline void call_begin(struct abi_proc *proc, const struct map_call *call)
{
	__u32 tid = bpf_get_current_pid_tgid();

	if (bpf_map_update_elem(&map_calls, &tid, call, BPF_ANY))
		proc_lost(proc, ABI_LOST_INFLIGHT);
}

/* The call this thread is in; false when there is none. */
static __always_inline bool call_end(struct map_call *ret)
{
	__u32 tid = bpf_get_current_pid_tgid();
	struct map_call *call = bpf_map_lookup_elem(&map_calls, &tid);

	if (!call)
		return false;
	*ret = *call;
	bpf_map_delete_elem(&map_calls, &tid);
	return true;
}

static __always_inline void event_send(struct abi_proc *proc, struct abi_ev_map *ev, __u32 type,
				       __u32 slot)
{
	long failed;

	ev->head.type = type;
	ev->head.slot = slot;
	ev->head.time_ns = bpf_ktime_get_ns();
	ev->tid = bpf_get_current_pid_tgid();
	/* A file's rows are to be read, and who is held waits for that. */
	failed = type == ABI_EV_CODE && (!ev->noted || ev->held) ? ring_send_now(ev, sizeof(*ev)) :
								   ring_send_later(ev, sizeof(*ev));
	if (failed)
		proc_lost(proc, ABI_LOST_RING_FULL);
}

/* The executable file behind a descriptor of the current process. */
static __always_inline bool file_identity(int fd, struct abi_file_key *ret)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct fdtable *fdt = BPF_CORE_READ(task, files, fdt);
	struct file **slots, *file = NULL;

	if (fd < 0 || (__u32)fd >= BPF_CORE_READ(fdt, max_fds))
		return false;
	slots = BPF_CORE_READ(fdt, fd);
	if (bpf_probe_read_kernel(&file, sizeof(file), slots + fd) || !file)
		return false;
	ret->ino = BPF_CORE_READ(file, f_inode, i_ino);
	ret->dev = BPF_CORE_READ(file, f_inode, i_sb, s_dev);
	ret->pad = 0;
	return true;
}

/* Must the process not run this code before user space has seen it? */
static __always_inline bool code_must_wait(const struct abi_proc *proc, __u32 slot,
					   const struct abi_file *file)
{
	if (!file || file->verdict == ABI_FILE_ALLOCATOR)
		return true;
	/* dlopen and dlclose, faster than user space merges them */
	if (knob_unwind && space_fills(slot))
		return true;
	return proc->owner && file->verdict == ABI_FILE_SHARED_LINK;
}

/*
 * Executable file mappings: user space must know them to resolve frames, and must probe allocators
 * in files that it has not seen. Where threads can be held, the mapper of an unknown file waits.
 * Those of known files are put where the unwinder finds them at once. No inline function, so that
 * what it has on the stack is not there while a stack is walked.
 */
static __attribute__((noinline)) void code_mapped(struct abi_proc *proc, __u32 slot,
						  const struct map_call *call, __u64 addr)
{
	struct abi_ev_map ev = {
		.prot = call->prot,
		.flags = call->flags,
		.addr = addr,
		.len = call->len,
		.offset = call->offset,
	};
	struct abi_file_key key = {};
	__u64 start = ABI_BLOCK_KEY(slot, addr);
	__u64 base = ABI_BLOCK_KEY(slot, proc->last_file_map);
	struct abi_file *file;
	__u8 mapped = ABI_CODE_START_MAPPED;

	if (bpf_map_update_elem(&code_starts, &start, &mapped, BPF_ANY) ||
	    bpf_map_update_elem(&code_starts, &base, &mapped, BPF_ANY))
		count_loss(ABI_LOST_CODE_START);
	if (!file_identity(call->fd, &key)) {
		proc_lost(proc, ABI_LOST_FILE);
		return;
	}
	file = bpf_map_lookup_elem(&files, &key);
	if (knob_unwind && file && file->object)
		ev.noted = space_add_code(slot, file->object, addr, call->len, call->offset);
	if (control.hold && code_must_wait(proc, slot, file))
		ev.held = hold_thread();
	ev.ino = key.ino;
	ev.dev = key.dev;
	event_send(proc, &ev, ABI_EV_CODE, slot);
}

/* User stack pointer of the current system call. */
static __always_inline __u64 user_sp(void)
{
	return PT_REGS_SP_CORE(task_registers());
}

/*
 * At the exit of an mmap, so that its entry need not be traced. Each tracepoint less ends a session
 * 40 ms sooner. No inline function, as code_mapped().
 */
static __attribute__((noinline)) void mmap_arguments(struct map_call *ret)
{
	__u64 args[6];

	__builtin_memset(ret, 0, sizeof(*ret));
	if (!syscall_arguments(task_registers(), args))
		return;
	ret->addr = args[0];
	ret->len = args[1];
	ret->prot = args[2];
	ret->flags = args[3];
	ret->fd = args[4];
	ret->offset = args[5];
}

/*
 * Who made the region; the allocators' own regions are seen as their blocks. A process that runs
 * for good may map by ever other stacks.
 */
static __always_inline void region_origin(void *ctx, struct abi_proc *proc, __u32 slot,
					  struct abi_ev_map *ev)
{
	if (knob_all_regions && proc->stacks_full) {
		count_loss(ABI_LOST_REGION_STACK);
		return;
	}
	ev->in_allocator = !knob_all_regions && inside_call(slot, user_sp());
	if (!ev->in_allocator)
		ev->stack = caller_stack_capture(ctx, proc, slot);
}

static __always_inline void mapping_made(void *ctx, struct abi_proc *proc, __u32 slot,
					 const struct map_call *call, __u64 addr)
{
	struct abi_ev_map ev = {
		.prot = call->prot,
		.flags = call->flags,
		.addr = addr,
		.len = call->len,
	};

	if (!(call->flags & MAP_ANONYMOUS)) {
		if (!(call->flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)))
			proc->last_file_map = addr;
		if (call->prot & PROT_EXEC) {
			code_mapped(proc, slot, call, addr);
			return;
		}
		/* A file mapped over a region takes its place; others are no concern. */
		if (call->flags & MAP_FIXED)
			event_send(proc, &ev, ABI_EV_MMAP, slot);
		return;
	}
	if (knob_floor)
		return;
	if (!knob_regions)
		return;
	region_origin(ctx, proc, slot, &ev);
	event_send(proc, &ev, ABI_EV_MMAP, slot);
}

static __always_inline int exit_mremap(struct trace_event_raw_sys_exit *ctx)
{
	struct abi_ev_map ev = {};
	struct map_call call;
	struct abi_proc *proc;
	__u32 slot;

	proc = traced_proc(&slot);
	if (!proc || !call_end(&call))
		return 0;
	ev.result = ctx->ret;
	ev.flags = call.flags;
	if ((__u64)ctx->ret <= -4096ULL) {
		ev.addr = ctx->ret;
		ev.len = call.new_len;
		region_origin(ctx, proc, slot, &ev);
	}
	event_send(proc, &ev, ABI_EV_UNMAP_RESULT, slot);
	return 0;
}

/*
 * A process without a slot has mapped much that it can write to. What it cannot write to is a
 * reservation, as of arenas and threads' stacks.
 */
static __always_inline struct abi_proc *mapper_new(__u64 bytes, __u32 *ret_slot)
{
	__u32 tgid = current_tgid();

	if (bytes < knob_adopt_bytes || slot_of_pid(tgid) != ABI_NO_SLOT)
		return NULL;
	if (is_own(tgid) || !in_scope(knob_adopt_scope, tgid))
		return NULL;
	return proc_adopt(tgid, ret_slot);
}

static __always_inline int exit_mmap(struct trace_event_raw_sys_exit *ctx)
{
	struct map_call call;
	struct abi_proc *proc;
	__u32 slot;

	if ((__u64)ctx->ret > -4096ULL)
		return 0; /* MAP_FAILED is not a region */
	proc = traced_proc(&slot);
	if (!proc && !knob_adopt_bytes)
		return 0;
	mmap_arguments(&call);
	if (!proc && call.flags & MAP_ANONYMOUS && call.prot & PROT_WRITE)
		proc = mapper_new(call.len, &slot);
	if (proc)
		mapping_made(ctx, proc, slot, &call, ctx->ret);
	return 0;
}

#define PAGE_UP(n) (((n) + knob_page_size - 1) & -(__u64)knob_page_size)

/* Where the data segment ends now; 0: not known. */
static __always_inline __u64 current_brk(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	return BPF_CORE_READ(task, mm, brk);
}

static __always_inline int enter_brk(__u64 wanted)
{
	struct map_call call = { .addr = current_brk() };
	struct abi_proc *proc;
	__u32 slot;

	if (!wanted || PAGE_UP(wanted) == PAGE_UP(call.addr))
		return 0; /* it is only asked for, or no page comes or goes */
	proc = traced_proc(&slot);
	if (!proc && knob_adopt_bytes && wanted > call.addr)
		proc = mapper_new(wanted - call.addr, &slot);
	if (proc)
		call_begin(proc, &call);
	return 0;
}

static __always_inline int exit_brk(struct trace_event_raw_sys_exit *ctx)
{
	struct abi_ev_map ev = {};
	struct map_call call;
	struct abi_proc *proc;
	__u64 from, to;
	__u32 slot;

	proc = traced_proc(&slot);
	if (!proc || !call_end(&call))
		return 0;
	from = PAGE_UP(call.addr);
	to = PAGE_UP((__u64)ctx->ret);
	if (from == to)
		return 0; /* it was refused */
	ev.result = to > from ? 1 : -1;
	ev.addr = to > from ? from : to;
	ev.len = to > from ? to - from : from - to;
	if (to > from)
		region_origin(ctx, proc, slot, &ev);
	event_send(proc, &ev, ABI_EV_BRK, slot);
	return 0;
}

/*
 * Of mremap and brk as well, where these are wanted, and of signals (knob_signals), whose link has
 * a cookie: the verifier walks the walk of stacks once for them all, 13,000 instructions.
 */
SEC("tracepoint")
int on_exit_mmap(struct trace_event_raw_sys_exit *ctx)
{
	if (knob_signals && attach_cookie(ctx) == ABI_COOKIE_SIGNAL)
		return signal_delivered((void *)ctx);
	/* Of `id` the upper half is what was on the kernel's stack (perf_call_bpf_exit). */
	if (knob_regions && (__s32)ctx->id == NR_MREMAP)
		return exit_mremap(ctx);
	if (knob_all_regions && (__s32)ctx->id == NR_BRK)
		return exit_brk(ctx);
	return exit_mmap(ctx);
}

SEC("tracepoint")
int on_enter_brk(struct trace_event_raw_sys_enter *ctx)
{
	return enter_brk(ctx->args[0]);
}

/* Code goes: what comes to its addresses later must not hash to the same stacks. */
static __always_inline void code_unmapped(struct abi_proc *proc, __u32 slot, __u64 addr, __u64 len)
{
	struct abi_ev_map ev = { .addr = addr, .len = len };

	/* Before the epoch: rules that are remembered under the new one are not of the old code. */
	if (knob_unwind)
		ev.noted = space_add(slot, addr, len, 0, 0);
	__sync_fetch_and_add(&proc->code_epoch, 1);
	if (knob_unwind)
		event_send(proc, &ev, ABI_EV_CODE_GONE, slot);
}

/*
 * Does code begin there that the process maps? What it has by a fork begins in an ancestor, which
 * may have unmapped its own meanwhile: so entries are marked rather than deleted. An ancestor's
 * newer code makes an epoch too many, which does no harm.
 */
static __attribute__((noinline)) int code_starts_at(__u32 slot, __u64 addr)
{
	__u64 key = ABI_BLOCK_KEY(slot, addr);
	__u8 *own = bpf_map_lookup_elem(&code_starts, &key), *found = own;
	__u8 gone = ABI_CODE_START_GONE;
	struct abi_proc *proc = proc_by_slot(slot);
	bool is_alone = proc && proc->parent == ABI_NO_SLOT && !proc->sharers;
	int i;

	for (i = 0; i < MAX_ANCESTORS && !found; i++) {
		if (!proc || proc->parent == ABI_NO_SLOT)
			return 0;
		key = ABI_BLOCK_KEY(proc->parent, addr);
		found = bpf_map_lookup_elem(&code_starts, &key);
		proc = proc_by_slot(proc->parent);
	}
	if (!found || (own && *own == ABI_CODE_START_GONE))
		return 0;
	key = ABI_BLOCK_KEY(slot, addr);
	if (is_alone)
		bpf_map_delete_elem(&code_starts, &key);
	else if (bpf_map_update_elem(&code_starts, &key, &gone, BPF_ANY))
		count_loss(ABI_LOST_CODE_START);
	return 1;
}

static __always_inline int enter_munmap(struct trace_event_raw_sys_enter *ctx)
{
	struct abi_ev_map ev = {};
	struct abi_proc *proc;
	__u32 slot;

	proc = traced_proc(&slot);
	if (!proc)
		return 0;
	ev.addr = ctx->args[0];
	ev.len = ctx->args[1];
	if (code_starts_at(slot, ev.addr))
		code_unmapped(proc, slot, ev.addr, ev.len);
	if (knob_regions)
		event_send(proc, &ev, ABI_EV_MUNMAP, slot);
	return 0;
}

SEC("tracepoint")
int on_enter_munmap(struct trace_event_raw_sys_enter *ctx)
{
	return enter_munmap(ctx);
}

static __always_inline int exit_munmap(struct trace_event_raw_sys_exit *ctx)
{
	struct abi_ev_map ev = {};
	struct abi_proc *proc;
	__u32 slot;

	proc = traced_proc(&slot);
	if (!proc)
		return 0;
	ev.result = ctx->ret;
	if (knob_regions)
		event_send(proc, &ev, ABI_EV_UNMAP_RESULT, slot);
	return 0;
}

SEC("tracepoint")
int on_exit_munmap(struct trace_event_raw_sys_exit *ctx)
{
	return exit_munmap(ctx);
}

static __always_inline int enter_mremap(struct trace_event_raw_sys_enter *ctx)
{
	struct abi_ev_map ev = {};
	struct map_call call = {};
	struct abi_proc *proc;
	__u32 slot;

	proc = traced_proc(&slot);
	if (!proc)
		return 0;
	call.addr = ctx->args[0];
	call.len = ctx->args[1];
	call.new_len = ctx->args[2];
	call.flags = ctx->args[3];
	call_begin(proc, &call);
	ev.addr = call.addr;
	ev.len = call.len;
	ev.flags = call.flags;
	event_send(proc, &ev, ABI_EV_MREMAP, slot);
	return 0;
}

SEC("tracepoint")
int on_enter_mremap(struct trace_event_raw_sys_enter *ctx)
{
	return enter_mremap(ctx);
}

/* Of all system calls, where those of single ones are preempted (syscall_filter.bpf.h). */
SEC("tracepoint")
int on_enter_any(struct trace_event_raw_sys_enter *ctx)
{
	if (is_syscall(ctx, NR_MUNMAP))
		return enter_munmap(ctx);
	if (knob_regions && is_syscall(ctx, NR_MREMAP))
		return enter_mremap(ctx);
	if (knob_all_regions && is_syscall(ctx, NR_BRK))
		return enter_brk(ctx->args[0]);
	return 0;
}

SEC("tracepoint")
int on_exit_any(struct trace_event_raw_sys_exit *ctx)
{
	if (is_syscall(ctx, NR_MMAP))
		return exit_mmap(ctx);
	if (knob_regions && is_syscall(ctx, NR_MUNMAP))
		return exit_munmap(ctx);
	if (knob_regions && is_syscall(ctx, NR_MREMAP))
		return exit_mremap(ctx);
	if (knob_all_regions && is_syscall(ctx, NR_BRK))
		return exit_brk(ctx);
	return 0;
}
