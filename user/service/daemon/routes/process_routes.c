/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What /proc and the files of a process say, without a trace: its command line, and functions of
 * addresses, which pprof's older readers ask for. A process can make both hang for the reader (by a
 * file system of its own, for one), so they are read beside the loop.
 */
#include "base/escape.h"
#include "base/threads.h"
#include "report/text/text.h"
#include "sandbox/worker.h"
#include "service/daemon/routes/permits.h"
#include "service/daemon/routes/routes.h"
#include "symbol/symbolizer.h"
#include "target/file_helper.h"
#include "target/file_open.h"
#include "target/login_users.h"
#include "target/proc_file.h"
#include "target/proc_maps.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/sysmacros.h>

#define CMDLINE_MOST (4U << 20)
#define MOST_ADDRESSES 4096
/* At once: each is a thread. Of root as many again. */
#define MOST_OF_USERS 8
#define MOST_OF_USER 2
/* Not how many: whether there are any. */
#define HAS_SYMBOLS "num_symbols: 1\n"

/* Fills the answer where there is no process to speak of, and says so by its status. 1: later. */
static int check_process(struct service_call *call, struct http_answer *answer)
{
	if (!call->query.pid)
		return page_candidates(call, "no process given: add ?pid=PID", NULL, answer);
	service_check_process(call, answer);
	return 0;
}

/* A question to a process, beside the loop; its thread knows nothing of the call. */
struct question {
	struct aside_work work;
	/* The loop's: */
	struct question *next;
	struct service *service;
	uid_t person;		   /* who asks: login_users.h */
	struct service_call *call; /* NULL: the client has gone */

	struct worker *worker; /* that it may use one beside */
	pid_t pid;
	struct http_peer who;
	char *addresses; /* NULL: the command line is wanted */
	int error;	 /* what came of it */
	struct http_answer answer;
};

/* What was read is of that process, unless it has executed another program since. */
static void check_again(struct service_call *call, struct http_answer *answer)
{
	uint64_t start_ticks = call->process.start_ticks;
	struct http_answer now = {};

	service_check_process(call, &now);
	if (now.status == 503)
		service_answer_refused(call, -ETIMEDOUT, answer);
	else if (now.status || call->process.start_ticks != start_ticks)
		http_answer_error(answer, 403, "process %d is not yours any more",
				  (int)call->query.pid);
	http_answer_done(&now);
}

static void remove_question(struct question *question)
{
	struct question **at = &question->service->questions;

	while (*at != question)
		at = &(*at)->next;
	*at = question->next;
}

static void on_answer(struct aside_work *work)
{
	struct question *question = (struct question *)work;
	struct http_answer *answer = &question->answer;

	remove_question(question);
	if (question->error == -EINVAL)
		http_answer_error(answer, 400,
				  "the body is addresses with + between them: 0x1+0x2");
	else if (question->error == -ENOMEM)
		http_answer_error(answer, 500, "%s", strerror(ENOMEM));
	else if (question->error < 0)
		http_answer_error(answer, 404, "process %d: %s", (int)question->pid,
				  strerror(-question->error));
	else if (question->call)
		check_again(question->call, answer);
	if (question->call) {
		question->call->question = NULL;
		service_answer(question->call, answer);
	}
	http_answer_done(answer);
	free(question->addresses);
	free(question);
}

void process_question_forget(struct question *question)
{
	if (question)
		question->call = NULL;
}

/* No user keeps out another one, nor do all of them root. */
static bool has_room(const struct service *service, const struct http_peer *who, uid_t person)
{
	size_t of_users = 0, of_person = 0, of_root = 0;

	for (const struct question *q = service->questions; q; q = q->next) {
		bool is_root = http_peer_is_root(&q->who);

		of_root += is_root;
		of_users += !is_root;
		of_person += !is_root && q->person == person;
	}
	/* Root's subordinate users are the person root, and not root. */
	return http_peer_is_root(who) ? of_root < MOST_OF_USERS :
					of_users < MOST_OF_USERS && of_person < MOST_OF_USER;
}

/* 1: the answer comes later. */
static int begin_question(struct service_call *call, void (*run)(struct aside_work *work),
			  const char *addresses, struct http_answer *answer)
{
	struct service *service = call->service;
	uid_t person = login_users_find(service->users, call->who.uid);
	struct question *question;
	int r = -ENOMEM;

	if (!has_room(service, &call->who, person)) {
		http_answer_error(answer, 503, "too many questions at once; ask again");
		return 0;
	}
	question = calloc(1, sizeof(*question));
	if (!question)
		return -ENOMEM;
	*question = (struct question){
		.work = { run, on_answer },
		.next = service->questions,
		.service = service,
		.person = person,
		.call = call,
		.worker = service->worker,
		.pid = call->query.pid,
		.who = call->who,
		.addresses = addresses ? strdup(addresses) : NULL,
		.answer = { .status = 200, .type = HTTP_TEXT },
	};
	if (!addresses || question->addresses)
		r = aside_start(service->loop, &question->work);
	if (r < 0) {
		free(question->addresses);
		free(question);
		return r;
	}
	service->questions = question;
	call->question = question;
	return 1;
}

