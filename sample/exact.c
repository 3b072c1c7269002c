// SPDX-License-Identifier: GPL-2.0-or-later
#include "sample/exact.h"

#include "sample/book_clock.h"
#include "sample/book_stacks.h"
#include "sample/next.h"
#include "sample/probes.h"
#include "sample/refusal.h"
#include "sample/walk_rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

uint8_t exact_mode;

#ifdef __x86_64__
#define IS_X86_64 1
#else
#define IS_X86_64 0
#endif

/* Whoever waits for a book counts by probes then. */
static void refuse(void)
{
	exact_mode = EXACT_OFF;
	memtraced_book(ABI_BOOK_NONE, 0);
}

bool exact_decide(void)
{
	const char *wanted;

	if (!environ)
		return false;
	wanted = getenv("MEMTRACED_EXACT");
	book_stays = wanted && strcmp(wanted, "keep") == 0;
	if (!wanted || (strcmp(wanted, "1") != 0 && !book_stays))
		exact_mode = EXACT_OFF;
	else if (IS_X86_64 && !sample_refused())
		exact_mode = EXACT_ON;
	else
		refuse();
	return exact_mode == EXACT_ON;
}

/* At the first call the dynamic linker may be at work, and cannot be asked. */
__attribute__((constructor)) static void find_clock(void)
{
	if (exact_is_on())
		book_clock_find();
}

SAMPLE_SELDOM bool exact_has_no_book(void)
{
	if (book_is_kept())
		return false;
	if (book_process->state == BOOK_REFUSED)
		exact_mode = EXACT_OFF;
	return true;
}

/* The thread's memory holds no address of a block whose fate is settled: leak checks read it. */
static void forget_taken(struct book_call *inside)
{
	inside->has_taken = false;
	inside->taken.block.address = 0;
}

SAMPLE_SELDOM bool exact_is_inner(const struct walk_registers *from)
{
	const struct book_call outer = book_local.inside;

	switch (book_find_call(&outer, from)) {
	case WALK_MEETS:
		return !outer.throws || walk_is_beside(from->pc, outer.throws);
	case WALK_MEETS_INTERRUPTED:
		return false;
	case WALK_MEETS_NOT:
		book_local.inside.sp = 0;
		if (outer.throws)
			book_was_left();
		forget_taken(&book_local.inside);
		if (outer.has_taken)
			book_put_back(&outer.taken);
		return false;
	case WALK_IS_CUT:
		break;
	}
	return true;
}

/* A part of another call frees what the program has: an exception that an operator new catches. */
static SAMPLE_SELDOM void free_inner(void *block, enum abi_book_function function,
				     const struct walk_registers *from)
{
	struct book_taken taken;

	if (book_take(block, &taken))
		book_freed(&taken, function, from);
	if (book_looks_at_forms())
		book_freed_nothing(from);
}

void exact_free(void *block, enum abi_book_function function, const struct walk_registers *from)
{
	if (exact_is_not_counted())
		return;
	if (!block) {
		if (book_looks_at_forms())
			book_freed_nothing(from);
		return;
	}
	if (SAMPLE_RARELY(book_local.inside.sp) && exact_is_inner(from))
		free_inner(block, function, from);
	else
		book_free(block, function, from);
}

SAMPLE_SELDOM void exact_mark(uint32_t form, enum book_form_of which, const uint64_t *frame)
{
	const struct walk_registers from = exact_caller(frame);

	book_mark(form, which, &from);
}

SAMPLE_SELDOM void exact_failed(void *replaced, size_t size, enum abi_book_function function,
				const struct walk_registers *from)
{
	bool is_product = function == ABI_BOOK_CALLOC || function == ABI_BOOK_REALLOCARRAY;

	/* Of what is wrong about such a size the caller of the allocator is told. */
	if (exact_is_suspicious(size) && !is_product) {
		book_failed(size, function, NULL);
		book_wrong_request(ABI_SUSPICIOUS_SIZE, replaced, size, function, from);
	} else {
		book_failed(size, function, from);
	}
}

SAMPLE_SELDOM bool exact_begin_throwing(struct exact_call *call, const void *next_function)
{
	if (!exact_begin(call))
		return false;
	book_local.inside.throws = next_function;
	book_may_fail();
	return true;
}

