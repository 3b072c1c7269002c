/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/worker.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/vec.h"
#include "sandbox/file_owner.h"
#include "sandbox/keeper.h"
#include "sandbox/keeper_process.h"
#include "sandbox/message.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* Debug information of 4 GiB is read in 20 s. */
#define TIMEOUT_NS (60 * SECOND_NS)
#define MAX_ANSWER_BYTES (64 << 20)

/*
 * Each death names an object that is not tried again, but somebody may map one after the other:
 * so many starts after one at once, and one more in each of these times.
 */
#define MAX_STARTS 16
#define START_NS (10 * SECOND_NS)

/* Files of which workers have died; of more of them the first ones are forgotten. */
#define MAX_DEADLY 1024

struct deadly_file {
	dev_t dev;
	ino_t ino;
	struct timespec changed; /* the kernel's own time: nobody can choose it */
};

/* Whose files a process has read, of those that are not believed like our own program's. */
struct served {
	bool any, many; /* many: of several in one request */
	struct file_owner owner;
};

struct worker {
	const struct worker_ops *ops;
	void *state;	       /* without a process */
	struct keeper *keeper; /* NULL: without a process */
	int fd;		       /* -1: it does not run */
	pid_t pid;
	uint64_t timeout_ns;
	struct file_owner own;
	dev_t made_dev;	      /* of worker_believe()'s file */
	ino_t made_ino;	      /* 0: there is none */
	struct served served; /* since it was started */
	bool has_died;	      /* the last one did */
	unsigned int starts_left;
	uint64_t refilled_ns;
	uint64_t last_number;
	VEC(struct deadly_file) deadly;
	uint64_t n_deaths;
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
		r = keeper_new(ops, &worker->keeper);
	if (r < 0)
		return r;
	worker->timeout_ns = timeout_ns ? timeout_ns : TIMEOUT_NS;
	worker->starts_left = MAX_STARTS;
	worker->refilled_ns = clock_monotonic_ns();
	*ret_worker = TAKE_PTR(worker);
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

void worker_free(struct worker *worker)
{
	if (!worker)
		return;
	if (worker->fd >= 0)
		close(worker->fd);
	keeper_free(worker->keeper);
	if (worker->state)
		worker->ops->free(worker->state);
	vec_done(&worker->deadly);
	free(worker);
}

static bool may_start(struct worker *worker)
{
	uint64_t now = clock_monotonic_ns();

	while (worker->starts_left < MAX_STARTS && now - worker->refilled_ns >= START_NS) {
		worker->starts_left++;
		worker->refilled_ns += START_NS;
	}
	if (worker->starts_left == MAX_STARTS)
		worker->refilled_ns = now;
	return worker->starts_left > 0;
}

int worker_start(struct worker *worker)
{
	int r;

	if (!worker->keeper || worker->fd >= 0)
		return 0;
	if (worker->has_died) {
		if (!may_start(worker))
			return -EAGAIN;
		worker->starts_left--;
		worker->has_died = false;
	}
	worker->served = (struct served){ 0 };
	r = keeper_start(worker->keeper, &worker->fd, &worker->pid);
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
	int status;

	close(worker->fd);
	worker->fd = -1;
	worker->pid = 0;
	worker->has_died = true;
	if (keeper_stop(worker->keeper, &status) == 0)
		say_why(status, in_time);
}

static bool identify(int fd, struct deadly_file *ret_file)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return false;
	*ret_file = (struct deadly_file){ st.st_dev, st.st_ino, st.st_ctim };
	return true;
}

static bool is_deadly(const struct worker *worker, int fd)
{
	struct deadly_file file;

	if (worker->deadly.len == 0 || !identify(fd, &file))
		return false;
	vec_foreach(&worker->deadly, known)
		if (known->dev == file.dev && known->ino == file.ino &&
		    known->changed.tv_sec == file.changed.tv_sec &&
		    known->changed.tv_nsec == file.changed.tv_nsec)
			return true;
	return false;
}

static int remember_deadly(struct worker *worker, int fd)
{
	struct deadly_file file;

	if (!identify(fd, &file))
		return 0;
	if (worker->deadly.len < MAX_DEADLY)
		return vec_push(&worker->deadly, file);
	worker->deadly.data[worker->n_deaths++ % MAX_DEADLY] = file;
	return 0;
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
 * Closing the socket is enough: the keeper kills the one before.
 */
static void renew_for(struct worker *worker, const struct served *next)
{
	struct served *served = &worker->served;

	if (served->any && (!next->any || served->many || next->many ||
			    !file_owner_equal(&served->owner, &next->owner))) {
		log_debug("files of another owner: another process reads them");
		close(worker->fd);
		worker->fd = -1;
		worker->pid = 0;
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

static int call_process(struct worker *worker, const struct strbuf *request, const int *fds,
			size_t n_fds, struct strbuf *answer)
{
	uint64_t deadline_ns = clock_monotonic_ns() + worker->timeout_ns;
	int r = message_send(worker->fd, request, fds, n_fds, deadline_ns);

	/* It was dead before: that is not this request's fault. */
	if (r == -EPIPE) {
		worker_stop(worker, true);
		r = start_for(worker, fds, n_fds);
		if (r < 0)
			return r;
		r = message_send(worker->fd, request, fds, n_fds, deadline_ns);
	}
	if (r == 0)
		r = message_receive(worker->fd, MAX_ANSWER_BYTES, deadline_ns, answer, NULL);
	if (r == 0)
		return 0;
	worker_stop(worker, r != -ETIMEDOUT);
	if (r != -ENOMEM && n_fds > 0)
		r = remember_deadly(worker, fds[0]);
	return r == -ENOMEM ? r : -EPIPE;
}

int worker_call(struct worker *worker, const struct strbuf *request, const int *fds, size_t n_fds,
		struct strbuf *answer)
{
	int r = strbuf_error(request);

	if (r < 0)
		return r;
	if (!worker->keeper) {
		strbuf_reset(answer);
		r = worker->ops->serve(worker->state, request, fds, n_fds, answer);
		return r < 0 ? r : strbuf_error(answer);
	}
	if (n_fds > 0 && is_deadly(worker, fds[0]))
		return -EPIPE;
	r = start_for(worker, fds, n_fds);
	return r < 0 ? r : call_process(worker, request, fds, n_fds, answer);
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
	return worker->keeper ? keeper_pid(worker->keeper) : 0;
}

pid_t worker_pid(const struct worker *worker)
{
	return worker->pid;
}
