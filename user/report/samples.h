/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What formats of stacks write: the stacks of one job (view_job) with their values, one after the
 * other, and each stack's frames with those that stand for what is not known. For writers.
 */
#ifndef MEMTRACED_REPORT_SAMPLES_H
#define MEMTRACED_REPORT_SAMPLES_H

#include "base/vec.h"
#include "report/view/view.h"

struct sample {
	const struct model_process *image;
	const struct view_stack *stack;
	const struct view_site *site; /* until the call is over; NULL: the stack is an event's */
	uint64_t count;		      /* of an event's */
	uint64_t value;		      /* of an event's, as view_event_value has it */
};

/* What a sample is worth where a stack has one number (view_site_quantity); 0 for none or less. */
uint64_t sample_weight(const struct sample *sample, enum option_sort sort);

/* What such numbers are of ("Heap"), and their unit; of `event`, or of sites of `class`. */
const char *sample_what(const struct view_event *event, enum view_class class,
			enum option_sort sort);
const char *sample_unit(const struct view_event *event, enum option_sort sort);

/*
 * All that a site's stack is worth, for formats that hold several numbers: what is the heap's and
 * what is a mapping's are different numbers. An event's stack has one, how often it happened, or
 * how many nanoseconds it took.
 */
enum sample_cost {
	COST_LIVE,
	COST_LIVE_BLOCKS,
	COST_PEAK,
	COST_ALLOCATED,
	COST_ALLOCS,
	COST_TEMPORARY,
	COST_MAPPED,
	COST_REGIONS,
	COST_MAPPED_PEAK,
	COST_MAPPED_BYTES,
	COST_MAPPINGS,
	SAMPLE_COSTS
};
#define COST_TIMES 0 /* of an event's */

struct sample_cost_type {
	const char *id;	  /* one word */
	const char *name; /* for people */
	const char *unit; /* "bytes" or "none" */
};
extern const struct sample_cost_type sample_cost_types[SAMPLE_COSTS];
/* The name for people in that view: peaks of several processes are of different moments. */
const char *sample_cost_name(const struct view *view, enum sample_cost cost);
/* The word for it, where that has to be one. */
const char *sample_cost_id(const struct view *view, enum sample_cost cost);

/*
 * Are the numbers of that order peaks of several processes? These are of different moments, so that
 * their sum was never there, and what shows one says so.
 */
bool sample_peaks_differ(const struct view *view, enum option_sort sort);
#define SAMPLE_PEAKS_DIFFER "of each process at its own time"

/*
 * What a format writes of them, in their order; of an event COST_TIMES. Samples do not tell which
 * allocations were temporary: where no site of the heap knows it, it is not among them.
 */
struct sample_cost_list {
	enum sample_cost costs[SAMPLE_COSTS];
	size_t n;
};
struct sample_cost_list sample_cost_list(const struct view *view);

/* How many of the costs are set; none below 0. 0: there is nothing to say. */
size_t sample_costs(const struct sample *sample, uint64_t costs[SAMPLE_COSTS]);

/*
 * 0, or what fn returned when that is not 0. Of sites, samples_each has those of the class that is
 * shown (view_class_shown), samples_of_classes all: for sample_costs.
 */
typedef int (*sample_fn)(const struct sample *sample, void *userdata);
int samples_each(const struct view *view, sample_fn fn, void *userdata);
int samples_of_classes(const struct view *view, sample_fn fn, void *userdata);
/* Of a view of allocations, those of one process. */
int samples_of_process(const struct view_process *process, sample_fn fn, void *userdata);

/* A frame, or a mark for frames that are not known. */
struct sample_frame {
	struct view_frame frame; /* not of a mark */
	const char *mark;	 /* "[truncated]" or "[stack-lost]"; NULL: a frame */
	bool is_kernel;
};

struct sample_frames {
	VEC(struct sample_frame) list; /* innermost first */
};

/* The frames of the stack instead of those that were there. 0 or -ENOMEM. */
int sample_frames_fill(struct sample_frames *frames, const struct view_stack *stack);
void sample_frames_done(struct sample_frames *frames);
/* Of what fills them: the frame that the stack is named by (view_stack_name). */
size_t sample_frames_name_index(const struct view_stack *stack);
/* How many from `index` on are one place: a function with those that are inlined there. */
size_t sample_frames_of_place(const struct sample_frames *frames, size_t index);

/* view_frame_name, or the mark. */
void sample_frame_name(const struct sample_frame *frame, struct strbuf *out);

#endif
