// SPDX-License-Identifier: GPL-2.0-or-later
#include "sample/walk.h"

#include "bpf/abi_book.h"
#include "sample/book_memory.h"
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

/* --- memory ---------------------------------------------------------------------------------- */

/* Ranges by their addresses: what could be read when the process began to filter its calls. */
#define MOST_READABLE 1024
static struct walk_range readable_then[MOST_READABLE];
static uint32_t n_readable_then;

/* Of more, the last one has the stack of the first thread. A lower one begins anew. */
void walk_note_readable(uint64_t low, uint64_t high)
{
	struct walk_range *last = n_readable_then ? &readable_then[n_readable_then - 1] : NULL;

	if (last && low < last->high)
		n_readable_then = 0;
	if (n_readable_then && last->high == low)
		last->high = high;
	else if (n_readable_then < MOST_READABLE)
		readable_then[n_readable_then++] = (struct walk_range){ low, high };
	else
		*last = (struct walk_range){ low, high };
}

static bool was_readable(uint64_t page)
{
	uint32_t first = 0, end = n_readable_then;

	while (first < end) {
		uint32_t middle = first + (end - first) / 2;

		if (readable_then[middle].high <= page)
			first = middle + 1;
		else
			end = middle;
	}
	return first < n_readable_then && page >= readable_then[first].low;
}

/*
 * The kernel reads the mask before it finds that there is no such operation: EFAULT tells memory
 * that cannot be read (kernel/signal.c, sys_rt_sigprocmask).
 */
