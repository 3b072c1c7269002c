/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/proc_maps.h"

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "target/file_helper.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#define MAPS_TEXT_MAX (256u << 20)

static const char DELETED[] = " (deleted)";

/* A cursor over one line, [at, end). */
struct scan {
	const char *at, *end;
};

static bool scan_char(struct scan *scan, char c)
{
	if (scan->at == scan->end || *scan->at != c)
		return false;
	scan->at++;
	return true;
}

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

/* Digits of `base` (10 or 16, lower case as the kernel prints them), at least one, at most `max`.
 */
static bool scan_number(struct scan *scan, unsigned int base, uint64_t max, uint64_t *ret)
{
	const char *start = scan->at;
	uint64_t value = 0;

	for (; scan->at < scan->end; scan->at++) {
		int digit = digit_value(*scan->at);

		if (digit < 0 || digit >= (int)base)
			break;
		if (__builtin_mul_overflow(value, base, &value) ||
		    __builtin_add_overflow(value, (uint64_t)digit, &value) || value > max)
			return false;
	}
	*ret = value;
	return scan->at > start;
}

static bool scan_flag(struct scan *scan, char set, char clear, bool *ret)
{
	*ret = scan_char(scan, set);
	return *ret || scan_char(scan, clear);
}

static bool scan_device(struct scan *scan, struct proc_map *map)
{
	uint64_t major, minor;

	if (!scan_number(scan, 16, UINT32_MAX, &major) || !scan_char(scan, ':') ||
	    !scan_number(scan, 16, UINT32_MAX, &minor))
		return false;
	map->dev_major = (uint32_t)major;
	map->dev_minor = (uint32_t)minor;
	return true;
}

/* START-END rwxp OFFSET MAJOR:MINOR INODE, up to the spaces before the path. */
static bool scan_fields(struct scan *scan, struct proc_map *map)
{
	return scan_number(scan, 16, UINT64_MAX, &map->start) && scan_char(scan, '-') &&
	       scan_number(scan, 16, UINT64_MAX, &map->end) && scan_char(scan, ' ') &&
	       scan_flag(scan, 'r', '-', &map->read) && scan_flag(scan, 'w', '-', &map->write) &&
	       scan_flag(scan, 'x', '-', &map->exec) && scan_flag(scan, 's', 'p', &map->shared) &&
	       scan_char(scan, ' ') && scan_number(scan, 16, UINT64_MAX, &map->offset) &&
	       scan_char(scan, ' ') && scan_device(scan, map) && scan_char(scan, ' ') &&
	       scan_number(scan, 10, UINT64_MAX, &map->ino) &&
	       (scan->at == scan->end || *scan->at == ' ');
}

/* The kernel escapes newlines in paths, and only these (seq_path with "\n" in show_map_vma). */
static void unescape_newlines(char *path)
{
	char *to = path;

	for (const char *from = path; *from; to++) {
		if (strncmp(from, "\\012", 4) == 0) {
			*to = '\n';
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
}

static void parse_path(char *path, struct proc_map *map)
{
	size_t len = strlen(path), suffix = sizeof(DELETED) - 1;

	if (len >= suffix && memcmp(path + len - suffix, DELETED, suffix) == 0) {
		path[len - suffix] = '\0';
		map->deleted = true;
	}
	map->path = path;
}

int proc_map_parse_line(char *line, char *end, struct proc_map *ret_map)
{
	struct scan scan = { .at = line, .end = end };
	struct proc_map map = { 0 };

	if (memchr(line, '\0', (size_t)(end - line)) || !scan_fields(&scan, &map) ||
	    map.start >= map.end)
		return -EBADMSG;
	while (scan_char(&scan, ' '))
		;
	parse_path(line + (scan.at - line), &map);
	unescape_newlines(line + (scan.at - line));
	*ret_map = map;
	return 0;
}

int proc_maps_parse(const char *text, size_t len, struct proc_maps *ret_maps)
{
	_cleanup_free_ struct proc_map *owned = NULL;
	_cleanup_free_ char *copy = malloc(len + 1);
	VEC(struct proc_map) maps = { 0 };
	uint64_t last_end = 0;

	if (!copy)
		return -ENOMEM;
	memcpy(copy, text, len);
	copy[len] = '\0';
	for (char *line = copy; line < copy + len;) {
		size_t room = (size_t)(copy + len - line);
		char *end = memchr(line, '\n', room);
		struct proc_map map;
		int r;

		if (!end)
			end = line + room;
		*end = '\0';
		r = proc_map_parse_line(line, end, &map);
		if (r == 0 && map.start < last_end)
			r = -EBADMSG;
		if (r == 0)
			r = vec_push(&maps, map);
		owned = maps.data;
		if (r < 0)
			return r;
		last_end = map.end;
		line = end + 1;
	}
	ret_maps->n_maps = maps.len;
	ret_maps->maps = TAKE_PTR(owned);
	ret_maps->text = TAKE_PTR(copy);
	return 0;
}

int proc_maps_read(pid_t pid, struct proc_maps *ret_maps)
{
	_cleanup_strbuf_ struct strbuf text = { 0 };
	int r = file_helper_read(pid, "maps", MAPS_TEXT_MAX, &text);

	if (r < 0)
		return r;
	return proc_maps_parse(strbuf_str(&text), text.len, ret_maps);
}

int proc_map_read_path(pid_t pid, struct proc_map *map, struct strbuf *ret_text)
{
	char name[48];
	int r;

	snprintf(name, sizeof(name), "map_files/%" PRIx64 "-%" PRIx64, map->start, map->end);
	strbuf_reset(ret_text);
	r = file_helper_read_link(pid, name, PATH_MAX, ret_text);
	if (r == 0)
		r = strbuf_error(ret_text);
	if (r < 0)
		return r;
	if (ret_text->len == 0)
		return -ENOENT;
	parse_path(ret_text->data, map);
	return 0;
}

bool proc_map_is_of(const struct proc_map *map, uint64_t ino, dev_t dev)
{
	return map->ino == ino && map->dev_major == major(dev) && map->dev_minor == minor(dev);
}

bool proc_map_is_same_file(const struct proc_map *a, const struct proc_map *b)
{
	return proc_map_is_of(a, b->ino, makedev(b->dev_major, b->dev_minor));
}

void proc_maps_done(struct proc_maps *maps)
{
	free(maps->maps);
	free(maps->text);
	*maps = (struct proc_maps){ 0 };
}

const struct proc_map *proc_maps_find(const struct proc_maps *maps, uint64_t addr)
{
	size_t low = partition_point(maps->n_maps, i, addr >= maps->maps[i].end);

	if (low == maps->n_maps || addr < maps->maps[low].start)
		return NULL;
	return &maps->maps[low];
}
