/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/push/push.h"

#include "base/clock.h"
#include "base/log.h"
#include "service/daemon/growth/host_growth.h"
#include "service/daemon/push/http_poster.h"
#include "service/daemon/push/push_body.h"
#include "service/daemon/push/push_subjects.h"
#include "service/daemon/routes/tokens.h"
#include "service/session/session.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/random.h>

#define FINISH_NS (5 * SECOND_NS)
/*
 * What making profiles may take of the time, in which nothing else is served: a 20th. The interval
 * grows where it took more.
 */
#define MOST_SHARE 20

/* One server. */
struct target {
	struct push *push;
	char *name;
	enum push_to to;
	const struct push_target *config; /* in push->config */
	char *token;			  /* NULL: none */
	struct push_queue queue;
	struct http_transfer *transfer; /* NULL: nothing is being sent */
	struct push_subjects *subjects;
	size_t n_takings;  /* that are being made */
	bool is_removed;   /* from the configuration: it is freed after them */
	uint64_t begin_ns; /* of the round in which profiles were made, or are */
	uint64_t round_ns; /* that took */
	uint64_t next_ns;  /* when the next one begins */
	uint64_t growth;   /* the last one that was taken; 0: none */
	uint64_t untaken;
	bool is_failing; /* which was logged */
};

typedef VEC(struct target *) target_vec;

struct push {
	struct loop *loop;
	struct traces *traces;
	struct host_growth *growth;
	struct http_poster *poster;	     /* NULL: nothing was ever configured */
	const struct service_config *config; /* a reference: targets point into it */
	target_vec targets;		     /* in the file's order */
};

int push_new(struct loop *loop, struct traces *traces, struct host_growth *growth,
	     struct push **ret_push)
{
	struct push *push = calloc(1, sizeof(*push));

	if (!push)
		return -ENOMEM;
	push->loop = loop;
	push->traces = traces;
	push->growth = growth;
	*ret_push = push;
	return 0;
}

static void target_free(struct target *target)
{
	if (!target)
		return;
	http_transfer_cancel(target->transfer);
	target->transfer = NULL;
	if (target->n_takings > 0) {
		target->is_removed = true; /* the last of them frees it */
		return;
	}
	push_queue_clear(&target->queue);
	push_subjects_free(target->subjects);
	free(target->token);
	free(target->name);
	free(target);
}
DEFINE_CLEANUP(struct target, target_free)

void push_free(struct push *push)
{
	if (!push)
		return;
	vec_foreach(&push->targets, target)
		target_free(*target);
	vec_done(&push->targets);
	http_poster_free(push->poster);
	service_config_unref(push->config);
	free(push);
}

/* --- sending --------------------------------------------------------------------------------- */

/* Once when it begins to fail, and once when it does no more. */
static void log_result(struct target *target, enum push_result result, const char *why)
{
	const struct push_target *config = target->config;
	bool fails = result != PUSH_SENT;

	if (fails == target->is_failing)
		return;
	target->is_failing = fails;
	if (!fails)
		log_info("push %s: %s accepts profiles again; %" PRIu64 " were dropped and %" PRIu64
			 " rejected so far",
			 target->name, config->url, target->queue.counts.dropped,
			 target->queue.counts.rejected);
	else if (result == PUSH_REJECTED)
		log_warning("push %s: %s rejects this profile: %s", target->name, config->url, why);
	else
		log_warning("push %s: %s: %s; retrying, profiles are queued", target->name,
			    config->url, why);
}

static void on_done(const struct http_outcome *outcome, void *userdata)
{
	struct target *target = userdata;
	_cleanup_strbuf_ struct strbuf why = {};
	enum push_result result =
		push_answer_read(target->to, outcome->status, outcome->answer, &why);
	uint32_t random;

	target->transfer = NULL;
	/* Without it many servers' tries are only less well spread. */
	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != (ssize_t)sizeof(random))
		random = 0;
	push_queue_settle(&target->queue, result, clock_monotonic_ns(), outcome->retry_after_ns,
			  random);
	log_result(target, result, outcome->status ? strbuf_str(&why) : outcome->error);
}

static int post_item(struct target *target, const struct push_item *item)
{
	const struct push_target *config = target->config;
	const char *headers[PUSH_HEADERS_MOST + 4], *const *own = push_body_headers(target->to);
	_cleanup_strbuf_ struct strbuf url = {};
	struct http_post post = {
		.headers = headers,
		.user = config->user,
		.token = target->token,
		.ca_file = config->ca_file,
		.body = item->body.data,
		.len = item->body.len,
		.timeout_ns = config->timeout_ns,
		.done = on_done,
		.userdata = target,
	};
	size_t n = 0;

	while (*own)
		headers[n++] = *own++;
	for (size_t i = 0; i < config->n_headers; i++)
		headers[n++] = config->headers[i];
	headers[n] = NULL;
	strbuf_addf(&url, "%s%s", config->url, strbuf_str(&item->path));
	if (strbuf_error(&url))
		return -ENOMEM;
	post.url = strbuf_str(&url);
	return http_poster_begin(target->push->poster, &post, &target->transfer);
}

