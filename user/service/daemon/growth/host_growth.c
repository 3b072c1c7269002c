/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/growth/host_growth.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/vec.h"
#include "config/options.h"
#include "service/session.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/epoll.h>

#define MS_NS UINT64_C(1000000)
/* Of processes that have ended, with their stacks. */
#define KEEP_ENDED 1000
/* How often it is looked whether there is too much; what that is, some 20 MB of each. */
#define LOOK_NS (60 * SECOND_NS)
#define MOST_OBJECTS 4096
#define MOST_MAPPINGS 262144
#define MOST_REGIONS 524288
/* Stacks of who has ended are kept with it: those that max_stacks is not about. */
#define STACKS_OF_ENDED 4
/* So many times as much is not waited for a look with. */
#define FAR_TOO_MUCH 4
/* Of one process, so that none takes all the room, nor time: one in the middle moves 256 KB. */
#define MOST_REGIONS_OF_PROCESS 16384
#define MOST_STACKS_OF_PROCESS 4096
#define GLANCE_NS SECOND_NS
/* After a fault, twice as long each time. */
#define FIRST_RETRY_NS (60 * SECOND_NS)
#define MOST_RETRY_NS (3600 * SECOND_NS)
/* Each is a report. */
#define MOST_KILLS 64
/* A trace of the process, which knows more, tells of it first. */
#define TELL_AFTER_NS (300 * MS_NS)

struct kill {
	uint32_t image;
	uint64_t due_ns;
};

struct host_growth {
	struct host_growth_opts opts;
	bool is_wanted, has_mappings;
	uint64_t period, most_stacks;
	struct options *options;
	struct session *session; /* NULL: it does not run */
	struct loop_source *source;
	int error; /* of the session */
	uint64_t start_ns, next_look_ns, next_glance_ns;
	uint64_t retry_ns, next_retry_ns; /* the latter UINT64_MAX: never */
	VEC(struct kill) kills;		  /* in the order of their times */
	uint64_t begun, renewed, failed, left_out;
};

int host_growth_new(const struct host_growth_opts *opts, struct host_growth **ret_growth)
{
	struct host_growth *growth = calloc(1, sizeof(*growth));

	if (!growth)
		return -ENOMEM;
	growth->opts = *opts;
	growth->next_retry_ns = UINT64_MAX;
	growth->retry_ns = FIRST_RETRY_NS;
	*ret_growth = growth;
	return 0;
}

/* --- its session ----------------------------------------------------------------------------- */

static void end(struct host_growth *growth)
{
	loop_source_free(growth->source);
	growth->source = NULL;
	session_free(growth->session);
	growth->session = NULL;
	options_free(growth->options);
	growth->options = NULL;
	growth->left_out += growth->kills.len;
	growth->kills.len = 0;
	growth->error = 0;
}

void host_growth_free(struct host_growth *growth)
{
	if (!growth)
		return;
	end(growth);
	vec_done(&growth->kills);
	free(growth);
}

static int on_session(int fd, uint32_t events, void *userdata)
{
	struct host_growth *growth = userdata;
	int r = session_step(growth->session, 0);

	(void)fd;
	(void)events;
	if (r != 0) /* of a host there is no end but a fault */
		growth->error = r < 0 ? r : -EIO;
	if (growth->error) {
		loop_source_free(growth->source);
		growth->source = NULL;
	}
	return 0;
}

static int on_record(const struct record *record, void *userdata)
{
	struct host_growth *growth = userdata;
	struct kill kill = { .due_ns = clock_monotonic_ns() + TELL_AFTER_NS };

	if (record->type != RECORD_PROCESS_END || !growth->opts.is_kill(&record->process_end))
		return 0;
	kill.image = record->process_end.slot;
	if (growth->kills.len >= MOST_KILLS || vec_push(&growth->kills, kill) < 0)
		growth->left_out++;
	return 0;
}

/* As somebody would give them on a command line. */
static int make_options(struct host_growth *growth)
{
	_cleanup_strbuf_ struct strbuf error = {};
	char faults[40];
	char *words[] = { "memtraced", "--quiet", "-a", faults, "--mappings" };
	size_t n = sizeof(words) / sizeof(words[0]) - !growth->has_mappings;
	int r;

	(void)snprintf(faults, sizeof(faults), "--page-faults=%" PRIu64, growth->period); /* fits */
	r = options_parse((int)n, words, &growth->options, &error);
	if (r == -EINVAL)
		log_error("[growth]: %s", strbuf_str(&error));
	if (r < 0)
		return r;
	growth->options->keep_ended = KEEP_ENDED;
	growth->options->forget_ended = true;
	growth->options->most_regions = MOST_REGIONS_OF_PROCESS;
	growth->options->most_stacks = MOST_STACKS_OF_PROCESS;
	/* Who touches little is nobody: a slot is for who is sampled, not for their children. */
	growth->options->no_follow = true;
	/* The watch looks at all processes anyway. */
	growth->options->no_samples = true;
	return 0;
}

