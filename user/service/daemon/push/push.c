/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/push/push.h"

#include "base/clock.h"
#include "base/log.h"
#include "service/daemon/growth/host_growth.h"
#include "service/daemon/push/curl_library.h"
#include "service/daemon/push/http_poster.h"
#include "service/daemon/push/push_body.h"
#include "service/daemon/push/push_subjects.h"
#include "service/daemon/routes/token.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/random.h>

#define MS_NS UINT64_C(1000000)
#define FINISH_NS (5 * SECOND_NS)
/*
 * What making profiles may take of the time, in which nobody else is served: a 20th. The interval
 * grows where it took more.
 */
#define MOST_SHARE 20

/* One server. */
struct target {
	struct push *push;
	char *name; /* as the configuration's, which may be gone when it is compared */
	enum push_to to;
	const struct push_target *config;
	char *token; /* NULL: none */
	struct push_queue queue;
	struct http_transfer *transfer; /* NULL: nothing is being sent */
	struct push_subjects *subjects;
	uint64_t next_ns; /* when profiles are made */
	uint64_t growth;  /* the last one that was taken; 0: none */
	uint64_t untaken;
	bool is_failing; /* which was logged */
};

struct push {
	struct loop *loop;
	struct traces *traces;
	struct host_growth *growth;
	struct http_poster *poster; /* NULL: nothing was ever configured */
	VEC(struct target *) targets;
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
	free(push);
}

/* --- sending --------------------------------------------------------------------------------- */

/* Once when it begins to fail, and once when it does no more. */
static void say(struct target *target, enum push_result result, const char *why)
{
	const struct push_target *config = target->config;
	bool fails = result != PUSH_SENT;

	if (fails == target->is_failing)
		return;
	target->is_failing = fails;
	if (!fails)
		log_info("push %s: %s takes profiles again; %" PRIu64 " were dropped and %" PRIu64
			 " rejected so far",
			 target->name, config->url, target->queue.counts.dropped,
			 target->queue.counts.rejected);
	else if (result == PUSH_REJECTED)
		log_warning("push %s: %s takes no such profile: %s", target->name, config->url,
			    why);
	else
		log_warning("push %s: %s: %s; it is tried again, and profiles wait", target->name,
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
	say(target, result, outcome->status ? strbuf_str(&why) : outcome->error);
}

static int post(struct target *target, const struct push_item *item)
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
	if (post(target, push_queue_begin(&target->queue)) < 0)
		push_queue_settle(&target->queue, PUSH_FAILED, now_ns, 0, 0);
}

/* --- profiles -------------------------------------------------------------------------------- */

static void on_item(struct push_item *item, void *userdata)
{
	struct target *target = userdata;

	push_queue_add(&target->queue, item);
}

static bool wants(const struct target *target, enum trace_kind kind)
{
	unsigned int heap = PUSH_BIT(PUSH_HEAP) | PUSH_BIT(PUSH_ALLOCS);

	return target->config->profiles & (kind == TRACE_CPU ? PUSH_BIT(PUSH_CPU) : heap);
}

struct taking {
	struct target *target;
	uint64_t trace;
};

static int on_view(const struct view *view, void *userdata)
{
	const struct taking *taking = userdata;
	struct target *target = taking->target;

	return push_subjects_take(target->subjects, taking->trace, view, target->config, on_item,
				  target);
}

static void take(struct target *target, uint64_t trace)
{
	const struct report_opts opts = { .width = 80 };
	struct taking taking = { target, trace };
	int r = traces_show(target->push->traces, trace, &opts, on_view, &taking);

	target->untaken += r < 0;
	if (r < 0)
		log_debug("push %s: profiles: %s", target->name, strerror(-r));
}

/* Each session of it is a trace of its own, with a number that no other has. */
static void take_growth(struct target *target)
{
	const struct push *push = target->push;
	struct host_growth_info info = host_growth_info(push->growth);
	struct taking taking = { target, UINT64_MAX - info.begun };
	int r;

	if (!info.is_running || !(target->config->profiles & PUSH_BIT(PUSH_GROWTH)))
		return;
	if (target->growth != taking.trace)
		push_subjects_forget(target->subjects, target->growth);
	target->growth = taking.trace;
	r = host_growth_show(push->growth, GROWTH_FAULTS, 0, NULL, on_view, &taking);
	target->untaken += r < 0;
	if (r < 0)
		log_debug("push %s: growth: %s", target->name, strerror(-r));
}

/* All that runs. */
static void take_all(struct target *target)
{
	uint64_t begin_ns = clock_monotonic_ns(), took_ns;
	struct trace_info info;

	for (size_t i = 0; traces_at(target->push->traces, i, &info); i++)
		if (wants(target, info.kind))
			take(target, info.id);
	take_growth(target);
	took_ns = MOST_SHARE * (clock_monotonic_ns() - begin_ns);
	target->next_ns = begin_ns +
			  (took_ns > target->config->every_ns ? took_ns : target->config->every_ns);
}

void push_trace_ends(struct push *push, uint64_t trace)
{
	struct trace_info info;

	vec_foreach(&push->targets, target) {
		for (size_t i = 0; traces_at(push->traces, i, &info); i++)
			if (info.id == trace && wants(*target, info.kind))
				take(*target, trace);
		push_subjects_forget((*target)->subjects, trace);
	}
}

/* --- configuration --------------------------------------------------------------------------- */

