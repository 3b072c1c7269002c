/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/confine_calls.h"

#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define N_ELEMENTS(a) (sizeof(a) / sizeof((a)[0]))

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

/* A call whose argument `arg`, masked, has this value. */
struct with_argument {
	int call;
	unsigned int arg;
	uint64_t mask, value;
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

static int refuse_calls(scmp_filter_ctx filter, const int *calls, size_t n)
{
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++)
		r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), calls[i], 0);
	return r;
}

static int refuse_with(scmp_filter_ctx filter, const struct with_argument *calls, size_t n)
{
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++)
		r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), calls[i].call, 1,
				     SCMP_CMP64(calls[i].arg, SCMP_CMP_MASKED_EQ, calls[i].mask,
						calls[i].value));
	return r;
}

static int add_rules(scmp_filter_ctx filter, bool network)
{
	int r = refuse_calls(filter, refused, N_ELEMENTS(refused));

	if (r == 0)
		r = refuse_with(filter, refused_with, N_ELEMENTS(refused_with));
	/* Its flags are in memory, which a filter cannot read; the C library uses clone then. */
	if (r == 0)
		r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	/* abort() and raise() are to end this process. */
	if (r == 0)
		r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(kill), 1,
				     SCMP_CMP64(0, SCMP_CMP_NE, (uint64_t)getpid(), 0));
	if (r == 0)
		r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(tgkill), 1,
				     SCMP_CMP64(0, SCMP_CMP_NE, (uint64_t)getpid(), 0));
	/* Name services are libraries that are loaded when a host is looked up. */
	if (r == 0 && !network)
		r = refuse_calls(filter, of_network, N_ELEMENTS(of_network));
	if (r == 0 && !network)
		r = refuse_with(filter, new_code, N_ELEMENTS(new_code));
	return r;
}

int confine_calls(bool network)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int r;

	if (!filter)
		return -ENOMEM;
	r = add_rules(filter, network);
	if (r == 0)
		r = seccomp_load(filter);
	seccomp_release(filter);
	return r;
}
