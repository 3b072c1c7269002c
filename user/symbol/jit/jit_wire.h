/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the daemon asks of the worker that reads JIT maps and jitdumps for it, and what that
 * answers: tables of base/codec.h. Answers are read as hostile: all counts and lengths have bounds,
 * and strings are the message's.
 */
#ifndef MEMTRACED_SYMBOL_JIT_JIT_WIRE_H
#define MEMTRACED_SYMBOL_JIT_JIT_WIRE_H

#include "base/codec.h"
#include "base/vec.h"
#include "symbol/jit/jitdump.h"

/* The first byte of a request; those of probe/object_wire.h are lower. */
enum jit_request {
	JIT_READ_MAP = 0x60,
	JIT_READ_DUMP,
};

/* An answer that is longer takes no more items. */
#define JIT_FULL_ANSWER (1 << 20)

/* Where to begin in the file, which comes as a descriptor. Of a map it is its offset alone. */
struct jit_asked {
	bool to_the_end; /* of a map: its last line may have no newline, as no more is written */
	struct jitdump_state state;
};

extern const struct layout jit_asked_layout;

/* Before the items. */
struct jit_head {
	bool more;	 /* there is more in the file already */
	bool is_damaged; /* nothing behind the items can be read */
	struct jitdump_state state;
	uint64_t malformed; /* lines of a map that were left out */
	uint32_t n_items;
};
extern const struct layout jit_head_layout;
/* A head that does not go on from what was asked is refused. Errors stay in the decoder. */
struct jit_head jit_get_head(struct decoder *decoder, const struct jit_asked *asked);

/* A line of an item; `file`: the index of its name. */
struct jit_line {
	uint64_t offset;
	uint32_t line, file;
};

struct jit_message {
	struct jit_item item; /* without its lines */
	size_t n_files, n_lines;
	const char **files;
	struct jit_line *lines;
};
extern const struct layout jit_message_layout;

/* 0 or -ENOMEM. */
int jit_put_item(struct strbuf *answer, const struct jit_item *item);

/* What an item that was read borrows beside its strings; the next one uses it again. */
struct jit_item_room {
	struct jit_message message;
	VEC(struct record_jit_line) lines;
};
void jit_item_room_done(struct jit_item_room *room);
/* 0, -EBADMSG or -ENOMEM. */
int jit_get_item(struct decoder *decoder, struct jit_item_room *room, struct jit_item *ret_item);

#endif
