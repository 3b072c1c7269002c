// SPDX-License-Identifier: GPL-2.0-or-later
#include "sample/walk.h"

#include "bpf/abi_book.h"
#include "sample/walk_rules.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE 4096ULL
#define PAGE_MASK (PAGE - 1)
/* A stack that goes on beyond what has been read of it does so in the next pages. */
#define NEAR (1ULL << 20)
/* As bpf/unwind.bpf.h does. */
#define RBX_FRAMES 8

/* struct sigcontext, arch/x86/include/uapi/asm/sigcontext.h */
#define SIGCONTEXT_BP 80
#define SIGCONTEXT_BX 88
#define SIGCONTEXT_SP 120
#define SIGCONTEXT_IP 128

/* --- memory ---------------------------------------------------------------------------------- */

/*
 * The kernel reads the mask before it finds that there is no such operation: EFAULT tells memory
 * that cannot be read (kernel/signal.c, sys_rt_sigprocmask). Programs under seccomp may do that.
 */
static bool page_is_readable(uint64_t page)
{
	int error = errno;
	bool readable;

	if (!page)
		return false; /* the kernel takes it for no mask */
	readable = syscall(SYS_rt_sigprocmask, ~0, (void *)(uintptr_t)page, NULL, 8) == 0 ||
		   errno != EFAULT;
	errno = error;
	return readable;
}

static bool range_holds(const struct walk_range *range, uint64_t address)
{
	return address - range->low < range->high - range->low;
}

/* Adds the pages between the range and the address; false: one is not there. */
static bool range_extend(struct walk_range *range, uint64_t address)
{
	uint64_t page = address & ~PAGE_MASK;

	while (range->high <= page) {
		if (!page_is_readable(range->high))
			return false;
		range->high += PAGE;
	}
	while (range->low > page) {
		if (!page_is_readable(range->low - PAGE))
			return false;
		range->low -= PAGE;
	}
	return true;
}

static bool range_is_near(const struct walk_range *range, uint64_t address)
{
	if (range->low == range->high)
		return false;
	return address >= range->high ? address - range->high < NEAR : range->low - address < NEAR;
}

static __attribute__((noinline)) bool find_range(struct walker *w, uint64_t address)
{
	uint64_t page = address & ~PAGE_MASK;

	if (range_is_near(&w->home, address) && range_extend(&w->home, address))
		return true;
	if (range_is_near(&w->other, address) && range_extend(&w->other, address))
		return true;
	if (!page_is_readable(page))
		return false;
	w->other = (struct walk_range){ page, page + PAGE };
	return true;
}

static const uint64_t *word_at(uint64_t address)
{
	return (const uint64_t *)(uintptr_t)address;
}

/* A word of the stack. */
static bool read_word(struct walker *w, uint64_t address, uint64_t *ret)
{
	if (address & 7)
		return false;
	if (!range_holds(&w->home, address) && !range_holds(&w->other, address) &&
	    !find_range(w, address))
		return false;
	*ret = *word_at(address);
	return true;
}

/* --- steps ----------------------------------------------------------------------------------- */

/* Where a walk is. */
struct place {
	struct walk_registers at; /* bx: as it came */
	bool is_exact;		  /* code that was interrupted */
	bool any_guided;
};

static bool end(struct walker *w, enum abi_stack_cut cut)
{
	w->cut = cut;
	return false;
}

static bool step_by_fp(struct walker *w, struct place *p, struct walk_frame *frame,
		       enum abi_stack_cut cut)
{
	struct walk_registers *at = &p->at;
	uint64_t bp, pc;

	if (at->bp < at->sp || !read_word(w, at->bp, &bp) || !read_word(w, at->bp + 8, &pc) || !pc)
		return end(w, cut);
	frame->flags |= ABI_BOOK_GUIDED;
	at->sp = at->bp + 16;
	at->bp = bp;
	at->pc = pc;
	p->is_exact = false;
	p->any_guided = true;
	return true;
}

