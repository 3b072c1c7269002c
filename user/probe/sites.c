/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/sites.h"

#include "base/hashmap.h"
#include "bpf/abi.h"
#include "probe/allocators.h"
#include "probe/insn.h"
#include "probe/insn_effect.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

const char why_ifunc[] = "which code it is gets decided when the program starts (ifunc)";
const char why_no_code[] = "its symbol points to no code";
const char why_forwards[] = "it forwards to a function that is probed";
const char why_indirect[] = "it has an indirect jump";
const char why_leaves[] = "it jumps to a function that is not an allocator's";
const char why_unreadable[] = "some of its code cannot be decoded";
const char why_refused[] = "the kernel puts no probe, or no safe one, on what it begins with";
const char why_large[] = "it has too many instructions";
const char why_arguments[] =
	"its arguments are in no place that can be read: register, constant, memory by registers";

const char why_variable[] = "an argument is in a variable that no symbol, or more than one, tells";

const char why_landing_pad[] = "it catches exceptions";
const char why_effect[] = "it has an instruction whose effect is not known";
const char why_stack[] = "its stack pointer is not known everywhere";
const char why_no_site[] = "on some way to a return no instruction that is emulated has the result";
const char why_call[] = "what it was asked for is not known at each call";
const char why_no_gain[] = "each way to a block makes a call";
const char why_size[] = "it is not told the size by its arguments";
const char why_aligned[] = "no library is known in which it could take one";
const char why_replaces[] = "the block that it replaces leaves the books before the call";
const char why_not_returned[] = "it does not return the block, or is not told the size";

static const char *const reasons[] = {
	NULL,		why_ifunc,    why_no_code,
	why_forwards,	why_indirect, why_leaves,
	why_unreadable, why_refused,  why_large,
	why_arguments,	why_variable, why_landing_pad,
	why_effect,	why_stack,    why_no_site,
	why_call,	why_no_gain,  why_size,
	why_aligned,	why_replaces, why_not_returned,
};
#define N_REASONS (sizeof(reasons) / sizeof(reasons[0]))

uint8_t plan_why_number(const char *why)
{
	for (uint8_t i = 1; i < N_REASONS; i++)
		if (reasons[i] == why)
			return i;
	return 0;
}

const char *plan_why(uint8_t number)
{
	return number < N_REASONS ? reasons[number] : NULL;
}

/* glibc's largest allocator function has under 2,000 instructions. */
#define MAX_INSNS 20000
#define BLOCK_INSNS 500 /* most have fewer: memory comes as it is needed */
/* Where a function's first block goes on for longer, its entry is good enough. */
#define MAX_ENTRY_INSNS 32

struct walk {
	struct insn_decoder *decoder;
	const struct sites_code *code;
	const struct allocator_function *function;
	uint64_t entry;
	struct sites sites;
	/* The addresses that were seen, and the blocks that hold them. */
	struct hashmap seen;
	uint64_t *addresses[MAX_INSNS / BLOCK_INSNS];
	size_t n_addresses;
	VEC(uint64_t) pending;
	/* Paths end where a function of the table does the work: are there others? */
	bool ends_at_use;
	bool uses; /* a function of the table that can do the work */
	/* Something may jump back between the entry and the entry site. */
	bool entry_block_unsure;
	bool frame_is_gone; /* the instruction before has undone makes_frame() */
};

static uint64_t address_hash(const void *item)
{
	return hash_u64(*(const uint64_t *)item);
}

static bool address_equal(const void *a, const void *b)
{
	return *(const uint64_t *)a == *(const uint64_t *)b;
}

static const struct hashmap_ops address_ops = { .hash = address_hash, .equal = address_equal };

void sites_done(struct sites *sites)
{
	vec_done(&sites->exits);
}

static void walk_done(struct walk *w)
{
	sites_done(&w->sites);
	hashmap_done(&w->seen);
	for (size_t i = 0; i < MAX_INSNS / BLOCK_INSNS; i++)
		free(w->addresses[i]);
	vec_done(&w->pending);
}

