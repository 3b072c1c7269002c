/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The walk from inside, held against that of libgcc, and against one that remembers nothing. */
#include "bpf/abi_book.h"
#include "sample/book_memory.h"
#include "sample/walk.h"
#include "sample/walk_rules.h"
#include "tests/unit/random_numbers.h"

#include <alloca.h>
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unwind.h>

#include <cmocka.h>

#define MOST 600
#define ALTERNATE_STACK 65536

struct stack {
	size_t n;
	size_t n_sure; /* of which none was found by a frame pointer where nothing else is known */
	uint64_t frames[MOST];
};

static struct walker *walker;
static struct random_numbers numbers, others;
static unsigned walks, joins, recalls;

/* Nodes of the test's own: number + 1 is that of {parent, pc}. */
#define MOST_NODES 65536
static struct node {
	uint32_t parent;
	uint64_t pc;
} nodes[MOST_NODES];
static uint32_t n_nodes;

static _Unwind_Reason_Code add_frame(struct _Unwind_Context *context, void *data)
{
	struct stack *stack = data;

	if (stack->n < MOST)
		stack->frames[stack->n++] = _Unwind_GetIP(context);
	return _URC_NO_REASON;
}

static void take(const struct walker *w, struct stack *ret)
{
	ret->n = 0;
	ret->n_sure = 0;
	for (uint32_t i = 0; i < w->n_fresh; i++) {
		ret->frames[ret->n++] = w->fresh[i].pc;
		if (w->fresh[i].flags & ABI_BOOK_GUIDED && !ret->n_sure)
			ret->n_sure = ret->n;
	}
	for (uint32_t i = w->joined; i-- > 0;)
		ret->frames[ret->n++] = w->path[i].pc;
	if (!ret->n_sure)
		ret->n_sure = ret->n;
}

static void assert_same(const struct stack *a, const struct stack *b)
{
	assert_int_equal(a->n, b->n);
	assert_memory_equal(a->frames, b->frames, a->n * sizeof(a->frames[0]));
}

static uint32_t node_of(uint32_t parent, uint64_t pc)
{
	uint32_t i = (uint32_t)((pc ^ parent * 2654435761U) * 2654435761U) % MOST_NODES;

	while (nodes[i].pc && (nodes[i].pc != pc || nodes[i].parent != parent))
		i = (i + 1) % MOST_NODES;
	if (!nodes[i].pc) {
		assert_true(++n_nodes < MOST_NODES);
		nodes[i] = (struct node){ parent, pc };
	}
	return i + 1;
}

/* As book_stack() does. */
static uint32_t give_nodes(struct walker *w)
{
	uint32_t node = w->joined ? w->path[w->joined - 1].node : 0;

	for (uint32_t i = w->n_fresh; i-- > 0;)
		w->fresh[i].node = node = node_of(node, w->fresh[i].pc);
	return node;
}

/* What is recalled from here is what a walk finds. */
static void check_recalled(uint32_t node, const struct stack *found)
{
	size_t n = 0;

	recalls++;
	for (; node; node = nodes[node - 1].parent, n++)
		assert_true(n < found->n && found->frames[n] == nodes[node - 1].pc);
	assert_int_equal(n, found->n);
}