static bool step_from_signal(struct walker *w, struct place *p, struct walk_frame *frame,
			     uint64_t context)
{
	frame->flags |= ABI_BOOK_EXACT;
	if (!read_word(w, context + SIGCONTEXT_BP, &p->at.bp) ||
	    !read_word(w, context + SIGCONTEXT_IP, &p->at.pc) ||
	    !read_word(w, context + SIGCONTEXT_SP, &p->at.sp))
		return end(w, ABI_CUT_UNREADABLE);
	p->is_exact = true;
	return true;
}

static bool step_to(struct walker *w, struct place *p, struct walk_frame *frame,
		    const struct abi_unwind_rule *rule, uint64_t cfa)
{
	struct walk_registers *at = &p->at;
	uint64_t pc, bp = at->bp;

	if (cfa <= at->sp)
		return end(w, ABI_CUT_NOT_RISING);
	if (!read_word(w, cfa - 8, &pc))
		return end(w, ABI_CUT_UNREADABLE);
	if (rule->kind != ABI_UNWIND_PLT && rule->bp != ABI_UNWIND_BP_SAME &&
	    !read_word(w, (rule->bp == ABI_UNWIND_BP_AT_CFA ? cfa : bp) + rule->bp_offset, &bp))
		return end(w, ABI_CUT_UNREADABLE);
	frame->is_plain = (rule->kind == ABI_UNWIND_SP || rule->kind == ABI_UNWIND_BP) &&
			  rule->bp != ABI_UNWIND_BP_AT_BP && !p->is_exact;
	frame->bp_at = rule->bp == ABI_UNWIND_BP_AT_CFA ? rule->bp_offset : 0;
	at->pc = pc;
	at->sp = cfa;
	at->bp = bp;
	p->is_exact = false;
	return true;
}

static uint64_t looked_up(const struct walk_frame *frame)
{
	return frame->pc - !(frame->flags & ABI_BOOK_EXACT);
}

/* rbx in the last frame, by the nearest one called from there that has saved it, or the register.
 */
static bool find_rbx(struct walker *w, const struct place *p, uint64_t *ret)
{
	uint32_t i = w->n_fresh - 1;

	for (uint32_t n = 0; n < RBX_FRAMES && i > 0; n++, i--) {
		const struct walk_frame *callee = &w->fresh[i - 1];
		struct abi_unwind_rule rule = walk_rule(looked_up(callee));

		if (rule.kind == ABI_UNWIND_SIGNAL)
			return read_word(
				w, callee->sp + (uint64_t)(int64_t)rule.offset + SIGCONTEXT_BX,
				ret);
		if (rule.rbx == ABI_UNWIND_RBX_UNKNOWN)
			return false;
		if (rule.rbx != ABI_UNWIND_RBX_SAME)
			return read_word(w, w->fresh[i].sp - rule.rbx * 8U, ret);
	}
	*ret = p->at.bx;
	return i == 0;
}

static bool step_by_deref(struct walker *w, struct place *p, struct walk_frame *frame,
			  const struct abi_unwind_rule *rule)
{
	uint64_t base = rule->kind == ABI_UNWIND_SP_DEREF ? p->at.sp : p->at.bp, cfa;

	if (!read_word(w, base + (uint64_t)(int64_t)ABI_UNWIND_DEREF_AT(rule->offset), &cfa))
		return end(w, ABI_CUT_UNREADABLE);
	return step_to(w, p, frame, rule,
		       cfa + (uint64_t)(int64_t)ABI_UNWIND_DEREF_THEN(rule->offset));
}

