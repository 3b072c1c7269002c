/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files of objects.h before they are needed: opened while they are there, asked about while others
 * are in hand, and known before they are mapped.
 */
#include "base/file_system.h"
#include "target/loader_search.h"
#include "trace/live/code/object_state.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* What is in hand, and the one behind it. */
#define ASKED_FILES 2
/* That a program has loaded with it. */
#define MOST_KNOWN 256

void objects_open_ahead(struct objects *objects, pid_t pid, const struct proc_maps *maps)
{
	size_t n = 0;

	/* More would make those go that are asked for first, and are opened again then. */
	for (size_t i = 0; i < maps->n_maps && n < OPEN_AHEAD_MOST; i++) {
		const struct proc_map *map = &maps->maps[i];

		if (!map->exec || !map->ino ||
		    objects_find(objects, map->dev_major << 20 | map->dev_minor, map->ino))
			continue;
		n++;
		open_ahead_add(&objects->ahead, pid, map);
	}
}

void objects_ask_ahead(struct objects *objects, pid_t pid, const struct proc_maps *maps,
		       size_t first)
{
	unsigned int n = 0;

	for (size_t i = first; i < maps->n_maps && n < ASKED_FILES; i++) {
		const struct proc_map *map = &maps->maps[i];
		uint32_t dev = map->dev_major << 20 | map->dev_minor;
		int fd;

		if (!map->exec || !map->ino || objects_find(objects, dev, map->ino))
			continue;
		n++;
		fd = open_ahead_find(&objects->ahead, dev, map->ino);
		if (fd < 0) {
			open_ahead_add(&objects->asked, pid, map);
			fd = open_ahead_find(&objects->asked, dev, map->ino);
		}
		if (fd >= 0)
			object_ask(objects, fd, map->path);
	}
}

/* --- before anybody maps them ---------------------------------------------------------------- */

struct found_file {
	int fd; /* -1: it is an object's */
	uint32_t dev;
	uint64_t ino;
	char *path;  /* as /proc/PID/maps would show it */
	char *found; /* by which the linker opens it, to which its $ORIGIN is relative */
};

/* The file of a command, and what is loaded with it, in the order in which they are found. */
struct found_files {
	struct objects *objects;
	VEC(struct found_file) list;
	int error;
};

static bool is_found(const struct found_files *found, uint32_t dev, uint64_t ino)
{
	vec_foreach(&found->list, file)
		if (file->dev == dev && file->ino == ino)
			return true;
	return objects_find(found->objects, dev, ino) != NULL;
}

/* The path behind a descriptor, without symbolic links; NULL: there is none, or no memory. */
static char *path_of(int fd)
{
	char link[32], path[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n < 0)
		return NULL;
	path[n] = '\0';
	return strdup(path);
}

static void found_file_done(struct found_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	free(file->path);
	free(file->found);
}

/*
 * path: by which it was found, NULL: the one that it has. 1: it is among them, now or before; 0: it
 * is no file that can be mapped; -ENOMEM. fd: taken.
 */
static int add_found(struct found_files *found, int fd, const char *path)
{
	struct found_file file = { .fd = fd };
	struct stat status;
	int r;

	if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode)) {
		close(fd);
		return 0;
	}
	/* The form of the kernel's own, which /proc/PID/maps shows. */
	file.dev = major(status.st_dev) << 20 | minor(status.st_dev);
	file.ino = status.st_ino;
	if (is_found(found, file.dev, file.ino)) {
		close(fd);
		return 1;
	}
	file.path = path_of(fd);
	file.found = path || file.path ? strdup(path ? path : file.path) : NULL;
	r = file.path && file.found ? vec_push(&found->list, file) : -ENOMEM;
	if (r)
		found_file_done(&file);
	return r ? r : 1;
}

/* A path at which a library may be: loader_search_find()'s. */
static int on_path(const char *path, void *userdata)
{
	struct found_files *found = userdata;
	int fd = open_regular(path);
	int r = fd >= 0 ? add_found(found, fd, path) : 0;

	if (r < 0)
		found->error = r;
	return r;
}

static void ask_from(struct found_files *found, size_t first)
{
	for (size_t i = first; i < found->list.len && i < first + ASKED_FILES; i++)
		object_ask(found->objects, found->list.data[i].fd, found->list.data[i].path);
}

/* Its number is `i`; then what it needs is found, too. */
static int add_ahead(struct found_files *found, const struct loader_search *search, size_t i)
{
	struct found_file *file = &found->list.data[i];
	const char *needed_by = file->found; /* stays where it is when the list grows */
	struct object *object;
	int fd = file->fd, r;

	ask_from(found, i);
	file->fd = -1;
	r = object_add(found->objects, file->dev, file->ino, file->path, fd, &object);
	if (r)
		return r == -ENOMEM ? r : 0;
	object->is_ahead = true;
	/* The first is told of by its exec, at which it is stopped anyway. */
	r = i > 0 ? objects_publish(found->objects, object) : 0;
	vec_foreach(&object->facts.needs.names, name)
		if (r == 0 && found->error == 0 && found->list.len < MOST_KNOWN)
			(void)loader_search_find(search, *name, needed_by,
						 object->facts.needs.search, on_path, found);
	return r ? r : found->error;
}

int objects_read_ahead(struct objects *objects, const struct loader_search *search, int fd)
{
	struct found_files found = { .objects = objects };
	int r = add_found(&found, fd, NULL);

	r = r < 0 ? r : 0;
	for (size_t i = 0; i < found.list.len && r == 0; i++)
		r = add_ahead(&found, search, i);
	vec_foreach(&found.list, file)
		found_file_done(file);
	vec_done(&found.list);
	return r;
}
