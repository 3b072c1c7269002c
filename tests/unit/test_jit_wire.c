/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a worker says of JIT maps and dumps, and what a hostile one might. */
#include "symbol/jit/jit_reader.h"

#include "base/cleanup.h"
#include "sandbox/worker.h"
#include "symbol/symbol_server.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define N_ELEMENTS(a) (sizeof(a) / sizeof((a)[0]))

/* --- a file that is read --------------------------------------------------------------------- */

static int new_worker(void **state)
{
	return worker_new(&file_server, 0, (struct worker **)state);
}

static int free_worker(void **state)
{
	worker_free(*state);
	return 0;
}

static int file_of(const char *text, size_t len)
{
	int fd = memfd_create("test", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), len);
	return fd;
}

static int note(const struct jit_item *item, void *userdata)
{
	struct strbuf *out = userdata;

	strbuf_addf(out, "%s=%s@%llx+%llx\n", item->name, item->function ? item->function : "",
		    (unsigned long long)item->start, (unsigned long long)item->size_bytes);
	return 0;
}

static void expect_map(struct worker *worker, int fd, struct jit_asked *asked, const char *expected,
		       uint64_t malformed)
{
	_cleanup_strbuf_ struct strbuf out = {};
	struct jit_head head;

	assert_int_equal(jit_read(worker, JIT_READ_MAP, fd, asked, note, &out, &head), 0);
	assert_string_equal(strbuf_str(&out), expected);
	assert_int_equal(head.malformed, malformed);
	assert_false(head.more);
	asked->state = head.state;
}

static void map_is_read_by_whole_lines_up_to_its_end(void **state)
{
	static const char text[] = "1000 10 one\nnonsense\n2000 20 two\n3000 30 la";
	_cleanup_close_ int fd = file_of(text, sizeof(text) - 1);
	struct jit_asked asked = {};

	expect_map(*state, fd, &asked, "one=@1000+10\ntwo=@2000+20\n", 1);
	expect_map(*state, fd, &asked, "", 0);
	assert_int_equal(write(fd, "st\n_ZN1a1bEv", 12), 12);
	expect_map(*state, fd, &asked, "last=@3000+30\n", 0);
	asked.to_the_end = true;
	expect_map(*state, fd, &asked, "", 1);
	assert_int_equal(asked.state.offset, sizeof(text) - 1 + 12);
}

static void names_are_demangled_by_the_worker(void **state)
{
	static const char text[] = "1000 10 _ZN3app3runEi\n";
	_cleanup_close_ int fd = file_of(text, sizeof(text) - 1);
	struct jit_asked asked = {};

	expect_map(*state, fd, &asked, "_ZN3app3runEi=app::run(int)@1000+10\n", 0);
}

/* Answers are bounded: each takes up where the last one ended, and counts bad lines once. */
static void long_map_is_read_in_pieces(void **state)
{
	_cleanup_strbuf_ struct strbuf text = {}, out = {}, expected = {};
	struct jit_head head = { .more = true };
	struct jit_asked asked = {};
	uint64_t malformed = 0;
	int n_pieces = 0;
	_cleanup_close_ int fd = -1;

	for (unsigned int i = 1; i <= 100000; i++) {
		strbuf_addf(&text, "%x000 10 function-%u\n%s", i, i, i % 100 ? "" : "bad\n");
		strbuf_addf(&expected, "function-%u=@%x000+10\n", i, i);
	}
	fd = file_of(text.data, text.len);
	for (; head.more; n_pieces++) {
		assert_int_equal(jit_read(*state, JIT_READ_MAP, fd, &asked, note, &out, &head), 0);
		malformed += head.malformed;
		asked.state = head.state;
	}
	assert_in_range(n_pieces, 4, 20);
	assert_int_equal(malformed, 1000);
	assert_true(out.len == expected.len && memcmp(out.data, expected.data, out.len) == 0);
}

