/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/perf/perf_script_events.h"

#include "report/perf/perf_script_text.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

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
static char *take_text(struct strbuf *text)
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
	perf_text_comm(&text, from->image->comm);
	strbuf_addf(&text, " %" PRIu32 "/%" PRIu32 " [000] ", pid, pid);
	lane->head = take_text(&text);
	perf_text_stack(&text, &from->stack);
	lane->stack = take_text(&text);
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

int perf_script_events(const struct view_event *event, uint64_t most, FILE *file)
{
	_cleanup_strbuf_ struct strbuf name = { 0 };
	_cleanup_(lanes_done) struct lanes lanes = { 0 };
	int r = lanes_init(&lanes, event);

	lanes.per_line = events_per_line(event, most);
	perf_text_event(&name, event->asked->name);
	if (r == 0)
		r = strbuf_error(&name);
	if (r == 0)
		write_lanes(&lanes, strbuf_str(&name), file);
	if (r == 0 && ferror(file))
		r = -EIO;
	return r;
}
