/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/program_kinds.h"
#include "tests/codec_values.h"
#include "tests/record_script.h"
#include "trace/record/record_codec.h"
#include "trace/record/recording.h"

#include <byteswap.h>
#include <errno.h>
#include <string.h>
#include <zlib.h>

#define HEADER_LEN 16
#define RECORD_HEADER_LEN 12
#define END_LEN RECORD_HEADER_LEN
#define TYPE_END 64 /* docs/recording.md */
#define TYPE_PACKED 65

/* A recording in memory. */
struct tape {
	char *data;
	size_t len;
};

static void tape_done(struct tape *tape)
{
	free(tape->data);
}
#define _cleanup_tape_ _cleanup_(tape_done)

static const uint64_t addresses[] = { 0x7f0000001234, 0x7f0000005678, UINT64_MAX };
static const struct record_loss losses[] = { { "ring-full", 3 }, { "block-map-full", 4 } };
static const struct record_symbol_frame frames[] = {
	{ "inlined(int)", 0, "a.cc", 12, true },
	{ "physical", 0x20, NULL, 0, false },
};
static const struct record_symbol_linkage linkages[] = { { NULL }, { "_Z8physicalv" } };

static const struct record_bucket buckets[] = { { INT64_MIN, 0, 3 }, { 64, INT64_MAX, 9 } };
static const struct record_errno errnos[] = { { 11, 2 }, { 4, 1 } };
static const struct record_leak_sum leak_sums[] = { { "definite", 1, 2 }, { "suppressed", 3, 4 } };
static const struct record_leak_place leak_places[] = { { 1ull << 63, 7, 0 }, { 6, 8, 3 } };

