/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The BPF object: opened, loaded, and opened again with the maps that there are. */
#include "bpf/abi.h"
#include "bpf/abi_result.h"
#include "memtraced.skel.h"
#include "memtraced_old.skel.h"
#include "trace/bpf/bpf_batch.h"
#include "trace/bpf/kernel_types.h"
#include "trace/bpf/large_maps.h"
#include "trace/bpf/map_memory.h"
#include "trace/bpf/program_choice.h"
#include "trace/bpf/program_loader.h"
#include "trace/bpf/programs.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

DEFINE_OPEN(memtraced)

bool programs_are_debugged(void)
{
	return getenv("MEMTRACED_DEBUG_BPF") != NULL;
}

int programs_loader_new(const struct programs *p, struct program_loader **ret_loader)
{
	const size_t n = sizeof(p->kernel_calls) / sizeof(p->kernel_calls[0]);

	return program_loader_new(p->kernel_calls, p->kernel_calls[0].btf_id ? n : 0, ret_loader);
}

struct memtraced_bpf *programs_open_object(const struct programs *p)
{
	return open_object(p->types_fd);
}

/* The instructions that the verifier walked through, which is what loading takes. */
static void print_verified(const struct bpf_object *object)
{
	struct bpf_program *program;

	if (!programs_are_debugged())
		return;
	bpf_object__for_each_program(program, object)
	{
		struct bpf_prog_info info = { 0 };
		uint32_t len = sizeof(info);

		if (bpf_program__autoload(program) &&
		    bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &len) == 0 &&
		    info.verified_insns) /* told since Linux 5.16 */
			fprintf(stderr, "%s: %u instructions verified\n",
				bpf_program__name(program), info.verified_insns);
	}
}

int programs_load_object(struct program_loader *loader, struct memtraced_bpf *skel)
{
	int r = memtraced_bpf__load(skel);

	if (r == 0)
		r = program_loader_finish(loader, programs_are_debugged());
	if (r == 0)
		print_verified(skel->obj);
	return r;
}

int programs_loaded_fd(const struct bpf_program *program)
{
	return bpf_program__autoload(program) ? bpf_program__fd(program) : -1;
}

void programs_tables(const struct memtraced_bpf *skel, struct bpf_map *ret_maps[PROGRAMS_TABLES])
{
	struct bpf_map *const maps[PROGRAMS_TABLES] = {
		skel->maps.block_buckets, skel->maps.block_marks, skel->maps.blocks,
		skel->maps.site_table,	  skel->maps.sites,	  skel->maps.tombs,
		skel->maps.shed,
	};

	memcpy(ret_maps, maps, sizeof(maps));
}

/* Has it been made, with the object or later? */
static bool is_made(const struct programs *p, const struct bpf_map *map)
{
	struct bpf_map *tables[PROGRAMS_TABLES];

	if (bpf_map__autocreate(map))
		return true;
	programs_tables(p->skel, tables);
	for (size_t i = 0; p->has_tables && i < PROGRAMS_TABLES; i++)
		if (tables[i] == map)
			return true;
	return false;
}

static int share_maps(const struct programs *p, const struct memtraced_bpf *again)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, again->obj)
	{
		const struct bpf_map *made =
			bpf_object__find_map_by_name(p->skel->obj, bpf_map__name(map));
		int r = made && is_made(p, made) ? bpf_map__reuse_fd(map, bpf_map__fd(made)) :
						   bpf_map__set_autocreate(map, false);

		if (r)
			return r;
	}
	return 0;
}

int programs_open_again(const struct programs *p, struct memtraced_bpf **ret_skel)
{
	struct memtraced_bpf *again = programs_open_object(p);
	struct bpf_program *prog;

	if (!again)
		return -errno;
	*ret_skel = again;
	bpf_object__for_each_program(prog, again->obj) bpf_program__set_autoload(prog, false);
	return share_maps(p, again);
}

/* --- what is loaded when it is needed --------------------------------------------------------- */

/*
 * Programs that are loaded when they are needed: with the maps, and so the knobs, of those that are
 * there.
 */

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

void programs_note_stack_room(const struct programs *p)
{
	const uint32_t room = bpf_map__max_entries(p->skel->maps.stacks);

	__atomic_store_n(&p->control->stack_room, room, __ATOMIC_RELEASE);
}

/* Where the first map of stacks is smaller, programs that are loaded already go on with it. */
static int make_tables(struct programs *p)
{
	const bool is_small = p->control->stack_room < p->stack_room;
	struct later_map later[PROGRAMS_TABLES + 1];
	struct bpf_map *tables[PROGRAMS_TABLES];
	int r;

	if (is_small) {
		p->first_stacks_fd = fcntl(bpf_map__fd(p->skel->maps.stacks), F_DUPFD_CLOEXEC, 0);
		if (p->first_stacks_fd < 0)
			return -errno;
	}
	programs_tables(p->skel, tables);
	for (size_t i = 0; i < PROGRAMS_TABLES; i++)
		later[i] = (struct later_map){ tables[i], bpf_map__max_entries(tables[i]) };
	later[PROGRAMS_TABLES] = (struct later_map){ p->skel->maps.stacks, p->stack_room };
	r = large_maps_make_later(later, PROGRAMS_TABLES + is_small);
	if (r == 0)
		programs_note_stack_room(p);
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

void programs_forget_stacks(const struct programs *programs, const uint64_t *ids, size_t n)
{
	const int fds[] = { bpf_map__fd(programs->skel->maps.stacks), programs->first_stacks_fd };

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (fds[i] >= 0)
			bpf_batch_delete(fds[i], sizeof(*ids), ids, n * sizeof(*ids));
}
