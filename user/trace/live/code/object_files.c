/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files behind objects.h: opened, planned, told to the programs.
 */
#include "base/clock.h"
#include "bpf/abi_unwind.h"
#include "memtraced.skel.h"
#include "probe/object_reader.h"
#include "target/file_open.h"
#include "target/preload.h"
#include "trace/kernel/urgent.h"
#include "trace/live/code/object_state.h"
#include "trace/unwind/unwind_tables.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static_assert(OBJECT_BUILD_ID_MAX <= RECORD_BUILD_ID_MAX, "a record has room for it");

/* Ids below are the daemon's own: FUNCTION_MMAP and the like, RECORD_BEFORE_ATTACH. */
#define FIRST_FUNCTION_ID 16

DEFINE_HASHMAP_OPS(object_ops, struct object, NULL, ino, dev);

static void object_free(struct object *object)
{
	if (!object)
		return;
	vec_foreach(&object->links, link)
		close(link->fd);
	vec_done(&object->links);
	vec_done(&object->unprobed);
	object_facts_done(&object->facts);
	free(object->results);
	free(object->first_site);
	free(object->try_after);
	if (object->fd >= 0)
		close(object->fd);
	free(object->path);
	free(object);
}
DEFINE_CLEANUP(struct object, object_free)

int objects_new(const struct objects_opts *opts, struct objects **ret_objects)
{
	struct objects *objects = calloc(1, sizeof(*objects));

	if (!objects)
		return -ENOMEM;
	objects->opts = *opts;
	unopened_files_init(&objects->unopened);
	objects->next_fn = FIRST_FUNCTION_ID;
	objects->depth =
		opts->run->sampled && !opts->run->both ? RECORD_DEPTH_SAMPLED : RECORD_DEPTH_EXACT;
	objects->by_file.ops = &object_ops;
	*ret_objects = objects;
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
	vec_done(&objects->sample_specs);
	open_ahead_done(&objects->ahead);
	open_ahead_done(&objects->asked);
	unopened_files_done(&objects->unopened);
	hashmap_done(&objects->by_file);
	free(objects);
}

int objects_add_sizes(struct objects *objects, int prog_fd, const char *function)
{
	return vec_push(&objects->sizes, (struct size_program){ prog_fd, function });
}

struct object *objects_find(const struct objects *objects, uint32_t dev, uint64_t ino)
{
	struct object key = { .dev = dev, .ino = ino };

	return hashmap_find(&objects->by_file, &key);
}

size_t objects_count(const struct objects *objects)
{
	return objects->all.len;
}

struct object *objects_at(const struct objects *objects, size_t i)
{
	return objects->all.data[i];
}

static int unwind_add(const struct objects *objects, struct object *object,
		      enum unwind_rows_kind kind)
{
	uint32_t before = object->table, now;
	int r;

	if (!objects->opts.tables || !object->facts.unwind.n_segments)
		return 0;
	r = unwind_tables_add(objects->opts.tables, object->fd, &object->facts.unwind, kind, &now);
	if (r)
		return r;
	object->no_unwinding = !now;
	if (!now)
		return 0;
	object->table = now;
	return before ? unwind_tables_replace(objects->opts.tables, before, now) : 0;
}

/* Stacks of samples begin at any instruction, those of calls with a return address. */
static enum unwind_rows_kind rows_kind(const struct objects *objects, const struct object *object)
{
	return objects->opts.run->full_rows || object_has_samples(object) ? UNWIND_ROWS_FULL :
									    UNWIND_ROWS_FITTING;
}

