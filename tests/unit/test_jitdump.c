/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/strbuf.h"
#include "symbol/jitdump.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* What was handed over, as text: "name@start+size>since file:line@offset". */
static int note(const struct record *record, void *userdata)
{
	const struct record_jit_code *code = &record->jit_code;
	struct strbuf *out = userdata;

	assert_int_equal(record->type, RECORD_JIT_CODE);
	assert_int_equal(code->slot, 3);
	assert_string_equal(code->source, "/w/jit-7.dump");
	strbuf_addf(out, "%s@%llx+%llx>%llu", code->name, (unsigned long long)code->start,
		    (unsigned long long)code->size_bytes, (unsigned long long)code->since_ns);
	for (size_t i = 0; i < code->n_lines; i++)
		strbuf_addf(out, " %s:%u@%llu", code->lines[i].file, code->lines[i].line,
			    (unsigned long long)code->lines[i].offset);
	strbuf_adds(out, "\n");
	return 0;
}

static void add_u32(struct strbuf *file, uint32_t value)
{
	strbuf_add(file, &value, sizeof(value));
}

static void add_u64(struct strbuf *file, uint64_t value)
{
	strbuf_add(file, &value, sizeof(value));
}

static void add_header(struct strbuf *file, uint32_t magic, uint64_t flags)
{
	add_u32(file, magic);
	add_u32(file, 1);
	add_u32(file, 40);
	add_u32(file, 62);
	add_u32(file, 0);
	add_u32(file, 7);
	add_u64(file, 1000);
	add_u64(file, flags);
}

static void add_record(struct strbuf *file, uint32_t id, uint64_t time, const struct strbuf *body)
{
	add_u32(file, id);
	add_u32(file, (uint32_t)(16 + body->len));
	add_u64(file, time);
	strbuf_add(file, body->data, body->len);
}

static void add_load(struct strbuf *file, uint64_t time, uint64_t addr, uint64_t size,
		     uint64_t index, const char *name)
{
	_cleanup_strbuf_ struct strbuf body = {};

	add_u32(&body, 7);
	add_u32(&body, 7);
	add_u64(&body, addr);
	add_u64(&body, addr);
	add_u64(&body, size);
	add_u64(&body, index);
	strbuf_add(&body, name, strlen(name) + 1);
	for (uint64_t i = 0; i < size && i < 4096; i++)
		strbuf_add(&body, "\xcc", 1);
	add_record(file, 0, time, &body);
}

static void add_move(struct strbuf *file, uint64_t time, uint64_t from, uint64_t to, uint64_t size,
		     uint64_t index)
{
	_cleanup_strbuf_ struct strbuf body = {};

	add_u32(&body, 7);
	add_u32(&body, 7);
	add_u64(&body, to);
	add_u64(&body, from);
	add_u64(&body, to);
	add_u64(&body, size);
	add_u64(&body, index);
	add_record(file, 1, time, &body);
}

static void add_line(struct strbuf *body, uint64_t addr, uint32_t line, const char *file)
{
	add_u64(body, addr);
	add_u32(body, line);
	add_u32(body, 0);
	strbuf_add(body, file, strlen(file) + 1);
}

/* Two lines that are not in order, the second of the same file as the first. */
static void add_lines(struct strbuf *file, uint64_t addr)
{
	_cleanup_strbuf_ struct strbuf body = {};

	add_u64(&body, addr);
	add_u64(&body, 2);
	add_line(&body, addr + 8, 22, "a.js");
	add_line(&body, addr, 21, "\xff");
	add_record(file, 2, 1, &body);
}

static void add_close(struct strbuf *file)
{
	add_record(file, 3, 9, &(struct strbuf){});
}

static void feed(struct jitdump *dump, const char *data, size_t len, int want, size_t *ret_used,
		 struct strbuf *out)
{
	assert_int_equal(jitdump_feed(dump, data, len, 3, "/w/jit-7.dump", note, out, ret_used),
			 want);
	assert_true(*ret_used <= len);
}

static const char *everything =
	"first@1000+40>11\nsecond@2000+20>12 a.js:21@0 a.js:22@8\n"
	"first@3000+40>13\nsecond@4000+20>14 a.js:21@0 a.js:22@8\nthird@1000+10>15\n";

static void make_everything(struct strbuf *file)
{
	add_header(file, 0x4A695444, 0);
	add_load(file, 11, 0x1000, 0x40, 1, "first");
	add_lines(file, 0x2000);
	add_load(file, 12, 0x2000, 0x20, 2, "second");
	add_record(file, 4, 1, &(struct strbuf){}); /* unwinding information */
	add_move(file, 13, 0x1000, 0x3000, 0x40, 1);
	add_move(file, 14, 0x2000, 0x4000, 0x20, 2);
	add_move(file, 14, 0x2000, 0x4000, 0x20, 99); /* of what was never loaded */
	add_load(file, 15, 0x1000, 0x10, 3, "third");
	add_close(file);
	add_load(file, 16, 0x1000, 0x10, 4, "behind the end");
}

