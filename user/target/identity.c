/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/identity.h"

#include "base/cleanup.h"
#include "base/vec.h"

#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef VEC(char *) string_vec;

/* All digits, and not the "no change" value of setuid(2). */
static bool parse_id(const char *text, uint32_t *ret_id)
{
	unsigned long value;
	char *end;

	if (!text || *text < '0' || *text > '9')
		return false;
	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || *end || value >= UINT32_MAX)
		return false;
	*ret_id = (uint32_t)value;
	return true;
}

static bool sudo_user(uid_t *ret_uid, gid_t *ret_gid)
{
	uint32_t uid, gid;

	if (geteuid() != 0 || !parse_id(getenv("SUDO_UID"), &uid) ||
	    !parse_id(getenv("SUDO_GID"), &gid))
		return false;
	*ret_uid = uid;
	*ret_gid = gid;
	return true;
}

void invoking_user(uid_t *ret_uid, gid_t *ret_gid)
{
	if (sudo_user(ret_uid, ret_gid))
		return;
	*ret_uid = getuid();
	*ret_gid = getgid();
}

/* Looks up by name when given, else by uid. *ret_text holds the strings of *ret_entry. */
static int find_user(const char *name, uid_t uid, struct passwd *ret_entry, char **ret_text)
{
	for (size_t size = 1024; size <= 1 << 20; size *= 2) {
		_cleanup_free_ char *text = malloc(size);
		struct passwd *found = NULL;
		int error;

		if (!text)
			return -ENOMEM;
		error = name ? getpwnam_r(name, ret_entry, text, size, &found) :
			       getpwuid_r(uid, ret_entry, text, size, &found);
		if (error == ERANGE)
			continue;
		if (found) {
			*ret_text = TAKE_PTR(text);
			return 0;
		}
		/* getpwnam(3) lists these, too, as what "not found" may look like. */
		if (error == 0 || error == ENOENT || error == ESRCH)
			return -ENODATA;
		return -error;
	}
	return -ERANGE;
}

int identity_uid(const char *user, uid_t *ret_uid)
{
	_cleanup_free_ char *text = NULL;
	struct passwd entry;
	int r = find_user(user, 0, &entry, &text);

	if (r == 0)
		*ret_uid = entry.pw_uid;
	else if (r == -ENODATA && parse_id(user, ret_uid))
		r = 0;
	return r;
}

static int find_groups(const char *name, struct identity *identity)
{
	int n = 64, room = 0;

	/* One answer says how many there are; they may become more until the next. */
	while (n > room) {
		free(identity->groups);
		room = n;
		identity->groups = calloc((size_t)room, sizeof(gid_t));
		if (!identity->groups)
			return -ENOMEM;
		if (getgrouplist(name, identity->gid, identity->groups, &n) >= 0)
			break;
	}
	identity->n_groups = (size_t)n;
	return 0;
}

static int copy_entry(const struct passwd *entry, struct identity *identity)
{
	identity->name = strdup(entry->pw_name);
	identity->home = strdup(entry->pw_dir);
	/* passwd(5): an empty field means /bin/sh. */
	identity->shell = strdup(*entry->pw_shell ? entry->pw_shell : "/bin/sh");
	if (!identity->name || !identity->home || !identity->shell)
		return -ENOMEM;
	return find_groups(entry->pw_name, identity);
}

/* A user that sudo knew but the database does not: no more than his two ids. */
static int set_own_group(struct identity *identity)
{
	identity->groups = malloc(sizeof(gid_t));
	if (!identity->groups)
		return -ENOMEM;
	identity->groups[0] = identity->gid;
	identity->n_groups = 1;
	return 0;
}

static int resolve_sudo_user(struct identity *identity)
{
	_cleanup_free_ char *text = NULL;
	struct passwd entry;
	int r;

	if (!sudo_user(&identity->uid, &identity->gid))
		return 0;
	identity->change = true;
	r = find_user(NULL, identity->uid, &entry, &text);
	if (r == -ENODATA)
		return set_own_group(identity);
	return r < 0 ? r : copy_entry(&entry, identity);
}

static int resolve_named_user(const char *run_as, struct identity *identity)
{
	_cleanup_free_ char *text = NULL;
	struct passwd entry;
	uint32_t uid;
	int r;

	r = find_user(run_as, 0, &entry, &text);
	if (r == -ENODATA && parse_id(run_as, &uid))
		r = find_user(NULL, uid, &entry, &text);
	if (r < 0)
		return r;
	if (geteuid() != 0)
		return entry.pw_uid == getuid() ? 0 : -EPERM;
	identity->change = true;
	identity->uid = entry.pw_uid;
	identity->gid = entry.pw_gid;
	return copy_entry(&entry, identity);
}

int identity_resolve(const char *run_as, struct identity *ret_identity)
{
	struct identity identity = { 0 };
	int r = run_as ? resolve_named_user(run_as, &identity) : resolve_sudo_user(&identity);

	if (r < 0) {
		identity_done(&identity);
		return r;
	}
	*ret_identity = identity;
	return 0;
}

void identity_done(struct identity *identity)
{
	free(identity->groups);
	free(identity->name);
	free(identity->home);
	free(identity->shell);
	*identity = (struct identity){ 0 };
}

/* Takes over `assignment` ("N=V", malloc'ed, NULL when that failed) in place of an older one. */
static int set_variable(string_vec *environment, char *assignment)
{
	_cleanup_free_ char *owned = assignment;
	size_t name_len;
	int r;

	if (!owned)
		return -ENOMEM;
	name_len = (size_t)(strchrnul(owned, '=') - owned) + 1;
	vec_foreach(environment, it) {
		if (strncmp(*it, owned, name_len) == 0) {
			free(*it);
			*it = TAKE_PTR(owned);
			return 0;
		}
	}
	r = vec_push(environment, owned);
	if (r == 0)
		owned = NULL;
	return r;
}

static int put_variable(string_vec *environment, const char *name, const char *value)
{
	char *assignment = NULL;

	if (!value)
		return 0;
	if (asprintf(&assignment, "%s=%s", name, value) < 0)
		return -ENOMEM;
	return set_variable(environment, assignment);
}

static int fill_environment(const struct identity *identity, char *const *base,
			    const char *const *set, string_vec *environment)
{
	const char *const variables[][2] = {
		{ "HOME", identity->home },
		{ "USER", identity->name },
		{ "LOGNAME", identity->name },
		{ "SHELL", identity->shell },
	};
	int r = 0;

	/* As it came, also what stands in it twice or is no assignment. */
	for (; r == 0 && base && *base; base++) {
		char *copy = strdup(*base);

		r = copy ? vec_push(environment, copy) : -ENOMEM;
		if (r < 0)
			free(copy);
	}
	for (size_t i = 0; r == 0 && i < sizeof(variables) / sizeof(variables[0]); i++)
		r = put_variable(environment, variables[i][0], variables[i][1]);
	for (; r == 0 && set && *set; set++) {
		if (**set == '=' || !strchr(*set, '='))
			return -EINVAL;
		r = set_variable(environment, strdup(*set));
	}
	return r;
}

int identity_environment(const struct identity *identity, char *const *base, const char *const *set,
			 char ***ret_environment)
{
	string_vec environment = { 0 };
	int r = fill_environment(identity, base, set, &environment);

	if (r == 0)
		r = vec_push(&environment, NULL);
	if (r < 0) {
		vec_foreach(&environment, it)
			free(*it);
		vec_done(&environment);
		return r;
	}
	*ret_environment = environment.data;
	return 0;
}
