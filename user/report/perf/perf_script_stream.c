/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/perf/perf_script_stream.h"

#include "base/hashmap.h"
#include "report/perf/perf_script.h"
#include "report/view/view_resolve.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* The text of the stacks of a process. */
struct cached {
	image_t image;
	uint64_t stack, kernel_stack;
	size_t len;
	char *text;
};

struct perf_script_stream {
	struct view_resolver resolver;
	uint32_t event_id;
	FILE *file;
	struct strbuf name; /* of the event, as it is printed */
	struct strbuf line, stack;
	struct hashmap cache;
};

static void cached_free(void *item)
{
	free(((struct cached *)item)->text);
	free(item);
}

DEFINE_HASHMAP_OPS(cached_ops, struct cached, cached_free, stack, kernel_stack, image.n);

int perf_script_stream_new(const struct model *model, struct symbols *symbols, uint32_t event_id,
			   FILE *file, struct perf_script_stream **ret_stream)
{
	_cleanup_(perf_script_stream_free_p) struct perf_script_stream *stream =
		calloc(1, sizeof(*stream));
	const struct model_event *event = event_counts_find(model_events(model), event_id);
	int r;

	if (!stream)
		return -ENOMEM;
	stream->resolver = (struct view_resolver){ model, symbols };
	stream->event_id = event_id;
	stream->file = file;
	perf_text_event(&stream->name, event ? event->asked.name : "");
	r = strbuf_error(&stream->name);
	stream->cache.ops = &cached_ops;
	if (r < 0)
		return r;
	*ret_stream = TAKE_PTR(stream);
	return 0;
}

void perf_script_stream_free(struct perf_script_stream *stream)
{
	if (!stream)
		return;
	hashmap_done(&stream->cache);
	strbuf_done(&stream->name);
	strbuf_done(&stream->line);
	strbuf_done(&stream->stack);
	free(stream);
}

/* Keeps the text that was just made. */
static int cache_text(struct perf_script_stream *stream, const struct cached *key)
{
	struct cached *cached = malloc(sizeof(*cached));
	int r;

	if (!cached)
		return -ENOMEM;
	*cached = *key;
	cached->len = stream->stack.len;
	cached->text = strdup(strbuf_str(&stream->stack));
	r = cached->text ? hashmap_insert(&stream->cache, cached) : -ENOMEM;
	if (r < 0)
		cached_free(cached);
	return r;
}

/* Makes stream->stack. One that was lost may come yet: it is not kept. */
static int resolve_text(struct perf_script_stream *stream, const struct model_process *image,
			const struct cached *key)
{
	struct view_stack stack;
	int r = view_resolve_event(&stream->resolver, image, key->stack, key->kernel_stack, &stack);

	strbuf_reset(&stream->stack);
	if (r == 0)
		r = symbols_settle(stream->resolver.symbols);
	if (r == 0)
		perf_text_stack(&stream->stack, &stack);
	if (r == 0)
		r = strbuf_error(&stream->stack);
	if (r == 0 && !stack.lost && !stack.kernel_lost)
		r = cache_text(stream, key);
	view_stack_done(&stack);
	return r;
}

static void add_header(struct perf_script_stream *stream, const struct model_process *image,
		       const struct record_occurrence *occurrence)
{
	uint64_t t = occurrence->time_ns;

	strbuf_reset(&stream->line);
	perf_text_comm(&stream->line, occurrence->comm ? occurrence->comm : image->comm);
	strbuf_addf(&stream->line,
		    " %" PRIu32 "/%" PRIu32 " [%03" PRIu32 "] %5" PRIu64 ".%09" PRIu64 ": %" PRIu64
		    " %s: \n",
		    image->known ? image->pid : occurrence->tid, occurrence->tid, occurrence->cpu,
		    t / 1000000000, t % 1000000000, occurrence->weight ? occurrence->weight : 1,
		    strbuf_str(&stream->name));
}

int perf_script_stream_take(struct perf_script_stream *stream,
			    const struct record_occurrence *occurrence)
{
	const struct cached key = {
		.image = occurrence->image,
		.stack = occurrence->stack,
		.kernel_stack = occurrence->kernel_stack,
	};
	const struct model_process *image;
	const struct cached *known;
	int r = 0;

	if (occurrence->id != stream->event_id)
		return 0;
	image = view_resolve_process(&stream->resolver, occurrence->image);
	add_header(stream, image, occurrence);
	known = hashmap_find(&stream->cache, &key);
	if (!known)
		r = resolve_text(stream, image, &key);
	if (r == 0)
		r = strbuf_error(&stream->line);
	if (r < 0)
		return r;
	fwrite(strbuf_str(&stream->line), 1, stream->line.len, stream->file);
	if (known)
		fwrite(known->text, 1, known->len, stream->file);
	else
		fwrite(strbuf_str(&stream->stack), 1, stream->stack.len, stream->file);
	return ferror(stream->file) ? -EIO : 0;
}
