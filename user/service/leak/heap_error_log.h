/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Wrong uses of the heap as leak checks report them: each place of a process once, when it is first
 * read after it happened, unless it is suppressed; and what they come to. memcheck's rules for what
 * is the same error: its kind, and four frames. One thread.
 */
#ifndef MEMTRACED_SERVICE_LEAK_HEAP_ERROR_LOG_H
#define MEMTRACED_SERVICE_LEAK_HEAP_ERROR_LOG_H

#include "analyze/suppressions.h"
#include "base/cleanup.h"
#include "base/vec.h"
#include "config/options.h"
#include "report/leak/leak_text.h"
#include "service/leak/leak_xml_log.h"

#include <stdint.h>
#include <sys/types.h>

struct heap_error_log;

/* All is borrowed. `xml`: where errors go, NULL: into the text. 0 or -ENOMEM. */
int heap_error_log_new(const struct view_resolver *resolver, struct suppressions *suppressions,
		       const struct leak_options *options, struct leak_xml_log *xml,
		       struct heap_error_log **ret_log);
/* Of a thread that has begun. 0 or -ENOMEM. */
int heap_error_log_thread(struct heap_error_log *log, pid_t pid, pid_t tid, uint32_t number);
void heap_error_log_free(struct heap_error_log *log); /* NULL is legal */
DEFINE_CLEANUP(struct heap_error_log, heap_error_log_free)

/* Appends what is new of an image since the last time, and what has ended it. 0 or -ENOMEM. */
int heap_error_log_write(struct heap_error_log *log, const struct model_process *image,
			 struct strbuf *out);

/* Adds what an image's errors come to, as of the last time, and counts used suppressions. Once. */
void heap_error_log_end(struct heap_error_log *log, const struct model_process *image,
			struct leak_errors *errors);
/* All errors of an image once more, as memcheck's -s: of so many contexts. 0 or -ENOMEM. */
int heap_error_log_list(const struct heap_error_log *log, const struct model_process *image,
			uint64_t contexts, struct strbuf *out);

/* --- numbers of threads ----------------------------------------------------------------------- */

/*
 * Threads of processes by the order in which they began, as reports in Valgrind's form name them.
 * Threads that have ended stay known, the newest ones. One thread.
 */

struct thread_number {
	pid_t pid, tid;
	uint32_t number;
};

/* All 0: none is known. */
struct thread_numbers {
	VEC(struct thread_number) all;
	size_t oldest; /* its place, which the next one takes; 0 unless there are many */
};

/* 0 or -ENOMEM. */
int thread_numbers_add(struct thread_numbers *numbers, pid_t pid, pid_t tid, uint32_t number);
/* 1 of a process's first thread; 0: not known. */
uint32_t thread_numbers_find(const struct thread_numbers *numbers, pid_t pid, pid_t tid);
void thread_numbers_done(struct thread_numbers *numbers);

#endif
