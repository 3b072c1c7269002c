/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The path is walked here and not by openat2(2) with RESOLVE_IN_ROOT: that would search the folders
 * of any file system, and be interrupted by none.
 */
#include "target/file_open.h"

#include "base/cleanup.h"
#include "base/file_system.h"
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
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

/* As the kernel's MAXSYMLINKS. */
#define MOST_LINKS 40
#define MOST_FOLDERS 128

struct walk {
	int folders[MOST_FOLDERS]; /* from the root on; the last is where the walk is */
	size_t n_folders;
	pid_t pid;
	enum file_system most;
	unsigned int n_links;
	char rest[2 * PATH_MAX]; /* to be walked yet */
};

static void pop_to(struct walk *walk, size_t n)
{
	while (walk->n_folders > n)
		close(walk->folders[--walk->n_folders]);
}

static void walk_done(struct walk *walk)
{
	pop_to(walk, 0);
}

/* Takes the next name off the rest. False: there is none. */
static bool next_name(struct walk *walk, char name[NAME_MAX + 1], int *ret_error)
{
	size_t skip = strspn(walk->rest, "/"), len = strcspn(walk->rest + skip, "/");

	*ret_error = len > NAME_MAX ? -ENAMETOOLONG : 0;
	if (len == 0 || len > NAME_MAX)
		return false;
	memcpy(name, walk->rest + skip, len);
	name[len] = '\0';
	memmove(walk->rest, walk->rest + skip + len, strlen(walk->rest + skip + len) + 1);
	return true;
}

/* Puts what the link says in front of the rest. */
static int follow(struct walk *walk, int link_fd)
{
	char text[PATH_MAX];
	ssize_t n = readlinkat(link_fd, "", text, sizeof(text));
	size_t rest = strlen(walk->rest);

	if (n < 0)
		return -errno;
	if (++walk->n_links > MOST_LINKS)
		return -ELOOP;
	if ((size_t)n == sizeof(text) || (size_t)n + rest + 1 > sizeof(walk->rest))
		return -ENAMETOOLONG;
	if (n > 0 && text[0] == '/')
		pop_to(walk, 1);
	memmove(walk->rest + n, walk->rest, rest + 1);
	memcpy(walk->rest, text, (size_t)n);
	return 0;
}

/* May names be looked up, or links be read, in what it is on? */
static int check_place(const struct walk *walk, int fd)
{
	return file_system_check(file_system_of_fd(fd, walk->pid), walk->most);
}

/* One name: a folder, a link that is followed, or the end. *ret_fd: -1 unless it is the end. */
static int walk_step(struct walk *walk, const char *name, int *ret_fd)
{
	int at = walk->folders[walk->n_folders - 1], r;
	_cleanup_close_ int fd = -1;
	bool is_last = walk->rest[strspn(walk->rest, "/")] == '\0';
	struct stat st;

	*ret_fd = -1;
	r = check_place(walk, at);
	if (r < 0)
		return r;
	fd = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = file_status(fd, &st);
	if (r == 0 && S_ISLNK(st.st_mode)) {
		r = check_place(walk, fd);
		return r < 0 ? r : follow(walk, fd);
	}
	if (r < 0)
		return r;
	if (is_last) {
		*ret_fd = TAKE_FD(fd);
		return 0;
	}
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	if (walk->n_folders == MOST_FOLDERS)
		return -ENAMETOOLONG;
	walk->folders[walk->n_folders++] = TAKE_FD(fd);
	return 0;
}

int root_find(int root_fd, pid_t pid, const char *path, enum file_system most)
{
	_cleanup_(walk_done) struct walk walk = { .pid = pid, .most = most };
	char name[NAME_MAX + 1];
	int fd = -1, r = 0;

	if (strlen(path) >= PATH_MAX)
		return -ENAMETOOLONG;
	walk.folders[0] = fcntl(root_fd, F_DUPFD_CLOEXEC, 0);
	if (walk.folders[0] < 0)
		return -errno;
	walk.n_folders = 1;
	strcpy(walk.rest, path);
	while (r == 0 && fd < 0 && next_name(&walk, name, &r)) {
		if (strcmp(name, "..") == 0)
			pop_to(&walk, walk.n_folders > 1 ? walk.n_folders - 1 : 1);
		else if (strcmp(name, ".") != 0)
			r = walk_step(&walk, name, &fd);
	}
	if (r < 0 || fd >= 0)
		return r < 0 ? r : fd;
	/* It ends with "..", "." or a link to a folder. */
	return walk.folders[--walk.n_folders];
}

static int open_found(int root_fd, pid_t pid, const char *path, enum file_system most)
{
	_cleanup_close_ int fd = root_find(root_fd, pid, path, most);

	return fd < 0 ? fd : reopen_for_reading(fd, pid, most);
}

static const struct field in_root_fields[] = {
	F(open_in_root, pid, FIELD_U32),
	F_MAX(open_in_root, path, FIELD_STRING, PATH_MAX),
	F_END,
};
const struct layout open_in_root_layout = LAYOUT(open_in_root, in_root_fields);

int root_open(int root_fd, pid_t pid, const char *path)
{
	const struct open_in_root asked = { pid ? proc_living_thread(pid) : 0, path };
	_cleanup_strbuf_ struct strbuf request = {};
	int fd = open_found(root_fd, asked.pid, path, FILE_SYSTEM_LOCAL);

	if (fd != -EXDEV)
		return fd;
	strbuf_addch(&request, OPEN_REQUEST_IN_ROOT);
	codec_write(&request, &open_in_root_layout, &asked, NULL);
	fd = strbuf_error(&request);
	/* Which of its folders' servers hangs is not known: nothing of the root is opened. */
	if (fd == 0)
		fd = file_helper_open(UINT64_C(1) << 62 | (uint32_t)pid, &request, root_fd);
	return fd == -ENOSYS ? open_found(root_fd, asked.pid, path, FILE_SYSTEM_LAYERS) : fd;
}

/* In the helper, by the request of root_open(). */
static int root_open_waiting(int root_fd, struct decoder *request)
{
	struct open_in_root asked;

	codec_read(request, &open_in_root_layout, &asked);
	if (decoder_end(request) < 0)
		return -EBADMSG;
	return open_found(root_fd, asked.pid, asked.path, FILE_SYSTEM_LAYERS);
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
