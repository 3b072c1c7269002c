/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/session/cost_meter.h"

#include "base/clock.h"
#include "base/saturate.h"

/* Fewer tell nothing of what one takes. */
#define LEAST_WINDOW_CALLS 200

void cost_meter_init(struct cost_meter *meter, uint64_t hit_ns, const struct cost_look *start)
{
	*meter = (struct cost_meter){ .hit_ns = hit_ns,
				      .start = *start,
				      .measured_calls = start->calls };
}

void cost_meter_measure_by_time(struct cost_meter *meter)
{
	meter->by_time = true;
	meter->measured_until = meter->start.now_ns;
}

static uint64_t by_the_second(const struct cost_meter *meter, uint64_t until_ns)
{
	uint64_t ns = saturate_subtract_u64(until_ns, meter->measured_until);

	return (uint64_t)((double)ns * (double)meter->second_ns / SECOND_NS);
}

/* It stands for the time since the one before, or since counting began. */
static void add_timed_window(struct cost_meter *meter, const struct cost_window *window)
{
	uint64_t ns = window->runs.ns + window->runs.runs * meter->hit_ns;

	if (meter->is_paused || window->from_ns < meter->resumed_at ||
	    window->to_ns <= window->from_ns)
		return;
	meter->second_ns =
		(uint64_t)((double)ns * SECOND_NS / (double)(window->to_ns - window->from_ns));
	meter->measured_ns += by_the_second(meter, window->to_ns);
	meter->measured_until = window->to_ns;
	meter->is_measured = true;
}

void cost_meter_add_window(struct cost_meter *meter, const struct cost_window *window)
{
	if (meter->by_time) {
		add_timed_window(meter, window);
		return;
	}
	meter->window_calls += window->calls;
	meter->window_ns += window->runs.ns + window->runs.runs * meter->hit_ns;
	if (meter->window_calls < LEAST_WINDOW_CALLS)
		return;
	meter->call_ns = meter->window_ns / meter->window_calls;
	meter->measured_ns +=
		saturate_subtract_u64(window->until, meter->measured_calls) * meter->call_ns;
	meter->measured_calls = window->until;
	meter->window_calls = meter->window_ns = 0;
}

uint64_t cost_meter_measured_ns(const struct cost_meter *meter, const struct cost_look *now)
{
	if (!meter->hit_ns || !(meter->by_time ? meter->is_measured : meter->call_ns > 0))
		return UINT64_MAX;
	if (!meter->by_time)
		return meter->measured_ns +
		       saturate_subtract_u64(now->calls, meter->measured_calls) * meter->call_ns;
	return meter->measured_ns + (meter->is_paused ? 0 : by_the_second(meter, now->now_ns));
}

void cost_meter_set_counting(struct cost_meter *meter, bool counts, uint64_t now_ns)
{
	if (counts != meter->is_paused)
		return;
	if (counts) {
		meter->uncounted_ns += saturate_subtract_u64(now_ns, meter->paused_at);
		meter->resumed_at = meter->measured_until = now_ns;
	} else {
		meter->measured_ns += by_the_second(meter, now_ns);
		meter->paused_at = now_ns;
	}
	meter->is_paused = !counts;
}

struct record_cost cost_meter_read(const struct cost_meter *meter, const struct cost_look *now)
{
	uint64_t calls = saturate_subtract_u64(now->calls, meter->start.calls), cpu_ns, taken_ns;
	struct record_cost cost = {
		.calls = calls,
		.span_ns = saturate_subtract_u64(now->now_ns, meter->start.now_ns),
		.predicted_ns = meter->hit_ns && !meter->by_time ?
					calls * COST_HITS_OF_A_CALL * meter->hit_ns :
					UINT64_MAX,
		.measured_ns = cost_meter_measured_ns(meter, now),
		.own_cpu_ns = UINT64_MAX,
		.uncounted_ns = meter->uncounted_ns,
	};

	if (meter->is_paused)
		cost.uncounted_ns += saturate_subtract_u64(now->now_ns, meter->paused_at);
	taken_ns = cost.measured_ns != UINT64_MAX ? cost.measured_ns : cost.predicted_ns;
	if (now->cpu_ns == UINT64_MAX || taken_ns == UINT64_MAX)
		return cost;
	cpu_ns = saturate_subtract_u64(now->cpu_ns, meter->start.cpu_ns);
	/* More than what was used cannot have gone to probes. */
	if (cost.measured_ns != UINT64_MAX && cost.measured_ns > cpu_ns)
		cost.measured_ns = taken_ns = cpu_ns;
	cost.own_cpu_ns = saturate_subtract_u64(cpu_ns, taken_ns);
	return cost;
}
