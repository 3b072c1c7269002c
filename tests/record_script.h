/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records of made-up runs, one short call each, for tests of what consumes records: handed to a
 * model, or to a recording's writer. Failing to take one fails the test.
 */
#ifndef MEMTRACED_TESTS_RECORD_SCRIPT_H
#define MEMTRACED_TESTS_RECORD_SCRIPT_H

#include "trace/record/record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct script {
	record_fn fn;
	void *userdata;
};

#define SCRIPT_ROOT 1u
#define SCRIPT_INHERITS 2u

static inline void emit(const struct script *s, const struct record *record)
{
	assert_int_equal(s->fn(record, s->userdata), 0);
}

static inline void emit_run_with(const struct script *s, bool no_allocations)
{
	emit(s, &(struct record){ .type = RECORD_RUN,
				  .run = { .tool = "memtraced 0.1.0",
					   .kernel = "6.1.0",
					   .attach_path = "session",
					   .start_realtime_ns = 1767323045006000000,
					   .start_ns = 1000,
					   .age_resolution_ns = 100000000,
					   .no_allocations = no_allocations,
					   .unwinder = "cfi" } });
}

static inline void emit_run(const struct script *s)
{
	emit_run_with(s, false);
}

static inline void emit_function(const struct script *s, uint16_t id, const char *name,
				 const char *object, uint64_t file_offset)
{
	emit(s, &(struct record){ .type = RECORD_FUNCTION,
				  .function = { id, name, object, file_offset } });
}

/* `from`: the image of the image before (flags without SCRIPT_INHERITS) or of the parent. */
static inline void emit_begin(const struct script *s, uint32_t image, uint32_t pid, uint32_t from,
			      unsigned int flags, uint64_t time_ns, const char *comm)
{
	bool inherits = flags & SCRIPT_INHERITS;

	emit(s, &(struct record){
			.type = RECORD_PROCESS,
			.process = { .image = { image },
				     .pid = pid,
				     .ppid = 1,
				     .parent_image = inherits ? (image_t){ from } : RECORD_NO_IMAGE,
				     .prev_image = inherits ? RECORD_NO_IMAGE : (image_t){ from },
				     .root = flags & SCRIPT_ROOT,
				     .inherits = inherits,
				     .time_ns = time_ns,
				     .comm = comm,
				     .exe = "/opt/demo/server",
				     .command = inherits ? NULL : "server --name 'a b'" } });
}

static inline void emit_end(const struct script *s, uint32_t image, enum record_end how, int value,
			    uint64_t time_ns)
{
	emit(s, &(struct record){ .type = RECORD_PROCESS_END,
				  .process_end = { .image = { image },
						   .how = how,
						   .value = value,
						   .time_ns = time_ns } });
}

static inline void emit_map(const struct script *s, uint32_t image, uint64_t start, uint64_t end,
			    uint64_t file_offset, uint64_t time_ns, const char *path, uint64_t ino)
{
	emit(s, &(struct record){ .type = RECORD_MAPPING,
				  .mapping = { .image = { image },
					       .start = start,
					       .end = end,
					       .file_offset = file_offset,
					       .time_ns = time_ns,
					       .dev = 8,
					       .ino = ino,
					       .path = path,
					       .executable = true } });
}

static inline void emit_unmap(const struct script *s, uint32_t image, uint64_t start, uint64_t end,
			      uint64_t time_ns)
{
	emit(s, &(struct record){ .type = RECORD_UNMAPPING,
				  .unmapping = { { image }, start, end, time_ns } });
}

