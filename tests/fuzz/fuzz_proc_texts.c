/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Texts of /proc and of cgroups' files, with names that others chose: of processes, of cgroups, of
 * mounts.
 */
#include "target/cgroup_memory.h"
#include "target/process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool has_memory(const char *path)
{
	return strlen(path) % 2;
}

static void try_process(const char *text)
{
	struct process_info info = { 0 };
	pid_t tgid;

	if (process_parse_stat(text, &info) == 0 && !memchr(info.comm, 0, sizeof(info.comm)))
		abort();
	memset(&info, 0, sizeof(info));
	(void)process_parse_status(text, &info, &tgid); /* either is right */
}

static void try_cgroup(const char *text)
{
	_cleanup_strbuf_ struct strbuf root = { 0 };
	uint64_t bytes, kills;
	uint32_t pressure;

	cgroup_root_find(text, has_memory, &root);
	if (cgroup_parse_pressure(text, &pressure) == 0 && pressure == CGROUP_NO_PRESSURE)
		abort();
	(void)cgroup_parse_bytes(text, &bytes);
	(void)cgroup_parse_oom_kills(text, &kills);
	for (int version = 1; version <= 2; version++) {
		_cleanup_strbuf_ struct strbuf name = { 0 };

		if (cgroup_parse_membership(text, version, &name) == 0 &&
		    strchr(strbuf_str(&name), '\n'))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = strndup((const char *)data, size);

	if (!text)
		return 0;
	try_process(text);
	try_cgroup(text);
	return 0;
}
