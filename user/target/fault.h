/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A thread that is about to be killed by a signal of its own making (SIGSEGV, SIGBUS, SIGABRT and
 * the like): where it is, and what it wanted to touch. For the thread that traces it, while it
 * stands at the delivery of the signal (ptrace(2), signal-delivery-stop).
 */
#ifndef MEMTRACED_TARGET_FAULT_H
#define MEMTRACED_TARGET_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define FAULT_FRAMES 127

struct fault {
	int signal, code; /* si_signo, si_code: siginfo's */
	bool has_addr;	  /* the kernel knows which memory was touched, or which instruction: */
	uint64_t addr;
	bool whole; /* the frames go on to the stack's end */
	size_t n_frames;
	uint64_t frames[FAULT_FRAMES]; /* innermost first, */
	/* where bit i is set interrupted there, else return addresses */
	uint64_t exact[(FAULT_FRAMES + 63) / 64];
};

/* Does this signal kill the process, which has no handler for it and does not ignore it? */
bool fault_is_fatal(pid_t pid, int signal);

/*
 * 0 or negative errno. The stack is walked by libdwfl, from the files' call frame information;
 * where they cannot be opened it is short, and so it is where a function in progress has a return
 * probe.
 */
int fault_read(pid_t pid, pid_t tid, struct fault *ret_fault);

#endif
