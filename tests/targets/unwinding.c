/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * unwinding KIND N: allocates N times on stacks of one kind, and prints how often. Built several
 * times, with other options of the compiler (targets.mk), which must not change what it does.
 */
#include "tests/targets/target.h"

#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>

#define NOINLINE __attribute__((noinline, noclone))
#define MAX_DEPTH 24
#define STACK_BYTES 65536

/* What the compiler must not see through. */
static volatile unsigned int sink;
static unsigned long allocated;

static NOINLINE void allocate(unsigned int n)
{
	char *block = malloc(16 + n % 64);

	CHECK(block);
	block[0] = (char)n;
	sink += (unsigned char)block[0];
	free(block);
	__atomic_fetch_add(&allocated, 1, __ATOMIC_RELAXED);
}

/* --- frames of varied size, six callee-saved registers in use -------------------------------- */

static NOINLINE unsigned int deeper(unsigned int n, unsigned int depth, unsigned int a,
				    unsigned int b, unsigned int c, unsigned int d)
{
	if (depth == 0)
		allocate(n);
	else
		sink += deeper(n, depth - 1, a + n, b ^ a, c + b, d ^ c);
	return a + b + c + d + n;
}

static void plain(unsigned int n)
{
	sink += deeper(n, n % MAX_DEPTH, n, n + 1, n + 2, n + 3);
}

static NOINLINE void with_alloca(unsigned int n, unsigned int depth)
{
	size_t len = 8 + n % 500;
	char *room = alloca(len);

	memset(room, (int)n, len);
	if (depth == 0)
		allocate(n);
	else
		with_alloca(n * 7 + 1, depth - 1);
	sink += (unsigned char)room[len - 1];
}

static NOINLINE void with_vla(unsigned int n, unsigned int depth)
{
	unsigned int room[1 + n % 100];

	memset(room, (int)n, sizeof(room));
	if (depth == 0)
		allocate(n);
	else
		with_vla(n * 5 + 3, depth - 1);
	sink += room[n % 100];
}

static void variable(unsigned int n)
{
	if (n % 2)
		with_alloca(n, n % MAX_DEPTH);
	else
		with_vla(n, n % MAX_DEPTH);
}

/* Aligned locals and a variable frame: the frame begins at *(rbp + k) (GCC's DRAP). */
static NOINLINE void realigned(unsigned int n, unsigned int depth)
{
	_Alignas(64) unsigned char lanes[128];
	char *room = alloca(8 + n % 200);

	memset(lanes, (int)n, sizeof(lanes));
	memset(room, (int)n, 8);
	if (depth == 0)
		allocate(n);
	else if (depth % 3 == 0)
		sink += deeper(n, depth - 1, n, n, n, n);
	else
		realigned(n * 3 + 1, depth - 1);
	sink += lanes[n % 128] + (unsigned char)room[0];
}

/* Vectors that no call keeps in registers: their places in the frame are aligned (AVX). */
typedef double vector __attribute__((vector_size(32)));

static NOINLINE void with_vectors(unsigned int n, unsigned int depth)
{
	vector a = { n, n + 1, n + 2, n + 3 }, b = a * sink, c = a + b;

	if (depth == 0)
		allocate(n);
	else
		with_vectors(n * 3 + 1, depth - 1);
	a = a * b + c;
	sink += (unsigned int)(a[0] + a[1] + a[2] + a[3]);
}

static void aligned(unsigned int n)
{
	if (n % 2)
		realigned(n, n % MAX_DEPTH);
	else
		with_vectors(n, n % MAX_DEPTH);
}

static int by_value(const void *a, const void *b)
{
	const unsigned int *x = a, *y = b;

	allocate(*x);
	return *x < *y ? -1 : *x > *y;
}

/* A caller that is libc's. Four values: at least three comparisons. */
static void sorted(unsigned int n)
{
	unsigned int values[4] = { n % 7, n % 5, n % 3, n % 2 };

	qsort(values, 4, sizeof(values[0]), by_value);
	sink += values[0];
}

/* --- signals --------------------------------------------------------------------------------- */

static volatile sig_atomic_t handled;

static void on_signal(int sig)
{
	sink += deeper(handled, handled % 5, 1, 2, 3, 4);
	handled++;
	if (sig == SIGUSR1 && handled % 3 == 0)
		raise(SIGUSR2);
}

