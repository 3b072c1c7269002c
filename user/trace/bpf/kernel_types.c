/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/bpf/kernel_types.h"

#include "base/cleanup.h"
#include "base/hashmap.h"
#include "trace/kernel/boot_facts.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Structs that hold structs by value; the kernel's reach a dozen. */
#define MAX_DEPTH 64

DEFINE_CLEANUP(struct btf, btf__free)

struct name {
	const char *name;
	size_t len;
	unsigned int kind;
};

struct reduction {
	const struct btf *from;
	struct btf *to;
	uint32_t *new_ids;    /* by id in `from`; 0: not copied */
	int pointer;	      /* the one of `to` */
	struct hashmap names; /* struct name */
};

static uint64_t hash_name(const void *item)
{
	const struct name *name = item;

	return hash_bytes(name->name, name->len, name->kind);
}

static bool equal_names(const void *a, const void *b)
{
	const struct name *x = a, *y = b;

	return x->kind == y->kind && x->len == y->len && memcmp(x->name, y->name, x->len) == 0;
}

static const struct hashmap_ops name_ops = { hash_name, equal_names, free };

static bool begins_flavour(const char *at)
{
	return at[0] != '_' && memcmp(at + 1, "___", 3) == 0 && at[4] != '_';
}

/* Without the flavour that a local type may have: libbpf's bpf_core_essential_name_len(). */
static size_t essential_length(const char *name)
{
	size_t len = strlen(name);

	for (size_t i = len; i >= 5; i--)
		if (begins_flavour(name + i - 5))
			return i - 4;
	return len;
}

static struct name name_of(const struct btf *btf, const struct btf_type *type)
{
	const char *name = btf__name_by_offset(btf, type->name_off);

	return (struct name){
		.name = name,
		.len = essential_length(name),
		.kind = btf_kind(type),
	};
}

static int add_names(struct reduction *r, const struct btf *needs)
{
	int error = 0;

	r->names.ops = &name_ops;
	for (uint32_t id = 1; id < btf__type_cnt(needs) && error == 0; id++) {
		struct name *name = malloc(sizeof(*name));

		if (!name)
			return -ENOMEM;
		*name = name_of(needs, btf__type_by_id(needs, id));
		error = name->len ? hashmap_insert(&r->names, name) : -EEXIST;
		if (error)
			free(name);
		if (error == -EEXIST)
			error = 0;
	}
	return error;
}

static struct btf_type *copied(const struct reduction *r, uint32_t new_id)
{
	return (struct btf_type *)btf__type_by_id(r->to, new_id); /* ours to change */
}

static int copy_type(struct reduction *r, uint32_t id, int depth);

/* The members of what has been copied as it was: their types follow. */
static int copy_members(struct reduction *r, uint32_t new_id, int depth)
{
	const uint32_t n = btf_vlen(copied(r, new_id));

	for (uint32_t i = 0; i < n; i++) {
		int type = copy_type(r, btf_members(copied(r, new_id))[i].type, depth + 1);

		if (type < 0)
			return type;
		btf_members(copied(r, new_id))[i].type = (uint32_t)type;
	}
	return 0;
}

static int copy_array(struct reduction *r, uint32_t new_id, int depth)
{
	const struct btf_array array = *btf_array(copied(r, new_id));
	int element = copy_type(r, array.type, depth + 1);
	int index = element < 0 ? element : copy_type(r, array.index_type, depth + 1);

	if (index < 0)
		return index;
	btf_array(copied(r, new_id))->type = (uint32_t)element;
	btf_array(copied(r, new_id))->index_type = (uint32_t)index;
	return 0;
}

static int copy_what_follows(struct reduction *r, uint32_t new_id, int depth)
{
	const struct btf_type *type = copied(r, new_id);
	int to;

	if (btf_is_composite(type))
		return copy_members(r, new_id, depth);
	if (btf_is_array(type))
		return copy_array(r, new_id, depth);
	if (!btf_is_mod(type) && !btf_is_typedef(type))
		return 0;
	to = copy_type(r, type->type, depth + 1);
	if (to >= 0)
		copied(r, new_id)->type = (uint32_t)to;
	return to < 0 ? to : 0;
}

static bool is_kept(const struct btf_type *type)
{
	return btf_is_int(type) || btf_is_any_enum(type) || btf_is_float(type) ||
	       btf_is_composite(type) || btf_is_array(type) || btf_is_mod(type) ||
	       btf_is_typedef(type);
}

/* Its number in `to`; 0, which is void, of what no value has. Negative errno. */
static int copy_type(struct reduction *r, uint32_t id, int depth)
{
	const struct btf_type *type = btf__type_by_id(r->from, id);
	int new_id, error;

	if (!type || depth > MAX_DEPTH)
		return -EINVAL;
	if (btf_is_ptr(type))
		return r->pointer;
	if (!id || !is_kept(type))
		return 0;
	if (r->new_ids[id])
		return (int)r->new_ids[id];
	new_id = btf__add_type(r->to, r->from, type);
	if (new_id < 0)
		return new_id;
	r->new_ids[id] = (uint32_t)new_id;
	error = copy_what_follows(r, (uint32_t)new_id, depth);
	return error ? error : new_id;
}

static int copy_named(struct reduction *r)
{
	int error = 0;

	for (uint32_t id = 1; id < btf__type_cnt(r->from) && error >= 0; id++) {
		const struct name name = name_of(r->from, btf__type_by_id(r->from, id));

		if (name.len && hashmap_find(&r->names, &name))
			error = copy_type(r, id, 0);
	}
	return error < 0 ? error : 0;
}

int kernel_types_reduce(const struct btf *needs, const struct btf *kernel, struct btf **ret_btf)
{
	_cleanup_(btf__free_p) struct btf *to = btf__new_empty();
	_cleanup_free_ uint32_t *new_ids = calloc(btf__type_cnt(kernel), sizeof(*new_ids));
	struct reduction r = { .from = kernel, .to = to, .new_ids = new_ids };
	int error;

	if (!to || !new_ids)
		return -ENOMEM;
	r.pointer = btf__add_ptr(to, 0);
	error = r.pointer < 0 ? r.pointer : add_names(&r, needs);
	if (error == 0)
		error = copy_named(&r);
	hashmap_done(&r.names);
	if (error == 0)
		*ret_btf = TAKE_PTR(to);
	return error;
}

static void fact_of(const char *object, char fact[NAME_MAX + 1])
{
	(void)snprintf(fact, NAME_MAX + 1, "types-%s", object); /* objects have short names */
}

int kernel_types_open(const char *object)
{
	_cleanup_free_ void *bytes = NULL;
	_cleanup_close_ int fd = -1;
	char fact[NAME_MAX + 1];
	size_t len;

	fact_of(object, fact);
	if (boot_facts_load(NULL, fact, &bytes, &len))
		return -ENOENT;
	fd = memfd_create("memtraced-types", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	return write(fd, bytes, len) == (ssize_t)len ? TAKE_FD(fd) : -EIO;
}

void kernel_types_keep(const char *object, const struct bpf_object *needs)
{
	_cleanup_(btf__free_p) struct btf *kernel = btf__load_vmlinux_btf();
	_cleanup_(btf__free_p) struct btf *reduced = NULL;
	char fact[NAME_MAX + 1];
	const void *bytes;
	uint32_t len;

	if (!kernel || kernel_types_reduce(bpf_object__btf(needs), kernel, &reduced))
		return;
	bytes = btf__raw_data(reduced, &len);
	fact_of(object, fact);
	if (bytes)
		(void)boot_facts_put(NULL, fact, bytes, len); /* as the header says */
}