/* Every type, every field with a value of its own; NULL strings too. */
static const struct record_jit_line jit_lines[] = { { 0, 3, "a.js" }, { 16, 4, NULL } };
static const struct record all[] = {
	{ .type = RECORD_RUN,
	  .run = { "memtraced 0.1.0", "6.1.0", "multi", 1, 2, 3, true, true, "cfi",
		   .no_heap = true } },
	{ .type = RECORD_FUNCTION, .function = { 7, "malloc", "/lib/c", 0x1234 } },
	{ .type = RECORD_PROCESS,
	  .process = { { 1 }, 2, 3, { 4 }, RECORD_NO_IMAGE, true, false, 5, "comm", NULL } },
	{ .type = RECORD_PROCESS,
	  .process = { { 1 },
		       2,
		       3,
		       RECORD_NO_IMAGE,
		       { 9 },
		       false,
		       true,
		       5,
		       "",
		       "/bin/x",
		       RECORD_DEPTH_GROWTH,
		       "/bin/x 'a b'" } },
	{ .type = RECORD_PROCESS_END,
	  .process_end = { { 1 }, RECORD_END_SIGNAL, -9, true, 7, true } },
	{ .type = RECORD_MAPPING,
	  .mapping = { { 1 },
		       2,
		       3,
		       4,
		       5,
		       6,
		       7,
		       "/lib/c",
		       "/proc/1/root/lib/c",
		       { 0xab, 0xcd },
		       2,
		       true,
		       PROGRAM_NODE } },
	{ .type = RECORD_UNMAPPING, .unmapping = { { 1 }, 2, 3, 4 } },
	{ .type = RECORD_STACK, .stack = { 1ull << 63 | 5, { 1 }, 2, true, 3, addresses } },
	{ .type = RECORD_STACK, .stack = { 6, { 1 }, 2, false, 0, NULL, true } },
	{ .type = RECORD_STACK,
	  .stack = { 7,
		     { 1 },
		     2,
		     false,
		     3,
		     addresses,
		     false,
		     { 1ull << 63 | 6, 1ull << 62 },
		     2,
		     addresses + 1 } },
	{ .type = RECORD_REGION, .region = { { 1 }, 2, 3, 4, 5, 6 } },
	{ .type = RECORD_REGION_GONE, .region_gone = { { 1 }, 2, 3, 4 } },
	{ .type = RECORD_CUT, .cut = { 99 } },
	{ .type = RECORD_TOTALS,
	  .totals = { { 1 }, "now", 2, 3, 4, 5, -6, 7, 8, 9, 10, 11, 12, 13, 14, 15, -16, 17 } },
	{ .type = RECORD_TOTALS, .totals = { .image = { 2 } } },
	{ .type = RECORD_SITE,
	  .site = { { 1 },
		    2,
		    3,
		    -4,
		    5,
		    6,
		    7,
		    8,
		    9,
		    10,
		    UINT64_MAX,
		    -11,
		    { 1, 2, 3, 4, 5, 6, 7, 8 },
		    12,
		    13 } },
	{ .type = RECORD_COVERAGE, .coverage = { false, 1, 2, 3, 2, losses, 4, 1, losses } },
	{ .type = RECORD_CUT_END },
	{ .type = RECORD_UNPROBED, .unprobed = { "valloc", "/lib/c", "no symbol" } },
	{ .type = RECORD_SYMBOL,
	  .symbol = { "/lib/c", 1, 2, RECORD_NO_IMAGE, 3, true, 4, 2, frames, 2, linkages } },
	{ .type = RECORD_HISTOGRAM, .histogram = { 1, "read:ns", "ns", "comm", true, 10 } },
	{ .type = RECORD_HIST_COUNTS, .hist_counts = { 1, "dd", 2, buckets, 2, errnos, 5, 6 } },
	{ .type = RECORD_EVENT,
	  .event = { 3, "sched:sched_switch", true, 10101010, true, 1000, 4096, true } },
	{ .type = RECORD_EVENT_COUNT,
	  .event_count = { 3, { 1 }, 1ull << 63, 4, 5, 6, 7, 8, 9, 10, 11 } },
	{ .type = RECORD_OCCURRENCE, .occurrence = { 3, { 1 }, 8, 2, 9, 1ull << 63, 4, "dd", 5 } },
	{ .type = RECORD_SYSCALL,
	  .syscall = { { 1 }, -1, "read", 9, 3, 2, 500, 400, 77, 2, buckets, 2, errnos } },
	{ .type = RECORD_SYSCALL_FILE, .syscall_file = { { 1 }, "/etc/x", 1, 2, 3, 4, 5, 6, 7 } },
	{ .type = RECORD_SYSCALL_STACK, .syscall_stack = { { 1 }, 257, 1ull << 63, 4, 5 } },
	{ .type = RECORD_STACK_CHECK, .stack_check = { 2, losses } },
	{ .type = RECORD_STACK_DIFFERS,
	  .stack_differs = { { 1 }, true, "/lib/c+0x1\n/a+0x2", "/lib/c+0x1" } },
	{ .type = RECORD_JIT_CODE,
	  .jit_code = { { 1 }, 1ull << 46, 64, 7, "add", "/tmp/jit-1.dump", 2, jit_lines } },
	{ .type = RECORD_SYMBOLS_UNREAD, .symbols_unread = { 7 } },
	{ .type = RECORD_NAME, .name = { { 1 }, "renamed" } },
	{ .type = RECORD_HEAP_ERROR,
	  .heap_error = { { 1 }, RECORD_DOUBLE_FREE, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13 } },
	{ .type = RECORD_FAULT,
	  .fault = { { 1 }, 2, 11, -6, true, 5, 6, 7, 8, 9, 10, 11, true, 12, 13 } },
	{ .type = RECORD_DEATH,
	  .death = { { 1 },
		     9,
		     -6,
		     4,
		     RECORD_KILLER_PROCESS,
		     5,
		     6,
		     "kill",
		     true,
		     "memcg",
		     "/a",
		     { 7, 8, 9 },
		     true,
		     10,
		     11,
		     12,
		     13,
		     14,
		     15,
		     -16,
		     17,
		     18,
		     "/a/b",
		     { 19, 20, UINT64_MAX },
		     "/a",
		     { 7, 8, 9 },
		     true,
		     21,
		     22,
		     23 } },
	{ .type = RECORD_FREE_PAIR,
	  .free_pair = { { 1 }, 2, 1ull << 63, 4, 5, 6, 7, 8, 9, 10, { 11, [30] = 12, 13 } } },
	{ .type = RECORD_RESIDENT,
	  .resident = { { 1 }, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, true, 15, 16 } },
	{ .type = RECORD_LEAKS,
	  .leaks = { { 1 }, 2, 3, true, 4, 5, true, false, 2, leak_sums, 2, leak_places } },
	{ .type = RECORD_LEAK_TEXT, .leak_text = { 42, "==42== HEAP SUMMARY:\n" } },
	{ .type = RECORD_SAMPLE, .sample = { 1ull << 40 } },
	{ .type = RECORD_SAMPLE_PROCESS, .sample_process = { { 1 }, -2, 3, 4, 5, 6, UINT64_MAX } },
	{ .type = RECORD_SAMPLE_SITE, .sample_site = { { 1 }, 2, 1ull << 63, -4 } },
	{ .type = RECORD_SAMPLE_END, .sample_end = { 1, -2, 3 } },
	{ .type = RECORD_DEPTH, .depth_change = { 11, RECORD_DEPTH_SAMPLED, 12, 13, 14 } },
	{ .type = RECORD_OVERHEAD, .overhead = { 14, 15, 16, 17, 18, 19 } },
	{ .type = RECORD_COST, .cost = { 1, 2, 3, UINT64_MAX, 5, 6 } },
	{ .type = RECORD_SITES_DIFFER, .sites_differ = { "malloc", "/lib/c", 10000, 1 } },
};
#define N_ALL (sizeof(all) / sizeof(all[0]))

