/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What samples of a pprof profile refer to (profile_tables.h), in its encoding: in sequence, as
 * Parca asks, and written at once; mappings at the end, when it is known what is known of their
 * code. Used by pprof.c alone.
 */
#ifndef MEMTRACED_REPORT_PPROF_PPROF_TABLES_H
#define MEMTRACED_REPORT_PPROF_PPROF_TABLES_H

#include "report/profile_tables.h"

#include "pprof.pb-c.h"

struct gzip_out;
struct pprof_tables {
	struct gzip_out *out;
	struct profile_tables rows; /* numbers what is named */
	VEC(Pprof__Line) lines;	    /* of the location at hand */
	VEC(Pprof__Line *) line_pointers;
};

/* The output is borrowed. Tables that were begun stay where they are, and have to be released. */
void pprof_tables_begin(struct pprof_tables *tables, struct gzip_out *out);
void pprof_tables_done(struct pprof_tables *tables);

/*
 * Writes a part of the profile. Parts that follow each other are one message: what is repeated is
 * appended (protobuf's encoding says so).
 */
void pprof_tables_put(struct pprof_tables *tables, const Pprof__Profile *part);

/* Writes the mappings. 0 or -ENOMEM. */
int pprof_tables_end(struct pprof_tables *tables);

#endif