static int try_to_begin(struct host_growth *growth)
{
	int r = make_options(growth);

	if (r == 0)
		r = session_new_served(growth->options, growth->opts.worker, on_record, growth,
				       &growth->session);
	if (r == 0)
		r = loop_add_fd(growth->opts.loop, session_fd(growth->session), EPOLLIN, on_session,
				growth, &growth->source);
	return r;
}

/* `error`: for which it does not run now. What the kernel lacks it will lack later, too. */
static void fail(struct host_growth *growth, int error)
{
	bool for_good = error == -EINVAL || error == -EOPNOTSUPP || error == -EPERM;

	end(growth);
	growth->failed++;
	growth->next_retry_ns = for_good ? UINT64_MAX : clock_monotonic_ns() + growth->retry_ns;
	growth->retry_ns =
		growth->retry_ns * 2 < MOST_RETRY_NS ? growth->retry_ns * 2 : MOST_RETRY_NS;
	log_warning("[growth]: page faults of the host are not sampled: %s%s", strerror(-error),
		    for_good ? "; [growth] enabled = no says that this is meant" :
			       "; it is tried again");
}

static void begin(struct host_growth *growth)
{
	int r = try_to_begin(growth);

	if (r < 0) {
		fail(growth, r);
		return;
	}
	growth->begun++;
	growth->next_retry_ns = UINT64_MAX;
	growth->start_ns = clock_monotonic_ns();
	growth->next_look_ns = growth->start_ns + LOOK_NS;
}

void host_growth_configure(struct host_growth *growth, const struct service_config *config)
{
	growth->most_stacks = config->growth_stacks;
	if (growth->is_wanted == config->grows && growth->period == config->growth_period &&
	    growth->has_mappings == config->growth_mappings)
		return;
	host_growth_finish(growth);
	end(growth);
	growth->is_wanted = config->grows;
	growth->period = config->growth_period;
	growth->has_mappings = config->growth_mappings;
	growth->next_retry_ns = UINT64_MAX;
	growth->retry_ns = FIRST_RETRY_NS;
	if (growth->is_wanted)
		begin(growth);
}

/* --- who was killed -------------------------------------------------------------------------- */

/* Mappings come before events (service/jobs.h). */
static size_t job_index(const struct host_growth *growth, enum growth_job job)
{
	return growth->has_mappings && job == GROWTH_FAULTS;
}

static int tell_kill(const struct view *view, void *userdata)
{
	const struct host_growth *growth = userdata;

	growth->opts.killed(view, growth->opts.userdata);
	return 1;
}

/* Those that are due by then. */
static void tell_kills(struct host_growth *growth, uint64_t now_ns)
{
	size_t n = 0;

	/* More may come while one is told. */
	for (; n < growth->kills.len && growth->kills.data[n].due_ns <= now_ns; n++) {
		const struct report_opts opts = { .width = 80,
						  .one_image = true,
						  .usage = &growth->opts.usage,
						  .image = growth->kills.data[n].image,
						  .job = job_index(growth, GROWTH_FAULTS) };

		/* tell_kill()'s 1: it was */
		if (growth->error || session_show(growth->session, &opts, tell_kill, growth) <= 0)
			growth->left_out++;
	}
	if (n == 0)
		return;
	growth->kills.len -= n;
	memmove(growth->kills.data, &growth->kills.data[n],
		growth->kills.len * sizeof(growth->kills.data[0]));
}

void host_growth_finish(struct host_growth *growth)
{
	if (growth->session)
		tell_kills(growth, UINT64_MAX);
}

/* --- the round ------------------------------------------------------------------------------- */

/* `times`: as much as it may be. */
static bool is_too_much(const struct host_growth *growth, size_t times)
{
	struct model_size size = session_size(growth->session);
	size_t stacks = times * growth->most_stacks;
	bool is = size.counts + size.region_sites >= stacks ||
		  size.stacks >= STACKS_OF_ENDED * stacks || size.objects >= times * MOST_OBJECTS ||
		  size.mappings >= times * MOST_MAPPINGS || size.regions >= times * MOST_REGIONS;

	if (is)
		log_debug("[growth]: %zu stacks, %zu sites of %zu regions, %zu stacks with those "
			  "of who has ended, %zu files, %zu mappings: begun anew",
			  size.counts, size.region_sites, size.regions, size.stacks, size.objects,
			  size.mappings);
	return is;
}

