/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel types that the BPF side reads, each with only the members used. Offsets are relocated
 * at load (CO-RE), so no kernel's own header is needed to build, and one file serves all
 * architectures but for their registers (ARCH/registers.h).
 */
#ifndef MEMTRACED_VMLINUX_H
#define MEMTRACED_VMLINUX_H
#define __VMLINUX_H__ /* for bpf_tracing.h: registers have the kernel's names */

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;
enum { false = 0, true = 1 };

/* include/uapi/linux/bpf.h: map types and flags used here. */
enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PROG_ARRAY = 3,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
	BPF_MAP_TYPE_CGROUP_ARRAY = 8,
	BPF_MAP_TYPE_QUEUE = 22,
	BPF_MAP_TYPE_RINGBUF = 27,
};

enum {
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
	BPF_EXIST = 2,
	BPF_F_NO_PREALLOC = 1 << 0,
	BPF_F_MMAPABLE = 1 << 10,
	BPF_F_USER_STACK = 1 << 8,
	BPF_RB_NO_WAKEUP = 1 << 0,
	BPF_RB_FORCE_WAKEUP = 1 << 1,
	BPF_RB_AVAIL_DATA = 0,
	BPF_RB_RING_SIZE = 1,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

#include "registers.h"

typedef struct {
	int counter;
} atomic_t;

typedef struct {
	long counter;
} atomic_long_t;

struct super_block {
	__u32 s_dev;
	unsigned long s_magic;
};

struct inode {
	unsigned short i_mode;
	struct super_block *i_sb;
	unsigned long i_ino;
	__u32 i_generation;
};

struct qstr {
	const unsigned char *name;
};

struct hlist_bl_node {
	struct hlist_bl_node **pprev;
};

struct dentry {
	struct hlist_bl_node d_hash;
	struct dentry *d_parent;
	struct qstr d_name;
};

struct vfsmount {
	struct dentry *mnt_root;
};

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
};

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct file {
	struct path f_path;
	struct inode *f_inode;
	const void *f_op;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct xol_area {
	unsigned long vaddr;
};

struct uprobes_state {
	struct xol_area *xol_area;
};

struct vm_area_struct {
	unsigned long vm_start;
	unsigned long vm_end;
	unsigned long vm_pgoff;
	struct file *vm_file;
};

struct mm_struct {
	unsigned long end_code;
	unsigned long brk;
	unsigned long start_stack;
	unsigned long hiwater_rss;
	unsigned long total_vm;
	unsigned long exec_vm;
	atomic_long_t pgtables_bytes;
	struct file *exe_file;
	struct uprobes_state uprobes_state;
};

/* Until Linux 6.17; since then a bitmap. The lowest bits are MMF_DUMPABLE_MASK in both. */
struct mm_struct___word {
	unsigned long flags;
};

typedef struct {
	unsigned long __mm_flags[1];
} mm_flags_t;

struct mm_struct___bitmap {
	mm_flags_t flags;
};

/* Until Linux 6.2; since then an array of counters that are per CPU. */
struct mm_rss_stat {
	atomic_long_t count[4];
};

struct mm_struct___sums {
	struct mm_rss_stat rss_stat;
};

struct percpu_counter {
	__s64 count;
};

struct mm_struct___by_cpu {
	struct percpu_counter rss_stat[4];
};

struct signal_struct {
	atomic_t live;
	int group_exit_code;
	unsigned int flags;
	unsigned long maxrss;
	short oom_score_adj;
};

typedef struct {
	__u32 val;
} kuid_t;

typedef struct {
	__u32 val;
} kgid_t;

/* Its value is 64 bits in all kernels, of another type before Linux 6.3. */
typedef struct {
	__u64 val;
} kernel_cap_t;

struct user_namespace {
	struct user_namespace *parent;
	kuid_t owner;
};

struct cred {
	kuid_t uid;
	kgid_t gid;
	kuid_t suid;
	kgid_t sgid;
	kuid_t euid;
	kgid_t egid;
	kernel_cap_t cap_permitted;
	struct user_namespace *user_ns;
};

struct kernfs_node {
	const char *name;
};

struct cgroup;

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
};

struct cgroup {
	struct cgroup_subsys_state self;
	int level;
	struct kernfs_node *kn;
};

struct css_set {
	struct cgroup_subsys_state *subsys[1];
};

/* Values are relocated, too. */
enum cgroup_subsys_id { memory_cgrp_id = 1 };
enum memcg_memory_event { MEMCG_MAX = 2, MEMCG_OOM = 3, MEMCG_OOM_KILL = 4 };

struct page_counter {
	atomic_long_t usage;
	unsigned long watermark;
	unsigned long max;
};

struct mem_cgroup {
	struct cgroup_subsys_state css;
	struct page_counter memory;
	atomic_long_t memory_events[8];
};

enum oom_constraint { CONSTRAINT_NONE };

struct oom_control {
	struct mem_cgroup *memcg;
	enum oom_constraint constraint;
};

struct return_instance {
	unsigned long stack;
	unsigned long orig_ret_vaddr;
	struct return_instance *next;
};

struct uprobe_task {
	struct return_instance *return_instances;
};

struct sigaction {
	void *sa_handler;
	unsigned long sa_flags;
};

struct k_sigaction {
	struct sigaction sa;
};

struct kernel_siginfo {
	int si_code;
};

struct task_struct {
	void *stack;
	int exit_code;
	int pid;
	int tgid;
	unsigned long sas_ss_sp;
	__u64 sas_ss_size;
	struct mm_struct *mm;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	struct signal_struct *signal;
	struct files_struct *files;
	const struct cred *real_cred;
	struct css_set *cgroups;
	struct uprobe_task *utask;
	struct thread_struct thread;
	char comm[16];
};

struct trace_entry {
	unsigned short type;
	unsigned char flags;
	unsigned char preempt_count;
	int pid;
};

struct trace_event_raw_sys_enter {
	struct trace_entry ent;
	long id;
	unsigned long args[6];
};

struct trace_event_raw_sys_exit {
	struct trace_entry ent;
	long id;
	long ret;
};

struct trace_event_raw_signal_deliver {
	struct trace_entry ent;
	int sig;
	int errno;
	int code;
	unsigned long sa_handler;
	unsigned long sa_flags;
};

struct trace_event_raw_task_newtask {
	struct trace_entry ent;
	int pid;
	char comm[16];
	unsigned long clone_flags;
};

struct trace_event_raw_sched_process_exec {
	struct trace_entry ent;
	int old_pid;
};

struct trace_event_raw_sched_switch {
	struct trace_entry ent;
	int prev_pid;
	long prev_state;
	int next_pid;
};

#pragma clang attribute pop

struct bpf_raw_tracepoint_args {
	__u64 args[0];
};

#endif
