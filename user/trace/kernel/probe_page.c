/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/kernel/probe_page.h"

#include "base/clock.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define FUNCTION_BYTES 32
#define PAGE_BYTES 4096
#define HITS 24

struct probe_page {
	int fd;
	unsigned char *code;
	char path[32];
};

void probe_page_free(struct probe_page *page)
{
	if (!page)
		return;
	if (page->code)
		munmap(page->code, PAGE_BYTES);
	if (page->fd >= 0)
		close(page->fd);
	free(page);
}

int probe_page_new(struct probe_page **ret_page)
{
	_cleanup_(probe_page_free_p) struct probe_page *page = calloc(1, sizeof(*page));
	unsigned char bytes[PAGE_BYTES];
	size_t n;
	const struct probe_kind *kinds = probe_kinds(&n);
	void *mem;

	if (!page)
		return -ENOMEM;
	page->fd = memfd_create("memtraced-try", MFD_CLOEXEC);
	if (page->fd < 0)
		return -errno;
	memset(bytes, 0xcc, sizeof(bytes));
	for (size_t i = 0; i < n; i++)
		memcpy(bytes + i * FUNCTION_BYTES, kinds[i].code, sizeof(kinds[i].code));
	/* the function for probe_page_filtered_child */
	memcpy(bytes + n * FUNCTION_BYTES, kinds[PROBE_KIND_EMULATED].code, sizeof(kinds[0].code));
	if (write(page->fd, bytes, sizeof(bytes)) != sizeof(bytes))
		return -EIO;
	mem = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, page->fd, 0);
	if (mem == MAP_FAILED)
		return -errno;
	page->code = mem;
	snprintf(page->path, sizeof(page->path), "/proc/self/fd/%d", page->fd);
	*ret_page = TAKE_PTR(page);
	return 0;
}

const char *probe_page_path(const struct probe_page *page)
{
	return page->path;
}

size_t probe_page_sites(const struct probe_page *page, struct uprobe_site sites[PROBE_PAGE_KINDS])
{
	size_t n;
	const struct probe_kind *kinds = probe_kinds(&n);

	(void)page; /* every page is laid out alike */
	for (size_t i = 0; i < n && i < PROBE_PAGE_KINDS; i++)
		sites[i] = (struct uprobe_site){
			.offset = i * FUNCTION_BYTES + kinds[i].site,
			.cookie = i,
		};
	return n;
}

struct uprobe_site probe_page_call_site(const struct probe_page *page)
{
	size_t n;

	(void)page; /* every page is laid out alike */
	(void)probe_kinds(&n);
	return (struct uprobe_site){ .offset = n * FUNCTION_BYTES };
}

static void call_code(const struct probe_page *page, size_t i)
{
	void (*fn)(long) = (void (*)(long))(page->code + i * FUNCTION_BYTES);

	fn(0);
}

/* The least of several hits: interrupts only ever add. */
static unsigned int hit_ns(const struct probe_page *page, size_t i)
{
	uint64_t best = UINT64_MAX;

	for (int hit = 0; hit < HITS; hit++) {
		uint64_t start = clock_monotonic_ns(), took;

		call_code(page, i);
		took = clock_monotonic_ns() - start;
		best = took < best ? took : best;
	}
	return best;
}

bool probe_page_measure(const struct probe_page *page, struct plan_emulation *ret_emulation,
			unsigned int *ret_emulated_ns, unsigned int *ret_stepped_ns)
{
	uint64_t stepped = hit_ns(page, PROBE_KIND_STEPPED);
	uint64_t emulated = hit_ns(page, PROBE_KIND_EMULATED);
	size_t n;
	const struct probe_kind *kinds = probe_kinds(&n);

	/* a kernel or emulator where that gains nothing has no reason to move a probe */
	if (stepped < 2 * emulated)
		return false;
	for (size_t i = PROBE_KIND_EMULATED; i < n; i++) {
		uint64_t ns = hit_ns(page, i);

		/* nearer to the emulated one, by ratio */
		*probe_kind_member(&kinds[i], ret_emulation) = ns * ns < stepped * emulated;
	}
	*ret_emulated_ns = emulated;
	*ret_stepped_ns = stepped;
	return true;
}

