/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/session/named_pids.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "target/process.h"
#include "target/process_list.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* So many are named where there are several. */
#define MOST_LISTED 8
/* Of a command, where several are listed. */
#define LISTED_COMMAND 120

/* 1, 0, or negative errno: that is not known. The kernel keeps 15 bytes of a name. */
static int is_named(pid_t pid, const char *name)
{
	char comm[16];
	_cleanup_free_ char *exe = NULL;
	const char *file;
	int r = process_comm(pid, comm);

	if (r < 0 || strncmp(comm, name, sizeof(comm) - 1) == 0)
		return r < 0 ? r : 1;
	r = process_exe(pid, &exe);
	if (r < 0)
		return r;
	file = strrchr(exe, '/');
	return strcmp(file ? file + 1 : exe, name) == 0;
}

/* Processes with memory, or those without: zombies and kernel threads. In the order of /proc. */
static int find_all(const char *name, bool has_memory, pid_vec *ret_found)
{
	pid_vec pids = { 0 };
	int r = process_list_host(&pids);
	bool said = false;

	vec_foreach(&pids, pid) {
		uint64_t bytes = 0;
		int named;

		if (r < 0 || *pid == getpid() || has_memory != (statm_rss(*pid, &bytes) == 0))
			continue;
		named = is_named(*pid, name);
		if (named == -ETIMEDOUT && !said)
			log_warning("-p %s: process %d: cannot be read in time, as its exec may "
				    "wait for a file server; it may have this name",
				    name, (int)*pid);
		said |= named == -ETIMEDOUT;
		if (named > 0)
			r = vec_push(ret_found, *pid);
	}
	vec_done(&pids);
	return r;
}

static bool is_listed(const pid_vec *pids, pid_t pid)
{
	vec_foreach(pids, other)
		if (*other == pid)
			return true;
	return false;
}

/* The one from which all others descend; 0: there is none. */
static int find_root(const pid_vec *found, pid_t *ret_root)
{
	int r = 0;

	*ret_root = 0;
	vec_foreach(found, candidate) {
		pid_vec below = { 0 };
		bool has_all = true;

		r = process_list_descendants(*candidate, getpid(), &below);
		vec_foreach(found, other)
			has_all &= *other == *candidate || is_listed(&below, *other);
		vec_done(&below);
		if (r < 0)
			return r;
		if (has_all) {
			*ret_root = *candidate;
			return 0;
		}
	}
	return 0;
}

static void log_several(const char *name, const pid_vec *found)
{
	_cleanup_strbuf_ struct strbuf list = {};

	for (size_t i = 0; i < found->len && i < MOST_LISTED; i++) {
		_cleanup_free_ char *command = NULL;

		strbuf_addf(&list, "%s%d", i ? ", " : "", (int)found->data[i]);
		if (process_command(found->data[i], &command) == 0)
			strbuf_addf(&list, " (%.*s%s)", LISTED_COMMAND, command,
				    strlen(command) > LISTED_COMMAND ? "..." : "");
	}
	log_error("-p %s: %zu processes have this name: %s%s; give one or more of these ids", name,
		  found->len, strbuf_str(&list), found->len > MOST_LISTED ? ", ..." : "");
}

static int find_one(const char *name, bool follows, pid_t *ret_pid)
{
	_cleanup_(pid_vec_done) pid_vec found = { 0 };
	int r = find_all(name, true, &found);

	*ret_pid = 0;
	/* One without memory is refused as by its id, with the reason. */
	if (r == 0 && found.len == 0) {
		r = find_all(name, false, &found);
		found.len = found.len > 0;
	}
	if (r == 0 && found.len == 1)
		*ret_pid = found.data[0];
	else if (r == 0 && found.len > 1 && follows)
		r = find_root(&found, ret_pid);
	if (r < 0)
		log_error("-p %s: cannot look for the process: %s", name, strerror(-r));
	if (r < 0 || *ret_pid)
		return r;
	if (found.len)
		log_several(name, &found);
	else
		log_error("-p %s: no process has this name; 'ps -e' lists those that run", name);
	return -ESRCH;
}

int named_pids_find(struct options *options)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < options->n_pid_names; i++) {
		pid_t pid;

		r = find_one(options->pid_names[i], !options->no_follow, &pid);
		if (r < 0)
			return r;
		r = options_add_pid(options, pid);
		if (r < 0)
			log_error("out of memory");
		else
			log_info("-p %s: process %d", options->pid_names[i], (int)pid);
	}
	return r;
}
