/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/record/record_codec.h"

#include "base/codec.h"

#include <errno.h>
#include <string.h>

/* All members of the union are there. */
#define PAYLOAD offsetof(struct record, run)

int record_encode(const struct record *record, struct strbuf *out)
{
	const struct layout *layout = record_layout_find(record->type);

	if (!layout)
		return -EINVAL;
	codec_write(out, layout, (const char *)record + PAYLOAD, NULL);
	return strbuf_error(out);
}

int record_decode(bool swap, uint32_t type, const void *payload, size_t len,
		  struct record *ret_record)
{
	const struct layout *layout = record_layout_find(type);
	const char *at = len > 0 ? payload : "";
	struct decoder decoder = { .at = at, .end = at + len, .is_lenient = true, .swap = swap };

	memset(ret_record, 0, sizeof(*ret_record));
	if (!layout)
		return -ENOENT;
	ret_record->type = type;
	codec_read(&decoder, layout, (char *)ret_record + PAYLOAD);
	return decoder.error;
}

void record_done(struct record *record)
{
	const struct layout *layout = record_layout_find(record->type);

	if (layout)
		codec_done(layout, (char *)record + PAYLOAD);
}
