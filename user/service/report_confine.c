/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/report_confine.h"

#include "base/log.h"
#include "base/vec.h"
#include "config/options.h"
#include "sandbox/confine.h"
#include "sandbox/confine_calls.h"
#include "sandbox/confine_paths.h"
#include "target/identity.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define _cleanup_identity_ _cleanup_(identity_done)

/* For good: the saved ids, too. */
static int become(const struct identity *identity)
{
	if (setgroups(identity->n_groups, identity->groups) < 0 ||
	    setresgid(identity->gid, identity->gid, identity->gid) < 0 ||
	    setresuid(identity->uid, identity->uid, identity->uid) < 0)
		return -errno;
	/* What --debuginfod keeps is the user's then, too. */
	if (identity->home && setenv("HOME", identity->home, 1) < 0)
		return -errno;
	return 0;
}

static int become_invoking_user(void)
{
	_cleanup_identity_ struct identity identity = { 0 };
	int r = geteuid() == 0 ? identity_resolve(NULL, &identity) : 0;

	if (r < 0 || !identity.change || identity.uid == geteuid())
		return r;
	return become(&identity);
}

static bool is_of_another(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && st.st_uid != geteuid() && !(st.st_mode & S_IWOTH);
}

/* Would root without capabilities be refused to make or replace this file? */
static bool needs_override(const char *path)
{
	_cleanup_free_ char *folder = strdup(path);
	char *slash = folder ? strrchr(folder, '/') : NULL;

	if (slash)
		slash[slash == folder] = '\0';
	return is_of_another(path) || is_of_another(slash ? folder : ".");
}

/* What root takes to write files of others, where these were named; then no more than that. */
static int give_up_capabilities(char *const *paths, size_t n)
{
	static const int overrides[] = { CAP_DAC_OVERRIDE, CAP_FOWNER };
	bool any = false;

	for (size_t i = 0; i < n && geteuid() == 0; i++)
		any |= needs_override(paths[i]);
	return confine_capabilities_to(overrides, any ? 2 : 0);
}

static int confine(char *const *paths, size_t n, bool network)
{
	int r = give_up_capabilities(paths, n);

	tzset(); /* its file is read once */
	if (r == 0 && !network)
		r = confine_paths(paths, n, false);
	if (r == -EOPNOTSUPP) {
		log_debug("this kernel has no Landlock: a report's outputs are not confined to "
			  "their folders");
		r = 0;
	}
	return r ? r : confine_calls(network);
}

int report_confine(const struct options *options)
{
	VEC(char *) paths = { 0 };
	int r = become_invoking_user();

	for (size_t i = 0; i < options->n_outputs && r == 0; i++)
		if (options->outputs[i].path)
			r = vec_push(&paths, options->outputs[i].path);
	if (r == 0)
		r = confine(paths.data, paths.len, options->debuginfod);
	if (r < 0)
		log_error("cannot give up rights before reading a recording: %s", strerror(-r));
	vec_done(&paths);
	return r;
}
