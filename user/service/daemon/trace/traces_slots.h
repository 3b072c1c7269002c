/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which trace may begin, and which ends for it: slots.h applied to those that run.
 */
#ifndef MEMTRACED_SERVICE_DAEMON_TRACE_TRACES_SLOTS_H
#define MEMTRACED_SERVICE_DAEMON_TRACE_TRACES_SLOTS_H

#include "service/daemon/trace/trace_ask.h"

struct traces;

/*
 * 0: there is a slot, for which another trace may have been ended; those who wait for that one are
 * answered with what there is by then. -EBUSY: there is none. -ENOMEM.
 */
int traces_take_slot(struct traces *traces, const struct trace_ask *ask);

#endif
