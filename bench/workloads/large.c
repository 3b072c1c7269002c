/* SPDX-License-Identifier: GPL-2.0-or-later */
/* large SITES FUNCTIONS FILE: a recording of that size (tests/replay/many_sites.h), packed. */
#include "tests/replay/many_sites.h"
#include "trace/record/recording.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	FILE *file = argc == 4 ? fopen(argv[3], "we") : NULL;
	struct recording_writer *writer;
	int r;

	if (!file || recording_writer_new(file, &writer)) {
		fputs("large SITES FUNCTIONS FILE\n", stderr);
		return 2;
	}
	recording_pack(writer);
	many_sites_emit(strtoull(argv[1], NULL, 10), strtoull(argv[2], NULL, 10), recording_write,
			writer);
	r = recording_end(writer);
	recording_writer_free(writer);
	return fclose(file) || r ? 1 : 0;
}
