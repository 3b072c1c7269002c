/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/file_open.h"

#include "base/cleanup.h"
#include "base/file_system.h"
#include "base/path_walk.h"
#include "target/file_helper.h"
#include "target/file_helper_process.h"
#include "target/proc_file.h"
#include "target/proc_maps.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Whose root is walked through, what of file systems may be searched there, and for whom. */
struct search {
	pid_t pid;
	enum file_system most;
	struct file_reader reader;
};

/* wanted: S_IROTH or S_IXOTH. */
static int check_reader(int fd, const struct file_reader *reader, mode_t wanted)
{
	struct stat st;
	int r = reader->limited ? file_status(fd, &st) : 0, shift = 0;

	if (r < 0 || !reader->limited)
		return r;
	if (st.st_uid == reader->uid)
		shift = 6;
	else if (st.st_gid == reader->gid)
		shift = 3;
	return st.st_mode >> shift & wanted ? 0 : -EACCES;
}

/* May names be looked up, or links be read, in what it is on? */
static int check_place(int fd, const void *userdata)
{
	const struct search *search = userdata;

	return file_system_check(file_system_of_fd(fd, search->pid), search->most);
}

static int check_folder(int fd, const void *userdata)
{
	const struct search *search = userdata;
	int r = check_place(fd, userdata);

	return r < 0 ? r : check_reader(fd, &search->reader, S_IXOTH);
}

static int check_link(int fd, const struct stat *st, const void *userdata)
{
	int r = check_place(fd, userdata);

	(void)st;
	return r < 0 ? r : PATH_FOLLOW;
}

static int find(int root_fd, const char *path, const struct search *search)
{
	static const struct path_rules rules = {
		.in_root = true,
		.check_folder = check_folder,
		.check_link = check_link,
	};

	return path_walk(root_fd, path, &rules, search);
}

int root_find(int root_fd, pid_t pid, const char *path, enum file_system most)
{
	return find(root_fd, path, &(struct search){ .pid = pid, .most = most });
}

static int open_found(int root_fd, const struct open_in_root *asked, enum file_system most)
{
	const struct search search = { asked->pid, most, asked->reader };
	_cleanup_close_ int fd = find(root_fd, asked->path, &search);
	int r = fd < 0 ? fd : check_reader(fd, &asked->reader, S_IROTH);

	return r < 0 ? r : reopen_for_reading(fd, asked->pid, most);
}

static const struct field in_root_fields[] = {
	F(open_in_root, pid, FIELD_U32),
	F_MAX(open_in_root, path, FIELD_STRING, PATH_MAX),
	F(open_in_root, reader.limited, FIELD_BOOL),
	F(open_in_root, reader.uid, FIELD_U32),
	F(open_in_root, reader.gid, FIELD_U32),
	F_END,
};
const struct layout open_in_root_layout = LAYOUT(open_in_root, in_root_fields);

int root_open(int root_fd, pid_t pid, const char *path, const struct file_reader *reader)
{
	const struct open_in_root asked = { pid ? proc_living_thread(pid) : 0, path, *reader };
	_cleanup_strbuf_ struct strbuf request = {};
	int fd = open_found(root_fd, &asked, FILE_SYSTEM_LOCAL);

	if (fd != -EXDEV)
		return fd;
	strbuf_addch(&request, OPEN_REQUEST_IN_ROOT);
	codec_write(&request, &open_in_root_layout, &asked, NULL);
	fd = strbuf_error(&request);
	/* Which of its folders' servers hangs is not known: nothing of the root is opened. */
	if (fd == 0)
		fd = file_helper_open(FILE_HELPER_OF_ROOT | (uint32_t)pid, &request, root_fd);
	return fd == -ENOSYS ? open_found(root_fd, &asked, FILE_SYSTEM_LAYERS) : fd;
}

