/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/report_confine.h"

#include "base/log.h"
#include "base/vec.h"
#include "config/options.h"
#include "sandbox/confine.h"
#include "target/identity.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define _cleanup_identity_ _cleanup_(identity_done)

/*
 * By the bytes of recordings: at least six times what reports of real ones take (clang, 3 million
 * allocations: 40 bytes of memory for each, and 1 s a MiB for heaptrack's format), so that only
 * records that were made for it reach them.
 */
#define BASE_BYTES (1ULL << 30)
#define DATA_BYTES_A_BYTE 256
#define BASE_CPU_SECONDS 120
#define CPU_SECONDS_A_MIB 20
/* main.c's exit status of what failed. */
#define STATUS_FAILED 2
/* What cannot be known before: of a pipe. */
#define UNKNOWN_BYTES (256ULL << 20)

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

static uint64_t size_of(FILE *file)
{
	struct stat st;

	return fstat(fileno(file), &st) == 0 && S_ISREG(st.st_mode) ? (uint64_t)st.st_size :
								      UNKNOWN_BYTES;
}

static void out_of_time(int signal)
{
	static const char text[] = "memtraced: reading a recording took more CPU time than one of "
				   "its size needs\n";

	(void)signal;
	(void)!write(STDERR_FILENO, text, sizeof(text) - 1); /* there is no other way to tell */
	_exit(STATUS_FAILED);
}

static int limit_to(int resource, rlim_t most)
{
	struct rlimit now;

	if (getrlimit(resource, &now) < 0)
		return -errno;
	/* What is lower already stays. The hard limit of CPU time kills. */
	if (now.rlim_cur > most)
		now.rlim_cur = most;
	if (now.rlim_max > most + 1)
		now.rlim_max = most + 1;
	return setrlimit(resource, &now) < 0 ? -errno : 0;
}

static int limit_by_size(FILE *const *files, size_t n)
{
	const struct sigaction action = { .sa_handler = out_of_time };
	uint64_t bytes = 0;
	int r = sigaction(SIGXCPU, &action, NULL) < 0 ? -errno : 0;

	for (size_t i = 0; i < n; i++)
		bytes += size_of(files[i]);
#if !defined(__SANITIZE_ADDRESS__) /* whose shadow memory is larger */
	if (r == 0)
		r = limit_to(RLIMIT_DATA, BASE_BYTES + DATA_BYTES_A_BYTE * bytes);
#endif
	return r ? r : limit_to(RLIMIT_CPU, BASE_CPU_SECONDS + CPU_SECONDS_A_MIB * (bytes >> 20));
}

int report_confine(const struct options *options, FILE *const *files, size_t n)
{
	VEC(char *) paths = { 0 };
	int r = limit_by_size(files, n);

	if (r == 0)
		r = become_invoking_user();
	for (size_t i = 0; i < options->n_outputs && r == 0; i++)
		if (options->outputs[i].path)
			r = vec_push(&paths, options->outputs[i].path);
	if (r == 0)
		r = confine(paths.data, paths.len, options->debuginfod);
	if (r < 0)
		log_error("cannot drop privileges before reading a recording: %s", strerror(-r));
	vec_done(&paths);
	return r;
}
