/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What bpf/syscalls.bpf.c and jobs/syscalls_job.c share, besides bpf/abi.h. Keys have the CPU that
 * counted in them, so that two CPUs never write one entry: sums over CPUs are the values.
 */
#ifndef MEMTRACED_BPF_ABI_SYSCALLS_H
#define MEMTRACED_BPF_ABI_SYSCALLS_H

#include "abi_event.h"

/* Numbers below this may have an abi_syscall_op; others are only counted. */
#define ABI_SYSCALLS 512

/*
 * Latencies: eight buckets in each power of two from 2^6 to 2^36 ns; the first bucket is what is
 * shorter, the last what is longer. A bucket is at most 12.5 % wider than its lower end.
 */
#define ABI_LATENCY_LOWEST 6
#define ABI_LATENCY_POWERS 31
#define ABI_LATENCY_BUCKETS (2 + ABI_LATENCY_POWERS * 8)

enum abi_file_use { ABI_FILE_NONE, ABI_FILE_OPEN, ABI_FILE_READ, ABI_FILE_WRITE, ABI_FILE_OTHER };

/* What a system call does, as far as it matters here. */
struct abi_syscall_op {
	__u8 use;    /* enum abi_file_use of the file behind `fd`, or of a result that is one */
	__u8 fd;     /* number of the argument that is a descriptor, from 1; 0: none */
	__u8 fd_out; /* the same for a second file that is written to; 0: none */
	__u8 flags;  /* ABI_OP_* */
};
#define ABI_OP_BYTES 1	  /* the result is a number of bytes read or written */
#define ABI_OP_MESSAGES 2 /* the result is a number of struct mmsghdr at the second argument */
#define ABI_OP_CHILD 4	  /* returns a second time, with 0, in a new process or thread */
#define ABI_OP_SIGRETURN 8
#define ABI_OP_RESTART 16    /* restart_syscall: goes on with another call */
#define ABI_OP_IGNORE 32     /* not the program's */
#define ABI_OP_EMPTY_PATH 64 /* about `fd` only with AT_EMPTY_PATH in the fourth argument */
#define ABI_OP_NO_RETURN 128

struct abi_syscall_key {
	__u32 slot;
	__s32 number;
	__u32 cpu;
	__u32 pad;
};

/* Written from the end to the beginning and read the other way round: a longest time that is seen
 * is in the total and in a bucket. */
struct abi_syscall {
	__u64 max_ns;
	__u64 total_ns;
	__u64 bytes;
	__u64 restarted; /* times that the kernel began a call anew */
	__u64 untimed;	 /* whose beginning or end was not seen; the others are in the buckets */
	__u64 buckets[ABI_LATENCY_BUCKETS];
};

struct abi_syscall_error_key {
	__u32 slot;
	__s32 number;
	__u32 error; /* errno */
	__u32 cpu;
};

/* An open file, whatever it is open as. */
struct abi_file_id {
	__u64 ino;
	__u32 dev;
	/* Tells apart what reuses an inode number, and the many kinds of file that share the one
	 * inode of anon_inodefs: i_generation and the low bits of f_op. */
	__u32 kind;
};

struct abi_io_key {
	struct abi_file_id id;
	__u32 slot;
	__u32 cpu;
};

struct abi_io {
	__u64 opens, reads, writes, others;
	__u64 bytes_read, bytes_written;
	__u64 total_ns;
};

struct abi_syscall_stack_key {
	__u64 stack;
	__u32 slot;
	__s32 number;
	__u32 cpu;
	__u32 pad;
};

struct abi_syscall_stack {
	__u64 calls;
	__u64 total_ns;
};

/* Ring record of a file seen for the first time: ABI_EV_FILE. */
#define ABI_FILE_NAMES 4096
#define ABI_FILE_NAME_MAX 256 /* of one component, with its NUL */
struct abi_ev_file {
	struct abi_event head;
	struct abi_file_id id;
	__u32 mode;  /* i_mode */
	__u32 magic; /* of its file system */
	__u32 flags; /* ABI_FILE_* */
	__u32 len;   /* of names */
	/* components, the last one of the path first, each with its NUL */
	char names[ABI_FILE_NAMES + ABI_FILE_NAME_MAX];
};
#define ABI_FILE_NAMELESS 1 /* not in any directory: pipes, sockets, memfd */
#define ABI_FILE_DELETED 2
#define ABI_FILE_TRUNCATED 4 /* the path has more components to its left */

#ifndef __bpf__
static_assert(sizeof(struct abi_syscall_op) == 4, "abi_syscall_op");
static_assert(sizeof(struct abi_syscall_key) == 16, "abi_syscall_key");
static_assert(sizeof(struct abi_io_key) == 24, "abi_io_key");
static_assert(sizeof(struct abi_syscall_stack_key) == 24, "abi_syscall_stack_key");
static_assert(offsetof(struct abi_ev_file, names) == 48, "abi_ev_file");
#endif

#endif
