/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/confine_paths.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* From Linux 6.2, the third version of the interface, on. */
#define ACCESS_TRUNCATE (1ULL << 14)

#define READING                                                                                    \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
/* What base/outfile.h does in a folder. */
#define OUTPUT                                                                                     \
	(LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG |                             \
	 LANDLOCK_ACCESS_FS_REMOVE_FILE)
#define OTHER_CHANGES                                                                              \
	(LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_MAKE_CHAR |                            \
	 LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_SOCK |                              \
	 LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |                            \
	 LANDLOCK_ACCESS_FS_MAKE_SYM)

static int create_rules(bool reads)
{
	struct landlock_ruleset_attr attr = {
		.handled_access_fs = OUTPUT | OTHER_CHANGES | (reads ? 0 : READING),
	};
	long version =
		syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	long fd;

	if (version < 0) /* ENOSYS: not built in; EOPNOTSUPP: not started */
		return errno == ENOSYS ? -EOPNOTSUPP : -errno;
	if (version >= 3)
		attr.handled_access_fs |= ACCESS_TRUNCATE;
	fd = syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);
	return fd < 0 ? -errno : (int)fd;
}

/* The folder of the file, or around the first placeholder. malloc'ed, NULL without memory. */
static char *folder_of(const char *path)
{
	size_t len = strcspn(path, "%");

	while (len > 0 && path[len - 1] != '/')
		len--;
	return len > 0 ? strndup(path, len) : strdup(".");
}

/* Is it there, and no regular file, so that it is written itself rather than replaced? */
static bool is_written_itself(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && (S_ISCHR(st.st_mode) || S_ISFIFO(st.st_mode));
}

/* A folder that is not there is not allowed: the output will say that. */
static int allow(int rules, const char *path)
{
	bool itself = is_written_itself(path);
	_cleanup_free_ char *folder = itself ? strdup(path) : folder_of(path);
	struct landlock_path_beneath_attr attr = {
		.allowed_access = itself ? LANDLOCK_ACCESS_FS_WRITE_FILE : OUTPUT,
	};
	_cleanup_close_ int fd = -1;

	if (!folder)
		return -ENOMEM;
	fd = open(folder, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return 0;
	attr.parent_fd = fd;
	if (syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &attr, 0) < 0)
		return errno == EINVAL || errno == EBADFD ? 0 : -errno;
	return 0;
}

int confine_paths(char *const *paths, size_t n, bool reads)
{
	_cleanup_close_ int rules = create_rules(reads);
	int r = rules < 0 ? rules : 0;

	for (size_t i = 0; i < n && r == 0; i++)
		r = allow(rules, paths[i]);
	if (r == 0 && syscall(SYS_landlock_restrict_self, rules, 0) < 0)
		r = -errno;
	return r;
}
