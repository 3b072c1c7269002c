/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/file_helper.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "sandbox/forker.h"
#include "sandbox/message.h"
#include "target/file_helper_process.h"
#include "target/proc_file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The one that forks does nothing that waits. */
#define FORK_NS SECOND_NS
/* Each answer comes as a whole. */
#define ANSWER_NS (2 * SECOND_NS)
/* Nothing that reads /proc sleeps longer; while it runs it gets more time: smaps takes seconds. */
#define READ_WAIT_MS 250
/* For what does not need the mmap_lock, a thread that others wait for. */
#define HURRIED_WAIT_MS 50
/* Where that many processes have let us wait of late, which one user can have any do. */
#define MANY_REFUSED 8
#define MANY_SHARE 5
/* A server far away. */
#define OPEN_WAIT_MS 1000
#define MOST_NS (10 * SECOND_NS)
#define REFUSED_NS (60 * SECOND_NS)
/* Most execs are over by then. */
#define ACCESS_REFUSED_NS (2 * SECOND_NS)

/* What is refused of a process, if it is no file: what needs its mmap_lock, or its exec's end. */
#define OF_MAPS (UINT64_C(1) << 63)
#define OF_ACCESS (UINT64_C(1) << 62)

#define MOST_IDLE 4
#define MOST_REFUSED 256
/* Those that opened, which may be beyond SIGKILL: then nothing more is opened. */
#define MOST_HUNG 16

struct helper {
	pid_t pid;
	int fd;
	int wait_ms;	  /* for an answer, while it sleeps */
	uint64_t used_ns; /* of a CPU, before what it is asked for */
};

struct pool {
	pthread_mutex_t lock; /* of all below */
	struct forker forker;
	struct helper idle[MOST_IDLE];
	size_t n_idle;
	struct refusal {
		uint64_t what, until_ns;
	} refused[MOST_REFUSED]; /* a ring */
	size_t next_refused;
	pid_t hung[MOST_HUNG];
	size_t n_hung;
};

/* Set before there are threads, and constant while there are any. */
static struct pool *the_pool;

static void run_file_helper(int fd, const void *userdata)
{
	file_helper_process(fd, *(const file_helper_open_fn *)userdata);
}

int file_helper_begin(const char *role, file_helper_open_fn open_fn)
{
	_cleanup_free_ struct pool *pool = calloc(1, sizeof(*pool));
	int r;

	if (!pool)
		return -ENOMEM;
	r = forker_begin(&pool->forker, role, run_file_helper, &open_fn);
	if (r < 0)
		return r;
	(void)pthread_mutex_init(&pool->lock, NULL); /* cannot fail with default attributes */
	the_pool = TAKE_PTR(pool);
	return 0;
}

void file_helper_end(void)
{
	struct pool *pool = the_pool;

	the_pool = NULL;
	if (!pool)
		return;
	for (size_t i = 0; i < pool->n_idle; i++)
		close(pool->idle[i].fd);
	close(pool->forker.fd);
	(void)pthread_mutex_destroy(&pool->lock); /* it is not held */
	free(pool);
}

pid_t file_helper_pid(void)
{
	return the_pool ? forker_pid(&the_pool->forker) : 0;
}

unsigned int file_helper_restarts(void)
{
	return the_pool ? forker_restarts(&the_pool->forker) : 0;
}

/* --- CPU time ------------------------------------------------------------------------------- */

static _Thread_local uint64_t cpu_ns; /* of helpers, for this thread */

/* 0 where it has ended. */
static uint64_t cpu_ns_of(pid_t pid)
{
	struct timespec used;
	clockid_t clock;

	return clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &used) ?
		       0 :
		       (uint64_t)used.tv_sec * SECOND_NS + (uint64_t)used.tv_nsec;
}

/* before_ns: what it had used when it began. */
static void count_cpu(pid_t pid, uint64_t before_ns)
{
	uint64_t used_ns = cpu_ns_of(pid);

	cpu_ns += used_ns > before_ns ? used_ns - before_ns : 0;
}

uint64_t file_helper_cpu_ns(void)
{
	return cpu_ns;
}

/* --- the pool, with its lock held ------------------------------------------------------------ */

