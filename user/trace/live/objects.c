/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/live/objects.h"

#include "base/hashmap.h"
#include "base/vec.h"
#include "bpf/abi_unwind.h"
#include "elf/elf_file.h"
#include "elf/stack_start.h"
#include "memtraced.skel.h"
#include "probe/plan.h"
#include "trace/bpf/bpf_link.h"
#include "trace/bpf/link_home.h"
#include "trace/kernel/urgent.h"
#include "trace/live/checkpoints.h"
#include "trace/unwind/unwind_tables.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Ids below are the daemon's own: FUNCTION_MMAP and the like, RECORD_BEFORE_ATTACH. */
#define FIRST_FUNCTION_ID 16

struct object_link {
	uint32_t owner;
	int fd;
};

struct unprobed {
	const char *function; /* static storage */
	const char *why;      /* static storage, or strerror's */
};

struct object {
	uint32_t dev;
	uint64_t ino;
	int fd;
	char *path;
	char open_path[32];
	struct plan *plan; /* NULL: no ELF file of ours */
	uint16_t first_fn; /* function id of plan->probes[0] */
	struct stack_start start;
	struct checkpoints checkpoints;
	uint8_t build_id[RECORD_BUILD_ID_MAX];
	uint8_t build_id_len;
	uint32_t unwind;   /* in opts.tables; 0: in none */
	bool no_unwinding; /* it has no rows, or there was no room */
	bool refused;	   /* the kernel does not let it be probed for all processes */
	bool is_32bit;
	bool marked; /* its plan's marks are probed */
	VEC(struct object_link) links;
	VEC(struct unprobed) unprobed;
};

/* A program at the entries of one allocator function. */
struct size_program {
	int fd;
	const char *function; /* borrowed */
};

struct objects {
	struct objects_opts opts;
	VEC(struct size_program) sizes;
	struct hashmap *by_file;
	VEC(struct object *) all;
	uint32_t next_fn;
};

static uint64_t object_hash(const void *item)
{
	const struct object *o = item;

	return hash_u64(o->ino ^ (uint64_t)o->dev << 40);
}

static bool object_equal(const void *a, const void *b)
{
	const struct object *x = a, *y = b;

	return x->dev == y->dev && x->ino == y->ino;
}

static const struct hashmap_ops object_ops = { object_hash, object_equal, NULL };

static void object_free(struct object *object)
{
	if (!object)
		return;
	vec_foreach(&object->links, link)
		close(link->fd);
	vec_done(&object->links);
	vec_done(&object->unprobed);
	vec_done(&object->checkpoints.list);
	plan_free(object->plan);
	if (object->fd >= 0)
		close(object->fd);
	free(object->path);
	free(object);
}
DEFINE_CLEANUP(struct object, object_free)

int objects_new(const struct objects_opts *opts, struct objects **ret_objects)
{
	_cleanup_(objects_free_p) struct objects *objects = calloc(1, sizeof(*objects));
	int r;

	if (!objects)
		return -ENOMEM;
	objects->opts = *opts;
	objects->next_fn = FIRST_FUNCTION_ID;
	r = hashmap_new(&object_ops, &objects->by_file);
	if (r)
		return r;
	*ret_objects = TAKE_PTR(objects);
	return 0;
}

void objects_free(struct objects *objects)
{
	if (!objects)
		return;
	vec_foreach(&objects->all, o)
		object_free(*o);
	vec_done(&objects->all);
	vec_done(&objects->sizes);
	hashmap_free(objects->by_file);
	free(objects);
}

int objects_add_sizes(struct objects *objects, int prog_fd, const char *function)
{
	return vec_push(&objects->sizes, (struct size_program){ prog_fd, function });
}

struct object *objects_find(const struct objects *objects, uint32_t dev, uint64_t ino)
{
	struct object key = { .dev = dev, .ino = ino };

	return hashmap_find(objects->by_file, &key);
}

size_t objects_count(const struct objects *objects)
{
	return objects->all.len;
}

struct object *objects_at(const struct objects *objects, size_t i)
{
	return objects->all.data[i];
}

static int unwind_add(const struct objects *objects, struct object *object, struct elf_file *elf,
		      enum unwind_rows_kind kind)
{
	uint32_t before = object->unwind, now;
	int r;

	if (!objects->opts.tables)
		return 0;
	r = unwind_tables_add(objects->opts.tables, elf, kind, &now);
	if (r)
		return r;
	object->no_unwinding = !now;
	if (!now)
		return 0;
	object->unwind = now;
	return before ? unwind_tables_replace(objects->opts.tables, before, now) : 0;
}