bool sites_is_noreturn(const char *name)
{
	static const char *const names[] = {
		"abort",
		"exit",
		"_exit",
		"_Exit",
		"quick_exit",
		"pthread_exit",
		"__stack_chk_fail",
		"__stack_chk_fail_local",
		"__assert",
		"__assert_fail",
		"__assert_perror_fail",
		"__chk_fail",
		"__fortify_fail",
		"__libc_fatal",
		"longjmp",
		"_longjmp",
		"siglongjmp",
		"__longjmp_chk",
		"_Unwind_Resume",
		"__cxa_throw",
		"__cxa_rethrow",
		"__cxa_bad_cast",
		"__cxa_bad_typeid",
		"__cxa_throw_bad_array_new_length",
		"__cxa_pure_virtual",
		"__clang_call_terminate",
		"_ZSt9terminatev",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	/* std::__throw_bad_alloc() and its family: _ZSt17__throw_bad_allocv */
	if (strncmp(name, "_ZSt", 4) != 0)
		return false;
	name += 4;
	name += strspn(name, "0123456789");
	return strncmp(name, "__throw_", 8) == 0;
}

static bool is_noreturn(const char *name)
{
	return name && sites_is_noreturn(name);
}

static const struct allocator_function *row_of(const char *name)
{
	return name ? allocator_function_find(name) : NULL;
}

/* As insn_decode(), or -ENODATA where the code has ended. */
static int decode_at(struct walk *w, uint64_t addr, struct insn *ret_insn)
{
	uint8_t bytes[INSN_MAX_LEN];
	size_t n = w->code->read(w->code->ctx, addr, bytes, sizeof(bytes));

	if (n == 0)
		return -ENODATA;
	return insn_decode(w->decoder, bytes, n, addr, ret_insn);
}

/*
 * Which arguments' registers have the block that is freed behind the instruction that was decoded
 * last, by those before it: bit n - 1 of argument n. mimalloc copies it before it overwrites it.
 */
static unsigned holders_after(struct walk *w, const struct insn *insn, unsigned holders)
{
	struct insn_effect effect;
	unsigned from, to;

	insn_effect(w->decoder, &effect);
	from = insn_argument_of(effect.from);
	to = insn_argument_of(effect.to);
	if (effect.kind == EFFECT_COPY && from && to && holders & 1U << (from - 1))
		return holders | 1U << (to - 1);
	return holders & ~(unsigned)insn->writes_args;
}

/* True: the arguments are there still, or the block that is freed is in another one's register. */
static bool has_arguments(struct walk *w, const struct insn *insn, unsigned arguments,
			  unsigned *holders)
{
	if (w->function->kind != ABI_FREE)
		return !(insn->writes_args & arguments);
	*holders = holders_after(w, insn, *holders);
	return *holders != 0;
}

/* The block's own argument, or the first that has it. */
static void choose_block_argument(struct walk *w, unsigned arguments, unsigned holders)
{
	w->sites.block_argument = 0;
	if (w->function->kind != ABI_FREE || holders & arguments)
		return;
	while (!(holders & 1U << w->sites.block_argument++))
		;
}

/*
 * A free may have its frame where it is probed, as glibc 2.31's, which begins with a sub of rsp:
 * all it needs of the stack is where its return address is.
 */
static bool makes_frame(struct walk *w, unsigned *words)
{
	struct insn_effect effect;

	if (w->function->kind != ABI_FREE)
		return false;
	insn_effect(w->decoder, &effect);
	if (effect.kind != EFFECT_ADD || effect.to != INSN_RSP || effect.from != INSN_RSP ||
	    effect.value >= 0 || effect.value % 8 || effect.value < -8 * (int64_t)UINT8_MAX)
		return false;
	*words += (unsigned)(-effect.value / 8);
	return *words <= UINT8_MAX;
}

/*
 * The first emulated instruction of the straight line from the entry. It runs once per call, sp
 * and the arguments are still the caller's there; a free may have moved sp by then.
 */
static void choose_entry_site(struct walk *w, const struct plan_emulation *emulation)
{
	unsigned arguments = allocator_argument_mask(w->function), holders = arguments, words = 0;
	uint64_t addr = w->entry;
	struct insn insn;

	w->sites.entry_site = w->entry;
	for (int i = 0; i < MAX_ENTRY_INSNS; i++) {
		if (decode_at(w, addr, &insn) < 0)
			return;
		/* Where the kernel refuses the first ones, the next is as good. */
		if (i == 0 && insn.is_refused)
			w->sites.why_no_entry = why_refused;
		if (w->sites.why_no_entry && !insn.is_refused) {
			w->sites.entry_site = addr;
			w->sites.why_no_entry = NULL;
			w->sites.frame_words = (uint8_t)words;
			choose_block_argument(w, arguments, holders);
		}
		if (!insn.is_refused && insn_is_emulated(&insn, emulation)) {
			w->sites.entry_site = addr;
			w->sites.entry_emulated = true;
			w->sites.frame_words = (uint8_t)words;
			choose_block_argument(w, arguments, holders);
			return;
		}
		if (insn.flow != INSN_NEXT || !(insn.is_plain || makes_frame(w, &words)) ||
		    !has_arguments(w, &insn, arguments, &holders))
			return;
		addr += insn.len;
	}
}

static void cannot_prove(struct walk *w, const char *why)
{
	if (!w->sites.why_no_exits)
		w->sites.why_no_exits = why;
	if (why != why_leaves)
		w->entry_block_unsure = true;
}

/* A function of the table that is certain to have a probe of its own, at its entry. */
static bool takes_over(const struct walk *w, const struct allocator_function *target)
{
	return target && !target->may_forward && allocator_returns_block(target) &&
	       allocator_returns_block(w->function);
}

/* Whether the path ends at a call or jump to the function of that name, as far as uses go. */
static bool ends_by_use(struct walk *w, const struct allocator_function *used)
{
	if (!used || !allocator_forwards_to(w->function, used))
		return false;
	w->uses = true;
	w->sites.by_operator |= strncmp(used->name, "_Z", 2) == 0;
	return w->ends_at_use;
}

/* The imported function behind a linkage stub at `addr`: true where there is a stub. */
static bool resolve_stub(struct walk *w, uint64_t addr, const char **ret_name)
{
	uint8_t bytes[2 * INSN_MAX_LEN];
	size_t n = w->code->read(w->code->ctx, addr, bytes, sizeof(bytes));
	uint64_t slot;

	if (!insn_stub_slot(w->decoder, bytes, n, addr, &slot))
		return false;
	*ret_name = w->code->slot_name(w->code->ctx, slot);
	return true;
}

/*
 * A jump through a pointer of the object: to another function, never into this one. What the
 * object exports and imports itself, it is bound to itself (tcmalloc's way into its slow paths).
 */
static int jump_out(struct walk *w, const char *name)
{
	const struct allocator_function *target = row_of(name);
	uint64_t own;

	if (ends_by_use(w, target) || takes_over(w, target) || is_noreturn(name))
		return 0;
	own = name && w->code->definition ? w->code->definition(w->code->ctx, name) : 0;
	if (own)
		return vec_push(&w->pending, own);
	cannot_prove(w, why_leaves);
	return 0;
}

static int jump_to(struct walk *w, uint64_t target)
{
	const struct allocator_function *row;
	const char *name = NULL;

	if (target > w->entry && target <= w->sites.entry_site)
		w->entry_block_unsure = true;
	if (target == w->entry)
		return 0;
	name = w->code->function_name(w->code->ctx, target);
	if (!name && resolve_stub(w, target, &name))
		return jump_out(w, name);
	row = row_of(name);
	if (ends_by_use(w, row) || takes_over(w, row) || is_noreturn(name))
		return 0;
	return vec_push(&w->pending, target);
}

static int branch(struct walk *w, const struct insn *insn)
{
	if (insn->target_kind == INSN_TARGET_DIRECT)
		return jump_to(w, insn->target);
	if (insn->target_kind == INSN_TARGET_SLOT)
		return jump_out(w, w->code->slot_name(w->code->ctx, insn->target));
	/* It goes on with the stack of the entry: in a function, not behind the site. */
	cannot_prove(w, w->frame_is_gone ? why_leaves : why_indirect);
	return 0;
}

/* Steps over a call: *ret_returns says whether the path goes on behind it. */
static int call(struct walk *w, const struct insn *insn, bool *ret_returns)
{
	const char *name = NULL;
	uint64_t pad;

	if (insn->target_kind == INSN_TARGET_SLOT) {
		name = w->code->slot_name(w->code->ctx, insn->target);
	} else if (insn->target_kind == INSN_TARGET_DIRECT && insn->target != w->entry) {
		name = w->code->function_name(w->code->ctx, insn->target);
		if (!name)
			(void)resolve_stub(w, insn->target, &name); /* no stub: no name */
	}
	*ret_returns = !is_noreturn(name);
	if (ends_by_use(w, row_of(name))) {
		*ret_returns = false;
		return 0;
	}
	pad = w->code->landing_pad(w->code->ctx, insn->addr);
	return pad ? jump_to(w, pad) : 0;
}

/* 1 where `addr` was not seen before, 0 where it was or the walk is at its bound, or -ENOMEM. */
static int visit_address(struct walk *w, uint64_t addr)
{
	uint64_t **block, *item;
	int r;

	if (w->n_addresses == MAX_INSNS || (w->code->insns_left && *w->code->insns_left == 0)) {
		if (!hashmap_find(&w->seen, &addr))
			cannot_prove(w, why_large);
		return 0;
	}
	block = &w->addresses[w->n_addresses / BLOCK_INSNS];
	if (!*block)
		*block = malloc(BLOCK_INSNS * sizeof(**block));
	if (!*block)
		return -ENOMEM;
	item = &(*block)[w->n_addresses % BLOCK_INSNS];
	*item = addr;
	r = hashmap_insert(&w->seen, item);
	if (r == -EEXIST)
		return 0;
	if (r < 0)
		return r;
	w->n_addresses++;
	if (w->code->insns_left)
		--*w->code->insns_left;
	return 1;
}

static bool undoes_frame(struct walk *w)
{
	struct insn_effect effect;

	if (!w->sites.frame_words)
		return false;
	insn_effect(w->decoder, &effect);
	return effect.kind == EFFECT_ADD && effect.to == INSN_RSP && effect.from == INSN_RSP &&
	       effect.value == 8 * w->sites.frame_words;
}

/*
 * Follows one path to where it ends or joins one already followed. Compilers leave nothing but
 * padding between a call that does not return and the next function: that is how such calls show
 * whose names are not known.
 */
static int walk_path(struct walk *w, uint64_t addr)
{
	bool after_call = false, on = true;
	struct insn insn;
	int r;

	w->frame_is_gone = false;
	for (; on; addr += insn.len) {
		if (after_call && w->code->starts_function(w->code->ctx, addr))
			return 0;
		r = visit_address(w, addr);
		if (r <= 0)
			return r;
		r = decode_at(w, addr, &insn);
		if (r == -ENODATA && after_call)
			return 0;
		if (r < 0) {
			cannot_prove(w, why_unreadable);
			return 0;
		}
		switch (insn.flow) {
		case INSN_NEXT:
			after_call &= insn.is_nop;
			w->frame_is_gone = undoes_frame(w);
			continue;
		case INSN_BRANCH:
		case INSN_JUMP:
			after_call = false;
			on = insn.flow == INSN_BRANCH;
			r = branch(w, &insn);
			break;
		case INSN_CALL:
			after_call = true;
			r = call(w, &insn, &on);
			break;
		case INSN_RETURN:
			r = vec_push(&w->sites.exits, addr);
			on = false;
			break;
		case INSN_TRAP:
			on = false;
			break;
		}
		w->frame_is_gone = false;
		if (r < 0)
			return r;
	}
	return 0;
}

static int by_address(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Walks all paths from the entry. 0 or -ENOMEM. */
static int walk_function(struct walk *w)
{
	int r = vec_push(&w->pending, w->entry);

	w->seen.ops = &address_ops;
	while (r == 0 && w->pending.len)
		r = walk_path(w, w->pending.data[--w->pending.len]);
	return r;
}

/* A second walk, that ends its paths where another function does the work. */
static int always_forwards(const struct walk *first, bool *ret_always)
{
	_cleanup_(walk_done) struct walk w = {
		.decoder = first->decoder,
		.code = first->code,
		.function = first->function,
		.entry = first->entry,
		.ends_at_use = true,
	};
	int r = walk_function(&w);

	*ret_always = r == 0 && w.sites.exits.len == 0 && !w.sites.why_no_exits;
	return r;
}

/* Its code is one line that leaves the arguments as they are, and ends by a jump out of it. */
static bool only_jumps(struct walk *w)
{
	uint64_t addr = w->entry;
	struct insn insn;

	for (size_t i = 1; i <= w->n_addresses; i++) {
		if (decode_at(w, addr, &insn) < 0)
			return false;
		if (insn.flow != INSN_NEXT)
			return insn.flow == INSN_JUMP && i == w->n_addresses;
		if (!insn.is_plain || insn.writes_args)
			return false;
		addr += insn.len;
	}
	return false;
}

int sites_find(struct insn_decoder *decoder, const struct sites_code *code,
	       const struct allocator_function *function, uint64_t entry,
	       const struct plan_emulation *emulation, struct sites *ret_sites)
{
	_cleanup_(walk_done) struct walk w = {
		.decoder = decoder, .code = code, .function = function, .entry = entry
	};
	bool always = false;
	struct insn first;
	int r;

	choose_entry_site(&w, emulation);
	r = walk_function(&w);
	if (r == 0 && w.uses)
		r = always_forwards(&w, &always);
	if (r < 0)
		return r;

	if (w.uses)
		w.sites.forwards = always ? SITES_FORWARDS_ALWAYS : SITES_FORWARDS_SOMETIMES;
	if (w.entry_block_unsure && w.sites.entry_site != entry) {
		w.sites.entry_site = entry;
		w.sites.block_argument = 0;
		w.sites.frame_words = 0;
		w.sites.entry_emulated =
			decode_at(&w, entry, &first) == 0 && insn_is_emulated(&first, emulation);
		if (decode_at(&w, entry, &first) == 0 && first.is_refused)
			w.sites.why_no_entry = why_refused;
	}
	w.sites.only_jumps = only_jumps(&w);
	vec_sort(&w.sites.exits, by_address);
	*ret_sites = w.sites;
	w.sites = (struct sites){ 0 };
	return 0;
}
