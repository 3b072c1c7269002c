/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/text/error_words.h"

#include "config/units.h"
#include "report/text/text.h"

#include <inttypes.h>

void error_words_title(struct strbuf *out, const struct record_heap_error *error,
		       const char *function)
{
	char size[FORMAT_UNIT_LEN];

	if (!function)
		function = "an allocator function";
	switch (error->kind) {
	case RECORD_MISMATCHED_FREE:
		strbuf_adds(out, "Mismatched free() / delete / delete []");
		break;
	case RECORD_FOREIGN_FREE:
		strbuf_adds(out, "Free of a block that another allocator has made");
		break;
	case RECORD_FAILED_ALLOCATION:
		strbuf_addf(out, "Failed allocation: %s for %s", function,
			    format_size((int64_t)error->size, size));
		break;
	case RECORD_SUSPICIOUS_SIZE:
		strbuf_addf(out,
			    "Argument 'size' of function %s has a fishy (possibly negative) "
			    "value: %" PRId64,
			    function, (int64_t)error->size);
		break;
	case RECORD_REALLOC_ZERO:
		strbuf_adds(out, "realloc() with size 0");
		break;
	default:
		strbuf_adds(out, "Invalid free() / delete / delete[] / realloc()");
	}
}

void error_words_address(struct strbuf *out, const struct record_heap_error *error, bool has_block)
{
	bool freed = error->kind == RECORD_DOUBLE_FREE;
	uint64_t offset = error->addr - error->block;

	strbuf_addf(out, "Address 0x%" PRIx64, error->addr);
	if (has_block && offset < error->block_size + (error->block_size == 0)) {
		strbuf_adds(out, " is ");
		text_grouped(out, offset);
		strbuf_adds(out, " bytes inside a block of size ");
		text_grouped(out, error->block_size);
		strbuf_adds(out, freed ? " free'd" : " alloc'd");
	} else if (freed) {
		strbuf_adds(out, " is a block that was free'd before");
	} else {
		strbuf_adds(out, " is not a live block: freed before or never allocated");
	}
}

bool error_words_has_address(const struct record_heap_error *error, bool has_block)
{
	bool is_free = error->kind == RECORD_INVALID_FREE || error->kind == RECORD_DOUBLE_FREE;

	return error->addr && (has_block || is_free);
}