/* Three walks from here: with what the last one left, from nothing, and libgcc's. */
static __attribute__((noinline)) void check_here(void)
{
	const uint64_t *frame = __builtin_frame_address(0);
	const struct walk_registers from = { .bp = frame[0],
					     .pc = frame[1],
					     .sp = (uintptr_t)(frame + 2) };
	struct walker *fresh = calloc(1, sizeof(*fresh));
	struct stack ours, from_nothing, theirs = { .n = 0 };

	uint32_t recalled = walk_recall(walker, &from), node;

	assert_non_null(fresh);
	walk(fresh, &from);
	take(fresh, &from_nothing);
	free(fresh);
	if (recalled)
		check_recalled(recalled, &from_nothing);
	/* Where it is recalled the path may stay as it is. */
	if (recalled && random_below(&others, 2))
		return;
	walk(walker, &from);
	assert_int_equal(walker->cut, ABI_CUT_NONE);
	take(walker, &ours);
	walks++;
	joins += walker->joined > 0;
	node = give_nodes(walker);
	walk_keep(walker);
	walk_note(walker, &from, node);
	assert_same(&ours, &from_nothing);
	_Unwind_Backtrace(add_frame, &theirs);
	/* It begins with this function, and may end with an address of 0. */
	while (theirs.n && !theirs.frames[theirs.n - 1])
		theirs.n--;
	theirs.n--;
	memmove(theirs.frames, theirs.frames + 1, theirs.n * sizeof(theirs.frames[0]));
	/* libgcc's ends where there is no information, as where makecontext() begins a stack. */
	ours.n = ours.n_sure;
	assert_same(&ours, &theirs);
}

static __attribute__((noinline)) int descend(unsigned depth);

/* With a frame pointer, as its frame has no fixed size. */
static __attribute__((noinline)) int with_alloca(unsigned depth)
{
	volatile char *room = alloca(1 + random_below(&numbers, 200));

	room[0] = (char)depth;
	return descend(depth) + room[0];
}

static __attribute__((noinline)) int from_two_places(unsigned depth)
{
	if (random_below(&numbers, 2))
		return descend(depth) + 1;
	return descend(depth) + 2;
}

static __attribute__((noinline)) int with_room(unsigned depth)
{
	volatile char room[120];

	room[depth % sizeof(room)] = 1;
	return descend(depth) + room[depth % sizeof(room)];
}

static __attribute__((noinline)) int descend(unsigned depth)
{
	int sum = 0;

	if (random_below(&numbers, 3) == 0)
		check_here();
	if (depth == 0)
		return 1;
	for (unsigned n = 1 + random_below(&numbers, 2); n > 0; n--)
		switch (random_below(&numbers, 3)) {
		case 0:
			sum += with_alloca(depth - 1);
			break;
		case 1:
			sum += from_two_places(depth - 1);
			break;
		default:
			sum += with_room(depth - 1);
			break;
		}
	return sum;
}

static int begin(void **state)
{
	(void)state;
	numbers = random_from(1);
	others = random_from(2);
	walks = joins = recalls = 0;
	walker = calloc(1, sizeof(*walker));
	return walker && walk_rules_begin(_dl_find_object) ? 0 : -1;
}

static int done(void **state)
{
	(void)state;
	free(walker);
	return 0;
}

static void stacks_are_those_of_libgcc(void **state)
{
	(void)state;
	for (unsigned depth = 1; depth < 10; depth++)
		for (int i = 0; i < 20; i++)
			(void)descend(depth); /* what it computes keeps frames alive */
	assert_true(walks > 1000);
	assert_true(joins > walks * 9 / 10);
	assert_true(recalls > 0);
}

/* The same few descents, by turns: most of their stacks are those of some before. */
static void stacks_that_come_again_are_recalled(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 300; i++) {
		numbers = random_from(1 + i % 3);
		(void)descend(3); /* as above */
	}
	assert_true(recalls > walks);
}

/* So many hashes of stacks of before have any. */
static unsigned hashes_written(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < WALK_RECALLED; i++) {
		bool any = false;

		for (unsigned way = 0; way < WALK_RECALLED_WAYS; way++)
			any |= walker->recalled[i][way].pc != 0;
		n += any;
	}
	return n;
}

/* A thread of few stacks writes few pages. */
static void memory_of_stacks_that_come_again_grows_with_their_number(void **state)
{
	(void)state;
	while (walker->n_noted < 4 * WALK_RECALLED_WAYS)
		(void)descend(3); /* as above */
	assert_true(hashes_written() * WALK_RECALLED_WAYS <= 2 * walker->n_noted);
	for (int i = 0; i < 200; i++)
		(void)descend(9); /* as above */
	assert_true(walker->n_noted > WALK_RECALLED * WALK_RECALLED_WAYS);
	assert_true(hashes_written() > WALK_RECALLED / 2);
}

