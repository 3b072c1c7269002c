/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who kills the processes of scenarios.
 */
#ifndef MEMTRACED_TESTS_REPLAY_DEATHS_H
#define MEMTRACED_TESTS_REPLAY_DEATHS_H

#include "tests/record_script.h"

#define DEATHS_MIB ((uint64_t)1 << 20)

/* The OOM killer, for the limit of a cgroup that its own is in. */
static inline void emit_oom_kill(const struct script *s, uint32_t image, uint64_t time_ns)
{
	const struct record_death death = {
		.image = { image },
		.signal = 9,
		.code = 0x80,
		.time_ns = time_ns,
		.killer = RECORD_KILLER_KERNEL,
		.oom = true,
		.oom_constraint = "memcg",
		.oom_cgroup = "/pod",
		.oom_use = { 64 * DEATHS_MIB, 64 * DEATHS_MIB, 64 * DEATHS_MIB },
		.has_memory = true,
		.total_vm = 80 * DEATHS_MIB,
		.anon = 60 * DEATHS_MIB,
		.file = 2 * DEATHS_MIB,
		.page_tables = 98304,
		.oom_score_adj = -10,
		.cgroup = "/pod/<b>\x1b[1m",
		.use = { 61 * DEATHS_MIB, 62 * DEATHS_MIB, UINT64_MAX },
		.full_cgroup = "/pod",
		.full_use = { 64 * DEATHS_MIB, 64 * DEATHS_MIB, 64 * DEATHS_MIB },
		.has_events = true,
		.limit_hits = 7,
		.ooms = 1,
		.oom_kills = 1,
	};

	emit(s, &(struct record){ .type = RECORD_DEATH, .death = death });
}

#endif