static void record_as(const struct record *records, size_t n, bool packs, struct tape *tape)
{
	FILE *file = open_memstream(&tape->data, &tape->len);
	struct recording_writer *writer;

	assert_non_null(file);
	assert_int_equal(recording_writer_new(file, &writer), 0);
	if (packs)
		recording_pack(writer);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(recording_write(&records[i], writer), 0);
	assert_int_equal(recording_end(writer), 0);
	recording_writer_free(writer);
	assert_int_equal(fclose(file), 0);
}

static void record_all(const struct record *records, size_t n, struct tape *tape)
{
	record_as(records, n, false, tape);
}

struct expectation {
	const struct record *records;
	size_t n, max;
	bool cut_off;
};

static int expect(const struct record *record, void *userdata)
{
	struct expectation *e = userdata;

	assert_false(e->cut_off);
	if (record->type == RECORD_CUT_OFF) {
		e->cut_off = true;
		return 0;
	}
	assert_true(e->n < e->max);
	assert_int_equal(record->type, e->records[e->n].type);
	assert_true(
		values_same(record_layout_find(record->type), &record->run, &e->records[e->n].run));
	e->n++;
	return 0;
}

/* Plays a tape: how many of `records` came, all as they were; -1 when the header was refused. */
static int play(const void *data, size_t len, const struct record *records, size_t n,
		bool *ret_truncated)
{
	_cleanup_fclose_ FILE *file = fmemopen((void *)data, len, "r");
	_cleanup_(source_free_p) struct source *source = NULL;
	struct expectation e = { records, 0, n, false };

	assert_non_null(file);
	if (recording_open(file, &source) < 0)
		return -1;
	assert_int_equal(source_drain(source, expect, &e), 1);
	*ret_truncated = recording_truncated(source);
	assert_int_equal(e.cut_off, *ret_truncated);
	return (int)e.n;
}

static void every_record_comes_back_as_it_was(void **state)
{
	_cleanup_tape_ struct tape tape = { 0 };
	bool truncated;

	(void)state;
	record_all(all, N_ALL, &tape);
	assert_int_equal(play(tape.data, tape.len, all, N_ALL, &truncated), N_ALL);
	assert_false(truncated);
}

static void packed_records_come_back_as_they_were(void **state)
{
	_cleanup_tape_ struct tape tape = { 0 }, plain = { 0 };
	bool truncated;

	(void)state;
	record_as(all, N_ALL, true, &tape);
	record_all(all, N_ALL, &plain);
	assert_true(tape.len < plain.len / 2);
	assert_int_equal(play(tape.data, tape.len, all, N_ALL, &truncated), N_ALL);
	assert_false(truncated);
}

