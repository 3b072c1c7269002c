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

/* The file has the offsets that its children get, as a process stays where it is. */
static bool are_its_own(pid_t pid)
{
	_cleanup_close_ int own = file_helper_open_proc(pid, "ns/time", O_PATH);
	_cleanup_close_ int childrens = file_helper_open_proc(pid, "ns/time_for_children", O_PATH);

	return own >= 0 && childrens >= 0 && file_is_same(own, childrens);
}

static int64_t offset_of(pid_t pid)
{
	_cleanup_strbuf_ struct strbuf text = { 0 };
	int64_t ns;

	if (!are_its_own(pid) || proc_file_read(pid, "timens_offsets", MOST_BYTES, &text) ||
	    clock_offset_parse(strbuf_str(&text), &ns))
		return 0;
	return ns;
}

int64_t clock_offset_of(pid_t pid)
{
	return offset_of(pid) - offset_of(getpid());
}
