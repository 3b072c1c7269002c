/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/cgroup_memory.h"

#include "base/cleanup.h"
#include "target/proc_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* As process_list's. */
#define DEPTH 64
#define SMALL_FILE 4096
/* A process is in one cgroup of each hierarchy, and a path has at most PATH_MAX. */
#define MEMBERSHIP_MAX (1U << 20)
/* What version 1 has for no limit is LONG_MAX by pages (mm/memcontrol.c: PAGE_COUNTER_MAX). */
#define V1_NO_LIMIT (UINT64_C(1) << 62)
#define HOST_PRESSURE "/proc/pressure/memory"

/* --- parsers --------------------------------------------------------------------------------- */

int cgroup_parse_bytes(const char *text, uint64_t *ret_bytes)
{
	uint64_t bytes;
	int end = 0;

	if (strncmp(text, "max", 3) == 0) {
		*ret_bytes = CGROUP_NO_LIMIT;
		return 0;
	}
	if (*text < '0' || *text > '9' || sscanf(text, "%" SCNu64 "%n", &bytes, &end) != 1 ||
	    (text[end] != '\n' && text[end] != '\0'))
		return -EBADMSG;
	*ret_bytes = bytes >= V1_NO_LIMIT ? CGROUP_NO_LIMIT : bytes;
	return 0;
}

int cgroup_parse_pressure(const char *text, uint32_t *ret_pressure)
{
	unsigned int percent, hundredths;

	/* "some avg10=0.00 avg60=..."; the kernel writes two digits (kernel/sched/psi.c). */
	if (sscanf(text, "some avg10=%3u.%2u ", &percent, &hundredths) != 2)
		return -EBADMSG;
	*ret_pressure = percent * 100 + hundredths;
	return 0;
}

int cgroup_parse_oom_kills(const char *text, uint64_t *ret_kills)
{
	static const char key[] = "oom_kill ";

	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line != '\0')
		if (strncmp(line, key, sizeof(key) - 1) == 0)
			return sscanf(line + sizeof(key) - 1, "%" SCNu64, ret_kills) == 1 ?
				       0 :
				       -EBADMSG;
	return -ENOENT;
}

/* "4:memory:/path", "3:cpu,memory:/path"; of version 2 "0::/path". */
static bool is_of_memory(const char *controllers, size_t len, int version)
{
	const char *end = controllers + len;

	if (version == 2)
		return len == 0;
	while (controllers < end) {
		size_t n = strcspn(controllers, ",:");

		if (n == 6 && strncmp(controllers, "memory", 6) == 0)
			return true;
		controllers += n + 1;
	}
	return false;
}

int cgroup_parse_membership(const char *text, int version, struct strbuf *name)
{
	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line != '\0') {
		const char *end = line + strcspn(line, "\n");
		const char *controllers = memchr(line, ':', (size_t)(end - line)), *path;

		controllers = controllers ? controllers + 1 : end;
		path = memchr(controllers, ':', (size_t)(end - controllers));
		if (!path || path[1] != '/')
			return -EBADMSG;
		if (!is_of_memory(controllers, (size_t)(path - controllers), version))
			continue;
		strbuf_add(name, path + 1, (size_t)(end - path - 1));
		return strbuf_error(name);
	}
	return -ENOENT;
}

/* --- where they are -------------------------------------------------------------------------- */

static bool has_option(const char *options, const char *name)
{
	size_t len = strlen(name);

	for (; *options; options += strcspn(options, ","), options += *options == ',')
		if (strncmp(options, name, len) == 0 &&
		    (options[len] == ',' || options[len] == '\0'))
			return true;
	return false;
}

void cgroup_root_find(const char *mounts, bool (*has_memory)(const char *path), struct strbuf *path)
{
	char at[1024], type[64], options[1024];

	for (const char *line = mounts; *line; line += strcspn(line, "\n"), line += *line != '\0') {
		if (sscanf(line, "%*s %1023s %63s %1023s", at, type, options) != 3)
			continue;
		if (strcmp(type, "cgroup2") == 0 && has_memory(at)) {
			strbuf_reset(path);
			strbuf_adds(path, at);
			return;
		}
		if (strcmp(type, "cgroup") == 0 && has_option(options, "memory") && path->len == 0)
			strbuf_adds(path, at);
	}
}

static int read_at(int folder, const char *name, struct strbuf *text)
{
	_cleanup_close_ int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char buf[SMALL_FILE];
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, buf, sizeof(buf));
	if (n < 0)
		return errno == ENODEV ? -ENOENT : -errno; /* removed meanwhile */
	strbuf_reset(text);
	strbuf_add(text, buf, (size_t)n);
	return strbuf_error(text);
}

static bool has_memory_controller(const char *path)
{
	_cleanup_close_ int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_strbuf_ struct strbuf text = {};

	return folder >= 0 && read_at(folder, "cgroup.controllers", &text) == 0 &&
	       strstr(strbuf_str(&text), "memory");
}

int cgroup_root_of_host(struct strbuf *path)
{
	_cleanup_strbuf_ struct strbuf mounts = {};
	int r = proc_file_read(getpid(), "mounts", MEMBERSHIP_MAX, &mounts);

	if (r < 0)
		return r;
	cgroup_root_find(strbuf_str(&mounts), has_memory_controller, path);
	return strbuf_error(path) ? -ENOMEM : path->len == 0 ? -ENOENT : 0;
}

int cgroup_root_version(const char *root)
{
	_cleanup_close_ int folder = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (folder < 0)
		return -errno;
	if (faccessat(folder, "cgroup.controllers", F_OK, 0) == 0)
		return 2;
	return faccessat(folder, "memory.usage_in_bytes", F_OK, 0) == 0 ? 1 : -ENOENT;
}