/* All of these are one pack: it is there or it is not. */
static void damaged_packs_are_refused_as_a_whole(void **state)
{
	_cleanup_tape_ struct tape tape = { 0 };

	(void)state;
	record_as(all, N_ALL, true, &tape);
	for (size_t len = HEADER_LEN; len < tape.len; len++) {
		bool truncated = false;
		int n = play(tape.data, len, all, N_ALL, &truncated);

		assert_int_equal(n, len < tape.len - END_LEN ? 0 : (int)N_ALL);
		assert_true(truncated);
	}
	for (size_t at = HEADER_LEN; at < tape.len; at++) {
		bool truncated = false;

		tape.data[at] ^= 0x20;
		(void)play(tape.data, tape.len, all, N_ALL, &truncated);
		tape.data[at] ^= 0x20;
		assert_true(truncated);
	}
}

/* Many packs, and records of more than a pack. */
static void packs_are_written_as_they_fill(void **state)
{
	enum { N = 40, LEN = 100000 };
	_cleanup_tape_ struct tape tape = { 0 };
	_cleanup_free_ char *text = malloc(LEN + 1);
	struct record records[N];
	bool truncated;

	(void)state;
	assert_non_null(text);
	memset(text, 'x', LEN);
	text[LEN] = '\0';
	for (size_t i = 0; i < N; i++)
		records[i] = (struct record){ .type = RECORD_UNPROBED,
					      .unprobed = { "f", i % 4 ? "o" : text, "why" } };
	record_as(records, N, true, &tape);
	assert_int_equal(play(tape.data, tape.len, records, N, &truncated), N);
	assert_false(truncated);
}

static void recording_without_records_is_whole(void **state)
{
	_cleanup_tape_ struct tape tape = { 0 };
	bool truncated = true;

	(void)state;
	record_all(all, 0, &tape);
	assert_int_equal(tape.len, HEADER_LEN + END_LEN);
	assert_int_equal(play(tape.data, tape.len, all, 0, &truncated), 0);
	assert_false(truncated);
}

/* Where each record ends. */
static void record_ends(const struct tape *tape, size_t ends[N_ALL + 1])
{
	size_t at = HEADER_LEN;

	ends[0] = at;
	for (size_t i = 0; i < N_ALL; i++) {
		uint32_t length;

		memcpy(&length, tape->data + at + 4, 4);
		at += RECORD_HEADER_LEN + length;
		ends[i + 1] = at;
	}
	assert_int_equal(at + END_LEN, tape->len);
}

static void cut_off_anywhere(struct tape *tape, uint32_t version)
{
	size_t ends[N_ALL + 1], complete = 0;

	record_all(all, N_ALL, tape);
	record_ends(tape, ends);
	memcpy(tape->data + 8, &version, sizeof(version));
	for (size_t len = 1; len < tape->len; len++) {
		bool truncated = false, in_cut;
		int n = play(tape->data, len, all, N_ALL, &truncated);

		if (len < HEADER_LEN) {
			assert_int_equal(n, -1);
			continue;
		}
		while (complete < N_ALL && ends[complete + 1] <= len)
			complete++;
		assert_int_equal(n, complete);
		/* Records 12 to 16 stand within the cut. */
		in_cut = complete > 12 && complete <= 17;
		assert_int_equal(truncated, version > 1 || len != ends[complete] || in_cut);
	}
}

static void cut_off_anywhere_yields_what_was_complete(void **state)
{
	_cleanup_tape_ struct tape tape = { 0 }, old = { 0 };

	(void)state;
	cut_off_anywhere(&tape, RECORDING_VERSION);
	cut_off_anywhere(&old, 1);
}

static void changed_byte_ends_the_run_before_it(void **state)
{
	_cleanup_tape_ struct tape tape = { 0 };
	size_t ends[N_ALL + 1], hit = 0;

	(void)state;
	record_all(all, N_ALL, &tape);
	record_ends(&tape, ends);
	for (size_t at = HEADER_LEN; at < tape.len; at++) {
		bool truncated = false;
		int n;

		while (hit < N_ALL && ends[hit + 1] <= at)
			hit++;
		tape.data[at] ^= 0x20;
		n = play(tape.data, tape.len, all, N_ALL, &truncated);
		tape.data[at] ^= 0x20;
		assert_int_equal(n, hit);
		assert_true(truncated);
	}
}