/* What is wanted of a file beside its probes. 0 or -ENOMEM. */
static int object_identify(const struct objects *objects, struct object *object,
			   struct elf_file *elf)
{
	const uint8_t *id;
	size_t len;

	stack_start_read(elf, &object->start);
	len = elf_file_build_id(elf, &id);
	if (len <= sizeof(object->build_id)) {
		memcpy(object->build_id, id, len);
		object->build_id_len = len;
	}
	return unwind_add(objects, object, elf, UNWIND_ROWS_FITTING);
}

/* Distances of inner frees from the probe, which both lie in one text segment. */
static int add_inner_frees(const struct objects *objects, const struct object *object)
{
	int fd = bpf_map__fd(objects->opts.programs->skel->maps.inner_frees);
	uint8_t one = 1;

	for (size_t i = 0; i < object->plan->n_probes; i++) {
		const struct plan_probe *probe = &object->plan->probes[i];

		for (size_t k = 0; k < probe->n_inner_frees; k++) {
			struct abi_inner_free key = {
				.distance = probe->inner_frees[k] - probe->entry_site,
				.fn = object->first_fn + i,
			};
			int r = urgent_update(fd, &key, &one);

			if (r)
				return r;
		}
	}
	return 0;
}

static const struct unprobed only_64bit = {
	"all functions",
	"a 32-bit file: only 64-bit programs are traced",
};

static int object_plan(struct objects *objects, struct object *object)
{
	_cleanup_(elf_file_free_p) struct elf_file *elf = NULL;
	int r = elf_file_new(object->fd, &elf);

	/* Once for all that is asked of it: symbols are read, which takes node's 45 ms. */
	if (r == 0 && (objects->opts.allocations || objects->sizes.len))
		r = plan_new(elf, object->path, objects->opts.emulation, objects->opts.custom,
			     &object->plan);
	if (r == -EOPNOTSUPP && elf_file_is_32bit(object->fd)) {
		object->is_32bit = true;
		return vec_push(&object->unprobed, only_64bit);
	}
	/* Not ELF, another machine's, damaged: the loader would not run it, nothing to probe. */
	if (r == -ENOEXEC || r == -EOPNOTSUPP || r == -EBADMSG)
		return 0;
	if (r)
		return r;
	r = object_identify(objects, object, elf);
	if (r == 0 && objects->opts.checkpoints)
		r = checkpoints_find(elf, objects->opts.checkpoint_names, &object->checkpoints);
	if (r || !object->plan)
		return r;
	if (objects->next_fn + object->plan->n_probes > UINT16_MAX)
		return -ENOSPC;
	object->marked = objects->opts.programs->mark_fd >= 0 && object->plan->n_marks > 0;
	object->first_fn = objects->next_fn;
	objects->next_fn += object->plan->n_probes;
	for (size_t i = 0; i < object->plan->n_probes; i++)
		objects->opts.programs->traits[object->first_fn + i] =
			ABI_TRAITS(object->plan->probes[i].family, object->plan->probes[i].forms);
	for (size_t i = 0; i < object->plan->n_skipped; i++) {
		const struct plan_skipped *s = &object->plan->skipped[i];

		if (s->forwards)
			continue;
		r = vec_push(&object->unprobed, (struct unprobed){ s->function, s->why });
		if (r)
			return r;
	}
	return add_inner_frees(objects, object);
}

int objects_get(struct objects *objects, pid_t pid, const struct proc_map *map,
		struct object **ret_object, bool *ret_new)
{
	_cleanup_(object_free_p) struct object *object = NULL;
	uint32_t dev = map->dev_major << 20 | map->dev_minor;
	int r;

	*ret_new = false;
	*ret_object = objects_find(objects, dev, map->ino);
	if (*ret_object)
		return 0;
	object = calloc(1, sizeof(*object));
	if (!object)
		return -ENOMEM;
	object->dev = dev;
	object->ino = map->ino;
	object->path = strdup(map->path);
	object->fd = proc_map_open(pid, map);
	if (!object->path)
		return -ENOMEM;
	if (object->fd < 0)
		return object->fd;
	snprintf(object->open_path, sizeof(object->open_path), "/proc/self/fd/%d", object->fd);
	r = object_plan(objects, object);
	if (r)
		return r;
	r = vec_push(&objects->all, object);
	if (r)
		return r;
	r = hashmap_insert(objects->by_file, object);
	if (r) {
		objects->all.len--;
		return r;
	}
	*ret_new = true;
	*ret_object = TAKE_PTR(object);
	return 0;
}

