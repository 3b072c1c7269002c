/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the daemon asks about a file that is traced, and what it is answered: tables of
 * base/codec.h. Answers are read as hostile, requests as damaged at worst; all that is read is
 * checked.
 */
#ifndef MEMTRACED_PROBE_OBJECT_WIRE_H
#define MEMTRACED_PROBE_OBJECT_WIRE_H

#include "base/codec.h"
#include "config/near_name.h"
#include "probe/insn_types.h"
#include "probe/object_facts.h"

#include <stddef.h>

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
	size_t n_functions, n_names;
	struct custom_function *functions;
	char **names; /* the message's; NULL behind the last */
	struct custom_allocators *custom;
};
extern const struct layout object_asked_layout;

void object_put_wants(struct strbuf *request, const struct object_wants *wants);
/* 0, -EBADMSG or -ENOMEM; `ret_asked` points into itself and into the message. */
int object_get_wants(struct decoder *decoder, struct object_asked *ret_asked);
void object_asked_done(struct object_asked *asked);

/* Facts, and which of the user's functions were found. */
struct object_answer {
	size_t n_functions;
	struct custom_function *functions;
	struct object_facts facts;
};
extern const struct layout object_answer_layout;

/* `wants` are those that were asked: their allocators are told what was found. */
void object_put_facts(struct strbuf *answer, const struct object_facts *facts,
		      const struct object_wants *wants);
/* Of a file of so many bytes. 0, -EBADMSG or -ENOMEM; `ret_facts` is for object_facts_done(). */
int object_get_facts(struct decoder *decoder, uint64_t file_bytes, const struct object_wants *wants,
		     struct object_facts *ret_facts);

/* Of struct cfi_key; and of one const char *, the name of a function. */
extern const struct layout object_key_layout, object_name_layout;

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
extern const struct layout object_ranges_layout;

/* Of a file of so many bytes. 0 or -EBADMSG. */
int object_get_ranges(struct decoder *decoder, uint64_t file_bytes,
		      struct object_ranges *ret_ranges);

struct object_near {
	size_t n;
	const char *names[NEAR_NAMES];
};
extern const struct layout object_near_layout;

void object_put_near(struct strbuf *answer, const struct near_names *near);
/* Offers them, but for those with control characters. 0 or -EBADMSG. */
int object_get_near(struct decoder *decoder, struct near_names *near);

#endif
