/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What exec itself maps: the code of the executable and of its interpreter, of which no mmap tells.
 * Without, stacks of a new image that was not stopped end there, until the daemon has read its
 * mappings.
 */
#ifndef MEMTRACED_IMAGE_BPF_H
#define MEMTRACED_IMAGE_BPF_H

#include "knobs.bpf.h"
#include "maps.bpf.h"
#include "registers.bpf.h"
#include "space.bpf.h"

#ifdef OLD_KERNEL

static __always_inline __u32 image_add_code(__u32 slot)
{
	(void)slot; /* bpf_find_vma: Linux 5.17 */
	return 0;
}

#else

struct image_code {
	__u64 start, len, offset;
	struct abi_file_key file;
};

/* Called with the task's mappings locked. */
static long image_code_found(struct task_struct *task, struct vm_area_struct *vma,
			     struct image_code *ret)
{
	struct file *file = BPF_CORE_READ(vma, vm_file);

	(void)task; /* the current one */
	ret->start = BPF_CORE_READ(vma, vm_start);
	ret->len = BPF_CORE_READ(vma, vm_end) - ret->start;
	ret->offset = BPF_CORE_READ(vma, vm_pgoff) * SPACE_PAGE;
	ret->file.ino = BPF_CORE_READ(file, f_inode, i_ino);
	ret->file.dev = BPF_CORE_READ(file, f_inode, i_sb, s_dev);
	return 0;
}

/* The mapping at an address: 1 when its file is known, and it has been appended. */
static __always_inline __u32 image_add_mapping(__u32 slot, __u64 addr)
{
	struct image_code code = {};
	struct abi_file *file;

	if (bpf_find_vma(bpf_get_current_task_btf(), addr, image_code_found, &code, 0))
		return 0;
	file = bpf_map_lookup_elem(&files, &code.file);
	if (!file || !file->object)
		return 0;
	return space_add_code(slot, file->object, code.start, code.len, code.offset) != 0;
}

/*
 * The current process has just executed: how many mappings are in its space, which is new. The end
 * of its code lies in a mapping that can be executed (load_elf_binary() in fs/binfmt_elf.c; before
 * 5.9 the start was that of all segments), its first instruction in the interpreter's.
 */
static __always_inline __u32 image_add_code(__u32 slot)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (!knob_find_vma)
		return 0;
	return image_add_mapping(slot, BPF_CORE_READ(task, mm, end_code) - 1) +
	       image_add_mapping(slot, PT_REGS_IP_CORE(task_registers()));
}

#endif

#endif
