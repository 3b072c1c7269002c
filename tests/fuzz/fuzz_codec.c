/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bytes as a record, or as a message between our processes, which the first byte chooses: what was
 * read is in its bounds, and is the same when it is written and read again. And answers as they are
 * read, were the process that parses files not ours any more; requests to it.
 */
#include "elf/cfi/cfi_rows.h"
#include "tests/codec_values.h"
#include "tests/every_message.h"
#include "trace/record/record_codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FIRST_MESSAGE 0x80 /* lower ones are types of records */
#define FILE_BYTES VALUES_FILE_BYTES

static void check(int condition)
{
	if (!condition)
		abort();
}

/* --- every layout ---------------------------------------------------------------------------- */

static void check_bounds(const struct layout *layout, const char *value);

static void check_elements(const struct layout *of, const char *elements, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		check_bounds(of, elements + i * of->size);
}

static void check_text(const struct field *field, const char *text)
{
	check(text || (field->kind != FIELD_STRING && field->kind != FIELD_COPY));
	check(!text || !field->max || strlen(text) <= field->max);
}

static void check_integer(const struct field *field, const char *member)
{
	uint64_t value = 0;

	memcpy(&value, member, FIELD_WIDTH(field->kind));
	check(!field->max || value <= field->max);
	check(field->kind != FIELD_BOOL || value <= 1);
	check(field->kind != FIELD_FILE_OFFSET || value < FILE_BYTES);
}

static void check_counted(const struct field *f, const char *value)
{
	const char *member = value + f->offset;
	uint64_t n = values_count(f, value);

	check(!f->max || n <= f->max);
	check_elements(f->of, f->kind == FIELD_LIST ? *(char *const *)member : member, n);
}

static void check_bounds(const struct layout *layout, const char *value)
{
	for (const struct field *f = layout->fields; f->kind; f++) {
		const char *member = value + f->offset;

		if (f->kind <= FIELD_FILE_OFFSET)
			check_integer(f, member);
		else if (f->kind <= FIELD_OPTIONAL_COPY)
			check_text(f, *(const char *const *)member);
		else if (f->kind == FIELD_ARRAY || f->kind == FIELD_LIST)
			check_counted(f, value);
		else if (f->kind == FIELD_STRUCT || f->kind == FIELD_REPEAT)
			check_elements(f->of, member, f->kind == FIELD_STRUCT ? 1 : f->max);
		else if (f->kind == FIELD_POINTER && *(char *const *)member)
			check_bounds(f->of, *(char *const *)member);
	}
}

static void read_layout(const struct layout *layout, struct decoder decoder)
{
	_cleanup_free_ char *value = calloc(1, layout->size + 1);
	_cleanup_free_ char *again = calloc(1, layout->size + 1);
	_cleanup_strbuf_ struct strbuf bytes = {};

	check(value && again);
	codec_read(&decoder, layout, value);
	if (decoder.error < 0)
		return;
	check_bounds(layout, value);
	codec_write(&bytes, layout, value, NULL);
	check(strbuf_error(&bytes) == 0);
	decoder.at = strbuf_str(&bytes);
	decoder.end = decoder.at + bytes.len;
	codec_read(&decoder, layout, again);
	check(decoder_end(&decoder) == 0 && values_same(layout, value, again));
	codec_done(layout, value);
	codec_done(layout, again);
}

/* --- answers and requests -------------------------------------------------------------------- */

static void read_places(struct decoder decoder)
{
	struct symbol_head head = symbol_get_head(&decoder, SYMBOL_MAX_PLACES);
	struct symbol_found found;

	for (size_t i = 0; decoder.error == 0 && i < head.n_places; i++) {
		codec_read(&decoder, &symbol_found_layout, &found);
		check((found.n_frames > 0) == (decoder.error == 0));
	}
}

static void read_look_up(struct decoder decoder)
{
	struct symbol_look_up *look_up = calloc(1, sizeof(*look_up));
	const int fds[] = { 3, 4 };

	check(look_up != NULL);
	if (symbol_get_look_up(&decoder, fds, 2, look_up))
		for (size_t i = 0; i < OBJECT_FILES; i++)
			check(look_up->files.fds[i] >= -1 && look_up->files.fds[i] <= 4);
	free(look_up);
}

static void read_facts(struct decoder decoder)
{
	struct elf_facts facts;
	uint64_t vaddr;

	codec_read(&decoder, &symbol_facts_layout, &facts);
	check(!facts.link || !strchr(facts.link, '/'));
	(void)elf_loads_vaddr(facts.loads.data, facts.loads.len, 0x1000, &vaddr);
	elf_facts_done(&facts);
}