/* But for what has ended a session only grows: when it is too much, it is let go as a whole. */
static void renew(struct host_growth *growth, uint64_t due_ns)
{
	host_growth_finish(growth);
	end(growth);
	growth->renewed++;
	if (clock_monotonic_ns() >= due_ns) {
		begin(growth);
		return;
	}
	growth->next_retry_ns = due_ns;
	log_warning("[growth]: too much has come at once: nothing is sampled for a while");
}

/* What has ended is forgotten by a cut. */
static void look_at_size(struct host_growth *growth)
{
	int r = session_cut(growth->session);

	if (r < 0) {
		growth->error = r;
		return;
	}
	growth->retry_ns = FIRST_RETRY_NS;
	growth->next_look_ns = clock_monotonic_ns() + LOOK_NS;
	if (is_too_much(growth, 1))
		renew(growth, 0);
}

/* Who fills it long before a look would do so again: until that is due nothing is sampled. */
static void glance(struct host_growth *growth, uint64_t now_ns)
{
	growth->next_glance_ns = now_ns + GLANCE_NS;
	if (is_too_much(growth, FAR_TOO_MUCH))
		renew(growth, growth->start_ns + LOOK_NS);
}

void host_growth_run(struct host_growth *growth)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (!growth->session && now_ns >= growth->next_retry_ns)
		begin(growth);
	if (!growth->session)
		return;
	if (!growth->error && now_ns >= growth->next_glance_ns)
		glance(growth, now_ns);
	if (!growth->session)
		return;
	tell_kills(growth, now_ns);
	if (!growth->error && now_ns >= growth->next_look_ns)
		look_at_size(growth);
	if (growth->error)
		fail(growth, growth->error);
}

int host_growth_timeout_ms(const struct host_growth *growth)
{
	uint64_t now_ns = clock_monotonic_ns(), first_ns = growth->next_retry_ns;

	if (growth->error)
		return 0;
	if (growth->session)
		first_ns = growth->next_glance_ns < growth->next_look_ns ? growth->next_glance_ns :
									   growth->next_look_ns;
	if (growth->kills.len && growth->kills.data[0].due_ns < first_ns)
		first_ns = growth->kills.data[0].due_ns;
	if (first_ns == UINT64_MAX)
		return -1;
	first_ns = first_ns > now_ns ? (first_ns - now_ns) / MS_NS + 1 : 0;
	return first_ns < 1000000 ? (int)first_ns : 1000000;
}

/* --- what it shows --------------------------------------------------------------------------- */

int host_growth_show(struct host_growth *growth, enum growth_job job, pid_t pid,
		     uint32_t *ret_image, int (*fn)(const struct view *view, void *userdata),
		     void *userdata)
{
	struct report_opts opts = { .width = 80,
				    .one_image = pid != 0,
				    .held_now = true,
				    .job = job_index(growth, job),
				    .only_job = true };
	int r;

	/* Of all of them it would take long, and most who ask look at stacks alone. */
	if (pid)
		opts.usage = &growth->opts.usage;
	if (!growth->session || growth->error)
		return -ENODEV;
	if (job == GROWTH_MAPPINGS && !growth->has_mappings)
		return -ENOENT;
	r = pid ? session_find_image(growth->session, pid, &opts.image) : 0;
	if (ret_image) {
		opts.alone = true;
		*ret_image = opts.image;
	}
	return r < 0 ? r : session_show(growth->session, &opts, fn, userdata);
}

bool host_growth_is_current(const struct host_growth *growth, pid_t pid, uint32_t image)
{
	return growth->session && session_is_current(growth->session, pid, image);
}

bool host_growth_mapped(const struct host_growth *growth, pid_t pid,
			struct region_totals *ret_totals)
{
	return growth->session && session_mapped(growth->session, pid, ret_totals);
}

struct host_growth_info host_growth_info(const struct host_growth *growth)
{
	struct host_growth_info info = {
		.is_wanted = growth->is_wanted,
		.is_running = growth->session && !growth->error,
		.has_mappings = growth->has_mappings,
		.period = growth->period,
		.begun = growth->begun,
		.renewed = growth->renewed,
		.failed = growth->failed,
		.left_out = growth->left_out,
	};

	if (growth->session) {
		info.age_ns = clock_monotonic_ns() - growth->start_ns;
		info.size = session_size(growth->session);
		info.regions_left_out = session_regions_left_out(growth->session);
		info.coverage = session_coverage(growth->session);
	}
	return info;
}
