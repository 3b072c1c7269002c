/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the daemon fixes before load (read-only: the verifier drops what a knob turns off), and the
 * control word that it changes while the programs run.
 */
#ifndef MEMTRACED_KNOBS_BPF_H
#define MEMTRACED_KNOBS_BPF_H

#include "abi.h"
#include "old_kernel.bpf.h"

#include <bpf/bpf_helpers.h>

/* Other blocks are not tracked. */
__weak const volatile struct abi_block_filter knob_block_filter = { .max_size = ~0ULL };
/* Where blocks are freed is remembered. */
__weak const volatile bool knob_heap_errors;
/*
 * Frees are counted by where the block was allocated and where it is freed: free_pair.bpf.h.
 * Without a value its place would be by its first use, which is another in old kernels' build.
 */
__weak const volatile bool knob_free_stacks = false;
/* Lifetimes of blocks are known to a microsecond: abi_site_counts.lifetimes. */
__weak const volatile bool knob_lifetimes = false;
/* Blocks have their form: form.bpf.h. */
__weak const volatile bool knob_forms;
/* Processes are seen from their first allocation on: what is no block never was one. */
__weak const volatile bool knob_whole_life;
/* Blocks are samples: abi_sample.h. */
__weak const volatile bool knob_sampled;
/* Live samples of one process. */
__weak const volatile __u32 knob_sample_room = ~0U;
/* Entries of `sites` and of `blocks`: bpf/room.bpf.h. */
__weak const volatile __u32 knob_site_room = ~0U;
__weak const volatile __u32 knob_spill_room = ~0U;
/* On whose behalf processes are looked at: access.bpf.h. */
__weak const volatile struct abi_access knob_access;
/* Children of traced processes are traced. */
__weak const volatile bool knob_follow;
/* What a traced process executes is not, but for the command that user space has launched. */
__weak const volatile bool knob_no_exec;
/* The kernel's pages, in bytes: a power of two. */
__weak const volatile __u32 knob_page_size = 4096;
__weak const volatile __u32 knob_max_procs = 1;
__weak const volatile __u32 knob_block_buckets = 1;
/* Callers that are kept of a stack; 0: no stack is walked. */
__weak const volatile __u32 knob_max_stack = ABI_MAX_FRAMES;
/* Walked stacks that are sent with what they were walked in. */
__weak const volatile __u32 knob_check_stacks;
/* Uprobe programs may keep others off their CPU (Linux 6.10). */
__weak const volatile bool knob_hold_cpu;
/* The probes' programs are empty: what is left is the floor of what tracing costs. */
__weak const volatile bool knob_floor;

/* User stacks are walked by call frame information: unwind_maps.bpf.h. */
__weak const volatile bool knob_unwind;

/* What an exec has mapped is found at once (Linux 5.17): image.bpf.h. */
__weak const volatile bool knob_find_vma;

/* Anonymous mappings are a class of blocks; without, only mappings of code are of interest. */
__weak const volatile bool knob_regions = true;
/* All of them, and what brk(2) moves: no allocator is seen that would count them as its blocks. */
__weak const volatile bool knob_all_regions;
/* on_exit_mmap is at the tracepoint of signals, too. */
__weak const volatile bool knob_signals;
/*
 * Who has no slot gets one by a mapping of so many bytes, if it is of this scope; 0: it gets none.
 */
__weak const volatile __u64 knob_adopt_bytes;
__weak const volatile __u32 knob_adopt_scope; /* enum abi_scope */

/* Who is counted beside the processes that user space names: bpf/wanted.bpf.h. */
__weak const volatile __u32 knob_scope; /* enum abi_scope */
__weak const volatile __u32 knob_self;	/* the daemon's thread group */

/* Written by the daemon through a mapping of this section. */
__weak struct abi_control control SEC(".data.control");
/* What all processes have of what each may have a part of: bpf/room.bpf.h. */
__weak struct abi_room room_of_all SEC(".data.room");
/* The first slot that was never used. */
__weak __u32 next_slot SEC(".data.slots");

#endif
