/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/mappings.h"

#include "base/vec.h"

#include <string.h>

size_t mappings_count(const struct mappings *mappings)
{
	return mappings->live.len + mappings->past.len;
}

void mappings_done(struct mappings *mappings)
{
	vec_done(&mappings->live);
	vec_done(&mappings->past);
}

/* Index of the first live mapping that ends above addr. */
static size_t live_above(const struct mappings *mappings, uint64_t addr)
{
	return partition_point(mappings->live.len, i, mappings->live.data[i].end <= addr);
}

/* Number of past mappings that sort at or before (start, from_ns). */
static size_t past_upto(const struct mappings *mappings, uint64_t start, uint64_t from_ns)
{
	const struct mapping *past = mappings->past.data;

	return partition_point(mappings->past.len, i,
			       past[i].start < start ||
				       (past[i].start == start && past[i].from_ns <= from_ns));
}

static int live_insert(struct mappings *mappings, size_t at, struct mapping m)
{
	int r = vec_reserve(&mappings->live, mappings->live.len + 1);

	if (r < 0)
		return r;
	memmove(&mappings->live.data[at + 1], &mappings->live.data[at],
		(mappings->live.len - at) * sizeof(m));
	mappings->live.data[at] = m;
	mappings->live.len++;
	return 0;
}

static void live_remove(struct mappings *mappings, size_t at)
{
	mappings->live.len--;
	memmove(&mappings->live.data[at], &mappings->live.data[at + 1],
		(mappings->live.len - at) * sizeof(struct mapping));
}

/* The part of m from `start` to `end`. */
static struct mapping mapping_part(const struct mapping *m, uint64_t start, uint64_t end)
{
	struct mapping part = *m;

	part.file_offset += start - m->start;
	part.start = start;
	part.end = end;
	return part;
}

static int past_add(struct mappings *mappings, struct mapping m, uint64_t time_ns)
{
	size_t at;
	int r;

	/* It never held, by its own times: the events came out of order. */
	if (time_ns <= m.from_ns)
		return 0;
	r = vec_reserve(&mappings->past, mappings->past.len + 1);
	if (r < 0)
		return r;
	m.to_ns = time_ns;
	at = past_upto(mappings, m.start, m.from_ns);
	memmove(&mappings->past.data[at + 1], &mappings->past.data[at],
		(mappings->past.len - at) * sizeof(m));
	mappings->past.data[at] = m;
	mappings->past.len++;
	if (m.end - m.start > mappings->longest_past)
		mappings->longest_past = m.end - m.start;
	return 0;
}

/* Ends live mappings in the range; what sticks out of it on either side goes on. */
static int end_range(struct mappings *mappings, uint64_t start, uint64_t end, uint64_t time_ns)
{
	size_t i = live_above(mappings, start);
	int r = 0;

	while (r == 0 && i < mappings->live.len && mappings->live.data[i].start < end) {
		struct mapping m = mappings->live.data[i];
		uint64_t from = m.start > start ? m.start : start;
		uint64_t to = m.end < end ? m.end : end;

		r = past_add(mappings, mapping_part(&m, from, to), time_ns);
		if (r < 0)
			return r;
		live_remove(mappings, i);
		if (m.start < from)
			r = live_insert(mappings, i++, mapping_part(&m, m.start, from));
		if (r == 0 && to < m.end)
			r = live_insert(mappings, i++, mapping_part(&m, to, m.end));
	}
	return r;
}

/* Whether a live mapping already says all of it. */
static bool already_there(struct mappings *mappings, const struct mapping *m)
{
	size_t i = live_above(mappings, m->start);
	struct mapping *l;

	if (i >= mappings->live.len)
		return false;
	l = &mappings->live.data[i];
	if (l->object != m->object || l->start > m->start || l->end < m->end ||
	    m->file_offset - l->file_offset != m->start - l->start)
		return false;
	if (l->start == m->start && l->end == m->end && m->from_ns < l->from_ns)
		l->from_ns = m->from_ns;
	return true;
}

static int insert_mapping(struct mappings *mappings, const struct mapping *m)
{
	int r = end_range(mappings, m->start, m->end, m->from_ns);

	if (r < 0)
		return r;
	return live_insert(mappings, live_above(mappings, m->start), *m);
}

int mappings_add(struct mappings *mappings, const struct record_mapping *record,
		 const struct model_object *object)
{
	struct mapping m = {
		.start = record->start,
		.end = record->end,
		.file_offset = record->file_offset,
		.from_ns = record->time_ns,
		.to_ns = MAPPING_HOLDS,
		.object = object,
	};

	if (m.start >= m.end || already_there(mappings, &m))
		return 0;
	return insert_mapping(mappings, &m);
}

int mappings_remove(struct mappings *mappings, uint64_t start, uint64_t end, uint64_t time_ns,
		    bool leave_hole)
{
	struct mapping hole = {
		.start = start,
		.end = end,
		.from_ns = time_ns,
		.to_ns = MAPPING_HOLDS,
	};

	if (start >= end)
		return 0;
	return leave_hole ? insert_mapping(mappings, &hole) :
			    end_range(mappings, start, end, time_ns);
}

static const struct mapping *find_past(const struct mappings *mappings, uint64_t addr,
				       uint64_t time_ns)
{
	size_t n = past_upto(mappings, addr, UINT64_MAX);

	/*
	 * By start address, downwards. Mappings of one start address follow each other in time, so
	 * only the last that began by time_ns can have held then.
	 */
	while (n > 0) {
		uint64_t start = mappings->past.data[n - 1].start;
		size_t last = past_upto(mappings, start, time_ns);

		if (addr - start >= mappings->longest_past)
			return NULL;
		n = start > 0 ? past_upto(mappings, start - 1, UINT64_MAX) : 0;
		if (last > n) {
			const struct mapping *m = &mappings->past.data[last - 1];

			if (addr < m->end && time_ns < m->to_ns)
				return m;
		}
	}
	return NULL;
}

const struct mapping *mappings_find(const struct mappings *mappings, uint64_t addr,
				    uint64_t time_ns)
{
	size_t i = live_above(mappings, addr);

	if (i < mappings->live.len) {
		const struct mapping *m = &mappings->live.data[i];

		if (m->start <= addr && m->from_ns <= time_ns)
			return m;
	}
	return find_past(mappings, addr, time_ns);
}

static bool maps_file(const struct mapping *m, const char *path, uint64_t file_offset,
		      uint64_t time_ns)
{
	return m->object && m->object->path == path && m->from_ns <= time_ns &&
	       time_ns < m->to_ns && file_offset >= m->file_offset &&
	       file_offset - m->file_offset < m->end - m->start;
}

const struct mapping *mappings_find_file(const struct mappings *mappings, const char *path,
					 uint64_t file_offset, uint64_t time_ns)
{
	vec_foreach(&mappings->live, m)
		if (maps_file(m, path, file_offset, time_ns))
			return m;
	vec_foreach(&mappings->past, m)
		if (maps_file(m, path, file_offset, time_ns))
			return m;
	return NULL;
}

/* The lower of `best` (of that path, or NULL) and m, if that is of the path, too. */
static const struct mapping *lower(const struct mapping *m, const struct mapping *best,
				   const char *path)
{
	if (!m->object || m->object->path != path || (best && best->start <= m->start))
		return best;
	return m;
}

const struct mapping *mappings_find_path(const struct mappings *mappings, const char *path)
{
	const struct mapping *best = NULL;

	vec_foreach(&mappings->live, m)
		best = lower(m, best, path);
	if (best)
		return best;
	vec_foreach(&mappings->past, m)
		best = lower(m, best, path);
	return best;
}
