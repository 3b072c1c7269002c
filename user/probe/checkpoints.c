/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/checkpoints.h"

#include "elf/elf_file.h"

#include <string.h>

/* Each is compared with all; an object has a few. */
#define MAX_POINTS 256

static bool is_known(const struct checkpoints *points, uint64_t offset)
{
	vec_foreach(&points->list, point)
		if (point->offset == offset)
			return true;
	return false;
}

static int find(const struct elf_file *file, const char *name, uint16_t function,
		struct checkpoints *points)
{
	size_t n;
	const struct elf_symbol *symbols = elf_file_symbols(file, &n);
	int r = 0;

	for (size_t i = 0; i < n && r == 0 && points->list.len < MAX_POINTS; i++) {
		uint64_t offset;

		if (strcmp(symbols[i].name, name) != 0 || symbols[i].is_ifunc ||
		    elf_file_offset_of(file, symbols[i].value, &offset) < 0 ||
		    is_known(points, offset))
			continue;
		r = vec_push(&points->list, (struct checkpoint){ offset, function });
	}
	return r;
}

int checkpoints_find(const struct elf_file *file, char *const *names, struct checkpoints *points)
{
	static const char *const executes[] = { "execve", "fexecve", "execveat" };
	int r = 0;

	for (uint16_t i = 0; r == 0 && names && names[i]; i++)
		r = find(file, names[i], i + 1, points);
	for (size_t i = 0; r == 0 && i < sizeof(executes) / sizeof(executes[0]); i++)
		r = find(file, executes[i], 0, points);
	return r;
}
