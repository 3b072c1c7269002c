/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/worker.h"

#include "base/clock.h"
#include "base/log.h"
#include "sandbox/asked_ahead.h"
#include "sandbox/file_owner.h"
#include "sandbox/file_version.h"
#include "sandbox/keeper_process.h"
#include "sandbox/message.h"
#include "sandbox/worker_group.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* Debug information of 4 GiB is read in 20 s. */
#define TIMEOUT_NS (60 * SECOND_NS)
#define MAX_ANSWER_BYTES (64 << 20)

/* Whose files a process has read, of those that are not believed like our own program's. */
struct served {
	bool any, many; /* many: of several in one request */
	struct file_owner owner;
};

struct worker {
	const struct worker_ops *ops;
	void *state;		    /* without a process */
	struct worker_group *group; /* NULL: without a process */
	int fd;			    /* -1: it does not run */
	pid_t pid;
	uint64_t timeout_ns;
	struct file_owner own;
	dev_t made_dev;	      /* of worker_believe()'s file */
	ino_t made_ino;	      /* 0: there is none */
	struct served served; /* since it was started */
	struct asked_ahead asked;
	bool has_died; /* the last one did */
	uint64_t last_number;
};

static int worker_alloc(const struct worker_ops *ops, struct worker **ret_worker)
{
	struct worker *worker = calloc(1, sizeof(*worker));

	if (!worker)
		return -ENOMEM;
	worker->ops = ops;
	worker->fd = -1;
	*ret_worker = worker;
	return 0;
}

int worker_new(const struct worker_ops *ops, uint64_t timeout_ns, struct worker **ret_worker)
{
	_cleanup_(worker_free_p) struct worker *worker = NULL;
	int r = worker_alloc(ops, &worker);

	if (r == 0)
		r = file_owner_read_own(&worker->own);
	if (r == 0)
		r = worker_group_new(ops, &worker->group);
	if (r < 0)
		return r;
	worker->timeout_ns = timeout_ns ? timeout_ns : TIMEOUT_NS;
	*ret_worker = TAKE_PTR(worker);
	return 0;
}

int worker_new_beside(const struct worker *worker, struct worker **ret_worker)
{
	struct worker *beside;
	int r;

	if (!worker->group)
		return worker_new_inside(worker->ops, ret_worker);
	r = worker_alloc(worker->ops, &beside);
	if (r < 0)
		return r;
	beside->group = worker_group_ref(worker->group);
	beside->own = worker->own;
	beside->timeout_ns = worker->timeout_ns;
	*ret_worker = beside;
	return 0;
}

int worker_new_inside(const struct worker_ops *ops, struct worker **ret_worker)
{
	_cleanup_(worker_free_p) struct worker *worker = NULL;
	int r = worker_alloc(ops, &worker);

	if (r == 0)
		r = ops->new (&worker->state);
	if (r < 0)
		return r;
	*ret_worker = TAKE_PTR(worker);
	return 0;
}

/* Its process ends, and is not waited for long. 0 or negative errno, as of keeper_stop(). */
static int drop_process(struct worker *worker, int *ret_status)
{
	pid_t pid = worker->pid;

	asked_ahead_reset(&worker->asked);
	close(worker->fd);
	worker->fd = -1;
	worker->pid = 0;
	return keeper_stop(worker_group_keeper(worker->group), pid, ret_status);
}

void worker_free(struct worker *worker)
{
	if (!worker)
		return;
	if (worker->fd >= 0)
		(void)drop_process(worker, &(int){ 0 }); /* nobody asks how it has ended */
	asked_ahead_reset(&worker->asked);
	worker_group_unref(worker->group);
	if (worker->state)
		worker->ops->free(worker->state);
	free(worker);
}

int worker_start(struct worker *worker)
{
	int r;

	if (!worker->group || worker->fd >= 0)
		return 0;
	if (worker->has_died && !worker_group_may_restart(worker->group))
		return -EAGAIN;
	worker->has_died = false;
	worker->served = (struct served){ 0 };
	r = keeper_start(worker_group_keeper(worker->group), &worker->fd, &worker->pid);
	return r == 0 || r == -ENOMEM ? r : -EAGAIN;
}

static void say_why(int status, bool in_time)
{
	static const char what[] = "the process that parses files";

	if (!in_time)
		log_debug("%s took too long, and was killed", what);
	else if (WIFSIGNALED(status))
		log_debug("%s was killed by signal %d (%s)", what, WTERMSIG(status),
			  strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status) == WORKER_EXIT_CONFINE)
		log_debug("%s could not be confined", what);
	else
		log_debug("%s ran out of memory", what);
}

