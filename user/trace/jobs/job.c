/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/jobs/job.h"

#include "memtraced.skel.h"
#include "trace/bpf/bpf_link.h"
#include "trace/bpf/link_home.h"
#include "trace/bpf/programs.h"
#include "trace/kernel/syscall_table.h"
#include "trace/kernel/tracefs.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Constants and variables belong to each object, but for the sections of bpf/knobs.bpf.h. */
static bool is_own_data(const char *name)
{
	return strncmp(name, ".rodata", 7) == 0 || strcmp(name, ".bss") == 0 ||
	       strcmp(name, ".data") == 0;
}

/* Of a section's mapping; 0: it is none. */
static size_t pages(const struct bpf_map *map)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return bpf_map__is_internal(map) ? (bpf_map__value_size(map) + page - 1) / page : 0;
}

int job_share_maps(struct bpf_object *object, const struct programs *programs)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, object)
	{
		const char *name = bpf_map__name(map);
		struct bpf_map *shared = bpf_object__find_map_by_name(programs->skel->obj, name);
		int r;

		if (!shared || is_own_data(name))
			continue;
		/* libbpf maps sections where they were: longer ones overwrite what follows. */
		if (pages(map) != pages(shared))
			return -EPROTO;
		/* The main object has no use for it on this kernel: no more has this one. */
		r = bpf_map__fd(shared) < 0 ? bpf_map__set_autocreate(map, false) :
					      bpf_map__reuse_fd(map, bpf_map__fd(shared));
		if (r)
			return r;
	}
	return 0;
}

#define ENTER "sys_enter_"
#define EXIT "sys_exit_"

/* The rest of the event's name behind either; NULL: it has neither. */
static const char *syscall_of(const char *event)
{
	if (strncmp(event, ENTER, strlen(ENTER)) == 0)
		return event + strlen(ENTER);
	return strncmp(event, EXIT, strlen(EXIT)) == 0 ? event + strlen(EXIT) : NULL;
}

int32_t job_event_number(const struct job_context *context, const char *category,
			 const char *prefix, const char *name)
{
	const char *syscall = *prefix ? name : syscall_of(name);

	if (!context->programs->syscalls_preempted || !category || !syscall ||
	    strcmp(category, "syscalls") != 0)
		return -1;
	return syscall_table_number(syscall);
}

int job_attach_tracepoint(const struct job_context *context, const struct bpf_program *program,
			  const char *category, const char *name)
{
	uint32_t id;
	int fd = tracefs_event_id(context->tracefs_fd, category, name, &id);

	if (fd == 0 && job_event_number(context, category, "", name) >= 0)
		fd = tracefs_event_id(
			context->tracefs_fd, "raw_syscalls",
			strncmp(name, ENTER, strlen(ENTER)) == 0 ? "sys_enter" : "sys_exit", &id);
	if (fd < 0)
		return fd;
	fd = link_tracepoint(bpf_program__fd(program), id, 0);
	if (fd >= 0)
		link_home_keep(context->programs->link_home, fd);
	return fd;
}

int job_no_event(const struct job_context *context, const char *category, const char *name,
		 const char *syscall)
{
	_cleanup_strbuf_ struct strbuf near = { 0 };
	int no_category = tracefs_near_events(context->tracefs_fd, category, name, &near);

	if (no_category < 0)
		return no_category;
	if (syscall)
		strbuf_addf(context->error, "this kernel has no system call '%s'", syscall);
	else if (no_category)
		strbuf_addf(context->error, "this kernel has no tracepoints '%s:'", category);
	else
		strbuf_addf(context->error, "this kernel has no tracepoint '%s:%s'", category,
			    name);
	if (near.len)
		strbuf_addf(context->error, "; near: %s", strbuf_str(&near));
	return strbuf_error(&near) || strbuf_error(context->error) ? -ENOMEM : -EINVAL;
}
