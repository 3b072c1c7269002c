/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The XML of leak checks: its shape to the letter, and names that XML 1.0 has no room for. Whether
 * it follows the grammar of Valgrind's protocol: tests/live/test_valgrind.py.
 */
#include "report/leak/leak_xml.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HOSTILE "a<b>&\"\x1b[31m\x01\xff\xe2\x80\xae]]>\xef\xbf\xbf"
#define HARMLESS "a&lt;b&gt;&amp;&quot;\\x1b[31m\\x01\\xff\\u{202e}]]&gt;\\u{ffff}"

static struct view_place place_of_malloc = { .addr = 0x4abc, .object = "/lib/libc.so.6" },
			 place_of_caller = { .is_call = true, .addr = 0x1190, .object = HOSTILE };
static struct leak_frame frames[] = {
	{ &place_of_malloc, "malloc", NULL, 0, 0, false },
	{ &place_of_caller, HOSTILE, "/src/" HOSTILE "/" HOSTILE, 6, 1, false },
};
static struct suppression_frame names[] = {
	{ .linkage = "malloc", .function = "malloc", .object = "/lib/libc.so.6" },
	{ .linkage = HOSTILE, .function = HOSTILE, .object = HOSTILE },
};
static uint64_t keys[] = { 1, 2 };
static struct leak_stack stack = {
	.n_frames = 2, .frames = frames, .names = names, .n_keys = 2, .keys = keys
};
static const struct leak_stacks stacks = { 1, &stack };
static const struct leak_options options = { .mode = LEAK_CHECK_FULL,
					     .xml = { true, .protocol = 4 } };
static const struct model_process image = { .pid = 42, .comm = HOSTILE };

/* Nothing in it that XML 1.0 forbids (its production 2), and no bytes that are not UTF-8. */
static void expect_characters(const struct strbuf *text)
{
	assert_int_equal(strbuf_error(text), 0);
	for (size_t i = 0; i < text->len; i++)
		if ((unsigned char)text->data[i] < ' ' && text->data[i] != '\n')
			fail_msg("a control character in: %s", text->data);
	assert_null(strstr(strbuf_str(text), "\xff"));
	assert_null(strstr(strbuf_str(text), "\xef\xbf\xbf"));
}

static void the_head_names_both_commands(void **state)
{
	static const struct leak_xml_variable variable = { "A&B", HOSTILE };
	static char *const own[] = { "--xml=yes", HOSTILE, NULL };
	static char *const command[] = { "./prog", "x y", NULL };
	const struct leak_xml_head head = { 42, 7, &variable, 1, "memtraced", own, command };
	struct xml_options xml = { .on = true, .protocol = 5, .comment = "<a>b</a>" };
	_cleanup_strbuf_ struct strbuf text = { 0 };
	static const char *const parts[] = {
		"<?xml version=\"1.0\"?>\n\n<valgrindoutput>\n\n"
		"<protocolversion>5</protocolversion>\n<protocoltool>memcheck</protocoltool>\n",
		"  <line>Command: ./prog 'x y'</line>\n</preamble>\n",
		"<pid>42</pid>\n<ppid>7</ppid>\n<tool>memcheck</tool>\n",
		"<logfilequalifier>\n  <var>A&amp;B</var>\n  <value>" HARMLESS "</value>\n",
		"<usercomment><a>b</a></usercomment>\n",
		"  <vargv>\n    <exe>memtraced</exe>\n    <arg>--xml=yes</arg>\n"
		"    <arg>" HARMLESS "</arg>\n  </vargv>\n"
		"  <argv>\n    <exe>./prog</exe>\n    <arg>x y</arg>\n  </argv>\n",
		"<status>\n  <state>RUNNING</state>\n  <time>00:00:00:00.000 </time>\n</status>\n",
	};

	(void)state;
	leak_xml_begin(&text, &head, &xml);
	expect_characters(&text);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (!strstr(strbuf_str(&text), parts[i]))
			fail_msg("lacks %s\nin %s", parts[i], strbuf_str(&text));
	strbuf_reset(&text);
	leak_xml_finished(&text, 93784056000000ULL);
	assert_string_equal(strbuf_str(&text), "\n<status>\n  <state>FINISHED</state>\n"
					       "  <time>01:02:03:04.056 </time>\n</status>\n\n");
}