static int ignore(const struct record *record, void *userdata)
{
	(void)record;
	(void)userdata;
	return 0;
}

static void put_record(struct tape *tape, uint32_t type, const void *payload, size_t len)
{
	uint32_t head[3] = { type, (uint32_t)len };

	head[2] = (uint32_t)crc32(0, (const Bytef *)head, 8);
	if (len > 0)
		head[2] = (uint32_t)crc32(head[2], payload, (uInt)len);
	tape->data = realloc(tape->data, tape->len + sizeof(head) + len);
	assert_non_null(tape->data);
	memcpy(tape->data + tape->len, head, sizeof(head));
	memcpy(tape->data + tape->len + sizeof(head), payload, len);
	tape->len += sizeof(head) + len;
}

/* A recording of one record with any type and payload, its checksum right. */
static void forge(struct tape *tape, uint32_t type, const void *payload, size_t len)
{
	record_all(all, 0, tape);
	tape->len = HEADER_LEN;
	put_record(tape, type, payload, len);
	put_record(tape, TYPE_END, "", 0);
}

static void payload_of_another_type_is_read_without_harm(void **state)
{
	_cleanup_tape_ struct tape tape = { 0 };
	size_t ends[N_ALL + 1];

	(void)state;
	record_all(all, N_ALL, &tape);
	record_ends(&tape, ends);
	for (size_t i = 0; i < N_ALL; i++) {
		const char *payload = tape.data + ends[i] + RECORD_HEADER_LEN;

		for (uint32_t type = 0; type < 20; type++) {
			_cleanup_tape_ struct tape forged = { 0 };
			_cleanup_fclose_ FILE *file = NULL;
			_cleanup_(source_free_p) struct source *source = NULL;

			forge(&forged, type, payload, ends[i + 1] - ends[i] - RECORD_HEADER_LEN);
			file = fmemopen(forged.data, forged.len, "r");
			assert_int_equal(recording_open(file, &source), 0);
			assert_int_equal(source_drain(source, ignore, NULL), 1);
		}
	}
}

static void unknown_type_is_skipped(void **state)
{
	_cleanup_tape_ struct tape tape = { 0 }, more = { 0 };
	bool truncated = true;
	size_t rest;

	(void)state;
	forge(&tape, 1000, "whatever", 8);
	tape.len -= END_LEN;
	record_all(all, N_ALL, &more);
	rest = more.len - HEADER_LEN;
	tape.data = realloc(tape.data, tape.len + rest);
	memcpy(tape.data + tape.len, more.data + HEADER_LEN, rest);
	assert_int_equal(play(tape.data, tape.len + rest, all, N_ALL, &truncated), N_ALL);
	assert_false(truncated);
}

static void fields_of_newer_writers_are_ignored(void **state)
{
	_cleanup_tape_ struct tape tape = { 0 };
	struct record expected = { .type = RECORD_UNMAPPING, .unmapping = { { 1 }, 2, 3, 4 } };
	char payload[4 + 3 * 8 + 5] = { 0 };
	bool truncated = true;

	(void)state;
	for (uint32_t i = 0; i < 4; i++)
		payload[i == 0 ? 0 : 4 + 8 * (i - 1)] = (char)(i + 1);
	forge(&tape, RECORD_UNMAPPING, payload, sizeof(payload));
	assert_int_equal(play(tape.data, tape.len, &expected, 1, &truncated), 1);
	assert_false(truncated);
}

static void fields_that_older_writers_lack_are_zero(void **state)
{
	_cleanup_tape_ struct tape tape = { 0 };
	struct record expected = { .type = RECORD_UNMAPPING, .unmapping = { { 1 }, 2, 0, 0 } };
	char payload[12];
	bool truncated = true;

	(void)state;
	memcpy(payload, &(uint32_t){ 1 }, 4);
	memcpy(payload + 4, &(uint64_t){ 2 }, 8);
	forge(&tape, RECORD_UNMAPPING, payload, sizeof(payload));
	assert_int_equal(play(tape.data, tape.len, &expected, 1, &truncated), 1);
	assert_false(truncated);
}

