/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/cleanup.h"
#include "base/file_system.h"
#include "sandbox/wire.h"
#include "target/file_helper.h"
#include "target/open_request.h"
#include "target/proc_file.h"
#include "target/proc_maps.h"
#include "target/root_open.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/stat.h>
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
static int reopen_mapped(int path_fd, pid_t pid, const struct proc_map *map, enum name_trust trust,
			 enum file_system most)
{
	struct stat st;
	int r = file_status(path_fd, &st);

	if (r == 0 && !is_mapped_file(path_fd, &st, map, trust))
		r = -ESTALE;
	if (r < 0)
		return r;
	return S_ISREG(st.st_mode) ? reopen_for_reading(path_fd, pid, most) : -ENODEV;
}

static int open_link(const char *link, pid_t pid, const struct proc_map *map, enum name_trust trust,
		     enum file_system most)
{
	_cleanup_close_ int fd = open(link, O_PATH | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	return reopen_mapped(fd, pid, map, trust, most);
}

static int open_in_root(pid_t pid, const struct proc_map *map, enum file_system most)
{
	_cleanup_close_ int root_fd = proc_file_open(pid, "root", O_PATH | O_DIRECTORY);
	_cleanup_close_ int fd = root_fd < 0 ? root_fd : root_find(root_fd, pid, map->path, most);

	return fd < 0 ? fd : reopen_mapped(fd, pid, map, NAME_BY_PATH, most);
}

/* Whether there is no use in trying other names of the file. */
static bool is_final(int r)
{
	return r >= 0 || r == -ENODEV || r == -EBUSY || r == -EREMOTE || r == -EXDEV;
}

/* Before this nothing is asked of the file: also what looks up the links may ask its server. */
static int open_map(pid_t pid, const struct proc_map *map, enum file_system most)
{
	char link[96];
	int fd, r = file_system_check(file_system_of_device(map->dev_major, map->dev_minor, pid),
				      most);

	if (r < 0)
		return r;
	snprintf(link, sizeof(link), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, pid, map->start,
		 map->end);
	fd = open_link(link, pid, map, NAME_BY_RANGE, most);
	if (is_final(fd))
		return fd;
	r = open_in_root(pid, map, most);
	if (is_final(r))
		return r;
	snprintf(link, sizeof(link), "/proc/%d/exe", pid);
	fd = open_link(link, pid, map, NAME_BY_PATH, most);
	return fd >= 0 ? fd : r;
}

int proc_map_open(pid_t pid, const struct proc_map *map)
{
	_cleanup_strbuf_ struct strbuf request = {};
	int fd = map->ino ? open_map(pid, map, FILE_SYSTEM_LOCAL) : -ENOENT;

	if (fd != -EXDEV)
		return fd;
	wire_put_u8(&request, OPEN_REQUEST_MAP);
	wire_put_u32(&request, (uint32_t)pid);
	wire_put_u64(&request, map->start);
	wire_put_u64(&request, map->end);
	wire_put_u64(&request, map->ino);
	wire_put_u32(&request, map->dev_major);
	wire_put_u32(&request, map->dev_minor);
	wire_put_string(&request, map->path);
	fd = strbuf_error(&request);
	if (fd == 0)
		fd = file_helper_open((uint64_t)map->dev_major << 32 | map->dev_minor, &request,
				      -1);
	return fd == -ENOSYS ? open_map(pid, map, FILE_SYSTEM_LAYERS) : fd;
}

int proc_map_open_waiting(struct wire_reader *request)
{
	pid_t pid = (pid_t)wire_get_u32(request);
	struct proc_map map = {};

	map.start = wire_get_u64(request);
	map.end = wire_get_u64(request);
	map.ino = wire_get_u64(request);
	map.dev_major = wire_get_u32(request);
	map.dev_minor = wire_get_u32(request);
	map.path = wire_get_string(request, PATH_MAX);
	return wire_is_read(request) ? open_map(pid, &map, FILE_SYSTEM_LAYERS) : -EBADMSG;
}