/* Without memory it is tried later, as if the server had not answered. */
static void send_next(struct target *target)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (push_queue_due_ns(&target->queue) > now_ns)
		return;
	if (post_item(target, push_queue_begin(&target->queue)) < 0)
		push_queue_settle(&target->queue, PUSH_FAILED, now_ns, 0, 0);
}

/* --- profiles -------------------------------------------------------------------------------- */

static bool wants_kind(const struct target *target, enum trace_kind kind)
{
	unsigned int heap = PUSH_BIT(PUSH_HEAP) | PUSH_BIT(PUSH_ALLOCS);

	return target->config->profiles & (kind == TRACE_CPU ? PUSH_BIT(PUSH_CPU) : heap);
}

/* Profiles in the making, on the thread of the session that has the view. */
struct taking {
	struct session_job job;
	struct growth_ask ask; /* of growth depth, which makes the job itself */
	struct target *target;
	struct push_told *told;
	const struct service_config *all; /* a reference */
	const struct push_target *config; /* in `all` */
	/* The session's thread's until it is done. */
	VEC(struct push_item *) items;
	uint64_t took_ns;
	int r;
};

static void taking_free(struct taking *taking)
{
	struct target *target = taking->target;

	vec_foreach(&taking->items, item)
		push_item_free(*item);
	vec_done(&taking->items);
	if (taking->told)
		push_told_release(taking->told);
	service_config_unref(taking->all);
	free(taking);
	target->n_takings--;
	if (target->is_removed && target->n_takings == 0)
		target_free(target);
}

static struct taking *taking_new(struct target *target, uint64_t trace)
{
	struct taking *taking = calloc(1, sizeof(*taking));

	if (!taking)
		return NULL;
	target->n_takings++;
	taking->target = target;
	taking->config = target->config;
	taking->all = service_config_ref(target->push->config);
	if (push_subjects_hold(target->subjects, trace, &taking->told) < 0) {
		taking_free(taking);
		return NULL;
	}
	return taking;
}

/* Session's thread, as what follows. */
static void on_item(struct push_item *item, void *userdata)
{
	struct taking *taking = userdata;

	if (vec_push(&taking->items, item) < 0) {
		push_item_free(item);
		taking->r = -ENOMEM;
	}
}

static int on_view(const struct view *view, void *userdata)
{
	struct taking *taking = userdata;
	uint64_t begin_ns = clock_monotonic_ns();
	int r = push_told_take(taking->told, view, taking->config, on_item, taking);

	taking->took_ns = clock_monotonic_ns() - begin_ns;
	return r < 0 ? r : taking->r;
}

static int run_taking(struct session *session, struct session_job *job)
{
	const struct report_opts opts = { .width = 80 };

	return session_show(session, &opts, on_view, (struct taking *)job);
}

/* Owner's thread. Making profiles may take a share of the time: the next ones wait for that. */
static void finish_taking(struct taking *taking, int error)
{
	struct target *target = taking->target;

	target->untaken += error < 0;
	if (error < 0)
		log_debug("push %s: profiles: %s", target->name, strerror(-error));
	if (!target->is_removed) {
		vec_foreach(&taking->items, item)
			push_queue_add(&target->queue, *item);
		taking->items.len = 0;
		target->round_ns += taking->took_ns;
		if (target->begin_ns + MOST_SHARE * target->round_ns > target->next_ns)
			target->next_ns = target->begin_ns + MOST_SHARE * target->round_ns;
	}
	taking_free(taking);
}

static void on_taken(struct session_job *job, int result)
{
	finish_taking((struct taking *)job, result);
}

static void queue_profiles(struct target *target, uint64_t trace)
{
	struct taking *taking = taking_new(target, trace);

	if (!taking) {
		target->untaken++;
		return;
	}
	taking->job = (struct session_job){ .run = run_taking, .done = on_taken };
	/* It was there a moment ago. */
	if (traces_post(target->push->traces, trace, &taking->job) < 0)
		finish_taking(taking, -ENOENT);
}

static void on_growth_taken(int error, void *userdata)
{
	finish_taking(userdata, error);
}

static void free_nothing(void *userdata)
{
	(void)userdata; /* on_growth_taken() has freed it */
}

