/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `memtraced report FILE`: the reports of a recorded run.
 */
#ifndef MEMTRACED_SERVICE_REPLAY_H
#define MEMTRACED_SERVICE_REPLAY_H

struct options;

/* 0; -EINVAL: usage; -EPIPE: stdout is closed; other negative errno. What is wrong was logged. */
int replay_report(const struct options *options);

#endif