#define STACK                                                                                      \
	"  <stack>\n"                                                                              \
	"    <frame>\n"                                                                            \
	"      <ip>0x4ABC</ip>\n"                                                                  \
	"      <obj>/lib/libc.so.6</obj>\n"                                                        \
	"      <fn>malloc</fn>\n"                                                                  \
	"    </frame>\n"                                                                           \
	"    <frame>\n"                                                                            \
	"      <ip>0x118F</ip>\n"                                                                  \
	"      <obj>" HARMLESS "</obj>\n"                                                          \
	"      <fn>" HARMLESS "</fn>\n"                                                            \
	"      <dir>/src/" HARMLESS "</dir>\n"                                                     \
	"      <file>" HARMLESS "</file>\n"                                                        \
	"      <line>6</line>\n"                                                                   \
	"    </frame>\n"                                                                           \
	"  </stack>\n"

static void a_leak_has_its_sums_and_its_stack(void **state)
{
	static const struct reach_block blocks[] = { { 0x1000, 1000, 0 }, { 0x2000, 16, 0 } };
	static const struct reach_verdict verdicts[] = { { REACH_NO_LEADER, REACH_DEFINITE, 0 },
							 { 0, REACH_INDIRECT, 0 } };
	static const uint32_t stacks_of[] = { 0, 0 };
	static const struct loss_stack loss_stack = { keys, 2 };
	const struct loss_input input = { blocks, verdicts, stacks_of, 2, &loss_stack, 1 };
	const struct leak_xml_id id = { 26, &image, true };
	_cleanup_(loss_records_free_p) struct loss_records *records = NULL;
	_cleanup_strbuf_ struct strbuf text = { 0 };
	struct loss_opts opts;

	(void)state;
	loss_opts_init(&opts);
	assert_int_equal(loss_records_new(&input, &opts, NULL, &records), 0);
	leak_xml_record(&text, &id, records, loss_records_n(records) - 1, &stacks, &options);
	expect_characters(&text);
	assert_string_equal(
		strbuf_str(&text),
		"<error>\n"
		"  <unique>0x1a</unique>\n"
		"  <tid>1</tid>\n"
		"  <kind>Leak_DefinitelyLost</kind>\n"
		"  <xwhat>\n"
		"    <text>1,016 (1,000 direct, 16 indirect) bytes in 1 blocks are definitely lost "
		"in loss record 2 of 2</text>\n"
		"    <leakedbytes>1016</leakedbytes>\n"
		"    <leakedblocks>1</leakedblocks>\n"
		"  </xwhat>\n" STACK "  <auxwhat>in process 42 (" HARMLESS ")</auxwhat>\n"
		"</error>\n\n");
}

