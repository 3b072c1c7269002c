/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/smaps.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_status(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	uint64_t bytes = 0;

	if (!text)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	if (smaps_status_value(text, "VmPTE", &bytes) == 0 &&
	    (bytes % 1024 != 0 || !strstr(text, "VmPTE:")))
		abort();
	free(text);
}

/* What was parsed must keep the promises of the header. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct smaps smaps;
	uint64_t last_end = 0;
	size_t path_bytes = 0;

	check_status(data, size);
	if (smaps_parse((const char *)data, size, &smaps))
		return 0;
	for (size_t i = 0; i < smaps.n_rows; i++) {
		const struct smaps_row *row = &smaps.rows[i];

		if (row->map.start < last_end || row->map.start >= row->map.end ||
		    row->rss_bytes % 1024 != 0)
			abort();
		last_end = row->map.end;
		path_bytes += strlen(row->map.path);
	}
	if (path_bytes > size)
		abort();
	smaps_done(&smaps);
	return 0;
}
