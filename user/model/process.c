/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/process.h"

#include "base/cleanup.h"
#include "base/hashmap.h"
#include "base/vec.h"
#include "model/process_values.h"
#include "model/regions.h"
#include "probe/program_kinds.h"
#include "trace/record/image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct process {
	struct model_process image; /* what readers see */
	size_t index;		    /* grows with each that begins */
	bool final;		    /* the values are those at its end */
	uint8_t cuts_since_end;	    /* PROCESSES_LAST_CUTS at most */
	bool needed;		    /* while folding: one that stays has inherited from it */
	struct mappings mappings;
	struct regions *regions;
	struct process_values values;
	bool in_cut; /* the one that is being read */
};

struct processes {
	struct strings *strings;
	struct hashmap map;
	uint32_t cuts; /* begun so far */
	size_t begun;
	size_t most_regions; /* of each; 0: all */
	struct ended ended;
	VEC(struct process *) list;
	VEC(struct process *) in_cut;
};

static void process_free(void *item)
{
	struct process *process = item;

	if (!process)
		return;
	mappings_done(&process->mappings);
	regions_free(process->regions);
	process_values_done(&process->values);
	free(process->image.command);
	free(process);
}
DEFINE_CLEANUP(struct process, process_free)

DEFINE_HASHMAP_OPS(process_ops, struct process, process_free, image.id.n);

int processes_new(struct strings *strings, struct processes **ret_processes)
{
	struct processes *processes = calloc(1, sizeof(*processes));

	if (!processes)
		return -ENOMEM;
	processes->strings = strings;
	processes->map.ops = &process_ops;
	*ret_processes = processes;
	return 0;
}

void processes_free(struct processes *processes)
{
	if (!processes)
		return;
	vec_done(&processes->list);
	vec_done(&processes->in_cut);
	hashmap_done(&processes->map);
	ended_done(&processes->ended);
	free(processes);
}

static struct process *find_process(const struct processes *processes, image_t image)
{
	struct process key = { .image.id = image };

	return hashmap_find(&processes->map, &key);
}

static int add_process(struct processes *processes, image_t image, struct process **ret_process)
{
	_cleanup_(process_free_p) struct process *process = calloc(1, sizeof(*process));
	int r;

	if (!process)
		return -ENOMEM;
	process->image = (struct model_process){
		.id = image,
		.parent_id = RECORD_NO_IMAGE,
		.prev_id = RECORD_NO_IMAGE,
		.next_id = RECORD_NO_IMAGE,
		.comm = "",
	};
	process->index = processes->begun++;
	r = vec_reserve(&processes->list, processes->list.len + 1);
	if (r == 0)
		r = hashmap_insert(&processes->map, process);
	if (r < 0)
		return r;
	processes->list.data[processes->list.len++] = process;
	*ret_process = TAKE_PTR(process);
	return 0;
}

static int find_or_add_process(struct processes *processes, image_t image,
			       struct process **ret_process)
{
	*ret_process = find_process(processes, image);
	return *ret_process ? 0 : add_process(processes, image, ret_process);
}

size_t processes_count(const struct processes *processes)
{
	return processes->list.len;
}

const struct model_process *processes_get(const struct processes *processes, size_t index)
{
	return &processes->list.data[index]->image;
}

const struct model_process *processes_find(const struct processes *processes, image_t image)
{
	const struct process *process = find_process(processes, image);

	return process ? &process->image : NULL;
}

void processes_limit_regions(struct processes *processes, size_t most)
{
	processes->most_regions = most;
}

size_t processes_n_mappings(const struct processes *processes)
{
	size_t n = 0;

	vec_foreach(&processes->list, it)
		n += mappings_count(&(*it)->mappings);
	return n;
}

static int inherit_regions(const struct processes *processes, struct process *child)
{
	const struct process *parent = find_process(processes, child->image.parent_id);
	int r;

	if (!parent || !parent->regions || child->regions)
		return 0;
	r = regions_new_inherited(parent->regions, &child->regions);
	if (r == 0)
		child->image.regions = child->regions;
	return r;
}

