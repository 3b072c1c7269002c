/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/bpf/kernel_types.h"

#include "base/cleanup.h"

#include <bpf/btf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct fixture {
	struct btf *needs, *kernel, *reduced;
};

static void fixture_done(struct fixture *f)
{
	btf__free(f->needs);
	btf__free(f->kernel);
	btf__free(f->reduced);
}

static struct fixture new_fixture(void)
{
	struct fixture f = { .needs = btf__new_empty(), .kernel = btf__new_empty() };

	assert_non_null(f.needs);
	assert_non_null(f.kernel);
	return f;
}

static void need_struct(struct fixture *f, const char *name)
{
	assert_true(btf__add_struct(f->needs, name, 4) > 0);
}

/* struct inner { int n; }; struct task { struct inner in[3]; struct other *other; const int c; } */
static void add_kernel(struct btf *kernel)
{
	int number = btf__add_int(kernel, "int", 4, BTF_INT_SIGNED);
	int inner = btf__add_struct(kernel, "inner", 4), array, other, pointer, constant;

	assert_int_equal(btf__add_field(kernel, "n", number, 0, 0), 0);
	array = btf__add_array(kernel, number, inner, 3);
	other = btf__add_struct(kernel, "other", 4);
	assert_int_equal(btf__add_field(kernel, "n", number, 0, 0), 0);
	pointer = btf__add_ptr(kernel, other);
	constant = btf__add_const(kernel, number);
	assert_true(btf__add_struct(kernel, "task", 32) > 0);
	assert_int_equal(btf__add_field(kernel, "in", array, 0, 0), 0);
	assert_int_equal(btf__add_field(kernel, "other", pointer, 128, 0), 0);
	assert_int_equal(btf__add_field(kernel, "c", constant, 192, 0), 0);
}

static const struct btf_type *type_named(const struct btf *btf, const char *name)
{
	int id = btf__find_by_name_kind(btf, name, BTF_KIND_STRUCT);

	return id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;
}

static void what_is_held_by_value_comes_along_and_pointers_lead_nowhere(void **state)
{
	_cleanup_(fixture_done) struct fixture f = new_fixture();
	const struct btf_type *task, *array, *pointer, *constant;

	(void)state;
	need_struct(&f, "task");
	add_kernel(f.kernel);
	assert_int_equal(kernel_types_reduce(f.needs, f.kernel, &f.reduced), 0);
	task = type_named(f.reduced, "task");
	assert_non_null(task);
	assert_int_equal(task->size, 32);
	assert_int_equal(btf_vlen(task), 3);
	assert_string_equal(btf__name_by_offset(f.reduced, btf_members(task)[2].name_off), "c");
	assert_int_equal(btf_members(task)[1].offset, 128);
	array = btf__type_by_id(f.reduced, btf_members(task)[0].type);
	assert_int_equal(btf_kind(array), BTF_KIND_ARRAY);
	assert_int_equal(btf_array(array)->nelems, 3);
	assert_ptr_equal(btf__type_by_id(f.reduced, btf_array(array)->type),
			 type_named(f.reduced, "inner"));
	pointer = btf__type_by_id(f.reduced, btf_members(task)[1].type);
	assert_int_equal(btf_kind(pointer), BTF_KIND_PTR);
	assert_int_equal(pointer->type, 0);
	constant = btf__type_by_id(f.reduced, btf_members(task)[2].type);
	assert_int_equal(btf_kind(constant), BTF_KIND_CONST);
	assert_true(btf_is_int(btf__type_by_id(f.reduced, constant->type)));
	assert_null(type_named(f.reduced, "other"));
}

static void names_are_asked_for_without_their_flavour(void **state)
{
	static const struct {
		const char *name;
		bool found;
	} cases[] = {
		{ "task", true },	  { "task___new", true }, { "task___a___b", false },
		{ "task____new", false }, { "task__new", false }, { "tas", false },
		{ "tasks", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_(fixture_done) struct fixture f = new_fixture();

		need_struct(&f, cases[i].name);
		add_kernel(f.kernel);
		assert_int_equal(kernel_types_reduce(f.needs, f.kernel, &f.reduced), 0);
		assert_int_equal(type_named(f.reduced, "task") != NULL, cases[i].found);
	}
}

/* All of them: libbpf says so when they disagree. */
static void types_of_one_name_are_all_kept_and_other_kinds_are_not(void **state)
{
	_cleanup_(fixture_done) struct fixture f = new_fixture();
	uint32_t structs = 0;

	(void)state;
	need_struct(&f, "twice");
	assert_true(btf__add_struct(f.kernel, "twice", 4) > 0);
	assert_true(btf__add_union(f.kernel, "twice", 4) > 0);
	assert_true(btf__add_struct(f.kernel, "twice", 8) > 0);
	assert_int_equal(kernel_types_reduce(f.needs, f.kernel, &f.reduced), 0);
	for (uint32_t id = 1; id < btf__type_cnt(f.reduced); id++) {
		assert_int_not_equal(btf_kind(btf__type_by_id(f.reduced, id)), BTF_KIND_UNION);
		structs += btf_is_struct(btf__type_by_id(f.reduced, id));
	}
	assert_int_equal(structs, 2);
}

static void a_type_that_holds_itself_does_not_go_on_for_ever(void **state)
{
	_cleanup_(fixture_done) struct fixture f = new_fixture();

	(void)state;
	need_struct(&f, "odd");
	assert_int_equal(btf__add_const(f.kernel, 2), 1);
	assert_int_equal(btf__add_struct(f.kernel, "odd", 4), 2);
	assert_int_equal(btf__add_field(f.kernel, "self", 1, 0, 0), 0);
	/* Each is copied once, so that it ends: the copy is as odd as what it was copied from. */
	assert_int_equal(kernel_types_reduce(f.needs, f.kernel, &f.reduced), 0);
	assert_int_equal(btf__type_cnt(f.reduced), 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_held_by_value_comes_along_and_pointers_lead_nowhere),
		cmocka_unit_test(names_are_asked_for_without_their_flavour),
		cmocka_unit_test(types_of_one_name_are_all_kept_and_other_kinds_are_not),
		cmocka_unit_test(a_type_that_holds_itself_does_not_go_on_for_ever),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
