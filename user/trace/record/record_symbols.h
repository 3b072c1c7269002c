/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records of what code is called: part of trace/record/record.h.
 */
#ifndef MEMTRACED_TRACE_RECORD_RECORD_SYMBOLS_H
#define MEMTRACED_TRACE_RECORD_RECORD_SYMBOLS_H

#include "trace/record/image.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct record_symbol_frame {
	const char *function; /* demangled; NULL unknown */
	uint64_t offset;      /* from the function's start */
	const char *file;     /* NULL unknown */
	uint32_t line;	      /* 0 unknown */
	bool is_inline;
};

/* A frame's name in the symbol table; NULL: the function's, or unknown. */
struct record_symbol_linkage {
	const char *name;
};

/* A frame's name for suppressions; NULL: the one in the symbol table (symbol/symbol.h). */
struct record_symbol_valgrind {
	const char *name;
	uint32_t seen; /* enum symbol_seen */
};

struct record_symbol {
	const char *object; /* mapping path, with dev and ino the mapping's own */
	uint64_t dev, ino;
	image_t image;	      /* the process whose JIT map it is from; else RECORD_NO_IMAGE */
	uint64_t file_offset; /* as looked up; for a JIT map the address */
	bool is_call;	      /* it was looked up as a return address */
	uint64_t vaddr;	      /* file_offset as the object's own ELF address */
	size_t n_frames;      /* innermost inlined function first, the physical one last */
	const struct record_symbol_frame *frames;
	size_t n_linkages; /* none, or one a frame */
	const struct record_symbol_linkage *linkages;
	/* The allocator function that is called there, demangled and not; NULL: unknown. */
	const char *callee, *callee_linkage;
	size_t n_valgrind; /* none, or one a frame */
	const struct record_symbol_valgrind *valgrind;
};

struct record_symbols_unread {
	uint64_t count; /* places and debug files so far; the last record holds */
};

struct record_jit_line {
	uint64_t offset; /* from the code's start; holds up to the next line's */
	uint32_t line;
	const char *file; /* NULL unknown */
};

struct record_jit_code {
	image_t image;
	uint64_t start, size_bytes;
	uint64_t since_ns;  /* it is newer than what was there; 0: from when is not known */
	const char *name;   /* as the run-time calls it */
	const char *source; /* where it says so: "/tmp/perf-7.map" in the process; may be NULL */
	size_t n_lines;	    /* ascending by offset */
	const struct record_jit_line *lines;
	const char *function; /* the name demangled; NULL: not known, as in recordings */
};

#endif