/* Each session of it is a trace of its own, with a number that no other has. */
static void queue_growth(struct target *target)
{
	const struct push *push = target->push;
	struct host_growth_info info = host_growth_info(push->growth);
	uint64_t trace = UINT64_MAX - info.begun;
	struct growth_wait *wait;
	struct taking *taking;
	int r;

	if (!info.is_running || !(target->config->profiles & PUSH_BIT(PUSH_GROWTH)))
		return;
	if (target->growth != trace)
		push_subjects_forget(target->subjects, target->growth);
	target->growth = trace;
	taking = taking_new(target, trace);
	if (!taking) {
		target->untaken++;
		return;
	}
	taking->ask = (struct growth_ask){ .job = GROWTH_FAULTS,
					   .show = on_view,
					   .done = on_growth_taken,
					   .free = free_nothing,
					   .userdata = taking };
	r = host_growth_ask(push->growth, &taking->ask, &wait);
	if (r < 0)
		finish_taking(taking, r);
}

/* All that runs. */
static void queue_all(struct target *target)
{
	struct trace_info info;

	target->begin_ns = clock_monotonic_ns();
	target->next_ns = target->begin_ns + target->config->every_ns;
	target->round_ns = 0;
	for (size_t i = 0; traces_at(target->push->traces, i, &info); i++)
		if (wants_kind(target, info.kind))
			queue_profiles(target, info.id);
	queue_growth(target);
}

void push_trace_ends(struct push *push, uint64_t trace)
{
	struct trace_info info;

	vec_foreach(&push->targets, target) {
		for (size_t i = 0; traces_at(push->traces, i, &info); i++)
			if (info.id == trace && wants_kind(*target, info.kind))
				queue_profiles(*target, trace);
		push_subjects_forget((*target)->subjects, trace);
	}
}

/* --- configuration --------------------------------------------------------------------------- */

struct target_next {
	const struct push_target *config;
	char *token;	       /* NULL: none */
	struct target *target; /* of this name and kind, which is there already, or `made` */
	struct target *made;   /* until the commit */
};

struct push_next {
	const struct service_config *config;
	struct http_poster *poster; /* NULL: there is one, or nothing is to be pushed */
	VEC(struct target_next) rows;
	target_vec targets; /* empty, with room for all of them */
};

void push_next_free(struct push_next *next)
{
	if (!next)
		return;
	vec_foreach(&next->rows, row) {
		target_free(row->made);
		free(row->token);
	}
	vec_done(&next->rows);
	vec_done(&next->targets);
	http_poster_free(next->poster);
	service_config_unref(next->config);
	free(next);
}

static int make_target(struct push *push, const struct push_target *config,
		       struct target **ret_target)
{
	_cleanup_(target_free_p) struct target *target = calloc(1, sizeof(*target));
	int r = target ? push_subjects_new(&target->subjects) : -ENOMEM;

	if (r < 0)
		return r;
	target->push = push;
	target->to = config->to;
	target->next_ns = clock_monotonic_ns() + config->every_ns;
	target->name = strdup(config->section.name);
	if (!target->name)
		return -ENOMEM;
	*ret_target = TAKE_PTR(target);
	return 0;
}

static struct target *find_target(const struct push *push, const struct push_target *config)
{
	vec_foreach(&push->targets, target)
		if (strcmp((*target)->name, config->section.name) == 0 &&
		    (*target)->to == config->to)
			return *target;
	return NULL;
}

static int prepare_target(struct push *push, struct push_next *next,
			  const struct push_target *config, struct strbuf *error)
{
	struct target_next row = { .config = config, .target = find_target(push, config) };
	int r = vec_push(&next->rows, row);
	struct target_next *last = r == 0 ? &next->rows.data[next->rows.len - 1] : NULL;

	if (r == 0 && config->token_file)
		r = token_read(config->token_file, &last->token, error);
	if (r == 0 && !last->target)
		r = make_target(push, config, &last->made);
	if (r == 0 && !last->target)
		last->target = last->made;
	return r;
}

static int prepare_poster(const struct push *push, struct push_next *next, struct strbuf *error)
{
	const struct push_targets *pushes = &next->config->pushes;
	int r = pushes->n > 0 && !push->poster ? http_poster_new(push->loop, &next->poster) : 0;

	if (r == -ENOPKG)
		strbuf_addf(error, "[push %s]: there is no libcurl.so.4: install libcurl4",
			    pushes->list[0].section.name);
	return r;
}

int push_prepare(struct push *push, const struct service_config *config,
		 struct push_next **ret_next, struct strbuf *error)
{
	_cleanup_(push_next_free_p) struct push_next *next = calloc(1, sizeof(*next));
	int r;