static void *in_thread(void *data)
{
	(void)data;
	memset(&walker->home, 0, sizeof(walker->home));
	walker->n_path = 0;
	(void)descend(6); /* as above */
	return NULL;
}

static void those_of_threads_end_where_these_begin(void **state)
{
	pthread_t thread;

	(void)state;
	for (int i = 0; i < 10; i++) {
		assert_int_equal(pthread_create(&thread, NULL, in_thread, NULL), 0);
		assert_int_equal(pthread_join(thread, NULL), 0);
	}
}

static void on_signal(int number)
{
	(void)number;
	(void)descend(4); /* as above */
}

static void interrupt(int flags)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = flags };

	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(raise(SIGUSR1), 0);
		(void)descend(3); /* as above */
	}
}

static void those_of_handlers_go_on_with_what_was_interrupted(void **state)
{
	(void)state;
	interrupt(0);
}

static void so_do_those_on_an_alternate_stack(void **state)
{
	stack_t stack = { .ss_sp = malloc(ALTERNATE_STACK), .ss_size = ALTERNATE_STACK };
	stack_t none = { .ss_flags = SS_DISABLE };

	(void)state;
	assert_non_null(stack.ss_sp);
	assert_int_equal(sigaltstack(&stack, NULL), 0);
	interrupt(SA_ONSTACK);
	assert_int_equal(sigaltstack(&none, NULL), 0);
	free(stack.ss_sp);
}

static void walk_in_context(void)
{
	(void)descend(4); /* as above */
}

static void those_of_other_contexts_are_read_page_by_page(void **state)
{
	static ucontext_t back, context;
	char *room = malloc(ALTERNATE_STACK);

	(void)state;
	assert_non_null(room);
	for (int i = 0; i < 10; i++) {
		assert_int_equal(getcontext(&context), 0);
		context.uc_stack.ss_sp = room;
		context.uc_stack.ss_size = ALTERNATE_STACK;
		context.uc_link = &back;
		makecontext(&context, walk_in_context, 0);
		assert_int_equal(swapcontext(&back, &context), 0);
		(void)descend(3); /* as above */
	}
	free(room);
}

static __attribute__((noinline)) int recurse(unsigned depth)
{
	volatile int here = (int)depth;

	if (depth == 0) {
		const uint64_t *frame = __builtin_frame_address(0);
		const struct walk_registers from = { .bp = frame[0],
						     .pc = frame[1],
						     .sp = (uintptr_t)(frame + 2) };

		walk(walker, &from);
		walk_keep(walker);
		return here;
	}
	return recurse(depth - 1) + here;
}

static void deep_stacks_lose_their_outermost_frames(void **state)
{
	struct stack stack;

	(void)state;
	for (int i = 0; i < 2; i++) {
		(void)recurse(ABI_MAX_FRAMES * 2); /* as above */
		assert_int_equal(walker->cut, ABI_CUT_LIMIT);
		take(walker, &stack);
		assert_int_equal(stack.n, ABI_MAX_FRAMES);
	}
	/* What a path has may be joined up to the limit alone. */
	(void)recurse(ABI_MAX_FRAMES - 50);
	assert_int_equal(walker->cut, ABI_CUT_NONE);
	(void)recurse(ABI_MAX_FRAMES + 50);
	assert_int_equal(walker->cut, ABI_CUT_LIMIT);
	take(walker, &stack);
	assert_int_equal(stack.n, ABI_MAX_FRAMES);
}

#define CALLER_OF(frame_)                                                                          \
	((struct walk_registers){                                                                  \
		.bp = (frame_)[0], .pc = (frame_)[1], .sp = (uintptr_t)((frame_) + 2) })

static struct walk_registers outer;
static enum walk_meeting met;

