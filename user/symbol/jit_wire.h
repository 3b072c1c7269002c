/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the daemon asks of the worker that reads JIT maps and jitdumps for it, and what that answers
 * (sandbox/wire.h). Whoever gets an answer takes it for hostile: all counts and lengths are bounded
 * here, and strings are the message's.
 */
#ifndef MEMTRACED_SYMBOL_JIT_WIRE_H
#define MEMTRACED_SYMBOL_JIT_WIRE_H

#include "base/vec.h"
#include "sandbox/wire.h"
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
	bool to_the_end; /* of a map: its last line may have no newline, as nobody writes it more */
	struct jitdump_state state;
};

void jit_put_asked(struct strbuf *request, const struct jit_asked *asked);
/* After the first byte. False: it makes no sense. */
bool jit_get_asked(struct wire_reader *reader, struct jit_asked *ret_asked);

/* Before the items. */
struct jit_head {
	bool more;	 /* there is more in the file already */
	bool is_damaged; /* nothing behind the items can be read */
	struct jitdump_state state;
	uint64_t malformed; /* lines of a map that were left out */
	uint32_t n_items;
};
void jit_put_head(struct strbuf *answer, const struct jit_head *head);
/* A head that does not go on from what was asked is bad. Errors stay in the reader. */
struct jit_head jit_get_head(struct wire_reader *reader, const struct jit_asked *asked);

/* 0 or -ENOMEM. */
int jit_put_item(struct strbuf *answer, const struct jit_item *item);

/* What an item of a message borrows beside its strings; the next one uses it again. */
struct jit_item_room {
	VEC(const char *) files;
	VEC(struct record_jit_line) lines;
};
void jit_item_room_done(struct jit_item_room *room);
/* 0, -EBADMSG or -ENOMEM. */
int jit_get_item(struct wire_reader *reader, struct jit_item_room *room, struct jit_item *ret_item);

#endif
