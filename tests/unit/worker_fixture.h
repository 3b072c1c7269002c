/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A worker that does what it is asked by a word, and how tests ask it. */
#ifndef MEMTRACED_TESTS_WORKER_FIXTURE_H
#define MEMTRACED_TESTS_WORKER_FIXTURE_H

#include "sandbox/worker.h"

#define LONG_BYTES (1 << 20) /* of the answer to "long" */

extern const struct worker_ops ops;

/* Asks about a file, or about none (fd -1). As worker_call. */
int ask_about(struct worker *worker, const char *what, int fd, struct strbuf *answer);
int ask(struct worker *worker, const char *what, int fd);
void assert_answer(struct worker *worker, const char *what, const char *expected);

/* An open file with this content. */
int file_of(const char *text);

/* Setup and teardown of a test whose state is a worker. */
int worker_fixture_new(void **state);
int worker_fixture_free(void **state);

#endif