static void records_say_what_was_where_from_when_on(void **state)
{
	_cleanup_(jitdump_free_p) struct jitdump *dump = NULL;
	_cleanup_strbuf_ struct strbuf file = {}, out = {};
	size_t used;

	(void)state;
	assert_int_equal(jitdump_new(&dump), 0);
	make_everything(&file);
	feed(dump, file.data, file.len, 0, &used, &out);
	assert_string_equal(strbuf_str(&out), everything);
}

/* As it is read while it is written: at any two places. */
static void file_that_grows_is_taken_in_by_whole_records(void **state)
{
	_cleanup_strbuf_ struct strbuf file = {};

	(void)state;
	make_everything(&file);
	for (size_t at = 0; at <= file.len; at++) {
		_cleanup_(jitdump_free_p) struct jitdump *dump = NULL;
		_cleanup_strbuf_ struct strbuf out = {};
		size_t used, more;

		assert_int_equal(jitdump_new(&dump), 0);
		feed(dump, file.data, at, 0, &used, &out);
		feed(dump, file.data + used, file.len - used, 0, &more, &out);
		assert_string_equal(strbuf_str(&out), everything);
	}
}

static void times_of_another_clock_are_none(void **state)
{
	_cleanup_(jitdump_free_p) struct jitdump *dump = NULL;
	_cleanup_strbuf_ struct strbuf file = {}, out = {};
	size_t used;

	(void)state;
	assert_int_equal(jitdump_new(&dump), 0);
	add_header(&file, 0x4A695444, 1);
	add_load(&file, 11, 0x1000, 0x40, 1, "f");
	feed(dump, file.data, file.len, 0, &used, &out);
	assert_string_equal(strbuf_str(&out), "f@1000+40>0\n");
}

static void add_short_record(struct strbuf *file)
{
	add_u32(file, 0);
	add_u32(file, 15);
	add_u64(file, 1);
}

static void add_endless_record(struct strbuf *file)
{
	add_u32(file, 0);
	add_u32(file, UINT32_MAX);
	add_u64(file, 1);
}

static void add_load_without_an_end(struct strbuf *file)
{
	_cleanup_strbuf_ struct strbuf body = {};

	for (int i = 0; i < 10; i++)
		add_u64(&body, 0x4141414141414141);
	add_record(file, 0, 1, &body);
}

static void add_lines_that_are_not_there(struct strbuf *file)
{
	_cleanup_strbuf_ struct strbuf body = {};

	add_u64(&body, 0x1000);
	add_u64(&body, UINT64_MAX);
	add_line(&body, 0x1000, 1, "a.js");
	add_record(file, 2, 1, &body);
}

static void damage_is_refused_and_what_came_before_holds(void **state)
{
	static void (*const damages[])(struct strbuf *) = {
		add_short_record,
		add_endless_record,
		add_load_without_an_end,
		add_lines_that_are_not_there,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		_cleanup_(jitdump_free_p) struct jitdump *dump = NULL;
		_cleanup_strbuf_ struct strbuf file = {}, out = {};
		size_t used;

		assert_int_equal(jitdump_new(&dump), 0);
		add_header(&file, 0x4A695444, 0);
		add_load(&file, 11, 0x1000, 0x40, 1, "f");
		damages[i](&file);
		feed(dump, file.data, file.len, -EBADMSG, &used, &out);
		assert_string_equal(strbuf_str(&out), "f@1000+40>11\n");
	}
}

static void code_of_no_or_endless_size_is_left_out(void **state)
{
	_cleanup_(jitdump_free_p) struct jitdump *dump = NULL;
	_cleanup_strbuf_ struct strbuf file = {}, out = {};
	size_t used;

	(void)state;
	assert_int_equal(jitdump_new(&dump), 0);
	add_header(&file, 0x4A695444, 0);
	add_load(&file, 11, 0x1000, 0, 1, "empty");
	add_load(&file, 11, 0x1000, UINT64_MAX, 2, "endless");
	add_load(&file, 12, 0x1000, 8, 3, "f");
	feed(dump, file.data, file.len, 0, &used, &out);
	assert_string_equal(strbuf_str(&out), "f@1000+8>12\n");
}

static void what_is_no_jitdump_is_refused(void **state)
{
	_cleanup_strbuf_ struct strbuf swapped = {}, text = {}, out = {};
	size_t used;

	(void)state;
	add_header(&swapped, 0x4454694A, 0);
	strbuf_adds(&text, "7f0000001000 40 f of a map in a jit-7.dump\n");
	for (int i = 0; i < 2; i++) {
		_cleanup_(jitdump_free_p) struct jitdump *dump = NULL;
		const struct strbuf *file = i ? &swapped : &text;

		assert_int_equal(jitdump_new(&dump), 0);
		feed(dump, file->data, file->len, -EBADMSG, &used, &out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_say_what_was_where_from_when_on),
		cmocka_unit_test(file_that_grows_is_taken_in_by_whole_records),
		cmocka_unit_test(times_of_another_clock_are_none),
		cmocka_unit_test(damage_is_refused_and_what_came_before_holds),
		cmocka_unit_test(code_of_no_or_endless_size_is_left_out),
		cmocka_unit_test(what_is_no_jitdump_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
