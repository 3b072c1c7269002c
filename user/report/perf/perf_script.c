/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text like that of `perf script`. Of the heap, or of mappings, one event per site that holds
 * something, its live bytes as the period; of an event, its stacks. As FORMATS.md section 1 says,
 * whose traps are why names are changed here. Addresses are the objects' own, so that frames of
 * different runs are the same and addr2line takes them.
 */
#include "report/perf/perf_script.h"

#include "base/hashmap.h"
#include "report/samples.h"
#include "report/text/text.h"
#include "report/view/view_resolve.h"
#include "report/writers.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* At least two characters; it must not begin with a space or a comment's '#'. */
static void add_comm(struct strbuf *out, const char *comm)
{
	static const struct text_swap swaps[] = { { '#', '_' } };
	_cleanup_strbuf_ struct strbuf trimmed = { 0 };
	size_t len, before = out->len;

	comm += strspn(comm, " \t\n\v\f\r");
	len = strlen(comm);
	while (len > 0 && strchr(" \t\n\v\f\r", comm[len - 1]))
		len--;
	strbuf_add(&trimmed, comm, len);
	text_word(out, strbuf_str(&trimmed), swaps, 1);
	while (out->len < before + 2 && strbuf_error(out) == 0)
		strbuf_addch(out, '_');
	strbuf_pass_error(out, &trimmed);
}

/*
 * A symbol may hold spaces, but a leading "(" loses its frame in the collapsers, ";" is their
 * separator and "->" theirs for inlined frames.
 */
static void add_symbol(struct strbuf *out, const char *function)
{
	static const char anonymous[] = "(anonymous namespace)";
	_cleanup_strbuf_ struct strbuf clean = { 0 };
	const char *s;

	if (strncmp(function, anonymous, sizeof(anonymous) - 1) == 0) {
		strbuf_adds(&clean, "{anonymous}");
		function += sizeof(anonymous) - 1;
	}
	escape_text(&clean, function);
	for (s = strbuf_str(&clean); *s == ' '; s++)
		;
	if (*s == '(') {
		strbuf_addch(out, '{');
		s++;
	}
	for (; *s; s++)
		strbuf_addch(out, *s == ';' ? ':' : *s == '-' && s[1] == '>' ? '=' : *s);
	strbuf_pass_error(out, &clean);
}

static void add_dso(struct strbuf *out, const struct view_frame *frame)
{
	_cleanup_strbuf_ struct strbuf path = { 0 };
	const char *object = frame->place->object;

	if (frame->is_inline) {
		strbuf_adds(out, "inlined");
		return;
	}
	if (!object) {
		strbuf_adds(out, "[unknown]");
		return;
	}
	strbuf_add(&path, object, text_path_length(object));
	if (path.len == 0 || strcmp(strbuf_str(&path), "//anon") == 0)
		strbuf_adds(out, "[anon]");
	else
		text_word(out, strbuf_str(&path), NULL, 0);
	strbuf_pass_error(out, &path);
}

static void add_frame(struct strbuf *out, const struct view_frame *frame)
{
	strbuf_addf(out, "\t%16" PRIx64 " ", frame->place->vaddr);
	if (frame->function && *frame->function) {
		add_symbol(out, frame->function);
		if (!frame->is_inline)
			strbuf_addf(out, "+0x%" PRIx64, frame->offset);
	} else {
		strbuf_adds(out, "[unknown]");
	}
	strbuf_adds(out, " (");
	add_dso(out, frame);
	strbuf_adds(out, ")\n");
}

/* Without its category: no colon, where one client would cut it. */
static void add_event_name(struct strbuf *out, const char *name)
{
	const char *colon = strrchr(name, ':');
	size_t before = out->len;

	text_word(out, colon ? colon + 1 : name, NULL, 0);
	if (out->len == before)
		strbuf_adds(out, "event");
}