bool object_has_allocator(const struct object *object)
{
	return object->plan && object->plan->n_probes > 0 && !object->refused;
}

bool object_is_probed(const struct object *object)
{
	return object_has_allocator(object) || object->checkpoints.list.len > 0 || object->marked;
}

bool objects_have_checkpoint(const struct objects *objects, uint16_t function)
{
	vec_foreach(&objects->all, object)
		vec_foreach(&(*object)->checkpoints.list, point)
			if (point->function == function)
				return true;
	return false;
}

/*
 * What an allocator's functions call has no symbol where the file is stripped. The compiler puts it
 * before them as a rule, being static; glibc 2.36 has 11 KiB of it before malloc.
 */
#define INNER_BEFORE (12U << 10)
#define INNER_BEHIND (4U << 10)

bool object_is_near_allocator(const struct object *object, uint64_t file_offset)
{
	if (!object->plan)
		return false;
	for (size_t i = 0; i < object->plan->n_probes; i++) {
		uint64_t at = object->plan->probes[i].function_offset;

		if (file_offset + INNER_BEFORE >= at && file_offset < at + INNER_BEHIND)
			return true;
	}
	return false;
}

bool object_is_opaque(const struct object *object)
{
	return object->plan && object->plan->is_static_executable && !object->plan->has_symbols;
}

bool object_is_alone(const struct object *object)
{
	return object->is_32bit || (object->plan && !object->plan->loads_others);
}

const char *object_path(const struct object *object)
{
	return object->path;
}

int object_fd(const struct object *object)
{
	return object->fd;
}

uint64_t object_ino(const struct object *object)
{
	return object->ino;
}

uint8_t object_build_id(const struct object *object, uint8_t ret_id[RECORD_BUILD_ID_MAX])
{
	memcpy(ret_id, object->build_id, object->build_id_len);
	return object->build_id_len;
}

uint32_t object_dev(const struct object *object)
{
	return object->dev;
}

bool object_starts_stack(const struct object *object, uint64_t file_offset)
{
	return stack_start_contains(&object->start, file_offset);
}

uint32_t object_unwind(const struct object *object)
{
	return object->unwind;
}

int objects_unwind(struct objects *objects, struct object *object, bool fully)
{
	_cleanup_(elf_file_free_p) struct elf_file *elf = NULL;
	int r;

	if (!objects->opts.tables || object->no_unwinding)
		return 0;
	if (object->unwind &&
	    (!fully || !unwind_tables_pruned(objects->opts.tables, object->unwind)))
		return 0;
	r = elf_file_new(object->fd, &elf);
	if (r) /* changed since: what is known of it stays */
		return r == -ENOMEM ? r : 0;
	r = unwind_add(objects, object, elf, fully ? UNWIND_ROWS_FULL : UNWIND_ROWS_FITTING);
	return r ? r : objects_publish(objects, object);
}

int objects_unwind_less(struct objects *objects)
{
	struct unwind_tables *tables = objects->opts.tables;
	_cleanup_free_ bool *used = NULL;

	if (!tables || !unwind_tables_short(tables))
		return 0;
	used = calloc(ABI_UNWIND_OBJECTS, sizeof(*used));
	if (!used)
		return -ENOMEM;
	unwind_tables_mark_used(tables, used);
	vec_foreach(&objects->all, o) {
		uint32_t old = (*o)->unwind;
		int r;

		(*o)->no_unwinding = false; /* there will be room */
		if (used[old] || !old)
			continue;
		(*o)->unwind = 0;
		r = objects_publish(objects, *o);
		if (r == 0)
			r = unwind_tables_replace(tables, old, 0);
		if (r)
			return r;
	}
	return 0;
}

int objects_publish(struct objects *objects, struct object *object)
{
	const struct abi_file_key key = { .ino = object->ino, .dev = object->dev };
	struct abi_file file = { .verdict = ABI_FILE_ALLOCATOR, .object = object->unwind };

	if (!object_is_probed(object))
		file.verdict = object_is_alone(object) ? ABI_FILE_ALONE : ABI_FILE_NO_ALLOCATOR;
	else if (object_attached(object, 0))
		file.verdict = ABI_FILE_SHARED_LINK;
	return urgent_update(bpf_map__fd(objects->opts.programs->skel->maps.files), &key, &file);
}

bool object_attached(const struct object *object, uint32_t owner)
{
	vec_foreach(&object->links, link)
		if (link->owner == owner)
			return true;
	return false;
}

size_t object_unprobed(const struct object *object)
{
	return object->unprobed.len;
}

