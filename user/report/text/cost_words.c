/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/text/cost_words.h"

#include "config/units.h"

/* Above it is worth a word at once. */
#define HIGH_SHARE 0.2
/* CPU time is known by hundredths of a second. */
#define LEAST_CPU_NS UINT64_C(50000000)
#define MOST_PERCENT 1000
#define MOST_TIMES 10

uint64_t cost_counted_ns(const struct record_cost *cost)
{
	return cost->span_ns > cost->uncounted_ns ? cost->span_ns - cost->uncounted_ns : 0;
}

static uint64_t taken_ns(const struct record_cost *cost)
{
	return cost->measured_ns != UINT64_MAX ? cost->measured_ns : cost->predicted_ns;
}

/* What it is a share of: what the processes used themselves, or the time of one CPU. */
static uint64_t base_ns(const struct record_cost *cost)
{
	return cost->own_cpu_ns != UINT64_MAX ? cost->own_cpu_ns : cost->span_ns;
}

bool cost_is_known(const struct record_cost *cost)
{
	return taken_ns(cost) != UINT64_MAX && taken_ns(cost) + base_ns(cost) >= LEAST_CPU_NS;
}

/* What is left of it is less than what a measurement is off. */
static bool is_most(const struct record_cost *cost)
{
	return cost->own_cpu_ns != UINT64_MAX && taken_ns(cost) / MOST_TIMES >= cost->own_cpu_ns;
}

static void add_share(struct strbuf *out, uint64_t ns, uint64_t of_ns)
{
	double percent = 100 * (double)ns / (double)of_ns;

	if (percent < 10)
		strbuf_addf(out, "~%.1f %%", percent);
	else if (percent < MOST_PERCENT)
		strbuf_addf(out, "~%.0f %%", percent);
	else
		strbuf_addf(out, "~%.0f times", percent / 100);
}

static void add_rate(struct strbuf *out, const struct record_cost *cost)
{
	uint64_t counted_ns = cost_counted_ns(cost);
	double rate = counted_ns ? (double)cost->calls * 1e9 / (double)counted_ns : 0;
	char text[FORMAT_UNIT_LEN];

	strbuf_addf(out, "%s calls/s", format_count((int64_t)rate, text));
	if (!cost->uncounted_ns)
		return;
	strbuf_addf(out, " (counted for %s", format_duration(counted_ns, text));
	strbuf_addf(out, " of %s)", format_duration(cost->span_ns, text));
}

static void add_prediction(struct strbuf *out, const struct record_cost *cost)
{
	if (cost->predicted_ns == UINT64_MAX)
		return;
	if (cost->measured_ns == UINT64_MAX) {
		strbuf_adds(out, " (predicted, not measured)");
		return;
	}
	strbuf_adds(out, " (predicted: ");
	add_share(out, cost->predicted_ns, base_ns(cost));
	strbuf_addch(out, ')');
}

void cost_words(const struct record_cost *cost, struct strbuf *out)
{
	char time[FORMAT_UNIT_LEN];

	add_rate(out, cost);
	if (!cost_is_known(cost))
		return;
	strbuf_adds(out, "; counting took ");
	if (is_most(cost)) {
		strbuf_addf(out, "most of the processes' %s of CPU time",
			    format_duration(taken_ns(cost) + cost->own_cpu_ns, time));
		return;
	}
	add_share(out, taken_ns(cost), base_ns(cost));
	if (cost->own_cpu_ns != UINT64_MAX)
		strbuf_addf(out, " of the processes' own %s of CPU time",
			    format_duration(cost->own_cpu_ns, time));
	else
		strbuf_adds(out, " of the time of one CPU");
	add_prediction(out, cost);
}

void cost_short_words(const struct record_cost *cost, struct strbuf *out)
{
	add_rate(out, cost);
	if (!cost_is_known(cost))
		return;
	if (is_most(cost)) {
		strbuf_adds(out, ", counting them takes most of the CPU time");
		return;
	}
	strbuf_adds(out, ", counting them adds ");
	add_share(out, taken_ns(cost), base_ns(cost));
	strbuf_adds(out, cost->own_cpu_ns != UINT64_MAX ? " CPU time" : " of a CPU");
}

/* Neither where one of them is not known. */
static uint64_t difference(uint64_t now, uint64_t before)
{
	if (now == UINT64_MAX || before == UINT64_MAX)
		return UINT64_MAX;
	return now > before ? now - before : 0;
}

struct record_cost cost_since(const struct record_cost *before, const struct record_cost *now)
{
	return (struct record_cost){
		.calls = difference(now->calls, before->calls),
		.span_ns = difference(now->span_ns, before->span_ns),
		.predicted_ns = difference(now->predicted_ns, before->predicted_ns),
		.measured_ns = difference(now->measured_ns, before->measured_ns),
		.own_cpu_ns = difference(now->own_cpu_ns, before->own_cpu_ns),
		.uncounted_ns = difference(now->uncounted_ns, before->uncounted_ns),
		.limit_ppm = now->limit_ppm,
	};
}

bool cost_is_high(const struct record_cost *cost)
{
	double least_ns = RECORD_LEAST_CPUS * (double)cost->span_ns, base = (double)base_ns(cost);

	return cost_is_known(cost) &&
	       (double)taken_ns(cost) > HIGH_SHARE * (base > least_ns ? base : least_ns);
}

void cost_bound_words(const struct record_cost *cost, struct strbuf *out)
{
	if (cost->limit_ppm)
		strbuf_addf(out, "; the limit is %g %%", (double)cost->limit_ppm / 10000);
	else
		strbuf_adds(out, "; --max-overhead=5% bounds that");
}
