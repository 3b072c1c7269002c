/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The events that were asked for: how often each happened on which stack, at the latest cut. Part
 * of the model; counts only grow, until their process is forgotten.
 */
#ifndef MEMTRACED_MODEL_EVENT_COUNTS_H
#define MEMTRACED_MODEL_EVENT_COUNTS_H

#include "base/cleanup.h"
#include "model/strings.h"
#include "trace/record/record.h"

struct model_event {
	struct record_event asked;
	const struct record_event_count *counts; /* each (slot, stack, kernel stack) once */
	size_t n_counts;
};

struct event_counts;

/* `strings` must outlive the events. */
int event_counts_new(struct strings *strings, struct event_counts **ret_events);
/* NULL is legal. */
void event_counts_free(struct event_counts *events);
DEFINE_CLEANUP(struct event_counts, event_counts_free)

/* 0, -ENOMEM, or -EPROTO for an id that was announced before. */
int event_counts_add(struct event_counts *events, const struct record_event *record);

/*
 * A cut's counts replace those of the same event and stacks when the cut ends. 0, -ENOMEM, or
 * -EPROTO for an event that was never announced.
 */
void event_counts_cut_begin(struct event_counts *events);
int event_counts_cut_count(struct event_counts *events, const struct record_event_count *record);
int event_counts_cut_end(struct event_counts *events);

/* Forgets the counts of images that are gone: their slots, sorted. */
void event_counts_forget(struct event_counts *events, const uint32_t *slots, size_t n);

size_t event_counts_count(const struct event_counts *events);
const struct model_event *event_counts_get(const struct event_counts *events, size_t index);
/* NULL for an id that was never announced. */
const struct model_event *event_counts_find(const struct event_counts *events, uint32_t id);

#endif