/* False: it was taken to be left, as calls of another stack have come between. */
static bool is_inside(const struct exact_call *call)
{
	return book_local.inside.sp == call->from.sp && book_local.inside.pc == call->from.pc;
}

SAMPLE_SELDOM void exact_end_throwing(void *block, size_t size, enum abi_book_function function,
				      const struct exact_call *call)
{
	if (is_inside(call))
		book_may_fail_no_more();
	else
		book_was_not_left();
	exact_end(block, size, function, call);
}

void exact_replace(void *block, size_t size, enum abi_book_function function,
		   const struct exact_call *call, struct exact_replaced *ret_old)
{
	struct book_call *inside = &book_local.inside;
	uint64_t made;

	inside->has_taken = block && book_take(block, &inside->taken);
	ret_old->block = block;
	ret_old->is_unknown = block && !inside->has_taken && !next_first_block_size(block);
	ret_old->is_mismatched = false;
	if (!inside->has_taken || !book_looks_at_forms())
		return;
	made = inside->taken.block.is.size_fn;
	ret_old->is_mismatched =
		book_is_mismatched(ABI_BOOK_FORM(made), ABI_BOOK_FN(made), ABI_FORM_OWN, function);
	if (SAMPLE_RARELY(ret_old->is_mismatched))
		book_wrong_request(ABI_MISMATCHED_FREE, block, size, function, &call->from);
}

/* After the call: what it has replaced; NULL: that is not known. */
static const struct book_taken *end_replacing(const struct exact_replaced *old,
					      const struct exact_call *call,
					      struct book_taken *taken)
{
	bool is_known = book_local.inside.has_taken;

	*taken = book_local.inside.taken;
	if (BOOK_RARELY(!is_inside(call)))
		is_known = !old->is_unknown && old->block && book_take(old->block, taken);
	else
		forget_taken(&book_local.inside);
	exact_leave(call);
	return is_known ? taken : NULL;
}

void exact_replaced(const struct exact_replaced *old, void *block, size_t size,
		    enum abi_book_function function, const struct exact_call *call)
{
	const struct walk_registers *from = &call->from;
	struct book_taken room;
	const struct book_taken *taken = end_replacing(old, call, &room);

	if (block) {
		if (old->is_unknown)
			book_unknown_free(old->block, function, from);
		book_replace(taken, block, size, function, from);
		return;
	}
	if (taken)
		book_put_back(taken);
	exact_failed(old->block, size, function, from);
}

/* It was freed, and nothing took its place. */
static void replaced_by_none(const struct exact_replaced *old, enum abi_book_function function,
			     const struct exact_call *call)
{
	struct book_taken room;
	const struct book_taken *taken = end_replacing(old, call, &room);

	if (taken)
		book_freed(taken, function, &call->from);
	else if (old->is_unknown)
		book_unknown_free(old->block, function, &call->from);
}

/* Calls that are not counted. */
static void *pass_malloc(size_t size)
{
	void *block = next_own_block(size);

	return block ? block : next.malloc(size);
}

/* glibc's realloc(p, 0) frees p and returns NULL. */
static void *pass_realloc(void *block, size_t size)
{
	return next_first_block_size(block) ?
		       next_copy_first_block(block, pass_malloc(size), size) :
		       next.realloc(block, size);
}

void *exact_reallocate(void *block, size_t size, enum abi_book_function function,
		       const struct exact_call *call)
{
	struct exact_replaced old;
	void *other;

	exact_replace(block, size, function, call, &old);
	other = pass_realloc(block, size);
	if (block && !size && !old.is_mismatched)
		book_wrong_request(ABI_REALLOC_ZERO, block, 0, function, &call->from);
	if (!other && block && !size)
		replaced_by_none(&old, function, call);
	else
		exact_replaced(&old, other, size, function, call);
	return other;
}

#ifdef __x86_64__

static void *pass_calloc(size_t n, size_t size)
{
	size_t total;
	void *block = __builtin_mul_overflow(n, size, &total) ? NULL : next_own_block(total);

	return block ? block : next.calloc(n, size);
}

/* The next allocator need not see what dlsym() frees for us. */
static void pass_free(void *block)
{
	if (!SAMPLE_RARELY(next_first_block_size(block)) && (block || !sample_thread.busy))
		next.free(block);
}

