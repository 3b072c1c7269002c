/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parses /proc/PID/maps text (proc(5)). Pure functions of a buffer, and a reader of the live file.
 */
#ifndef MEMTRACED_TARGET_PROC_MAPS_H
#define MEMTRACED_TARGET_PROC_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct strbuf;

struct proc_map {
	uint64_t start, end, offset, ino;
	uint32_t dev_major, dev_minor;
	bool read, write, exec, shared;
	bool deleted;	  /* the path ended in " (deleted)", which is taken off */
	const char *path; /* "" for anonymous; unescaped (\012); owned by the list */
};

struct proc_maps {
	struct proc_map *maps; /* ascending by start, none overlapping */
	size_t n_maps;
	char *text; /* backing store of the paths */
};

/*
 * Copies `text` (len bytes, need not end in NUL). 0, -ENOMEM, or -EBADMSG on a malformed line, an
 * empty range, or ranges that go backwards (the kernel promises that they never do).
 */
int proc_maps_parse(const char *text, size_t len, struct proc_maps *ret_maps);

/*
 * One line of it, which ends at `end`, where a NUL stands in place of the newline; the path of the
 * map is made in the line. 0 or -EBADMSG. Those of /proc/PID/smaps begin its entries.
 */
int proc_map_parse_line(char *line, char *end, struct proc_map *ret_map);

/*
 * Reads /proc/PID/maps; kernel threads and zombies have no maps. 0 or negative errno; -ESRCH when
 * the process is gone, -EFBIG when the list is longer than any sane process's (256 MiB of text).
 */
int proc_maps_read(pid_t pid, struct proc_maps *ret_maps);

/*
 * The path of a mapping whose range is known, without a look at the others: by
 * /proc/PID/map_files. ret_text holds what map->path and map->deleted are set by. 0 or negative
 * errno, where the list has to be read.
 */
int proc_map_read_path(pid_t pid, struct proc_map *map, struct strbuf *ret_text);

/* Are both of one file? Any user can have one of the same number in a file system of an own. */
bool proc_map_is_of(const struct proc_map *map, uint64_t ino, dev_t dev);
bool proc_map_is_same_file(const struct proc_map *a, const struct proc_map *b);

void proc_maps_done(struct proc_maps *maps);

/* The map that holds addr, or NULL. */
const struct proc_map *proc_maps_find(const struct proc_maps *maps, uint64_t addr);

#endif
