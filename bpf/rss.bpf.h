/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is resident of an address space, and the most that was, as the kernel counts it. In pages.
 */
#ifndef MEMTRACED_RSS_BPF_H
#define MEMTRACED_RSS_BPF_H

#include "abi_event.h"

#include <bpf/bpf_core_read.h>

/*
 * The kernel's counter: 0 files, 1 anonymous, 2 swapped, 3 shared (include/linux/mm_types_task.h).
 * As the OOM killer's message and getrusage(2) have it: without what CPUs have not added yet. The
 * index has to be a constant, by which the type's size is relocated, too.
 */
#define RSS_PAGES(mm, i)                                                                           \
	({                                                                                         \
		struct mm_struct___by_cpu *by_cpu = (void *)(mm);                                  \
		struct mm_struct___sums *sums = (void *)(mm);                                      \
		__s64 pages = bpf_core_field_exists(sums->rss_stat.count) ?                        \
				      BPF_CORE_READ(sums, rss_stat.count[i].counter) :             \
				      BPF_CORE_READ(by_cpu, rss_stat[i].count);                    \
                                                                                                   \
		pages > 0 ? pages : 0;                                                             \
	})

/* As get_mm_hiwater_rss() in include/linux/mm.h: the mark is raised before memory is given back. */
static __always_inline __u64 mm_peak_pages(struct mm_struct *mm)
{
	__u64 mark = BPF_CORE_READ(mm, hiwater_rss);
	__u64 now = RSS_PAGES(mm, 0) + RSS_PAGES(mm, 1) + RSS_PAGES(mm, 3);

	return now > mark ? now : mark;
}

/*
 * Of the process so far: what getrusage(2) knows. The kernel notes an image's mark there when it
 * ends (exec_mmap() in fs/exec.c, do_exit() in kernel/exit.c).
 */
static __always_inline __u64 task_peak_pages(struct task_struct *task)
{
	return BPF_CORE_READ(task, signal, maxrss);
}

#endif