int object_describe(const struct object *object, record_fn fn, void *userdata)
{
	int r;

	for (size_t i = 0; object->plan && i < object->plan->n_probes; i++) {
		const struct plan_probe *probe = &object->plan->probes[i];
		const struct record record = {
			.type = RECORD_FUNCTION,
			.function = { .id = object->first_fn + i,
				      .name = probe->function,
				      .object = object->path,
				      .file_offset = probe->function_offset },
		};

		r = fn(&record, userdata);
		if (r)
			return r;
	}
	vec_foreach(&object->unprobed, u) {
		const struct record record = {
			.type = RECORD_UNPROBED,
			.unprobed = { u->function, object->path, u->why },
		};

		r = fn(&record, userdata);
		if (r)
			return r;
	}
	return 0;
}

/* --- attaching ------------------------------------------------------------------------------- */

/* Sites by the program that serves them. */
struct site_lists {
	VEC(struct uprobe_site) session; /* entry and return */
	VEC(struct uprobe_site) entry;	 /* entries and exit sites */
	VEC(struct uprobe_site) ret;	 /* return probes */
};

static void site_lists_done(struct site_lists *lists)
{
	vec_done(&lists->session);
	vec_done(&lists->entry);
	vec_done(&lists->ret);
}

static int add_exit_sites(struct site_lists *lists, const struct plan_probe *probe, uint16_t fn,
			  uint32_t owner)
{
	for (size_t i = 0; i < probe->n_exit_sites; i++) {
		struct uprobe_site site = {
			.offset = probe->exit_sites[i],
			.cookie = ABI_COOKIE(fn, probe->kind | ABI_AT_EXIT, probe->args, owner),
		};
		int r = vec_push(&lists->entry, site);

		if (r)
			return r;
	}
	return 0;
}

/*
 * Chooses for one function: exit sites where a return probe could hurt, else what the path offers.
 * Exits come before entries: a call that is seen to begin must be seen to end.
 */
static int add_probe(struct objects *objects, struct object *object, struct site_lists *lists,
		     size_t i, uint32_t owner)
{
	const struct plan_probe *probe = &object->plan->probes[i];
	enum attach_path path = objects->opts.path;
	uint16_t fn = object->first_fn + i;
	struct uprobe_site site = {
		.offset = probe->entry_site,
		.cookie = ABI_COOKIE(fn, probe->kind, probe->args, owner),
	};
	bool by_sites = probe->exits == PLAN_EXIT_SITES ||
			(probe->exits == PLAN_EXIT_ANY && path == ATTACH_PATH_EXIT);
	int r;

	if (probe->exits == PLAN_EXIT_NONE)
		return path == ATTACH_PATH_SESSION ? vec_push(&lists->session, site) :
						     vec_push(&lists->entry, site);
	if (by_sites) {
		site.cookie |= ABI_COOKIE_BY_SITES;
		r = add_exit_sites(lists, probe, fn, owner);
		return r ? r : vec_push(&lists->entry, site);
	}
	if (objects->opts.returns_unsafe)
		return vec_push(&object->unprobed,
				(struct unprobed){ probe->function, probe->why_no_sites });
	if (path == ATTACH_PATH_SESSION)
		return vec_push(&lists->session, site);
	r = vec_push(&lists->ret, site);
	return r ? r : vec_push(&lists->entry, site);
}

static int keep_link(const struct objects *objects, struct object *object, uint32_t owner, int fd)
{
	int r;

	if (fd < 0)
		return fd;
	link_home_keep(objects->opts.programs->link_home, fd);
	r = vec_push(&object->links, (struct object_link){ owner, fd });
	if (r)
		close(fd);
	return r;
}

static int attach_list(const struct objects *objects, struct object *object, int prog_fd, int type,
		       const struct uprobe_site *sites, size_t n, bool at_return, uint32_t owner,
		       pid_t pid)
{
	int r = 0;

	if (n == 0)
		return 0;
	if (type)
		return keep_link(objects, object, owner,
				 link_uprobe_multi(prog_fd, type, object->open_path, sites, n,
						   at_return, pid));
	for (size_t i = 0; i < n && r == 0; i++)
		r = keep_link(objects, object, owner,
			      programs_link_perf(objects->opts.programs, prog_fd, object->open_path,
						 &sites[i], at_return, pid));
	return r;
}

static void detach_owner(const struct objects *objects, struct object *object, uint32_t owner)
{
	size_t kept = 0;

	for (size_t i = 0; i < object->links.len; i++) {
		if (object->links.data[i].owner == owner)
			link_home_close(objects->opts.programs->link_home,
					object->links.data[i].fd);
		else
			object->links.data[kept++] = object->links.data[i];
	}
	object->links.len = kept;
}