int processes_begin(struct processes *processes, const struct record_process *record)
{
	struct process *process, *prev, *parent;
	_cleanup_free_ char *command = NULL;
	const char *comm = record->comm ? record->comm : "", *exe = record->exe;
	struct model_process *image;
	int r = find_or_add_process(processes, record->image, &process);

	if (r == 0)
		r = strings_intern_members(processes->strings, &comm, &exe, NULL);
	/* Unlike names it is seldom said twice, and goes with its process. */
	if (r == 0 && record->command) {
		command = strdup(record->command);
		r = command ? 0 : -ENOMEM;
	}
	if (r < 0)
		return r;
	image = &process->image;
	if (image->known)
		return 0;
	image->known = true;
	image->command = TAKE_PTR(command);
	image->pid = record->pid;
	image->ppid = record->ppid;
	/* It was forked from one that began earlier: the chain has no loops. */
	parent = find_process(processes, record->parent_image);
	image->parent_id =
		parent && parent->index < process->index ? record->parent_image : RECORD_NO_IMAGE;
	image->prev_id = record->prev_image;
	image->root = record->root;
	image->inherits = record->inherits && !image_is_none(image->parent_id);
	image->depth = record->depth;
	image->start_ns = record->time_ns;
	image->cuts = processes->cuts;
	image->comm = comm;
	/* A forked child runs its parent's file until its exec, which makes another image. */
	image->exe = !exe && image->inherits ? parent->image.exe : exe;
	if (image->inherits)
		image->kinds |= parent->image.kinds;

	prev = find_process(processes, record->prev_image);
	/* An image is replaced once, by one that began later: the chain has no loops. */
	if (prev && prev->index < process->index && image_is_none(prev->image.next_id))
		prev->image.next_id = record->image;
	else
		image->prev_id = RECORD_NO_IMAGE;
	return image->inherits ? inherit_regions(processes, process) : 0;
}

int processes_end(struct processes *processes, const struct record_process_end *record)
{
	struct process *process = find_process(processes, record->image);

	if (!process || process->image.ended)
		return 0;
	process->image.ended = true;
	/* What may be accessed of what it held at its end is not known. */
	process->image.has_mapped = process->image.has_resident;
	process->image.how = record->how;
	process->image.end_value = record->value;
	process->image.oom = record->oom;
	process->image.oom_unknown = record->oom_unknown;
	process->image.end_ns = record->time_ns;
	if (process->regions)
		regions_end(process->regions);
	return 0;
}

int processes_rename(struct processes *processes, const struct record_name *record)
{
	struct process *process = find_process(processes, record->image);
	const char *comm = NULL;
	int r = process ? strings_intern(processes->strings, record->comm, &comm) : 0;

	if (r == 0 && process)
		process->image.comm = comm;
	return r;
}

int processes_map(struct processes *processes, const struct record_mapping *record,
		  const struct model_object *object)
{
	struct process *process;
	int r = find_or_add_process(processes, record->image, &process);

	if (r < 0)
		return r;
	if (record->kind && record->kind < PROGRAM_KINDS)
		process->image.kinds |= UINT32_C(1) << record->kind;
	return mappings_add(&process->mappings, record, object);
}

int processes_unmap(struct processes *processes, const struct record_unmapping *record)
{
	struct process *process = find_process(processes, record->image);

	if (!process)
		return 0;
	return mappings_remove(&process->mappings, record->start, record->end, record->time_ns,
			       process->image.inherits);
}

int processes_region(struct processes *processes, const struct record_region *record)
{
	struct process *process;
	int r = find_or_add_process(processes, record->image, &process);

	if (r < 0 || process->image.ended)
		return r;
	if (!process->regions) {
		r = regions_new(&process->regions);
		if (r < 0)
			return r;
		regions_limit(process->regions, processes->most_regions);
		process->image.regions = process->regions;
	}
	return regions_map(process->regions, record->start, record->end, record->fn, record->stack,
			   record->time_ns);
}

int processes_region_gone(struct processes *processes, const struct record_region_gone *record)
{
	struct process *process = find_process(processes, record->image);

	if (!process || !process->regions)
		return 0;
	return regions_unmap(process->regions, record->start, record->end);
}

int processes_resident(struct processes *processes, const struct record_resident *record)
{
	struct process *process;
	int r = find_or_add_process(processes, record->image, &process);

	if (r < 0)
		return r;
	process->image.resident = *record;
	process->image.has_resident = !record->only_mapped;
	process->image.has_mapped = true;
	return 0;
}

