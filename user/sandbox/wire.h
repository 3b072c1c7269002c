/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers and strings of messages between the daemon and the process that parses for it: of this
 * machine's byte order, unaligned. A reader never reads beyond its end, and trusts nothing: what is
 * wrong makes it `bad`, from when on all it gives is 0 or NULL.
 */
#ifndef MEMTRACED_SANDBOX_WIRE_H
#define MEMTRACED_SANDBOX_WIRE_H

#include "base/strbuf.h"

#include <stdbool.h>
#include <stdint.h>

struct wire_reader {
	const char *at, *end;
	bool bad;
};

static inline struct wire_reader wire_read(const struct strbuf *message)
{
	const char *text = strbuf_str(message);

	return (struct wire_reader){ text, text + message->len, false };
}

uint8_t wire_get_u8(struct wire_reader *reader);
uint16_t wire_get_u16(struct wire_reader *reader);
uint32_t wire_get_u32(struct wire_reader *reader);
uint64_t wire_get_u64(struct wire_reader *reader);
/* 0 or 1, all else is bad. */
bool wire_get_bool(struct wire_reader *reader);
/* `len` bytes of the message; NULL when it has fewer. */
const char *wire_get_bytes(struct wire_reader *reader, size_t len);
/* A string of the message, or NULL where there was none; without a NUL inside. */
const char *wire_get_string(struct wire_reader *reader, size_t max_len);
/* How many elements follow, of at least `least_bytes` each: no more than can be there. */
uint32_t wire_get_count(struct wire_reader *reader, size_t least_bytes);
/* Nothing was wrong, and nothing is left. */
bool wire_is_read(const struct wire_reader *reader);

/* Errors stay in the string buffer. */
void wire_put_u8(struct strbuf *message, uint8_t value);
void wire_put_u16(struct strbuf *message, uint16_t value);
void wire_put_u32(struct strbuf *message, uint32_t value);
void wire_put_u64(struct strbuf *message, uint64_t value);
/* NULL stays NULL. */
void wire_put_string(struct strbuf *message, const char *text);

#endif