/* The programs that count requested sizes: entries only. */
static int attach_sizes(const struct objects *objects, struct object *object, uint32_t owner,
			pid_t pid)
{
	int r = 0;

	vec_foreach(&objects->sizes, size) {
		_cleanup_(site_lists_done) struct site_lists lists = {};

		for (size_t i = 0; i < object->plan->n_probes && r == 0; i++) {
			const struct plan_probe *probe = &object->plan->probes[i];
			uint16_t fn = object->first_fn + i;
			struct uprobe_site site = {
				.offset = probe->entry_site,
				.cookie = ABI_COOKIE(fn, probe->kind, probe->args, owner),
			};

			if (strcmp(probe->function, size->function) == 0)
				r = vec_push(&lists.entry, site);
		}
		if (r == 0)
			r = attach_list(objects, object, size->fd,
					objects->opts.programs->entry_type, lists.entry.data,
					lists.entry.len, false, owner, pid);
	}
	return r;
}

/* Where threads are stopped before functions. */
static int attach_checkpoints(const struct objects *objects, struct object *object, uint32_t owner,
			      pid_t pid)
{
	_cleanup_(site_lists_done) struct site_lists lists = {};
	const struct programs *p = objects->opts.programs;
	int r = 0;

	for (size_t i = 0; i < object->checkpoints.list.len && r == 0; i++) {
		const struct checkpoint *point = &object->checkpoints.list.data[i];
		struct uprobe_site site = {
			.offset = point->offset,
			.cookie = ABI_COOKIE(point->function, 0, 0, owner),
		};

		r = vec_push(&lists.entry, site);
	}
	return r ? r :
		   attach_list(objects, object, p->checkpoint_fd, p->entry_type, lists.entry.data,
			       lists.entry.len, false, owner, pid);
}

/* C++'s forms of allocation that forward: bpf/form.bpf.h. */
static int attach_marks(const struct objects *objects, struct object *object, uint32_t owner,
			pid_t pid)
{
	_cleanup_(site_lists_done) struct site_lists lists = {};
	const struct programs *p = objects->opts.programs;
	int r = 0;

	for (size_t i = 0; object->marked && i < object->plan->n_marks && r == 0; i++) {
		const struct plan_mark *mark = &object->plan->marks[i];
		struct uprobe_site site = {
			.offset = mark->entry_site,
			.cookie = ABI_COOKIE(0, 0, ABI_MARK_ARGS(mark->form, mark->deletes), owner),
		};

		r = vec_push(&lists.entry, site);
	}
	return r ? r :
		   attach_list(objects, object, p->mark_fd, p->entry_type, lists.entry.data,
			       lists.entry.len, false, owner, pid);
}

static int attach(struct objects *objects, struct object *object, uint32_t owner, pid_t pid)
{
	_cleanup_(site_lists_done) struct site_lists lists = {};
	struct programs *p = objects->opts.programs;
	int r = 0, entry_fd = -1;

	for (size_t i = 0;
	     objects->opts.allocations && object->plan && i < object->plan->n_probes && r == 0; i++)
		r = add_probe(objects, object, &lists, i, owner);
	if (r == 0 && lists.entry.len) {
		entry_fd = programs_entry_fd(p);
		r = entry_fd < 0 ? entry_fd : 0;
	}
	if (r)
		return r;
	/* Returns before entries, for the reason given at add_probe; marks before both. */
	r = attach_marks(objects, object, owner, pid);
	if (r == 0)
		r = attach_list(objects, object, p->return_fd, p->entry_type, lists.ret.data,
				lists.ret.len, true, owner, pid);
	if (r == 0)
		r = attach_list(objects, object, entry_fd, p->entry_type, lists.entry.data,
				lists.entry.len, false, owner, pid);
	if (r == 0)
		r = attach_list(objects, object, p->session_fd, LINK_TYPE_UPROBE_SESSION,
				lists.session.data, lists.session.len, false, owner, pid);
	if (r == 0)
		r = attach_sizes(objects, object, owner, pid);
	if (r == 0)
		r = attach_checkpoints(objects, object, owner, pid);
	if (r)
		detach_owner(objects, object, owner);
	return r;
}

/* One file that cannot be probed must not end the tracing of all others. */
int objects_attach(struct objects *objects, struct object *object, uint32_t owner, pid_t pid)
{
	int r = attach(objects, object, owner, pid);

	if (r == 0 || r == -ENOMEM || owner)
		return r;
	object->refused = true;
	return vec_push(&object->unprobed, (struct unprobed){ "all functions", strerror(-r) });
}
