/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/kernel/tracefs.h"

#include "base/cleanup.h"
#include "config/near_name.h"
#include "trace/bpf/detached_mount.h"
#include "trace/kernel/feature.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

static int mounted(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct statfs st;

	if (fd < 0)
		return -errno;
	if (fstatfs(fd, &st))
		return -errno;
	if (st.f_type != TRACEFS_MAGIC)
		return -ENOENT;
	return TAKE_FD(fd);
}

int tracefs_open(void)
{
	static const char *const paths[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };

	if (feature_left_out(FEATURE_TRACEFS))
		return -EOPNOTSUPP;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		int fd = mounted(paths[i]);

		if (fd >= 0)
			return fd;
	}
	return detached_mount("tracefs");
}

int tracefs_event_id(int tracefs_fd, const char *category, const char *name, uint32_t *ret_id)
{
	_cleanup_close_ int fd = -1;
	char path[256], text[32];
	unsigned long id;
	ssize_t n;
	char *end;

	if (snprintf(path, sizeof(path), "events/%s/%s/id", category, name) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = openat(tracefs_fd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, text, sizeof(text) - 1);
	if (n < 0)
		return -errno;
	text[n] = '\0';
	id = strtoul(text, &end, 10);
	if (end == text || id > UINT32_MAX)
		return -EBADMSG;
	*ret_id = id;
	return 0;
}

/* The longest of Linux 6.18 has 5.5 KiB. */
#define MAX_FORMAT (256 * 1024)

/* All that `fd` has; 0, -EFBIG or another negative errno. */
static int read_all(int fd, struct strbuf *text)
{
	char chunk[8192];
	ssize_t n;

	while ((n = read(fd, chunk, sizeof(chunk))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		strbuf_add(text, chunk, (size_t)n);
		if (text->len > MAX_FORMAT)
			return -EFBIG;
	}
	return strbuf_error(text);
}

int tracefs_read_format(int tracefs_fd, const char *category, const char *name,
			struct tp_format *ret_format)
{
	_cleanup_strbuf_ struct strbuf text = { 0 };
	_cleanup_close_ int fd = -1;
	char path[256];
	int r;

	if (snprintf(path, sizeof(path), "events/%s/%s/format", category, name) >=
	    (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = openat(tracefs_fd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = read_all(fd, &text);
	if (r < 0)
		return r;
	return tp_format_parse(strbuf_str(&text), text.len, ret_format);
}

static int open_folder(int dir_fd, const char *path, DIR **ret_dir)
{
	_cleanup_close_ int fd = openat(dir_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	*ret_dir = fdopendir(fd);
	if (!*ret_dir)
		return -errno;
	(void)TAKE_FD(fd); /* is the DIR's */
	return 0;
}

/* The next folder that is not "." or ".."; NULL: no more. */
static const char *next_folder(DIR *dir)
{
	const struct dirent *entry;

	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.' && entry->d_type == DT_DIR)
			return entry->d_name;
	return NULL;
}

/* Offers the events of a category that begin with `prefix`, by what is behind it. */
static int offer_events(int tracefs_fd, const char *category, const char *prefix, bool say_category,
			struct near_names *near)
{
	_cleanup_closedir_ DIR *dir = NULL;
	char path[NEAR_NAME_LEN], shown[NEAR_NAME_LEN + 256];
	const char *name;
	int r;

	if (snprintf(path, sizeof(path), "events/%s", category) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	r = open_folder(tracefs_fd, path, &dir);
	if (r < 0)
		return r;
	while ((name = next_folder(dir))) {
		if (strncmp(name, prefix, strlen(prefix)) != 0)
			continue;
		name += strlen(prefix);
		(void)snprintf(shown, sizeof(shown), "%s%s%s", say_category ? category : "",
			       say_category ? ":" : "", name); /* fits */
		near_names_offer(near, name, shown);
	}
	return 0;
}

/* Offers the categories, or, with `events`, the events of all of them. */
static int offer_categories(int tracefs_fd, bool events, struct near_names *near)
{
	_cleanup_closedir_ DIR *dir = NULL;
	const char *category;
	int r = open_folder(tracefs_fd, "events", &dir);

	while (r == 0 && (category = next_folder(dir))) {
		if (events)
			r = offer_events(tracefs_fd, category, "", true, near);
		else
			near_names_offer(near, category, category);
		if (r == -ENOENT) /* its module has just been unloaded */
			r = 0;
	}
	return r;
}

static const char *syscall_prefix(const char *category, const char *name)
{
	if (strcmp(category, "syscalls") != 0)
		return "";
	if (strncmp(name, "sys_enter_", 10) == 0)
		return "sys_enter_";
	return strncmp(name, "sys_exit_", 9) == 0 ? "sys_exit_" : "";
}

int tracefs_near_events(int tracefs_fd, const char *category, const char *name,
			struct strbuf *ret_names)
{
	const char *prefix = category ? syscall_prefix(category, name) : "";
	bool no_category = false;
	struct near_names near;
	int r;

	near_names_init(&near, name + strlen(prefix));
	if (category)
		r = offer_events(tracefs_fd, category, prefix, false, &near);
	else
		r = offer_categories(tracefs_fd, true, &near);
	if (category && (r == -ENOENT || r == -ENAMETOOLONG)) {
		no_category = true;
		near_names_init(&near, category);
		r = offer_categories(tracefs_fd, false, &near);
	}
	if (r < 0)
		return r;
	for (size_t i = 0; i < near.n; i++)
		strbuf_addf(ret_names, "%s%s", i ? ", " : "", near.best[i].shown);
	r = strbuf_error(ret_names);
	return r < 0 ? r : no_category;
}
