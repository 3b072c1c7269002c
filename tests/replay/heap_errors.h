/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The heap errors of a scenario.
 */
#ifndef MEMTRACED_TESTS_REPLAY_HEAP_ERRORS_H
#define MEMTRACED_TESTS_REPLAY_HEAP_ERRORS_H

#include "tests/record_script.h"

static inline void emit_error(const struct script *s, struct record_heap_error error)
{
	error.fn = error.fn ? error.fn : 4;
	emit(s, &(struct record){ .type = RECORD_HEAP_ERROR, .heap_error = error });
}

/* It is killed for writing into a block that was freed. */
static inline void emit_fault(const struct script *s, uint32_t image, uint64_t here, uint64_t there)
{
	const struct record_fault fault = { .image = { image },
					    .tid = 4242,
					    .signal = 11,
					    .code = 1,
					    .has_addr = true,
					    .addr = 0x6010,
					    .stack = here,
					    .time_ns = 2900000000,
					    .block = 0x6000,
					    .block_size = 32,
					    .block_fn = 1,
					    .block_stack = there,
					    .freed = true,
					    .freed_fn = 4,
					    .freed_stack = here };

	emit(s, &(struct record){ .type = RECORD_FAULT, .fault = fault });
}

/* Each kind of error, and one of the future; function 1 is malloc, 2 realloc, 4 free. */
static inline void emit_errors(const struct script *s, uint32_t image, uint64_t here,
			       uint64_t there)
{
	const struct record_heap_error errors[] = {
		{ .kind = RECORD_INVALID_FREE,
		  .stack = there,
		  .count = 3,
		  .addr = 0x5008,
		  .block = 0x5000,
		  .block_size = 100,
		  .block_fn = 1,
		  .block_stack = here },
		{ .kind = RECORD_INVALID_FREE, .stack = here, .count = 1, .addr = 0x7fff0000 },
		{ .kind = RECORD_DOUBLE_FREE,
		  .stack = here,
		  .count = 2,
		  .addr = 0x6000,
		  .block = 0x6000,
		  .block_size = 32,
		  .block_fn = 1,
		  .block_stack = here,
		  .freed_fn = 4,
		  .freed_stack = there },
		{ .kind = RECORD_DOUBLE_FREE, .stack = there, .count = 1, .addr = 0x6100 },
		{ .kind = RECORD_MISMATCHED_FREE,
		  .stack = here,
		  .count = 1,
		  .addr = 0x7000,
		  .block = 0x7000,
		  .block_size = 0,
		  .block_fn = 1,
		  .block_stack = there },
		{ .kind = RECORD_FOREIGN_FREE,
		  .stack = here,
		  .count = 1,
		  .addr = 0x7100,
		  .block = 0x7100,
		  .block_size = 8,
		  .block_fn = 1,
		  .block_stack = there },
		{ .kind = RECORD_FAILED_ALLOCATION,
		  .stack = here,
		  .count = 7,
		  .fn = 1,
		  .size = 1ull << 40 },
		{ .kind = RECORD_SUSPICIOUS_SIZE,
		  .stack = here,
		  .count = 1,
		  .fn = 2,
		  .size = (uint64_t)-16 },
		{ .kind = RECORD_REALLOC_ZERO,
		  .stack = there,
		  .count = 1,
		  .fn = 2,
		  .addr = 0x7200 },
		{ .kind = RECORD_HEAP_ERRORS, .stack = there, .count = 1 },
	};

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		struct record_heap_error error = errors[i];

		error.image = (image_t){ image };
		error.time_ns = 2000000000 + i;
		emit_error(s, error);
	}
}

#endif