int processes_fault(struct processes *processes, const struct record_fault *record)
{
	struct process *process;
	int r = find_or_add_process(processes, record->image, &process);

	if (r < 0)
		return r;
	process->image.fault = *record;
	process->image.has_fault = true;
	return 0;
}

int processes_death(struct processes *processes, const struct record_death *record)
{
	struct record_death death = *record;
	struct process *process;
	int r = find_or_add_process(processes, record->image, &process);

	if (r == 0)
		r = strings_intern_members(processes->strings, &death.sender_comm,
					   &death.oom_constraint, &death.oom_cgroup, &death.cgroup,
					   &death.full_cgroup, NULL);
	if (r < 0)
		return r;
	process->image.death = death;
	process->image.has_death = true;
	return 0;
}

static void forget_cut(struct processes *processes)
{
	vec_foreach(&processes->in_cut, it) {
		struct process *process = *it;

		process->in_cut = false;
		process_values_forget(&process->values);
	}
	processes->in_cut.len = 0;
}

void processes_cut_begin(struct processes *processes)
{
	processes->cuts++;
	forget_cut(processes);
}

static int join_cut(struct processes *processes, image_t image, struct process **ret_process)
{
	int r = find_or_add_process(processes, image, ret_process);

	if (r < 0 || (*ret_process)->in_cut)
		return r;
	r = vec_push(&processes->in_cut, *ret_process);
	if (r < 0)
		return r;
	(*ret_process)->in_cut = true;
	return 0;
}

bool processes_is_later(const struct processes *processes, const struct model_process *image)
{
	return image->known && processes->cuts > 0 && image->cuts == processes->cuts;
}

int processes_cut_totals(struct processes *processes, const struct record_totals *record)
{
	struct process *process;
	const char *comm = NULL;
	int r = join_cut(processes, record->image, &process);

	if (r == 0)
		r = strings_intern(processes->strings, record->comm, &comm);
	if (r < 0)
		return r;
	process_values_totals(&process->values, record, comm);
	return 0;
}

int processes_cut_site(struct processes *processes, const struct record_site *record)
{
	struct process *process;
	int r = join_cut(processes, record->image, &process);

	return r < 0 ? r : process_values_site(&process->values, record);
}

int processes_cut_error(struct processes *processes, const struct record_heap_error *record)
{
	struct process *process;
	int r = join_cut(processes, record->image, &process);

	return r < 0 ? r : process_values_error(&process->values, record);
}

int processes_cut_free_pair(struct processes *processes, const struct record_free_pair *record)
{
	struct process *process;
	int r = join_cut(processes, record->image, &process);

	return r < 0 ? r : process_values_free_pair(&process->values, record);
}

void processes_cut_end(struct processes *processes)
{
	vec_foreach(&processes->list, it) {
		struct process *process = *it;

		process->image.n_cuts++;
		if (process->regions)
			regions_cut(process->regions);
		if (process->in_cut) {
			process_values_commit(&process->values, &process->image);
			process->final = process->image.ended;
		} else {
			process_values_rest(&process->values);
		}
	}
	forget_cut(processes);
}

void processes_cut_ended(struct processes *processes)
{
	vec_foreach(&processes->list, it) {
		struct process *process = *it;

		if (!process->image.ended || process->final)
			continue;
		process->final = ++process->cuts_since_end >= PROCESSES_LAST_CUTS;
	}
}

/* --- folding --------------------------------------------------------------------------------- */

/* Folding looks through all stacks: it waits for so large a part of those that are kept. */
#define FOLD_SHARE 10

/* From the newest on: a child comes after its parent. */
static size_t choose_folded(const struct processes *processes, size_t keep)
{
	size_t n_folded = 0, n_kept = 0;

	vec_foreach(&processes->list, it)
		(*it)->needed = false;
	for (size_t i = processes->list.len; i > 0; i--) {
		struct process *process = processes->list.data[i - 1], *parent;

		if (process->final && !process->needed && !process->image.root && n_kept >= keep) {
			n_folded++;
			continue;
		}
		n_kept += process->final;
		process->needed = true;
		parent = process->image.inherits ?
				 find_process(processes, process->image.parent_id) :
				 NULL;
		if (parent)
			parent->needed = true;
	}
	return n_folded;
}

