/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/path_walk.h"

#include "base/cleanup.h"
#include "base/file_system.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

/* As the kernel's MAXSYMLINKS. */
#define MOST_LINKS 40
#define MOST_PLACES 128

struct walk {
	const struct path_rules *rules;
	const void *userdata;
	/* From the root on, to which ".." returns; out of a root: only the last. */
	int places[MOST_PLACES];
	size_t n_places;
	unsigned int n_links;
	char rest[2 * PATH_MAX]; /* to be walked yet */
};

static void pop_to(struct walk *walk, size_t n)
{
	while (walk->n_places > n)
		close(walk->places[--walk->n_places]);
}

static void walk_done(struct walk *walk)
{
	pop_to(walk, 0);
}

/* Owns fd. */
static int push_place(struct walk *walk, int fd)
{
	if (fd < 0)
		return -errno;
	if (!walk->rules->in_root)
		pop_to(walk, 0);
	if (walk->n_places == MOST_PLACES) {
		close(fd);
		return -ENAMETOOLONG;
	}
	walk->places[walk->n_places++] = fd;
	return 0;
}

/* Removes the next name from the rest. 1; 0: there is none; negative errno. */
static int next_name(struct walk *walk, char name[NAME_MAX + 1])
{
	size_t skip = strspn(walk->rest, "/"), len = strcspn(walk->rest + skip, "/");

	if (len > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(name, walk->rest + skip, len);
	name[len] = '\0';
	skip += len;
	memmove(walk->rest, walk->rest + skip, strlen(walk->rest + skip) + 1);
	return len > 0;
}

/* Puts the link's text in front of the rest, which is empty or begins with a slash. */
static int follow_link(struct walk *walk, int link_fd)
{
	char text[PATH_MAX];
	ssize_t n = readlinkat(link_fd, "", text, sizeof(text));
	size_t rest = strlen(walk->rest);

	if (n <= 0)
		return n < 0 ? -errno : -ENOENT;
	if ((size_t)n == sizeof(text) || (size_t)n + rest + 1 > sizeof(walk->rest))
		return -ENAMETOOLONG;
	memmove(walk->rest + n, walk->rest, rest + 1);
	memcpy(walk->rest, text, (size_t)n);
	if (text[0] != '/')
		return 0;
	if (!walk->rules->in_root)
		return push_place(walk, open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
	pop_to(walk, 1);
	return 0;
}

static int step_to(struct walk *walk, const char *name)
{
	const struct path_rules *rules = walk->rules;
	int at = walk->places[walk->n_places - 1], r;
	_cleanup_close_ int fd = -1;
	struct stat st;

	r = rules->check_folder ? rules->check_folder(at, walk->userdata) : 0;
	if (r < 0)
		return r;
	fd = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = file_status(fd, &st);
	if (r < 0)
		return r;
	if (S_ISLNK(st.st_mode)) {
		r = rules->check_link(fd, &st, walk->userdata);
		if (r == PATH_FOLLOW_BY_KERNEL)
			return push_place(walk, openat(at, name, O_PATH | O_CLOEXEC));
		if (r == PATH_FOLLOW && ++walk->n_links > MOST_LINKS)
			return -ELOOP;
		return r < 0 ? r : follow_link(walk, fd);
	}
	if (walk->rest[strspn(walk->rest, "/")] && !S_ISDIR(st.st_mode))
		return -ENOTDIR;
	return push_place(walk, TAKE_FD(fd));
}

int path_walk(int fd, const char *path, const struct path_rules *rules, const void *userdata)
{
	_cleanup_(walk_done) struct walk walk = { .rules = rules, .userdata = userdata };
	char name[NAME_MAX + 1];
	int r;

	if (strlen(path) >= PATH_MAX)
		return -ENAMETOOLONG;
	strcpy(walk.rest, path);
	r = push_place(&walk, fcntl(fd, F_DUPFD_CLOEXEC, 0));
	while (r == 0 && (r = next_name(&walk, name)) > 0) {
		r = 0;
		if (rules->in_root && strcmp(name, "..") == 0)
			pop_to(&walk, walk.n_places > 1 ? walk.n_places - 1 : 1);
		else if (strcmp(name, ".") != 0)
			r = step_to(&walk, name);
	}
	return r < 0 ? r : walk.places[--walk.n_places];
}
