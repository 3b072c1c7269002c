/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What samples of a profile refer to, for formats that have it in tables (pprof, OTLP): strings,
 * functions, mappings and locations. Each is numbered when it is first named, in sequence, and
 * handed to the format, which writes its row at once. Numbers of strings begin with 0, which has to
 * be ""; others with 1. Errors stick.
 */
#ifndef MEMTRACED_REPORT_PROFILE_TABLES_H
#define MEMTRACED_REPORT_PROFILE_TABLES_H

#include "base/interns.h"
#include "report/samples.h"

struct profile_function {
	uint64_t name, linkage, file; /* strings; 0: not known */
};

/* What tells mappings apart: processes share those that a fork has handed on. */
struct profile_mapping {
	uint64_t start, end, file_offset;
	const struct model_object *object;
};

/* What is known of a mapping's code. */
struct profile_known {
	bool functions, files, lines, inlines;
};

struct profile_line {
	uint64_t function;
	uint32_t line;
};

struct profile_location {
	uint64_t addr, mapping; /* 0: not known. Of a call its last byte: readers look it up so */
	bool is_kernel;
	const struct profile_line *lines; /* the innermost inlined function first */
	size_t n_lines;
};

/* Called once for each row, with its number. */
struct profile_rows {
	void (*put_string)(void *userdata, const char *string);
	void (*put_function)(void *userdata, uint64_t number,
			     const struct profile_function *function);
	/* NULL: at the end, profile_tables_mapping tells all. */
	void (*put_mapping)(void *userdata, const struct profile_mapping *mapping);
	/* 0 or -ENOMEM. */
	int (*put_location)(void *userdata, uint64_t number,
			    const struct profile_location *location);
};

/* Zero-initialised is empty, but for what the format gives. */
struct profile_tables {
	const struct profile_rows *rows;
	void *userdata;
	int error; /* sticks: -ENOMEM, else 0 */
	struct interns strings, functions, mappings, locations;
	VEC(struct profile_known) known; /* of the mappings */
	struct sample_frames frames;	 /* of the stack at hand */
	VEC(uint64_t) numbers;		 /* of its locations */
	VEC(struct profile_line) lines;	 /* of the location at hand */
};

void profile_tables_done(struct profile_tables *tables);

/* The number of a string, made safe for terminals. */
uint64_t profile_tables_string(struct profile_tables *tables, const char *s);

/* The number of a mapping. */
uint64_t profile_tables_add_mapping(struct profile_tables *tables, const struct mapping *mapping);

/*
 * The locations of a stack, innermost first: valid until the next one. Frames of one place are one
 * location, the inlined ones among them; a mark stands alone. `unknown`: the mark of a stack
 * without frames, or NULL. 0 or -ENOMEM.
 */
int profile_tables_stack(struct profile_tables *tables, const struct view_stack *stack,
			 const char *unknown, uint64_t **ret_numbers, size_t *ret_n);

/* The mapping of that number, from 1 on; NULL: there are no more. */
const struct profile_mapping *profile_tables_mapping(const struct profile_tables *tables,
						     uint64_t number,
						     struct profile_known *ret_known);

#endif
