/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/jobs/fault_clocks.h"

#include "base/clock.h"
#include "bpf/abi_jobs.h"
#include "trace/bpf/bpf_link.h"
#include "trace/bpf/map_memory.h"
#include "trace/jobs/fault_period.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

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

int fault_clocks_look(struct fault_clocks *clocks)
{
	uint64_t now_ns = clock_monotonic_ns();
	int r = 0;

	for (size_t i = 0; clocks->adapts && i < clocks->n_cpus && r == 0; i++) {
		struct cpu *cpu = &clocks->cpus[i];
		uint64_t ticks = __atomic_load_n(&clocks->clocks[i].ticks, __ATOMIC_RELAXED);

		if (cpu->perf_fd < 0 ||
		    !fault_period_look(&cpu->period, clocks->adapts, ticks, now_ns))
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
