/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/clock_offset.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file_system.h"
#include "target/file_helper.h"
#include "target/proc_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MOST_BYTES 4096
/* Offsets that the kernel takes are less: kernel/time/namespace.c. */
#define MOST_S (INT64_MAX / (int64_t)SECOND_NS / 2)

int clock_offset_parse(const char *text, int64_t *ret_ns)
{
	const char *line = strstr(text, "monotonic");
	int64_t seconds, ns;

	if (!line || sscanf(line, "monotonic %" SCNd64 " %" SCNd64, &seconds, &ns) != 2)
		return -EBADMSG;
	if (seconds > MOST_S || seconds < -MOST_S || ns < 0 || ns >= (int64_t)SECOND_NS)
		return -EBADMSG;
	*ret_ns = seconds * (int64_t)SECOND_NS + ns;
	return 0;
}

/*
 * The file has the offsets that its children get, as a process stays where it is. 1, 0, or negative
 * errno.
 */
static int are_its_own(pid_t pid)
{
	_cleanup_close_ int own = file_helper_open_proc(pid, "ns/time", O_PATH);
	_cleanup_close_ int childrens = file_helper_open_proc(pid, "ns/time_for_children", O_PATH);

	if (own < 0 || childrens < 0)
		return own < 0 ? own : childrens;
	return file_is_same(own, childrens);
}

static int offset_of(pid_t pid, int64_t *ret_ns)
{
	_cleanup_strbuf_ struct strbuf text = { 0 };
	int r = are_its_own(pid);

	*ret_ns = 0;
	if (r > 0)
		r = proc_file_read(pid, "timens_offsets", MOST_BYTES, &text);
	if (r == 0 && text.len > 0)
		r = clock_offset_parse(strbuf_str(&text), ret_ns);
	return r == -ENOENT || r == -ESRCH ? 0 : r;
}

int clock_offset_of(pid_t pid, int64_t *ret_ns)
{
	int64_t theirs, ours;
	int r = offset_of(pid, &theirs);

	if (r == 0)
		r = offset_of(getpid(), &ours);
	if (r == 0)
		*ret_ns = theirs - ours;
	return r;
}
