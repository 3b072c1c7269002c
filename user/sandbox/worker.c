/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/worker.h"

#include "base/clock.h"
#include "base/log.h"
#include "sandbox/asked_ahead.h"
#include "sandbox/file_owner.h"
#include "sandbox/keeper_process.h"
#include "sandbox/message.h"
#include "sandbox/work_limit.h"
#include "sandbox/worker_group.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#define MAX_ANSWER_BYTES (64 << 20)

/*
 * What a process costs that was killed by a file, beside the time that it has used: a death names a
 * file that is not tried again, but somebody may map one after the other.
 */
#define DEATH_NS SECOND_NS
/* Who waits for a file system gets no CPU time. */
#define WAITS_PER_NS 4

/* Whose files a process has read, of those that are not believed like our own program's. */
struct served {
	bool any, many;		 /* many: of several in one request */
	struct file_owner owner; /* the first one's: it is charged */
};

struct worker {
	const struct worker_ops *ops;
	void *state;		    /* without a process */
	struct worker_group *group; /* NULL: without a process */
	int fd;			    /* -1: it does not run */
	struct kept_process process;
	uint64_t timeout_ns;  /* 0: by its files alone */
	uint64_t cpu_used_ns; /* of the process, when an answer came last */
	dev_t made_dev;	      /* of worker_believe()'s file */
	ino_t made_ino;	      /* 0: there is none */
	struct served served; /* since it was started */
	struct asked_ahead asked;
	bool has_died; /* the last one did, and no owner was charged */
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
		r = worker_group_new(ops, &worker->group);
	if (r < 0)
		return r;
	worker->timeout_ns = timeout_ns;
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
	struct kept_process process = worker->process;

	asked_ahead_reset(&worker->asked);
	close(worker->fd);
	worker->fd = -1;
	worker->process = (struct kept_process){ 0 };
	return keeper_stop(worker_group_keeper(worker->group), process, ret_status);
}

void worker_free(struct worker *worker)
{
	if (!worker)
		return;
	if (worker->fd >= 0)
		(void)drop_process(worker, &(int){ 0 }); /* how it has ended does not matter */
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
	worker->cpu_used_ns = 0;
	r = keeper_start(worker_group_keeper(worker->group), &worker->fd, &worker->process);
	return r == 0 || r == -ENOMEM ? r : -EAGAIN;
}

static void log_death(int status, bool in_time)
{
	static const char what[] = "the process that parses files";

	if (!in_time)
		log_debug("%s took too long, and was killed", what);
	else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF)
		log_debug("%s used more CPU time than files of that size take", what);
	else if (WIFSIGNALED(status))
		log_debug("%s was killed by signal %d (%s)", what, WTERMSIG(status),
			  strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status) == WORKER_EXIT_CONFINE)
		log_debug("%s could not be confined", what);
	else
		log_debug("%s ran out of memory", what);
}

/* CPU time of the process since it was asked last; 0: that is not known. */
static uint64_t cpu_used_since(struct worker *worker)
{
	uint64_t before_ns = worker->cpu_used_ns;
	struct timespec used;
	clockid_t clock;

	if (clock_getcpuclockid(worker->process.pid, &clock) != 0 ||
	    clock_gettime(clock, &used) < 0)
		return 0;
	worker->cpu_used_ns = (uint64_t)used.tv_sec * SECOND_NS + (uint64_t)used.tv_nsec;
	return worker->cpu_used_ns - before_ns;
}

/* To the owner of the files that the process reads, if there is one. */
static void charge(struct worker *worker, uint64_t waited_ns, uint64_t extra_ns)
{
	uint64_t used_ns = cpu_used_since(worker);

	if (used_ns < waited_ns / WAITS_PER_NS)
		used_ns = waited_ns / WAITS_PER_NS;
	if (worker->served.any)
		worker_group_charge(worker->group, &worker->served.owner, used_ns + extra_ns);
}

/* Of a worker that has died, or shall. False: its keeper was killed, and the worker with it. */
static bool worker_stop(struct worker *worker, bool in_time)
{
	bool has_keeper = keeper_has(worker_group_keeper(worker->group), worker->process);
	int status = 0, r;

	charge(worker, 0, has_keeper ? DEATH_NS : 0);
	worker->has_died = has_keeper && !worker->served.any;
	r = drop_process(worker, &status);
	if (r == 0)
		log_death(status, in_time);
	else if (r == -EINPROGRESS)
		log_debug("the process that parses files was killed, and does not end");
	return has_keeper;
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
		if (r < 0 || file_owner_equal(&owner, worker_group_own(worker->group)))
			continue;
		served.many |= served.any && !file_owner_equal(&owner, &served.owner);
		if (!served.any)
			served.owner = owner;
		served.any = true;
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
		(void)drop_process(worker, &(int){ 0 }); /* how it has ended does not matter */
	}
}

/* How long an answer about the files is waited for. */
static uint64_t wait_for(const struct worker *worker, const int *fds, size_t n_fds)
{
	uint64_t wait_ns = work_wait_ns(work_limit_ns(fds, n_fds));

	return worker->timeout_ns && worker->timeout_ns < wait_ns ? worker->timeout_ns : wait_ns;
}

/* The next answer. 0 or negative errno, as of message_receive(). */
static int receive(struct worker *worker, uint64_t wait_ns, struct strbuf *answer)
{
	uint64_t begin_ns = clock_monotonic_ns();
	int r = message_receive(worker->fd, MAX_ANSWER_BYTES, begin_ns + wait_ns, answer, NULL);

	charge(worker, clock_monotonic_ns() - begin_ns, 0);
	return r;
}

