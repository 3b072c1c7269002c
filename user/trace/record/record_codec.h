/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records as bytes: the payloads that docs/recording.md describes. One table of fields gives both
 * directions. Used by trace/record/recording.c; fuzzed through it.
 */
#ifndef MEMTRACED_TRACE_RECORD_RECORD_CODEC_H
#define MEMTRACED_TRACE_RECORD_RECORD_CODEC_H

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "trace/record/record.h"

struct record_decoder;

/* Appends the payload. 0, -ENOMEM, or -EINVAL for a type that is no record's. */
int record_encode(const struct record *record, struct strbuf *out);

/* `swap`: integers are in the other byte order. 0 or -ENOMEM. */
int record_decoder_new(bool swap, struct record_decoder **ret_decoder);
/* NULL is legal. */
void record_decoder_free(struct record_decoder *decoder);
DEFINE_CLEANUP(struct record_decoder, record_decoder_free)

/*
 * Decodes a payload. What the record points to is in the payload or the decoder, valid until the
 * next call. Fields that an older writer did not know are zero, those that a newer one added are
 * ignored. A string that is absent is NULL where record_layout.c says that it may be, else "".
 * 0; -ENOENT: a type that this version does not know; -EBADMSG; -ENOMEM.
 */
int record_decode(struct record_decoder *decoder, uint32_t type, const void *payload, size_t len,
		  struct record *ret_record);

#endif
