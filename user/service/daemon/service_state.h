/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of a service, for its own files, and one request on its way: service.c runs it,
 * routes.c says who may ask for what, the *_routes.c answer. All on the thread of the loop.
 */
#ifndef MEMTRACED_SERVICE_DAEMON_SERVICE_STATE_H
#define MEMTRACED_SERVICE_DAEMON_SERVICE_STATE_H

#include "base/loop.h"
#include "base/vec.h"
#include "config/service_config.h"
#include "service/daemon/reports/killed.h"
#include "service/daemon/trace/traces.h"
#include "service/daemon/watch/watch.h"
#include "service/http/query.h"
#include "service/http/server.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Of the processes with most resident memory (routes/process_reader.h reads them). */
struct process_row {
	pid_t pid;
	uint64_t rss_bytes;
	char comm[16];
};

struct process_rows {
	struct process_row *rows; /* malloc'ed */
	size_t n_rows;
	size_t n_all; /* n_rows, and those that were left out */
};

struct growth_wait;
struct process_question;
struct process_reader;
struct question;
struct recording;
struct host_growth;
struct listeners;
struct login_users;
struct push;
struct rules;
struct user_tokens;
struct worker;

/* File names have these sizes at most. */
#define SERVICE_NAME_LEN 256

/* Ends that traces have told of lately: host_growth_run sees the same ones. */
#define SERVICE_TOLD 64
struct service_told {
	uint32_t pid;
	uint64_t end_ns;
};

struct service_reloads {
	uint64_t done, failed;
	uint64_t last_ns; /* CLOCK_BOOTTIME: of the last one, whatever came of it; 0: none */
	bool has_failed;  /* the last one, */
	char *error;	  /* for this; NULL: there was no memory for it */
};

struct service {
	const struct service_config *config; /* a reference; NULL until the first one */
	const char *config_path;	     /* NULL: the usual place */
	struct loop *loop;
	struct traces *traces;
	struct host_growth *growth;
	struct watch *watch;
	struct rules *rules;
	struct push *push;
	struct worker *worker;	   /* which parses what others wrote */
	struct login_users *users; /* that limits count for; any thread's */
	struct listeners *listeners;
	char *token; /* of [http] token_file; NULL: none */
	struct user_tokens *user_tokens;
	uint64_t tokens_refused;
	uint64_t start_realtime_ns; /* as clocks showed it then; they may have been set since */
	uint64_t start_boot_ns;	    /* CLOCK_BOOTTIME */
	uint64_t n_recordings;	    /* so that no two reports have one name */
	struct own_program program;
	uint64_t post_mortems, post_mortems_failed, post_mortems_limited;
	uint64_t post_mortems_own;		/* memtraced's own processes, which have none */
	struct service_told told[SERVICE_TOLD]; /* a ring */
	size_t n_told;
	/* Of who was not traced: killed by the OOM killer, and else. */
	struct post_mortem_limit oom_limit, kill_limit;
	struct question *questions; /* that run: routes/process_routes.c */
	struct process_reader *process_reader;
	struct service_reloads reloads;
	bool is_settling; /* a reload has begun what does not run yet */
	bool over, wants_reload;
};

struct service_call;

/* Fills the answer: 0. 1: it comes later, by service_answer. Or -ENOMEM. */
typedef int (*service_route_fn)(struct service_call *call, struct http_answer *answer);

struct service_call {
	struct service *service;
	struct http_request *request;
	service_route_fn route; /* NULL: not chosen yet */
	struct http_query query;
	struct http_peer who; /* as service_identify has found */
	bool wants_html;
	struct process_info process; /* that is traced for it, when it was allowed */
	struct trace_wait *wait;     /* NULL: it does not wait for a trace */
	struct growth_wait *growth;  /* NULL: nor for growth depth */
	struct recording *recording; /* that it waits for to begin; NULL: for none */
	char report_name[SERVICE_NAME_LEN];
	struct question *question; /* to a process, that it waits for; NULL: none */
	/* routes/process_reader.h: what it waits for (NULL: nothing), and what came of it. */
	struct process_question *processes;
	bool has_rows;
	struct process_rows rows;
};

/* Frees a call (daemon/service_state.c). */
void service_end_call(struct service_call *call);
/*
 * What the call's route waited for is there: its function is called once more. `error`: or it
 * failed, negative errno.
 */
void service_resume(struct service_call *call, int error);
/* Answers what is waited for, and ends the call. */
void service_answer(struct service_call *call, struct http_answer *answer);

#endif
