/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/debug_search.h"

#include "symbol/debuginfod.h"
#include "symbol/elf_image.h"
#include "symbol/root_open.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#define DEBUG_DIR "/usr/lib/debug"
#define MAX_LINK_BYTES (64 << 10)
/* Reading a whole file for its CRC takes about a second per 2 GiB. */
#define MAX_CRC_FILE_BYTES (2LL << 30)

struct build_id {
	const uint8_t *bytes;
	size_t len;
};

/* Where to look, and what is wanted there: a build ID or, where it is empty, a CRC. */
struct search {
	const struct elf_image *image;
	int target_root;
	int host_root; /* -1 where the target's root is the host's */
	struct build_id id;
	bool has_crc;
	uint32_t crc;
	/* The last file found: for paths relative to it. */
	int found_root;
	char found_path[PATH_MAX];
};

static int file_crc(int fd, uint32_t *ret_crc)
{
	static const size_t chunk = 64 << 10;
	_cleanup_free_ uint8_t *buf = malloc(chunk);
	uLong crc = crc32(0, NULL, 0);
	struct stat st;
	off_t at = 0;
	ssize_t n;

	if (!buf)
		return -ENOMEM;
	if (fstat(fd, &st) < 0 || st.st_size > MAX_CRC_FILE_BYTES)
		return -EFBIG;
	while (at < st.st_size) {
		n = pread(fd, buf, chunk, at);
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		crc = crc32(crc, buf, (uInt)n);
		at += n;
	}
	*ret_crc = (uint32_t)crc;
	return 0;
}

