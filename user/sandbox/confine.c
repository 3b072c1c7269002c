/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <stddef.h>
#include <sys/capability.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>

/* Debug information of 4 GiB is read (symbol/dwarf_index.c), and takes some more for its index. */
#define MAX_DATA_BYTES (8ULL << 30)
/* Three of each object that is held (symbol/object_symbols.c), and those of a message. */
#define MAX_FILES 512

#define N_ELEMENTS(a) (sizeof(a) / sizeof((a)[0]))

/* What the C library, jemalloc, libelf and libdw make of parsing. */
static const int allowed[] = {
	SCMP_SYS(read),
	SCMP_SYS(pread64),
	SCMP_SYS(lseek),
	SCMP_SYS(close),
	SCMP_SYS(fstat),
	SCMP_SYS(recvmsg),
	SCMP_SYS(sendmsg),
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(madvise),
	SCMP_SYS(brk),
	SCMP_SYS(futex),
	SCMP_SYS(sched_yield),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(sigaltstack),
	SCMP_SYS(getrandom),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
	SCMP_SYS(sysinfo), /* qsort asks how much memory there is */
};

/*
 * libdw looks where its file lies (dwarf_begin_elf), and libraries look for configuration: they can
 * do without.
 */
static const int refused[] = {
	SCMP_SYS(open),	      SCMP_SYS(openat),	   SCMP_SYS(readlink),
	SCMP_SYS(readlinkat), SCMP_SYS(stat),	   SCMP_SYS(lstat),
	SCMP_SYS(access),     SCMP_SYS(faccessat), SCMP_SYS(getcwd),
};

/* A call whose argument `arg`, masked, must have this value. */
static const struct {
	int call;
	unsigned int arg;
	uint64_t mask, value;
} with_argument[] = {
	{ SCMP_SYS(mmap), 2, PROT_EXEC, 0 },
	{ SCMP_SYS(mprotect), 2, PROT_EXEC, 0 },
	{ SCMP_SYS(setitimer), 0, UINT32_MAX, ITIMER_PROF }, /* work_limit.h */
	{ SCMP_SYS(fcntl), 1, UINT32_MAX, F_DUPFD_CLOEXEC },
	{ SCMP_SYS(fcntl), 1, UINT32_MAX, F_GETFD },
	{ SCMP_SYS(fcntl), 1, UINT32_MAX, F_GETFL },
	/* fstat, as glibc 2.33 and later call it: of a descriptor, unless a path is given, too. */
	{ SCMP_SYS(newfstatat), 3, AT_EMPTY_PATH, AT_EMPTY_PATH },
	{ SCMP_SYS(statx), 2, AT_EMPTY_PATH, AT_EMPTY_PATH },
};

int confine_capabilities(void)
{
	return confine_capabilities_to(NULL, 0);
}

int confine_capabilities_to(const int *kept, size_t n)
{
	cap_t caps;
	int r = 0;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	caps = cap_init();
	if (!caps)
		return -errno;
	if (n > 0 && (cap_set_flag(caps, CAP_PERMITTED, (int)n, kept, CAP_SET) < 0 ||
		      cap_set_flag(caps, CAP_EFFECTIVE, (int)n, kept, CAP_SET) < 0))
		r = -errno;
	if (r == 0 && cap_set_proc(caps) < 0)
		r = -errno;
	(void)cap_free(caps); /* cannot fail: it is a capability set */
	return r;
}

static int set_limits(void)
{
	static const struct {
		int resource;
		rlim_t most;
	} limits[] = {
#if !defined(__SANITIZE_ADDRESS__) /* whose shadow memory is larger */
		{ RLIMIT_DATA, MAX_DATA_BYTES },
#endif
		{ RLIMIT_NOFILE, MAX_FILES },
		{ RLIMIT_FSIZE, 0 },
		{ RLIMIT_CORE, 0 },
		{ RLIMIT_NPROC, 0 },
	};

	for (size_t i = 0; i < N_ELEMENTS(limits); i++) {
		const struct rlimit limit = { limits[i].most, limits[i].most };
		struct rlimit now;

		/* What is lower already cannot be raised. */
		if (getrlimit(limits[i].resource, &now) < 0)
			return -errno;
		if (now.rlim_max > limits[i].most && setrlimit(limits[i].resource, &limit) < 0)
			return -errno;
	}
	return 0;
}

static int add_rules(scmp_filter_ctx filter)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < N_ELEMENTS(allowed); i++)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, allowed[i], 0);
	for (size_t i = 0; r == 0 && i < N_ELEMENTS(refused); i++)
		r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EACCES), refused[i], 0);
	for (size_t i = 0; r == 0 && i < N_ELEMENTS(with_argument); i++)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, with_argument[i].call, 1,
				     SCMP_CMP64(with_argument[i].arg, SCMP_CMP_MASKED_EQ,
						with_argument[i].mask, with_argument[i].value));
	/* By path, which libraries do to no end: it must fail like the others. */
	if (r == 0)
		r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EACCES), SCMP_SYS(newfstatat), 1,
				     SCMP_CMP64(3, SCMP_CMP_MASKED_EQ, AT_EMPTY_PATH, 0));
	return r;
}

int confine_system_calls(void)
{
	scmp_filter_ctx filter;
	int r = set_limits();

	if (r < 0)
		return r;
	filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
	if (!filter)
		return -ENOMEM;
	r = add_rules(filter);
	if (r == 0)
		r = seccomp_load(filter);
	seccomp_release(filter);
	return r;
}