static __attribute__((noinline)) int call_again(int depth)
{
	const uint64_t *frame = __builtin_frame_address(0);
	volatile int here = depth;

	if (depth > 0)
		return call_again(depth - 1) + here;
	met = walk_meets(walker, &CALLER_OF(frame), outer.sp, outer.pc);
	return here;
}

static void on_signal_call(int signal)
{
	(void)call_again(signal % 3); /* the stack is what matters */
}

static __attribute__((noinline)) void call(bool by_signal)
{
	const uint64_t *frame = __builtin_frame_address(0);

	outer = CALLER_OF(frame);
	if (by_signal)
		assert_int_equal(raise(SIGUSR1), 0);
	else
		(void)call_again(3); /* as above */
}

static void a_call_that_goes_on_is_met_and_one_that_was_left_is_not(void **state)
{
	const struct sigaction action = { .sa_handler = on_signal_call };

	(void)state;
	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	for (int i = 0; i < 10; i++) {
		call(false);
		assert_int_equal(met, WALK_MEETS);
		for (int depth = 0; depth < 5; depth++) {
			(void)call_again(depth); /* as above */
			assert_int_equal(met, WALK_MEETS_NOT);
		}
		call(true);
		assert_int_equal(met, WALK_MEETS_INTERRUPTED);
		check_here(); /* and a path is kept meanwhile */
	}
}

/* Registers that lead nowhere end a walk, and no read of it is a fault. */
static void wild_registers_are_no_fault(void **state)
{
	(void)state;
	for (int i = 0; i < 100000; i++) {
		struct walk_registers from = { .pc = (uintptr_t)&recurse + 8,
					       .sp = (uintptr_t)&from,
					       .bp = random_next(&numbers) };

		switch (random_below(&numbers, 4)) {
		case 0:
			from.pc = random_next(&numbers) >> 16;
			break;
		case 1:
			from.sp = random_next(&numbers) >> 16;
			break;
		case 2:
			from.bp = from.sp + random_below(&numbers, 1 << 20) * 8;
			break;
		default:
			from.pc += random_below(&numbers, 1 << 16);
			break;
		}
		walk(walker, &from);
		walk_keep(walker);
	}
}

static void walk_anew_from_depth(unsigned depth)
{
	memset(walker, 0, sizeof(*walker));
	(void)recurse(depth); /* what it computes keeps frames alive */
}

static void *walk_filtered(void *data)
{
	pthread_attr_t attr;
	uint64_t low;
	void *stack;
	size_t size;

	assert_int_equal(pthread_getattr_np(pthread_self(), &attr), 0);
	assert_int_equal(pthread_attr_getstack(&attr, &stack, &size), 0);
	assert_int_equal(pthread_attr_destroy(&attr), 0);
	low = (uintptr_t)stack;
	book_filters = 1;
	walk_anew_from_depth(300);
	assert_int_not_equal(walker->cut, ABI_CUT_NONE);
	for (int i = 0; i < 2; i++) {
		walk_note_readable(4096, 8192);
		walk_note_readable(low, low + size / 2 / 4096 * 4096);
		walk_note_readable(low + size / 2 / 4096 * 4096, low + size);
		walk_note_readable(low + size + 4096, low + size + 8192);
		walk_anew_from_depth(300);
		assert_int_equal(walker->cut, ABI_CUT_NONE);
	}
	book_filters = 0;
	return data;
}

