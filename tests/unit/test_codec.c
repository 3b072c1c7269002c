/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The codec by a struct with a member of each kind; and each record, with each byte set: a member
 * without a row in its table does not come back.
 */
#include "tests/codec_values.h"
#include "trace/record/record_codec.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define N_ELEMENTS(a) (sizeof(a) / sizeof((a)[0]))
#define MAX_TYPES 256

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

/* --- no member is forgotten ------------------------------------------------------------------ */

#if defined(__has_builtin)
#if __has_builtin(__builtin_clear_padding)
#define CAN_TELL_PADDING 1
#endif
#endif

#ifdef CAN_TELL_PADDING
/* A byte of 0 is padding. */
#define MASK(type)                                                                                 \
	static void mask_of_##type(uint8_t *mask)                                                  \
	{                                                                                          \
		struct type value;                                                                 \
                                                                                                   \
		memset(&value, 0xff, sizeof(value));                                               \
		__builtin_clear_padding(&value);                                                   \
		memcpy(mask, &value, sizeof(value));                                               \
	}
#else
#define MASK(type)                                                                                 \
	static void mask_of_##type(uint8_t *mask)                                                  \
	{                                                                                          \
		memset(mask, 0, sizeof(struct type));                                              \
	}
#endif

/* Every struct that is the value of a layout. */
#define EVERY_STRUCT(X)                                                                            \
	X(part)                                                                                    \
	X(whole)                                                                                   \
	X(record_run)                                                                              \
	X(record_function)                                                                         \
	X(record_process)                                                                          \
	X(record_process_end)                                                                      \
	X(record_name)                                                                             \
	X(record_mapping)                                                                          \
	X(record_unmapping)                                                                        \
	X(record_stack)                                                                            \
	X(record_region)                                                                           \
	X(record_region_gone)                                                                      \
	X(record_cut)                                                                              \
	X(record_totals)                                                                           \
	X(record_site)                                                                             \
	X(record_coverage)                                                                         \
	X(record_loss)                                                                             \
	X(record_unprobed)                                                                         \
	X(record_symbol)                                                                           \
	X(record_symbol_frame)                                                                     \
	X(record_symbol_linkage)                                                                   \
	X(record_histogram)                                                                        \
	X(record_hist_counts)                                                                      \
	X(record_bucket)                                                                           \
	X(record_errno)                                                                            \
	X(record_event)                                                                            \
	X(record_event_count)                                                                      \
	X(record_occurrence)                                                                       \
	X(record_syscall)                                                                          \
	X(record_syscall_file)                                                                     \
	X(record_syscall_stack)                                                                    \
	X(record_stack_check)                                                                      \
	X(record_stack_differs)                                                                    \
	X(record_jit_code)                                                                         \
	X(record_jit_line)                                                                         \
	X(record_symbols_unread)                                                                   \
	X(record_depth_change)                                                                     \
	X(record_overhead)                                                                         \
	X(record_heap_error)                                                                       \
	X(record_fault)                                                                            \
	X(record_death)                                                                            \
	X(record_free_pair)                                                                        \
	X(record_leaks)                                                                            \
	X(record_leak_sum)                                                                         \
	X(record_leak_place)                                                                       \
	X(record_leak_text)                                                                        \
	X(record_resident)                                                                         \
	X(record_sample)                                                                           \
	X(record_sample_process)                                                                   \
	X(record_sample_site)                                                                      \
	X(record_sample_end)

EVERY_STRUCT(MASK)

#define MASK_ROW(type) { #type, mask_of_##type, sizeof(struct type) },

static const struct {
	const char *name;
	void (*mask)(uint8_t *mask);
	size_t size;
} masks[] = { EVERY_STRUCT(MASK_ROW) };

/* Which bytes are members; of one number they all are. */
static void find_mask(const struct layout *layout, uint8_t *mask)
{
	for (size_t i = 0; i < sizeof(masks) / sizeof(masks[0]); i++)
		if (strcmp(masks[i].name, layout->name) == 0 && masks[i].size == layout->size) {
			masks[i].mask(mask);
			return;
		}
	if (layout->size > sizeof(uint64_t))
		fail_msg("struct %s is to be added to EVERY_STRUCT", layout->name);
	memset(mask, 0xff, layout->size);
}

static void assert_comes_back(const struct layout *layout, const char *a, const char *b);

