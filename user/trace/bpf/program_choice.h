/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which of the BPF object's programs are loaded: what a session does not need costs time to verify.
 */
#ifndef MEMTRACED_TRACE_BPF_PROGRAM_CHOICE_H
#define MEMTRACED_TRACE_BPF_PROGRAM_CHOICE_H

#include "trace/bpf/programs_opts.h"

#include <stdbool.h>

struct memtraced_bpf;

/* Marks those that a session with these options needs. Before the object is loaded. */
void program_choice(struct memtraced_bpf *skel, const struct programs_opts *opts);

/*
 * Of an object opened for what stands for programs that would be preempted, which is known only
 * later: those of processes' lives, of fatal faults, and of system calls.
 */
void program_choice_perf(struct memtraced_bpf *skel, const struct programs_opts *opts,
			 bool lifecycle, bool faults, bool syscalls);

/* The same of programs_load_calls(). entry_type: as in struct programs. */
void program_choice_calls(struct memtraced_bpf *skel, enum attach_path path, int entry_type,
			  bool raw_preempted);

/* Whether blocks have their form, which is told by walks of the stack. */
bool programs_know_forms(const struct programs_opts *opts);

/* Is what processes map told by tracepoints of system calls, if only at times? */
bool programs_trace_calls(const struct programs_opts *opts);
/* Is on_exit_mmap the program for signals, too? */
bool programs_signals_by_mmap(const struct programs_opts *opts);

#endif
