/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/confine.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sched.h>
#include <seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

/* Debug information of 4 GiB is read (symbol/dwarf_index.c), and takes some more for its index. */
#define MAX_DATA_BYTES (8ULL << 30)
/* Three of each object that is held (symbol/object_symbols.c), and those of a message. */
#define MAX_FILES 512

#define N_ELEMENTS(a) (sizeof(a) / sizeof((a)[0]))

/* A call whose argument `arg`, masked, has this value. */
struct with_argument {
	int call;
	unsigned int arg;
	uint64_t mask, value;
};

static int add_calls(scmp_filter_ctx filter, uint32_t action, const int *calls, size_t n)
{
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++)
		r = seccomp_rule_add(filter, action, calls[i], 0);
	return r;
}

static int add_with(scmp_filter_ctx filter, uint32_t action, const struct with_argument *calls,
		    size_t n)
{
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++)
		r = seccomp_rule_add(filter, action, calls[i].call, 1,
				     SCMP_CMP64(calls[i].arg, SCMP_CMP_MASKED_EQ, calls[i].mask,
						calls[i].value));
	return r;
}

/* Of what the rules say; `r`: of adding them. */
static int load(scmp_filter_ctx filter, int r)
{
	if (r == 0)
		r = seccomp_load(filter);
	seccomp_release(filter);
	return r;
}

/* --- a process that parses alone -------------------------------------------------------------- */

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
static const int without_files[] = {
	SCMP_SYS(open),	      SCMP_SYS(openat),	   SCMP_SYS(readlink),
	SCMP_SYS(readlinkat), SCMP_SYS(stat),	   SCMP_SYS(lstat),
	SCMP_SYS(access),     SCMP_SYS(faccessat), SCMP_SYS(getcwd),
};

static const struct with_argument allowed_with[] = {
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

static int add_allowed(scmp_filter_ctx filter)
{
	int r = add_calls(filter, SCMP_ACT_ALLOW, allowed, N_ELEMENTS(allowed));

	if (r == 0)
		r = add_calls(filter, SCMP_ACT_ERRNO(EACCES), without_files,
			      N_ELEMENTS(without_files));
	if (r == 0)
		r = add_with(filter, SCMP_ACT_ALLOW, allowed_with, N_ELEMENTS(allowed_with));
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
	return filter ? load(filter, add_allowed(filter)) : -ENOMEM;
}

/* --- a process that writes files as well ------------------------------------------------------ */

static const int refused[] = {
	/* other programs and processes */
	SCMP_SYS(execve),
	SCMP_SYS(execveat),
	SCMP_SYS(fork),
	SCMP_SYS(vfork),
	SCMP_SYS(ptrace),
	SCMP_SYS(process_vm_readv),
	SCMP_SYS(process_vm_writev),
	SCMP_SYS(process_madvise),
	SCMP_SYS(kcmp),
	SCMP_SYS(pidfd_open),
	SCMP_SYS(pidfd_getfd),
	SCMP_SYS(pidfd_send_signal),
	SCMP_SYS(rt_sigqueueinfo),
	SCMP_SYS(rt_tgsigqueueinfo),
	SCMP_SYS(tkill),
	/* identities, owners, modes */
	SCMP_SYS(setuid),
	SCMP_SYS(setgid),
	SCMP_SYS(setreuid),
	SCMP_SYS(setregid),
	SCMP_SYS(setresuid),
	SCMP_SYS(setresgid),
	SCMP_SYS(setfsuid),
	SCMP_SYS(setfsgid),
	SCMP_SYS(setgroups),
	SCMP_SYS(capset),
	SCMP_SYS(chmod),
	SCMP_SYS(fchmod),
	SCMP_SYS(fchmodat),
	SCMP_SYS(chown),
	SCMP_SYS(fchown),
	SCMP_SYS(lchown),
	SCMP_SYS(fchownat),
	SCMP_SYS(setxattr),
	SCMP_SYS(fsetxattr),
	SCMP_SYS(lsetxattr),
	SCMP_SYS(mknod),
	SCMP_SYS(mknodat),
	SCMP_SYS(open_by_handle_at),
	/* namespaces, mounts */
	SCMP_SYS(unshare),
	SCMP_SYS(setns),
	SCMP_SYS(mount),
	SCMP_SYS(umount2),
	SCMP_SYS(pivot_root),
	SCMP_SYS(chroot),
	SCMP_SYS(move_mount),
	SCMP_SYS(open_tree),
	SCMP_SYS(fsopen),
	SCMP_SYS(fsconfig),
	SCMP_SYS(fsmount),
	SCMP_SYS(fspick),
	SCMP_SYS(swapon),
	SCMP_SYS(swapoff),
	SCMP_SYS(quotactl),
	SCMP_SYS(acct),
	/* the kernel */
	SCMP_SYS(bpf),
	SCMP_SYS(perf_event_open),
	SCMP_SYS(userfaultfd),
	SCMP_SYS(io_uring_setup),
	SCMP_SYS(io_uring_enter),
	SCMP_SYS(io_uring_register),
	SCMP_SYS(init_module),
	SCMP_SYS(finit_module),
	SCMP_SYS(delete_module),
	SCMP_SYS(kexec_load),
	SCMP_SYS(kexec_file_load),
	SCMP_SYS(reboot),
	SCMP_SYS(syslog),
	SCMP_SYS(iopl),
	SCMP_SYS(ioperm),
	SCMP_SYS(add_key),
	SCMP_SYS(keyctl),
	SCMP_SYS(request_key),
	SCMP_SYS(fanotify_init),
	SCMP_SYS(settimeofday),
	SCMP_SYS(clock_settime),
	SCMP_SYS(adjtimex),
	SCMP_SYS(clock_adjtime),
	SCMP_SYS(sethostname),
	SCMP_SYS(setdomainname),
	SCMP_SYS(vhangup),
	SCMP_SYS(personality),
};

static const int of_network[] = {
	SCMP_SYS(socket), SCMP_SYS(connect), SCMP_SYS(bind),
	SCMP_SYS(listen), SCMP_SYS(accept),  SCMP_SYS(accept4),
};

static const struct with_argument refused_with[] = {
	{ SCMP_SYS(clone), 0, CLONE_THREAD, 0 }, /* a process; both machines have the flags first */
	{ SCMP_SYS(ioctl), 1, UINT32_MAX, TIOCSTI },
	{ SCMP_SYS(ioctl), 1, UINT32_MAX, TIOCLINUX },
};

static const struct with_argument new_code[] = {
	{ SCMP_SYS(mmap), 2, PROT_EXEC, PROT_EXEC },
	{ SCMP_SYS(mprotect), 2, PROT_EXEC, PROT_EXEC },
	{ SCMP_SYS(pkey_mprotect), 2, PROT_EXEC, PROT_EXEC },
};

static int add_refused(scmp_filter_ctx filter, bool network)
{
	const uint32_t refuse = SCMP_ACT_ERRNO(EPERM);
	int r = add_calls(filter, refuse, refused, N_ELEMENTS(refused));

	if (r == 0)
		r = add_with(filter, refuse, refused_with, N_ELEMENTS(refused_with));
	/* Its flags are in memory, which a filter cannot read; the C library uses clone then. */
	if (r == 0)
		r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	/* abort() and raise() are to end this process. */
	if (r == 0)
		r = seccomp_rule_add(filter, refuse, SCMP_SYS(kill), 1,
				     SCMP_CMP64(0, SCMP_CMP_NE, (uint64_t)getpid(), 0));
	if (r == 0)
		r = seccomp_rule_add(filter, refuse, SCMP_SYS(tgkill), 1,
				     SCMP_CMP64(0, SCMP_CMP_NE, (uint64_t)getpid(), 0));
	/* Name services are libraries that are loaded when a host is looked up. */
	if (r == 0 && !network)
		r = add_calls(filter, refuse, of_network, N_ELEMENTS(of_network));
	if (r == 0 && !network)
		r = add_with(filter, refuse, new_code, N_ELEMENTS(new_code));
	return r;
}

int confine_calls(bool network)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);

	return filter ? load(filter, add_refused(filter, network)) : -ENOMEM;
}