static void assert_elements_come_back(const struct layout *of, const char *a, const char *b,
				      uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		assert_comes_back(of, a + i * of->size, b + i * of->size);
}

/* How many bytes it has that are compared by values_same() and by the structs' own layouts. */
static size_t compare_inside(const struct field *f, const char *a, const char *b)
{
	const char *in_a = a + f->offset, *in_b = b + f->offset;

	switch (f->kind) {
	case FIELD_LOCAL:
		return f->max;
	case FIELD_STRUCT:
		assert_comes_back(f->of, in_a, in_b);
		return f->of->size;
	case FIELD_REPEAT:
		assert_elements_come_back(f->of, in_a, in_b, f->max);
		return f->max * f->of->size;
	case FIELD_ARRAY:
		assert_elements_come_back(f->of, in_a, in_b, values_count(f, a));
		return f->max * f->of->size;
	case FIELD_LIST:
		assert_elements_come_back(f->of, *(char *const *)in_a, *(char *const *)in_b,
					  values_count(f, a));
		return sizeof(void *);
	case FIELD_POINTER:
		assert_elements_come_back(f->of, *(char *const *)in_a, *(char *const *)in_b, 1);
		return sizeof(void *);
	default:
		return f->kind >= FIELD_STRING && f->kind <= FIELD_OPTIONAL_COPY ? sizeof(void *) :
										   0;
	}
}

static void assert_comes_back(const struct layout *layout, const char *a, const char *b)
{
	_cleanup_free_ uint8_t *mask = calloc(1, layout->size + 1);

	assert_non_null(mask);
	find_mask(layout, mask);
	for (const struct field *f = layout->fields; f->kind; f++) {
		size_t n = compare_inside(f, a, b);

		assert_true(f->offset + n <= layout->size);
		memset(mask + f->offset, 0, n);
	}
	for (size_t i = 0; i < layout->size; i++)
		if (mask[i] && a[i] != b[i])
			fail_msg("struct %s: byte %zu does not come back", layout->name, i);
}

static void round_trip(const struct layout *layout, bool is_lenient)
{
	struct values_fill fill = {};
	_cleanup_free_ char *sent = calloc(1, layout->size + 1);
	_cleanup_free_ char *got = calloc(1, layout->size + 1);
	_cleanup_strbuf_ struct strbuf bytes = {};
	struct decoder decoder;

	assert_true(sent && got);
	values_fill(&fill, layout, sent);
	codec_write(&bytes, layout, sent, fill.context);
	assert_int_equal(strbuf_error(&bytes), 0);
	decoder = decoder_of(&bytes);
	decoder.is_lenient = is_lenient;
	decoder.file_bytes = VALUES_FILE_BYTES;
	decoder.context = fill.context;
	codec_read(&decoder, layout, got);
	if (decoder_end(&decoder) < 0)
		fail_msg("struct %s was refused", layout->name);
	assert_true(values_same(layout, sent, got));
	assert_comes_back(layout, sent, got);
	codec_done(layout, got);
	values_done(&fill);
}

static void every_member_of_every_record_comes_back(void **state)
{
	size_t n = 0;

	(void)state;
	for (uint32_t type = 0; type < MAX_TYPES; type++) {
		const struct layout *layout = record_layout_find(type);

		if (layout)
			round_trip(layout, true);
		n += layout != NULL;
	}
	assert_true(n > 40);
#ifndef CAN_TELL_PADDING
	print_message("SKIP: this compiler cannot tell members from padding\n");
	skip();
#endif
}

/* --- the bytes of one struct ----------------------------------------------------------------- */

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

static void every_kind_of_member_comes_back(void **state)
{
	(void)state;
	round_trip(&whole_layout, false);
	round_trip(&whole_layout, true);
}

static int read_whole(const char *bytes, size_t len, bool is_lenient, struct whole *ret)
{
	struct decoder decoder = { .at = bytes,
				   .end = bytes + len,
				   .is_lenient = is_lenient,
				   .file_bytes = VALUES_FILE_BYTES };

	codec_read(&decoder, &whole_layout, ret);
	return decoder_end(&decoder);
}

static void fill_whole(struct values_fill *fill, struct whole *whole, struct strbuf *bytes)
{
	values_fill(fill, &whole_layout, whole);
	codec_write(bytes, &whole_layout, whole, NULL);
	assert_int_equal(strbuf_error(bytes), 0);
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
		cmocka_unit_test(every_member_of_every_record_comes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
