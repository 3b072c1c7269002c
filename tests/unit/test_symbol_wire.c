/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a worker answers the symbolizer, and what a hostile one might. */
#include "base/cleanup.h"
#include "symbol/symbol_wire.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define N_ELEMENTS(a) (sizeof(a) / sizeof((a)[0]))

static const struct symbol_frame frames[] = {
	{ "inner(int)", "_Z5inneri", 0, "/src/a.cc", 7, true, "inner", SYMBOL_UNNAMED },
	{ "outer", "outer", 0x20, "/src/a.c", 12, false, "outer@@V_1", SYMBOL_SEEN },
};

static void put_place(struct strbuf *answer, const struct symbol_frame *list, size_t n)
{
	struct symbol_found found = {
		.n_frames = n,
		.callee = { "operator new[](unsigned long)", "_Znam" },
	};

	memcpy(found.frames, list, n * sizeof(*list));
	codec_write(answer, &symbol_found_layout, &found, NULL);
}

static void put_good_places(struct strbuf *answer)
{
	const struct symbol_frame unknown = { .offset = 0x1234 };
	const struct symbol_head head = { { 1, 2, 3 }, false, 2 };

	codec_write(answer, &symbol_head_layout, &head, NULL);
	put_place(answer, frames, N_ELEMENTS(frames));
	put_place(answer, &unknown, 1);
	assert_int_equal(strbuf_error(answer), 0);
}

static void put_good_facts(struct strbuf *answer)
{
	struct elf_load loads[] = { { 0x1000, 0x2000, 0x300, 0x400, true } };
	struct elf_facts facts = {
		.stamp = { { { 1, 2, 3 }, 3 }, 4, 5, 6 },
		.machine = 62,
		.class = 2,
		.has_dwarf = true,
		.link = (char *)"a.debug",
		.link_crc = 0x12345678,
		.alt = (char *)"../b.debug",
		.alt_id = { { 7, 8 }, 2 },
		.loads = { loads, 1, 1 },
	};

	symbol_put_facts(answer, &facts);
	assert_int_equal(strbuf_error(answer), 0);
}

/* Reads all of it; what was given is in bounds. */
static bool read_places(const struct strbuf *answer, size_t n_asked)
{
	struct decoder decoder = decoder_of(answer);
	struct symbol_head head = symbol_get_head(&decoder, n_asked);
	struct symbol_found got;

	for (size_t i = 0; decoder.error == 0 && i < head.n_places; i++) {
		codec_read(&decoder, &symbol_found_layout, &got);
		for (size_t k = 0; k < got.n_frames; k++) {
			assert_true(!got.frames[k].function ||
				    strlen(got.frames[k].function) <= SYMBOL_MAX_NAME);
			assert_int_equal(got.frames[k].is_inline, k + 1 < got.n_frames);
		}
	}
	return decoder_end(&decoder) == 0;
}

static bool read_facts(const struct strbuf *answer)
{
	struct elf_facts facts;
	int r = codec_read_all(answer, &symbol_facts_layout, &facts);

	assert_true(r == 0 || r == -EBADMSG);
	if (r == 0)
		elf_facts_done(&facts);
	return r == 0;
}

static bool read_two_places(const struct strbuf *answer)
{
	return read_places(answer, 2);
}

static void what_is_sent_arrives(void **state)
{
	_cleanup_strbuf_ struct strbuf places = {}, facts_sent = {};
	struct symbol_found got;
	struct decoder decoder;
	struct elf_facts facts;

	(void)state;
	put_good_places(&places);
	decoder = decoder_of(&places);
	assert_int_equal(symbol_get_head(&decoder, 2).counts.reads, 3);
	codec_read(&decoder, &symbol_found_layout, &got);
	assert_int_equal(got.n_frames, 2);
	assert_string_equal(got.frames[0].function, "inner(int)");
	assert_string_equal(got.frames[0].linkage, "_Z5inneri");
	assert_string_equal(got.frames[0].file, "/src/a.cc");
	assert_int_equal(got.frames[0].line, 7);
	assert_true(got.frames[0].is_inline);
	assert_string_equal(got.frames[0].valgrind, "inner");
	assert_int_equal(got.frames[0].seen, SYMBOL_UNNAMED);
	assert_string_equal(got.frames[1].linkage, "outer");
	assert_int_equal(got.frames[1].offset, 0x20);
	assert_string_equal(got.frames[1].valgrind, "outer@@V_1");
	assert_int_equal(got.frames[1].seen, SYMBOL_SEEN);
	assert_string_equal(got.callee.function, "operator new[](unsigned long)");
	assert_string_equal(got.callee.linkage, "_Znam");
	codec_read(&decoder, &symbol_found_layout, &got);
	assert_int_equal(got.n_frames, 1);
	assert_null(got.frames[0].function);
	assert_int_equal(got.frames[0].offset, 0x1234);
	assert_int_equal(decoder_end(&decoder), 0);
	put_good_facts(&facts_sent);
	assert_int_equal(codec_read_all(&facts_sent, &symbol_facts_layout, &facts), 0);
	assert_string_equal(facts.link, "a.debug");
	assert_string_equal(facts.alt, "../b.debug");
	assert_int_equal(facts.loads.len, 1);
	assert_int_equal(facts.loads.data[0].mem_bytes, 0x400);
	assert_int_equal(facts.stamp.build_id.len, 3);
	elf_facts_done(&facts);
}

