/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Wrong uses of the heap, each kept once by its stack with its count. Only what is wrong pays for
 * it: a good free leaves its key in its bucket (block_table.bpf.h), and that is all, unless
 * --heap-errors asks for its stack.
 */
#ifndef MEMTRACED_HEAP_ERROR_BPF_H
#define MEMTRACED_HEAP_ERROR_BPF_H

#include "account.bpf.h"
#include "form.bpf.h"

/*
 * Written by the daemon: what is known of a function, ABI_TRAITS, by its id. In one object
 * alone: of a section that several have, the linked one has as many copies, one behind the
 * other, and a job, which maps the main object's in place of its own, has room for one.
 */
__u8 function_traits[ABI_FUNCTIONS] SEC(".data.traits");

/* What is wrong about a call: 0, or enum abi_heap_error_kind, of this address or size. */
struct fault {
	__u64 addr;
	__u64 size;
	__u32 kind;
	bool freed;		/* nothing: a good free of the block at addr, */
	bool ended;		/* --free-stacks: a block has left the books, */
	struct abi_block block; /* which was this, */
	__u64 birth_key;	/* and whose birth is there */
};

/* Bytes before an address that are searched for the block that it is in, and how many at once. */
#define INSIDE_SEARCH 4096
#define INSIDE_AT_ONCE 128

/* The live block that begins at `at`, or a little before, and holds the address; 0: none does. */
VERIFIED_ONCE_NUMBERS __u64 block_around_at(__u32 slot, __u64 addr, __u64 at)
{
	struct abi_block block;
	int i;

	/* INSIDE_AT_ONCE / 8 rounds, of which the verifier needs to see each */
	for (i = 0; i < INSIDE_AT_ONCE / 8; i++) {
		if (block_find(ABI_BLOCK_KEY(slot, at), &block) &&
		    addr - at < ABI_BLOCK_SIZE(&block))
			return at;
		at -= 8;
	}
	return 0;
}

/* The live block that begins before the address and holds it; 0: none is found. */
VERIFIED_ONCE_NUMBERS __u64 block_around(__u32 slot, __u64 addr)
{
	__u64 at = addr & ~7ULL, found = 0;
	int i;

	/* INSIDE_SEARCH / INSIDE_AT_ONCE rounds */
	for (i = 0; i < INSIDE_SEARCH / INSIDE_AT_ONCE && !found; i++) {
		found = block_around_at(slot, addr, at);
		at -= INSIDE_AT_ONCE;
	}
	return found;
}

/*
 * Is every block known that the process may have? Not when something was lost, in it or in what it
 * has inherited from.
 */
VERIFIED_ONCE_NUMBERS int all_blocks_are_known(__u32 slot)
{
	struct abi_proc *proc;
	int i;

	for (i = 0; i < MAX_ANCESTORS; i++) {
		proc = proc_by_slot(slot);
		if (!proc || proc->lost)
			return false;
		slot = proc->parent;
		if (slot == ABI_NO_SLOT)
			return true;
	}
	return false;
}

/*
 * Is a pointer that is no live block's wrong? Not if it may be a block's from before the tracing,
 * of a size that is not traced, or one that was lost.
 */
VERIFIED_ONCE_NUMBERS __u32 fault_of_pointer(__u32 slot, __u64 addr)
{
	__u64 key = ABI_BLOCK_KEY(slot, addr);
	struct abi_block block;
	bool known;

	if (size_filtered() || !all_blocks_are_known(slot))
		return 0;
	if (!(addr & 7) && addr < ABI_ADDR_LIMIT &&
	    (block_was_freed(key, &block, &known) || bpf_map_lookup_elem(&shed, &key) ||
	     (knob_heap_errors && bpf_map_lookup_elem(&freed_blocks, &key))))
		return ABI_DOUBLE_FREE;
	return knob_whole_life ? ABI_INVALID_FREE : 0;
}

static __always_inline __u8 traits_of(__u16 fn)
{
	return *(volatile __u8 *)&function_traits[fn];
}

/* Was the block made by another allocator than the one that takes it? */
static __always_inline bool is_foreign(const struct abi_block *block, __u16 fn)
{
	__u8 made = ABI_FAMILY(traits_of(ABI_BLOCK_FN(block)));
	__u8 takes = ABI_FAMILY(traits_of(fn));

	return made != takes && made && takes;
}

static __always_inline __u8 forms_of(__u32 form, __u16 fn)
{
	if (form == ABI_FORM_OWN)
		return ABI_FORMS(traits_of(fn));
	return form == ABI_FORM_UNKNOWN ? 0 : 1 << form;
}

/* Was it made by new, and is taken by free, or the like? `form`: of who takes it. */
static __always_inline bool is_mismatched(const struct abi_block *block, __u32 form, __u16 fn)
{
	__u8 made = forms_of(ABI_BLOCK_FORM(block), ABI_BLOCK_FN(block));
	__u8 takes = forms_of(form, fn);

	return made && takes && !(made & takes);
}