static bool same_file(int a, int b)
{
	struct stat x, y;

	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

static bool same_machine(const struct elf_image *a, const struct elf_image *b)
{
	GElf_Ehdr x, y;

	return gelf_getehdr(elf_image_elf(a), &x) && gelf_getehdr(elf_image_elf(b), &y) &&
	       x.e_machine == y.e_machine && x.e_ident[EI_CLASS] == y.e_ident[EI_CLASS];
}

/* 0 when the file is the one wanted, -ENOENT when not, -ENOMEM. */
static int check_candidate(const struct search *search, const struct elf_image *candidate)
{
	struct build_id id = {};
	uint32_t crc = 0;
	int r;

	if (!same_machine(search->image, candidate) ||
	    same_file(elf_image_fd(search->image), elf_image_fd(candidate)))
		return -ENOENT;
	if (!elf_image_has_dwarf(candidate) && !elf_image_section(candidate, NULL, SHT_SYMTAB))
		return -ENOENT;
	id.len = elf_image_build_id(candidate, &id.bytes);
	if (search->id.len > 0 && (id.len > 0 || !search->has_crc))
		return id.len == search->id.len && memcmp(id.bytes, search->id.bytes, id.len) == 0 ?
			       0 :
			       -ENOENT;
	if (!search->has_crc)
		return -ENOENT;
	r = file_crc(elf_image_fd(candidate), &crc);
	if (r == -ENOMEM)
		return r;
	return r == 0 && crc == search->crc ? 0 : -ENOENT;
}

/* 0, -ENOENT when the path holds nothing of use, -ENOMEM. */
static int try_path(struct search *search, int root, const char *path, struct elf_image **ret_image)
{
	_cleanup_(elf_image_free_p) struct elf_image *candidate = NULL;
	_cleanup_close_ int fd = -1;
	int r;

	if (root < 0 || strlen(path) >= sizeof(search->found_path))
		return -ENOENT;
	fd = root_open(root, path);
	if (fd < 0)
		return fd == -ENOMEM ? fd : -ENOENT;
	r = elf_image_open(fd, &candidate);
	if (r == 0)
		r = check_candidate(search, candidate);
	if (r < 0)
		return r == -ENOMEM ? r : -ENOENT;
	search->found_root = root;
	if (path != search->found_path)
		strcpy(search->found_path, path);
	*ret_image = TAKE_PTR(candidate);
	return 0;
}

static int try_build_id(struct search *search, struct elf_image **ret_image)
{
	char path[sizeof(DEBUG_DIR "/.build-id//.debug") + 2 * ELF_IMAGE_MAX_BUILD_ID];
	char *p = path;
	size_t i;
	int r;

	if (search->id.len < 2)
		return -ENOENT;
	p += sprintf(p, DEBUG_DIR "/.build-id/%02x/", search->id.bytes[0]);
	for (i = 1; i < search->id.len; i++)
		p += sprintf(p, "%02x", search->id.bytes[i]);
	strcpy(p, ".debug");
	r = try_path(search, search->target_root, path, ret_image);
	return r == -ENOENT ? try_path(search, search->host_root, path, ret_image) : r;
}

/* The link's name, and its CRC in the search; NULL when there is none or it is malformed. */
static const char *read_debuglink(struct search *search)
{
	Elf_Scn *scn = elf_image_section(search->image, ".gnu_debuglink", SHT_NULL);
	Elf_Data *data = scn ? elf_image_data(scn, MAX_LINK_BYTES) : NULL;
	size_t len, crc_at;

	if (!data)
		return NULL;
	len = strnlen(data->d_buf, data->d_size);
	crc_at = (len + 1 + 3) & ~(size_t)3;
	if (len == 0 || len > NAME_MAX || crc_at + 4 > data->d_size ||
	    memchr(data->d_buf, '/', len))
		return NULL;
	memcpy(&search->crc, (const char *)data->d_buf + crc_at, 4);
	search->has_crc = true;
	return data->d_buf;
}

static int try_debuglink(struct search *search, const char *path, struct elf_image **ret_image)
{
	const char *name = read_debuglink(search);
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
	for (i = 0; i < sizeof(places) / sizeof(*places); i++) {
		r = snprintf(candidate, sizeof(candidate), "%s%.*s%s%s", places[i].prefix, dir_len,
			     path, places[i].middle, name);
		if (r >= PATH_MAX)
			continue;
		r = try_path(search, places[i].root, candidate, ret_image);
		if (r != -ENOENT)
			return r;
	}
	return -ENOENT;
}

/* The name of the common file of `holder`, and its build ID; NULL when it has none. */
static const char *read_altlink(const struct elf_image *holder, struct build_id *ret_id)
{
	Elf_Scn *scn = elf_image_section(holder, ".gnu_debugaltlink", SHT_NULL);
	Elf_Data *data = scn ? elf_image_data(scn, MAX_LINK_BYTES) : NULL;
	const char *name;
	size_t len;

	if (!data)
		return NULL;
	name = data->d_buf;
	len = strnlen(name, data->d_size);
	if (len == 0 || len == data->d_size)
		return NULL;
	*ret_id = (struct build_id){ (const uint8_t *)name + len + 1, data->d_size - len - 1 };
	return ret_id->len < 2 || ret_id->len > ELF_IMAGE_MAX_BUILD_ID ? NULL : name;
}

/* The common file of `holder`, which search->found_path and found_root say where it lies. */
static int find_alt(struct search *search, const struct elf_image *holder,
		    struct elf_image **ret_alt)
{
	const char *name = read_altlink(holder, &search->id), *slash;
	char path[PATH_MAX];
	int r;

	if (!name)
		return -ENOENT;
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

static int find_debug(struct search *search, const char *path, struct elf_image **ret_debug)
{
	int r = try_build_id(search, ret_debug);

	return r == -ENOENT ? try_debuglink(search, path, ret_debug) : r;
}

int debug_search(const struct elf_image *image, const char *path, const char *root,
		 struct elf_image **ret_debug, struct elf_image **ret_alt)
{
	_cleanup_(elf_image_free_p) struct elf_image *debug = NULL, *alt = NULL;
	_cleanup_close_ int target_root = open(root ? root : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int host_root = root ? open("/", O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	_cleanup_free_ struct search *search = calloc(1, sizeof(*search));
	int r = -ENOENT;

	if (!search)
		return -ENOMEM;
	search->image = image;
	search->target_root = target_root;
	search->host_root = host_root;
	search->id.len = elf_image_build_id(image, &search->id.bytes);
	search->found_root = target_root;
	snprintf(search->found_path, sizeof(search->found_path), "%s", path);
	if (!elf_image_has_dwarf(image))
		r = find_debug(search, path, &debug);
	if (r != -ENOMEM)
		r = find_alt(search, debug ? debug : image, &alt);
	if (r == -ENOMEM)
		return r;
	*ret_debug = TAKE_PTR(debug);
	*ret_alt = TAKE_PTR(alt);
	return 0;
}

/* Whoever answers, it must be the file that was asked for. 0, -ENOENT or -ENOMEM. */
static int fetch_one(const struct elf_image *image, const struct build_id *id,
		     struct debuginfod *debuginfod, struct elf_image **ret_image)
{
	_cleanup_(elf_image_free_p) struct elf_image *candidate = NULL;
	_cleanup_close_ int fd = debuginfod_fetch(debuginfod, id->bytes, id->len);
	const struct search search = { .image = image, .id = *id };
	int r;

	if (fd < 0)
		return fd == -ENOMEM ? fd : -ENOENT;
	r = elf_image_open(fd, &candidate);
	if (r == 0)
		r = check_candidate(&search, candidate);
	if (r < 0)
		return r == -ENOMEM ? r : -ENOENT;
	*ret_image = TAKE_PTR(candidate);
	return 0;
}

int debug_fetch(const struct elf_image *image, struct debuginfod *debuginfod,
		struct elf_image **debug, struct elf_image **alt)
{
	struct build_id id = {};
	int r = 0;

	if (!*debug && !elf_image_has_dwarf(image)) {
		id.len = elf_image_build_id(image, &id.bytes);
		r = fetch_one(image, &id, debuginfod, debug);
	}
	if (r != -ENOMEM && !*alt && read_altlink(*debug ? *debug : image, &id))
		r = fetch_one(image, &id, debuginfod, alt);
	return r == -ENOMEM ? r : 0;
}
