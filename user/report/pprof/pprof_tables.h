/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What samples of a pprof profile refer to: strings, functions, mappings and locations. Each is
 * numbered when it is first named, in sequence, as Parca asks, and written at once; mappings at the
 * end, when it is known what is known of their code. Used by pprof.c alone.
 */
#ifndef MEMTRACED_REPORT_PPROF_PPROF_TABLES_H
#define MEMTRACED_REPORT_PPROF_PPROF_TABLES_H

#include "report/samples.h"

#include "pprof.pb-c.h"

struct gzip_out;
struct pprof_tables;

/* The output is borrowed. 0 or -ENOMEM. */
int pprof_tables_new(struct gzip_out *out, struct pprof_tables **ret_tables);
/* NULL is legal. */
void pprof_tables_free(struct pprof_tables *tables);
DEFINE_CLEANUP(struct pprof_tables, pprof_tables_free)

/*
 * Writes a part of the profile. Parts that follow each other are one message: what is repeated is
 * appended (protobuf's encoding says so).
 */
void pprof_tables_put(struct pprof_tables *tables, const Pprof__Profile *part);

/* The number of a string, made safe for terminals. An error sticks: pprof_tables_end gives it. */
int64_t pprof_tables_string(struct pprof_tables *tables, const char *s);

/* The first mapping is that of the main program; NULL: it is not known. 0 or -ENOMEM. */
int pprof_tables_main(struct pprof_tables *tables, const struct mapping *mapping);

/*
 * The location of a place: `frames` are its n lines, the innermost inlined function first; or of a
 * mark, which stands alone. 0 or -ENOMEM.
 */
int pprof_tables_location(struct pprof_tables *tables, const struct sample_frame *frames, size_t n,
			  uint64_t *ret_id);

/* Writes the mappings. 0 or -ENOMEM. */
int pprof_tables_end(struct pprof_tables *tables);

#endif