/*
 * What is wrong about a free or realloc of no known block. It is proven only of an allocator all of
 * whose entries are probed (probe/plan.c). Another one may have made the block unseen.
 */
VERIFIED_ONCE_NUMBERS __u32 fault_of_unknown(__u32 slot, __u64 addr, __u32 fn)
{
	struct abi_proc *proc;

	if (traits_of(fn) & ABI_COMPLETE)
		return fault_of_pointer(slot, addr);
	proc = proc_by_slot(slot);
	if (proc && knob_whole_life && !size_filtered())
		proc_lost(proc, ABI_LOST_UNKNOWN_ALLOCATION);
	return 0;
}

/* The block that an error is about, as far as it is known. */
static __always_inline void heap_error_block(struct abi_heap_error *error, __u32 slot, __u32 kind)
{
	__u64 addr = error->addr, key = ABI_BLOCK_KEY(slot, addr);
	struct abi_freed *freed = NULL;
	struct abi_block block;
	bool known = false;

	if (kind == ABI_DOUBLE_FREE && knob_heap_errors)
		freed = bpf_map_lookup_elem(&freed_blocks, &key);
	if (freed) {
		block = freed->block;
		known = true;
		error->freed_stack = freed->stack;
		error->freed_fn = freed->fn;
	} else if (kind == ABI_DOUBLE_FREE || kind == ABI_FOREIGN_FREE ||
		   kind == ABI_MISMATCHED_FREE) {
		/* also when it has just been taken out */
		block_was_freed(key, &block, &known);
	} else if (kind == ABI_INVALID_FREE) {
		addr = block_around(slot, addr);
		known = addr && block_find(ABI_BLOCK_KEY(slot, addr), &block);
	}
	if (!known)
		return;
	error->about = block;
	error->block = addr;
}

static const struct abi_heap_error no_heap_error;

VERIFIED_ONCE_NUMBERS int heap_error_add(__u32 slot, __u32 kind_fn, __u64 stack, __u64 addr,
					 __u64 size)
{
	struct abi_proc *proc = proc_by_slot(slot);
	struct abi_heap_error_key key = {
		.stack = stack,
		.image = proc ? proc->image : 0,
		.kind = kind_fn >> 16,
		.fn = kind_fn,
	};
	struct abi_heap_error *error = bpf_map_lookup_elem(&heap_errors, &key);
	__u64 *further;
	long r = 0;

	if (!error) {
		r = bpf_map_update_elem(&heap_errors, &key, &no_heap_error, BPF_NOEXIST);
		error = bpf_map_lookup_elem(&heap_errors, &key);
		if (error && !r) {
			error->time_ns = bpf_ktime_get_ns();
			error->tid = bpf_get_current_pid_tgid();
			error->addr = addr;
			error->size = size;
			heap_error_block(error, slot, kind_fn >> 16);
		}
	}
	if (!error) {
		further = bpf_map_lookup_elem(&further_heap_errors, &slot);
		if (further)
			__sync_fetch_and_add(further, 1);
		return 0;
	}
	__sync_fetch_and_add(&error->count, 1);
	return 0;
}

VERIFIED_ONCE int freed_add(__u32 slot, const struct fault *fault, __u64 stack, __u32 fn)
{
	struct abi_freed freed = { .stack = stack, .fn = fn };
	__u64 key;

	if (!fault)
		return 0;
	key = ABI_BLOCK_KEY(slot, fault->addr);
	freed.block = fault->block;
	return bpf_map_update_elem(&freed_blocks, &key, &freed, BPF_ANY);
}

/*
 * The stack of what is wrong, or was freed. What is done with it is not in here: a walk needs
 * nearly all of the 512 bytes that programs have with all that they call.
 */
VERIFIED_ONCE_NUMBERS __u64 probe_stack(struct bpf_user_pt_regs_t *ctx, __u32 slot, __u32 at)
{
	struct abi_proc *proc = proc_by_slot(slot);

	return proc ? stack_capture((void *)ctx, proc, slot, at) : 0;
}

/* Where a block was freed, for when it is freed once more. */
static __always_inline void remember_free(struct pt_regs *ctx, __u32 slot, __u32 fn,
					  const struct fault *fault, __u32 at)
{
	__u64 stack = probe_stack((void *)ctx, slot, at);

	freed_add(slot, fault, stack, fn);
}

static __always_inline void heap_error(struct pt_regs *ctx, __u32 slot, __u32 kind_fn,
				       const struct fault *fault, __u32 at)
{
	__u64 stack = probe_stack((void *)ctx, slot, at);

	heap_error_add(slot, kind_fn, stack, fault->addr, fault->size);
}

#endif
