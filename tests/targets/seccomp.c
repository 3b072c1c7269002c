/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * seccomp N [wait]: forbids itself, on pain of death, every system call but the few it needs, as
 * sandboxes do; x86-64's 335 (uretprobe) and 336 (uprobe) are not among them. Then allocates N
 * times. With "wait" it first says "ready PID" and waits for a line, so that memtraced can attach
 * to a process whose filter is in place.
 */
#include "tests/targets/target.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define ALLOW(nr)                                                                                  \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), 0, 1),                                           \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

#ifdef __aarch64__
#define AUDIT_ARCH_HERE AUDIT_ARCH_AARCH64
#else
#define AUDIT_ARCH_HERE AUDIT_ARCH_X86_64
#endif

static void filter(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_HERE, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(__NR_read),
		ALLOW(__NR_write),
		ALLOW(__NR_brk),
		ALLOW(__NR_mmap),
		ALLOW(__NR_munmap),
		ALLOW(__NR_mremap),
		ALLOW(__NR_exit_group),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = { .len = sizeof(code) / sizeof(*code), .filter = code };

	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	CHECK(!syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
}

int main(int argc, char **argv)
{
	uint64_t n = argument(argc, argv, 1, 1000), i;
	char *grown = NULL;
	pid_t pid = getpid();

	free(malloc(10)); /* the ledger's own start, and malloc's, before the filter */
	filter();
	if (argc > 2) {
		tell("ready %d\n", pid);
		wait_for_line();
	}
	for (i = 0; i < n; i++) {
		char *block = malloc(100 + i % 50);

		CHECK(block);
		if (i % 4)
			free(block);
		grown = realloc(grown, 16 + i);
		CHECK(grown);
	}
	free(grown);
	tell("done %llu\n", (unsigned long long)n);
	return 0;
}
