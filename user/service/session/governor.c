/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/session/governor.h"

#define SECOND 1000000000.0
#define PPM 1e6
/* Shorter looks tell nothing of how it goes on. */
#define LOOK_NS UINT64_C(5000000)
/* Until it is seen that a change is due, and probes are out, they go on to cost. */
#define CHANGE_NS 20e6
/* More is not kept of what was earned: an hour's share is not to be spent at once. */
#define MOST_TRIES 2
#define FIRST_WAIT_NS 2e9
#define MOST_WAIT_NS 300e9
/* A try that held for so long was right. */
#define HELD_NS UINT64_C(30000000000)
#define GOOD_PART 0.5
/* A call was calibrated as so many times what it took, by machines that were busy then. */
#define CALIBRATION_ERROR 4.0
/* So many calls tell what one takes; later ones count for more than those before. */
#define MEASURED_CALLS 1000.0
#define REMEMBERED_CALLS 100000.0
/* Hits that often are in a loop; a sample has a stack, and one of two calls. */
#define SAMPLE_CALLS 1.5
/* Until a program has filled a core's own caches with what it needs itself. */
#define FILL_NS 200e3
/* Of the samples' interval, at once: a quarter of them is kept. */
#define DOUBLINGS_STEP 2
/* What is a little above the share is found over so long, by what is counted meanwhile. */
#define EXCESS_NS 750e6
/* Of what may be owed before samples are left. */
#define THINNING_PART 0.25

static double clamped(double value, double least, double most)
{
	if (value < least)
		return least;
	return value > most ? most : value;
}

static uint64_t first_wait(const struct governor *g)
{
	return (uint64_t)clamped(2.0 * GOVERNOR_TRY_NS / g->most, FIRST_WAIT_NS, MOST_WAIT_NS);
}

void governor_init(struct governor *governor, double most, const struct probe_cost *cost,
		   uint64_t now_ns)
{
	*governor = (struct governor){ .most = most, .cost = *cost, .depth = RECORD_DEPTH_EXACT };
	governor->last.now_ns = now_ns;
	governor->wait_ns = most > 0 ? first_wait(governor) : 0;
}

enum record_depth governor_begin(struct governor *governor, uint64_t used_ns, bool has_samples)
{
	double earned_ns = governor->most * (double)used_ns;

	if (governor->most <= 0)
		return RECORD_DEPTH_EXACT;
	governor->balance_ns = clamped(earned_ns, 0, GOVERNOR_TRY_NS);
	if (earned_ns < GOVERNOR_TRY_NS)
		governor->depth = has_samples ? RECORD_DEPTH_SAMPLED : RECORD_DEPTH_GROWTH;
	return governor->depth;
}

static double difference(uint64_t now, uint64_t before)
{
	return now > before ? (double)(now - before) : 0;
}

static double between(double often, double at_seldom, double seldom)
{
	return often + seldom * (at_seldom - often);
}

/*
 * What a seldom hit gets into the caches drives as much of the program's own out of them, which
 * that has to get back. Nothing counts it, and it is taken for the same time.
 */
static double with_driven_out(double ns, double seldom)
{
	return ns * (1 + seldom);
}

/* A single one is too short to be measured: it is as much slower as the whole. */
static double trap_ns(const struct governor *g, double seldom)
{
	double often = (double)g->cost.trap_ns;

	return between(often, often * (double)g->cost.seldom_call_ns / (double)g->cost.call_ns,
		       seldom);
}

/* What a sample takes, or its free, on average of those that are kept and those that are not. */
static double sample_ns(const struct governor *g, uint32_t doublings, double seldom)
{
	double all = between(SAMPLE_CALLS * (double)g->cost.call_ns, (double)g->cost.seldom_call_ns,
			     seldom);
	/* Its trap, and a look at what is known of it. */
	double dropped = g->cost.trap_ns ? trap_ns(g, seldom) : all / 2;

	return with_driven_out(between(dropped, all, 1.0 / (double)(1U << doublings)), seldom);
}

static double call_ns(const struct governor *g)
{
	if (g->measured_calls < MEASURED_CALLS)
		return (double)g->cost.call_ns;
	return g->measured_ns / g->measured_calls;
}

void governor_begin_exact(struct governor *governor, const struct probe_cost *cost, uint64_t calls)
{
	governor->cost = *cost;
	governor->depth = RECORD_DEPTH_EXACT;
	governor->balance_ns = GOVERNOR_TRY_NS - (double)calls * call_ns(governor);
}