static void hole_is_no_endless_line(void **state)
{
	_cleanup_close_ int fd = memfd_create("test", MFD_CLOEXEC);
	struct jit_asked asked = {};
	struct jit_head head;

	assert_int_equal(ftruncate(fd, (off_t)1 << 40), 0);
	for (int i = 1; i < 4; i++) {
		assert_int_equal(jit_read(*state, JIT_READ_MAP, fd, &asked, note, NULL, &head), 0);
		assert_int_equal(head.state.offset, (uint64_t)i << 20);
		asked.state = head.state;
	}
}

static void what_is_no_jitdump_is_damaged(void **state)
{
	_cleanup_close_ int fd = file_of("7f0000001000 40 f of a map in a jit-7.dump\n", 43);
	struct jit_asked asked = {};
	struct jit_head head;

	assert_int_equal(jit_read(*state, JIT_READ_DUMP, fd, &asked, note, NULL, &head), 0);
	assert_true(head.is_damaged && !head.more);
}

/* --- answers --------------------------------------------------------------------------------- */

static const char file_a[] = "a.js", file_b[] = "b.js";
static const struct record_jit_line lines[] = { { 0, 7, file_a },
						{ 4, 1, file_b },
						{ 9, 8, file_a } };
static const struct jit_item items[] = {
	{ false, 3, 0x1000, 0x40, 11, "_Zf", "f", N_ELEMENTS(lines), lines },
	{ true, 3, 0x2000, 0x40, 12, NULL, NULL, 0, NULL },
	{ false, 0, 0x3000, 1, 0, "plain", NULL, 0, NULL },
};

static void put_good(struct strbuf *answer)
{
	const struct jit_head head = { .more = true,
				       .state = { .offset = 100, .lines_offset = 40 },
				       .malformed = 2,
				       .n_items = N_ELEMENTS(items) };

	codec_write(answer, &jit_head_layout, &head, NULL);
	for (size_t i = 0; i < N_ELEMENTS(items); i++)
		assert_int_equal(jit_put_item(answer, &items[i]), 0);
}

static bool read_answer(const struct strbuf *answer, const struct jit_asked *asked)
{
	_cleanup_(jit_item_room_done) struct jit_item_room room = {};
	struct decoder decoder = decoder_of(answer);
	struct jit_head head = jit_get_head(&decoder, asked);
	int r = decoder.error;

	for (uint32_t i = 0; r == 0 && i < head.n_items; i++) {
		struct jit_item item;

		r = jit_get_item(&decoder, &room, &item);
		for (size_t k = 0; r == 0 && k < item.n_lines; k++)
			assert_true(strlen(item.lines[k].file) <= JIT_MAX_NAME);
	}
	assert_true(r == 0 || r == -EBADMSG);
	return r == 0 && decoder_end(&decoder) == 0;
}

static void assert_same_text(const char *a, const char *b)
{
	assert_int_equal(!a, !b);
	if (a)
		assert_string_equal(a, b);
}

static void what_is_put_comes_back(void **state)
{
	const struct jit_asked asked = { .state = { .offset = 40 } };
	_cleanup_(jit_item_room_done) struct jit_item_room room = {};
	_cleanup_strbuf_ struct strbuf answer = {};
	struct decoder decoder;
	struct jit_head head;
	struct jit_item item;

	(void)state;
	put_good(&answer);
	decoder = decoder_of(&answer);
	head = jit_get_head(&decoder, &asked);
	assert_true(head.more && head.state.offset == 100 && head.state.lines_offset == 40 &&
		    head.malformed == 2 && head.n_items == N_ELEMENTS(items));
	for (size_t i = 0; i < N_ELEMENTS(items); i++) {
		assert_int_equal(jit_get_item(&decoder, &room, &item), 0);
		assert_true(item.is_move == items[i].is_move && item.index == items[i].index &&
			    item.start == items[i].start && item.since_ns == items[i].since_ns &&
			    item.size_bytes == items[i].size_bytes &&
			    item.n_lines == items[i].n_lines);
		assert_same_text(item.name, items[i].name);
		assert_same_text(item.function, items[i].function);
		for (size_t k = 0; k < item.n_lines; k++) {
			assert_true(item.lines[k].offset == lines[k].offset &&
				    item.lines[k].line == lines[k].line);
			assert_string_equal(item.lines[k].file, lines[k].file);
		}
	}
	assert_true(decoder_end(&decoder) == 0);
}