/* --- the file system, by Landlock ------------------------------------------------------------- */

/* From Linux 6.2, the third version of the interface, on. */
#define ACCESS_TRUNCATE (1ULL << 14)

#define READING                                                                                    \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
/* What base/outfile.h does in a folder. */
#define OUTPUT                                                                                     \
	(LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG |                             \
	 LANDLOCK_ACCESS_FS_REMOVE_FILE)
#define OTHER_CHANGES                                                                              \
	(LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_MAKE_CHAR |                            \
	 LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_SOCK |                              \
	 LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |                            \
	 LANDLOCK_ACCESS_FS_MAKE_SYM)

static int create_rules(bool reads)
{
	struct landlock_ruleset_attr attr = {
		.handled_access_fs = OUTPUT | OTHER_CHANGES | (reads ? 0 : READING),
	};
	long version =
		syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	long fd;

	if (version < 0) /* ENOSYS: not built in; EOPNOTSUPP: not started */
		return errno == ENOSYS ? -EOPNOTSUPP : -errno;
	if (version >= 3)
		attr.handled_access_fs |= ACCESS_TRUNCATE;
	fd = syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);
	return fd < 0 ? -errno : (int)fd;
}

/* The folder of the file, or around the first placeholder. malloc'ed, NULL without memory. */
static char *folder_of(const char *path)
{
	size_t len = strcspn(path, "%");

	while (len > 0 && path[len - 1] != '/')
		len--;
	return len > 0 ? strndup(path, len) : strdup(".");
}

/* Is it there, and no regular file, so that it is written itself rather than replaced? */
static bool is_written_itself(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && (S_ISCHR(st.st_mode) || S_ISFIFO(st.st_mode));
}

/* A folder that is not there is not allowed: the output will say that. */
static int allow(int rules, const char *path)
{
	bool itself = is_written_itself(path);
	_cleanup_free_ char *folder = itself ? strdup(path) : folder_of(path);
	struct landlock_path_beneath_attr attr = {
		.allowed_access = itself ? LANDLOCK_ACCESS_FS_WRITE_FILE : OUTPUT,
	};
	_cleanup_close_ int fd = -1;

	if (!folder)
		return -ENOMEM;
	fd = open(folder, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return 0;
	attr.parent_fd = fd;
	if (syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &attr, 0) < 0)
		return errno == EINVAL || errno == EBADFD ? 0 : -errno;
	return 0;
}

int confine_paths(char *const *paths, size_t n, bool reads)
{
	_cleanup_close_ int rules = create_rules(reads);
	int r = rules < 0 ? rules : 0;

	for (size_t i = 0; i < n && r == 0; i++)
		r = allow(rules, paths[i]);
	if (r == 0 && syscall(SYS_landlock_restrict_self, rules, 0) < 0)
		r = -errno;
	return r;
}