/* What cannot be off by more than calibration is: a try tells. */
static double least_call_ns(const struct governor *g)
{
	double calibrated = (double)g->cost.call_ns;

	if (g->measured_calls < MEASURED_CALLS)
		return calibrated / CALIBRATION_ERROR;
	/* What calls took while they showed new stacks is no reason not to try it later. */
	return call_ns(g) < calibrated ? call_ns(g) : calibrated;
}

static bool is_counted(const struct governor *g, const struct governor_look *look)
{
	return g->cost.trap_ns && look->runs_ns;
}

/* By the programs' own time as the kernel counts it, and traps; 0: not known. */
static double counted_ns(const struct governor *g, const struct governor_look *look, double seldom)
{
	if (!is_counted(g, look))
		return 0;
	return with_driven_out(difference(look->runs_ns, g->last.runs_ns) +
				       difference(look->runs, g->last.runs) * trap_ns(g, seldom),
			       seldom);
}

/* No probe takes more time than the processes had, which holds without the kernel's count, too. */
static double at_most(double ns, double cpu_ns)
{
	return ns < cpu_ns ? ns : cpu_ns;
}

static void set_base(const struct governor *g, struct governor_stretch *s, double cpu_ns)
{
	s->own_ns = cpu_ns - s->spent_ns;
	s->base_ns = s->own_ns > RECORD_LEAST_CPUS * s->ns ? s->own_ns : RECORD_LEAST_CPUS * s->ns;
	s->allowed_ns = g->most * s->base_ns;
}

static struct governor_stretch stretch_of(const struct governor *g,
					  const struct governor_look *look)
{
	double cpu_ns = difference(look->cpu_ns, g->last.cpu_ns);
	double hits = difference(look->hits, g->last.hits);
	double runs = difference(look->runs, g->last.runs); /* of probes that went out, too */
	struct governor_stretch s = { .ns = difference(look->now_ns, g->last.now_ns) };

	if (g->depth == RECORD_DEPTH_EXACT) {
		s.spent_ns = hits * call_ns(g);
		s.calls = hits;
	} else if (g->depth == RECORD_DEPTH_SAMPLED) {
		s.seldom = clamped(cpu_ns / ((hits > runs ? hits : runs) + 1) / FILL_NS, 0, 1);
		s.spent_ns = hits * sample_ns(g, g->doublings, s.seldom);
		s.calls = difference(look->sampled_calls, g->last.sampled_calls);
	}
	s.spent_ns = at_most(s.spent_ns, cpu_ns);
	return s;
}

static void add_stretch(struct governor_stretch *sum, const struct governor_stretch *s)
{
	sum->ns += s->ns;
	sum->spent_ns += s->spent_ns;
	sum->own_ns += s->own_ns;
	sum->base_ns += s->base_ns;
	sum->allowed_ns += s->allowed_ns;
	sum->calls += s->calls;
	sum->seldom = s->seldom;
}

/* Does what is counted tell how many calls there are? */
static bool knows_calls(const struct governor *g)
{
	return g->depth == RECORD_DEPTH_EXACT ||
	       (g->depth == RECORD_DEPTH_SAMPLED && g->last.has_samples);
}

static bool change_depth(struct governor *g, const struct governor_stretch *s,
			 enum record_depth depth, uint32_t doublings,
			 struct record_depth_change *ret_change)
{
	/* Of a host what it takes is not of the calls alone that are counted. */
	double exact_ns = g->depth == RECORD_DEPTH_EXACT ? s->spent_ns : s->calls * call_ns(g);
	bool is_known = knows_calls(g);

	*ret_change = (struct record_depth_change){
		.time_ns = g->last.now_ns,
		.depth = depth,
		.calls_per_s = is_known ? (uint64_t)(s->calls * SECOND / s->ns) : UINT64_MAX,
		.predicted_ppm = is_known ? (uint64_t)clamped(PPM * exact_ns / (s->base_ns + 1), 0,
							      PPM * PPM) :
					    UINT64_MAX,
		.doublings = doublings,
	};
	g->tried = depth < g->depth || (depth == g->depth && doublings < g->doublings);
	if (depth != g->depth)
		g->debt_ns = 0;
	g->depth = depth;
	g->doublings = doublings;
	g->changed_ns = g->last.now_ns;
	g->since = (struct governor_stretch){ 0 };
	return true;
}