static int read_token(const struct push_target *config, char **ret_token, struct strbuf *error)
{
	*ret_token = NULL;
	return config->token_file ? token_read(config->token_file, ret_token, error) : 0;
}

int push_check(const struct service_config *config, struct strbuf *error)
{
	struct curl_library curl;
	int r = config->pushes.n > 0 ? curl_library_load(&curl) : 0;

	if (r == -ENOPKG) {
		strbuf_addf(error, "[push %s]: there is no libcurl.so.4: install libcurl4",
			    config->pushes.list[0].name);
		return -EINVAL;
	}
	for (size_t i = 0; r == 0 && i < config->pushes.n; i++) {
		_cleanup_free_ char *token = NULL;

		r = read_token(&config->pushes.list[i], &token, error);
	}
	return r;
}

static int add_target(struct push *push, const struct push_target *config, char *token)
{
	_cleanup_(target_free_p) struct target *target = calloc(1, sizeof(*target));
	int r;

	if (!target) {
		free(token);
		return -ENOMEM;
	}
	target->push = push;
	target->token = token;
	target->to = config->to;
	target->config = config;
	target->queue.most_bytes = config->queue_bytes;
	target->next_ns = clock_monotonic_ns() + config->every_ns;
	target->name = strdup(config->name);
	r = target->name ? push_subjects_new(&target->subjects) : -ENOMEM;
	if (r == 0)
		r = vec_push(&push->targets, target);
	if (r == 0)
		(void)TAKE_PTR(target); /* the list has it */
	return r;
}

static struct target *find(const struct push *push, const struct push_target *config)
{
	vec_foreach(&push->targets, target)
		if (strcmp((*target)->name, config->name) == 0 && (*target)->to == config->to)
			return *target;
	return NULL;
}

/* What is being sent goes on; the rest goes by the new words. */
static void change(struct target *target, const struct push_target *config, char *token)
{
	target->config = config;
	target->queue.most_bytes = config->queue_bytes;
	free(target->token);
	target->token = token;
}

static bool is_configured(const struct target *target, const struct service_config *config)
{
	for (size_t i = 0; i < config->pushes.n; i++)
		if (target->config == &config->pushes.list[i])
			return true;
	return false;
}

static void remove_others(struct push *push, const struct service_config *config)
{
	size_t n = 0;

	for (size_t i = 0; i < push->targets.len; i++) {
		struct target *target = push->targets.data[i];

		if (is_configured(target, config)) {
			push->targets.data[n++] = target;
			continue;
		}
		if (target->queue.n > 0)
			log_warning("push %s: is configured no more: %" PRIu64
				    " profiles that waited are dropped",
				    target->name, target->queue.n);
		target_free(target);
	}
	push->targets.len = n;
}

int push_configure(struct push *push, const struct service_config *config)
{
	_cleanup_strbuf_ struct strbuf error = {};
	int r = 0;

	if (config->pushes.n > 0 && !push->poster)
		r = http_poster_new(push->loop, &push->poster);
	for (size_t i = 0; r == 0 && i < config->pushes.n; i++) {
		const struct push_target *to = &config->pushes.list[i];
		struct target *target = find(push, to);
		char *token;

		r = read_token(to, &token, &error);
		if (r == 0 && target)
			change(target, to, token);
		else if (r == 0)
			r = add_target(push, to, token);
	}
	remove_others(push, config);
	if (r < 0)
		log_error("pushing profiles: %s", error.len ? strbuf_str(&error) : strerror(-r));
	return r;
}

/* --- the loop -------------------------------------------------------------------------------- */

void push_run(struct push *push)
{
	if (push->poster)
		http_poster_run(push->poster);
	vec_foreach(&push->targets, target) {
		if ((*target)->next_ns <= clock_monotonic_ns())
			take_all(*target);
		send_next(*target);
	}
}

int push_timeout_ms(const struct push *push)
{
	int ms = push->poster ? http_poster_timeout_ms(push->poster) : -1;
	uint64_t now_ns = clock_monotonic_ns(), first_ns = UINT64_MAX;

	vec_foreach(&push->targets, target) {
		uint64_t due_ns = push_queue_due_ns(&(*target)->queue);

		if ((*target)->next_ns < first_ns)
			first_ns = (*target)->next_ns;
		if (due_ns < first_ns)
			first_ns = due_ns;
	}
	if (first_ns == UINT64_MAX)
		return ms;
	first_ns = first_ns > now_ns ? (first_ns - now_ns) / MS_NS + 1 : 0;
	return ms >= 0 && (uint64_t)ms < first_ns ? ms : (int)first_ns;
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
		if ((*target)->transfer || push_queue_due_ns(&(*target)->queue) <= now_ns)
			return true;
	return false;
}

void push_finish(struct push *push)
{
	uint64_t end_ns = clock_monotonic_ns() + FINISH_NS;

	vec_foreach(&push->targets, target)
		(*target)->next_ns = UINT64_MAX;
	while (is_worth_waiting(push) && clock_monotonic_ns() < end_ns) {
		uint64_t left_ms = (end_ns - clock_monotonic_ns()) / MS_NS;
		int ms = push_timeout_ms(push);

		if (ms < 0 || (uint64_t)ms > left_ms)
			ms = (int)left_ms;
		if (loop_run_once(push->loop, ms) < 0)
			break;
		push_run(push);
	}
	if (count_waiting(push) > 0)
		log_warning("%" PRIu64 " profiles were not pushed any more", count_waiting(push));
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
