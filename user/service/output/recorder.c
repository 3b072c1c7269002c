/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/output/recorder.h"

#include "base/log.h"
#include "base/outfile.h"
#include "base/vec.h"
#include "report/view/symbols.h"
#include "trace/record/recording.h"

#include <errno.h>
#include <string.h>

#define FLUSH_NS 1000000000ULL

/* A stack whose places were not looked up so far; `fn` 0: without an allocator's function. */
struct fresh_stack {
	uint64_t id;
	image_t image;
	uint16_t fn;
};

struct recorder {
	struct outfile *file;
	struct recording_writer *writer;
	char *path;
	uint64_t flushed_ns;
	int failed; /* the first write that did: the recording ends there */
	VEC(struct fresh_stack) fresh;
	VEC(bool) functions; /* by id: it was looked up */
};

int recorder_new(const char *path, uid_t uid, gid_t gid, struct recorder **ret_recorder)
{
	_cleanup_(recorder_free_p) struct recorder *recorder = calloc(1, sizeof(*recorder));
	int r;

	if (!recorder)
		return -ENOMEM;
	recorder->path = strdup(path);
	r = recorder->path ? outfile_new(path, uid, gid, &recorder->file) : -ENOMEM;
	if (r == 0)
		r = recording_writer_new(outfile_stream(recorder->file), &recorder->writer);
	if (r)
		return r;
	recording_pack(recorder->writer);
	*ret_recorder = TAKE_PTR(recorder);
	return 0;
}

void recorder_free(struct recorder *recorder)
{
	if (!recorder)
		return;
	recording_writer_free(recorder->writer);
	outfile_free(recorder->file);
	vec_done(&recorder->fresh);
	vec_done(&recorder->functions);
	free(recorder->path);
	free(recorder);
}

/* What stdio calls an error of the stream has its true name in the outfile. 0 or -ENOMEM. */
static int end_on_error(struct recorder *recorder, int r)
{
	if (r == 0 || r == -ENOMEM)
		return r;
	if (r == -EIO)
		r = outfile_flush(recorder->file);
	recorder->failed = r < 0 ? r : -EIO;
	log_error("cannot write %s: %s: the recording ends here, tracing goes on", recorder->path,
		  strerror(-recorder->failed));
	return 0;
}

static int note_function(struct recorder *recorder, uint16_t fn, image_t image, uint64_t stack)
{
	int r = fn ? vec_reserve(&recorder->functions, (size_t)fn + 1) : 0;

	if (r < 0 || fn == 0)
		return r;
	while (recorder->functions.len <= fn)
		recorder->functions.data[recorder->functions.len++] = false;
	if (recorder->functions.data[fn])
		return 0;
	recorder->functions.data[fn] = true;
	return vec_push(&recorder->fresh, (struct fresh_stack){ stack, image, fn });
}

/* What is to be looked up while the files of the process are there. */
static int note_places(struct recorder *recorder, const struct record *record)
{
	const struct record_stack *stack = &record->stack;

	switch (record->type) {
	case RECORD_STACK:
		return vec_push(&recorder->fresh,
				(struct fresh_stack){ .id = stack->id, .image = stack->image });
	case RECORD_SITE:
		return note_function(recorder, record->site.fn, record->site.image,
				     record->site.stack);
	case RECORD_REGION:
		return note_function(recorder, record->region.fn, record->region.image,
				     record->region.stack);
	default:
		return 0;
	}
}

int recorder_add(const struct record *record, void *userdata)
{
	struct recorder *recorder = userdata;
	int r;

	if (!recorder || recorder->failed)
		return 0;
	r = end_on_error(recorder, recording_write(record, recorder->writer));
	return r ? r : note_places(recorder, record);
}

static int look_up_stack(const struct view_resolver *resolver, const struct fresh_stack *fresh)
{
	const struct model_process *image = view_resolve_process(resolver, fresh->image);
	struct view_stack stack;
	int r;

	if (fresh->fn)
		r = view_resolve_site(resolver, image, fresh->fn, fresh->id, &stack);
	else if (image_is_none(fresh->image))
		r = view_resolve_event(resolver, image, 0, fresh->id, &stack);
	else
		r = view_resolve_event(resolver, image, fresh->id, 0, &stack);
	view_stack_done(&stack);
	return r;
}

static int write_symbols(struct recorder *recorder, struct symbols *symbols)
{
	int r = symbols_settle(symbols);

	if (r < 0)
		return r;
	r = symbols_each_new(symbols, recording_write, recorder->writer);
	return end_on_error(recorder, r);
}

/* However many there are: what was written is forgotten where there is no room for all. */
static int add_symbols(struct recorder *recorder, const struct view_resolver *resolver)
{
	int r = 0;

	for (size_t i = 0; r == 0 && !recorder->failed && i < recorder->fresh.len; i++) {
		r = look_up_stack(resolver, &recorder->fresh.data[i]);
		if (r < 0 || !symbols_has_many(resolver->symbols))
			continue;
		r = write_symbols(recorder, resolver->symbols);
		if (r == 0)
			r = symbols_age(resolver->symbols);
	}
	recorder->fresh.len = 0;
	return r < 0 || recorder->failed ? r : write_symbols(recorder, resolver->symbols);
}

int recorder_checkpoint(struct recorder *recorder, const struct view_resolver *resolver,
			bool with_symbols)
{
	int r = 0;

	if (!recorder->failed && with_symbols)
		r = add_symbols(recorder, resolver);
	if (r == 0 && !recorder->failed)
		r = end_on_error(recorder, recording_flush(recorder->writer));
	if (r < 0 || recorder->failed)
		return r;
	return end_on_error(recorder, outfile_publish(recorder->file));
}

int recorder_flush(struct recorder *recorder, uint64_t now_ns)
{
	int r;

	if (recorder->failed || now_ns < recorder->flushed_ns + FLUSH_NS)
		return 0;
	recorder->flushed_ns = now_ns;
	r = recording_flush(recorder->writer);
	return end_on_error(recorder, r ? r : outfile_flush(recorder->file));
}

uint64_t recorder_written(const struct recorder *recorder)
{
	return recording_written(recorder->writer);
}

int recorder_finish(struct recorder *recorder, struct symbols *symbols)
{
	int r;

	/* -EPIPE would be standard output's */
	if (recorder->failed)
		return -EIO;
	r = symbols_each_new(symbols, recording_write, recorder->writer);
	if (r == 0)
		r = recording_end(recorder->writer);
	if (r == -EIO && outfile_flush(recorder->file) < 0)
		r = outfile_flush(recorder->file);
	if (r == 0)
		r = outfile_commit(recorder->file);
	if (r)
		log_error("cannot write %s: %s", recorder->path, strerror(-r));
	return r == -EPIPE ? -EIO : r;
}
