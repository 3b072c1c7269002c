/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/cpu_time.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/strbuf.h"
#include "target/file_helper.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MOST_BYTES 4096

static uint64_t ticks_ns(uint64_t ticks)
{
	return ticks * SECOND_NS / (uint64_t)sysconf(_SC_CLK_TCK);
}

/* Fields 3 to 15 of proc(5)'s stat, behind the name, which may hold anything. */
#define BEFORE_CHILDREN " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u"

/* Ticks of user and system time. */
static int children_ticks(pid_t pid, uint64_t *ret_ticks)
{
	_cleanup_strbuf_ struct strbuf text = {};
	unsigned long long user, system;
	const char *behind;

	if (file_helper_read_thread(pid, "stat", MOST_BYTES, &text) < 0)
		return -ESRCH;
	behind = strrchr(strbuf_str(&text), ')');
	if (!behind || sscanf(behind + 1, BEFORE_CHILDREN " %llu %llu", &user, &system) != 2)
		return -ESRCH;
	*ret_ticks = user + system;
	return 0;
}

int cpu_time_of(pid_t pid, uint64_t *ret_ns)
{
	struct timespec own;
	uint64_t ticks;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &own) ||
	    children_ticks(pid, &ticks))
		return -ESRCH;
	*ret_ns = (uint64_t)own.tv_sec * SECOND_NS + (uint64_t)own.tv_nsec + ticks_ns(ticks);
	return 0;
}

/* proc(5): time that a guest has used is user time, too. */
int cpu_time_parse_host(const char *text, uint64_t *ret_ns)
{
	uint64_t user, nice, system, idle, waiting, irq, softirq;

	if (sscanf(text,
		   "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		   " %" SCNu64,
		   &user, &nice, &system, &idle, &waiting, &irq, &softirq) != 7)
		return -EBADMSG;
	*ret_ns = ticks_ns(user + nice + system + irq + softirq);
	return 0;
}

int cpu_time_of_host(uint64_t *ret_ns)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/stat", "re");
	char text[1024];
	size_t len;

	if (!file)
		return -errno;
	len = fread(text, 1, sizeof(text) - 1, file);
	text[len] = '\0';
	return cpu_time_parse_host(text, ret_ns);
}
