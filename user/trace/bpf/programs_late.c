/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs that are loaded when they are needed: with the maps, and so the knobs, of those that are
 * there.
 */
#include "bpf/abi.h"
#include "bpf/abi_result.h"
#include "memtraced.skel.h"
#include "trace/bpf/large_maps.h"
#include "trace/bpf/map_memory.h"
#include "trace/bpf/program_choice.h"
#include "trace/bpf/programs.h"

#include <bpf/libbpf.h>
#include <errno.h>

/* One program more, in an object of its own, which is the caller's in any case. */
static int load_late(struct programs *p, const char *name, struct memtraced_bpf **ret_skel)
{
	_cleanup_(program_loader_free_p) struct program_loader *loader = NULL;
	struct bpf_program *program;
	int r = programs_loader_new(p, &loader);

	if (r == 0)
		r = programs_open_again(p, ret_skel);
	if (r)
		return r;
	program = bpf_object__find_program_by_name((*ret_skel)->obj, name);
	if (!program)
		return -ENOENT;
	bpf_program__set_autoload(program, true);
	(void)bpf_program__set_expected_attach_type(program, p->entry_type);
	r = programs_load_object(loader, *ret_skel);
	return r ? r : bpf_program__fd(program);
}

static int late_fd(struct programs *p, const char *name, struct memtraced_bpf **skel, int *fd)
{
	int r = *fd;

	if (r < 0 && !*skel)
		r = load_late(p, name, skel);
	if (r >= 0)
		*fd = r;
	return r == -1 ? -ENOENT : r;
}

int programs_entry_fd(struct programs *programs)
{
	return late_fd(programs, "on_entry", &programs->late, &programs->entry_fd);
}

int programs_result_fd(struct programs *programs)
{
	return late_fd(programs, "on_result", &programs->late_result, &programs->result_fd);
}

/* --- what counts calls ------------------------------------------------------------------------ */

static int make_tables(struct programs *p)
{
	struct bpf_map *tables[PROGRAMS_TABLES];
	int r;

	programs_tables(p->skel, tables);
	r = large_maps_make_later(tables, PROGRAMS_TABLES);
	if (r == 0)
		r = map_memory(p->skel->maps.site_table, (void **)&p->sites, &p->sites_len);
	p->has_tables = r == 0;
	return r;
}

/*
 * Exits are told of by the new program before the old one is told to leave them, so that each
 * passes one of them at least. A thread that the old one sees has made no call that is counted: no
 * probe is there before the new one is.
 */
static int follow_exits(struct programs *p)
{
	p->exit_link = programs_attach_exit(p);
	if (p->exit_link < 0)
		return p->exit_link;
	__atomic_store_n(&p->control->calls, 1, __ATOMIC_RELEASE);
	return 0;
}

static int load_calls(struct programs *p)
{
	_cleanup_(program_loader_free_p) struct program_loader *loader = NULL;
	int r = make_tables(p);

	if (r == 0)
		r = programs_loader_new(p, &loader);
	if (r == 0)
		r = programs_open_again(p, &p->calls);
	if (r)
		return r;
	program_choice_calls(p->calls, p->path, p->entry_type, p->raw_preempted);
	r = programs_load_object(loader, p->calls);
	if (r == 0)
		r = follow_exits(p);
	if (r)
		return r;
	p->session_fd = programs_loaded_fd(p->calls->progs.on_session);
	p->entry_fd = programs_loaded_fd(p->calls->progs.on_entry);
	p->return_fd = programs_loaded_fd(p->calls->progs.on_return);
	return 0;
}

int programs_load_calls(struct programs *programs)
{
	if (programs->calls_wait) {
		programs->calls_wait = false;
		programs->calls_error = load_calls(programs);
	}
	return programs->calls_error;
}
