/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/probe_page.h"

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

/* Functions of a few bytes whose first instruction is of the kind in question (x86-64). */
static const struct kind {
	unsigned char code[16];
	int member; /* offset in struct plan_emulation; -1: the references */
} kinds[] = {
	/* test %edi,%edi: no kernel emulates it */
	{ { 0x85, 0xff, 0xc3 }, -1 },
	{ { 0x90, 0xc3 }, offsetof(struct plan_emulation, nop1) },
	{ { 0x55, 0x5d, 0xc3 }, offsetof(struct plan_emulation, push) },
	{ { 0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00, 0xc3 }, offsetof(struct plan_emulation, nopl) },
	{ { 0xf3, 0x0f, 0x1e, 0xfa, 0xc3 }, offsetof(struct plan_emulation, endbr) },
	{ { 0xeb, 0x00, 0xc3 }, offsetof(struct plan_emulation, jmp) },
	{ { 0x74, 0x00, 0xc3 }, offsetof(struct plan_emulation, jcc) },
	/* call to the next instruction, which drops the return address */
	{ { 0xe8, 0x00, 0x00, 0x00, 0x00, 0x58, 0xc3 }, offsetof(struct plan_emulation, call) },
	{ { 0xc3 }, offsetof(struct plan_emulation, ret) },
	{ { 0x48, 0x83, 0xec, 0x08, 0x48, 0x83, 0xc4, 0x08, 0xc3 },
	  offsetof(struct plan_emulation, sub_sp) },
	{ { 0x48, 0x89, 0xf8, 0xc3 }, offsetof(struct plan_emulation, mov) },
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))
#define KIND_STEPPED 0
#define KIND_NOP 1

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
	void *mem;

	if (!page)
		return -ENOMEM;
	page->fd = memfd_create("memtraced-try", MFD_CLOEXEC);
	if (page->fd < 0)
		return -errno;
	memset(bytes, 0xcc, sizeof(bytes));
	for (size_t i = 0; i < KINDS; i++)
		memcpy(bytes + i * FUNCTION_BYTES, kinds[i].code, sizeof(kinds[i].code));
	/* the function for probe_page_filtered_child */
	memcpy(bytes + KINDS * FUNCTION_BYTES, kinds[KIND_NOP].code, sizeof(kinds[0].code));
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
	_Static_assert(KINDS <= PROBE_PAGE_KINDS, "room");

	(void)page; /* every page is laid out alike */
	for (size_t i = 0; i < KINDS; i++)
		sites[i] = (struct uprobe_site){ .offset = i * FUNCTION_BYTES, .cookie = i };
	return KINDS;
}

struct uprobe_site probe_page_call_site(const struct probe_page *page)
{
	(void)page; /* every page is laid out alike */
	return (struct uprobe_site){ .offset = KINDS * FUNCTION_BYTES };
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
	uint64_t stepped = hit_ns(page, KIND_STEPPED), emulated = hit_ns(page, KIND_NOP);

	/* nop is emulated everywhere; a kernel or emulator where that gains nothing has no
	 * reason to move a probe */
	if (stepped < 2 * emulated)
		return false;
	for (size_t i = 1; i < KINDS; i++) {
		uint64_t ns = hit_ns(page, i);
		bool *member = (bool *)((char *)ret_emulation + kinds[i].member);

		/* nearer to the emulated one, by ratio */
		*member = ns * ns < stepped * emulated;
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
	pid_t pid = fork();
	int status;

	if (pid < 0)
		return -errno;
	if (pid == 0) {
		/* Nothing that a sanitizer may have put before the one system call that is let
		 * pass: _exit() looks for leaks there. */
		if (install_filter())
			syscall(SYS_exit_group, 1);
		call_code(page, KINDS);
		syscall(SYS_exit_group, 0);
	}
	if (waitpid(pid, &status, 0) < 0)
		return -errno;
	if (WIFSIGNALED(status))
		return WTERMSIG(status);
	return WEXITSTATUS(status) == 0 ? 0 : -ENOTSUP;
}