/*
 * How often the interval has to be doubled, `from` times at least, for samples to take no more than
 * that; `end`: so seldom that is never enough.
 */
static uint32_t least_doublings(const struct governor *g, const struct governor_stretch *s,
				uint32_t from, uint32_t end, double most_ns)
{
	double samples = s->spent_ns / sample_ns(g, g->doublings, s->seldom);

	while (from < end && samples * sample_ns(g, from, s->seldom) > most_ns)
		from += DOUBLINGS_STEP;
	return from;
}

/* Of the interval. Who owes little has fewer kept, if only to owe less; 0: they are left. */
static uint32_t wanted_doublings(const struct governor *g, const struct governor_stretch *s)
{
	const uint32_t end = GOVERNOR_MOST_DOUBLINGS + DOUBLINGS_STEP;
	uint32_t doublings =
		least_doublings(g, s, g->doublings + DOUBLINGS_STEP, end, s->allowed_ns);

	if (doublings < end)
		return doublings;
	if (g->debt_ns > GOVERNOR_DEBT_NS || g->doublings == GOVERNOR_MOST_DOUBLINGS)
		return 0;
	return GOVERNOR_MOST_DOUBLINGS;
}

static bool are_samples_too_dear(const struct governor *g, const struct governor_stretch *s)
{
	double most_ns =
		wanted_doublings(g, s) ? THINNING_PART * GOVERNOR_DEBT_NS : GOVERNOR_DEBT_NS;

	return s->spent_ns > s->allowed_ns && g->debt_ns > most_ns;
}

/*
 * What is left of the share shall pay for the change as well. Where calls take hardly more than it
 * that is left for long, so no stretch of EXCESS_NS may take more.
 */
static bool are_calls_too_dear(struct governor *g, struct governor_stretch *s)
{
	add_stretch(&g->since, s);
	if (s->spent_ns > s->allowed_ns && g->balance_ns < CHANGE_NS * s->spent_ns / s->ns)
		return true;
	if (g->since.ns < EXCESS_NS)
		return false;
	*s = g->since;
	g->since = (struct governor_stretch){ 0 };
	return s->spent_ns > s->allowed_ns;
}

/* *s becomes the stretch by which that was found. */
static bool is_too_dear(struct governor *g, struct governor_stretch *s)
{
	switch (g->depth) {
	case RECORD_DEPTH_EXACT:
		return are_calls_too_dear(g, s);
	case RECORD_DEPTH_SAMPLED:
		return are_samples_too_dear(g, s);
	case RECORD_DEPTH_GROWTH:
		return false;
	}
	return false;
}

static bool go_down(struct governor *g, const struct governor_stretch *s,
		    struct record_depth_change *ret_change)
{
	bool was_wrong = g->tried && g->last.now_ns - g->changed_ns < HELD_NS;
	bool was_sampled = g->depth == RECORD_DEPTH_SAMPLED;
	bool samples = g->depth == RECORD_DEPTH_EXACT && g->last.has_samples;
	uint32_t doublings = was_sampled ? wanted_doublings(g, s) : 0;

	g->wait_ns = was_wrong ? (uint64_t)clamped(2.0 * (double)g->wait_ns, 0, MOST_WAIT_NS) :
				 first_wait(g);
	if (doublings)
		return change_depth(g, s, RECORD_DEPTH_SAMPLED, doublings, ret_change);
	g->dear_samples = was_sampled;
	return change_depth(g, s, samples ? RECORD_DEPTH_SAMPLED : RECORD_DEPTH_GROWTH, 0,
			    ret_change);
}

/* As many CPUs as were busy are so during a try, too. */
static bool is_paid(const struct governor *g, const struct governor_stretch *since)
{
	double cpus = (since->own_ns + since->spent_ns) / since->ns;

	return g->balance_ns >=
	       GOVERNOR_TRY_NS * (cpus > RECORD_LEAST_CPUS ? cpus : RECORD_LEAST_CPUS);
}

/* One sample stands for many calls: so it is a stretch that is judged, and no look alone. */
static bool go_up(struct governor *g, const struct governor_stretch *s,
		  struct record_depth_change *ret_change)
{
	bool samples = g->depth == RECORD_DEPTH_GROWTH && g->last.has_samples;
	struct governor_stretch since;
	uint32_t doublings;