static void put_order(struct strbuf *message, enum file_helper_what what, pid_t pid)
{
	const struct file_helper_order order = { (uint8_t)what, pid };

	codec_write(message, &file_helper_order_layout, &order, NULL);
}

static int fork_helper(struct pool *pool, struct helper *ret_helper)
{
	uint64_t deadline_ns = clock_monotonic_ns() + FORK_NS, used_ns;
	_cleanup_strbuf_ struct strbuf order = {}, answer = {};
	struct message_fds fds = {};
	int r;

	put_order(&order, FILE_HELPER_FORK, 0);
	r = strbuf_error(&order);
	/* Where it was killed, they were with it. */
	if (r == 0 && forker_has_ended(&pool->forker))
		r = forker_restart(&pool->forker);
	used_ns = cpu_ns_of(forker_pid(&pool->forker));
	if (r == 0)
		r = message_send(pool->forker.fd, &order, NULL, 0, deadline_ns);
	if (r == 0)
		r = message_receive(pool->forker.fd, sizeof(uint32_t), deadline_ns, &answer, &fds);
	count_cpu(forker_pid(&pool->forker), used_ns);
	if (r < 0)
		return r;
	if (codec_read_all(&answer, &codec_u32, &ret_helper->pid) < 0 || fds.n != 1 ||
	    fcntl(fds.fds[0], F_SETFL, O_NONBLOCK) < 0) {
		message_fds_close(&fds);
		return -EAGAIN;
	}
	ret_helper->fd = fds.fds[0];
	return 0;
}

static void kill_helper(struct pool *pool, pid_t pid)
{
	_cleanup_strbuf_ struct strbuf order = {};

	put_order(&order, FILE_HELPER_KILL, pid);
	/* If not, it ends when its socket does. */
	if (strbuf_error(&order) == 0)
		(void)message_send(pool->forker.fd, &order, NULL, 0,
				   clock_monotonic_ns() + FORK_NS);
}

static bool is_refused(const struct pool *pool, uint64_t what)
{
	uint64_t now = clock_monotonic_ns();

	for (size_t i = 0; i < MOST_REFUSED; i++)
		if (pool->refused[i].what == what && now < pool->refused[i].until_ns)
			return true;
	return false;
}

static size_t n_refused(const struct pool *pool)
{
	uint64_t now = clock_monotonic_ns();
	size_t n = 0;

	for (size_t i = 0; i < MOST_REFUSED; i++)
		n += pool->refused[i].what & OF_ACCESS && now < pool->refused[i].until_ns;
	return n;
}

static void refuse_request(struct pool *pool, uint64_t what)
{
	pool->refused[pool->next_refused++ % MOST_REFUSED] = (struct refusal){
		what, clock_monotonic_ns() + (what & OF_ACCESS ? ACCESS_REFUSED_NS : REFUSED_NS)
	};
}

/* Are there too many that hang beyond SIGKILL? */
static bool is_exhausted(struct pool *pool)
{
	size_t n = 0;

	for (size_t i = 0; i < pool->n_hung; i++)
		if (kill(pool->hung[i], 0) == 0 || errno != ESRCH)
			pool->hung[n++] = pool->hung[i];
	pool->n_hung = n;
	return n == MOST_HUNG;
}

static _Thread_local bool hurries;

static bool opens(uint64_t what)
{
	return !(what & (OF_MAPS | OF_ACCESS));
}

/* An exec may take a tenth of a second of itself, where the process had gigabytes. */
static int wait_ms_for(const struct pool *pool, uint64_t what)
{
	if (!(what & OF_ACCESS))
		return opens(what) ? OPEN_WAIT_MS : READ_WAIT_MS;
	return (hurries ? HURRIED_WAIT_MS : READ_WAIT_MS) /
	       (n_refused(pool) >= MANY_REFUSED ? MANY_SHARE : 1);
}

/* --- requests -------------------------------------------------------------------------------- */

void file_helper_hurry(void)
{
	hurries = true;
}

