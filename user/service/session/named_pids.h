/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * -p NAME: the process that is meant.
 */
#ifndef MEMTRACED_SERVICE_SESSION_NAMED_PIDS_H
#define MEMTRACED_SERVICE_SESSION_NAMED_PIDS_H

#include "config/options.h"

/*
 * Adds the process of each name to the options' pids: one whose name or executable's file has that
 * name. Of several it is the one from which the others descend, as those are traced with it. A
 * zombie or kernel thread is meant where nothing else has the name: what is to trace it says so. 0,
 * -ESRCH (none, or several: logged, with what there is) or another negative errno (logged).
 */
int named_pids_find(struct options *options);

#endif
