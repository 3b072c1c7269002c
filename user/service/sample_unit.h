/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `memtraced sample --unit`: the drop-in by which systemd preloads the sampling library into a
 * service from its next start on. Nothing is restarted here, and nothing that runs is touched.
 */
#ifndef MEMTRACED_SERVICE_SAMPLE_UNIT_H
#define MEMTRACED_SERVICE_SAMPLE_UNIT_H

#include "base/strbuf.h"
#include "config/options.h"

/* The text of the drop-in. -EINVAL: the library's path cannot stand there. */
int sample_unit_text(const char *library, uint64_t interval, struct strbuf *out);

/* Writes, prints or removes it and says what to do then. 0 or negative errno, which was logged. */
int sample_unit_run(const struct sample_unit_options *options);

#endif