static void damaged_payloads_are_refused(void **state)
{
	static const struct {
		const char *name;
		uint32_t type;
		const char *payload;
		size_t len;
	} cases[] = {
		{ "half a field", RECORD_CUT, "1234", 4 },
		{ "string longer than the payload", RECORD_UNPROBED, "\xff\0\0\0abc", 7 },
		{ "string without its end", RECORD_UNPROBED, "\3\0\0\0abcd", 8 },
		{ "string with an end inside", RECORD_UNPROBED, "\3\0\0\0a\0c\0", 8 },
		{ "string of all memory", RECORD_UNPROBED, "\xfe\xff\xff\xff", 4 },
		{ "more frames than bytes", RECORD_STACK,
		  "12345678"
		  "1234"
		  "12345678"
		  "\1"
		  "\2\0\0\0"
		  "12345678",
		  33 },
		{ "half of an element", RECORD_COVERAGE,
		  "\1"
		  "12345678"
		  "12345678"
		  "12345678"
		  "\1\0\0\0"
		  "\x0a\0\0\0"
		  "12345678",
		  41 },
		{ "end of an unknown kind", RECORD_PROCESS_END, "1234\7\0\0\0", 8 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_tape_ struct tape tape = { 0 };
		bool truncated = false;

		forge(&tape, cases[i].type, cases[i].payload, cases[i].len);
		if (play(tape.data, tape.len, all, 0, &truncated) != 0 || !truncated)
			fail_msg("%s", cases[i].name);
	}
}

/* What is in the pack of a file that others have made. */
static void packs_that_lie_are_refused(void **state)
{
	static const struct {
		const char *name, *data;
		size_t len;
	} cases[] = {
		{ "no frame", "whatever", 8 },
		{ "half a header", "\x28\xb5\x2f\xfd\x20\x04\x21\0\0\1\2\3\4", 13 },
		{ "a length that is not there",
		  "\x28\xb5\x2f\xfd\x20\x08\x41\0\0\6\0\0\0\xff\0\0\0", 17 },
		{ "a size beyond all", "\x28\xb5\x2f\xfd\xe0\xff\xff\xff\xff\xff\xff\xff\x0f\1\0\0",
		  16 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_tape_ struct tape tape = { 0 };
		bool truncated = false;

		forge(&tape, TYPE_PACKED, cases[i].data, cases[i].len);
		if (play(tape.data, tape.len, all, 0, &truncated) != 0 || !truncated)
			fail_msg("%s", cases[i].name);
	}
}

static void other_byte_order_is_read(void **state)
{
	static const struct record expected = {
		.type = RECORD_FUNCTION,
		.function = { 7, "malloc", "/lib/c", 0x123456789abcdef0 },
	};
	_cleanup_tape_ struct tape tape = { 0 };
	bool truncated = true;
	char payload[64];
	uint32_t crc, len = 32;

	(void)state;
	memcpy(payload, &(uint16_t){ bswap_16(7) }, 2);
	memcpy(payload + 2, &(uint32_t){ bswap_32(6) }, 4);
	memcpy(payload + 6, "malloc", 7);
	memcpy(payload + 13, &(uint32_t){ bswap_32(6) }, 4);
	memcpy(payload + 17, "/lib/c", 7);
	memcpy(payload + 24, &(uint64_t){ bswap_64(0x123456789abcdef0) }, 8);
	/* The checksum is of the bytes as they stand. */
	forge(&tape, bswap_32(RECORD_FUNCTION), payload, len);
	memcpy(tape.data + HEADER_LEN + 4, &(uint32_t){ bswap_32(len) }, 4);
	crc = crc32(0, (const Bytef *)tape.data + HEADER_LEN, 8);
	crc = crc32(crc, (const Bytef *)payload, len);
	memcpy(tape.data + HEADER_LEN + 8, &(uint32_t){ bswap_32(crc) }, 4);
	tape.len -= END_LEN;
	put_record(&tape, bswap_32(TYPE_END), "", 0);
	memcpy(&crc, tape.data + tape.len - 4, 4);
	memcpy(tape.data + tape.len - 4, &(uint32_t){ bswap_32(crc) }, 4);
	for (size_t at = 8; at < HEADER_LEN; at += 4) {
		memcpy(&crc, tape.data + at, 4);
		memcpy(tape.data + at, &(uint32_t){ bswap_32(crc) }, 4);
	}
	assert_int_equal(play(tape.data, tape.len, &expected, 1, &truncated), 1);
	assert_false(truncated);
}

static void what_is_no_recording_is_refused(void **state)
{
	static const struct {
		size_t at;
		uint32_t value;
		int expected;
	} cases[] = {
		{ 0, 0x1234, -EBADMSG },
		{ 4, 0x1234, -EBADMSG },
		{ 8, RECORDING_VERSION + 1, -EPROTONOSUPPORT },
		{ 8, 0, -EPROTONOSUPPORT },
		{ 12, 0x12345678, -EBADMSG },
	};
	struct source *source;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_tape_ struct tape tape = { 0 };
		_cleanup_fclose_ FILE *file = NULL;

		record_all(all, N_ALL, &tape);
		memcpy(tape.data + cases[i].at, &cases[i].value, 4);
		file = fmemopen(tape.data, tape.len, "r");
		assert_int_equal(recording_open(file, &source), cases[i].expected);
	}
}

static int refuse_the_third(const struct record *record, void *userdata)
{
	int *n = userdata;

	(void)record;
	return ++*n == 3 ? -EBADMSG : 0;
}

static void drain_stops_where_its_reader_does_and_goes_on_after(void **state)
{
	_cleanup_tape_ struct tape tape = { 0 };
	_cleanup_fclose_ FILE *file = NULL;
	_cleanup_(source_free_p) struct source *source = NULL;
	int n = 0;

	(void)state;
	record_all(all, N_ALL, &tape);
	file = fmemopen(tape.data, tape.len, "r");
	assert_int_equal(recording_open(file, &source), 0);
	assert_int_equal(source_drain(source, refuse_the_third, &n), -EBADMSG);
	assert_int_equal(n, 3);
	assert_int_equal(source_drain(source, refuse_the_third, &n), 1);
	assert_int_equal(n, N_ALL);
	assert_false(recording_truncated(source));
	/* Nothing follows, cuts neither. */
	assert_int_equal(source_drain(source, refuse_the_third, &n), 1);
	assert_int_equal(source_cut(source, refuse_the_third, &n), 0);
	assert_int_equal(n, N_ALL);
}

static void full_disk_is_an_error(void **state)
{
	_cleanup_fclose_ FILE *file = fopen("/dev/full", "w");
	_cleanup_(recording_writer_free_p) struct recording_writer *writer = NULL;

	(void)state;
	assert_non_null(file);
	setvbuf(file, NULL, _IONBF, 0);
	assert_int_equal(recording_writer_new(file, &writer), -EIO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_record_comes_back_as_it_was),
		cmocka_unit_test(packed_records_come_back_as_they_were),
		cmocka_unit_test(damaged_packs_are_refused_as_a_whole),
		cmocka_unit_test(packs_are_written_as_they_fill),
		cmocka_unit_test(packs_that_lie_are_refused),
		cmocka_unit_test(recording_without_records_is_whole),
		cmocka_unit_test(cut_off_anywhere_yields_what_was_complete),
		cmocka_unit_test(changed_byte_ends_the_run_before_it),
		cmocka_unit_test(payload_of_another_type_is_read_without_harm),
		cmocka_unit_test(unknown_type_is_skipped),
		cmocka_unit_test(fields_of_newer_writers_are_ignored),
		cmocka_unit_test(fields_that_older_writers_lack_are_zero),
		cmocka_unit_test(damaged_payloads_are_refused),
		cmocka_unit_test(other_byte_order_is_read),
		cmocka_unit_test(what_is_no_recording_is_refused),
		cmocka_unit_test(drain_stops_where_its_reader_does_and_goes_on_after),
		cmocka_unit_test(full_disk_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