static void read_items(struct decoder decoder, uint32_t n)
{
	_cleanup_(jit_item_room_done) struct jit_item_room room = {};
	struct jit_item item;

	for (uint32_t i = 0; i < n && jit_get_item(&decoder, &room, &item) == 0; i++) {
		check(item.is_move == !item.name);
		for (size_t k = 0; k < item.n_lines; k++) {
			check(strlen(item.lines[k].file) <= JIT_MAX_NAME);
			check(k == 0 || item.lines[k].offset >= item.lines[k - 1].offset);
		}
	}
}

/* A head costs the fuzzer time to guess. */
static void read_two_items(struct decoder decoder)
{
	read_items(decoder, 2);
}

static void read_jit_answer(struct decoder decoder)
{
	const struct jit_asked asked = { .state = { .offset = 3 } };
	struct jit_head head = jit_get_head(&decoder, &asked);

	if (decoder.error < 0)
		return;
	check(head.state.offset >= 3 && (!head.more || head.state.offset > 3));
	check(head.state.lines_offset == 0 || head.state.lines_offset < head.state.offset);
	read_items(decoder, head.n_items);
}

static void read_object_facts(struct decoder decoder, const struct object_wants *wants)
{
	struct object_facts facts;

	if (object_get_facts(&decoder, FILE_BYTES, wants, &facts) < 0)
		return;
	check(!facts.plan == !(facts.is_elf && wants->allocators));
	check(!facts.samples == !(facts.is_elf && wants->samples));
	object_facts_done(&facts);
}

static void read_object_request(struct decoder decoder)
{
	struct object_asked asked;

	if (object_get_wants(&decoder, &asked) < 0)
		return;
	check(asked.wants.path != NULL);
	object_asked_done(&asked);
}

static void read_near(struct decoder decoder)
{
	struct near_names near;

	near_names_init(&near, "malloc");
	(void)object_get_near(&decoder, &near); /* either is right */
	check(near.n <= NEAR_NAMES);
}

static void read_ranges(struct decoder decoder)
{
	struct object_ranges ranges;

	if (object_get_ranges(&decoder, 0x10000, &ranges) < 0)
		return;
	for (size_t i = 0; i < ranges.n; i++)
		check(ranges.list[i].size <= 0x10000 &&
		      ranges.list[i].offset <= 0x10000 - ranges.list[i].size);
}

static void read_rows(struct decoder decoder)
{
	const uint8_t *data = (const uint8_t *)decoder.at;
	struct cfi_key key = { 0 };
	struct cfi_rows *rows;

	if (cfi_decode(data, (size_t)(decoder.end - decoder.at), &key, &rows) < 0)
		return;
	(void)cfi_rule_at(rows, 0x1000);
	cfi_rows_free(rows);
}

static void read_object_answers(struct decoder decoder)
{
	static char *names[] = { (char *)"malloc", NULL };

	for (int bits = 0; bits < 4; bits++) {
		const struct object_wants wants = { .allocators = bits & 1,
						    .samples = bits & 2,
						    .checkpoints = bits != 0,
						    .checkpoint_names = names,
						    .unwinding = bits != 2 };

		read_object_facts(decoder, &wants);
	}
}

/* What reads a message beside its layout alone; rows come as they are, after a key was sent. */
static const struct {
	const struct layout *layout;
	void (*read)(struct decoder decoder);
} readers[] = {
	{ &symbol_head_layout, read_places },	 { &symbol_look_up_layout, read_look_up },
	{ &symbol_facts_layout, read_facts },	 { &jit_head_layout, read_jit_answer },
	{ &jit_message_layout, read_two_items }, { &object_answer_layout, read_object_answers },
	{ &object_near_layout, read_near },	 { &object_asked_layout, read_object_request },
	{ &object_ranges_layout, read_ranges },	 { &object_key_layout, read_rows },
};

static void read_message(const struct layout *layout, struct decoder decoder)
{
	read_layout(layout, decoder);
	for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++)
		if (readers[i].layout == layout)
			readers[i].read(decoder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data + 1;
	struct decoder decoder = { .at = text, .end = text + size - 1, .file_bytes = FILE_BYTES };
	const struct layout *record;

	if (size == 0)
		return 0;
	record = data[0] < FIRST_MESSAGE ? record_layout_find(data[0]) : NULL;
	if (data[0] >= FIRST_MESSAGE)
		read_message(every_message[(data[0] - FIRST_MESSAGE) % N_MESSAGES], decoder);
	decoder.is_lenient = true;
	if (record)
		read_layout(record, decoder);
	return 0;
}