static void handle(int sig, int flags)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = flags | SA_RESTART };

	CHECK(sigaction(sig, &action, NULL) == 0);
}

static NOINLINE unsigned int raise_below(unsigned int depth)
{
	unsigned int result = depth;

	if (depth == 0)
		CHECK(raise(SIGUSR1) == 0);
	else
		result += raise_below(depth - 1);
	return result + sink;
}

static void raised(unsigned int n)
{
	handle(SIGUSR1, 0);
	handle(SIGUSR2, 0);
	sink += raise_below(n % MAX_DEPTH);
}

static void on_other_stack(unsigned int n)
{
	static char room[STACK_BYTES];
	stack_t stack = { .ss_sp = room, .ss_size = sizeof(room) };

	CHECK(sigaltstack(&stack, NULL) == 0);
	handle(SIGUSR1, SA_ONSTACK);
	handle(SIGUSR2, SA_ONSTACK);
	sink += raise_below(n % MAX_DEPTH);
}

/* Work without a system call, and without malloc, whose lock a handler must not meet. */
static NOINLINE unsigned int fibonacci(unsigned int n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static NOINLINE unsigned int work(unsigned int n)
{
	char text[64], copy[64];
	unsigned int values[16];

	snprintf(text, sizeof(text), "%u-%x", n, n);
	memcpy(copy, text, sizeof(copy));
	for (unsigned int i = 0; i < 16; i++)
		values[i] = fibonacci(i % 8) ^ n;
	return values[n % 16] + strlen(copy) + fibonacci(9);
}

/* Interrupted anywhere: in the middle of prologues and epilogues, too. */
static void interrupted(unsigned int n)
{
	const struct itimerval often = { { 0, 100 }, { 0, 100 } }, never = { { 0, 0 }, { 0, 0 } };

	handle(SIGALRM, 0);
	CHECK(setitimer(ITIMER_REAL, &often, NULL) == 0);
	for (unsigned int i = 0; handled < (sig_atomic_t)n; i++)
		sink += work(i);
	CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
}

/* --- threads and other stacks ---------------------------------------------------------------- */

static void *in_thread(void *arg)
{
	unsigned int n = (unsigned int)(uintptr_t)arg;

	for (unsigned int i = 0; i < n; i++)
		plain(i);
	return NULL;
}

static void threads(unsigned int n)
{
	pthread_t all[4];

	for (size_t i = 0; i < 4; i++)
		CHECK(pthread_create(&all[i], NULL, in_thread, (void *)(uintptr_t)(n / 4)) == 0);
	for (size_t i = 0; i < 4; i++)
		CHECK(pthread_join(all[i], NULL) == 0);
}

#ifdef __GLIBC__ /* musl has none of it */
static ucontext_t main_context, side_context;

static void in_context(void)
{
	for (unsigned int i = 0;; i++) {
		plain(i);
		CHECK(swapcontext(&side_context, &main_context) == 0);
	}
}

static void contexts(unsigned int n)
{
	static char room[STACK_BYTES];

	CHECK(getcontext(&side_context) == 0);
	side_context.uc_stack.ss_sp = room;
	side_context.uc_stack.ss_size = sizeof(room);
	makecontext(&side_context, in_context, 0);
	for (unsigned int i = 0; i < n; i++)
		CHECK(swapcontext(&main_context, &side_context) == 0);
}
#else
static void contexts(unsigned int n)
{
	CHECK(n == 0);
}
#endif

/* Saves the callee-saved registers on the stack that is left, as coroutine libraries do. */
void switch_stack(void **save, void *load);
__asm__(".pushsection .text\n"
	".globl switch_stack\n"
	".type switch_stack, @function\n"
	"switch_stack:\n"
	".cfi_startproc\n"
	"	push %rbp\n	.cfi_adjust_cfa_offset 8\n	.cfi_rel_offset %rbp, 0\n"
	"	push %rbx\n	.cfi_adjust_cfa_offset 8\n	.cfi_rel_offset %rbx, 0\n"
	"	push %r12\n	.cfi_adjust_cfa_offset 8\n	.cfi_rel_offset %r12, 0\n"
	"	push %r13\n	.cfi_adjust_cfa_offset 8\n	.cfi_rel_offset %r13, 0\n"
	"	push %r14\n	.cfi_adjust_cfa_offset 8\n	.cfi_rel_offset %r14, 0\n"
	"	push %r15\n	.cfi_adjust_cfa_offset 8\n	.cfi_rel_offset %r15, 0\n"
	"	mov %rsp, (%rdi)\n"
	"	mov %rsi, %rsp\n"
	"	pop %r15\n	.cfi_adjust_cfa_offset -8\n	.cfi_restore %r15\n"
	"	pop %r14\n	.cfi_adjust_cfa_offset -8\n	.cfi_restore %r14\n"
	"	pop %r13\n	.cfi_adjust_cfa_offset -8\n	.cfi_restore %r13\n"
	"	pop %r12\n	.cfi_adjust_cfa_offset -8\n	.cfi_restore %r12\n"
	"	pop %rbx\n	.cfi_adjust_cfa_offset -8\n	.cfi_restore %rbx\n"
	"	pop %rbp\n	.cfi_adjust_cfa_offset -8\n	.cfi_restore %rbp\n"
	"	ret\n"
	".cfi_endproc\n"
	".size switch_stack, . - switch_stack\n"
	".popsection\n");

static void *main_sp, *side_sp;

static void in_coroutine(void)
{
	for (unsigned int i = 0;; i++) {
		plain(i);
		switch_stack(&side_sp, main_sp);
	}
}

static void coroutines(unsigned int n)
{
	static _Alignas(16) void *room[STACK_BYTES / sizeof(void *)];
	/* below: a return address of 0, and six registers */
	void **top = room + sizeof(room) / sizeof(room[0]) - 2;

	*--top = NULL;
	*--top = (void *)in_coroutine;
	side_sp = top - 6;
	for (unsigned int i = 0; i < n; i++)
		switch_stack(&main_sp, side_sp);
}

/* --- hand-written code ----------------------------------------------------------------------- */

/*
 * Calls fn(n): with information on its frame, by rsp or by another register, with a frame pointer
 * alone, with neither.
 */
void call_told(void (*fn)(unsigned int), unsigned int n);
void call_by_rbx(void (*fn)(unsigned int), unsigned int n);
void call_framed(void (*fn)(unsigned int), unsigned int n);
void call_bare(void (*fn)(unsigned int), unsigned int n);
__asm__(".pushsection .text\n"
	".type call_told, @function\n"
	".globl call_told\n"
	"call_told:\n"
	".cfi_startproc\n"
	"	sub $88, %rsp\n	.cfi_adjust_cfa_offset 88\n"
	"	mov %rdi, %rax\n	mov %esi, %edi\n"
	"	push %rbp\n	.cfi_adjust_cfa_offset 8\n	.cfi_rel_offset %rbp, 0\n"
	"	push %rbp\n	.cfi_adjust_cfa_offset 8\n"
	"	xor %ebp, %ebp\n"
	"	call *%rax\n"
	"	pop %rbp\n	.cfi_adjust_cfa_offset -8\n"
	"	pop %rbp\n	.cfi_adjust_cfa_offset -8\n	.cfi_restore %rbp\n"
	"	add $88, %rsp\n	.cfi_adjust_cfa_offset -88\n"
	"	ret\n"
	".cfi_endproc\n"
	".size call_told, . - call_told\n"
	".type call_by_rbx, @function\n"
	".globl call_by_rbx\n"
	"call_by_rbx:\n"
	".cfi_startproc\n"
	"	push %rbx\n	.cfi_adjust_cfa_offset 8\n	.cfi_rel_offset %rbx, 0\n"
	"	mov %rsp, %rbx\n	.cfi_def_cfa_register %rbx\n"
	"	sub $120, %rsp\n	and $-16, %rsp\n"
	"	mov %rdi, %rax\n	mov %esi, %edi\n"
	"	call *%rax\n"
	"	mov %rbx, %rsp\n	.cfi_def_cfa_register %rsp\n"
	"	pop %rbx\n	.cfi_adjust_cfa_offset -8\n	.cfi_restore %rbx\n"
	"	ret\n"
	".cfi_endproc\n"
	".size call_by_rbx, . - call_by_rbx\n"
	".type call_framed, @function\n"
	".globl call_framed\n"
	"call_framed:\n"
	"	push %rbp\n	mov %rsp, %rbp\n"
	"	sub $64, %rsp\n"
	"	mov %rdi, %rax\n	mov %esi, %edi\n"
	"	call *%rax\n"
	"	leave\n	ret\n"
	".size call_framed, . - call_framed\n"
	".type call_bare, @function\n"
	".globl call_bare\n"
	"call_bare:\n"
	"	sub $104, %rsp\n"
	"	mov %rdi, %rax\n	mov %esi, %edi\n"
	"	call *%rax\n"
	"	add $104, %rsp\n	ret\n"
	".size call_bare, . - call_bare\n"
	".popsection\n");

static void told(unsigned int n)
{
	call_told(plain, n);
}

static void by_rbx(unsigned int n)
{
	call_by_rbx(plain, n);
}

static void by_rbx_outside(unsigned int n)
{
	call_by_rbx(sorted, n);
}

static void framed(unsigned int n)
{
	call_framed(plain, n);
}

static void bare(unsigned int n)
{
	call_bare(plain, n);
}

/* --- stubs ----------------------------------------------------------------------------------- */

/*
 * Jumps through a table that cannot be read: whoever handles the fault has one on its stack, as a
 * signal sometimes has that interrupts one. They are those of linkers, without information.
 */
__attribute__((used, visibility("hidden"), aligned(4096))) char no_table[4096];
void jump_short(void);
void jump_marked(void);
void jump_bound(void);
void jump_lazy(void);
extern const char jump_back[];
__asm__(".pushsection .text\n"
	".p2align 4\n"
	".type jump_short, @function\n"
	"jump_short:\n"
	"	jmp *no_table(%rip)\n	.byte 0x66, 0x90\n"
	".size jump_short, . - jump_short\n"
	".p2align 4\n"
	".type jump_marked, @function\n"
	"jump_marked:\n"
	"	endbr64\n	jmp *no_table(%rip)\n	.byte 0x66, 0x0f, 0x1f, 0x44, 0, 0\n"
	".size jump_marked, . - jump_marked\n"
	".type jump_bound, @function\n"
	"jump_bound:\n"
	"	endbr64\n	.byte 0xf2\n	jmp *no_table(%rip)\n"
	"	.byte 0x0f, 0x1f, 0x44, 0, 0\n"
	".size jump_bound, . - jump_bound\n"
	".type jump_lazy, @function\n"
	"jump_lazy:\n"
	"	jmp *no_table(%rip)\n	push $0x12345678\n	.byte 0xe9, 0, 0, 0, 0\n"
	".size jump_lazy, . - jump_lazy\n"
	".type jump_back, @function\n"
	"jump_back:\n"
	".cfi_startproc\n"
	"	ret\n"
	".cfi_endproc\n"
	".size jump_back, . - jump_back\n"
	".popsection\n");

static void on_fault(int sig, siginfo_t *info, void *context)
{
	ucontext_t *interrupted_by = context;

	(void)info;
	on_signal(sig);
	interrupted_by->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)jump_back;
}