/* A forked child that did not exec runs what its parent does. NULL: which that is is not known. */
static const struct process *executed(const struct processes *processes,
				      const struct process *process)
{
	size_t index = process ? process->index + 1 : 0;

	while (process && process->index < index) {
		if (process->image.exe || !process->image.inherits)
			return process;
		index = process->index;
		process = find_process(processes, process->image.parent_id);
	}
	return NULL;
}

const char *processes_command(const struct processes *processes, image_t image)
{
	const struct process *process = executed(processes, find_process(processes, image));

	return !process		      ? NULL :
	       process->image.command ? process->image.command :
					process->image.exe;
}

static int fold_process(struct processes *processes, struct process *process)
{
	struct process *prev = find_process(processes, process->image.prev_id);
	struct process *next = find_process(processes, process->image.next_id);
	const struct process *from = executed(processes, process);
	int r = ended_add(&processes->ended, &process->image, from ? from->image.exe : NULL);

	if (r < 0)
		return r;
	if (prev)
		prev->image.next_id = RECORD_NO_IMAGE;
	if (next)
		next->image.prev_id = RECORD_NO_IMAGE;
	process_free(hashmap_remove(&processes->map, process));
	return 0;
}

int processes_fold(struct processes *processes, size_t keep, image_t **ret_folded, size_t *ret_n)
{
	size_t n = choose_folded(processes, keep), n_kept = 0;
	_cleanup_free_ image_t *folded = NULL;
	int r = 0;

	*ret_n = 0;
	if (n <= keep / FOLD_SHARE)
		return 0;
	folded = calloc(n, sizeof(*folded));
	if (!folded)
		return -ENOMEM;
	/* The newest first: a child asks its parent what it runs. */
	for (size_t i = processes->list.len; i > 0 && r == 0; i--) {
		struct process *process = processes->list.data[i - 1];
		image_t image = process->image.id;

		if (process->needed)
			continue;
		r = fold_process(processes, process);
		if (r == 0) {
			folded[(*ret_n)++] = image;
			processes->list.data[i - 1] = NULL;
		}
	}
	vec_foreach(&processes->list, it)
		if (*it)
			processes->list.data[n_kept++] = *it;
	processes->list.len = n_kept;
	image_list_sort(folded, *ret_n);
	*ret_folded = TAKE_PTR(folded);
	return r;
}

const struct ended *processes_ended(const struct processes *processes)
{
	return &processes->ended;
}

/* The process whose list is asked next; its mappings count as they were at the fork. */
static const struct process *ancestor(const struct processes *processes,
				      const struct process *process, uint64_t *time_ns)
{
	const struct process *parent;

	if (!process->image.inherits)
		return NULL;
	parent = find_process(processes, process->image.parent_id);
	if (!parent || parent->index >= process->index)
		return NULL;
	if (process->image.start_ns < *time_ns)
		*time_ns = process->image.start_ns;
	return parent;
}

const struct mapping *processes_find_mapping(const struct processes *processes, image_t image,
					     uint64_t addr, uint64_t time_ns)
{
	const struct process *process = find_process(processes, image);

	while (process) {
		const struct mapping *m = mappings_find(&process->mappings, addr, time_ns);

		if (m)
			return m->object ? m : NULL;
		process = ancestor(processes, process, &time_ns);
	}
	return NULL;
}

const struct mapping *processes_find_file(const struct processes *processes, image_t image,
					  const char *path, uint64_t file_offset, uint64_t time_ns)
{
	const struct process *process = find_process(processes, image);
	uint64_t asked_ns = time_ns;

	while (process) {
		const struct mapping *m =
			mappings_find_file(&process->mappings, path, file_offset, time_ns);

		if (m) {
			uint64_t addr = m->start + (file_offset - m->file_offset);

			/* An inherited mapping may have gone in the child since. */
			if (processes_find_mapping(processes, image, addr, asked_ns) == m)
				return m;
			return NULL;
		}
		process = ancestor(processes, process, &time_ns);
	}
	return NULL;
}

const struct mapping *processes_find_exe(const struct processes *processes, image_t image)
{
	const struct process *process = find_process(processes, image);
	const char *exe = process ? process->image.exe : NULL;
	uint64_t time_ns = UINT64_MAX;

	while (exe && process) {
		const struct mapping *m = mappings_find_path(&process->mappings, exe);

		if (m)
			return m;
		process = ancestor(processes, process, &time_ns);
	}
	return NULL;
}