	if (!next)
		return -ENOMEM;
	next->config = service_config_ref(config);
	r = prepare_poster(push, next, error);
	for (size_t i = 0; r == 0 && i < config->pushes.n; i++)
		r = prepare_target(push, next, &config->pushes.list[i], error);
	if (r == 0)
		r = vec_reserve(&next->targets, next->rows.len);
	if (r == 0)
		*ret_next = TAKE_PTR(next);
	return r;
}

/* What is being sent goes on; the rest goes by the new configuration. */
static void change_target(struct target *target, struct target_next *next)
{
	target->config = next->config;
	target->queue.most_bytes = next->config->queue_bytes;
	free(target->token);
	target->token = TAKE_PTR(next->token);
}

static void remove_target(const struct push_next *next, struct target *target)
{
	vec_foreach(&next->rows, row)
		if (row->target == target)
			return;
	if (target->queue.n > 0)
		log_warning("push %s: removed from the configuration; dropping %" PRIu64
			    " queued profiles",
			    target->name, target->queue.n);
	target_free(target);
}

void push_commit(struct push *push, struct push_next *next)
{
	target_vec old = push->targets;

	if (next->poster)
		push->poster = TAKE_PTR(next->poster);
	vec_foreach(&old, target)
		remove_target(next, *target);
	vec_foreach(&next->rows, row) {
		change_target(row->target, row);
		row->made = NULL;			     /* it is in the list: */
		(void)vec_push(&next->targets, row->target); /* there is room */
	}
	push->targets = next->targets;
	next->targets = old;
	service_config_set(&push->config, next->config);
	push_next_free(next);
}

/* --- the loop -------------------------------------------------------------------------------- */

void push_run(struct push *push)
{
	if (push->poster)
		http_poster_run(push->poster);
	vec_foreach(&push->targets, target) {
		if ((*target)->n_takings == 0 && (*target)->next_ns <= clock_monotonic_ns())
			queue_all(*target);
		send_next(*target);
	}
}

int push_timeout_ms(const struct push *push)
{
	int ms = push->poster ? http_poster_timeout_ms(push->poster) : -1, first_ms;
	uint64_t now_ns = clock_monotonic_ns(), first_ns = UINT64_MAX;

	vec_foreach(&push->targets, target) {
		uint64_t due_ns = push_queue_due_ns(&(*target)->queue);

		/* Else a session's thread wakes the loop. */
		if ((*target)->n_takings == 0 && (*target)->next_ns < first_ns)
			first_ns = (*target)->next_ns;
		if (due_ns < first_ns)
			first_ns = due_ns;
	}
	first_ms = clock_until_ms(first_ns, now_ns);
	return first_ms < 0 || (ms >= 0 && ms < first_ms) ? ms : first_ms;
}

static uint64_t count_waiting(const struct push *push)
{
	uint64_t n = 0;

	vec_foreach(&push->targets, target)
		n += (*target)->queue.n;
	return n;
}

/* Who fails now has no time to try again. */
static bool is_worth_waiting(const struct push *push)
{
	uint64_t now_ns = clock_monotonic_ns();

	vec_foreach(&push->targets, target)
		if ((*target)->n_takings > 0 || (*target)->transfer ||
		    push_queue_due_ns(&(*target)->queue) <= now_ns)
			return true;
	return false;
}

void push_finish(struct push *push)
{
	uint64_t now_ns = clock_monotonic_ns(), end_ns = now_ns + FINISH_NS;

	vec_foreach(&push->targets, target)
		(*target)->next_ns = UINT64_MAX;
	for (; is_worth_waiting(push) && now_ns < end_ns; now_ns = clock_monotonic_ns()) {
		uint64_t left_ms = (end_ns - now_ns) / MS_NS;
		int ms = push_timeout_ms(push);

		if (ms < 0 || (uint64_t)ms > left_ms)
			ms = (int)left_ms;
		if (loop_run_once(push->loop, ms) < 0)
			break;
		push_run(push);
	}
	if (count_waiting(push) > 0)
		log_warning("%" PRIu64 " queued profiles were not pushed", count_waiting(push));
}

bool push_at(const struct push *push, size_t index, struct push_info *ret_info)
{
	const struct target *target;

	if (index >= push->targets.len)
		return false;
	target = push->targets.data[index];
	*ret_info = (struct push_info){
		.name = target->name,
		.url = target->config->url,
		.counts = target->queue.counts,
		.waiting = target->queue.n,
		.waiting_bytes = target->queue.bytes,
		.untaken = target->untaken,
		.is_failing = target->is_failing,
	};
	return true;
}