static int acquire_helper(struct pool *pool, uint64_t what, struct helper *ret_helper)
{
	int r = 0;

	(void)pthread_mutex_lock(&pool->lock); /* cannot fail: it is a plain mutex */
	/* Killed, as with the one that has forked them. */
	while (pool->n_idle > 0 && forked_has_ended(pool->idle[pool->n_idle - 1].fd))
		close(pool->idle[--pool->n_idle].fd);
	if (is_refused(pool, what) || (opens(what) && is_exhausted(pool)))
		r = -ETIMEDOUT;
	else if (pool->n_idle > 0)
		*ret_helper = pool->idle[--pool->n_idle];
	else
		r = fork_helper(pool, ret_helper);
	ret_helper->wait_ms = wait_ms_for(pool, what);
	(void)pthread_mutex_unlock(&pool->lock);
	if (r == 0)
		ret_helper->used_ns = cpu_ns_of(ret_helper->pid);
	return r;
}

/* failed: it has not answered, or not as it should. */
static void return_helper(struct pool *pool, uint64_t what, struct helper helper, int failed)
{
	count_cpu(helper.pid, helper.used_ns);
	(void)pthread_mutex_lock(&pool->lock); /* as above */
	if (failed == 0 && pool->n_idle < MOST_IDLE) {
		pool->idle[pool->n_idle++] = helper;
	} else {
		close(helper.fd);
		kill_helper(pool, helper.pid);
	}
	if (failed == -ETIMEDOUT) {
		refuse_request(pool, what);
		if (opens(what) && pool->n_hung < MOST_HUNG)
			pool->hung[pool->n_hung++] = helper.pid;
	}
	(void)pthread_mutex_unlock(&pool->lock);
}

/* Does it not wait for anything but a CPU? */
static bool is_running(pid_t pid)
{
	_cleanup_strbuf_ struct strbuf stat = {};
	const char *state;

	if (proc_file_read(pid, "stat", 4096, &stat) < 0)
		return false;
	state = strrchr(strbuf_str(&stat), ')');
	return state && strncmp(state, ") R", 3) == 0;
}

/* 0: something is there to be received. */
static int await(const struct helper *helper)
{
	uint64_t end_ns = clock_monotonic_ns() + MOST_NS;
	struct pollfd poll_fd = { .fd = helper->fd, .events = POLLIN };

	for (;;) {
		int n = poll(&poll_fd, 1, helper->wait_ms);

		if (n > 0)
			return 0;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (clock_monotonic_ns() < end_ns && is_running(helper->pid))
			continue;
		/* It may have answered since, and waits for more. */
		return poll(&poll_fd, 1, 0) > 0 ? 0 : -ETIMEDOUT;
	}
}

static int receive(const struct helper *helper, struct strbuf *answer, struct message_fds *fds)
{
	int r = await(helper);

	return r < 0 ? r :
		       message_receive(helper->fd, FILE_HELPER_CHUNK + 16,
				       clock_monotonic_ns() + ANSWER_NS, answer, fds);
}

/* *ret_failed: as of return_helper(). */
static int receive_text(const struct helper *helper, size_t max_bytes, struct strbuf *text,
			int *ret_failed)
{
	_cleanup_strbuf_ struct strbuf answer = {};
	bool more = true;
	int error = 0;

	*ret_failed = 0;
	while (more && error == 0) {
		struct file_helper_chunk head;
		struct decoder decoder;
		size_t n;

		*ret_failed = receive(helper, &answer, NULL);
		if (*ret_failed < 0)
			return *ret_failed;
		decoder = decoder_of(&answer);
		codec_read(&decoder, &file_helper_chunk_layout, &head);
		more = head.more;
		error = -head.error;
		n = (size_t)(decoder.end - decoder.at);
		if (decoder.error < 0 || text->len + n > max_bytes)
			*ret_failed = -EBADMSG;
		if (*ret_failed < 0)
			return *ret_failed;
		strbuf_add(text, decoder.at, n);
	}
	return error ? error : strbuf_error(text);
}

static int receive_opened(const struct helper *helper, int *ret_failed)
{
	_cleanup_strbuf_ struct strbuf answer = {};
	struct message_fds fds = {};
	int error;

	*ret_failed = receive(helper, &answer, &fds);
	if (*ret_failed < 0)
		return *ret_failed;
	if (codec_read_all(&answer, &codec_u32, &error) == 0 && fds.n == (error ? 0 : 1))
		return error ? -error : fds.fds[0];
	message_fds_close(&fds);
	*ret_failed = -EBADMSG;
	return -EBADMSG;
}