static void an_error_has_a_kind_that_the_protocol_knows(void **state)
{
	static const struct {
		enum record_heap_error_kind kind;
		uint32_t protocol;
		const char *said;
	} rows[] = {
		{ RECORD_INVALID_FREE, 4, "InvalidFree" },
		{ RECORD_DOUBLE_FREE, 4, "InvalidFree" },
		{ RECORD_MISMATCHED_FREE, 4, "MismatchedFree" },
		{ RECORD_FOREIGN_FREE, 5, "MismatchedFree" },
		{ RECORD_SUSPICIOUS_SIZE, 4, "FishyValue" },
		{ RECORD_REALLOC_ZERO, 4, "FishyValue" },
		{ RECORD_REALLOC_ZERO, 5, "ReallocSizeZero" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct record_heap_error values = { .kind = rows[i].kind };
		const struct leak_error error = { &values, 1, &stack, NULL, NULL, 1 };
		const struct leak_xml_id id = { 0, &image, false };
		struct leak_options o = options;
		_cleanup_strbuf_ struct strbuf text = { 0 };
		char kind[64];

		o.xml.protocol = rows[i].protocol;
		leak_xml_error(&text, &id, &error, true, &o);
		expect_characters(&text);
		(void)snprintf(kind, sizeof(kind), "<kind>%s</kind>", rows[i].said); /* fits */
		assert_non_null(strstr(strbuf_str(&text), kind));
		assert_null(strstr(strbuf_str(&text), "in process"));
	}
}

static void a_thread_is_named_by_its_number_or_its_id(void **state)
{
	static const struct {
		uint32_t number, tid;
		const char *said;
	} rows[] = {
		{ 3, 4711, "<tid>3</tid>" },
		{ 0, 4711, "<tid>4711</tid>" },
		{ 0, 0, "<tid>1</tid>" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct record_heap_error values = { .kind = RECORD_INVALID_FREE,
							  .tid = rows[i].tid };
		const struct leak_error error = { &values, 1, &stack, NULL, NULL, rows[i].number };
		const struct leak_xml_id id = { 0, &image, false };
		_cleanup_strbuf_ struct strbuf text = { 0 };

		leak_xml_error(&text, &id, &error, true, &options);
		assert_non_null(strstr(strbuf_str(&text), rows[i].said));
	}
}

static void a_suppression_is_there_as_elements_and_as_text(void **state)
{
	const struct record_heap_error values = {
		.kind = RECORD_DOUBLE_FREE, .addr = 0x5010, .block = 0x5000, .block_size = 40
	};
	const struct leak_error error = { &values, 1, &stack, &stack, &stack, 1 };
	const struct leak_xml_id id = { 0, &image, false };
	struct leak_options o = options;
	_cleanup_strbuf_ struct strbuf text = { 0 };
	const char *at;

	(void)state;
	o.generate = LEAK_GENERATE_ALL;
	leak_xml_error(&text, &id, &error, false, &o);
	expect_characters(&text);
	assert_non_null(strstr(strbuf_str(&text),
			       "  <auxwhat>Address 0x5010 is 16 bytes inside a block of size 40 "
			       "free'd</auxwhat>\n" STACK
			       "  <auxwhat>Block was alloc'd at</auxwhat>\n" STACK
			       "  <auxwhat>note: not all of the process was seen: this may not be "
			       "an error</auxwhat>\n"
			       "  <suppression>\n"
			       "    <sname>insert_a_suppression_name_here</sname>\n"
			       "    <skind>Memcheck:Free</skind>\n"
			       "    <sframe> <fun>malloc</fun> </sframe>\n"));
	/* "]]>" ends the section: in a name it stands in two of them. */
	at = strstr(strbuf_str(&text), "<![CDATA[\n{\n");
	assert_non_null(at);
	for (int n = 0; (at = strstr(at, "]]>")); at += 3, n++)
		assert_true(strncmp(at + 3, "<![CDATA[", 9) == 0 ||
			    strncmp(at + 3, "\n    </rawtext>", 15) == 0);
}

static void a_fault_says_its_signal(void **state)
{
	const struct record_fault values = {
		.signal = SIGSEGV, .code = SEGV_MAPERR, .has_addr = true, .addr = 0x8
	};
	const struct leak_fault fault = { &values, &stack, NULL, NULL, 1 };
	_cleanup_strbuf_ struct strbuf text = { 0 };

	(void)state;
	leak_xml_fault(&text, &fault, &options);
	expect_characters(&text);
	assert_non_null(strstr(strbuf_str(&text),
			       "<fatal_signal>\n  <tid>1</tid>\n  <signo>11</signo>\n"
			       "  <signame>SIGSEGV</signame>\n  <sicode>1</sicode>\n"
			       "  <event>Access not within mapped region</event>\n"
			       "  <siaddr>0x8</siaddr>\n" STACK "</fatal_signal>\n"));
}

static void the_end_counts_errors_and_suppressions_that_were_used(void **state)
{
	static const char file[] = "{\n one<&>\n Memcheck:Leak\n fun:malloc\n}\n"
				   "{\n two\n Memcheck:Leak\n fun:malloc\n}\n";
	_cleanup_(suppressions_free_p) struct suppressions *used = NULL;
	static const uint64_t counts[] = { 3, 0, 1 };
	_cleanup_strbuf_ struct strbuf text = { 0 }, error = { 0 };

	(void)state;
	assert_int_equal(suppressions_new(&used), 0);
	assert_int_equal(suppressions_add_text(used, "f", file, sizeof(file) - 1, &error), 0);
	suppressions_count(used, 0, 2, 48);
	leak_xml_end(&text, counts, 3, used);
	assert_string_equal(strbuf_str(&text),
			    "<errorcounts>\n"
			    "  <pair>\n    <count>3</count>\n    <unique>0x0</unique>\n  </pair>\n"
			    "  <pair>\n    <count>1</count>\n    <unique>0x2</unique>\n  </pair>\n"
			    "</errorcounts>\n\n"
			    "<suppcounts>\n"
			    "  <pair>\n    <count>1</count>\n    <name>one&lt;&amp;&gt;</name>\n"
			    "  </pair>\n"
			    "</suppcounts>\n\n</valgrindoutput>\n\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_head_names_both_commands),
		cmocka_unit_test(a_leak_has_its_sums_and_its_stack),
		cmocka_unit_test(an_error_has_a_kind_that_the_protocol_knows),
		cmocka_unit_test(a_thread_is_named_by_its_number_or_its_id),
		cmocka_unit_test(a_suppression_is_there_as_elements_and_as_text),
		cmocka_unit_test(a_fault_says_its_signal),
		cmocka_unit_test(the_end_counts_errors_and_suppressions_that_were_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
