/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The outputs of a session: which formats go where and when, from the options. Formats that are
 * events rather than states (perf-script, folded, gprof2dot) go to stdout once, at the end.
 */
#ifndef MEMTRACED_SERVICE_OUTPUT_OUTPUTS_H
#define MEMTRACED_SERVICE_OUTPUT_OUTPUTS_H

#include "base/cleanup.h"
#include "config/options.h"
#include "model/model.h"

#include <stdbool.h>

struct leak_check;
struct outputs;
struct stdout_queue;
struct strbuf;
struct view;
struct worker;

/*
 * Checks formats and paths now, so that a long run does not end in an error. 0; -EINVAL for an
 * unknown format, or what opening an output gave (logged). The arguments are borrowed. open_files:
 * the files of this host are those of the run, and the worker, which is then there, reads them.
 */
int outputs_new(const struct options *options, const struct model *model, bool open_files,
		struct worker *worker, struct outputs **ret_outputs);
void outputs_free(struct outputs *outputs); /* NULL is legal */
DEFINE_CLEANUP(struct outputs, outputs_free)

/*
 * The targets are known: `pid` is what %p in paths stands for; a recording begins. To be called
 * before the first record. 0 or negative errno (logged).
 */
int outputs_begin(struct outputs *outputs, pid_t pid);

/*
 * To be shown every record, after the model: recordings, files to open for symbols, and events that
 * are written as they happen. 0 or negative errno.
 */
int outputs_add_record(struct outputs *outputs, const struct record *record);

/*
 * After a number of records: what was written reaches stdout, symbols not used for long are
 * forgotten. 0 or negative errno (-EPIPE too).
 */
int outputs_flush(struct outputs *outputs);

/* After a cut: the recording can be read up to here from now on. 0 or -ENOMEM. */
int outputs_checkpoint(struct outputs *outputs);
/* What the recording has, in bytes; 0 without one. */
uint64_t outputs_recorded(const struct outputs *outputs);
/* From time to time: what was recorded reaches the file. 0 or -ENOMEM. */
int outputs_tick(struct outputs *outputs, uint64_t now_ns);

/* Reports show what it has found. Borrowed. */
void outputs_show_leaks(struct outputs *outputs, const struct leak_check *check);

struct symbols;
struct symbols *outputs_symbols(struct outputs *outputs);

/*
 * Reports that are not final go to standard output by this queue, one at a time: while one waits
 * for its reader the next ones are left out, and their number is logged with the final report.
 * Without a queue each waits for its reader. Borrowed.
 */
void outputs_queue_stdout(struct outputs *outputs, struct stdout_queue *queue);

/* Does a report for machines go to stdout, so that nothing else may? */
bool outputs_own_stdout(const struct outputs *outputs);

/* Is a terminal shown the table, to be refreshed? */
bool outputs_live_view(const struct outputs *outputs);

/*
 * A full-screen view has the terminal: until it is given back only what goes to files is written,
 * but for a final report.
 */
void outputs_lend_terminal(struct outputs *outputs, bool lent);

/*
 * Makes a view of everything from the model's latest cut and shows it to fn, which gives what is
 * returned; regions mapped from mark_ns on are young. Or -ENOMEM.
 */
int outputs_show(struct outputs *outputs, uint64_t mark_ns,
		 int (*fn)(const struct view *view, void *userdata), void *userdata);

/* The same with all of report_opts. */
struct report_opts;
int outputs_show_as(struct outputs *outputs, const struct report_opts *opts,
		    int (*fn)(const struct view *view, void *userdata), void *userdata);

/*
 * Writes one report more, `spec` is FORMAT:PATH, from the model's latest cut. *message says in one
 * line what came of it. 0 or negative errno.
 */
int outputs_save(struct outputs *outputs, const char *spec, struct strbuf *message);

/*
 * Writes all outputs from the model's latest cut. 0; -EPIPE: stdout is closed (not logged), the
 * others are written; other negative errno (logged).
 */
int outputs_write(struct outputs *outputs, bool final);

#endif
