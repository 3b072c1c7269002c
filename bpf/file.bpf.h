/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Open files of the current process: which one a descriptor is, and its path, which leaves the
 * kernel once. The path is walked from dentry to dentry without locks: a rename meanwhile can give
 * a mixture of old and new names, never anything else.
 */
#ifndef MEMTRACED_FILE_BPF_H
#define MEMTRACED_FILE_BPF_H

#include "abi_syscalls.h"
#include "ring.bpf.h"

#include <bpf/bpf_core_read.h>

/* Components and mounts that are walked: bounds the verifier's work. */
#define FILE_WALK_MAX 96

struct file_scratch {
	__u32 busy;
	__u32 pad;
	struct abi_ev_file ev;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct file_scratch);
} file_scratch SEC(".maps") __weak;

/* Files whose names user space has. What is forgotten here, such as a server's sockets of long ago,
 * is sent again when it is used again. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 32768);
	__type(key, struct abi_file_id);
	__type(value, __u8);
} file_names SEC(".maps") __weak;

#ifdef OLD_KERNEL
#define FDTABLE_READ(fdt, member) BPF_CORE_READ(fdt, member)

static __always_inline struct fdtable *task_fdtable(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	return BPF_CORE_READ(task, files, fdt);
}
#else
/* Typed pointers: loads instead of calls of helpers, as far as the types go. */
#define FDTABLE_READ(fdt, member) ((fdt)->member)

static __always_inline struct fdtable *task_fdtable(void)
{
	return bpf_get_current_task_btf()->files->fdt;
}
#endif

/* NULL: no such descriptor. */
static __always_inline struct file *file_of(__u64 fd)
{
	struct fdtable *fdt = task_fdtable();
	struct file **slots, *file = NULL;

	if ((__u32)fd >= FDTABLE_READ(fdt, max_fds))
		return NULL;
	slots = FDTABLE_READ(fdt, fd);
	if (bpf_probe_read_kernel(&file, sizeof(file), slots + (__u32)fd))
		return NULL;
	return file;
}

static __always_inline void file_id(struct file *file, struct abi_file_id *ret)
{
	struct inode *inode = BPF_CORE_READ(file, f_inode);

	ret->ino = BPF_CORE_READ(inode, i_ino);
	ret->dev = BPF_CORE_READ(inode, i_sb, s_dev);
	ret->kind = BPF_CORE_READ(inode, i_generation) ^ (__u32)(__u64)BPF_CORE_READ(file, f_op);
}

/* Appends the name of a dentry; false when there is no room for it. */
static __always_inline bool file_add_name(struct abi_ev_file *ev, struct dentry *dentry)
{
	const unsigned char *name = BPF_CORE_READ(dentry, d_name.name);
	__u32 at = ev->len;
	long n;

	if (at >= ABI_FILE_NAMES)
		return false;
	n = bpf_probe_read_kernel_str(ev->names + at, ABI_FILE_NAME_MAX, name);
	if (n <= 0)
		return false;
	ev->len = at + n;
	return true;
}

/* What mount(8) put the file system of this mount on; false at the root of all. */
static __always_inline bool file_leave_mount(struct vfsmount **mnt, struct dentry **dentry)
{
	struct mount *mount = (void *)*mnt - bpf_core_field_offset(struct mount, mnt);
	struct mount *parent = BPF_CORE_READ(mount, mnt_parent);

	if (parent == mount)
		return false;
	*dentry = BPF_CORE_READ(mount, mnt_mountpoint);
	*mnt = (void *)parent + bpf_core_field_offset(struct mount, mnt);
	return true;
}

static __always_inline void file_walk(struct abi_ev_file *ev, struct file *file)
{
	struct vfsmount *mnt = BPF_CORE_READ(file, f_path.mnt);
	struct dentry *dentry = BPF_CORE_READ(file, f_path.dentry), *parent;
	__u32 i;

	/* As the kernel's d_unlinked(): the root of a file system is in no table either. */
	if (!BPF_CORE_READ(dentry, d_hash.pprev) && BPF_CORE_READ(dentry, d_parent) != dentry)
		ev->flags |= ABI_FILE_DELETED;
	for (i = 0; i < FILE_WALK_MAX; i++) {
		if (dentry == BPF_CORE_READ(mnt, mnt_root)) {
			if (!file_leave_mount(&mnt, &dentry))
				return;
			continue;
		}
		parent = BPF_CORE_READ(dentry, d_parent);
		if (parent == dentry) {
			ev->flags |= ABI_FILE_NAMELESS;
			file_add_name(ev, dentry);
			return;
		}
		if (!file_add_name(ev, dentry))
			break;
		dentry = parent;
	}
	ev->flags |= ABI_FILE_TRUNCATED;
}

/* False (counted) when it could not be sent: the next call on the file tries again. */
static __always_inline bool file_send(struct file *file, const struct abi_file_id *id)
{
	const __u64 head = __builtin_offsetof(struct abi_ev_file, names);
	__u32 key = 0;
	__u64 len;
	struct file_scratch *s = bpf_map_lookup_elem(&file_scratch, &key);
	struct abi_ev_file *ev;
	bool sent;

	if (!s || !take_on_this_cpu(&s->busy)) {
		count_loss(ABI_LOST_FILE_NAME);
		return false;
	}
	ev = &s->ev;
	ev->head.type = ABI_EV_FILE;
	ev->head.slot = ABI_NO_SLOT;
	ev->head.time_ns = bpf_ktime_get_ns();
	ev->id = *id;
	ev->mode = BPF_CORE_READ(file, f_inode, i_mode);
	ev->magic = BPF_CORE_READ(file, f_inode, i_sb, s_magic);
	ev->flags = 0;
	ev->len = 0;
	file_walk(ev, file);
	len = ev->len;
	/* Else clang 19 compares a copy, and passes it without bound. */
	barrier_var(len);
	sent = len <= sizeof(ev->names) && !ring_send_later(ev, head + len);
	give_back_on_this_cpu(&s->busy);
	if (!sent)
		count_loss(ABI_LOST_FILE_NAME);
	return sent;
}

/*
 * Makes sure that user space has, or has been sent, the path of a struct file; 0 when it could not.
 * Not inlined: it is verified once and alone.
 */
__noinline int file_publish(__u64 file)
{
	struct abi_file_id id = {};
	__u8 one = 1;

	file_id((struct file *)file, &id);
	if (bpf_map_lookup_elem(&file_names, &id))
		return 1;
	if (!file_send((struct file *)file, &id))
		return 0;
	if (bpf_map_update_elem(&file_names, &id, &one, BPF_ANY))
		count_loss(ABI_LOST_FILE_NAME);
	return 1;
}

#endif
