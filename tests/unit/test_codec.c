/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The codec by a struct with a member of each kind. */
#include "tests/codec_values.h"
#include "trace/record/record_codec.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define N_ELEMENTS(a) (sizeof(a) / sizeof((a)[0]))

struct part {
	uint16_t key;
	char *text;
};

/* A member of each kind. */
struct whole {
	uint64_t number;
	uint8_t kind;
	bool flag;
	uint64_t place;
	const char *name, *other, *alias;
	char *own;
	uint8_t bytes[5];
	const char *colour;
	struct part part;
	uint64_t all[3];
	uint8_t n_some;
	struct part some[4];
	uint32_t n_list;
	struct part *list;
	struct part *pointer;
	int local;
};

static const char *const colours[] = { "red", "green", "blue" };

static uint32_t colour_number(const void *pointer, const void *context)
{
	(void)context;
	for (uint32_t i = 0; i < N_ELEMENTS(colours); i++)
		if (colours[i] == pointer)
			return i + 1;
	return 0;
}

static const void *colour(uint32_t number, const void *context)
{
	(void)context;
	return number <= N_ELEMENTS(colours) ? colours[number - 1] : NULL;
}

static const struct field_code colour_code = { colour_number, colour };

static const struct field part_fields[] = {
	F(part, key, FIELD_U16),
	F_MAX(part, text, FIELD_COPY, 12),
	F_END,
};
static const struct layout part_layout = LAYOUT(part, part_fields);

static bool whole_is_sound(const void *value, const void *context)
{
	(void)context;
	return ((const struct whole *)value)->number != 13;
}

static const struct field whole_fields[] = {
	F_MAX(whole, number, FIELD_U64, 100),
	F_MAX(whole, kind, FIELD_U8, 3),
	F(whole, flag, FIELD_BOOL),
	F(whole, place, FIELD_FILE_OFFSET),
	F_MAX(whole, name, FIELD_STRING, 8),
	F_MAX(whole, other, FIELD_OPTIONAL_STRING, 8),
	F_SAME_STRING(whole, alias, name, 8),
	F(whole, own, FIELD_OPTIONAL_COPY),
	F_BYTES(whole, bytes),
	F_CODED(whole, colour, &colour_code, 0),
	F_STRUCT(whole, part, &part_layout),
	F_REPEAT(whole, all, uint64_t, &codec_u64),
	F_ARRAY(whole, some, n_some, &part_layout),
	F_LIST(whole, list, n_list, 5, &part_layout),
	F_POINTER(whole, pointer, &part_layout),
	F_LOCAL(whole, local),
	F_END,
};
static const struct layout whole_layout = LAYOUT_CHECKED(whole, whole_fields, whole_is_sound);

static int read_whole(const char *bytes, size_t len, bool is_lenient, struct whole *ret)
{
	struct decoder decoder = { .at = bytes,
				   .end = bytes + len,
				   .is_lenient = is_lenient,
				   .file_bytes = VALUES_FILE_BYTES };

	int r;

	codec_read(&decoder, &whole_layout, ret);
	r = decoder_end(&decoder);
	if (r < 0)
		codec_done(&whole_layout, ret);
	return r;
}

static void fill_whole(struct values_fill *fill, struct whole *whole, struct strbuf *bytes)
{
	values_fill(fill, &whole_layout, whole);
	codec_write(bytes, &whole_layout, whole, NULL);
	assert_int_equal(strbuf_error(bytes), 0);
}

static void every_kind_of_member_comes_back(void **state)
{
	_cleanup_strbuf_ struct strbuf bytes = {};
	struct values_fill fill = {};
	struct whole whole, got;

	(void)state;
	fill_whole(&fill, &whole, &bytes);
	for (int lenient = 0; lenient < 2; lenient++) {
		assert_int_equal(read_whole(bytes.data, bytes.len, lenient, &got), 0);
		assert_true(values_same(&whole_layout, &whole, &got));
		assert_ptr_equal(got.colour, whole.colour);
		assert_int_equal(got.local, 0);
		assert_null(got.list[got.n_list].text); /* zeros are behind the last */
		codec_done(&whole_layout, &got);
		assert_null(got.list);
		assert_null(got.own);
	}
	values_done(&fill);
}

/* Nothing is owned after an error, and nothing read behind the end: the sanitizers see it. */
static void bytes_that_end_early_are_of_an_older_version(void **state)
{
	_cleanup_strbuf_ struct strbuf bytes = {};
	struct values_fill fill = {};
	struct whole whole, got;
	size_t n_read = 0;

	(void)state;
	fill_whole(&fill, &whole, &bytes);
	for (size_t len = 0; len < bytes.len; len++) {
		_cleanup_free_ char *part = malloc(len + 1);

		assert_non_null(part);
		memcpy(part, bytes.data, len);
		assert_int_equal(read_whole(part, len, false, &got), -EBADMSG);
		assert_null(got.list);
		if (read_whole(part, len, true, &got) < 0)
			continue;
		assert_non_null(got.name);
		n_read++;
		codec_done(&whole_layout, &got);
	}
	/* Between the 15 members, and in those that are structs or repeated. */
	assert_in_range(n_read, 15, 30);
	values_done(&fill);
}