/* In the helper, by the request of root_open(). */
static int root_open_waiting(int root_fd, struct decoder *request)
{
	struct open_in_root asked;

	codec_read(request, &open_in_root_layout, &asked);
	if (decoder_end(request) < 0)
		return -EBADMSG;
	return open_found(root_fd, &asked, FILE_SYSTEM_LAYERS);
}

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
	if (proc_map_is_of(map, st->st_ino, st->st_dev))
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

/* name: below /proc/PID. */
static int open_link(const char *name, pid_t pid, const struct proc_map *map, enum name_trust trust,
		     enum file_system most)
{
	_cleanup_close_ int fd = file_helper_open_proc(pid, name, O_PATH);

	/* Before Linux 5.9 a helper may not: target/file_helper_process.c. */
	if (fd == -EPERM)
		fd = proc_file_open(pid, name, O_PATH);
	return fd < 0 ? fd : reopen_mapped(fd, pid, map, trust, most);
}

static int open_in_root(pid_t pid, const struct proc_map *map, enum file_system most)
{
	_cleanup_close_ int root_fd = file_helper_open_proc(pid, "root", O_PATH | O_DIRECTORY);
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
	char name[64];
	int fd, r = file_system_check(file_system_of_device(map->dev_major, map->dev_minor, pid),
				      most);

	if (r < 0)
		return r;
	snprintf(name, sizeof(name), "map_files/%" PRIx64 "-%" PRIx64, map->start, map->end);
	fd = open_link(name, pid, map, NAME_BY_RANGE, most);
	if (is_final(fd))
		return fd;
	r = open_in_root(pid, map, most);
	if (is_final(r))
		return r;
	fd = open_link("exe", pid, map, NAME_BY_PATH, most);
	return fd >= 0 ? fd : r;
}

static const struct field map_fields[] = {
	F(open_map, pid, FIELD_U32),
	F(open_map, map.start, FIELD_U64),
	F(open_map, map.end, FIELD_U64),
	F(open_map, map.ino, FIELD_U64),
	F(open_map, map.dev_major, FIELD_U32),
	F(open_map, map.dev_minor, FIELD_U32),
	F_MAX(open_map, map.path, FIELD_STRING, PATH_MAX),
	F_LOCAL(open_map, map.offset),
	F_LOCAL(open_map, map.read),
	F_LOCAL(open_map, map.write),
	F_LOCAL(open_map, map.exec),
	F_LOCAL(open_map, map.shared),
	F_LOCAL(open_map, map.deleted),
	F_END,
};
const struct layout open_map_layout = LAYOUT(open_map, map_fields);

int proc_map_open(pid_t pid, const struct proc_map *map)
{
	const struct open_map asked = { proc_living_thread(pid), *map };
	_cleanup_strbuf_ struct strbuf request = {};
	int fd = map->ino ? open_map(asked.pid, map, FILE_SYSTEM_LOCAL) : -ENOENT;

	if (fd != -EXDEV)
		return fd;
	strbuf_addch(&request, OPEN_REQUEST_MAP);
	codec_write(&request, &open_map_layout, &asked, NULL);
	fd = strbuf_error(&request);
	if (fd == 0)
		fd = file_helper_open((uint64_t)map->dev_major << 32 | map->dev_minor, &request,
				      -1);
	return fd == -ENOSYS ? open_map(asked.pid, map, FILE_SYSTEM_LAYERS) : fd;
}

static int proc_map_open_waiting(struct decoder *request)
{
	struct open_map asked;

	codec_read(request, &open_map_layout, &asked);
	return decoder_end(request) == 0 ? open_map(asked.pid, &asked.map, FILE_SYSTEM_LAYERS) :
					   -EBADMSG;
}

int open_serve(const struct strbuf *request, int fd)
{
	struct decoder decoder = decoder_of(request);

	switch (decoder_byte(&decoder)) {
	case OPEN_REQUEST_MAP:
		return proc_map_open_waiting(&decoder);
	case OPEN_REQUEST_IN_ROOT:
		return root_open_waiting(fd, &decoder);
	}
	return -EBADMSG;
}
