/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/kernel/syscall_table.h"

#include "syscall_names.h"

#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>

#define N_NAMES (sizeof(syscall_names) / sizeof(syscall_names[0]))

#define OPENS                                                                                      \
	{                                                                                          \
		.use = ABI_FILE_OPEN                                                               \
	}
#define READS(arg)                                                                                 \
	{                                                                                          \
		.use = ABI_FILE_READ, .fd = arg, .flags = ABI_OP_BYTES                             \
	}
#define WRITES(arg)                                                                                \
	{                                                                                          \
		.use = ABI_FILE_WRITE, .fd = arg, .flags = ABI_OP_BYTES                            \
	}
#define MOVES(in, out)                                                                             \
	{                                                                                          \
		.use = ABI_FILE_READ, .fd = in, .fd_out = out, .flags = ABI_OP_BYTES               \
	}
#define MESSAGES(how)                                                                              \
	{                                                                                          \
		.use = how, .fd = 1, .flags = ABI_OP_MESSAGES                                      \
	}
#define USES(arg)                                                                                  \
	{                                                                                          \
		.use = ABI_FILE_OTHER, .fd = arg                                                   \
	}
#define IS(flag)                                                                                   \
	{                                                                                          \
		.flags = flag                                                                      \
	}

/* Rows under #ifdef: not every architecture has the older forms, nor every header the newest. */
static const struct abi_syscall_op ops[ABI_SYSCALLS] = {
#ifdef SYS_open
	[SYS_open] = OPENS,
	[SYS_creat] = OPENS,
#endif
	[SYS_openat] = OPENS,
#ifdef SYS_openat2
	[SYS_openat2] = OPENS,
#endif
	[SYS_read] = READS(1),
	[SYS_pread64] = READS(1),
	[SYS_readv] = READS(1),
	[SYS_preadv] = READS(1),
	[SYS_preadv2] = READS(1),
	[SYS_recvfrom] = READS(1),
	[SYS_recvmsg] = READS(1),
	[SYS_recvmmsg] = MESSAGES(ABI_FILE_READ),
	[SYS_write] = WRITES(1),
	[SYS_pwrite64] = WRITES(1),
	[SYS_writev] = WRITES(1),
	[SYS_pwritev] = WRITES(1),
	[SYS_pwritev2] = WRITES(1),
	[SYS_sendto] = WRITES(1),
	[SYS_sendmsg] = WRITES(1),
	[SYS_sendmmsg] = MESSAGES(ABI_FILE_WRITE),
	[SYS_vmsplice] = WRITES(1),
	[SYS_sendfile] = MOVES(2, 1),
	[SYS_copy_file_range] = MOVES(1, 3),
	[SYS_splice] = MOVES(1, 3),
	[SYS_tee] = MOVES(1, 2),
	[SYS_close] = USES(1),
	[SYS_fstat] = USES(1),
#ifdef SYS_newfstatat /* glibc's fstat */
	[SYS_newfstatat] = { .use = ABI_FILE_OTHER, .fd = 1, .flags = ABI_OP_EMPTY_PATH },
#endif
	[SYS_fstatfs] = USES(1),
	[SYS_lseek] = USES(1),
	[SYS_mmap] = USES(5),
	[SYS_ioctl] = USES(1),
	[SYS_fcntl] = USES(1),
	[SYS_flock] = USES(1),
	[SYS_fsync] = USES(1),
	[SYS_fdatasync] = USES(1),
	[SYS_sync_file_range] = USES(1),
	[SYS_ftruncate] = USES(1),
	[SYS_fallocate] = USES(1),
	[SYS_fadvise64] = USES(1),
	[SYS_readahead] = USES(1),
	[SYS_fchmod] = USES(1),
	[SYS_fchown] = USES(1),
	[SYS_fchdir] = USES(1),
	[SYS_getdents64] = USES(1),
	[SYS_fgetxattr] = USES(1),
	[SYS_fsetxattr] = USES(1),
#ifdef SYS_getdents
	[SYS_getdents] = USES(1),
#endif
#ifdef SYS_fork
	[SYS_fork] = IS(ABI_OP_CHILD),
	[SYS_vfork] = IS(ABI_OP_CHILD),
#endif
	[SYS_clone] = IS(ABI_OP_CHILD),
#ifdef SYS_clone3
	[SYS_clone3] = IS(ABI_OP_CHILD),
#endif
	[SYS_exit] = IS(ABI_OP_NO_RETURN),
	[SYS_exit_group] = IS(ABI_OP_NO_RETURN),
	[SYS_rt_sigreturn] = IS(ABI_OP_SIGRETURN),
	[SYS_restart_syscall] = IS(ABI_OP_RESTART),
#ifdef __x86_64__
	/* uretprobe (Linux 6.11) and uprobe (6.18): how user-space probes enter the kernel. */
	[335] = IS(ABI_OP_IGNORE),
	[336] = IS(ABI_OP_IGNORE),
#endif
};

const char *syscall_table_name(int32_t number)
{
	return number >= 0 && (size_t)number < N_NAMES ? syscall_names[number] : NULL;
}

int32_t syscall_table_number(const char *tracepoint)
{
	/* They have the names of the kernel's functions. */
	static const char *const others[][2] = {
		{ "newstat", "stat" },	      { "newlstat", "lstat" }, { "newfstat", "fstat" },
		{ "sendfile64", "sendfile" }, { "newuname", "uname" }, { "umount", "umount2" },
	};
	const char *name = tracepoint;

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strcmp(tracepoint, others[i][0]) == 0)
			name = others[i][1];
	for (size_t i = 0; i < N_NAMES; i++)
		if (syscall_names[i] && strcmp(syscall_names[i], name) == 0)
			return i;
	return -1;
}

struct abi_syscall_op syscall_table_op(uint32_t number)
{
	return number < ABI_SYSCALLS ? ops[number] : (struct abi_syscall_op){ 0 };
}