static void no_part_of_an_answer_is_one(void **state)
{
	const struct jit_asked asked = { .state = { .offset = 40 } };
	_cleanup_strbuf_ struct strbuf answer = {};

	(void)state;
	put_good(&answer);
	assert_true(read_answer(&answer, &asked));
	for (size_t len = 0; len < answer.len; len++) {
		struct strbuf part = { .data = memcpy(malloc(len + 1), answer.data, len),
				       .len = len };

		assert_false(read_answer(&part, &asked));
		strbuf_done(&part);
	}
	strbuf_addch(&answer, 0);
	assert_false(read_answer(&answer, &asked));
}

/* Each byte to all values: it is refused, or in bounds, which the sanitizer sees. */
static void any_byte_may_be_a_lie(void **state)
{
	const struct jit_asked asked = { .state = { .offset = 40 } };
	_cleanup_strbuf_ struct strbuf answer = {};

	(void)state;
	put_good(&answer);
	for (size_t at = 0; at < answer.len; at++) {
		char was = answer.data[at];

		for (int value = 0; value < 256; value++) {
			answer.data[at] = (char)value;
			(void)read_answer(&answer, &asked); /* either is right */
		}
		answer.data[at] = was;
	}
}

static void head_must_go_on_from_what_was_asked(void **state)
{
	static const struct {
		struct jit_head head;
		bool good;
	} heads[] = {
		{ { .state = { .offset = 50 } }, true },
		{ { .more = true, .state = { .offset = 51 } }, true },
		{ { .more = true, .state = { .offset = 50 } }, false }, /* for ever */
		{ { .state = { .offset = 49 } }, false },		/* again and again */
		{ { .state = { .offset = UINT64_MAX } }, false },
		{ { .state = { .offset = 60, .lines_offset = 60 } }, false },
		{ { .state = { .offset = 60 }, .malformed = 11 }, false },
		{ { .more = true, .is_damaged = true, .state = { .offset = 60 } }, false },
		{ { .state = { .offset = 60 }, .n_items = 1 }, false },
	};
	const struct jit_asked asked = { .state = { .offset = 50 } };

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(heads); i++) {
		_cleanup_strbuf_ struct strbuf answer = {};

		codec_write(&answer, &jit_head_layout, &heads[i].head, NULL);
		assert_int_equal(read_answer(&answer, &asked), heads[i].good);
	}
}

static void longer_names_are_cut_and_longer_files_are_none(void **state)
{
	_cleanup_(jit_item_room_done) struct jit_item_room room = {};
	_cleanup_strbuf_ struct strbuf answer = {}, name = {};
	struct record_jit_line line = { 0, 1, NULL };
	struct jit_item item = { .name = NULL, .n_lines = 1, .lines = &line };
	struct decoder decoder;

	(void)state;
	for (int i = 0; i <= JIT_MAX_NAME; i++)
		strbuf_addch(&name, 'n');
	item.name = line.file = name.data;
	assert_int_equal(jit_put_item(&answer, &item), 0);
	decoder = decoder_of(&answer);
	assert_int_equal(jit_get_item(&decoder, &room, &item), 0);
	assert_int_equal(strlen(item.name), JIT_MAX_NAME);
	assert_string_equal(item.lines[0].file, "");
	assert_true(decoder_end(&decoder) == 0);
}

#define WITH_WORKER(name) cmocka_unit_test_setup_teardown(name, new_worker, free_worker)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_WORKER(map_is_read_by_whole_lines_up_to_its_end),
		WITH_WORKER(names_are_demangled_by_the_worker),
		WITH_WORKER(long_map_is_read_in_pieces),
		WITH_WORKER(hole_is_no_endless_line),
		WITH_WORKER(what_is_no_jitdump_is_damaged),
		cmocka_unit_test(what_is_put_comes_back),
		cmocka_unit_test(no_part_of_an_answer_is_one),
		cmocka_unit_test(any_byte_may_be_a_lie),
		cmocka_unit_test(head_must_go_on_from_what_was_asked),
		cmocka_unit_test(longer_names_are_cut_and_longer_files_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
