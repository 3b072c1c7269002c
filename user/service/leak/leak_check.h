/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The leak checks of a session: stops processes, takes their blocks, scans, lets them go; keeps
 * what was found for reports, and writes it as text (service/leak/leak_log.h). One thread; what
 * stops under a hold may be called from its callbacks.
 */
#ifndef MEMTRACED_SERVICE_LEAK_LEAK_CHECK_H
#define MEMTRACED_SERVICE_LEAK_LEAK_CHECK_H

#include "base/cleanup.h"
#include "config/options.h"
#include "report/leak/leak_result.h"
#include "report/view/symbols.h"

struct hold;
struct leak_check;
struct live;
struct worker;

/* Hands over what the programs have seen (service/session/session.c). 0 or negative errno. */
typedef int (*leak_drain_fn)(void *userdata);

/*
 * Reads suppressions, looks whether the text can be written. All is borrowed. Records of what was
 * found and written go to `record`, in reports. 0; -EINVAL: a file of
 * suppressions is not right; or another negative errno. What is wrong was logged.
 */
int leak_check_new(const struct options *options, const struct model *model,
		   struct symbols *symbols, struct worker *worker, record_fn record, void *userdata,
		   struct leak_check **ret_check);
void leak_check_free(struct leak_check *check); /* NULL is legal */
DEFINE_CLEANUP(struct leak_check, leak_check_free)

/* The run is to end: leak_log_stop(). */
void leak_check_stop(struct leak_check *check);

/* The command is about to start: what stands before all else is written. 0 or errno (logged). */
int leak_check_begin(struct leak_check *check, pid_t pid);

/* A process has begun a thread: HOLD_THREAD of target/hold/hold.h. 0 or -ENOMEM. */
int leak_check_thread(struct leak_check *check, pid_t pid, pid_t tid, uint32_t number);

/* What is checked, and why now. */
struct leak_moment {
	enum leak_occasion occasion;
	enum leak_request request; /* of LEAK_AT_FUNCTION */
	const pid_t *pids;
	size_t n_pids;
	pid_t caller; /* the thread that has called the function of the occasion; 0: none */
};

/*
 * Checks processes at one moment; the next cut is of it, unless they are about to end. `hold`: what
 * has seized some of them, NULL: nothing. What cannot be checked is said, what has ended is not. 0,
 * or what drain returned, or -ENOMEM.
 */
int leak_check_run(struct leak_check *check, struct live *live, struct hold *hold,
		   const struct leak_moment *moment, leak_drain_fn drain, void *userdata);

/*
 * What was found by the latest cut is named and written as text; `final`: with what all comes
 * to. 0 or negative errno (logged).
 */
int leak_check_report(struct leak_check *check, bool final);

/*
 * Are there so many blocks, or results, that they should not wait for the next report? A target
 * may ask for any number of checks.
 */
bool leak_check_is_full(const struct leak_check *check);
/* Frees the blocks of checks so far, of which the results stay. 0 or negative errno. */
int leak_check_settle(struct leak_check *check);

/* After each cut, as its totals belong to checks that began it. */
void leak_check_cut_taken(struct leak_check *check);

/* The latest result of each image is the last one. Valid until the next report. */
struct leak_result *const *leak_check_results(const struct leak_check *check, size_t *ret_n);

/* The sums of the image's latest check, after a cut; without one, all are 0. 0 or -ENOMEM. */
int leak_check_totals(struct leak_check *check, image_t image, struct loss_totals *ret_totals);

/*
 * After the final report: were there errors (leaks of the kinds that are errors, wrong uses of the
 * heap), and was a process with something in use never checked?
 */
bool leak_check_has_errors(const struct leak_check *check);
bool leak_check_has_missed(const struct leak_check *check);

#endif
