/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/debuginfod.h"

#include "base/clock.h"

#include <dlfcn.h>
#include <elfutils/debuginfod.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define LIBRARY "libdebuginfod.so.1"
#define NS_PER_MS 1000000ULL

struct debuginfod {
	void *library;
	debuginfod_client *client;
	typeof(&debuginfod_begin) begin;
	typeof(&debuginfod_end) end;
	typeof(&debuginfod_find_debuginfo) find;
	typeof(&debuginfod_set_progressfn) set_progress;
	typeof(&debuginfod_set_user_data) set_user_data;
	typeof(&debuginfod_get_user_data) get_user_data;
	uint64_t file_ns, left_ns; /* for one file, and for all that are still to come */
	uint64_t deadline_ns;	   /* of the file at hand */
	bool gave_up;
	struct debuginfod_counts counts;
};

static bool find_symbols(struct debuginfod *d)
{
	d->begin = dlsym(d->library, "debuginfod_begin");
	d->end = dlsym(d->library, "debuginfod_end");
	d->find = dlsym(d->library, "debuginfod_find_debuginfo");
	d->set_progress = dlsym(d->library, "debuginfod_set_progressfn");
	d->set_user_data = dlsym(d->library, "debuginfod_set_user_data");
	d->get_user_data = dlsym(d->library, "debuginfod_get_user_data");
	return d->begin && d->end && d->find && d->set_progress && d->set_user_data &&
	       d->get_user_data;
}

/*
 * From elfutils 0.192 on the callback below is not called before a server has begun to answer. How
 * long the client waits for that is a variable of the environment, in seconds; a user's own stays
 * if it is less. 0 or negative errno.
 */
static int limit_waiting(uint64_t ms)
{
	static const char name[] = DEBUGINFOD_TIMEOUT_ENV_VAR;
	uint64_t seconds = ms / 1000 + (ms % 1000 > 0);
	const char *own = getenv(name);
	char value[24];

	if (own && strtoull(own, NULL, 10) > 0 && strtoull(own, NULL, 10) <= seconds)
		return 0;
	(void)snprintf(value, sizeof(value), "%" PRIu64, seconds);
	return setenv(name, value, 1) < 0 ? -errno : 0;
}

/*
 * Called about once a second while the client waits, for what it says are numbers of no use. The
 * callback has no data of ours but the client's, which the library's own function gives.
 */
static int check_deadline(debuginfod_client *client, long a, long b)
{
	typeof(&debuginfod_get_user_data) get_user_data =
		dlsym(RTLD_DEFAULT, "debuginfod_get_user_data");
	const struct debuginfod *d = get_user_data ? get_user_data(client) : NULL;

	(void)a;
	(void)b;
	return !d || clock_monotonic_ns() > d->deadline_ns;
}

int debuginfod_new(uint64_t file_ms, uint64_t all_ms, struct debuginfod **ret_debuginfod)
{
	_cleanup_(debuginfod_free_p) struct debuginfod *d = calloc(1, sizeof(*d));
	int r = limit_waiting(file_ms < all_ms ? file_ms : all_ms);

	if (!d || r < 0)
		return -ENOMEM;
	/* Its symbols are global, for the callback. */
	d->library = dlopen(LIBRARY, RTLD_NOW | RTLD_GLOBAL);
	if (!d->library || !find_symbols(d))
		return -ENOPKG;
	d->client = d->begin();
	if (!d->client)
		return -ENOMEM;
	d->set_user_data(d->client, d);
	d->set_progress(d->client, check_deadline);
	d->file_ns = file_ms * NS_PER_MS;
	d->left_ns = all_ms * NS_PER_MS;
	*ret_debuginfod = TAKE_PTR(d);
	return 0;
}

void debuginfod_free(struct debuginfod *debuginfod)
{
	if (!debuginfod)
		return;
	if (debuginfod->client)
		debuginfod->end(debuginfod->client);
	/* curl's threads and atexit functions stay: the library is not unloaded. */
	free(debuginfod);
}

/* Other files would fare no better. */
static bool is_about_servers(int error)
{
	return error == -ETIMEDOUT || error == -ETIME || error == -ECONNREFUSED ||
	       error == -EHOSTUNREACH || error == -ENETUNREACH || error == -ENOSYS;
}

int debuginfod_fetch(struct debuginfod *debuginfod, const uint8_t *build_id, size_t len)
{
	struct debuginfod *d = debuginfod;
	uint64_t before = clock_monotonic_ns(), took;
	int fd;

	if (len == 0 || len > INT_MAX)
		return -ENOENT;
	if (d->gave_up || d->left_ns == 0) {
		d->counts.not_asked++;
		return -ECANCELED;
	}
	d->deadline_ns = before + (d->file_ns < d->left_ns ? d->file_ns : d->left_ns);
	fd = d->find(d->client, build_id, (int)len, NULL);
	took = clock_monotonic_ns() - before;
	d->left_ns -= took < d->left_ns ? took : d->left_ns;
	if (fd >= 0) {
		d->counts.found++;
		return fd;
	}
	/* The client calls a transfer that was stopped a missing file. */
	if (clock_monotonic_ns() > d->deadline_ns)
		fd = -ETIMEDOUT;
	if (fd == -ENOENT) {
		d->counts.missing++;
		return fd;
	}
	if (d->counts.failed++ == 0)
		d->counts.first_error = fd;
	d->gave_up = d->gave_up || is_about_servers(fd);
	return fd;
}

struct debuginfod_counts debuginfod_count(const struct debuginfod *debuginfod)
{
	return debuginfod->counts;
}