/* Where the kernel is not asked; what was noted last holds. */
/* Memory behind a stack, to which rbp led once, is gone the next time. */
static void what_a_frame_pointer_leads_to_is_not_the_stacks(void **state)
{
	struct walker *fresh = calloc(1, sizeof(*fresh));
	uint64_t *stack =
		mmap(NULL, 4 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t *behind = stack + 2 * 512 - 1; /* one word in each of two pages */
	const struct walk_registers from = { .bp = (uintptr_t)behind,
					     .pc = (uintptr_t)stack,
					     .sp = (uintptr_t)(stack + 8) };

	(void)state;
	assert_non_null(fresh);
	assert_true((void *)stack != MAP_FAILED);
	behind[1] = (uintptr_t)stack;
	for (int i = 0; i < 2; i++) {
		walk(fresh, &from);
		assert_int_equal(fresh->n_fresh, 2 - i);
		assert_int_equal(munmap(stack + 512, 3 * 4096), 0);
	}
	free(fresh);
	assert_int_equal(munmap(stack, 4096), 0);
}

static void behind_a_filter_what_was_readable_before_is_read(void **state)
{
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, walk_filtered, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

/* push %rbp; mov %rsp,%rbp; call *%rdi; pop %rbp; ret: of no object. */
static const uint8_t made_code[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3 };

/* Of its caller, which has no information: how many frames are new, the others being compared. */
static uint32_t n_new;
static __attribute__((noinline)) void walk_from_made_code(void)
{
	const uint64_t *frame = __builtin_frame_address(0);
	const struct walk_registers from = { .bp = frame[0],
					     .pc = frame[1],
					     .sp = (uintptr_t)(frame + 2) };
	struct walker *fresh = calloc(1, sizeof(*fresh));
	struct stack ours, from_nothing;

	assert_non_null(fresh);
	walk(fresh, &from);
	take(fresh, &from_nothing);
	free(fresh);
	walk(walker, &from);
	assert_int_equal(walker->cut, ABI_CUT_NONE);
	take(walker, &ours);
	assert_same(&ours, &from_nothing);
	assert_true(walk_frame_at(walker, 0)->flags & ABI_BOOK_GUIDED);
	n_new = walker->n_fresh;
	(void)give_nodes(walker);
	walk_keep(walker);
}

static void callers_without_information_are_compared_until_code_is_loaded(void **state)
{
	void *made = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*code)(void (*function)(void)) = (void (*)(void (*)(void)))made;
	void *library = dlopen("libm.so.6", RTLD_NOW);

	(void)state;
	assert_true(made != MAP_FAILED);
	assert_non_null(library);
	memcpy(made, made_code, sizeof(made_code));
	assert_int_equal(mprotect(made, 4096, PROT_READ | PROT_EXEC), 0);
	for (volatile int i = 0; i < 4; i++) {
		if (i == 3)
			(void)walk_rule((uintptr_t)dlsym(library, "cbrt")); /* that it is asked */
		code(walk_from_made_code);
		assert_true(i % 3 == 0 ? n_new > 2 : n_new == 0);
	}
	code(walk_from_made_code);
	assert_in_range(n_new, 1, 2);
	assert_int_equal(dlclose(library), 0);
	assert_int_equal(munmap(made, 4096), 0);
}

/* Of the caller of what calls it, and what is noted of that. */
static uint32_t walk_and_note(const struct walk_registers *from)
{
	uint32_t node;

	walk(walker, from);
	assert_int_equal(walker->cut, ABI_CUT_NONE);
	node = give_nodes(walker);
	walk_keep(walker);
	walk_note(walker, from, node);
	return node;
}

/* The same, but as long as the word is another one. */
static void assert_not_recalled(const struct walk_registers *from, uint64_t *word)
{
	*word ^= 8;
	assert_int_equal(walk_recall(walker, from), 0);
	*word ^= 8;
}

/* Its caller goes by rbp, of which the first word is its caller's and the second where it is. */
static uint32_t noted;
static __attribute__((noinline)) void recall_from_made_code(void)
{
	uint64_t *frame = __builtin_frame_address(0);
	const struct walk_registers from = { .bp = frame[0],
					     .pc = frame[1],
					     .sp = (uintptr_t)(frame + 2) };
	uint64_t *words = (uint64_t *)(uintptr_t)from.bp;

	if (!noted) {
		noted = walk_and_note(&from);
		assert_true(walk_frame_at(walker, 0)->flags & ABI_BOOK_GUIDED);
		assert_true(walker->joined > 0 && walker->path[walker->n_path - 2].needs_bp);
		return;
	}
	/* A stack of before, then the last one: all their words are compared. */
	for (int is_last = 0; is_last < 2; is_last++) {
		assert_int_equal(walk_recall(walker, &from), noted);
		assert_not_recalled(&from, &words[0]);
		assert_not_recalled(&from, &words[1]);
		assert_int_equal(walk_recall(walker, &from), noted);
		assert_int_equal(walk_and_note(&from), noted);
	}
}

static __attribute__((noinline)) void recall_beside(void (*code)(void (*function)(void)))
{
	const uint64_t *frame = __builtin_frame_address(0);
	const struct walk_registers from = { .bp = frame[0],
					     .pc = frame[1],
					     .sp = (uintptr_t)(frame + 2) };
	volatile char *room = alloca(1 + random_below(&numbers, 1)); /* so that it goes by rbp */

	code(walk_from_made_code); /* the stack is known down to there */
	for (int i = 0; i < 2; i++) {
		room[0] = (char)walk_and_note(&from);
		code(recall_from_made_code);
	}
}

static void a_stack_without_information_whose_words_have_changed_is_not_recalled(void **state)
{
	void *made = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_true(made != MAP_FAILED);
	memcpy(made, made_code, sizeof(made_code));
	assert_int_equal(mprotect(made, 4096, PROT_READ | PROT_EXEC), 0);
	noted = 0;
	recall_beside((void (*)(void (*function)(void)))made);
	assert_true(noted);
	assert_int_equal(munmap(made, 4096), 0);
}

/* More addresses than a table has room for, several times over: all by their own rules. */
static void rules_are_the_same_when_others_have_their_places(void **state)
{
	enum { ADDRESSES = 60000, APART = 16 };
	struct abi_unwind_rule *first = calloc(ADDRESSES, sizeof(*first));
	const uint64_t code = (uintptr_t)qsort & ~UINT64_C(0xfff);
	bool differ = false;

	(void)state;
	assert_non_null(first);
	for (int pass = 0; pass < 3; pass++)
		for (uint64_t i = 0; i < ADDRESSES; i++) {
			struct abi_unwind_rule rule = walk_rule(code + i * APART);

			if (pass == 0)
				first[i] = rule;
			assert_memory_equal(&rule, &first[i], sizeof(rule));
			differ |= rule.kind != first[0].kind;
		}
	assert_true(differ);
	free(first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(stacks_are_those_of_libgcc, begin, done),
		cmocka_unit_test_setup_teardown(stacks_that_come_again_are_recalled, begin, done),
		cmocka_unit_test_setup_teardown(
			memory_of_stacks_that_come_again_grows_with_their_number, begin, done),
		cmocka_unit_test_setup_teardown(rules_are_the_same_when_others_have_their_places,
						begin, done),
		cmocka_unit_test_setup_teardown(those_of_threads_end_where_these_begin, begin,
						done),
		cmocka_unit_test_setup_teardown(those_of_handlers_go_on_with_what_was_interrupted,
						begin, done),
		cmocka_unit_test_setup_teardown(so_do_those_on_an_alternate_stack, begin, done),
		cmocka_unit_test_setup_teardown(those_of_other_contexts_are_read_page_by_page,
						begin, done),
		cmocka_unit_test_setup_teardown(deep_stacks_lose_their_outermost_frames, begin,
						done),
		cmocka_unit_test_setup_teardown(
			a_call_that_goes_on_is_met_and_one_that_was_left_is_not, begin, done),
		cmocka_unit_test_setup_teardown(
			callers_without_information_are_compared_until_code_is_loaded, begin, done),
		cmocka_unit_test_setup_teardown(
			a_stack_without_information_whose_words_have_changed_is_not_recalled, begin,
			done),
		cmocka_unit_test_setup_teardown(wild_registers_are_no_fault, begin, done),
		cmocka_unit_test_setup_teardown(what_a_frame_pointer_leads_to_is_not_the_stacks,
						begin, done),
		cmocka_unit_test_setup_teardown(behind_a_filter_what_was_readable_before_is_read,
						begin, done),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
