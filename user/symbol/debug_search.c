/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/debug_search.h"

#include "base/hex.h"
#include "symbol/debuginfod.h"
#include "target/file_helper.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define DEBUG_DIR "/usr/lib/debug"

/* Where to look, and what is wanted there: a build ID or, where it is empty, a CRC. */
struct search {
	struct worker *worker;
	const struct symbol_file *image;
	const struct file_reader *reader;
	int target_root;
	pid_t pid;     /* whose root that is; 0: ours */
	int host_root; /* -1 where the target's root is the host's, or it could not be opened */
	bool target_is_host;
	struct elf_build_id id;
	bool has_crc;
	uint32_t crc;
	uint64_t unread;
	/* The last file found: for paths relative to it. */
	int found_root;
	char found_path[PATH_MAX];
};

static bool same_file(int a, int b)
{
	struct stat x, y;

	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

static bool same_machine(const struct elf_facts *a, const struct elf_facts *b)
{
	return a->machine == b->machine && a->class == b->class;
}

/* 0 when the file is the one wanted, -ENOENT when not, -ENOMEM. */
static int check_candidate(struct search *search, const struct symbol_file *candidate)
{
	const struct elf_facts *facts = &candidate->facts;
	const struct elf_build_id *id = &facts->stamp.build_id;
	uint32_t crc = 0;
	int r;

	if (!same_machine(&search->image->facts, facts) ||
	    same_file(search->image->fd, candidate->fd))
		return -ENOENT;
	if (!facts->has_dwarf && !facts->has_symtab)
		return -ENOENT;
	if (search->id.len > 0 && (id->len > 0 || !search->has_crc))
		return elf_same_build_id(id, &search->id) ? 0 : -ENOENT;
	if (!search->has_crc)
		return -ENOENT;
	r = symbol_file_crc(search->worker, candidate, &crc);
	if (r == -EPIPE || r == -EAGAIN)
		search->unread++;
	if (r == -ENOMEM)
		return r;
	return r == 0 && crc == search->crc ? 0 : -ENOENT;
}

/* 0, -ENOENT when the file is not the one wanted or cannot be read, -ENOMEM. */
static int try_file(struct search *search, int fd, struct symbol_file *ret_file)
{
	struct symbol_file candidate = { .fd = -1 };
	int r = symbol_file_open(search->worker, fd, &candidate);

	if (r == -EPIPE || r == -EAGAIN)
		search->unread++;
	if (r == 0)
		r = check_candidate(search, &candidate);
	if (r < 0) {
		symbol_file_done(&candidate);
		return r == -ENOMEM ? r : -ENOENT;
	}
	*ret_file = candidate;
	return 0;
}

/*
 * Anybody can have such a file in a root of an own, and a build ID, or a CRC, of any image; or have
 * a file of root's there that all may write.
 */
static bool is_trusted(const struct search *search, int root, const char *path, int fd)
{
	bool is_ours = search->target_is_host || root == search->host_root;
	struct stat image, st;

	if (is_ours && strncmp(path, DEBUG_DIR "/", sizeof(DEBUG_DIR)) == 0)
		return true;
	return fstat(fd, &st) == 0 && !(st.st_mode & S_IWOTH) &&
	       (st.st_uid == 0 ||
		(fstat(search->image->fd, &image) == 0 && image.st_uid == st.st_uid));
}

/* 0, -ENOENT when the path holds nothing of use, -ENOMEM. */
static int try_path(struct search *search, int root, const char *path, struct symbol_file *ret_file)
{
	_cleanup_close_ int fd = -1;
	int r;

	if (root < 0 || strlen(path) >= sizeof(search->found_path))
		return -ENOENT;
	fd = root_open(root, root == search->target_root ? search->pid : 0, path, search->reader);
	/* -EACCES: whether there is one, and what it is, is not for the reader. */
	if (fd == -EBUSY || fd == -EREMOTE || fd == -ETIMEDOUT || fd == -EACCES)
		search->unread++;
	if (fd < 0)
		return fd == -ENOMEM ? fd : -ENOENT;
	r = try_file(search, fd, ret_file);
	if (r < 0)
		return r;
	if (!is_trusted(search, root, path, fd)) {
		symbol_file_done(ret_file);
		search->unread++;
		return -ENOENT;
	}
	search->found_root = root;
	if (path != search->found_path)
		strcpy(search->found_path, path);
	return 0;
}

static int try_build_id(struct search *search, struct symbol_file *ret_file)
{
	char path[sizeof(DEBUG_DIR "/.build-id//.debug") + 2 * ELF_MAX_BUILD_ID];
	char id[2 * ELF_MAX_BUILD_ID + 1];
	int r;

	if (search->id.len < 2)
		return -ENOENT;
	hex_text(id, search->id.bytes, search->id.len);
	(void)snprintf(path, sizeof(path), DEBUG_DIR "/.build-id/%.2s/%s.debug", id, id + 2);
	r = try_path(search, search->target_root, path, ret_file);
	return r == -ENOENT ? try_path(search, search->host_root, path, ret_file) : r;
}

static int try_debuglink(struct search *search, const char *path, struct symbol_file *ret_file)
{
	const char *name = search->image->facts.link;
	int dir_len = path[0] == '/' ? (int)(strrchr(path, '/') - path) : -1;
	struct {
		int root;
		const char *prefix, *middle;
	} places[] = {
		{ search->target_root, "", "/" },
		{ search->target_root, "", "/.debug/" },
		{ search->target_root, DEBUG_DIR, "/" },
		{ search->host_root, DEBUG_DIR, "/" },
	};
	char candidate[PATH_MAX];
	size_t i;
	int r;

	if (!name || dir_len < 0 || dir_len >= PATH_MAX)
		return -ENOENT;
	search->has_crc = true;
	search->crc = search->image->facts.link_crc;
	for (i = 0; i < sizeof(places) / sizeof(*places); i++) {
		r = snprintf(candidate, sizeof(candidate), "%s%.*s%s%s", places[i].prefix, dir_len,
			     path, places[i].middle, name);
		if (r >= PATH_MAX)
			continue;
		r = try_path(search, places[i].root, candidate, ret_file);
		if (r != -ENOENT)
			return r;
	}
	return -ENOENT;
}

/* The common file of `holder`, which search->found_path and found_root say where it lies. */
static int find_alt(struct search *search, const struct symbol_file *holder,
		    struct symbol_file *ret_alt)
{
	const char *name = holder->facts.alt, *slash;
	char path[PATH_MAX];
	int r;

	if (!name)
		return -ENOENT;
	search->id = holder->facts.alt_id;
	search->has_crc = false;
	r = try_build_id(search, ret_alt);
	if (r != -ENOENT)
		return r;
	slash = strrchr(search->found_path, '/');
	if (name[0] == '/')
		r = snprintf(path, sizeof(path), "%s", name);
	else if (slash)
		r = snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - search->found_path),
			     search->found_path, name);
	else
		return -ENOENT;
	return r < PATH_MAX ? try_path(search, search->found_root, path, ret_alt) : -ENOENT;
}

