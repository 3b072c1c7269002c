/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any stack, registers and tables: the walk ends, stays within what it was given, and what it says
 * of itself fits together. Input: struct head, rows, rules, mappings, objects, the stack.
 */
#include "tests/unit/unwind_host.h"

#include <stdlib.h>

#define STACK 0x10000ULL
#define CODE 0x100000ULL /* the first mapping is here */
#define WALKS 4

struct head {
	uint64_t pc, sp, bp;
	uint8_t rows, rules, mappings, objects, recents, kept;
	bool exact, at_exit;
};

/* Copies n elements out of the input, which need not be aligned; NULL: it is too short. */
static void *take(const uint8_t **data, size_t *size, size_t n, size_t element)
{
	size_t len = n * element;
	void *copy;

	if (len > *size)
		return NULL;
	copy = malloc(len ? len : 1);
	if (!copy)
		abort();
	memcpy(copy, *data, len);
	*data += len;
	*size -= len;
	return copy;
}

static void check(const struct stack_scratch *s, uint64_t kept)
{
	const struct abi_ev_stack *ev = &s->ev;
	uint32_t cut = ABI_STACK_CUT(ev->flags);

	if (ev->frames > kept || ev->frames > ABI_MAX_FRAMES || cut >= ABI_CUTS)
		abort();
	if (cut == ABI_CUT_LIMIT && ev->frames != kept)
		abort();
	if (kept && !ev->frames)
		abort();
	if (s->walk.window_len > sizeof(s->walk.window))
		abort();
}

/*
 * By tables, by what is then known of them and of the stack, the same when a word of the stack is
 * another, and without what is known of the stack before.
 */
static void walk(const struct head *head, struct unwind_host *h, uint64_t *word)
{
	struct stack_scratch *s = calloc(1, sizeof(*s));
	uint64_t kept = head->kept & ABI_MAX_FRAMES, hash[WALKS] = { 0 };
	struct abi_ev_stack ev[WALKS];

	if (!s)
		abort();
	host_use(h);
	for (int i = 0; i < WALKS; i++) {
		if (i == 2 && word)
			*word += 8;
		if (i == 3)
			memset(&host_path, 0, sizeof(host_path));
		s->walk.at.pc = head->pc;
		s->walk.at.sp = head->sp;
		s->walk.at.bp = head->bp;
		s->walk.at.exact = head->exact;
		s->walk.kept = kept;
		s->walk.slot = h->space.slot;
		unwind_begin(s, head->exact);
		if (head->at_exit && !unwind_return(s))
			break;
		hash[i] = unwind(s);
		path_copy_frames(scratch_tell(s));
		check(s, kept);
		ev[i] = s->ev;
		if (i % 2 && (hash[i] != hash[i - 1] || ev[i].flags != ev[i - 1].flags ||
			      ev[i].frames != ev[i - 1].frames ||
			      memcmp(ev[i].frame, ev[i - 1].frame, ev[i].frames * 8)))
			abort();
	}
	free(s);
}

static void walk_tables(const struct head *head, const uint8_t *data, size_t size)
{
	uint32_t recents = head->recents % (ABI_UNWIND_RECENT + 1);
	struct abi_unwind_row *rows = take(&data, &size, head->rows, sizeof(*rows));
	struct abi_unwind_rule *rules = take(&data, &size, head->rules, sizeof(*rules));
	struct abi_unwind_mapping *mappings = take(&data, &size, head->mappings, sizeof(*mappings));
	struct abi_unwind_object *objects = take(&data, &size, head->objects, sizeof(*objects));
	struct abi_unwind_mapping *recent = take(&data, &size, recents, sizeof(*recent));
	/* memory comes in pages */
	size_t stack_bytes = (size + UNWIND_PAGE_MASK) & ~UNWIND_PAGE_MASK;
	uint8_t *stack = calloc(1, stack_bytes + 1);
	struct unwind_host h = {
		.rows = { rows, head->rows },
		.chunk = { rows, head->rows },
		.rules = rules,
		.n_rules = head->rules,
		.mappings = mappings,
		.n_mappings = head->mappings,
		.objects = objects,
		.n_objects = head->objects,
		.memory = { { STACK, stack, stack_bytes } },
	};

	if (rows && rules && mappings && objects && recent && stack) {
		memcpy(stack, data, size);
		if (head->rules) /* as elf/cfi/cfi_rows.h promises, and cfi_decode() checks */
			rules[0].kind = ABI_UNWIND_NONE;
		if (head->mappings)
			mappings[0].start = CODE;
		h.sorted = ABI_UNWIND_SORTED(0, head->mappings, 0);
		h.space.appended = head->recents;
		memcpy(h.space.recent, recent, recents * sizeof(*recent));
		walk(head, &h, size < 8 ? NULL : (uint64_t *)stack + stack[size - 1] % (size / 8));
	}
	free(rows);
	free(rules);
	free(mappings);
	free(objects);
	free(recent);
	free(stack);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct head head;

	if (size < sizeof(head))
		return 0;
	memcpy(&head, data, sizeof(head) - 2);
	head.exact = data[sizeof(head) - 2] & 1;
	head.at_exit = data[sizeof(head) - 1] & 1;
	walk_tables(&head, data + sizeof(head), size - sizeof(head));
	return 0;
}