/* Of a worker that has died, or shall. */
static void worker_stop(struct worker *worker, bool in_time)
{
	int status = 0, r = drop_process(worker, &status);

	worker->has_died = true;
	if (r == 0)
		say_why(status, in_time);
	else if (r == -EINPROGRESS)
		log_debug("the process that parses files was killed, and does not end");
}

int worker_believe(struct worker *worker, int fd)
{
	struct stat st = { 0 };

	if (fd >= 0 && fstat(fd, &st) < 0)
		return -errno;
	worker->made_dev = st.st_dev;
	worker->made_ino = st.st_ino;
	return 0;
}

static bool is_made(const struct worker *worker, int fd)
{
	struct stat st;

	return worker->made_ino && fstat(fd, &st) == 0 && st.st_dev == worker->made_dev &&
	       st.st_ino == worker->made_ino;
}

/* Whose files these are. 0 or negative errno. */
static int whose(const struct worker *worker, const int *fds, size_t n_fds,
		 struct served *ret_served)
{
	struct served served = { 0 };
	int r = 0;

	for (size_t i = 0; r == 0 && i < n_fds; i++) {
		struct file_owner owner;

		if (is_made(worker, fds[i]))
			continue;
		r = file_owner_read(fds[i], &owner);
		if (r < 0 || file_owner_equal(&owner, &worker->own))
			continue;
		served.many |= served.any && !file_owner_equal(&owner, &served.owner);
		served.any = true;
		served.owner = owner;
	}
	*ret_served = served;
	return r;
}

/*
 * A file may have taken the worker over, which then lies about what it reads next: where to put a
 * breakpoint into a libc, say. So it reads no other owner's files any more. Those whose owner could
 * have written this program as well take over nothing, and are read by any that has read no others.
 */
static bool may_read(const struct worker *worker, const struct served *next)
{
	const struct served *served = &worker->served;

	return !served->any || (next->any && !served->many && !next->many &&
				file_owner_equal(&served->owner, &next->owner));
}

static void renew_for(struct worker *worker, const struct served *next)
{
	if (!may_read(worker, next)) {
		log_debug("files of another owner: another process reads them");
		(void)drop_process(worker, &(int){ 0 }); /* nobody asks how it has ended */
	}
}

static int start_for(struct worker *worker, const int *fds, size_t n_fds)
{
	struct served next;
	int r = whose(worker, fds, n_fds, &next);

	if (r < 0)
		return -EAGAIN;
	/* Without a file it is about nobody's. */
	if (worker->fd >= 0 && n_fds > 0)
		renew_for(worker, &next);
	r = worker_start(worker);
	if (r == 0 && next.any)
		worker->served = next;
	return r;
}

/* It has not answered, or not in time: the file that it was asked about was the cause, if any. */
static int blame(struct worker *worker, int r, const struct file_version *file)
{
	worker_stop(worker, r != -ETIMEDOUT);
	if (r != -ENOMEM && file)
		r = worker_group_add_deadly(worker->group, file);
	return r == -ENOMEM ? r : -EPIPE;
}

/* The next answer to what was asked ahead. 0, -EPIPE or -ENOMEM: all is forgotten then. */
static int receive_asked(struct worker *worker)
{
	struct asked_question *question = asked_ahead_next(&worker->asked);
	struct file_version file = question->file.version;
	int r = message_receive(worker->fd, MAX_ANSWER_BYTES,
				clock_monotonic_ns() + worker->timeout_ns, &question->answer, NULL);

	question->is_answered = r == 0;
	return r == 0 ? 0 : blame(worker, r, &file);
}

static int receive_all_asked(struct worker *worker)
{
	int r = 0;

	while (r == 0 && asked_ahead_next(&worker->asked))
		r = receive_asked(worker);
	return r;
}

/*
 * Sends it behind what was asked ahead, whose answers come first then. A long request could have to
 * wait until the worker reads it, while that waits for us to read an answer: not so then.
 */
static int send_request(struct worker *worker, const struct strbuf *request, const int *fds,
			size_t n_fds)
{
	int r = request->len > ASKED_AHEAD_BYTES ? receive_all_asked(worker) : 0;

	if (r == 0)
		r = message_send(worker->fd, request, fds, n_fds,
				 clock_monotonic_ns() + worker->timeout_ns);
	if (r == -EPIPE && worker->fd >= 0)
		r = receive_all_asked(worker) == -ENOMEM ? -ENOMEM : -EPIPE;
	else if (r == 0)
		r = receive_all_asked(worker);
	return r;
}