static int find_debug(struct search *search, const char *path, struct symbol_file *ret_debug)
{
	int r = try_build_id(search, ret_debug);

	return r == -ENOENT ? try_debuglink(search, path, ret_debug) : r;
}

int debug_search(struct worker *worker, const struct symbol_file *image, const char *path,
		 const char *root, const struct file_reader *reader, struct debug_files *files)
{
	_cleanup_free_ struct search *search = calloc(1, sizeof(*search));
	_cleanup_close_ int host_root = root ? open("/", O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	_cleanup_close_ int target_root = -1;
	int r = 0;

	if (!search)
		return -ENOMEM;
	if (root)
		(void)sscanf(root, "/proc/%d/root", &search->pid); /* another: no process's */
	target_root = search->pid ?
			      file_helper_open_proc(search->pid, "root", O_PATH | O_DIRECTORY) :
			      open(root ? root : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	search->worker = worker;
	search->image = image;
	search->reader = reader;
	search->target_root = target_root;
	search->host_root = host_root;
	search->target_is_host = !root;
	search->id = image->facts.stamp.build_id;
	search->found_root = target_root;
	snprintf(search->found_path, sizeof(search->found_path), "%s", path);
	if (!image->facts.has_dwarf)
		r = find_debug(search, path, &files->debug);
	if (r != -ENOMEM)
		r = find_alt(search, files->debug.fd >= 0 ? &files->debug : image, &files->alt);
	files->unread += search->unread;
	return r == -ENOMEM ? r : 0;
}

/* Whatever server answers, it must be the file that was asked for. 0, -ENOENT or -ENOMEM. */
static int fetch_one(struct search *search, const struct elf_build_id *id,
		     struct debuginfod *debuginfod, struct symbol_file *ret_file)
{
	_cleanup_close_ int fd = debuginfod_fetch(debuginfod, id->bytes, id->len);

	if (fd < 0)
		return fd == -ENOMEM ? fd : -ENOENT;
	search->id = *id;
	return try_file(search, fd, ret_file);
}

int debug_fetch(struct worker *worker, const struct symbol_file *image,
		struct debuginfod *debuginfod, struct debug_files *files)
{
	struct search search = { .worker = worker, .image = image };
	const struct symbol_file *holder;
	int r = 0;

	if (files->debug.fd < 0 && !image->facts.has_dwarf)
		r = fetch_one(&search, &image->facts.stamp.build_id, debuginfod, &files->debug);
	holder = files->debug.fd >= 0 ? &files->debug : image;
	if (r != -ENOMEM && files->alt.fd < 0 && holder->facts.alt)
		r = fetch_one(&search, &holder->facts.alt_id, debuginfod, &files->alt);
	files->unread += search.unread;
	return r == -ENOMEM ? r : 0;
}