static int start_for(struct worker *worker, const int *fds, size_t n_fds)
{
	struct served next;
	int r = whose(worker, fds, n_fds, &next);

	if (r < 0 || (next.any && !worker_group_may_read(worker->group, &next.owner)))
		return -EAGAIN;
	/* Without a file it has no owner. */
	if (worker->fd >= 0 && n_fds > 0)
		renew_for(worker, &next);
	r = worker_start(worker);
	if (r == 0 && next.any)
		worker->served = next;
	return r;
}

/*
 * It has not answered, or not in time: the file that it was asked about was the cause, if any, but
 * not when it died with its keeper (-EOWNERDEAD).
 */
static int blame(struct worker *worker, int r, const struct file_version *file)
{
	if (!worker_stop(worker, r != -ETIMEDOUT) && r != -ENOMEM)
		return -EOWNERDEAD;
	if (r != -ENOMEM && file)
		r = worker_group_add_deadly(worker->group, file);
	return r == -ENOMEM ? r : -EPIPE;
}

/* The next answer to what was asked ahead. 0, or as of blame(): all is forgotten then. */
static int receive_asked(struct worker *worker)
{
	struct asked_question *question = asked_ahead_next(&worker->asked);
	struct file_version file = question->file.version;
	int r = receive(worker, question->file.wait_ns, &question->answer);

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
			size_t n_fds, uint64_t wait_ns)
{
	int r = request->len > ASKED_AHEAD_BYTES ? receive_all_asked(worker) : 0;

	if (r == 0)
		r = message_send(worker->fd, request, fds, n_fds, clock_monotonic_ns() + wait_ns);
	if (r == -EPIPE && worker->fd >= 0)
		r = receive_all_asked(worker) == -ENOMEM ? -ENOMEM : -EPIPE;
	else if (r == 0)
		r = receive_all_asked(worker);
	return r;
}

/* 0 or negative errno; -EOWNERDEAD: no process was asked, or it died of it. */
static int try_call(struct worker *worker, const struct strbuf *request, const int *fds,
		    size_t n_fds, struct strbuf *answer)
{
	struct file_version file;
	bool is_file = n_fds > 0 && file_version_read(fds[0], &file) == 0;
	uint64_t wait_ns = wait_for(worker, fds, n_fds);
	int r = send_request(worker, request, fds, n_fds, wait_ns);

	/* It was dead before, or died of what it was asked ahead: not this request's fault. */
	if (r == -EPIPE) {
		if (worker->fd >= 0)
			(void)worker_stop(worker, true); /* another is started anyway */
		if (n_fds > 0 && worker_group_is_deadly(worker->group, fds[0]))
			return -EPIPE;
		r = start_for(worker, fds, n_fds);
		if (r < 0)
			return r;
		r = send_request(worker, request, fds, n_fds, wait_ns);
	}
	if (r == 0)
		r = receive(worker, wait_ns, answer);
	if (r < 0 && worker->fd < 0)
		return r;
	return r == 0 ? 0 : blame(worker, r, is_file ? &file : NULL);
}

static int call_process(struct worker *worker, const struct strbuf *request, const int *fds,
			size_t n_fds, struct strbuf *answer)
{
	int r = start_for(worker, fds, n_fds);

	if (r == 0)
		r = try_call(worker, request, fds, n_fds, answer);
	if (r != -EOWNERDEAD)
		return r;
	r = start_for(worker, fds, n_fds);
	if (r == 0)
		r = try_call(worker, request, fds, n_fds, answer);
	return r == -EOWNERDEAD ? -EAGAIN : r;
}

/* What asking ahead is about. False: about nothing that an answer can be kept for. */
static bool asked_file(const struct worker *worker, int fd, struct asked_file *ret_file)
{
	ret_file->wait_ns = wait_for(worker, &fd, 1);
	return !is_made(worker, fd) && file_version_read(fd, &ret_file->version) == 0 &&
	       file_owner_read(fd, &ret_file->owner) == 0;
}

/*
 * The answer to what was asked ahead. 0; -ENOENT: it was not, or the worker died of another file
 * before it came to this; -EPIPE: it died of this; -ENOMEM.
 */
static int answer_asked_ahead(struct worker *worker, const struct strbuf *request, int fd,
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
	if (r == -EPIPE || r == -EOWNERDEAD)
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
	r = n_fds == 1 ? answer_asked_ahead(worker, request, fds[0], answer) : -ENOENT;
	if (r != -ENOENT)
		return r;
	return call_process(worker, request, fds, n_fds, answer);
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
	    (next.any && !worker_group_may_read(worker->group, &next.owner)) ||
	    asked_ahead_add(&worker->asked, &file, request) < 0)
		return;
	if (next.any)
		worker->served = next;
	r = message_send(worker->fd, request, &fd, 1, clock_monotonic_ns() + file.wait_ns);
	if (r < 0)
		asked_ahead_drop(&worker->asked);
	/* Whether and of what it has died, who asks next finds out. Else a part may be sent. */
	if (r < 0 && r != -EPIPE)
		(void)worker_stop(worker, r != -ETIMEDOUT);
}

int worker_distrust(struct worker *worker)
{
	if (worker->fd >= 0)
		(void)worker_stop(worker, true); /* it is killed either way */
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

unsigned int worker_keeper_restarts(const struct worker *worker)
{
	return worker->group ? keeper_restarts(worker_group_keeper(worker->group)) : 0;
}

pid_t worker_pid(const struct worker *worker)
{
	return worker->process.pid;
}
