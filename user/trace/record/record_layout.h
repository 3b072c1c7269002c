/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What each record is made of, as tables that encoding and decoding (record_codec.h) share.
 * docs/recording.md says the same for readers.
 */
#ifndef MEMTRACED_TRACE_RECORD_RECORD_LAYOUT_H
#define MEMTRACED_TRACE_RECORD_RECORD_LAYOUT_H

#include "trace/record/record.h"

enum field_kind {
	FIELD_U8 = 1,
	FIELD_BOOL,
	FIELD_U16,
	FIELD_U32,	       /* also int and enum */
	FIELD_U64,	       /* also int64_t */
	FIELD_STRING,	       /* never NULL where it is read: what is absent in a file is "" */
	FIELD_OPTIONAL_STRING, /* may be NULL: what that means stands beside the member */
	FIELD_BYTES_20,	       /* RECORD_BUILD_ID_MAX bytes as they are */
	FIELD_FIRST_LIST,
	FIELD_ADDRESSES = FIELD_FIRST_LIST,
	FIELD_LOSSES,
	FIELD_FRAMES,
	FIELD_BUCKETS,
	FIELD_ERRNOS,
	FIELD_JIT_LINES,
	FIELD_LEAK_SUMS,
	FIELD_LEAK_PLACES,
	FIELD_LINKAGES,
	FIELD_KINDS
};
#define FIELD_LISTS (FIELD_KINDS - FIELD_FIRST_LIST)
/* A record has no more lists than this, and elements of lists have none. */
#define RECORD_LISTS 4

struct field {
	uint16_t offset; /* in the struct; of the pointer, for lists */
	uint16_t count;	 /* lists: where their number of elements is */
	uint8_t kind;	 /* 0: behind the last field */
};

struct record_layout {
	size_t offset; /* of the member in struct record */
	const struct field *fields;
};

/* What the elements of a list are made of. */
struct list_kind {
	size_t size;	 /* of the struct */
	size_t min_size; /* fewest bytes when encoded */
	const struct field *fields;
};

/* NULL: no such type. */
const struct record_layout *record_layout_find(uint32_t type);

/* `kind`: FIELD_FIRST_LIST or above. */
const struct list_kind *record_list_kind(enum field_kind kind);

#endif
