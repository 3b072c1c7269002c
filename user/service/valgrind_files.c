/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/valgrind_files.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "config/words.h"
#include "target/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME ".valgrindrc"
#define MOST_BYTES (1u << 20)

/* As Valgrind has it since CVE-2008-4865: others would choose the options. */
static bool is_own(const struct stat *st)
{
	uid_t uid;
	gid_t gid;

	invoking_user(&uid, &gid);
	return st->st_uid == geteuid() || st->st_uid == uid;
}

static bool is_own_file(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && !(st.st_mode & S_IWOTH) && is_own(&st);
}

/* Another's link chooses among our files. */
static bool has_own_name(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && is_own(&st);
}

/* Each text by itself: a quote that is left open ends with it. 0 or -ENOMEM. */
static int add_words(const char *text, char ***words)
{
	char **more, **all;
	size_t n = 0, n_more = 0;
	int r = words_split_plain(text, &more);

	if (r < 0)
		return r;
	while (*words && (*words)[n])
		n++;
	while (more[n_more])
		n_more++;
	all = reallocarray(*words, n + n_more + 1, sizeof(*all));
	if (!all) {
		words_free(more);
		return -ENOMEM;
	}
	memcpy(all + n, more, (n_more + 1) * sizeof(*all));
	free(more);
	*words = all;
	return 0;
}

/* What is not there is nothing. */
static int add_file(char ***words, const char *folder)
{
	_cleanup_strbuf_ struct strbuf path = { 0 }, read = { 0 };
	_cleanup_close_ int fd = -1;
	int r;

	strbuf_addf(&path, "%s/" NAME, folder);
	if (strbuf_error(&path) < 0)
		return strbuf_error(&path);
	/* Not waiting for the other end of a pipe. */
	fd = open(strbuf_str(&path), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return 0;
	if (!has_own_name(strbuf_str(&path)) || !is_own_file(fd)) {
		log_warning("%s: not read, as it is not a regular file, not yours, or writable by "
			    "all",
			    strbuf_str(&path));
		return 0;
	}
	r = strbuf_read(&read, fd, MOST_BYTES);
	if (r < 0 && r != -ENOMEM)
		log_warning("%s: not read: %s", strbuf_str(&path), strerror(-r));
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	return add_words(strbuf_str(&read), words);
}

/* What the home has is not read twice. */
static bool is_home(const char *home)
{
	_cleanup_free_ char *folder = getcwd(NULL, 0);

	return home && folder && strcmp(home, folder) == 0;
}

int valgrind_files_read(char ***ret_words)
{
	const char *home = getenv("HOME"), *options = getenv("VALGRIND_OPTS");
	char **words = NULL;
	int r = home ? add_file(&words, home) : 0;

	if (r == 0)
		r = add_words(options ? options : "", &words);
	if (r == 0 && home && !is_home(home))
		r = add_file(&words, ".");
	if (r < 0) {
		words_free(words);
		return r;
	}
	*ret_words = words;
	return 0;
}
