/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/cleanup.h"
#include "base/reopen.h"
#include "target/proc_maps.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

/*
 * On these, stat(2) reports a device of its own making (per subvolume, per layer) while maps shows
 * the super block's, so that only the inode can be compared.
 */
static bool stat_hides_device(int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return false;
	return fs.f_type == OVERLAYFS_SUPER_MAGIC || fs.f_type == BTRFS_SUPER_MAGIC;
}

/* How sure it is without a check that a name leads to the mapping's file. */
enum name_trust {
	NAME_BY_RANGE, /* the kernel's own link for an address range: may be another mapping by now
			*/
	NAME_BY_PATH,  /* anybody may have put another file there */
};

static bool is_mapped_file(int fd, const struct stat *st, const struct proc_map *map,
			   enum name_trust trust)
{
	if (st->st_ino == map->ino && major(st->st_dev) == map->dev_major &&
	    minor(st->st_dev) == map->dev_minor)
		return true;
	/* Overlays may show another inode number too (xino), hence no more can be asked of a link.
	 */
	return stat_hides_device(fd) && (st->st_ino == map->ino || trust == NAME_BY_RANGE);
}

/* -ENODEV: a device or a FIFO, which a target chose to map or to put in that place. */
static int reopen_regular(int path_fd, const struct proc_map *map, enum name_trust trust)
{
	struct stat st;

	if (fstat(path_fd, &st) < 0)
		return -errno;
	if (!is_mapped_file(path_fd, &st, map, trust))
		return -ESTALE;
	return S_ISREG(st.st_mode) ? reopen_for_reading(path_fd) : -ENODEV;
}

static int open_link(const char *link, const struct proc_map *map, enum name_trust trust)
{
	_cleanup_close_ int fd = open(link, O_PATH | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	return reopen_regular(fd, map, trust);
}

/* A path's symbolic links are the target's: RESOLVE_IN_ROOT keeps them from leading into our root.
 */
static int open_in_root(pid_t pid, const struct proc_map *map)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	_cleanup_close_ int root_fd = -1;
	_cleanup_close_ int fd = -1;
	char root[64];

	snprintf(root, sizeof(root), "/proc/%d/root", pid);
	root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		return -errno;
	fd = (int)syscall(SYS_openat2, root_fd, map->path, &how, sizeof(how));
	if (fd < 0)
		return -errno;
	return reopen_regular(fd, map, NAME_BY_PATH);
}

int proc_map_open(pid_t pid, const struct proc_map *map)
{
	char link[96];
	int fd, r;

	if (map->ino == 0)
		return -ENOENT;
	snprintf(link, sizeof(link), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, pid, map->start,
		 map->end);
	fd = open_link(link, map, NAME_BY_RANGE);
	if (fd >= 0 || fd == -ENODEV)
		return fd;
	r = open_in_root(pid, map);
	if (r >= 0 || r == -ENODEV)
		return r;
	snprintf(link, sizeof(link), "/proc/%d/exe", pid);
	fd = open_link(link, map, NAME_BY_PATH);
	return fd >= 0 ? fd : r;
}
