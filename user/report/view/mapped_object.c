/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/view/mapped_object.h"

#include "base/cleanup.h"
#include "base/file_system.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/*
 * The root directory of the process that mapped the object, where its debug files are looked for;
 * false when it is this host's, or the process is gone.
 */
static bool foreign_root(const struct model *model, uint32_t slot, char path[32])
{
	const struct model_process *process = model_find_process(model, slot);
	_cleanup_close_ int root_fd = -1, our_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat theirs, ours;

	if (!process || !process->known)
		return false;
	snprintf(path, 32, "/proc/%u/root", process->pid);
	root_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0 || our_fd < 0 || file_status(root_fd, &theirs) < 0 ||
	    file_status(our_fd, &ours) < 0)
		return false;
	return theirs.st_dev != ours.st_dev || theirs.st_ino != ours.st_ino;
}

/* The file must be the one that was mapped: a path may hold another one by now. */
static bool build_id_differs(const struct symbol_object *opened, const struct model_object *object)
{
	const char *have = symbol_object_build_id(opened);
	char want[2 * RECORD_BUILD_ID_MAX + 1] = "";

	for (size_t i = 0; i < object->build_id_len; i++)
		snprintf(want + 2 * i, 3, "%02x", object->build_id[i]);
	return *want && *have && strcmp(want, have) != 0;
}

int mapped_object_open(const struct model *model, const struct model_object *object,
		       struct symbolizer *symbolizer, const char *local_path, uint32_t slot,
		       struct symbol_object **ret_object)
{
	_cleanup_close_ int fd = -1;
	char root[32];
	bool has_root;
	int r;

	if (local_path)
		fd = reopen_own(local_path);
	has_root = fd >= 0 && foreign_root(model, slot, root);
	r = symbolizer_object(symbolizer, object->path, object->dev, object->ino, fd,
			      has_root ? root : NULL, ret_object);
	if (r < 0 || fd < 0 || !build_id_differs(*ret_object, object))
		return r;
	return symbolizer_object(symbolizer, object->path, object->dev, object->ino, -1, NULL,
				 ret_object);
}
