/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a leak check of one process has found, as reports show it: loss records, sums, the places
 * that blocks are from, and how much of the process was seen. Holds nothing of the scan, the model
 * or the symbols. Filled once; afterwards only read.
 */
#ifndef MEMTRACED_REPORT_LEAK_LEAK_RESULT_H
#define MEMTRACED_REPORT_LEAK_LEAK_RESULT_H

#include "analyze/leak_scan.h"
#include "analyze/loss_records.h"
#include "config/leak_request.h"
#include "config/options.h"
#include "report/leak/leak_stacks.h"
#include "trace/record/record.h"

enum leak_occasion {
	LEAK_AT_EXIT,	  /* the process ends, its exit handlers have run */
	LEAK_AT_EXEC,	  /* it is about to execute a new image */
	LEAK_AT_FUNCTION, /* a function was called that the user has named */
	LEAK_ASKED,	  /* by SIGUSR1, or an interval is over */
	LEAK_AT_END,	  /* of the trace; the process runs on */
};

struct leak_result {
	struct leak_seen seen;
	enum leak_occasion occasion;
	bool asked;    /* LEAK_AT_FUNCTION: by a function of memtraced.h */
	size_t number; /* of the process's checks, from 1 */
	size_t n_places;
	struct leak_place *places; /* as loss records name their stacks */
	uint8_t *classes;	   /* the worst of each place's blocks */
	struct loss_records *records;
	uint64_t blocks, bytes; /* in use, what is suppressed included */
	uint64_t freed_blocks;	/* in none of the sums: leak_result_free_libraries() */
	bool has_totals;	/* else those of the image, which has ended, hold */
	struct record_totals totals;
	bool judged;  /* it is known what is suppressed */
	bool written; /* as text; then, of it and of the checks before it: */
	uint64_t errors, suppressed_errors;
};

/* Makes the options those of a check that a program asks for. */
void leak_options_ask(struct leak_options *options, enum leak_request request);

/* 0, or -ENOMEM. `earlier`: the check before of the same process, NULL: none. */
int leak_result_new(const struct leak_scan *scan, const struct view_resolver *resolver,
		    const struct leak_options *options, const struct leak_result *earlier,
		    struct leak_result **ret_result);
void leak_result_free(struct leak_result *result); /* NULL is legal */
DEFINE_CLEANUP(struct leak_result, leak_result_free)

/* Sets which records are suppressed, and counts that, as loss_records_suppress(). 0 or -ENOMEM. */
int leak_result_suppress(struct leak_result *result, const struct leak_stacks *stacks,
			 struct suppressions *suppressions, bool default_first);

/*
 * Takes what the default suppressions have left out, which are those from `first_default` on, and
 * what glibc keeps of threads for freed, as memcheck has it. Once, after leak_result_suppress().
 */
void leak_result_free_libraries(struct leak_result *result, size_t first_default);

/* The image's, as of the check: NULL when they are not known. */
const struct record_totals *leak_result_totals(const struct leak_result *result,
					       const struct model_process *image);

/*
 * Results as records, so that reports of a recording show what those of the run do: sums, and what
 * became of each place's blocks. Loss records are left out: their text is recorded.
 */

/* Hands it over as a RECORD_LEAKS, after its text was written. 0, -ENOMEM, or what fn returned. */
int leak_record_emit(const struct leak_result *result, record_fn fn, void *userdata);

/* 0 or -ENOMEM; what the record has no name for is left out. */
int leak_record_read(const struct record_leaks *record, struct leak_result **ret_result);

#endif