/* With the registers of the caller as further arguments, behind the function's own. */
#define ENTRY(name, registers)                                                                     \
	__asm__(".text\n"                                                                          \
		".p2align 4\n"                                                                     \
		".globl " #name "\n"                                                               \
		".hidden " #name "\n"                                                              \
		".type " #name ", @function\n" #name ":\n"                                         \
		".cfi_startproc\n" registers "jmp " #name "_from\n"                                \
		".cfi_endproc\n"                                                                   \
		".size " #name ", .-" #name "\n")

#define FROM_2 "mov %rsp, %rsi\nmov %rbp, %rdx\nmov %rbx, %rcx\n"
#define FROM_3 "mov %rsp, %rdx\nmov %rbp, %rcx\nmov %rbx, %r8\n"

ENTRY(exact_malloc, FROM_2);
ENTRY(exact_calloc, FROM_3);
ENTRY(exact_realloc, FROM_3);
ENTRY(exact_free_of, FROM_2);

#define CALLER(from, bp_, bx_)                                                                     \
	((struct walk_registers){                                                                  \
		.pc = *(from), .sp = (uintptr_t)((from) + 1), .bp = (bp_), .bx = (bx_) })
#define ENTERED __attribute__((visibility("hidden"), used))

ENTERED void *exact_malloc_from(size_t size, const uint64_t *from, uint64_t bp, uint64_t bx);
ENTERED void *exact_malloc_from(size_t size, const uint64_t *from, uint64_t bp, uint64_t bx)
{
	struct exact_call call;
	void *block;

	call.from = CALLER(from, bp, bx);
	if (!exact_begin(&call))
		return pass_malloc(size);
	block = next.malloc(size);
	exact_end(block, size, ABI_BOOK_MALLOC, &call);
	return block;
}

/*
 * A thread's vector of thread-local storage (dtv_t) has an entry for each module, of which this
 * library is one: it is none of the program's.
 */
#define DTV_ENTRY 16
static inline size_t without_our_entry(size_t total, size_t size, uint64_t from)
{
	if (SAMPLE_RARELY(size == DTV_ENTRY && total > DTV_ENTRY && walk_is_linker(from)))
		return total - DTV_ENTRY;
	return total;
}

ENTERED void *exact_calloc_from(size_t n, size_t size, const uint64_t *from, uint64_t bp,
				uint64_t bx);
ENTERED void *exact_calloc_from(size_t n, size_t size, const uint64_t *from, uint64_t bp,
				uint64_t bx)
{
	struct exact_call call;
	size_t total;
	void *block;

	call.from = CALLER(from, bp, bx);
	if (!exact_begin(&call))
		return pass_calloc(n, size);
	block = next.calloc(n, size);
	if (__builtin_mul_overflow(n, size, &total))
		total = SIZE_MAX;
	exact_end(block, without_our_entry(total, size, *from), ABI_BOOK_CALLOC, &call);
	return block;
}

ENTERED void *exact_realloc_from(void *block, size_t size, const uint64_t *from, uint64_t bp,
				 uint64_t bx);
ENTERED void *exact_realloc_from(void *block, size_t size, const uint64_t *from, uint64_t bp,
				 uint64_t bx)
{
	struct exact_call call;

	call.from = CALLER(from, bp, bx);
	if (!exact_begin(&call))
		return pass_realloc(block, size);
	return exact_reallocate(block, size, ABI_BOOK_REALLOC, &call);
}

ENTERED void exact_free_of_from(void *block, const uint64_t *from, uint64_t bp, uint64_t bx);
ENTERED void exact_free_of_from(void *block, const uint64_t *from, uint64_t bp, uint64_t bx)
{
	const struct walk_registers caller = CALLER(from, bp, bx);

	exact_free(block, ABI_BOOK_FREE, &caller);
	/* What the dynamic linker frees may be what it knew of an object. */
	if (SAMPLE_RARELY(walk_is_linker(*from)))
		walk_rules_check(book_note_gone);
	pass_free(block);
}

#else

/* It is never on. */
void *exact_malloc(size_t size)
{
	return pass_malloc(size);
}

void *exact_calloc(size_t n, size_t size)
{
	return pass_calloc(n, size);
}

void *exact_realloc(void *block, size_t size)
{
	return pass_realloc(block, size);
}

void exact_free_of(void *block)
{
	pass_free(block);
}

#endif