static void stubs(unsigned int n)
{
	static void (*const jumps[])(void) = { jump_short, jump_marked, jump_bound, jump_lazy };
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };

	CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
	CHECK(mprotect(no_table, sizeof(no_table), PROT_NONE) == 0);
	jumps[n % 4]();
	sink += n;
}

/* --------------------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	void (*each)(unsigned int n); /* called with 0, 1, ... until there were enough, */
	void (*all)(unsigned int n);  /* or once for all */
} kinds[] = {
	{ "plain", plain, NULL },
	{ "variable", variable, NULL },
	{ "aligned", aligned, NULL },
	{ "sorted", sorted, NULL },
	{ "raised", raised, NULL },
	{ "altstack", on_other_stack, NULL },
	{ "interrupted", NULL, interrupted },
	{ "threads", NULL, threads },
	{ "contexts", NULL, contexts },
	{ "coroutines", NULL, coroutines },
	{ "told", told, NULL },
	{ "rbx", by_rbx, NULL },
	{ "rbx-outside", by_rbx_outside, NULL },
	{ "framed", framed, NULL },
	{ "bare", bare, NULL },
	{ "stubs", stubs, NULL },
};

int main(int argc, char **argv)
{
	unsigned int n = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;

	for (size_t i = 0; argc > 2 && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(argv[1], kinds[i].name) != 0)
			continue;
		if (kinds[i].all)
			kinds[i].all(n);
		for (unsigned int k = 0; kinds[i].each && allocated < n; k++)
			kinds[i].each(k);
		printf("%lu\n", allocated);
		return 0;
	}
	fprintf(stderr, "usage: unwinding KIND N\n");
	return 1;
}