/* text: of READ and LINK. */
static int ask_of_process(struct pool *pool, enum file_helper_request kind,
			  const struct file_helper_asked *asked, uint64_t of, struct strbuf *text)
{
	const uint64_t what = of | (uint32_t)asked->pid;
	_cleanup_strbuf_ struct strbuf request = {};
	struct helper helper;
	int failed, r;

	strbuf_addch(&request, (char)kind);
	codec_write(&request, &file_helper_asked_layout, asked, NULL);
	r = strbuf_error(&request);
	if (r == 0)
		r = acquire_helper(pool, what, &helper);
	if (r < 0)
		return r;
	r = failed = message_send(helper.fd, &request, NULL, 0, clock_monotonic_ns() + ANSWER_NS);
	if (r == 0)
		r = text ? receive_text(&helper, text->len + asked->max_bytes, text, &failed) :
			   receive_opened(&helper, &failed);
	return_helper(pool, what, helper, failed);
	return r;
}

void file_helper_exec_is_over(pid_t pid)
{
	struct pool *pool = the_pool;

	if (!pool)
		return;
	(void)pthread_mutex_lock(&pool->lock); /* as above */
	for (size_t i = 0; i < MOST_REFUSED; i++)
		if (pool->refused[i].what == (OF_ACCESS | (uint32_t)pid))
			pool->refused[i].until_ns = 0;
	(void)pthread_mutex_unlock(&pool->lock);
}

int file_helper_read(pid_t pid, const char *name, size_t max_bytes, struct strbuf *text)
{
	const struct file_helper_asked asked = { proc_living_thread(pid), name, max_bytes, 0 };
	struct pool *pool = the_pool;

	return pool ? ask_of_process(pool, FILE_HELPER_READ, &asked, OF_MAPS, text) :
		      proc_file_read(asked.pid, name, max_bytes, text);
}

int file_helper_read_thread(pid_t tid, const char *name, size_t max_bytes, struct strbuf *text)
{
	const struct file_helper_asked asked = { tid, name, max_bytes, 0 };
	struct pool *pool = the_pool;

	return pool ? ask_of_process(pool, FILE_HELPER_READ, &asked, OF_ACCESS, text) :
		      proc_file_read(tid, name, max_bytes, text);
}

int file_helper_read_link(pid_t pid, const char *name, size_t max_bytes, struct strbuf *text)
{
	const struct file_helper_asked asked = { proc_living_thread(pid), name, max_bytes, 0 };
	struct pool *pool = the_pool;

	return pool ? ask_of_process(pool, FILE_HELPER_LINK, &asked, OF_ACCESS, text) :
		      proc_link_read(asked.pid, name, max_bytes, text);
}

int file_helper_open_proc(pid_t pid, const char *name, int flags)
{
	const struct file_helper_asked asked = { proc_living_thread(pid), name, 0, flags };
	struct pool *pool = the_pool;

	return pool ? ask_of_process(pool, FILE_HELPER_OPEN_PROC, &asked, OF_ACCESS, NULL) :
		      proc_file_open(asked.pid, name, flags);
}

int file_helper_open(uint64_t of, const struct strbuf *request, int fd)
{
	_cleanup_strbuf_ struct strbuf message = {};
	struct pool *pool = the_pool;
	struct helper helper;
	int failed, r;

	if (!pool)
		return -ENOSYS;
	strbuf_addch(&message, FILE_HELPER_OPEN);
	strbuf_add(&message, strbuf_str(request), request->len);
	r = strbuf_error(&message);
	if (r == 0)
		r = acquire_helper(pool, of, &helper);
	if (r < 0)
		return r;
	failed = message_send(helper.fd, &message, &fd, fd < 0 ? 0 : 1,
			      clock_monotonic_ns() + ANSWER_NS);
	r = failed < 0 ? failed : receive_opened(&helper, &failed);
	return_helper(pool, of, helper, failed);
	return r;
}
