/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/strbuf.h"
#include "symbol/jit/jit_reader.h"
#include "symbol/jit/jitdump.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* A file that is read, and what came of it as text: "name@start+size>since file:line@offset". */
struct reading {
	struct jitdump *dump;
	struct jit_loads *loads;
	struct strbuf out;
};

static void reading_done(struct reading *reading)
{
	jitdump_free(reading->dump);
	jit_loads_free(reading->loads);
	strbuf_done(&reading->out);
}

static void begin(struct reading *reading)
{
	assert_int_equal(jitdump_new(&(struct jitdump_state){}, &reading->dump), 0);
	assert_int_equal(jit_loads_new(&reading->loads), 0);
}

static int note(const struct jit_item *item, void *userdata)
{
	struct strbuf *out = userdata;

	strbuf_addf(out, "%s@%llx+%llx>%llu", item->name, (unsigned long long)item->start,
		    (unsigned long long)item->size_bytes, (unsigned long long)item->since_ns);
	for (size_t i = 0; i < item->n_lines; i++)
		strbuf_addf(out, " %s:%u@%llu", item->lines[i].file, item->lines[i].line,
			    (unsigned long long)item->lines[i].offset);
	strbuf_adds(out, "\n");
	return 0;
}

static int take(const struct jit_item *item, void *userdata)
{
	struct reading *reading = userdata;

	return jit_loads_pass(reading->loads, item, note, &reading->out);
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

static void feed(struct reading *reading, const char *data, size_t len, int want, size_t *ret_used)
{
	assert_int_equal(jitdump_feed(reading->dump, data, len, take, reading, ret_used), want);
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
	_cleanup_(reading_done) struct reading reading = {};
	_cleanup_strbuf_ struct strbuf file = {};
	size_t used;

	(void)state;
	begin(&reading);
	make_everything(&file);
	feed(&reading, file.data, file.len, 0, &used);
	assert_string_equal(strbuf_str(&reading.out), everything);
}

/* Another one that knows no more than how far the first has come. */
static void go_on(struct reading *reading, const struct strbuf *file)
{
	struct jitdump_state state = *jitdump_state(reading->dump);

	jitdump_free(reading->dump);
	assert_int_equal(jitdump_new(&state, &reading->dump), 0);
	if (state.lines_offset > 0)
		assert_int_equal(jitdump_feed_lines(reading->dump, file->data + state.lines_offset,
						    file->len - state.lines_offset),
				 0);
}

/* As it is read while it is written: at any two places, by one process or by two. */
static void file_that_grows_is_taken_in_by_whole_records(void **state)
{
	_cleanup_strbuf_ struct strbuf file = {};

	(void)state;
	make_everything(&file);
	for (size_t at = 0; at <= 2 * file.len; at++) {
		_cleanup_(reading_done) struct reading reading = {};
		size_t used, more;

		begin(&reading);
		feed(&reading, file.data, at / 2, 0, &used);
		assert_int_equal(jitdump_state(reading.dump)->offset, used);
		if (at % 2)
			go_on(&reading, &file);
		feed(&reading, file.data + used, file.len - used, 0, &more);
		assert_string_equal(strbuf_str(&reading.out), everything);
	}
}

static void lines_are_where_they_were_said_to_be(void **state)
{
	const struct jitdump_state elsewhere = { .offset = 200, .lines_offset = 40 };
	_cleanup_(jitdump_free_p) struct jitdump *dump = NULL;
	_cleanup_strbuf_ struct strbuf file = {}, lines = {};

	(void)state;
	make_everything(&file);
	add_lines(&lines, 0x2000);
	assert_int_equal(jitdump_new(&elsewhere, &dump), 0);
	assert_int_equal(jitdump_feed_lines(dump, file.data + 40, file.len - 40), -EBADMSG);
	for (size_t len = 0; len < lines.len; len++)
		assert_int_equal(jitdump_feed_lines(dump, lines.data, len), -EBADMSG);
	assert_int_equal(jitdump_feed_lines(dump, lines.data, lines.len), 0);
}

static void times_of_another_clock_are_none(void **state)
{
	_cleanup_(reading_done) struct reading reading = {};
	_cleanup_strbuf_ struct strbuf file = {};
	size_t used;

	(void)state;
	begin(&reading);
	add_header(&file, 0x4A695444, 1);
	add_load(&file, 11, 0x1000, 0x40, 1, "f");
	feed(&reading, file.data, file.len, 0, &used);
	assert_string_equal(strbuf_str(&reading.out), "f@1000+40>0\n");
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
		_cleanup_(reading_done) struct reading reading = {};
		_cleanup_strbuf_ struct strbuf file = {};
		size_t used;

		begin(&reading);
		add_header(&file, 0x4A695444, 0);
		add_load(&file, 11, 0x1000, 0x40, 1, "f");
		damages[i](&file);
		feed(&reading, file.data, file.len, -EBADMSG, &used);
		assert_string_equal(strbuf_str(&reading.out), "f@1000+40>11\n");
	}
}

static void code_of_no_or_endless_size_is_left_out(void **state)
{
	_cleanup_(reading_done) struct reading reading = {};
	_cleanup_strbuf_ struct strbuf file = {};
	size_t used;

	(void)state;
	begin(&reading);
	add_header(&file, 0x4A695444, 0);
	add_load(&file, 11, 0x1000, 0, 1, "empty");
	add_load(&file, 11, 0x1000, UINT64_MAX, 2, "endless");
	add_load(&file, 12, 0x1000, 8, 3, "f");
	feed(&reading, file.data, file.len, 0, &used);
	assert_string_equal(strbuf_str(&reading.out), "f@1000+8>12\n");
}

static void what_is_no_jitdump_is_refused(void **state)
{
	_cleanup_strbuf_ struct strbuf swapped = {}, text = {};
	size_t used;

	(void)state;
	add_header(&swapped, 0x4454694A, 0);
	strbuf_adds(&text, "7f0000001000 40 f of a map in a jit-7.dump\n");
	for (int i = 0; i < 2; i++) {
		_cleanup_(reading_done) struct reading reading = {};
		const struct strbuf *file = i ? &swapped : &text;

		begin(&reading);
		feed(&reading, file->data, file->len, -EBADMSG, &used);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_say_what_was_where_from_when_on),
		cmocka_unit_test(file_that_grows_is_taken_in_by_whole_records),
		cmocka_unit_test(lines_are_where_they_were_said_to_be),
		cmocka_unit_test(times_of_another_clock_are_none),
		cmocka_unit_test(damage_is_refused_and_what_came_before_holds),
		cmocka_unit_test(code_of_no_or_endless_size_is_left_out),
		cmocka_unit_test(what_is_no_jitdump_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