	add_stretch(&g->since, s);
	since = g->since;
	if (samples && !g->dear_samples)
		return change_depth(g, &since, RECORD_DEPTH_SAMPLED, 0, ret_change);
	if (since.ns < (double)g->wait_ns)
		return false;
	doublings = least_doublings(g, &since, 0, g->doublings, GOOD_PART * since.allowed_ns);
	if (doublings < g->doublings)
		return change_depth(g, &since, RECORD_DEPTH_SAMPLED, doublings, ret_change);
	if (!is_paid(g, &since))
		return false;
	g->since = (struct governor_stretch){ 0 };
	/* Where they are not known they are none. */
	if (since.calls * least_call_ns(g) > GOOD_PART * since.allowed_ns)
		return false;
	if (samples)
		return change_depth(g, &since, RECORD_DEPTH_SAMPLED, GOVERNOR_MOST_DOUBLINGS,
				    ret_change);
	return change_depth(g, &since, RECORD_DEPTH_EXACT, 0, ret_change);
}

static void measure(struct governor *g, const struct governor_stretch *s)
{
	double keep = 1;

	if (g->measured_calls + s->calls > REMEMBERED_CALLS)
		keep = REMEMBERED_CALLS / (g->measured_calls + s->calls);
	g->measured_calls = keep * (g->measured_calls + s->calls);
	g->measured_ns = keep * (g->measured_ns + s->spent_ns);
}

static struct governor_stretch measure_stretch(struct governor *g, const struct governor_look *look)
{
	struct governor_stretch s = stretch_of(g, look);
	double cpu_ns = difference(look->cpu_ns, g->last.cpu_ns);
	double counted = at_most(counted_ns(g, look, s.seldom), cpu_ns);
	bool is_exact = g->depth == RECORD_DEPTH_EXACT;
	double cpus = s.ns > 0 ? cpu_ns / s.ns : 0;
	double most_ns = MOST_TRIES * GOVERNOR_TRY_NS * (cpus > 1 ? cpus : 1);

	g->last = *look;
	g->spent_ns += s.spent_ns;
	g->counted_ns += counted;
	/*
	 * New stacks, deep ones, and caches that others use cost more than was calibrated. Calls
	 * also less, where the machine was busy when they were calibrated.
	 */
	if (counted > s.spent_ns || (is_exact && is_counted(g, look)))
		s.spent_ns = counted;
	set_base(g, &s, cpu_ns);
	g->base_ns += s.base_ns;
	if (is_exact)
		measure(g, &s);
	g->balance_ns += s.allowed_ns - s.spent_ns;
	if (g->balance_ns > most_ns)
		g->balance_ns = most_ns;
	g->debt_ns += s.spent_ns - s.allowed_ns;
	if (g->debt_ns < 0)
		g->debt_ns = 0;
	return s;
}

void governor_count(struct governor *governor, const struct governor_look *look)
{
	(void)measure_stretch(governor, look);
}

bool governor_look(struct governor *governor, const struct governor_look *look,
		   struct record_depth_change *ret_change)
{
	struct governor_stretch s;

	if (governor->most <= 0 || look->now_ns < governor->last.now_ns + LOOK_NS)
		return false;
	s = measure_stretch(governor, look);
	if (is_too_dear(governor, &s))
		return go_down(governor, &s, ret_change);
	if (governor->depth == RECORD_DEPTH_EXACT)
		return false;
	return go_up(governor, &s, ret_change);
}

uint64_t governor_sample_ns(const struct probe_cost *cost)
{
	return (uint64_t)with_driven_out((double)cost->seldom_call_ns, 1);
}

uint64_t governor_call_ns(const struct governor *governor)
{
	return (uint64_t)call_ns(governor) + 1;
}

uint64_t governor_base_ns(const struct governor *governor)
{
	return (uint64_t)governor->base_ns;
}

uint64_t governor_predicted_ppm(const struct governor *governor)
{
	return (uint64_t)(PPM * governor->spent_ns / (governor->base_ns + 1));
}

uint64_t governor_measured_ppm(const struct governor *governor)
{
	if (governor->counted_ns <= 0)
		return UINT64_MAX;
	return (uint64_t)(PPM * governor->counted_ns / (governor->base_ns + 1));
}
