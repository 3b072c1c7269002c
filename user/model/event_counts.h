/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The events that were asked for: how often each happened on which stack, at the latest cut. Part
 * of the model; counts only grow, until their process is forgotten.
 */
#ifndef MEMTRACED_MODEL_EVENT_COUNTS_H
#define MEMTRACED_MODEL_EVENT_COUNTS_H

#include "base/hashmap.h"
#include "base/vec.h"
#include "model/strings.h"
#include "trace/record/record.h"

struct model_event {
	struct record_event asked;
	VEC(struct record_event_count) counts; /* each (image, stack, kernel stack) once */
};

struct event_counts {
	struct strings *strings;
	VEC(struct model_event *) list;	     /* in the order of their announcement */
	struct hashmap places;		     /* of the counts, by what they are told by */
	VEC(struct record_event_count) next; /* of the cut that is being read */
};

/* `strings` must outlive the events. */
void event_counts_init(struct event_counts *ret_events, struct strings *strings);
void event_counts_done(struct event_counts *events);

/* 0, -ENOMEM, or -EPROTO for an id that was announced before. */
int event_counts_add(struct event_counts *events, const struct record_event *record);

/*
 * A cut's counts replace those of the same event and stacks when the cut ends. 0, -ENOMEM, or
 * -EPROTO for an event that was never announced.
 */
void event_counts_cut_begin(struct event_counts *events);
int event_counts_cut_count(struct event_counts *events, const struct record_event_count *record);
int event_counts_cut_end(struct event_counts *events);

/* Forgets the counts of images that are gone; `images` is sorted. */
void event_counts_forget(struct event_counts *events, const image_t *images, size_t n);

/* NULL for an id that was never announced. */
const struct model_event *event_counts_find(const struct event_counts *events, uint32_t id);

#endif
