/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the daemon asks about a file that is traced, and what it is answered (sandbox/wire.h).
 * Whoever gets an answer takes it for hostile, and whoever serves takes a request for damaged at
 * worst; both check all that they read.
 */
#ifndef MEMTRACED_PROBE_OBJECT_WIRE_H
#define MEMTRACED_PROBE_OBJECT_WIRE_H

#include "probe/insn_types.h"
#include "probe/object_facts.h"
#include "sandbox/wire.h"

#include <stddef.h>

struct near_names;

/* The first byte of a request; those of symbol/symbol_wire.h are lower. */
enum object_request {
	OBJECT_FACTS = 0x40, /* struct object_wants */
	OBJECT_ROWS,	     /* its rows by this key */
	OBJECT_NEAR,	     /* names of functions that come near one */
	OBJECT_FUNCTION,     /* where functions of this name are */
};

/* What a request is about: wants, and what they borrow. */
struct object_asked {
	struct object_wants wants;
	struct plan_emulation emulation;
	struct custom_allocators *custom;
	char **names; /* the message's */
};

void object_put_wants(struct strbuf *request, const struct object_wants *wants);
/* 0, -EBADMSG or -ENOMEM; `ret_asked` points into itself and into the message. */
int object_get_wants(struct wire_reader *reader, struct object_asked *ret_asked);
void object_asked_done(struct object_asked *asked);

/* `wants` are those that were asked: their allocators are told what was found. */
void object_put_facts(struct strbuf *answer, const struct object_facts *facts,
		      const struct object_wants *wants);
/* Of a file of so many bytes. 0, -EBADMSG or -ENOMEM; `ret_facts` is for object_facts_done(). */
int object_get_facts(struct wire_reader *reader, uint64_t file_bytes,
		     const struct object_wants *wants, struct object_facts *ret_facts);

/* As bytes: struct cfi_key has no padding. */
void object_put_key(struct strbuf *message, const struct cfi_key *key);
void object_get_key(struct wire_reader *reader, struct cfi_key *key);

/* Where a function's code is. */
struct object_range {
	uint64_t offset, size; /* in the file */
};
/* Aliases included: more than any file has. */
#define OBJECT_MAX_RANGES 16
struct object_ranges {
	size_t n;
	struct object_range list[OBJECT_MAX_RANGES];
};

void object_put_ranges(struct strbuf *answer, const struct object_ranges *ranges);
/* Of a file of so many bytes. 0 or -EBADMSG. */
int object_get_ranges(struct wire_reader *reader, uint64_t file_bytes,
		      struct object_ranges *ret_ranges);

void object_put_near(struct strbuf *answer, const struct near_names *near);
/* Offers them; bytes that do not belong into a line of text are replaced. 0 or -EBADMSG. */
int object_get_near(struct wire_reader *reader, struct near_names *near);

#endif