/* What is not known is a frame, too: a reader cannot tell a stack's end from its loss. */
static void add_lost(struct strbuf *out)
{
	strbuf_adds(out, "\t               0 [stack-lost] ([unknown])\n");
}

/* The lines of the frames, at least one, and the empty line that ends an event. */
static void add_stack(struct strbuf *out, const struct view_stack *stack)
{
	struct view_frames it = { .stack = stack };
	struct view_frame frame;

	if (stack->kernel_lost)
		add_lost(out);
	while (view_frames_next(&it, &frame))
		add_frame(out, &frame);
	if (stack->lost)
		add_lost(out);
	/* An event without frames is dropped or miscounted. */
	else if (stack->n_places == 0 && !stack->kernel_lost)
		strbuf_adds(out, "\t               0 [unknown] ([unknown])\n");
	strbuf_addch(out, '\n');
}

/* The events of a stack that are still to come. */
struct lane {
	const struct view_event_stack *from;
	uint64_t count, n_done;
	uint64_t time_ns; /* of the next one */
	char *head;	  /* "comm pid/tid [cpu] " */
	char *stack;	  /* its frames and the empty line */
};

/* Lanes by their next time, a binary heap. */
struct lanes {
	uint64_t per_line; /* events that a line stands for, but for the last of a stack */
	struct lane *lanes;
	size_t n_all, n;
	struct lane **heap;
};

static bool comes_before(const struct lane *a, const struct lane *b)
{
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns;
	return a < b;
}

static void sift_down(struct lanes *lanes, size_t i)
{
	struct lane *lane = lanes->heap[i];
	size_t child;

	while ((child = 2 * i + 1) < lanes->n) {
		if (child + 1 < lanes->n &&
		    comes_before(lanes->heap[child + 1], lanes->heap[child]))
			child++;
		if (!comes_before(lanes->heap[child], lane))
			break;
		lanes->heap[i] = lanes->heap[child];
		i = child;
	}
	lanes->heap[i] = lane;
}

/*
 * Clients ignore periods: so samples that stand for differently many are written as lines that
 * stand for equally many.
 */
static uint64_t events_of(const struct view_event *event, const struct view_event_stack *stack)
{
	return event->asked->adapts ? stack->weight : stack->count;
}

/* How many events a line stands for when there shall be `most` lines, or one more for a stack. */
static uint64_t events_per_line(const struct view_event *event, uint64_t most)
{
	unsigned __int128 total = 0;

	for (size_t i = 0; i < event->n_stacks; i++)
		total += events_of(event, &event->stacks[i]);
	/* As many lines as there were samples, more or less, each of as many events. */
	if (event->asked->adapts && event->count < most)
		most = event->count ? event->count : 1;
	total = (total + most - 1) / most;
	return total > UINT64_MAX ? UINT64_MAX : total < 1 ? 1 : (uint64_t)total;
}

/* Even steps; the last one is where the stack was last seen. */
static uint64_t time_of(const struct lane *lane, uint64_t index)
{
	const struct view_event_stack *stack = lane->from;
	uint64_t span = stack->last_ns > stack->first_ns ? stack->last_ns - stack->first_ns : 0;

	if (lane->count < 2)
		return stack->first_ns;
	return stack->first_ns + (uint64_t)((unsigned __int128)span * index / (lane->count - 1));
}

/* The text, given away; NULL when there was no memory. */
static char *move_text(struct strbuf *text)
{
	char *taken = strbuf_error(text) < 0 ? NULL : strdup(strbuf_str(text));

	strbuf_reset(text);
	return taken;
}

static int lane_init(struct lane *lane, const struct view_event *event,
		     const struct view_event_stack *from)
{
	_cleanup_strbuf_ struct strbuf text = { 0 };
	uint32_t pid = from->image->pid;

	lane->from = from;
	lane->count = events_of(event, from);
	lane->time_ns = time_of(lane, 0);
	add_comm(&text, from->image->comm);
	strbuf_addf(&text, " %" PRIu32 "/%" PRIu32 " [000] ", pid, pid);
	lane->head = move_text(&text);
	add_stack(&text, &from->stack);
	lane->stack = move_text(&text);
	return lane->head && lane->stack ? 0 : -ENOMEM;
}