/* To the caller of the frame; false: the walk is over, w->cut says why. */
static bool step(struct walker *w, struct place *p, struct walk_frame *frame)
{
	struct abi_unwind_rule rule = walk_rule(looked_up(frame));
	uint64_t offset = (uint64_t)(int64_t)rule.offset, bx;

	switch (rule.kind) {
	case ABI_UNWIND_SP:
		return step_to(w, p, frame, &rule, p->at.sp + offset);
	case ABI_UNWIND_BP:
		return step_to(w, p, frame, &rule, p->at.bp + offset);
	case ABI_UNWIND_PLT:
		return step_to(w, p, frame, &rule,
			       p->at.sp + offset +
				       ((p->at.pc & 15) >= (uint64_t)rule.bp_offset ? 8 : 0));
	case ABI_UNWIND_BP_DEREF:
	case ABI_UNWIND_SP_DEREF:
		return step_by_deref(w, p, frame, &rule);
	case ABI_UNWIND_SIGNAL:
		return step_from_signal(w, p, frame, p->at.sp + offset);
	case ABI_UNWIND_RBX:
		if (!find_rbx(w, p, &bx))
			return end(w, ABI_CUT_UNSUPPORTED);
		return step_to(w, p, frame, &rule, bx + offset);
	case ABI_UNWIND_END:
		return end(w, ABI_CUT_NONE);
	case ABI_UNWIND_NONE:
		return step_by_fp(w, p, frame, ABI_CUT_NO_CFI);
	default:
		return end(w, ABI_CUT_UNSUPPORTED);
	}
}

/* --- the last stack -------------------------------------------------------------------------- */

static bool is_same(const struct walk_frame *frame, const struct place *p)
{
	return frame->sp == p->at.sp && frame->pc == p->at.pc && frame->bp == p->at.bp;
}

/*
 * From the path's frame k on outwards: the last frame whose caller is what the path says, and all
 * callers of that; 0: it is all right. All words lie in `home`, where they were read before.
 */
static uint32_t compare(const struct walker *w, uint32_t k)
{
	const struct walk_word *word = w->words + w->path[k].words;

	while (word > w->words && *word[-1].at == word[-1].value)
		word--;
	if (word == w->words)
		return 0;
	while (w->path[k - 1].words >= word - w->words)
		k--;
	return k;
}

static bool push(struct walker *w, const struct walk_frame *frame)
{
	if (w->n_fresh == ABI_MAX_FRAMES)
		return end(w, ABI_CUT_LIMIT);
	w->fresh[w->n_fresh] = *frame;
	w->fresh[w->n_fresh++].node = 0;
	return true;
}

/* The stack has more frames than are kept: the outermost ones are cut off. */
static void cut_off(struct walker *w)
{
	while (w->n_fresh < ABI_MAX_FRAMES)
		(void)push(w, &w->path[--w->joined]); /* there is room */
	w->joined = 0;
	w->cut = ABI_CUT_LIMIT;
}

/*
 * The walk has come to frame k of the path. True: the rest is the path's. Else it stands at a
 * frame, which was pushed last, whose caller is another one now; *k: frames above that are passed.
 */
static bool join(struct walker *w, struct place *p, int64_t *k)
{
	uint32_t to = compare(w, (uint32_t)*k);

	if (to == 0) {
		w->joined = (uint32_t)*k + 1;
		w->cut = ABI_CUT_NONE;
		if (w->n_fresh + w->joined > ABI_MAX_FRAMES)
			cut_off(w);
		return true;
	}
	for (; *k > (int64_t)to; --*k)
		if (!push(w, &w->path[*k]))
			return true;
	p->at.pc = w->path[to].pc;
	p->at.sp = w->path[to].sp;
	p->at.bp = w->path[to].bp;
	*k = (int64_t)to - 1;
	return false;
}

/* A code address at the beginning of a page. True: the stack begins here. */
static bool is_root(struct walker *w, const struct place *p)
{
	if (p->at.pc || !w->n_fresh)
		return false;
	w->cut = p->any_guided ? ABI_CUT_NO_CFI : ABI_CUT_NONE;
	w->has_root = false;
	return true;
}

/* The return address that has just been read is below the caller's sp. */
static void begin_home(struct walker *w, uint64_t sp)
{
	w->home.low = (sp - 8) & ~PAGE_MASK;
	w->home.high = w->home.low + PAGE;
}

