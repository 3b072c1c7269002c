/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/reports/reports.h"

#include "base/clock.h"
#include "base/outfile.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "target/login_users.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

static const char *const prefixes[REPORT_KINDS] = {
	[REPORT_TRACE] = "trace-",
	[REPORT_DEATH] = "death-",
};

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			      "0123456789-._";

char *report_name(enum report_kind kind, time_t now, uint64_t number, pid_t pid, const char *comm,
		  const char *format)
{
	_cleanup_strbuf_ struct strbuf name = {};
	char stamp[32];
	struct tm tm;

	if (!gmtime_r(&now, &tm) || strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", &tm) == 0)
		return NULL;
	strbuf_addf(&name, "%s%s-%" PRIu64 "-%d-", prefixes[kind], stamp, number, (int)pid);
	for (; *comm; comm++)
		strbuf_addch(&name, strchr(letters, *comm) ? *comm : '_');
	strbuf_addf(&name, ".%s", strcmp(format, "pprof") == 0 ? "pb.gz" : format);
	if (strbuf_error(&name))
		return NULL;
	return strdup(strbuf_str(&name));
}

static bool is_name(const char *name)
{
	for (size_t i = 0; i < REPORT_KINDS; i++)
		if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
			return name[strspn(name, letters)] == '\0';
	return false;
}

static int by_age(const void *a, const void *b)
{
	const struct report_row *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? 1 : -1;
	return strcmp(y->name, x->name);
}

typedef VEC(struct report_row) row_vec;

static void rows_done(row_vec *rows)
{
	vec_foreach(rows, row)
		free(row->name);
	vec_done(rows);
}

static int add_row(row_vec *rows, const char *name, const struct stat *st)
{
	struct report_row row = { .name = strdup(name),
				  .bytes = (uint64_t)st->st_size,
				  .time = st->st_mtime,
				  .uid = st->st_uid };
	int r = row.name ? vec_push(rows, row) : -ENOMEM;

	if (r < 0)
		free(row.name);
	return r;
}

int reports_list(const struct service_config *config, struct report_rows *ret_rows)
{
	_cleanup_closedir_ DIR *folder = opendir(config->state_directory);
	const struct dirent *entry;
	row_vec rows = {};
	int r = 0;

	if (!folder && errno != ENOENT)
		return -errno;
	while (r == 0 && folder && (entry = readdir(folder))) {
		struct stat st;

		if (is_name(entry->d_name) &&
		    fstatat(dirfd(folder), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(st.st_mode))
			r = add_row(&rows, entry->d_name, &st);
	}
	if (r < 0) {
		rows_done(&rows);
		return r;
	}
	vec_sort(&rows, by_age);
	*ret_rows = (struct report_rows){ .rows = rows.data, .n_rows = rows.len };
	return 0;
}

void report_rows_done(struct report_rows *rows)
{
	for (size_t i = 0; i < rows->n_rows; i++)
		free(rows->rows[i].name);
	free(rows->rows);
	*rows = (struct report_rows){};
}

/* malloc'ed */
static char *path_of(const struct service_config *config, const char *name)
{
	_cleanup_strbuf_ struct strbuf path = {};

	strbuf_addf(&path, "%s/%s", config->state_directory, name);
	return strbuf_error(&path) ? NULL : strdup(strbuf_str(&path));
}

/* It may have gone meanwhile. */
static int remove_report(const struct service_config *config, const char *name)
{
	_cleanup_free_ char *path = path_of(config, name);

	if (!path)
		return -ENOMEM;
	return unlink(path) && errno != ENOENT ? -errno : 0;
}

int reports_expire(const struct service_config *config, time_t now)
{
	struct report_rows rows;
	int first = 0, r = reports_list(config, &rows);

	if (r < 0)
		return r;
	for (size_t i = 0; i < rows.n_rows; i++) {
		const struct report_row *row = &rows.rows[i];

		if (row->time > now ||
		    (uint64_t)(now - row->time) * SECOND_NS <= config->max_age_ns)
			continue;
		r = remove_report(config, row->name);
		first = first ? first : r;
	}
	report_rows_done(&rows);
	return first;
}

/* Of this user's: no user can have others' go. `kept` stays, whatever its size. */
static int make_room(const struct service_config *config, struct login_users *users,
		     const char *kept, uid_t uid)
{
	uid_t person = login_users_find(users, uid);
	struct report_rows rows;
	uint64_t bytes = 0, n = 0;
	int r = reports_list(config, &rows);

	if (r < 0)
		return r;
	for (size_t i = 0; r == 0 && i < rows.n_rows; i++) {
		if (login_users_find(users, rows.rows[i].uid) != person)
			continue;
		bytes += rows.rows[i].bytes;
		if (strcmp(rows.rows[i].name, kept) == 0 ||
		    (++n < config->max_reports && bytes <= config->max_state_size))
			continue;
		r = remove_report(config, rows.rows[i].name);
	}
	report_rows_done(&rows);
	return r;
}

int reports_make_directory(const struct service_config *config)
{
	struct stat st;

	if (mkdir(config->state_directory, 0700) == 0)
		return 1;
	if (errno != EEXIST || stat(config->state_directory, &st))
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	return access(config->state_directory, W_OK | X_OK) ? -errno : 0;
}

int reports_write(const struct service_config *config, struct login_users *users, const char *name,
		  uid_t uid, const struct report_format *format, const struct view *view)
{
	_cleanup_free_ char *path = path_of(config, name);
	_cleanup_(outfile_free_p) struct outfile *file = NULL;
	int r;

	if (!path)
		return -ENOMEM;
	if (mkdir(config->state_directory, 0700) && errno != EEXIST)
		return -errno;
	r = outfile_new(path, (uid_t)-1, (gid_t)-1, &file);
	/* make_room() leaves the newest, which users could have fill the disk. */
	if (r == 0 && uid != geteuid())
		outfile_limit(file, config->max_state_size);
	if (r == 0)
		r = outfile_error(file,
				  report_format_write(format, view, NULL, outfile_stream(file)));
	if (r == 0)
		r = outfile_commit(file);
	/* It says whose it is; the folder is ours alone. */
	if (r == 0 && lchown(path, uid, (gid_t)-1))
		r = -errno;
	return r ? r : make_room(config, users, name, uid);
}

int reports_open(const struct service_config *config, const char *name, struct stat *ret_st)
{
	_cleanup_free_ char *path = NULL;
	_cleanup_close_ int fd = -1;

	if (!is_name(name))
		return -ENOENT;
	path = path_of(config, name);
	if (!path)
		return -ENOMEM;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 || fstat(fd, ret_st))
		return -errno;
	if (!S_ISREG(ret_st->st_mode))
		return -ENOENT;
	return TAKE_FD(fd);
}
