/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Questions about files that were sent to a worker before anybody waits for their answers, in the
 * order of sending, which is that of the answers too: those that have come are the first ones. For
 * sandbox/worker.h. An answer is given once, and to nothing but the same question about the same
 * file, as the same writing left it, whose owner is the same.
 */
#ifndef MEMTRACED_SANDBOX_ASKED_AHEAD_H
#define MEMTRACED_SANDBOX_ASKED_AHEAD_H

#include "base/strbuf.h"
#include "sandbox/file_owner.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * So few and so short that the worker's socket takes them all whatever it does: who sends one never
 * waits for a worker that waits for us to read.
 */
#define ASKED_AHEAD_MOST 8
#define ASKED_AHEAD_BYTES 4096

/* Which file a question is about. */
struct asked_file {
	struct file_version version;
	struct file_owner owner;
	uint64_t wait_ns; /* how long an answer about it is waited for */
};

struct asked_ahead {
	struct asked_question {
		struct asked_file file;
		struct strbuf request, answer;
		bool is_answered;
	} list[ASKED_AHEAD_MOST]; /* the oldest first */
	size_t n;
};

/* Forgets all. */
void asked_ahead_reset(struct asked_ahead *asked);

/* The question, or NULL. */
struct asked_question *asked_ahead_find(struct asked_ahead *asked, const struct asked_file *file,
					const struct strbuf *request);

/* The one that is answered next, or NULL. */
struct asked_question *asked_ahead_next(struct asked_ahead *asked);

/*
 * Adds what is sent now; of those whose answers were not wanted the oldest makes room. 0,
 * -ENOSPC while so many wait for their answers, or -ENOMEM.
 */
int asked_ahead_add(struct asked_ahead *asked, const struct asked_file *file,
		    const struct strbuf *request);

/* Forgets what was added last: it was not sent. */
void asked_ahead_drop(struct asked_ahead *asked);

/* Hands the answer over to `answer`, and forgets the question. */
void asked_ahead_take(struct asked_ahead *asked, struct asked_question *question,
		      struct strbuf *answer);

#endif
