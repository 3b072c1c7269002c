/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Post-mortems: of a process that was killed while it was traced a report stays, with what it held
 * then, in the state directory (reports/reports.h), and an entry in the journal sums it up. Of
 * others it has where they took memory, as far as that was sampled (daemon/growth).
 */
#ifndef MEMTRACED_SERVICE_DAEMON_REPORTS_POST_MORTEM_H
#define MEMTRACED_SERVICE_DAEMON_REPORTS_POST_MORTEM_H

#include "model/image.h"
#include "service/daemon/reports/killed.h"
#include "service/daemon/service_state.h"

/*
 * Is an end of this kind one that needs an explanation: SIGKILL, or what signal(7) says dumps core
 * but SIGQUIT, by which somebody at a terminal ends a program? Pure.
 */
bool post_mortem_is_due(const struct record_process_end *end);

/*
 * Whose the report is: who had the process traced, if it was his own to the end, else root's alone.
 * Pure.
 */
uid_t post_mortem_owner(const struct model_process *image, uid_t asked);

/*
 * "process 42 (redis) was killed by signal 9: ...; it held ...": a line without what is not known.
 * Pure. `growth`: what else is known, NULL: nothing. `report`: its name, NULL: there is none, for
 * `error`, negative errno.
 */
void post_mortem_words(const struct view_process *process, const char *growth, const char *report,
		       int error, struct strbuf *out);

/* A killed_fn of traces, whose `userdata` is the service. */
struct session_job *post_mortem_of_trace(const struct killed *killed, void *userdata);

/*
 * A killed_fn of growth depth, with the same: of a process of which no trace has told. There are
 * not many of them (killed.h).
 */
struct session_job *post_mortem_of_growth(const struct killed *killed, void *userdata);

#endif
