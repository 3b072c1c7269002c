/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text of a leak check, in memcheck's order and words, each line with "==PID== " before it:
 * scripts and people that read memcheck's read it. What memcheck does not say, since it cannot
 * happen there, comes in lines of its own that begin with "note:". Wrong uses of the heap come
 * before the check that follows them.
 */
#ifndef MEMTRACED_REPORT_LEAK_LEAK_TEXT_H
#define MEMTRACED_REPORT_LEAK_LEAK_TEXT_H

#include "report/leak/leak_result.h"

/* What Valgrind says first of a process; ppid 0: it is not said. */
struct leak_text_head {
	const char *title;
	pid_t pid, ppid;
	char *const *command; /* NULL-terminated */
};
void leak_text_begin(struct strbuf *out, const struct leak_text_head *head);

/*
 * Stacks as text and XML show them: how many frames, the name of one, NULL where it is not known,
 * and the instruction that it is at.
 */
size_t leak_frames_shown(const struct leak_stack *stack, const struct leak_options *options);
const char *leak_function_shown(const struct leak_stack *stack, size_t i,
				const struct leak_options *options);
uint64_t leak_frame_address(const struct leak_frame *frame);
/* The object that the function is in; NULL: not known. */
const char *leak_object_shown(const struct leak_frame *frame);

/* HEAP SUMMARY, loss records, LEAK SUMMARY, notes. */
void leak_text(struct strbuf *out, const struct leak_result *result,
	       const struct leak_stacks *stacks, const struct model_process *image,
	       const struct leak_options *options);

/* "9 bytes in 1 blocks are definitely lost in loss record 1 of 1" */
void leak_record_title(struct strbuf *out, const struct loss_records *list, size_t index);
/* That, its stack, and a suppression if they are asked for. */
void leak_record_text(struct strbuf *out, pid_t pid, const struct loss_records *list, size_t index,
		      const struct leak_stacks *stacks, const struct leak_options *options);

/* What stands for it where no check could be made. */
void leak_text_missed(struct strbuf *out, pid_t pid, const struct model_process *image);

/* A wrong use of the heap: with what place, and how often so far. */
struct leak_error {
	const struct record_heap_error *values; /* of its first time */
	uint64_t count;
	const struct leak_stack *stack, *allocated, *freed; /* NULL: not known */
	uint32_t thread; /* its number in the process, from 1; 0: not known */
};

/* Is it an error, and by which kind of suppressions is it left out? */
bool leak_error_kind(enum record_heap_error_kind kind, enum suppression_kind *ret_kind);

/*
 * The error as memcheck prints it when it happens; `certain`: nothing was missed that would make a
 * right use look wrong.
 */
void leak_error_text(struct strbuf *out, pid_t pid, const struct leak_error *error, bool certain,
		     const struct leak_options *options);

/* Why the process is killed, as memcheck says it: with its places, NULL where not known. */
struct leak_fault {
	const struct record_fault *values;
	const struct leak_stack *stack, *allocated, *freed;
	uint32_t thread; /* as of struct leak_error */
};
void leak_fault_text(struct strbuf *out, pid_t pid, const struct leak_fault *fault,
		     const struct leak_options *options);

/* What one process's checks, and wrong uses of its heap, come to. */
struct leak_errors {
	uint64_t errors, contexts, suppressed, suppressed_contexts;
	uint64_t further; /* of the errors: uses of the heap of which no place is known */
};

/*
 * The suppressions that were used (NULL: they are not shown), ERROR SUMMARY, and behind it `list`,
 * which are all errors once more or "".
 */
void leak_text_end(struct strbuf *out, pid_t pid, const struct leak_errors *errors,
		   const struct suppressions *used, const char *list,
		   const struct leak_options *options);

#endif