static int call_process(struct worker *worker, const struct strbuf *request, const int *fds,
			size_t n_fds, struct strbuf *answer)
{
	struct file_version file;
	bool is_file = n_fds > 0 && file_version_read(fds[0], &file) == 0;
	int r = send_request(worker, request, fds, n_fds);

	/* It was dead before, or died of what it was asked ahead: not this request's fault. */
	if (r == -EPIPE) {
		if (worker->fd >= 0)
			worker_stop(worker, true);
		if (n_fds > 0 && worker_group_is_deadly(worker->group, fds[0]))
			return -EPIPE;
		r = start_for(worker, fds, n_fds);
		if (r < 0)
			return r;
		r = send_request(worker, request, fds, n_fds);
	}
	if (r == 0)
		r = message_receive(worker->fd, MAX_ANSWER_BYTES,
				    clock_monotonic_ns() + worker->timeout_ns, answer, NULL);
	if (r < 0 && worker->fd < 0)
		return r;
	return r == 0 ? 0 : blame(worker, r, is_file ? &file : NULL);
}

/* What asking ahead is about. False: about nothing that an answer can be kept for. */
static bool asked_file(const struct worker *worker, int fd, struct asked_file *ret_file)
{
	return !is_made(worker, fd) && file_version_read(fd, &ret_file->version) == 0 &&
	       file_owner_read(fd, &ret_file->owner) == 0;
}

/*
 * The answer to what was asked ahead. 0; -ENOENT: it was not, or the worker died of another file
 * before it came to this; -EPIPE: it died of this; -ENOMEM.
 */
static int take_asked(struct worker *worker, const struct strbuf *request, int fd,
		      struct strbuf *answer)
{
	struct asked_question *question;
	struct asked_file file;
	int r = 0;

	if (worker->asked.n == 0 || !asked_file(worker, fd, &file))
		return -ENOENT;
	question = asked_ahead_find(&worker->asked, &file, request);
	while (r == 0 && question && !question->is_answered)
		r = receive_asked(worker);
	if (r == -EPIPE)
		return worker_group_is_deadly(worker->group, fd) ? -EPIPE : -ENOENT;
	if (r == 0 && !question)
		return -ENOENT;
	if (r == 0)
		asked_ahead_take(&worker->asked, question, answer);
	return r;
}

int worker_call(struct worker *worker, const struct strbuf *request, const int *fds, size_t n_fds,
		struct strbuf *answer)
{
	int r = strbuf_error(request);

	if (r < 0)
		return r;
	if (!worker->group) {
		strbuf_reset(answer);
		r = worker->ops->serve(worker->state, request, fds, n_fds, answer);
		return r < 0 ? r : strbuf_error(answer);
	}
	if (n_fds > 0 && worker_group_is_deadly(worker->group, fds[0]))
		return -EPIPE;
	r = n_fds == 1 ? take_asked(worker, request, fds[0], answer) : -ENOENT;
	if (r != -ENOENT)
		return r;
	r = start_for(worker, fds, n_fds);
	return r < 0 ? r : call_process(worker, request, fds, n_fds, answer);
}

void worker_ask_ahead(struct worker *worker, const struct strbuf *request, int fd)
{
	struct asked_file file;
	struct served next;
	int r;

	if (worker->fd < 0 || strbuf_error(request) || request->len > ASKED_AHEAD_BYTES ||
	    worker_group_is_deadly(worker->group, fd) || !asked_file(worker, fd, &file) ||
	    asked_ahead_find(&worker->asked, &file, request))
		return;
	if (whose(worker, &fd, 1, &next) < 0 || !may_read(worker, &next) ||
	    asked_ahead_add(&worker->asked, &file, request) < 0)
		return;
	if (next.any)
		worker->served = next;
	r = message_send(worker->fd, request, &fd, 1, clock_monotonic_ns() + worker->timeout_ns);
	if (r < 0)
		asked_ahead_drop(&worker->asked);
	/* Whether and of what it has died, who asks next finds out. Else a part may be sent. */
	if (r < 0 && r != -EPIPE)
		worker_stop(worker, r != -ETIMEDOUT);
}

int worker_distrust(struct worker *worker)
{
	if (worker->fd >= 0)
		worker_stop(worker, true);
	return -EPIPE;
}

uint64_t worker_next_number(struct worker *worker)
{
	return ++worker->last_number;
}

pid_t worker_keeper(const struct worker *worker)
{
	return worker->group ? keeper_pid(worker_group_keeper(worker->group)) : 0;
}

pid_t worker_pid(const struct worker *worker)
{
	return worker->pid;
}
