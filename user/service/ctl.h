/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `memtraced ctl`: asks a running service over its Unix socket and prints what it says.
 */
#ifndef MEMTRACED_SERVICE_CTL_H
#define MEMTRACED_SERVICE_CTL_H

#include "config/options.h"

/* 0; -EPIPE: stdout is closed; or negative errno: there is no service, or it refused (logged). */
int ctl_run(const struct ctl_options *options);

#endif
