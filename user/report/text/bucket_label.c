/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/text/bucket_label.h"

#include <inttypes.h>

/* Powers of two have a suffix at each power of 1024; linear bounds as far as the step has it. */
static void add_bound(struct strbuf *out, const struct record_histogram *asked, int64_t value)
{
	static const char suffixes[] = "KMGTPE";
	size_t max = asked->linear ? asked->step % 1024 == 0 ? 2 : 0 : sizeof(suffixes) - 1;
	size_t n = 0;

	while (n < max && value != 0 && value % 1024 == 0) {
		value /= 1024;
		n++;
	}
	strbuf_addf(out, "%" PRId64, value);
	if (n > 0)
		strbuf_addch(out, suffixes[n - 1]);
}

void bucket_label(struct strbuf *out, const struct record_histogram *asked, int64_t lo, int64_t hi)
{
	strbuf_addch(out, lo == INT64_MIN ? '(' : '[');
	if (lo == INT64_MIN)
		strbuf_adds(out, "...");
	else
		add_bound(out, asked, lo);
	if (lo != INT64_MIN && lo < INT64_MAX && lo + 1 == hi) {
		strbuf_addch(out, ']');
		return;
	}
	strbuf_adds(out, ", ");
	if (hi == INT64_MAX)
		strbuf_adds(out, "...");
	else
		add_bound(out, asked, hi);
	strbuf_addch(out, ')');
}
