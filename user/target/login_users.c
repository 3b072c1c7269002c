/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/login_users.h"

#include "base/vec.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* LOGIN_NAME_MAX of Linux */
#define NAME_LEN 256
#define LINE_LEN 1024

struct range {
	char name[NAME_LEN];
	uint32_t start, count;
	uid_t user;
};

typedef VEC(struct range) range_vec;

struct login_users {
	const char *subuid_path, *passwd_path;
	pthread_mutex_t lock; /* of what follows */
	range_vec ranges;     /* by name */
	struct stat read;     /* of the file, when it was */
};

static bool parse_number(const char **at, char end, uint32_t *ret_number)
{
	char *stop;
	unsigned long long number;

	if (**at < '0' || **at > '9')
		return false;
	errno = 0;
	number = strtoull(*at, &stop, 10);
	if (errno || number > UINT32_MAX || (*stop != end && *stop != '\0'))
		return false;
	*at = *stop ? stop + 1 : stop;
	*ret_number = (uint32_t)number;
	return true;
}

/* "NAME:START:COUNT", where the name may be a uid. Others are passed over, as newuidmap does. */
static bool parse_range(char *line, struct range *ret_range)
{
	struct range range = {};
	const char *at;
	char *colon = strchr(line, ':');
	uint32_t uid;

	line[strcspn(line, "\n")] = '\0';
	if (!colon || colon == line || colon - line >= NAME_LEN)
		return false;
	memcpy(range.name, line, (size_t)(colon - line));
	at = colon + 1;
	if (!parse_number(&at, ':', &range.start) || !parse_number(&at, '\0', &range.count) || *at)
		return false;
	if (range.start == 0 || range.count == 0 || range.count - 1 > UINT32_MAX - range.start)
		return false;
	at = range.name;
	range.user = parse_number(&at, '\0', &uid) ? uid : range.start;
	*ret_range = range;
	return true;
}

/* 0 or -ENOMEM; a longer line is none. */
static int read_ranges(FILE *file, range_vec *ranges)
{
	struct range range;
	char line[LINE_LEN];
	bool goes_on = false;
	int r = 0;

	while (r == 0 && ranges->len < LOGIN_USERS_MOST_RANGES && fgets(line, sizeof(line), file)) {
		bool is_whole = !goes_on;

		goes_on = !strchr(line, '\n') && !feof(file);
		if (is_whole && !goes_on && parse_range(line, &range))
			r = vec_push(ranges, range);
	}
	return r;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct range *)a)->name, ((const struct range *)b)->name);
}

static void set_user(range_vec *ranges, const char *name, uid_t uid)
{
	struct range key = {}, *at;

	if (ranges->len == 0 || strlen(name) >= NAME_LEN)
		return;
	memcpy(key.name, name, strlen(name));
	at = bsearch(&key, ranges->data, ranges->len, sizeof(key), by_name);
	while (at && at > ranges->data && by_name(at - 1, &key) == 0)
		at--;
	for (; at && at < ranges->data + ranges->len && by_name(at, &key) == 0; at++)
		at->user = uid;
}

static void find_names(const char *passwd_path, range_vec *ranges)
{
	_cleanup_fclose_ FILE *file = fopen(passwd_path, "re");
	const struct passwd *entry;

	while (file && (entry = fgetpwent(file)))
		set_user(ranges, entry->pw_name, entry->pw_uid);
}

static bool is_unchanged(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static int read_again(struct login_users *users, const struct stat *st)
{
	_cleanup_fclose_ FILE *file = fopen(users->subuid_path, "re");
	range_vec ranges = {};
	int r = file ? read_ranges(file, &ranges) : 0;

	if (r < 0) {
		vec_done(&ranges);
		return r;
	}
	vec_sort(&ranges, by_name);
	find_names(users->passwd_path, &ranges);
	vec_done(&users->ranges);
	users->ranges = ranges;
	users->read = *st;
	return 0;
}

int login_users_new(const char *subuid_path, const char *passwd_path,
		    struct login_users **ret_users)
{
	struct login_users *users = calloc(1, sizeof(*users));

	if (!users)
		return -ENOMEM;
	users->subuid_path = subuid_path;
	users->passwd_path = passwd_path;
	(void)pthread_mutex_init(&users->lock, NULL); /* cannot fail: no attributes */
	*ret_users = users;
	return 0;
}

void login_users_free(struct login_users *users)
{
	if (!users)
		return;
	vec_done(&users->ranges);
	(void)pthread_mutex_destroy(&users->lock); /* it is not held */
	free(users);
}

static uid_t find_locked(struct login_users *users, uid_t uid)
{
	struct stat st = {};

	if (stat(users->subuid_path, &st) < 0)
		st = (struct stat){};
	if (!is_unchanged(&st, &users->read))
		(void)read_again(users, &st); /* what was known stays, and is tried again */
	vec_foreach(&users->ranges, range)
		if (range->user == uid)
			return uid;
	vec_foreach(&users->ranges, range)
		if (uid >= range->start && uid - range->start < range->count)
			return range->user;
	return uid;
}

uid_t login_users_find(struct login_users *users, uid_t uid)
{
	uid_t found = uid;

	if (!users || uid == 0)
		return uid;
	pthread_mutex_lock(&users->lock);
	found = find_locked(users, uid);
	pthread_mutex_unlock(&users->lock);
	return found;
}