static void read_cmdline(struct aside_work *work)
{
	struct question *question = (struct question *)work;
	struct strbuf *body = &question->answer.body;
	_cleanup_strbuf_ struct strbuf words = {};

	question->error = file_helper_read(question->pid, "cmdline", CMDLINE_MOST, &words);
	/* Words are separated by zero bytes, as in Go's; the last one ends with one in /proc. */
	for (const char *at = words.data, *end = at + words.len;
	     question->error == 0 && at && at < end; at += strlen(at) + 1) {
		if (at > words.data)
			strbuf_addch(body, '\0');
		escape_text(body, at);
	}
}

int process_route_cmdline(struct service_call *call, struct http_answer *answer)
{
	int r = check_process(call, answer);

	return r != 0 || answer->status ? r : begin_question(call, read_cmdline, NULL, answer);
}

struct lookup {
	pid_t pid;
	struct symbolizer *symbolizer;
	struct proc_maps maps;
};

/* *ret_function is NULL where nothing is known. 0 or -ENOMEM. */
static int look_up_address(struct lookup *lookup, uint64_t address, const char **ret_function)
{
	const struct proc_map *map = proc_maps_find(&lookup->maps, address);
	_cleanup_close_ int fd = map ? proc_map_open(lookup->pid, map) : -1;
	struct symbol_object *object;
	const struct symbol *symbol;
	char root[32];
	int r;

	*ret_function = NULL;
	if (!map || fd < 0)
		return 0;
	(void)snprintf(root, sizeof(root), "/proc/%d/root",
		       (int)proc_living_thread(lookup->pid)); /* fits */
	r = symbolizer_object(lookup->symbolizer, map->path,
			      makedev(map->dev_major, map->dev_minor), map->ino, fd, root, &object);
	if (r == 0)
		r = symbolizer_resolve(lookup->symbolizer, object,
				       address - map->start + map->offset, false, &symbol);
	if (r == 0)
		*ret_function = symbol->frames[0].function;
	return r;
}

static int add_symbols(struct lookup *lookup, const char *addresses, struct strbuf *out)
{
	const char *at = addresses;
	int r = 0;

	for (size_t i = 0; r == 0 && *at && i < MOST_ADDRESSES; i++) {
		const char *function;
		char *end;
		uint64_t address = strtoull(at, &end, 16);

		if (end == at || (*end && *end != '+' && *end != '\n'))
			return -EINVAL;
		r = look_up_address(lookup, address, &function);
		if (function) {
			strbuf_addf(out, "0x%" PRIx64 "\t", address);
			escape_text(out, function);
			strbuf_addch(out, '\n');
		}
		at = end + (*end != '\0');
	}
	return r;
}

static int resolve_addresses(struct question *question, struct worker *worker)
{
	struct lookup lookup = { .pid = question->pid };
	int r = proc_maps_read(lookup.pid, &lookup.maps);

	if (r == 0)
		r = symbolizer_new(worker, &lookup.symbolizer);
	if (r == 0 && !http_peer_is_root(&question->who))
		symbolizer_show_to(lookup.symbolizer, question->who.uid, question->who.gid);
	if (r == 0)
		r = add_symbols(&lookup, question->addresses, &question->answer.body);
	symbolizer_free(lookup.symbolizer);
	proc_maps_done(&lookup.maps);
	return r;
}

static void read_symbols(struct aside_work *work)
{
	struct question *question = (struct question *)work;
	_cleanup_(worker_free_p) struct worker *worker = NULL;

	question->error = worker_new_beside(question->worker, &worker);
	if (question->error == 0) {
		strbuf_adds(&question->answer.body, HAS_SYMBOLS);
		question->error = resolve_addresses(question, worker);
	}
}

int process_route_symbol(struct service_call *call, struct http_answer *answer)
{
	int r = check_process(call, answer);

	if (r != 0 || answer->status)
		return r;
	if (strcmp(http_request_method(call->request), "POST") == 0)
		return begin_question(call, read_symbols,
				      strbuf_str(http_request_body(call->request)), answer);
	strbuf_adds(&answer->body, HAS_SYMBOLS);
	answer->status = 200;
	answer->type = HTTP_TEXT;
	return 0;
}