/* --- all of them ----------------------------------------------------------------------------- */

struct listing {
	struct strbuf *names;
	struct strbuf path;
	size_t n, most, left_out;
};

/* What cannot be opened was removed. */
static int list_below(struct listing *listing, int folder, unsigned int depth)
{
	_cleanup_closedir_ DIR *dir = NULL;
	size_t len = listing->path.len;
	const struct dirent *entry;
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;

	if (fd < 0)
		return errno == ENOENT || errno == ENODEV ? 0 : -errno;
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return -ENOMEM;
	}
	if (listing->n == listing->most) {
		listing->left_out++;
	} else {
		strbuf_addf(listing->names, "%s", len ? strbuf_str(&listing->path) : "/");
		strbuf_addch(listing->names, '\0');
		listing->n++;
	}
	while (r == 0 && (entry = readdir(dir))) {
		_cleanup_close_ int below = -1;

		if (entry->d_type != DT_DIR || *entry->d_name == '.')
			continue;
		if (depth == 0)
			return -ELOOP;
		below = openat(folder, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (below < 0)
			continue;
		strbuf_addf(&listing->path, "/%s", entry->d_name);
		r = list_below(listing, below, depth - 1);
		if (strbuf_error(&listing->path))
			return -ENOMEM;
		listing->path.len = len;
		listing->path.data[len] = '\0';
	}
	return r;
}

ssize_t cgroup_list(const char *root, size_t most, struct strbuf *names, size_t *ret_left_out)
{
	_cleanup_close_ int folder = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct listing listing = { .names = names, .most = most };
	int r = folder < 0 ? -errno : list_below(&listing, folder, DEPTH);

	strbuf_done(&listing.path);
	if (r == 0)
		r = strbuf_error(names);
	if (r < 0)
		return r;
	*ret_left_out = listing.left_out;
	return (ssize_t)listing.n;
}

/* --- one of them ----------------------------------------------------------------------------- */

static int read_bytes(int folder, const char *name, struct strbuf *text, uint64_t *ret_bytes)
{
	int r = read_at(folder, name, text);

	return r ? r : cgroup_parse_bytes(strbuf_str(text), ret_bytes);
}

/* A kernel may be built without, or started with psi=0: then the files give EOPNOTSUPP. */
static uint32_t read_pressure(int folder, bool is_root, struct strbuf *text)
{
	uint32_t pressure;
	int r = read_at(folder, "memory.pressure", text);

	if (r < 0 && is_root)
		r = read_at(AT_FDCWD, HOST_PRESSURE, text);
	return r == 0 && cgroup_parse_pressure(strbuf_str(text), &pressure) == 0 ?
		       pressure :
		       CGROUP_NO_PRESSURE;
}

int cgroup_memory_read(const char *root, int version, const char *name,
		       struct cgroup_memory *ret_memory)
{
	struct cgroup_memory memory = { .max_bytes = CGROUP_NO_LIMIT };
	_cleanup_strbuf_ struct strbuf text = {};
	_cleanup_close_ int folder = -1;
	bool is_root = strcmp(name, "/") == 0;
	int r;

	strbuf_addf(&text, "%s%s", root, name);
	if (strbuf_error(&text))
		return -ENOMEM;
	folder = open(strbuf_str(&text), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return -errno;
	r = read_bytes(folder, version == 2 ? "memory.current" : "memory.usage_in_bytes", &text,
		       &memory.current_bytes);
	if (r == 0)
		r = read_bytes(folder, version == 2 ? "memory.max" : "memory.limit_in_bytes", &text,
			       &memory.max_bytes);
	/* A group below which the controller is not turned on has pressure all the same. */
	if (r < 0 && (r != -ENOENT || version != 2))
		return r;
	memory.pressure = read_pressure(folder, is_root, &text);
	if (r == -ENOENT && memory.pressure == CGROUP_NO_PRESSURE)
		return r;
	*ret_memory = memory;
	return 0;
}

int cgroup_memory_current(const char *root, int version, const char *name, uint64_t *ret_bytes)
{
	_cleanup_strbuf_ struct strbuf path = {}, text = {};

	strbuf_addf(&path, "%s%s/%s", root, name,
		    version == 2 ? "memory.current" : "memory.usage_in_bytes");
	if (strbuf_error(&path))
		return -ENOMEM;
	return read_bytes(AT_FDCWD, strbuf_str(&path), &text, ret_bytes);
}

int cgroup_of_process(pid_t pid, int version, struct strbuf *name)
{
	_cleanup_strbuf_ struct strbuf text = {};
	int r = proc_file_read(pid, "cgroup", MEMBERSHIP_MAX, &text);

	return r ? r : cgroup_parse_membership(strbuf_str(&text), version, name);
}

int cgroup_oom_kills_around(pid_t pid, uint64_t *ret_kills)
{
	_cleanup_strbuf_ struct strbuf path = {}, name = {}, text = {};
	_cleanup_close_ int folder = -1;
	int version = 0, r = cgroup_root_of_host(&path);

	if (r == 0)
		r = version = cgroup_root_version(strbuf_str(&path));
	if (r > 0)
		r = cgroup_of_process(pid, version, &name);
	if (r == 0 && strcmp(strbuf_str(&name), "/") == 0)
		r = -ENOENT;
	strbuf_adds(&path, strbuf_str(&name));
	if (r == 0)
		r = strbuf_error(&path);
	if (r < 0)
		return r;
	folder = open(strbuf_str(&path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return -errno;
	r = read_at(folder, version == 2 ? "memory.events" : "memory.oom_control", &text);
	return r ? r : cgroup_parse_oom_kills(strbuf_str(&text), ret_kills);
}
