/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/live/code/unopened_files.h"

#include "base/clock.h"
#include "target/proc_maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A process may map as many as it likes. */
#define MOST_FILES 1024
/* A lease that others ask for ends after fs.lease-break-time, 45 s. */
#define FIRST_PAUSE_NS SECOND_NS
#define LONGEST_PAUSE_NS (60 * SECOND_NS)

static const struct {
	int error;
	const char *why;
} reasons[] = {
	{ -EBUSY, "another process holds a lease on it; retrying later" },
	{ -EREMOTE, "its file system is served by another user or unknown; not opened" },
	{ -ETIMEDOUT, "its file system does not answer in time; retrying later" },
};

static const char *reason_of(int error)
{
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (reasons[i].error == error)
			return reasons[i].why;
	return NULL;
}

bool unopened_error(int error)
{
	return reason_of(error) != NULL;
}

void unopened_files_init(struct unopened_files *files)
{
	*files = (struct unopened_files){ .next_ns = UINT64_MAX };
}

void unopened_files_done(struct unopened_files *files)
{
	vec_foreach(&files->all, file) {
		free((*file)->path);
		free(*file);
	}
	vec_done(&files->all);
}

static struct unopened_file *find_file(const struct unopened_files *files, uint32_t dev,
				       uint64_t ino)
{
	vec_foreach(&files->all, file)
		if ((*file)->dev == dev && (*file)->ino == ino)
			return *file;
	return NULL;
}

static int add_new(struct unopened_files *files, const struct proc_map *map, int error,
		   uint64_t now_ns, struct unopened_file **ret_file)
{
	struct unopened_file *file = calloc(1, sizeof(*file));
	int r = -ENOMEM;

	if (!file)
		return r;
	*file = (struct unopened_file){ .dev = map->dev_major << 20 | map->dev_minor,
					.ino = map->ino,
					.path = strdup(map->path),
					.why = reason_of(error),
					.next_ns = now_ns + FIRST_PAUSE_NS,
					.pause_ns = FIRST_PAUSE_NS };
	if (file->path)
		r = vec_push(&files->all, file);
	if (r < 0) {
		free(file->path);
		free(file);
		return r;
	}
	if (file->next_ns < files->next_ns)
		files->next_ns = file->next_ns;
	*ret_file = file;
	return 0;
}

int unopened_files_add(struct unopened_files *files, const struct proc_map *map, int error,
		       uint64_t now_ns, const struct unopened_file **ret_file, bool *ret_new)
{
	struct unopened_file *file =
		find_file(files, map->dev_major << 20 | map->dev_minor, map->ino);
	int r = 0;

	*ret_new = !file && files->all.len < MOST_FILES;
	if (*ret_new)
		r = add_new(files, map, error, now_ns, &file);
	else if (!file)
		files->further++;
	*ret_file = file;
	return r;
}

bool unopened_file_is_due(const struct unopened_file *file, uint64_t now_ns)
{
	return now_ns >= file->next_ns;
}

static void find_next(struct unopened_files *files)
{
	files->next_ns = UINT64_MAX;
	vec_foreach(&files->all, file)
		if ((*file)->next_ns < files->next_ns)
			files->next_ns = (*file)->next_ns;
}

void unopened_files_tried(struct unopened_files *files, uint64_t now_ns)
{
	vec_foreach(&files->all, at) {
		struct unopened_file *file = *at;

		if (!unopened_file_is_due(file, now_ns))
			continue;
		file->pause_ns *= 2;
		if (file->pause_ns > LONGEST_PAUSE_NS)
			file->pause_ns = LONGEST_PAUSE_NS;
		file->next_ns = now_ns + file->pause_ns;
	}
	find_next(files);
}

void unopened_files_opened(struct unopened_files *files, uint32_t dev, uint64_t ino)
{
	struct unopened_file *file = find_file(files, dev, ino);

	if (file)
		file->next_ns = UINT64_MAX;
}
