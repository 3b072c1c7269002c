/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/event_counts.h"

#include "trace/record/image.h"

#include <errno.h>

/* Where the counts of an event and its stacks are: an index into event.counts. */
struct place {
	struct record_event_count key;
	size_t index;
};

DEFINE_HASHMAP_OPS(place_ops, struct place, free, key.stack, key.kernel_stack, key.id, key.image.n);

void event_counts_init(struct event_counts *ret_events, struct strings *strings)
{
	*ret_events = (struct event_counts){ .strings = strings, .places.ops = &place_ops };
}

void event_counts_done(struct event_counts *events)
{
	vec_foreach(&events->list, it) {
		vec_done(&(*it)->counts);
		free(*it);
	}
	vec_done(&events->list);
	vec_done(&events->next);
	hashmap_done(&events->places);
}

static struct model_event *find_event(const struct event_counts *events, uint32_t id)
{
	vec_foreach(&events->list, it)
		if ((*it)->asked.id == id)
			return *it;
	return NULL;
}

int event_counts_add(struct event_counts *events, const struct record_event *record)
{
	_cleanup_free_ struct model_event *event = calloc(1, sizeof(*event));
	int r;

	if (!event)
		return -ENOMEM;
	if (find_event(events, record->id))
		return -EPROTO;
	event->asked = *record;
	r = strings_intern(events->strings, record->name ? record->name : "", &event->asked.name);
	if (r == 0)
		r = vec_push(&events->list, event);
	if (r == 0)
		TAKE_PTR(event);
	return r;
}

void event_counts_cut_begin(struct event_counts *events)
{
	events->next.len = 0;
}

int event_counts_cut_count(struct event_counts *events, const struct record_event_count *record)
{
	if (!find_event(events, record->id))
		return -EPROTO;
	return vec_push(&events->next, *record);
}

/* A count that is new gets its place. */
static int append(struct event_counts *events, struct model_event *event,
		  const struct record_event_count *count)
{
	const struct place place = { *count, event->counts.len };

	if (vec_push(&event->counts, *count) < 0 ||
	    !hashmap_intern(&events->places, &place, sizeof(place), NULL))
		return -ENOMEM;
	return 0;
}

int event_counts_cut_end(struct event_counts *events)
{
	int r = 0;

	for (size_t i = 0; i < events->next.len && r == 0; i++) {
		const struct place key = { .key = events->next.data[i] };
		const struct place *place = hashmap_find(&events->places, &key);
		struct model_event *event = find_event(events, key.key.id);

		if (place)
			event->counts.data[place->index] = key.key;
		else
			r = append(events, event, &key.key);
	}
	events->next.len = 0;
	return r;
}

void event_counts_forget(struct event_counts *events, const image_t *images, size_t n)
{
	vec_foreach(&events->list, it) {
		struct model_event *event = *it;
		size_t kept = 0;

		for (size_t i = 0; i < event->counts.len; i++) {
			const struct place key = { .key = event->counts.data[i] };

			if (image_list_has(images, n, key.key.image)) {
				free(hashmap_remove(&events->places, &key));
				continue;
			}
			((struct place *)hashmap_find(&events->places, &key))->index = kept;
			event->counts.data[kept++] = key.key;
		}
		event->counts.len = kept;
	}
}

const struct model_event *event_counts_find(const struct event_counts *events, uint32_t id)
{
	return find_event(events, id);
}
