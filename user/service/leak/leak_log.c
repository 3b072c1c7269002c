/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/leak/leak_log.h"

#include "base/log.h"
#include "base/outfile.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "service/output/jobs.h"
#include "target/identity.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

struct log_text {
	char *path; /* NULL: standard error */
	struct strbuf text;
	bool is_new; /* there is more than was written */
};

struct leak_log {
	const char *path; /* with %p; NULL: standard error */
	uid_t uid;
	gid_t gid;
	VEC(struct log_text) texts;
};

static int say_failed(const char *path, int r)
{
	if (r == -ELOOP)
		log_error("cannot write %s: it is a symbolic link; name the file itself", path);
	else if (r < 0)
		log_error("cannot write %s: %s", path, strerror(-r));
	return r;
}

/* Opens and drops a file: its contents are untouched. */
static int try_path(const struct leak_log *log)
{
	_cleanup_free_ char *path = path_expand(log->path, getpid(), "leaks");
	_cleanup_(outfile_free_p) struct outfile *file = NULL;
	int r = path ? outfile_new(path, log->uid, log->gid, &file) : -ENOMEM;

	return say_failed(log->path, r);
}

int leak_log_new(const char *path, struct leak_log **ret_log)
{
	_cleanup_(leak_log_free_p) struct leak_log *log = calloc(1, sizeof(*log));
	int r;

	if (!log)
		return -ENOMEM;
	log->path = path;
	invoking_user(&log->uid, &log->gid);
	if (log->uid == geteuid())
		log->uid = (uid_t)-1;
	r = path ? try_path(log) : 0;
	if (r < 0)
		return r;
	*ret_log = TAKE_PTR(log);
	return 0;
}

void leak_log_free(struct leak_log *log)
{
	if (!log)
		return;
	vec_foreach(&log->texts, text) {
		free(text->path);
		strbuf_done(&text->text);
	}
	vec_done(&log->texts);
	free(log);
}

static struct log_text *find_text(struct leak_log *log, const char *path)
{
	vec_foreach(&log->texts, text)
		if (strcmp(text->path ? text->path : "", path ? path : "") == 0)
			return text;
	return NULL;
}

int leak_log_add(struct leak_log *log, pid_t pid, const char *text)
{
	_cleanup_free_ char *path = log->path ? path_expand(log->path, pid, "leaks") : NULL;
	struct log_text *found;
	int r = 0;

	if (log->path && !path)
		return -ENOMEM;
	found = find_text(log, path);
	if (!found) {
		r = vec_push(&log->texts, (struct log_text){ .path = path });
		if (r < 0)
			return r;
		path = NULL;
		found = &log->texts.data[log->texts.len - 1];
	}
	strbuf_adds(&found->text, text);
	found->is_new = true;
	return strbuf_error(&found->text);
}

static int write_file(const struct leak_log *log, const struct log_text *text)
{
	_cleanup_(outfile_free_p) struct outfile *file = NULL;
	int r = outfile_new(text->path, log->uid, log->gid, &file);

	if (r == 0 && fputs(strbuf_str(&text->text), outfile_stream(file)) == EOF)
		r = outfile_error(file, -EIO);
	if (r == 0)
		r = outfile_commit(file);
	return say_failed(text->path, r);
}

int leak_log_flush(struct leak_log *log)
{
	int r = 0;

	vec_foreach(&log->texts, text) {
		if (!text->is_new)
			continue;
		text->is_new = false;
		if (text->path) {
			int failed = write_file(log, text);

			r = r ? r : failed;
			continue;
		}
		/* as messages: nobody who closed standard error wants to hear of that */
		(void)fputs(strbuf_str(&text->text), stderr);
		strbuf_reset(&text->text);
	}
	return r;
}