static int lanes_init(struct lanes *lanes, const struct view_event *event)
{
	int r = 0;

	lanes->lanes = calloc(event->n_stacks + 1, sizeof(lanes->lanes[0]));
	lanes->heap = calloc(event->n_stacks + 1, sizeof(struct lane *));
	if (!lanes->lanes || !lanes->heap)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < event->n_stacks; i++) {
		if (event->stacks[i].count == 0)
			continue;
		r = lane_init(&lanes->lanes[lanes->n_all++], event, &event->stacks[i]);
		lanes->heap[lanes->n++] = &lanes->lanes[lanes->n_all - 1];
	}
	for (size_t i = lanes->n / 2; r == 0 && i > 0; i--)
		sift_down(lanes, i - 1);
	return r;
}

static void lanes_done(struct lanes *lanes)
{
	for (size_t i = 0; i < lanes->n_all; i++) {
		free(lanes->lanes[i].head);
		free(lanes->lanes[i].stack);
	}
	free(lanes->lanes);
	free(lanes->heap);
}

static void write_lanes(struct lanes *lanes, const char *name, FILE *file)
{
	while (lanes->n > 0 && !ferror(file)) {
		struct lane *lane = lanes->heap[0];
		uint64_t t = lane->time_ns, left = lane->count - lane->n_done;
		uint64_t period = left < lanes->per_line ? left : lanes->per_line;

		fputs(lane->head, file);
		fprintf(file, "%5" PRIu64 ".%09" PRIu64 ": %" PRIu64 " %s: \n", t / 1000000000,
			t % 1000000000, period, name);
		fputs(lane->stack, file);
		lane->n_done += period;
		if (period == left)
			lanes->heap[0] = lanes->heap[--lanes->n];
		else
			lane->time_ns = time_of(lane, lane->n_done);
		if (lanes->n > 0)
			sift_down(lanes, 0);
	}
}

/*
 * As many events as there were, since half of the clients ignore the period. Their times lie evenly
 * between the first and the last of their stack; all together ascend, because one client refuses a
 * file in which a thread's time goes back. Memory goes with the stacks, not with their counts. Of
 * more than `most` events (at least 1) each line stands for several, which its period says: counts
 * may be any, and the file must end. 0, -ENOMEM, or -EIO.
 */
static int put_events(const struct view_event *event, uint64_t most, FILE *file)
{
	_cleanup_strbuf_ struct strbuf name = { 0 };
	_cleanup_(lanes_done) struct lanes lanes = { 0 };
	int r = lanes_init(&lanes, event);

	lanes.per_line = events_per_line(event, most);
	add_event_name(&name, event->asked->name);
	if (r == 0)
		r = strbuf_error(&name);
	if (r == 0)
		write_lanes(&lanes, strbuf_str(&name), file);
	if (r == 0 && ferror(file))
		r = -EIO;
	return r;
}

/* No colon: one client would cut the name there. */
static const char *event_name(const struct view *view)
{
	return view_class_shown(view) == VIEW_MMAP ? "memtraced-mapped-bytes" :
						     "memtraced-live-bytes";
}

/* Times are microseconds apart: a thread's events must not go back in time. */
static void add_header(struct strbuf *out, const struct model_process *image, uint64_t time_ns,
		       int64_t period, const char *name)
{
	uint64_t us = time_ns / 1000;

	add_comm(out, image->comm);
	strbuf_addf(out,
		    " %" PRIu32 "/%" PRIu32 " [000] %5" PRIu64 ".%06" PRIu64 ": %10" PRId64
		    " %s: \n",
		    image->pid, image->pid, us / 1000000, us % 1000000, period, name);
}

struct sites {
	const struct view *view;
	FILE *file;
	uint64_t time_ns;
	struct strbuf text;
};

