/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records as bytes: the payloads that docs/recording.md describes, by the tables of
 * record_layout.c (base/codec.h). Used by trace/record/recording.c; fuzzed through it.
 */
#ifndef MEMTRACED_TRACE_RECORD_RECORD_CODEC_H
#define MEMTRACED_TRACE_RECORD_RECORD_CODEC_H

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "trace/record/record.h"

struct layout;

/* What a record of that type holds beside the type. NULL: no such type. */
const struct layout *record_layout_find(uint32_t type);

/* Appends the payload. 0, -ENOMEM, or -EINVAL for a type that is no record's. */
int record_encode(const struct record *record, struct strbuf *out);

/*
 * Decodes a payload; `swap`: integers are in the other byte order. Strings are the payload's, lists
 * are for record_done(). Fields that an older writer did not know are zero, those that a newer one
 * added are ignored. A string that is absent is NULL where record_layout.c says that it may be,
 * else "". 0; -ENOENT: a type that this version does not know; -EBADMSG; -ENOMEM.
 */
int record_decode(bool swap, uint32_t type, const void *payload, size_t len,
		  struct record *ret_record);
/* Of a record that was decoded, or is all zero. */
void record_done(struct record *record);

#endif