bool walk_can_read(uint64_t page)
{
	int error = errno;
	bool readable;

	if (!page)
		return false; /* the kernel takes it for no mask */
	if (book_is_filtered())
		return was_readable(page);
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
		if (!walk_can_read(range->high))
			return false;
		range->high += PAGE;
	}
	/* What is deeper in a stack is there: it is not asked for where that may be refused. */
	while (range->low > page) {
		if (!book_is_filtered() && !walk_can_read(range->low - PAGE))
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

/* Of memory that may be no stack: it is looked for again by each walk. */
static bool find_apart(struct walker *w, uint64_t address)
{
	uint64_t page = address & ~PAGE_MASK;

	if (range_is_near(&w->other, address) && range_extend(&w->other, address))
		return true;
	if (!walk_can_read(page))
		return false;
	w->other = (struct walk_range){ page, page + PAGE };
	return true;
}

static __attribute__((noinline)) bool find_range(struct walker *w, uint64_t address)
{
	if (range_is_near(&w->home, address) && range_extend(&w->home, address))
		return true;
	return find_apart(w, address);
}

static const uint64_t *word_at(uint64_t address)
{
	return (const uint64_t *)(uintptr_t)address;
}

static bool holds_word(struct walker *w, uint64_t address)
{
	return range_holds(&w->home, address) || range_holds(&w->other, address) ||
	       find_range(w, address);
}

/*
 * Where rbp is taken for a frame pointer it may lead to any memory, which the program may unmap:
 * `home` does not grow by that, as later walks read what it holds as it is.
 */
static bool holds_apart(struct walker *w, uint64_t address)
{
	return range_holds(&w->home, address) || range_holds(&w->other, address) ||
	       find_apart(w, address);
}

/* --- steps ----------------------------------------------------------------------------------- */

typedef struct walker unwind_side;
#include "bpf/unwind_steps.h"

static __always_inline bool unwind_read(struct walker *w, __u64 address, __u64 *ret, __u32 words)
{
	for (__u32 i = 0; i < words; i++, address += sizeof(*ret)) {
		/* One that is not aligned may begin in one page and end in the next. */
		if (!holds_word(w, address) ||
		    (address & 7 && !holds_word(w, address + sizeof(*ret) - 1)))
			return false;
		/* not memcpy(), which is a call in this library */
		__builtin_memcpy(&ret[i], (const void *)(uintptr_t)address, sizeof(*ret));
	}
	return true;
}

/* Where a walk is. */
struct place {
	struct unwind_place at;
	uint64_t bx; /* as it came */
	bool any_guided;
};

static bool end(struct walker *w, int cut)
{
	w->cut = (uint8_t)cut;
	return false;
}

static uint64_t looked_up(const struct walk_frame *frame)
{
	return frame->pc - !(frame->flags & ABI_BOOK_EXACT);
}

static int unwind_rbx_of(struct walker *w, __u64 frame, __u64 *ret)
{
	struct abi_unwind_rule rule = walk_rule(looked_up(&w->fresh[frame]));

	return unwind_saved_rbx(w, &rule, w->fresh[frame].sp, w->fresh[frame + 1].sp, ret);
}

static int by_frame_pointer(struct walker *w, struct place *p, enum abi_stack_cut why)
{
	bool may_be_one = p->at.bp >= p->at.sp && !(p->at.bp & 7);

	if (may_be_one && !(holds_apart(w, p->at.bp) && holds_apart(w, p->at.bp + 8)))
		return why;
	return unwind_by_frame_pointer(w, &p->at, why);
}

static __always_inline int find_caller(struct walker *w, struct place *p,
				       const struct abi_unwind_rule *rule)
{
	switch (rule->kind) {
	case WALK_NO_OBJECT:
		return by_frame_pointer(w, p, ABI_CUT_NO_MAPPING);
	case ABI_UNWIND_NONE:
		return by_frame_pointer(w, p, ABI_CUT_NO_CFI);
	case ABI_UNWIND_RBX:
		return unwind_by_rbx(w, &p->at, rule, w->n_fresh, p->bx);
	default:
		return unwind_by_rule(w, &p->at, rule);
	}
}

/* To the caller of the frame; false: the walk is over, w->cut says why. */
static bool step(struct walker *w, struct place *p, struct walk_frame *frame)
{
	struct abi_unwind_rule rule = walk_rule(looked_up(frame));
	int found = find_caller(w, p, &rule);

	switch (found) {
	case UNWIND_CALLER:
		frame->is_plain = unwind_is_plain(&rule) && !(frame->flags & ABI_BOOK_EXACT);
		frame->by_bp = rule.kind == ABI_UNWIND_BP;
		frame->bp_at = rule.bp == ABI_UNWIND_BP_AT_CFA ? rule.bp_offset : 0;
		return true;
	case UNWIND_GUIDED:
		frame->flags |= ABI_BOOK_GUIDED;
		/* By the words at its rbp, as by a rule of that with the CFA 16 above it. */
		frame->is_plain = !(frame->flags & ABI_BOOK_EXACT);
		frame->by_bp = true;
		frame->bp_at = -16;
		p->any_guided = true;
		return true;
	case UNWIND_INTERRUPTED:
		frame->flags |= ABI_BOOK_EXACT;
		return true;
	default:
		return end(w, found);
	}
}

/* --- the last stack -------------------------------------------------------------------------- */

/*
 * Optimised code keeps in rbp what it likes, which is another value in each call: where no caller
 * goes by it, frames are the same without.
 */
static bool is_same(const struct walk_frame *frame, const struct place *p)
{
	return frame->sp == p->at.sp && frame->pc == p->at.pc &&
	       (frame->bp == p->at.bp || !frame->needs_bp);
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

/* The place of one more frame; NULL: there are too many. */
static struct walk_frame *next_fresh(struct walker *w)
{
	struct walk_frame *frame = &w->fresh[w->n_fresh];

	if (w->n_fresh == ABI_MAX_FRAMES) {
		(void)end(w, ABI_CUT_LIMIT); /* false */
		return NULL;
	}
	w->n_fresh++;
	return frame;
}

static bool push(struct walker *w, const struct walk_frame *known)
{
	struct walk_frame *frame = next_fresh(w);

	if (!frame)
		return false;
	*frame = *known;
	frame->node = 0;
	return true;
}

/* In its place, as a copy would wait for what was just written. As next_fresh(). */
static struct walk_frame *add_frame(struct walker *w, const struct place *p)
{
	struct walk_frame *frame = next_fresh(w);

	if (!frame)
		return NULL;
	frame->pc = p->at.pc;
	frame->sp = p->at.sp;
	frame->bp = p->at.bp;
	frame->bp_at = 0;
	frame->flags = p->at.exact ? ABI_BOOK_EXACT : 0;
	frame->is_plain = false;
	frame->by_bp = false;
	frame->node = 0;
	return frame;
}

/* The stack has more frames than are kept: the outermost ones are cut off. */
static void cut_off(struct walker *w)
{
	while (w->n_fresh < ABI_MAX_FRAMES)
		(void)push(w, &w->path[--w->joined]); /* there is room */
	w->joined = 0;
	w->cut = ABI_CUT_LIMIT;
}

/* By frames of a path, with the frame's own. Was it not compared, it is another one by now. */
static uint64_t caller_bp(const struct walk_frame *frame, const struct walk_frame *caller,
			  uint64_t bp)
{
	return frame->bp_at ? *word_at(caller->sp + (uint64_t)(int64_t)frame->bp_at) : bp;
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
	for (; *k > (int64_t)to; --*k) {
		w->path[*k].bp = p->at.bp;
		p->any_guided |= (w->path[*k].flags & ABI_BOOK_GUIDED) != 0;
		if (!push(w, &w->path[*k]))
			return true;
		p->at.bp = caller_bp(&w->path[*k], &w->path[*k - 1], p->at.bp);
	}
	p->at.pc = w->path[to].pc;
	p->at.sp = w->path[to].sp;
	*k = (int64_t)to - 1;
	return false;
}

/* True: the stack begins here. */
static bool is_root(struct walker *w, const struct place *p)
{
	if (p->at.pc || !w->n_fresh)
		return false;
	w->cut = (uint8_t)unwind_at_root(p->any_guided);
	w->has_root = false;
	return true;
}

/* The return address that has just been read is below the caller's sp. */
static struct walk_range first_page(uint64_t sp)
{
	uint64_t page = (sp - 8) & ~PAGE_MASK;

	return (struct walk_range){ page, page + PAGE };
}

/* A stack that is not the thread's own. */
static void begin_other(struct walker *w, uint64_t sp)
{
	bool at_home = range_holds(&w->home, sp - 8) || range_is_near(&w->home, sp - 8);

	w->other = at_home ? (struct walk_range){ 0, 0 } : first_page(sp);
}

void walk(struct walker *w, const struct walk_registers *from)
{
	struct place p = { .at = { .pc = from->pc, .sp = from->sp, .bp = from->bp },
			   .bx = from->bx };
	int64_t k;

	w->n_fresh = 0;
	w->joined = 0;
	w->has_root = true;
	if (w->path_epoch != walk_changes() || !range_holds(&w->home, from->sp))
		w->n_path = 0;
	if (w->home.low == w->home.high)
		w->home = first_page(from->sp);
	begin_other(w, from->sp);
	k = (int64_t)w->n_path - 1;
	for (;;) {
		struct walk_frame *frame;

		if (is_root(w, &p))
			return;
		while (k >= 0 && w->path[k].sp < p.at.sp)
			k--;
		/* A rule that was just read may be of an object that nothing was known of. */
		if (k >= 0 && w->path_epoch != walk_changes())
			k = -1;
		if (k >= 0 && !p.at.exact && is_same(&w->path[k], &p) && join(w, &p, &k))
			return;
		frame = add_frame(w, &p);
		if (!frame || !step(w, &p, frame))
			return;
	}
}

/* The frame's caller is the path's innermost: can a later walk compare what it was found by? */
static bool is_comparable(const struct walker *w, const struct walk_frame *frame,
			  const struct walk_frame *caller)
{
	return frame->is_plain && !(caller->sp & 7) && range_holds(&w->home, caller->sp - 8) &&
	       (!frame->bp_at ||
		range_holds(&w->home, caller->sp + (uint64_t)(int64_t)frame->bp_at));
}

/* How many there are with those of the frame. */
static uint32_t add_words(struct walker *w, const struct walk_frame *frame,
			  const struct walk_frame *caller)
{
	uint32_t n = caller->words;

	w->words[n++] = (struct walk_word){ word_at(caller->sp - 8), caller->pc };
	if (frame->bp_at && caller->needs_bp)
		w->words[n++] =
			(struct walk_word){ word_at(caller->sp + (uint64_t)(int64_t)frame->bp_at),
					    caller->bp };
	return n;
}

void walk_keep(struct walker *w)
{
	uint32_t n = w->joined;

	w->path_epoch = walk_changes();
	if (w->cut != ABI_CUT_NONE || !w->has_root) {
		w->n_path = 0;
		return;
	}
	for (uint32_t i = w->n_fresh; i-- > 0; n++) {
		const struct walk_frame *frame = &w->fresh[i];

		if (n > 0 && !is_comparable(w, frame, &w->path[n - 1]))
			break;
		w->path[n] = *frame;
		w->path[n].needs_bp =
			frame->by_bp || (n > 0 && !frame->bp_at && w->path[n - 1].needs_bp);
		w->path[n].words = n > 0 ? add_words(w, frame, &w->path[n - 1]) : 0;
	}
	w->n_path = n;
}

/* --- stacks of before ------------------------------------------------------------------------- */

static uint32_t place_of(const struct walker *w, const struct walk_registers *from)
{
	return (uint32_t)(((from->pc ^ from->sp << 20) * UINT64_C(0x9e3779b97f4a7c15)) >> 32) &
	       w->more_recalled;
}

static bool begins(const struct walk_recalled *r, const struct walk_registers *from)
{
	return r->sp == from->sp && r->pc == from->pc && (r->bp == from->bp || !r->needs_bp);
}

/*
 * A frame of the path. Whether its callers are the path's still is compared last, as most differ
 * between. The words between lie in `home`, which has both ends.
 */
static bool base_is_there(const struct walker *w, const struct walk_recalled *r)
{
	const struct walk_frame *base = &w->path[r->base];

	return r->base < w->n_path && base->node == r->base_node && base->sp == r->base_sp &&
	       (base->bp == r->base_bp || !base->needs_bp) && range_holds(&w->home, r->base_sp - 8);
}

static bool words_are_there(const struct walk_recalled *r)
{
	for (uint32_t i = 0; i < r->n_words; i++)
		if (*word_at(r->sp + r->at[i]) != r->value[i])
			return false;
	return true;
}

/* The last stack once more. */
static bool is_last(const struct walker *w, const struct walk_registers *from)
{
	const struct walk_frame *last = &w->path[w->n_path - 1];

	return last->sp == from->sp && last->pc == from->pc &&
	       (last->bp == from->bp || !last->needs_bp) && compare(w, w->n_path - 1) == 0;
}

uint32_t walk_recall(const struct walker *w, const struct walk_registers *from)
{
	const struct walk_recalled *r = w->recalled[place_of(w, from)];

	if (!w->n_path || w->path_epoch != walk_changes() || !range_holds(&w->home, from->sp))
		return 0;
	if (is_last(w, from))
		return w->path[w->n_path - 1].node;
	for (uint32_t i = 0; i < WALK_RECALLED_WAYS; i++, r++)
		if (begins(r, from) && r->epoch == w->path_epoch && base_is_there(w, r) &&
		    words_are_there(r) && compare(w, r->base) == 0)
			return r->node;
	return 0;
}

/*
 * Their memory grows with their use: those in the half that is new are found no more where they
 * were, and noted again.
 */
static struct walk_recalled *take_recalled(struct walker *w, const struct walk_registers *from)
{
	uint32_t hashes = w->more_recalled + 1;

	if (hashes < WALK_RECALLED && w->n_noted >= hashes * WALK_RECALLED_WAYS)
		w->more_recalled += hashes;
	return &w->recalled[place_of(w, from)][w->n_noted++ % WALK_RECALLED_WAYS];
}

void walk_note(struct walker *w, const struct walk_registers *from, uint32_t node)
{
	const struct walk_frame *base = w->joined ? &w->path[w->joined - 1] : NULL;
	struct walk_recalled *r;
	uint32_t n;

	if (!base || !w->n_fresh || w->n_path != w->joined + w->n_fresh)
		return; /* not all of it can be compared */
	n = w->path[w->n_path - 1].words - base->words;
	if (n > WALK_RECALLED_WORDS)
		return;
	r = take_recalled(w, from);
	r->node = 0;
	for (uint32_t i = 0; i < n; i++) {
		const struct walk_word *word = &w->words[base->words + i];
		uint64_t at = (uintptr_t)word->at - from->sp;

		if (at >= base->sp - from->sp)
			return;
		r->at[i] = (uint32_t)at;
		r->value[i] = word->value;
	}
	r->n_words = (uint8_t)n;
	r->pc = from->pc;
	r->sp = from->sp;
	r->bp = from->bp;
	r->needs_bp = w->path[w->n_path - 1].needs_bp;
	r->base = w->joined - 1;
	r->base_node = base->node;
	r->base_sp = base->sp;
	r->base_bp = base->bp;
	r->epoch = w->path_epoch;
	r->node = node;
}

const struct walk_frame *walk_frame_at(const struct walker *w, uint32_t i)
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
	for (uint32_t i = 0; (frame = walk_frame_at(w, i)); i++) {
		interrupted |= (frame->flags & ABI_BOOK_EXACT) != 0;
		if (i > 0 && frame->sp == sp && frame->pc == pc)
			return interrupted ? WALK_MEETS_INTERRUPTED : WALK_MEETS;
		passed = frame->sp > sp;
	}
	return w->cut == ABI_CUT_NONE || passed ? WALK_MEETS_NOT : WALK_IS_CUT;
}
