/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyze/exit_frame.h"

#include "base/vec.h"
#include "probe/object_reader.h"
#include "probe/object_wire.h"
#include "target/memory.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* Handlers' frames are above the one that is sought; deeper ones than this are not looked for. */
#define SEARCH_BYTES (256 * 1024)

struct exit_frame {
	const struct memory *memory;
	VEC(struct memory_range) functions; /* by that name, aliases included */
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_libc(const char *path)
{
	static const char *const prefixes[] = { "libc.so", "libc-2.", "ld-musl-", "libc.musl-" };

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (strncmp(base_name(path), prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}

static int add_functions(struct exit_frame *frame, const struct object_ranges *ranges,
			 const struct memory_code *code)
{
	int r = 0;

	for (size_t i = 0; i < ranges->n && r == 0; i++) {
		uint64_t offset = ranges->list[i].offset, start;

		if (offset < code->file_offset ||
		    offset - code->file_offset >= code->end - code->start)
			continue;
		start = code->start + (offset - code->file_offset);
		r = vec_push(&frame->functions,
			     (struct memory_range){ start, start + ranges->list[i].size });
	}
	return r;
}

/* What cannot be read is as if it had no such function. */
static int search_file(struct exit_frame *frame, struct worker *worker,
		       const struct memory_code *code)
{
	_cleanup_close_ int fd = memory_open_file(frame->memory, code->start);
	struct object_ranges ranges;
	int r = fd < 0 ? fd : object_read_function(worker, fd, "exit", &ranges);

	if (r < 0)
		return r == -ENOMEM ? r : 0;
	return add_functions(frame, &ranges, code);
}

static int search_files(struct exit_frame *frame, struct worker *worker, bool libc)
{
	struct memory_code code;
	size_t index = 0;
	int r = 0;

	while (r == 0 && memory_next_any(frame->memory, &index, &code))
		if (code.executable && code.is_file && is_libc(code.path) == libc)
			r = search_file(frame, worker, &code);
	return r;
}

int exit_frame_new(const struct memory *memory, struct worker *worker,
		   struct exit_frame **ret_frame)
{
	_cleanup_(exit_frame_free_p) struct exit_frame *frame = calloc(1, sizeof(*frame));
	int r;

	if (!frame)
		return -ENOMEM;
	frame->memory = memory;
	r = search_files(frame, worker, true);
	if (r == 0 && frame->functions.len == 0)
		r = search_files(frame, worker, false);
	if (r < 0)
		return r;
	*ret_frame = TAKE_PTR(frame);
	return 0;
}

void exit_frame_free(struct exit_frame *frame)
{
	if (!frame)
		return;
	vec_done(&frame->functions);
	free(frame);
}

/* A return address lies behind a call, which may be the function's last instruction. */
static bool returns_into_exit(const struct exit_frame *frame, uint64_t word)
{
	vec_foreach(&frame->functions, it)
		if (word > it->start && word <= it->end)
			return true;
	return false;
}

uint64_t exit_frame_find(const struct exit_frame *frame, uint64_t sp, uint64_t stack_end)
{
	uint64_t left = stack_end > sp ? (stack_end - sp) / sizeof(uint64_t) : 0, start = sp;
	uint64_t words[512];

	if (left > SEARCH_BYTES / sizeof(words[0]))
		left = SEARCH_BYTES / sizeof(words[0]);
	while (left > 0) {
		size_t n = left < 512 ? left : 512;

		if (memory_read(frame->memory, start, words, n * sizeof(words[0]), NULL) < 0)
			return sp;
		for (size_t i = 0; i < n; i++)
			if (returns_into_exit(frame, words[i]))
				return start + (i + 1) * sizeof(words[0]);
		left -= n;
		start += n * sizeof(words[0]);
	}
	return sp;
}