static inline void emit_stack_of(const struct script *s, uint64_t id, uint32_t image,
				 uint64_t time_ns, bool truncated, const uint64_t *frames, size_t n)
{
	emit(s, &(struct record){ .type = RECORD_STACK,
				  .stack = { .id = id,
					     .image = { image },
					     .time_ns = time_ns,
					     .truncated = truncated,
					     .n_frames = n,
					     .frames = frames } });
}
#define emit_stack(s, id, image, time_ns, ...)                                                     \
	emit_stack_of((s), (id), (image), (time_ns), false, (const uint64_t[]){ __VA_ARGS__ },     \
		      sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

static inline void emit_region(const struct script *s, uint32_t image, uint64_t start, uint64_t end,
			       uint16_t fn, uint64_t stack, uint64_t time_ns)
{
	emit(s, &(struct record){ .type = RECORD_REGION,
				  .region = { { image }, start, end, stack, time_ns, fn } });
}

static inline void emit_region_gone(const struct script *s, uint32_t image, uint64_t start,
				    uint64_t end, uint64_t time_ns)
{
	emit(s, &(struct record){ .type = RECORD_REGION_GONE,
				  .region_gone = { { image }, start, end, time_ns } });
}

static inline void emit_cut(const struct script *s, uint64_t time_ns)
{
	emit(s, &(struct record){ .type = RECORD_CUT, .cut.time_ns = time_ns });
}

static inline void emit_totals(const struct script *s, struct record_totals totals)
{
	emit(s, &(struct record){ .type = RECORD_TOTALS, .totals = totals });
}

static inline void emit_site(const struct script *s, struct record_site site)
{
	emit(s, &(struct record){ .type = RECORD_SITE, .site = site });
}

static inline void emit_coverage(const struct script *s, bool exact, uint64_t events,
				 const struct record_loss *losses, size_t n_losses)
{
	emit(s, &(struct record){ .type = RECORD_COVERAGE,
				  .coverage = { .exact = exact,
						.events = events,
						.stacks_complete = events - 1,
						.stacks_truncated = 1,
						.n_losses = n_losses,
						.losses = losses } });
}

static inline void emit_cut_end(const struct script *s)
{
	emit(s, &(struct record){ .type = RECORD_CUT_END });
}

static inline void emit_unprobed(const struct script *s, const char *function, const char *object,
				 const char *why)
{
	emit(s, &(struct record){ .type = RECORD_UNPROBED, .unprobed = { function, object, why } });
}

static inline void emit_symbol_of(const struct script *s, const char *object, uint64_t ino,
				  uint64_t file_offset, const struct record_symbol_frame *frames,
				  size_t n)
{
	emit(s, &(struct record){ .type = RECORD_SYMBOL,
				  .symbol = { .object = object,
					      .dev = 8,
					      .ino = ino,
					      .image = RECORD_NO_IMAGE,
					      .file_offset = file_offset,
					      .is_call = true,
					      .vaddr = file_offset + 0x1000,
					      .n_frames = n,
					      .frames = frames } });
}
/* Frames as { function, offset, file, line, is_inline }. */
#define emit_symbol(s, object, ino, file_offset, ...)                                              \
	emit_symbol_of((s), (object), (ino), (file_offset),                                        \
		       (const struct record_symbol_frame[]){ __VA_ARGS__ },                        \
		       sizeof((const struct record_symbol_frame[]){ __VA_ARGS__ }) /               \
			       sizeof(struct record_symbol_frame))

/* The kernel's code. */
#define SCRIPT_KERNEL "[kernel.kallsyms]"
static inline void emit_kernel(const struct script *s, uint64_t start, uint64_t end)
{
	emit_map(s, RECORD_NO_IMAGE.n, start, end, start, 0, SCRIPT_KERNEL, 0);
}

/* Of one function, or of none (NULL). */
static inline void emit_kernel_symbol(const struct script *s, uint64_t addr, const char *function,
				      uint64_t offset)
{
	const struct record_symbol_frame frame = { .function = function, .offset = offset };

	emit(s, &(struct record){ .type = RECORD_SYMBOL,
				  .symbol = { .object = SCRIPT_KERNEL,
					      .dev = 8,
					      .image = RECORD_NO_IMAGE,
					      .file_offset = addr,
					      .is_call = true,
					      .vaddr = addr,
					      .n_frames = 1,
					      .frames = &frame } });
}

static inline void emit_event(const struct script *s, uint32_t id, const char *name)
{
	emit(s, &(struct record){ .type = RECORD_EVENT,
				  .event = { .id = id, .name = name, .kernel = true } });
}

static inline void emit_event_count(const struct script *s, struct record_event_count count)
{
	emit(s, &(struct record){ .type = RECORD_EVENT_COUNT, .event_count = count });
}

static inline void emit_event_counts(const struct script *s,
				     const struct record_event_count *counts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		emit_event_count(s, counts[i]);
}

static inline void emit_occurrence(const struct script *s, struct record_occurrence occurrence)
{
	emit(s, &(struct record){ .type = RECORD_OCCURRENCE, .occurrence = occurrence });
}

static inline void emit_histogram(const struct script *s, struct record_histogram histogram)
{
	emit(s, &(struct record){ .type = RECORD_HISTOGRAM, .histogram = histogram });
}

static inline void emit_hist_counts(const struct script *s, struct record_hist_counts counts)
{
	emit(s, &(struct record){ .type = RECORD_HIST_COUNTS, .hist_counts = counts });
}

#endif