static int install_filter(void)
{
	struct sock_filter insns[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog prog = { .len = sizeof(insns) / sizeof(insns[0]), .filter = insns };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		return -errno;
	return 0;
}

int probe_page_filtered_child(const struct probe_page *page)
{
	size_t n;
	pid_t pid;
	int status;

	(void)probe_kinds(&n);
	pid = fork();

	if (pid < 0)
		return -errno;
	if (pid == 0) {
		/* Nothing that a sanitizer may have put before the one system call that is let
		 * pass: _exit() looks for leaks there. */
		if (install_filter())
			syscall(SYS_exit_group, 1);
		call_code(page, n);
		syscall(SYS_exit_group, 0);
	}
	if (waitpid(pid, &status, 0) < 0)
		return -errno;
	if (WIFSIGNALED(status))
		return WTERMSIG(status);
	return WEXITSTATUS(status) == 0 ? 0 : -ENOTSUP;
}

/* --- kinds of instructions -------------------------------------------------------------------- */

#define MEMBER(name) offsetof(struct plan_emulation, name)

#ifdef __aarch64__

/* Little endian, four bytes an instruction. */
#define WORD(w) (w) & 0xff, (w) >> 8 & 0xff, (w) >> 16 & 0xff, (unsigned)(w) >> 24
#define RET WORD(0xd65f03c0)

/* What is simulated everywhere: arch/arm64/kernel/probes/decode-insn.c. */
static const struct probe_kind kinds[] = {
	{ "tst", { WORD(0xea00001f), RET }, 0, false, -1 },
	{ "b", { WORD(0x14000001), RET }, 0, true, MEMBER(jmp) },
	{ "cbz", { WORD(0xb4000020), RET }, 0, true, MEMBER(jcc) },
	/* mov x9, x30; bl to the next instruction; mov x30, x9 */
	{ "bl",
	  { WORD(0xaa1e03e9), WORD(0x94000001), WORD(0xaa0903fe), RET },
	  4,
	  true,
	  MEMBER(call) },
	{ "ret", { RET }, 0, true, MEMBER(ret) },
	{ "adr", { WORD(0x10000009), RET }, 0, true, MEMBER(adr) },
	{ "nop", { WORD(0xd503201f), RET }, 0, false, MEMBER(nop1) },
	{ "bti", { WORD(0xd503245f), RET }, 0, false, MEMBER(endbr) },
	/* stp x29, x30, [sp, #-16]!; ldp x29, x30, [sp], #16 */
	{ "stp", { WORD(0xa9bf7bfd), WORD(0xa8c17bfd), RET }, 0, false, MEMBER(push) },
	{ "sub sp", { WORD(0xd10043ff), WORD(0x910043ff), RET }, 0, false, MEMBER(sub_sp) },
	{ "mov", { WORD(0xaa0003e9), RET }, 0, false, MEMBER(mov) },
};

#else

/* What is emulated everywhere: arch/x86/kernel/uprobes.c. */
static const struct probe_kind kinds[] = {
	{ "test", { 0x85, 0xff, 0xc3 }, 0, false, -1 },
	{ "nop", { 0x90, 0xc3 }, 0, true, MEMBER(nop1) },
	{ "push", { 0x55, 0x5d, 0xc3 }, 0, true, MEMBER(push) },
	{ "long nop", { 0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00, 0xc3 }, 0, false, MEMBER(nopl) },
	{ "jmp", { 0xeb, 0x00, 0xc3 }, 0, true, MEMBER(jmp) },
	{ "jcc", { 0x74, 0x00, 0xc3 }, 0, true, MEMBER(jcc) },
	/* call to the next instruction, which drops the return address */
	{ "call", { 0xe8, 0x00, 0x00, 0x00, 0x00, 0x58, 0xc3 }, 0, true, MEMBER(call) },
	{ "ret", { 0xc3 }, 0, false, MEMBER(ret) },
	{ "endbr", { 0xf3, 0x0f, 0x1e, 0xfa, 0xc3 }, 0, false, MEMBER(endbr) },
	{ "sub sp",
	  { 0x48, 0x83, 0xec, 0x08, 0x48, 0x83, 0xc4, 0x08, 0xc3 },
	  0,
	  false,
	  MEMBER(sub_sp) },
	{ "mov", { 0x48, 0x89, 0xf8, 0xc3 }, 0, false, MEMBER(mov) },
};

#endif

const struct probe_kind *probe_kinds(size_t *ret_n)
{
	*ret_n = sizeof(kinds) / sizeof(kinds[0]);
	return kinds;
}
