/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/jobs/fault_clocks.h"

#include "base/clock.h"
#include "bpf/abi_jobs.h"
#include "trace/bpf/bpf_link.h"
#include "trace/bpf/map_memory.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

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
bool fault_period_update(struct fault_period *period, const struct fault_period_opts *opts,
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

struct cpu {
	int perf_fd; /* -1: it is off */
	struct fault_period period;
	uint32_t most_period;
};

struct fault_clocks {
	const struct fault_period_opts *adapts;
	uint32_t fixed;
	struct abi_fault_clock *clocks; /* shared with the program */
	size_t clocks_len;
	size_t n_cpus;
	struct cpu cpus[];
};

uint32_t fault_clocks_ticks(const struct fault_period_opts *adapts)
{
	return adapts ? fault_period_ticks(adapts) : 0;
}

int fault_clocks_set_room(struct bpf_map *map)
{
	int n = libbpf_num_possible_cpus();

	return n < 0 ? n : bpf_map__set_max_entries(map, (uint32_t)n);
}

int fault_clocks_new(const struct bpf_map *map, const struct fault_period_opts *adapts,
		     uint32_t fixed, struct fault_clocks **ret_clocks)
{
	_cleanup_(fault_clocks_free_p) struct fault_clocks *clocks = NULL;
	size_t n = bpf_map__max_entries(map);
	int r;

	clocks = calloc(1, sizeof(*clocks) + n * sizeof(clocks->cpus[0]));
	if (!clocks)
		return -ENOMEM;
	clocks->adapts = adapts;
	clocks->fixed = fixed;
	clocks->n_cpus = n;
	for (size_t i = 0; i < n; i++)
		clocks->cpus[i].perf_fd = -1;
	r = map_memory(map, (void **)&clocks->clocks, &clocks->clocks_len);
	if (r == 0)
		*ret_clocks = TAKE_PTR(clocks);
	return r;
}

void fault_clocks_free(struct fault_clocks *clocks)
{
	if (!clocks)
		return;
	for (size_t i = 0; i < clocks->n_cpus; i++)
		if (clocks->cpus[i].perf_fd >= 0)
			close(clocks->cpus[i].perf_fd);
	if (clocks->clocks)
		(void)munmap(clocks->clocks, clocks->clocks_len); /* it was mapped so */
	free(clocks);
}

static void note_period(struct cpu *cpu)
{
	if (cpu->period.period > cpu->most_period)
		cpu->most_period = cpu->period.period;
}

int fault_clocks_link(struct fault_clocks *clocks, int prog_fd, int cpu_number)
{
	struct cpu *cpu = &clocks->cpus[cpu_number];
	struct abi_fault_clock *clock = &clocks->clocks[cpu_number];

	if (cpu->perf_fd >= 0)
		close(cpu->perf_fd);
	cpu->perf_fd = -1;
	/* No program runs on this CPU's faults now: the event of before is closed. */
	clock->seen = 0;
	if (clocks->adapts) {
		fault_period_init(&cpu->period, clocks->adapts, clock_monotonic_ns());
		cpu->period.ticks = clock->ticks;
	} else {
		cpu->period.period = clocks->fixed;
	}
	note_period(cpu);
	return link_page_faults(prog_fd, cpu_number, cpu->period.period, &cpu->perf_fd);
}

int fault_clocks_update(struct fault_clocks *clocks)
{
	uint64_t now_ns = clock_monotonic_ns();
	int r = 0;

	for (size_t i = 0; clocks->adapts && i < clocks->n_cpus && r == 0; i++) {
		struct cpu *cpu = &clocks->cpus[i];
		uint64_t ticks = __atomic_load_n(&clocks->clocks[i].ticks, __ATOMIC_RELAXED);

		if (cpu->perf_fd < 0 ||
		    !fault_period_update(&cpu->period, clocks->adapts, ticks, now_ns))
			continue;
		note_period(cpu);
		r = link_set_period(cpu->perf_fd, cpu->period.period);
	}
	return r;
}

uint64_t fault_clocks_interval(const struct fault_clocks *clocks)
{
	uint64_t most = 1;

	for (size_t i = 0; i < clocks->n_cpus; i++) {
		const struct cpu *cpu = &clocks->cpus[i];
		const struct abi_fault_clock *clock = &clocks->clocks[i];

		if (cpu->most_period > most)
			most = cpu->most_period;
		if (clock->most_weight > most)
			most = clock->most_weight;
	}
	return most;
}
