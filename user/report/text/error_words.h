/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a wrong use of the heap is called, and what is said of the address that was passed: in
 * memcheck's words, which its users know, where it has some. For the table and for the leak check.
 */
#ifndef MEMTRACED_REPORT_TEXT_ERROR_WORDS_H
#define MEMTRACED_REPORT_TEXT_ERROR_WORDS_H

#include "base/strbuf.h"
#include "trace/record/record.h"

/* `function`: that was called; NULL: not known. */
void error_words_title(struct strbuf *out, const struct record_heap_error *error,
		       const char *function);

/* "Address 0x... is 16 bytes inside a block of size 64 alloc'd"; `has_block`: that is known. */
void error_words_address(struct strbuf *out, const struct record_heap_error *error, bool has_block);

/* Is there an address to say something of? Of what is no free only together with its block. */
bool error_words_has_address(const struct record_heap_error *error, bool has_block);

#endif