static void change_flag(struct whole *whole)
{
	memset(&whole->flag, 2, 1);
}

static void change_number(struct whole *whole)
{
	whole->number = 101;
}

static void change_to_unsound(struct whole *whole)
{
	whole->number = 13;
}

static void change_kind(struct whole *whole)
{
	whole->kind = 4;
}

static void change_place(struct whole *whole)
{
	whole->place = VALUES_FILE_BYTES;
}

static void change_name(struct whole *whole)
{
	whole->name = NULL;
}

static void change_list(struct whole *whole)
{
	static struct part parts[6];

	for (size_t i = 0; i < N_ELEMENTS(parts); i++)
		parts[i].text = (char *)"x";
	whole->list = parts;
	whole->n_list = N_ELEMENTS(parts);
}

static void values_out_of_bounds_are_refused(void **state)
{
	static const struct {
		void (*change)(struct whole *whole);
		bool lenient_too;
	} rows[] = {
		{ change_flag, false }, { change_number, true }, { change_to_unsound, true },
		{ change_kind, true },	{ change_place, true },	 { change_name, false },
		{ change_list, true },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		_cleanup_strbuf_ struct strbuf good = {}, bytes = {};
		struct values_fill fill = {};
		struct whole whole, got;
		int r;

		fill_whole(&fill, &whole, &good);
		rows[i].change(&whole);
		codec_write(&bytes, &whole_layout, &whole, NULL);
		assert_int_equal(strbuf_error(&bytes), 0);
		assert_int_equal(read_whole(bytes.data, bytes.len, false, &got), -EBADMSG);
		r = read_whole(bytes.data, bytes.len, true, &got);
		assert_int_equal(r, rows[i].lenient_too ? -EBADMSG : 0);
		if (r == 0)
			assert_non_null(got.name);
		codec_done(&whole_layout, &got);
		values_done(&fill);
	}
}

/* Each byte to all values: it is refused, or in bounds, which the sanitizer sees. */
static void any_byte_may_be_a_lie(void **state)
{
	_cleanup_strbuf_ struct strbuf bytes = {};
	struct values_fill fill = {};
	struct whole whole, got;

	(void)state;
	fill_whole(&fill, &whole, &bytes);
	for (size_t at = 0; at < bytes.len; at++) {
		char was = bytes.data[at];

		for (int value = 0; value < 256; value++) {
			bytes.data[at] = (char)value;
			if (read_whole(bytes.data, bytes.len, false, &got) < 0)
				continue;
			assert_true(got.number <= 100 && got.kind <= 3 && got.n_list <= 5);
			assert_true(got.place < VALUES_FILE_BYTES && strlen(got.name) <= 8);
			codec_done(&whole_layout, &got);
		}
		bytes.data[at] = was;
	}
	values_done(&fill);
}

static void a_count_without_elements_takes_no_memory(void **state)
{
	_cleanup_strbuf_ struct strbuf bytes = {};
	const struct layout *layout = record_layout_find(RECORD_STACK_CHECK);
	const uint32_t n = UINT32_MAX;
	struct record_stack_check got;
	struct decoder decoder;

	(void)state;
	strbuf_add(&bytes, &n, sizeof(n));
	decoder = decoder_of(&bytes);
	codec_read(&decoder, layout, &got);
	assert_int_equal(decoder.error, -EBADMSG);
	assert_null(got.results);
}

static void longer_strings_are_left_out_or_an_error(void **state)
{
	_cleanup_strbuf_ struct strbuf bytes = {}, none = {};
	struct values_fill fill = {};
	struct whole whole, got;

	(void)state;
	fill_whole(&fill, &whole, &none);
	whole.other = whole.alias = "123456789";
	codec_write(&bytes, &whole_layout, &whole, NULL);
	assert_int_equal(read_whole(bytes.data, bytes.len, false, &got), 0);
	assert_null(got.other);
	assert_null(got.alias);
	codec_done(&whole_layout, &got);
	whole.name = "123456789";
	codec_write(&bytes, &whole_layout, &whole, NULL);
	assert_int_equal(strbuf_error(&bytes), -EMSGSIZE);
	values_done(&fill);
}

static void a_string_that_is_the_same_is_not_repeated(void **state)
{
	_cleanup_strbuf_ struct strbuf bytes = {}, other = {};
	struct values_fill fill = {};
	struct whole whole, got;

	(void)state;
	fill_whole(&fill, &whole, &other);
	whole.alias = whole.name;
	codec_write(&bytes, &whole_layout, &whole, NULL);
	assert_true(bytes.len < other.len);
	assert_int_equal(read_whole(bytes.data, bytes.len, false, &got), 0);
	assert_ptr_equal(got.alias, got.name);
	codec_done(&whole_layout, &got);
	values_done(&fill);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_of_member_comes_back),
		cmocka_unit_test(bytes_that_end_early_are_of_an_older_version),
		cmocka_unit_test(values_out_of_bounds_are_refused),
		cmocka_unit_test(any_byte_may_be_a_lie),
		cmocka_unit_test(a_count_without_elements_takes_no_memory),
		cmocka_unit_test(longer_strings_are_left_out_or_an_error),
		cmocka_unit_test(a_string_that_is_the_same_is_not_repeated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