static int put_site(const struct sample *sample, void *userdata)
{
	struct sites *sites = userdata;

	if (sample->site->live_bytes <= 0)
		return 0;
	strbuf_reset(&sites->text);
	add_header(&sites->text, sample->image, sites->time_ns, sample->site->live_bytes,
		   event_name(sites->view));
	add_stack(&sites->text, sample->stack);
	sites->time_ns += 1000;
	if (strbuf_error(&sites->text) < 0)
		return strbuf_error(&sites->text);
	fwrite(strbuf_str(&sites->text), 1, sites->text.len, sites->file);
	return 0;
}

/* One line of comment: what the events are. */
static void add_comment(struct strbuf *out, const struct view *view, const char *what)
{
	const struct record_run *run = model_run(view_model(view));

	strbuf_adds(out, "# ");
	escape_text(out, run && run->tool ? run->tool : "memtraced");
	strbuf_addf(out, ": %s\n", what);
}

/* A line each up to here, which makes some 10 GB. */
#define MOST_EVENTS 50000000

static int write_events(const struct view *view, const struct view_event *event, FILE *file)
{
	_cleanup_strbuf_ struct strbuf text = { 0 };
	uint64_t most = view_opts(view)->most_calls;

	add_comment(&text, view,
		    "times are not the events' own: spread from a stack's first to its last");
	if (!view_lost_nothing(view))
		add_comment(&text, view, "NOT EXACT: there may have been more events");
	if (strbuf_error(&text) < 0)
		return strbuf_error(&text);
	fwrite(strbuf_str(&text), 1, text.len, file);
	return put_events(event, most ? most : MOST_EVENTS, file);
}

static int write_sites(const struct view *view, FILE *file)
{
	struct sites sites = { .view = view, .file = file, .time_ns = view_now_ns(view) };
	int r;

	add_comment(&sites.text, view,
		    view_class_shown(view) == VIEW_MMAP ?
			    "one event per site of mappings, its mapped bytes as the period; "
			    "not of the heap" :
			    "one event per site of the heap, its live bytes as the period; "
			    "not of mappings");
	r = strbuf_error(&sites.text);
	if (r == 0)
		fwrite(strbuf_str(&sites.text), 1, sites.text.len, file);
	if (r == 0)
		r = samples_each(view, put_site, &sites);
	strbuf_done(&sites.text);
	return r == 0 && ferror(file) ? -EIO : r;
}

int perf_script_write(const struct view *view, FILE *file)
{
	const struct view_event *event;

	if (!view_job(view, &event))
		return 0;
	return event ? write_events(view, event, file) : write_sites(view, file);
}

/* --- events as they happen -------------------------------------------------------------------- */

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
	add_event_name(&stream->name, event ? event->asked.name : "");
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
		add_stack(&stream->stack, &stack);
	if (r == 0)
		r = strbuf_error(&stream->stack);
	if (r == 0 && !stack.lost && !stack.kernel_lost)
		r = cache_text(stream, key);
	view_stack_done(&stack);
	return r;
}

static void add_occurrence_head(struct perf_script_stream *stream,
				const struct model_process *image,
				const struct record_occurrence *occurrence)
{
	uint64_t t = occurrence->time_ns;

	strbuf_reset(&stream->line);
	add_comm(&stream->line, occurrence->comm ? occurrence->comm : image->comm);
	strbuf_addf(&stream->line,
		    " %" PRIu32 "/%" PRIu32 " [%03" PRIu32 "] %5" PRIu64 ".%09" PRIu64 ": %" PRIu64
		    " %s: \n",
		    image->known ? image->pid : occurrence->tid, occurrence->tid, occurrence->cpu,
		    t / 1000000000, t % 1000000000, occurrence->weight ? occurrence->weight : 1,
		    strbuf_str(&stream->name));
}

int perf_script_stream_add(struct perf_script_stream *stream,
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
	add_occurrence_head(stream, image, occurrence);
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
