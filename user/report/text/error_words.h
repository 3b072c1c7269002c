/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a wrong use of the heap is called, and what is said of the address that was passed: in
 * memcheck's words, which its users know, where it has some; and the same of a fault that ends a
 * process. For the table, JSON and the leak check. Pure.
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

/* "SIGSEGV"; NULL: another than those of faults. */
const char *fault_signal_name(int signal);

/* "Process terminating with default action of signal 11 (SIGSEGV)" */
void fault_words_title(struct strbuf *out, const struct record_fault *fault);

/* "Access not within mapped region at address 0x..."; nothing where it is not known. */
void fault_words_cause(struct strbuf *out, const struct record_fault *fault);

/*
 * "Address 0x... is 16 bytes inside a block of size 64 alloc'd", or before, or after; nothing where
 * the signal is about no address.
 */
void fault_words_address(struct strbuf *out, const struct record_fault *fault);

/* Where the address is: 0: in the block, at *ret_offset; < 0: so far before it; > 0: behind it. */
int fault_side(const struct record_fault *fault, uint64_t *ret_offset);

#endif
