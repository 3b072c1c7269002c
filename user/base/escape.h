/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text that others chose (names of processes, files, functions, cgroups; messages; command lines)
 * made safe for terminals, logs and text formats, by code point. An unsafe character becomes
 * \u{9b}, an ASCII control \x1b, and a byte that is no UTF-8 \xff. A backslash stays as it is: the
 * result is to be read by people, not to be decoded (JSON has the characters themselves). Pure.
 */
#ifndef MEMTRACED_BASE_ESCAPE_H
#define MEMTRACED_BASE_ESCAPE_H

#include "base/strbuf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Bytes of the UTF-8 character at `s`, of which `len` are there; 0: it is none (overlong forms,
 * surrogates and what is beyond Unicode are none; RFC 3629) or `len` is 0.
 */
size_t escape_decode(const char *s, size_t len, uint32_t *ret_code);

/*
 * Controls (C0, DEL, C1), separators of lines and paragraphs, all that changes the direction of
 * text or is not visible (Unicode's Default_Ignorable_Code_Point, annotations, tags), surrogates,
 * noncharacters and what is beyond Unicode.
 */
bool escape_is_unsafe(uint32_t code);

/* `layout`: ASCII controls that stay, as "\n\t" of text that has lines; "" otherwise. */
void escape_bytes(struct strbuf *out, const char *s, size_t len, const char *layout);
/* escape_bytes of a string, without layout. */
void escape_text(struct strbuf *out, const char *s);

/* A value of a query in a URL: what is not unreserved (RFC 3986) is escaped. */
void escape_query(struct strbuf *out, const char *s);

/* Valid UTF-8 in which controls stay: only bytes that are none are escaped. */
void escape_invalid(struct strbuf *out, const char *s);

#endif
