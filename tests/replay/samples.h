/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The samples of a scenario: a server with a site that grows by 1,000 bytes a second and one that
 * goes up and down, and from the 40th second on a forked child that frees what it inherited.
 */
#ifndef MEMTRACED_TESTS_REPLAY_SAMPLES_H
#define MEMTRACED_TESTS_REPLAY_SAMPLES_H

#include "tests/record_script.h"

#define SAMPLES 70
#define CHILD_FROM 40

static inline void emit_sample_of(const struct script *s, uint32_t image, int64_t bytes,
				  int64_t blocks, uint64_t frees)
{
	const struct record_sample_process process = {
		.image = { image },
		.live_bytes = bytes,
		.live_blocks = blocks,
		.allocs = (uint64_t)blocks + frees,
		.frees = frees,
		.bytes = (uint64_t)(bytes > 0 ? bytes : 0) + 100 * frees,
		.rss_bytes = image ? UINT64_MAX : 1 << 20,
		.cgroup_bytes = image ? 0 : 3 << 20,
		.pss_bytes = image || frees % 4 ? 0 : 1 << 19,
	};

	emit(s, &(struct record){ .type = RECORD_SAMPLE_PROCESS, .sample_process = process });
}

static inline void emit_sample_site(const struct script *s, uint32_t image, uint16_t fn,
				    uint64_t stack, int64_t bytes)
{
	const struct record_sample_site site = { { image }, fn, stack, bytes };

	if (bytes)
		emit(s, &(struct record){ .type = RECORD_SAMPLE_SITE, .sample_site = site });
}

static inline void emit_samples(const struct script *s, uint64_t start_ns, uint64_t growing,
				uint64_t swinging)
{
	for (int64_t t = 0; t < SAMPLES; t++) {
		int64_t swing = t % 7 * 512, child = 100 * (CHILD_FROM - t);

		emit(s, &(struct record){
				.type = RECORD_SAMPLE,
				.sample = { start_ns + (uint64_t)t * 1000000000 },
			});
		emit_sample_of(s, 0, 1000 * t + swing, t + 1, (uint64_t)(3 * t));
		if (t >= CHILD_FROM)
			emit_sample_of(s, 1, child, child / 100, (uint64_t)(t - CHILD_FROM));
		emit_sample_site(s, 0, 1, growing, 1000 * t);
		emit_sample_site(s, 0, 2, swinging, swing);
		if (t >= CHILD_FROM)
			emit_sample_site(s, 1, 1, growing, child);
		emit(s, &(struct record){ .type = RECORD_SAMPLE_END,
					  .sample_end = { t < 3 ? 2 : 0, t < 3 ? 16 : 0, 0 } });
	}
}

#endif
