/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/routes/process_reader.h"

#include "base/cleanup.h"
#include "base/threads.h"
#include "service/daemon/routes/permits.h"
#include "service/daemon/service_state.h"
#include "target/process.h"
#include "target/process_list.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/* What one call asks for. */
struct process_question {
	struct process_question *next;
	struct service_call *call; /* the loop's; NULL: the client has gone */
	struct http_peer who;
	char *pattern; /* NULL: all */
	size_t most;
	VEC(struct process_row) rows;
	int error;
};

/* One reading of /proc, for all its questions. */
struct reading {
	struct aside_work work;
	struct process_reader *reader; /* the loop's */
	struct process_question *questions;
};

/*
 * At most one reading runs. What is asked meanwhile waits for the next one: the list that a call
 * gets is never older than the call.
 */
struct process_reader {
	struct service *service;
	struct reading *running;
	struct process_question *waiting;
};

/* --- the thread ------------------------------------------------------------------------------ */

static int by_size(const void *a, const void *b)
{
	const struct process_row *x = a, *y = b;

	if (x->rss_bytes != y->rss_bytes)
		return x->rss_bytes < y->rss_bytes ? 1 : -1;
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

/* Kernel threads have no memory of their own, nor have zombies. */
static bool read_row(struct process_row *row)
{
	return statm_rss(row->pid, &row->rss_bytes) == 0 && row->rss_bytes > 0 &&
	       process_comm(row->pid, row->comm) == 0;
}

static void offer_row(struct process_question *question, const struct process_row *row)
{
	if (question->error == 0 &&
	    (!question->pattern || fnmatch(question->pattern, row->comm, 0) == 0) &&
	    service_may_see_process(&question->who, row->pid))
		question->error = vec_push(&question->rows, *row);
}

static void read_processes(struct aside_work *work)
{
	struct reading *reading = (struct reading *)work;
	pid_vec pids = {};
	int r = process_list_host(&pids);

	for (struct process_question *q = reading->questions; q && r < 0; q = q->next)
		q->error = r;
	for (size_t i = 0; r == 0 && i < pids.len; i++) {
		struct process_row row = { .pid = pids.data[i] };

		if (!read_row(&row))
			continue;
		for (struct process_question *q = reading->questions; q; q = q->next)
			offer_row(q, &row);
	}
	vec_done(&pids);
	for (struct process_question *q = reading->questions; q; q = q->next)
		vec_sort(&q->rows, by_size);
}

/* --- the loop -------------------------------------------------------------------------------- */

static void question_free(struct process_question *question)
{
	vec_done(&question->rows);
	free(question->pattern);
	free(question);
}

static void answer_question(struct process_question *question)
{
	struct service_call *call = question->call;

	if (!call)
		return;
	call->processes = NULL;
	if (question->error == 0) {
		call->has_rows = true;
		call->rows = (struct process_rows){
			.rows = question->rows.data,
			.n_rows = question->rows.len < question->most ? question->rows.len :
									question->most,
			.n_all = question->rows.len,
		};
		question->rows.data = NULL;
		question->rows.len = 0;
	}
	service_resume(call, question->error);
}

static void answer_questions(struct process_question *questions)
{
	while (questions) {
		struct process_question *question = questions;

		questions = question->next;
		answer_question(question);
		question_free(question);
	}
}

static void begin_reading(struct process_reader *reader);

static void on_read(struct aside_work *work)
{
	struct reading *reading = (struct reading *)work;
	struct process_reader *reader = reading->reader;

	reader->running = NULL;
	answer_questions(reading->questions);
	free(reading);
	if (!reader->running)
		begin_reading(reader);
}

static void fail_waiting(struct process_reader *reader, int error)
{
	struct process_question *questions = reader->waiting;

	reader->waiting = NULL;
	for (struct process_question *q = questions; q; q = q->next)
		q->error = error;
	answer_questions(questions);
}

static int start_reading(struct process_reader *reader)
{
	struct reading *reading = calloc(1, sizeof(*reading));
	int r;

	if (!reading)
		return -ENOMEM;
	*reading = (struct reading){
		.work = { read_processes, on_read },
		.reader = reader,
		.questions = reader->waiting,
	};
	r = aside_start(reader->service->loop, &reading->work);
	if (r < 0) {
		free(reading);
		return r;
	}
	reader->running = reading;
	reader->waiting = NULL;
	return 0;
}

/* What was asked while a reading ran. */
static void begin_reading(struct process_reader *reader)
{
	int r = reader->waiting ? start_reading(reader) : 0;

	if (r < 0)
		fail_waiting(reader, r);
}

int process_reader_want(struct service_call *call, const char *pattern, size_t most)
{
	struct process_reader *reader = call->service->process_reader;
	struct process_question *question;
	int r;

	if (call->has_rows)
		return 0;
	question = calloc(1, sizeof(*question));
	if (!question)
		return -ENOMEM;
	question->call = call;
	question->who = call->who;
	question->most = most;
	question->pattern = pattern ? strdup(pattern) : NULL;
	question->next = reader->waiting;
	reader->waiting = question;
	r = pattern && !question->pattern ? -ENOMEM : 0;
	if (r == 0 && !reader->running)
		r = start_reading(reader);
	if (r < 0) {
		reader->waiting = question->next;
		question_free(question);
		return r;
	}
	call->processes = question;
	return 1;
}

void process_reader_forget(struct service_call *call)
{
	if (call->processes)
		call->processes->call = NULL;
	call->processes = NULL;
}

int process_reader_new(struct service *service, struct process_reader **ret_reader)
{
	struct process_reader *reader = calloc(1, sizeof(*reader));

	if (!reader)
		return -ENOMEM;
	reader->service = service;
	*ret_reader = reader;
	return 0;
}

/* A reading that still runs is left to the end of the process, as all work beside the loop is. */
void process_reader_free(struct process_reader *reader)
{
	if (!reader)
		return;
	while (reader->waiting) {
		struct process_question *question = reader->waiting;

		reader->waiting = question->next;
		question_free(question);
	}
	free(reader);
}
