/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is said of a fault that ends a process, in memcheck's words where it has some. Pure.
 */
#ifndef MEMTRACED_REPORT_TEXT_FAULT_WORDS_H
#define MEMTRACED_REPORT_TEXT_FAULT_WORDS_H

#include "base/strbuf.h"
#include "trace/record/record.h"

/* "SIGSEGV"; NULL: another than those of faults. */
const char *fault_signal_name(int signal);

/* "Process terminating with default action of signal 11 (SIGSEGV)" */
void fault_words_title(struct strbuf *out, const struct record_fault *fault);

/* "Access not within mapped region at address 0x..."; nothing where nobody knows. */
void fault_words_cause(struct strbuf *out, const struct record_fault *fault);

/*
 * "Address 0x... is 16 bytes inside a block of size 64 alloc'd", or before, or after; nothing where
 * the signal is about no address.
 */
void fault_words_address(struct strbuf *out, const struct record_fault *fault);

/* Where the address is: 0: in the block, at *ret_offset; < 0: so far before it; > 0: behind it. */
int fault_side(const struct record_fault *fault, uint64_t *ret_offset);

#endif
