/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/jobs/fault_period.h"

#include "base/clock.h"

/* A tick of a process that is not traced takes 0.2 to 0.4 us: less than 0.4 % of a CPU. */
const struct fault_period_opts fault_period_of_few = { .first = 1, .most_per_s = 8192 };
/* As many as one in a thousand has of a CPU that does little but fault. */
const struct fault_period_opts fault_period_of_host = { .first = 1024, .most_per_s = 256 };

#define MOST_PERIOD (1U << 14)
#define WINDOW_NS SECOND_NS
/* Of the most: with fewer ticks there are to be more. */
#define FEW_PART 8

uint32_t fault_period_ticks(const struct fault_period_opts *opts)
{
	return opts->most_per_s / 2;
}

void fault_period_init(struct fault_period *period, const struct fault_period_opts *opts,
		       uint64_t now_ns)
{
	*period = (struct fault_period){ .period = opts->first, .since_ns = now_ns };
}

static void raise_period(struct fault_period *period, double rate, double most)
{
	while (rate > most && period->period < MOST_PERIOD) {
		period->period *= 2;
		rate /= 2;
	}
}

/* Down by a half, and again a second later: what comes in waves is not always at the lowest. */
bool fault_period_look(struct fault_period *period, const struct fault_period_opts *opts,
		       uint64_t ticks, uint64_t now_ns)
{
	const uint32_t before = period->period;
	uint64_t n = ticks - period->ticks;
	uint64_t ns = now_ns > period->since_ns ? now_ns - period->since_ns : 1;
	double rate = (double)n * (double)SECOND_NS / (double)ns, most = opts->most_per_s;

	if (n < fault_period_ticks(opts) && ns < WINDOW_NS)
		return false;
	if (n >= fault_period_ticks(opts))
		raise_period(period, rate, most);
	else if (rate * FEW_PART < most && period->period > 1)
		period->period /= 2;
	period->ticks = ticks;
	period->since_ns = now_ns;
	return period->period != before;
}
