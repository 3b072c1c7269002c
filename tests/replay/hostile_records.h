/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recordings by others: the payloads of a run's records, and copies of them with one field, or one
 * record, made to be what no memtraced writes. By the tables of trace/record/record_layout.c, so
 * that a new record or field is covered as soon as it is there.
 */
#ifndef MEMTRACED_TESTS_REPLAY_HOSTILE_RECORDS_H
#define MEMTRACED_TESTS_REPLAY_HOSTILE_RECORDS_H

#include "base/strbuf.h"
#include "trace/record/record.h"

/* A record as it stands in a file. */
struct payload {
	uint32_t type;
	struct strbuf bytes;
};

struct payloads {
	struct payload *list;
	size_t n;
};

/* A record_fn; `userdata` is a struct payloads. */
int payloads_add(const struct record *record, void *userdata);
void payloads_done(struct payloads *payloads);

/* What becomes of a record, or of one field of it. */
enum hostile {
	HOSTILE_NONE,	 /* a string that is absent */
	HOSTILE_ZERO,	 /* an empty string, no elements, the number 0 */
	HOSTILE_LARGE,	 /* a long string of markup and control characters; all bits set */
	HOSTILE_LIMIT,	 /* the largest signed number */
	HOSTILE_MINIMUM, /* the smallest */
	HOSTILE_OTHER,	 /* the next number: of another image, function, stack, kind */
	HOSTILE_KINDS
};

/*
 * Writes the payload with its field `at` changed, counted through the elements of lists. False:
 * there is no such field; then nothing is written. An unchanged copy where the change makes no
 * sense for the field.
 */
bool hostile_field(const struct payload *from, size_t at, enum hostile how, struct payload *to);

#endif