void walk(struct walker *w, const struct walk_registers *from)
{
	struct place p = { .at = *from };
	int64_t k;

	w->n_fresh = 0;
	w->joined = 0;
	w->has_root = true;
	if (w->path_epoch != walk_epoch() || !range_holds(&w->home, from->sp))
		w->n_path = 0;
	if (w->home.low == w->home.high)
		begin_home(w, from->sp);
	w->other = (struct walk_range){ 0, 0 };
	k = (int64_t)w->n_path - 1;
	for (;;) {
		struct walk_frame frame = { .pc = p.at.pc, .sp = p.at.sp, .bp = p.at.bp };

		if (is_root(w, &p))
			return;
		while (k >= 0 && w->path[k].sp < p.at.sp)
			k--;
		if (k >= 0 && !p.is_exact && is_same(&w->path[k], &p)) {
			if (join(w, &p, &k))
				return;
			frame.pc = p.at.pc;
			frame.sp = p.at.sp;
			frame.bp = p.at.bp;
		}
		frame.flags = p.is_exact ? ABI_BOOK_EXACT : 0;
		if (!push(w, &frame) || !step(w, &p, &w->fresh[w->n_fresh - 1]))
			return;
	}
}

/* The frame's caller is the path's innermost: can a later walk compare what it was found by? */
static bool is_comparable(const struct walker *w, const struct walk_frame *frame,
			  const struct walk_frame *caller)
{
	return frame->is_plain && range_holds(&w->home, caller->sp - 8) &&
	       (!frame->bp_at ||
		range_holds(&w->home, caller->sp + (uint64_t)(int64_t)frame->bp_at));
}

/* How many there are with those of the frame. */
static uint32_t add_words(struct walker *w, const struct walk_frame *frame,
			  const struct walk_frame *caller)
{
	uint32_t n = caller->words;

	w->words[n++] = (struct walk_word){ word_at(caller->sp - 8), caller->pc };
	if (frame->bp_at)
		w->words[n++] =
			(struct walk_word){ word_at(caller->sp + (uint64_t)(int64_t)frame->bp_at),
					    caller->bp };
	return n;
}

void walk_keep(struct walker *w)
{
	uint32_t n = w->joined;

	w->path_epoch = walk_epoch();
	if (w->cut != ABI_CUT_NONE || !w->has_root) {
		w->n_path = 0;
		return;
	}
	for (uint32_t i = w->n_fresh; i-- > 0; n++) {
		const struct walk_frame *frame = &w->fresh[i];

		if (n > 0 && !is_comparable(w, frame, &w->path[n - 1]))
			break;
		w->path[n] = *frame;
		w->path[n].words = n > 0 ? add_words(w, frame, &w->path[n - 1]) : 0;
	}
	w->n_path = n;
}

/* Frame i from the innermost out of the stack that was found; NULL: there are fewer. */
static const struct walk_frame *frame_at(const struct walker *w, uint32_t i)
{
	if (i < w->n_fresh)
		return &w->fresh[i];
	i -= w->n_fresh;
	return i < w->joined ? &w->path[w->joined - 1 - i] : NULL;
}

enum walk_meeting walk_meets(struct walker *w, const struct walk_registers *from, uint64_t sp,
			     uint64_t pc)
{
	const struct walk_frame *frame;
	bool interrupted = false, passed = false;

	walk(w, from);
	for (uint32_t i = 0; (frame = frame_at(w, i)); i++) {
		interrupted |= (frame->flags & ABI_BOOK_EXACT) != 0;
		if (i > 0 && frame->sp == sp && frame->pc == pc)
			return interrupted ? WALK_MEETS_INTERRUPTED : WALK_MEETS;
		passed = frame->sp > sp;
	}
	return w->cut == ABI_CUT_NONE || passed ? WALK_MEETS_NOT : WALK_IS_CUT;
}
