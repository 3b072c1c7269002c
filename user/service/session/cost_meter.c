/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/session/cost_meter.h"

/* Fewer tell nothing of what one takes. */
#define LEAST_WINDOW_CALLS 200

void cost_meter_init(struct cost_meter *meter, uint64_t hit_ns, const struct cost_look *start)
{
	*meter = (struct cost_meter){ .hit_ns = hit_ns,
				      .start = *start,
				      .measured_calls = start->calls };
}

static uint64_t difference(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

void cost_meter_add_window(struct cost_meter *meter, uint64_t until, uint64_t calls,
			   const struct run_stats *runs)
{
	meter->window_calls += calls;
	meter->window_ns += runs->ns + runs->runs * meter->hit_ns;
	if (meter->window_calls < LEAST_WINDOW_CALLS)
		return;
	meter->call_ns = meter->window_ns / meter->window_calls;
	meter->measured_ns += difference(until, meter->measured_calls) * meter->call_ns;
	meter->measured_calls = until;
	meter->window_calls = meter->window_ns = 0;
}

uint64_t cost_meter_measured_ns(const struct cost_meter *meter, uint64_t calls)
{
	if (!meter->hit_ns || !meter->call_ns)
		return UINT64_MAX;
	return meter->measured_ns + difference(calls, meter->measured_calls) * meter->call_ns;
}

void cost_meter_set_counting(struct cost_meter *meter, bool counts, uint64_t now_ns)
{
	if (counts != meter->is_paused)
		return;
	if (counts)
		meter->uncounted_ns += difference(now_ns, meter->paused_at);
	meter->is_paused = !counts;
	meter->paused_at = now_ns;
}

struct record_cost cost_meter_read(const struct cost_meter *meter, const struct cost_look *now)
{
	uint64_t calls = difference(now->calls, meter->start.calls), cpu_ns, taken_ns;
	struct record_cost cost = {
		.calls = calls,
		.span_ns = difference(now->now_ns, meter->start.now_ns),
		.predicted_ns =
			meter->hit_ns ? calls * COST_HITS_OF_A_CALL * meter->hit_ns : UINT64_MAX,
		.measured_ns = cost_meter_measured_ns(meter, now->calls),
		.own_cpu_ns = UINT64_MAX,
		.uncounted_ns = meter->uncounted_ns,
	};

	if (meter->is_paused)
		cost.uncounted_ns += difference(now->now_ns, meter->paused_at);
	taken_ns = cost.measured_ns != UINT64_MAX ? cost.measured_ns : cost.predicted_ns;
	if (now->cpu_ns == UINT64_MAX || taken_ns == UINT64_MAX)
		return cost;
	cpu_ns = difference(now->cpu_ns, meter->start.cpu_ns);
	/* More than what was used cannot have gone to probes. */
	if (cost.measured_ns != UINT64_MAX && cost.measured_ns > cpu_ns)
		cost.measured_ns = taken_ns = cpu_ns;
	cost.own_cpu_ns = difference(cpu_ns, taken_ns);
	return cost;
}