/* Distances of inner frees from the probe, which both lie in one text segment. */
static int add_inner_frees(const struct objects *objects, const struct object *object)
{
	int fd = bpf_map__fd(objects->opts.programs->skel->maps.inner_frees);
	uint8_t one = 1;

	for (size_t i = 0; i < object->facts.plan->n_probes; i++) {
		const struct plan_probe *probe = &object->facts.plan->probes[i];

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

/* The number by which the programs have where a probe's arguments are; negative errno. */
static int sample_spec(struct objects *objects, const struct abi_sample_spec *spec)
{
	const uint32_t n = objects->sample_specs.len;
	int r;

	for (uint32_t i = 0; i < n; i++)
		if (memcmp(&objects->sample_specs.data[i], spec, sizeof(*spec)) == 0)
			return (int)i;
	if (n == ABI_SAMPLE_SPECS)
		return -ENOSPC;
	r = vec_reserve(&objects->sample_specs, n + 1);
	if (r == 0)
		r = urgent_update(bpf_map__fd(objects->opts.programs->skel->maps.sample_specs), &n,
				  spec);
	if (r == 0) /* it has room; what the programs do not have has no number */
		(void)vec_push(&objects->sample_specs, *spec);
	return r ? r : (int)n;
}

static int number_sample_specs(struct objects *objects, struct object *object)
{
	for (size_t i = 0; i < object->facts.samples->n_probes; i++) {
		int number = sample_spec(objects, &object->facts.samples->probes[i].sample);

		if (number < 0)
			return number;
		object->facts.samples->probes[i].args = (uint16_t)number;
	}
	return 0;
}

static const struct unprobed only_64bit = {
	"all functions",
	"a 32-bit file: only 64-bit programs are traced",
};

int objects_number(struct objects *objects, size_t n, uint16_t *ret_first)
{
	if (objects->next_fn + n > UINT16_MAX)
		return -ENOSPC;
	*ret_first = objects->next_fn;
	objects->next_fn += n;
	return 0;
}

static int number_functions(struct objects *objects, struct object *object)
{
	size_t n = object->facts.plan ? object->facts.plan->n_probes : 0;
	size_t n_samples = object->facts.samples ? object->facts.samples->n_probes : 0;
	int r = objects_number(objects, n + n_samples, &object->first_fn);

	object->first_sample_fn = object->first_fn + n;
	return r;
}

static int list_skipped(struct object *object, const struct plan *plan)
{
	for (size_t i = 0; plan && i < plan->n_skipped; i++) {
		const struct plan_skipped *s = &plan->skipped[i];
		int r;

		if (s->forwards)
			continue;
		r = vec_push(&object->unprobed, (struct unprobed){ s->function, s->why });
		if (r)
			return r;
	}
	return 0;
}

static const struct unprobed not_read = {
	"all functions",
	"the process that parses files ended while reading it, or was not running",
};

/* What is to be probed: numbers for its functions, and what the programs must know of them. */
static int install_plans(struct objects *objects, struct object *object)
{
	const struct plan *plan = object->facts.plan, *samples = object->facts.samples;
	int r = samples ? number_sample_specs(objects, object) : 0;

	if (r)
		return r;
	r = number_functions(objects, object);
	if (r == 0)
		r = list_skipped(object, plan);
	if (r == 0)
		r = list_skipped(object, samples);
	if (r || !plan)
		return r;
	object->marked = objects->opts.programs->mark_fd >= 0 && plan->n_marks > 0;
	for (size_t i = 0; i < plan->n_probes; i++)
		objects->opts.programs->traits[object->first_fn + i] =
			ABI_TRAITS(plan->probes[i].family, plan->probes[i].forms);
	return add_inner_frees(objects, object);
}

/* Of a file of this path, which is borrowed. */
static struct object_wants wants_of(const struct objects *objects, const char *path)
{
	const bool probes = objects->opts.run->allocations || objects->sizes.len > 0;
	const bool sampled = objects->opts.run->sampled, is_stand_in = preload_is_library(path);

	/*
	 * USDT probes, the functions of allocators, or now these and now those. Our library passes
	 * calls on: they are counted where they arrive. A return probe in it would also change the
	 * return address that it reads for a book of its own.
	 */
	return (struct object_wants){
		.allocators = probes && (!sampled || objects->opts.run->both) && !is_stand_in,
		.results = objects->opts.results == OBJECTS_RESULTS_FORCED ||
			   objects->opts.results == OBJECTS_RESULTS_WRONG,
		.samples = probes && sampled,
		.is_stand_in = is_stand_in,
		.path = path,
		.emulation = objects->opts.emulation,
		.custom = objects->opts.custom,
		.loader = objects->opts.loader,
		.checkpoints = objects->opts.run->checkpoints,
		.checkpoint_names = objects->opts.checkpoint_names,
		.unwinding = objects->opts.tables != NULL,
		.books = objects->opts.books,
	};
}

void object_ask(const struct objects *objects, int fd, const char *path)
{
	const struct object_wants wants = wants_of(objects, path);

	object_ask_facts(objects->opts.worker, fd, &wants);
	if (objects->opts.ask_ahead)
		objects->opts.ask_ahead(objects->opts.worker, fd);
}

static int object_plan(struct objects *objects, struct object *object)
{
	const struct object_wants wants = wants_of(objects, object->path);
	_cleanup_(object_facts_done) struct object_facts facts = {};
	int r = object_read_facts(objects->opts.worker, object->fd, &wants, &facts);

	if (r == -EPIPE || r == -EAGAIN) {
		objects->unread++;
		return vec_push(&object->unprobed, not_read);
	}
	if (r)
		return r;
	if (!facts.is_elf || facts.kind == PROGRAM_32BIT) {
		object->facts.kind = facts.kind;
		return facts.kind == PROGRAM_32BIT ? vec_push(&object->unprobed, only_64bit) : 0;
	}
	object->facts = facts;
	facts = (struct object_facts){};
	r = install_plans(objects, object);
	return r ? r : unwind_add(objects, object, rows_kind(objects, object));
}

static bool is_same_plan(const struct plan *a, const struct plan *b)
{
	bool same = a->n_probes == b->n_probes;

	for (size_t i = 0; same && i < a->n_probes; i++)
		same = a->probes[i].function == b->probes[i].function &&
		       a->probes[i].entry_site == b->probes[i].entry_site;
	return same;
}

int object_find_results(struct objects *objects, struct object *object)
{
	_cleanup_(object_facts_done) struct object_facts facts = {};
	struct object_wants wants = wants_of(objects, object->path);
	int r;

	wants.results = true;
	wants.samples = wants.unwinding = wants.books = false;
	r = object_read_facts(objects->opts.worker, object->fd, &wants, &facts);
	if (r || !facts.plan || object_has_changed(object) ||
	    !is_same_plan(object->facts.plan, facts.plan))
		return r == -ENOMEM ? r : 0;
	plan_free(object->facts.plan);
	object->facts.plan = TAKE_PTR(facts.plan);
	return 0;
}

static struct timespec file_changed(int fd)
{
	struct statx st = { 0 };

	/* Without an answer it is taken as never changed. */
	(void)statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_CTIME, &st);
	return (struct timespec){ st.stx_ctime.tv_sec, st.stx_ctime.tv_nsec };
}

bool object_has_changed(const struct object *object)
{
	struct timespec now = file_changed(object->fd);

	return now.tv_sec != object->changed.tv_sec || now.tv_nsec != object->changed.tv_nsec;
}

static void set_file(struct object *object, int fd)
{
	object->fd = fd;
	snprintf(object->open_path, sizeof(object->open_path), "/proc/self/fd/%d", fd);
}

int object_add(struct objects *objects, uint32_t dev, uint64_t ino, const char *path, int fd,
	       struct object **ret_object)
{
	_cleanup_(object_free_p) struct object *object = calloc(1, sizeof(*object));
	int r;

	if (!object) {
		close(fd);
		return -ENOMEM;
	}
	object->dev = dev;
	object->ino = ino;
	set_file(object, fd);
	object->changed = file_changed(fd);
	object->path = strdup(path);
	if (!object->path)
		return -ENOMEM;
	object_ask(objects, fd, path);
	r = object_plan(objects, object);
	if (r == 0)
		r = vec_push(&objects->all, object);
	if (r)
		return r;
	r = hashmap_insert(&objects->by_file, object);
	if (r) {
		objects->all.len--;
		return r;
	}
	*ret_object = TAKE_PTR(object);
	return 0;
}

/* What is known of it stays as it is; where that cannot be, it is without its file. */
static int object_reopen(struct object *object, pid_t pid, const struct proc_map *map)
{
	int fd = proc_map_open(pid, map);

	if (fd >= 0)
		set_file(object, fd);
	return fd == -ENOMEM ? fd : 0;
}

void object_use(struct object *object)
{
	object->is_used = true;
}

void objects_close_unused(struct objects *objects, uint64_t now_ns, uint64_t unused_ns,
			  void (*fn)(uint32_t dev, uint64_t ino, void *userdata), void *userdata)
{
	open_ahead_done(&objects->ahead);
	open_ahead_done(&objects->asked);
	vec_foreach(&objects->all, at) {
		struct object *object = *at;

		if (object->is_used || object->links.len > 0)
			object->unused_ns = 0;
		else if (!object->unused_ns)
			object->unused_ns = now_ns;
		object->is_used = false;
		if (object->fd < 0 || !object->unused_ns || now_ns - object->unused_ns < unused_ns)
			continue;
		close(object->fd);
		object->fd = -1;
		fn(object->dev, object->ino, userdata);
	}
}

int objects_get(struct objects *objects, pid_t pid, const struct proc_map *map,
		struct object **ret_object, bool *ret_new)
{
	uint32_t dev = map->dev_major << 20 | map->dev_minor;
	struct object *object = objects_find(objects, dev, map->ino);
	int r, fd;

	*ret_object = object;
	*ret_new = object && object->is_ahead;
	if (object) {
		object->is_ahead = false;
		return object->fd < 0 ? object_reopen(object, pid, map) : 0;
	}
	fd = open_ahead_take(&objects->ahead, dev, map->ino);
	if (fd < 0)
		fd = open_ahead_take(&objects->asked, dev, map->ino);
	if (fd < 0)
		fd = proc_map_open(pid, map);
	if (fd < 0)
		return fd;
	unopened_files_opened(&objects->unopened, dev, map->ino);
	r = object_add(objects, dev, map->ino, map->path, fd, ret_object);
	*ret_new = r == 0;
	return r;
}

int objects_add_unopened(struct objects *objects, const struct proc_map *map, int error,
			 const struct unopened_file **ret_file, bool *ret_new)
{
	return unopened_files_add(&objects->unopened, map, error, clock_monotonic_ns(), ret_file,
				  ret_new);
}

bool objects_retry_is_due(const struct objects *objects, uint64_t now_ns)
{
	return now_ns >= objects->unopened.next_ns;
}

void objects_retried(struct objects *objects, uint64_t now_ns)
{
	unopened_files_tried(&objects->unopened, now_ns);
}

void objects_set_depth(struct objects *objects, enum record_depth depth)
{
	objects->depth = depth;
}

int objects_unwind(struct objects *objects, struct object *object, bool fully)
{
	int r;

	if (!objects->opts.tables || object->no_unwinding)
		return 0;
	if (object->table && (!fully || !unwind_tables_pruned(objects->opts.tables, object->table)))
		return 0;
	r = unwind_add(objects, object,
		       fully ? UNWIND_ROWS_FULL_OR_NONE : rows_kind(objects, object));
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
		uint32_t old = (*o)->table;
		int r;

		(*o)->no_unwinding = false; /* there will be room */
		if (used[old] || !old)
			continue;
		(*o)->table = 0;
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
	struct abi_file file = { .verdict = ABI_FILE_ALLOCATOR, .object = object->table };

	if (!object_is_probed(object))
		file.verdict = object_is_alone(object) ? ABI_FILE_ALONE : ABI_FILE_NO_ALLOCATOR;
	else if (!objects_probe(objects, object, 0))
		file.verdict = ABI_FILE_NO_ALLOCATOR; /* nobody needs to wait for probes */
	else if (object_attached(object, 0))
		file.verdict = ABI_FILE_SHARED_LINK;
	return urgent_update(bpf_map__fd(objects->opts.programs->skel->maps.files), &key, &file);
}

int objects_publish_all(struct objects *objects)
{
	int r = 0;

	for (size_t i = 0; i < objects->all.len && r == 0; i++)
		r = objects_publish(objects, objects->all.data[i]);
	return r;
}

bool object_attached(const struct object *object, uint32_t owner)
{
	vec_foreach(&object->links, link)
		if (link->owner == owner)
			return true;
	return false;
}
