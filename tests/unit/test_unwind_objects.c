/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Room for rows, of chunks that no kernel has made. */
#include "trace/unwind/unwind_objects.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define FIRST_ROWS 64

struct fixture {
	struct abi_unwind_row rows[FIRST_ROWS + 1];
	struct abi_unwind_rule rules[ABI_UNWIND_RULES];
	struct abi_unwind_object places[2];
	struct unwind_objects objects;
};

static void begin(struct fixture *f)
{
	struct chunk first = { .rows = f->rows, .fd = -1 };

	memset(f, 0, sizeof(*f));
	f->objects.known.ops = &rule_ops;
	f->objects.rules = f->rules;
	f->objects.objects = f->places;
	assert_int_equal(range_pool_new(0, FIRST_ROWS, &first.pool), 0);
	assert_int_equal(vec_push(&f->objects.chunks, first), 0);
	assert_int_equal(range_pool_new(0, 2, &f->objects.indexes), 0);
}

static void end(struct fixture *f)
{
	range_pool_free(f->objects.chunks.data[0].pool);
	range_pool_free(f->objects.indexes);
	vec_done(&f->objects.chunks);
	hashmap_done(&f->objects.known);
}

static int add(struct fixture *f, size_t n_rows, uint32_t *ret_object)
{
	static struct abi_unwind_row all[FIRST_ROWS];
	static struct abi_unwind_rule none;
	const struct cfi_rows rows = {
		.rows = all, .n_rows = n_rows, .rules = &none, .n_rules = 1
	};

	return unwind_objects_add(&f->objects, &rows, NULL, 0, ret_object);
}

/* A number of rows in 32 bits would be that of a small file. */
static void more_rows_than_there_is_ever_room_for_are_refused(void **state)
{
	struct fixture f;
	uint32_t object = 7;

	(void)state;
	begin(&f);
	assert_int_equal(add(&f, (1ULL << 32) + 1, &object), -ENOSPC);
	assert_int_equal(add(&f, SIZE_MAX, &object), -ENOSPC);
	assert_int_equal(add(&f, (size_t)MAX_ADDED_ROWS + 1, &object), -ENOSPC);
	assert_int_equal(f.objects.chunks.len, 1);
	assert_int_equal(rows_used(&f.objects), 0);
	assert_int_equal(object, 7);
	assert_int_equal(add(&f, FIRST_ROWS, &object), 0);
	assert_int_equal(f.places[object].rows, FIRST_ROWS);
	assert_int_equal(rows_used(&f.objects), FIRST_ROWS);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(more_rows_than_there_is_ever_room_for_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
