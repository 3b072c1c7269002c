/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/jit/perf_map.h"

#include "base/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct perf_map {
	char *text; /* lines and names are NUL-terminated in place */
	size_t len;
	VEC(struct perf_map_entry) entries;
	uint64_t malformed;
};

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* strtoull would take signs, blanks and overflow. Moves *s behind the digits and blanks. */
static bool parse_hex(char **s, uint64_t *ret)
{
	uint64_t value = 0;
	char *p = *s;
	int n = 0;

	if (p[0] == '0' && (p[1] == 'x' || p[1] == 'X'))
		p += 2;
	for (; hex_digit(*p) >= 0; p++, n++) {
		if (value >> 60)
			return false;
		value = value << 4 | (uint64_t)hex_digit(*p);
	}
	if (n == 0 || (*p != ' ' && *p != '\t'))
		return false;
	while (*p == ' ' || *p == '\t')
		p++;
	*s = p;
	*ret = value;
	return true;
}

static bool parse_line(char *line, struct perf_map_entry *ret_entry)
{
	struct perf_map_entry entry;
	uint64_t end;

	if (!parse_hex(&line, &entry.start) || !parse_hex(&line, &entry.size_bytes))
		return false;
	if (entry.size_bytes == 0 || *line == '\0' ||
	    __builtin_add_overflow(entry.start, entry.size_bytes, &end))
		return false;
	entry.name = line;
	*ret_entry = entry;
	return true;
}

/* `end` is where the line's newline or the text's final NUL stands. */
static int add_line(struct perf_map *map, char *line, char *end)
{
	size_t upto = (size_t)(end - map->text);
	struct perf_map_entry entry;

	if (end > line && end[-1] == '\r')
		end--;
	*end = '\0';
	if (line == end)
		return 0;
	if (strlen(line) != (size_t)(end - line) || !parse_line(line, &entry)) {
		map->malformed++;
		return 0;
	}
	entry.end = upto < map->len ? upto + 1 : map->len;
	return vec_push(&map->entries, entry);
}

int perf_map_new(const char *text, size_t len, struct perf_map **ret_map)
{
	_cleanup_(perf_map_free_p) struct perf_map *map = calloc(1, sizeof(*map));
	char *line, *end, *text_end;
	int r;

	if (!map || len == SIZE_MAX)
		return -ENOMEM;
	map->len = len;
	map->text = malloc(len + 1);
	if (!map->text)
		return -ENOMEM;
	if (len)
		memcpy(map->text, text, len);
	text_end = map->text + len;
	*text_end = '\0';
	for (line = map->text; line < text_end; line = end + 1) {
		end = memchr(line, '\n', (size_t)(text_end - line));
		if (!end)
			end = text_end;
		r = add_line(map, line, end);
		if (r < 0)
			return r;
	}
	*ret_map = TAKE_PTR(map);
	return 0;
}

void perf_map_free(struct perf_map *map)
{
	if (!map)
		return;
	vec_done(&map->entries);
	free(map->text);
	free(map);
}

size_t perf_map_count(const struct perf_map *map)
{
	return map->entries.len;
}

const struct perf_map_entry *perf_map_at(const struct perf_map *map, size_t index)
{
	return &map->entries.data[index];
}

uint64_t perf_map_malformed(const struct perf_map *map)
{
	return map->malformed;
}
