/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What became of profiles that are pushed, for /metrics.
 */
#ifndef MEMTRACED_SERVICE_DAEMON_PUSH_PUSH_METRICS_H
#define MEMTRACED_SERVICE_DAEMON_PUSH_PUSH_METRICS_H

#include "report/metrics_out.h"
#include "service/daemon/push/push.h"

/* An error stays with the output. */
void push_metrics_put(const struct push *push, struct metrics_out *out);

#endif
