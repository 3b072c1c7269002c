/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/jit/jit_wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Names of 4 KiB demangle to longer ones; beyond that the name itself shows. */
#define MAX_FUNCTION (64 << 10)

/* --- requests and heads ---------------------------------------------------------------------- */

static const struct field state_fields[] = {
	F(jitdump_state, offset, FIELD_U64),
	F(jitdump_state, lines_offset, FIELD_U64),
	F(jitdump_state, other_clock, FIELD_BOOL),
	F(jitdump_state, closed, FIELD_BOOL),
	F_END,
};

static bool state_is_sound(const void *value, const void *context)
{
	const struct jitdump_state *state = value;

	(void)context;
	/* Files end there. */
	return state->offset <= INT64_MAX &&
	       (state->lines_offset == 0 || state->lines_offset < state->offset);
}

static const struct layout state_layout =
	LAYOUT_CHECKED(jitdump_state, state_fields, state_is_sound);

static const struct field asked_fields[] = {
	F(jit_asked, to_the_end, FIELD_BOOL),
	F_STRUCT(jit_asked, state, &state_layout),
	F_END,
};
const struct layout jit_asked_layout = LAYOUT(jit_asked, asked_fields);

static const struct field head_fields[] = {
	F(jit_head, more, FIELD_BOOL),
	F(jit_head, is_damaged, FIELD_BOOL),
	F_STRUCT(jit_head, state, &state_layout),
	F(jit_head, malformed, FIELD_U64),
	F(jit_head, n_items, FIELD_U32),
	F_END,
};
const struct layout jit_head_layout = LAYOUT(jit_head, head_fields);

struct jit_head jit_get_head(struct decoder *decoder, const struct jit_asked *asked)
{
	struct jit_head head;
	uint64_t taken;

	codec_read(decoder, &jit_head_layout, &head);
	taken = head.state.offset - asked->state.offset;
	/* Without progress it would be asked for ever. */
	if (head.state.offset < asked->state.offset || (head.more && taken == 0) ||
	    (head.more && head.is_damaged) || head.malformed > taken)
		decoder_refuse(decoder);
	return head;
}

/* --- items ----------------------------------------------------------------------------------- */

static const struct field file_fields[] = {
	{ .kind = FIELD_STRING, .max = JIT_MAX_NAME },
	F_END,
};
static const struct layout file_layout = { "file name", sizeof(char *), file_fields, NULL };

static const struct field line_fields[] = {
	F(jit_line, offset, FIELD_U64),
	F(jit_line, line, FIELD_U32),
	F(jit_line, file, FIELD_U32),
	F_END,
};
static const struct layout line_layout = LAYOUT(jit_line, line_fields);

static const struct field item_fields[] = {
	F(jit_message, item.index, FIELD_U64),
	F(jit_message, item.start, FIELD_U64),
	F(jit_message, item.size_bytes, FIELD_U64),
	F(jit_message, item.since_ns, FIELD_U64),
	F(jit_message, item.is_move, FIELD_BOOL),
	F_MAX(jit_message, item.name, FIELD_OPTIONAL_STRING, JIT_MAX_NAME),
	F_MAX(jit_message, item.function, FIELD_OPTIONAL_STRING, MAX_FUNCTION),
	F_LOCAL(jit_message, item.n_lines),
	F_LOCAL(jit_message, item.lines),
	F_LIST(jit_message, files, n_files, JIT_MAX_LINES, &file_layout),
	F_LIST(jit_message, lines, n_lines, JIT_MAX_LINES, &line_layout),
	F_END,
};

/* Of a move there is the place alone. Lines ascend, and their files are there. */
static bool item_is_sound(const void *value, const void *context)
{
	const struct jit_message *message = value;

	(void)context;
	if (message->item.is_move)
		return !message->item.name && !message->item.function && message->n_lines == 0;
	for (size_t i = 0; i < message->n_lines; i++)
		if (message->lines[i].file >= message->n_files ||
		    (i > 0 && message->lines[i].offset < message->lines[i - 1].offset))
			return false;
	return message->item.name != NULL;
}

const struct layout jit_message_layout = LAYOUT_CHECKED(jit_message, item_fields, item_is_sound);

static int pointer_compare(const void *item_a, const void *item_b)
{
	uintptr_t a = (uintptr_t) * (const char *const *)item_a;
	uintptr_t b = (uintptr_t) * (const char *const *)item_b;

	return a < b ? -1 : a > b;
}

/* Lines of a file share its name, which is sent once. */
static void list_files(struct jit_message *message)
{
	const struct jit_item *item = &message->item;
	const char **files = message->files;

	for (size_t i = 0; i < item->n_lines; i++)
		files[i] = item->lines[i].file;
	qsort(files, item->n_lines, sizeof(files[0]), pointer_compare);
	for (size_t i = 0; i < item->n_lines; i++)
		if (message->n_files == 0 || files[message->n_files - 1] != files[i])
			files[message->n_files++] = files[i];
}

static void list_lines(struct jit_message *message)
{
	const struct jit_item *item = &message->item;
	const char **files = message->files;

	for (size_t i = 0; i < item->n_lines; i++) {
		const char **file = bsearch(&item->lines[i].file, files, message->n_files,
					    sizeof(files[0]), pointer_compare);

		message->lines[message->n_lines++] =
			(struct jit_line){ item->lines[i].offset, item->lines[i].line,
					   (uint32_t)(file - files) };
	}
	for (size_t i = 0; i < message->n_files; i++)
		if (strlen(files[i]) > JIT_MAX_NAME)
			files[i] = "";
}

int jit_put_item(struct strbuf *answer, const struct jit_item *item)
{
	_cleanup_free_ const char **files = calloc(item->n_lines + 1, sizeof(files[0]));
	_cleanup_free_ struct jit_line *lines = calloc(item->n_lines + 1, sizeof(lines[0]));
	_cleanup_free_ char *name = item->name ? strndup(item->name, JIT_MAX_NAME) : NULL;
	struct jit_message message = { .item = *item, .files = files, .lines = lines };

	if (!files || !lines || (item->name && !name))
		return -ENOMEM;
	message.item.name = name;
	list_files(&message);
	list_lines(&message);
	codec_write(answer, &jit_message_layout, &message, NULL);
	return strbuf_error(answer);
}

void jit_item_room_done(struct jit_item_room *room)
{
	codec_done(&jit_message_layout, &room->message);
	vec_done(&room->lines);
}

int jit_get_item(struct decoder *decoder, struct jit_item_room *room, struct jit_item *ret_item)
{
	struct jit_message *message = &room->message;
	int r;

	codec_done(&jit_message_layout, message);
	codec_read(decoder, &jit_message_layout, message);
	r = decoder->error < 0 ? decoder->error : vec_reserve(&room->lines, message->n_lines);
	if (r < 0)
		return r;
	for (size_t i = 0; i < message->n_lines; i++)
		room->lines.data[i] =
			(struct record_jit_line){ .offset = message->lines[i].offset,
						  .line = message->lines[i].line,
						  .file = message->files[message->lines[i].file] };
	*ret_item = message->item;
	ret_item->n_lines = message->n_lines;
	ret_item->lines = message->n_lines > 0 ? room->lines.data : NULL;
	return 0;
}
