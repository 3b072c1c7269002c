/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/daemon/privileges.h"

#include "base/cleanup.h"
#include "base/strbuf.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/utsname.h>

static const cap_value_t kept[] = {
	CAP_BPF,	     /* maps and programs */
	CAP_PERFMON,	     /* programs that trace, probes by perf events, samples */
	CAP_SYS_NICE,	     /* operations on maps that nothing preempts (trace/kernel/urgent.h) */
	CAP_SYS_PTRACE,	     /* what /proc says of others, and their memory */
	CAP_DAC_READ_SEARCH, /* files that they map */
	CAP_CHECKPOINT_RESTORE, /* those that are deleted: /proc/PID/map_files */
	CAP_CHOWN,		/* a report belongs to who asked for it */
};

/*
 * Kept, where it was there, to be taken back for a moment: for mounts that no other process sees,
 * by which probes go quickly, and whole when the service is killed (trace/bpf/detached_mount.h).
 * The unit does not give it.
 */
static const cap_value_t in_reserve = CAP_SYS_ADMIN;

#define N_KEPT (sizeof(kept) / sizeof(kept[0]))

static bool is_kept(cap_value_t cap)
{
	for (size_t i = 0; i < N_KEPT; i++)
		if (kept[i] == cap)
			return true;
	return false;
}

/*
 * As systemd/memtraced-generator has it: before Linux 6.6 a uprobe's perf event is refused without
 * it, and where kernel.perf_event_paranoid is above 2, by Debian's and Ubuntu's patches, all are.
 */
static bool kernel_wants_reserve(void)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
	unsigned int major = 0, minor = 0;
	struct utsname kernel;
	int level = 0;

	if (uname(&kernel) < 0 || sscanf(kernel.release, "%u.%u", &major, &minor) != 2)
		return true;
	if (major < 6 || (major == 6 && minor < 6))
		return true;
	return file && fscanf(file, "%d", &level) == 1 && level > 2;
}

/* Of an exec, of which there is none. Only who may change it has one to change. */
static void drop_bounding(void)
{
	for (cap_value_t cap = 0; CAP_IS_SUPPORTED(cap); cap++)
		if (!is_kept(cap))
			(void)cap_drop_bound(cap); /* it is one line of defence more */
}

/* `now` becomes what of it is kept. */
static int drop_capabilities(cap_t now)
{
	bool wants_reserve = kernel_wants_reserve();
	cap_value_t cap;

	for (cap = 0; CAP_IS_SUPPORTED(cap); cap++) {
		if (is_kept(cap) || (cap == in_reserve && wants_reserve))
			continue;
		if (cap_set_flag(now, CAP_EFFECTIVE, 1, &cap, CAP_CLEAR))
			return -errno;
		if (cap != in_reserve && cap_set_flag(now, CAP_PERMITTED, 1, &cap, CAP_CLEAR))
			return -errno;
	}
	if (cap_clear_flag(now, CAP_INHERITABLE) || cap_set_proc(now))
		return -errno;
	return 0;
}

int privileges_drop(void)
{
	/* Before Linux 5.11 maps count as locked memory, whose limit is CAP_SYS_RESOURCE's. */
	const struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };
	cap_t now;
	int r;

	if (!CAP_IS_SUPPORTED(CAP_CHECKPOINT_RESTORE))
		return 0;
	(void)setrlimit(RLIMIT_MEMLOCK, &unlimited);
	drop_bounding();
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	now = cap_get_proc();
	if (!now)
		return -errno;
	r = drop_capabilities(now);
	(void)cap_free(now); /* cannot fail: it is a capability set */
	return r;
}

void privileges_list(struct strbuf *out)
{
	const char *separator = "";
	cap_t now = cap_get_proc();

	for (cap_value_t cap = 0; now && CAP_IS_SUPPORTED(cap); cap++) {
		cap_flag_value_t value = CAP_CLEAR;
		char *name;

		if (cap_get_flag(now, cap, CAP_EFFECTIVE, &value) || value != CAP_SET)
			continue;
		name = cap_to_name(cap);
		if (name)
			strbuf_addf(out, "%s%s", separator, name + strlen("cap_"));
		separator = " ";
		(void)cap_free(name); /* of cap_to_name */
	}
	if (now)
		(void)cap_free(now); /* of cap_get_proc */
}