/* Cut at each length, lengthened, and each of its bytes another. */
static void mistreat(const struct strbuf *good, bool (*is_read)(const struct strbuf *answer))
{
	static const uint8_t bytes[] = { 0, 1, 0x7f, 0x80, 0xff };

	assert_true(is_read(good));
	for (size_t len = 0; len < good->len; len++) {
		_cleanup_strbuf_ struct strbuf cut = {};

		strbuf_add(&cut, good->data, len);
		assert_false(is_read(&cut));
	}
	for (size_t at = 0; at <= good->len; at++) {
		for (size_t i = 0; i < N_ELEMENTS(bytes); i++) {
			_cleanup_strbuf_ struct strbuf other = {};

			strbuf_add(&other, good->data, good->len);
			if (at < good->len)
				other.data[at] = (char)bytes[i];
			else
				strbuf_addch(&other, (char)bytes[i]);
			if (is_read(&other))
				assert_true(at < good->len);
		}
	}
}

static void answers_that_are_cut_or_changed_stay_in_bounds(void **state)
{
	_cleanup_strbuf_ struct strbuf places = {}, facts = {};

	(void)state;
	put_good_places(&places);
	put_good_facts(&facts);
	mistreat(&places, read_two_places);
	mistreat(&facts, read_facts);
}

static void answers_to_more_than_was_asked_are_refused(void **state)
{
	static const struct symbol_head heads[] = {
		{ { 1, 2, 3 }, false, 2 }, /* of one */
		{ { 1, 2, 3 }, false, 0 }, /* of none: that would be asked for ever */
		{ { 1, 2, 3 }, true, 1 },  /* of another file */
		{ { 1, 2, 3 }, false, UINT32_MAX },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(heads); i++) {
		_cleanup_strbuf_ struct strbuf answer = {};

		codec_write(&answer, &symbol_head_layout, &heads[i], NULL);
		for (size_t k = 0; k < 2; k++)
			put_place(&answer, frames, N_ELEMENTS(frames));
		assert_false(read_places(&answer, 1));
	}
}

static void links_out_of_their_folder_are_refused(void **state)
{
	static const char *const links[] = { "", "/etc/shadow", "../x", "a/b" };

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(links); i++) {
		_cleanup_strbuf_ struct strbuf answer = {};
		const struct elf_facts facts = { .link = (char *)links[i] };

		symbol_put_facts(&answer, &facts);
		assert_false(read_facts(&answer));
	}
}

static void names_that_are_too_long_are_none(void **state)
{
	_cleanup_free_ char *name = malloc(SYMBOL_MAX_NAME + 2);
	struct symbol_frame frame = { .function = name, .linkage = name, .file = "a.c" };
	struct symbol_found got;

	(void)state;
	assert_non_null(name);
	for (size_t extra = 0; extra < 2; extra++) {
		_cleanup_strbuf_ struct strbuf answer = {};

		memset(name, 'a', SYMBOL_MAX_NAME + extra);
		name[SYMBOL_MAX_NAME + extra] = '\0';
		put_place(&answer, &frame, 1);
		assert_int_equal(codec_read_all(&answer, &symbol_found_layout, &got), 0);
		assert_int_equal(got.n_frames, 1);
		assert_int_equal(got.frames[0].function == NULL, extra);
		assert_int_equal(got.frames[0].linkage == NULL, extra);
		assert_string_equal(got.frames[0].file, "a.c");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_sent_arrives),
		cmocka_unit_test(answers_that_are_cut_or_changed_stay_in_bounds),
		cmocka_unit_test(answers_to_more_than_was_asked_are_refused),
		cmocka_unit_test(links_out_of_their_folder_are_refused),
		cmocka_unit_test(names_that_are_too_long_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
