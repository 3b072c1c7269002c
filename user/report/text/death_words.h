/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What killed a process: one line each, nothing where it is not known. Pure.
 */
#ifndef MEMTRACED_REPORT_TEXT_DEATH_WORDS_H
#define MEMTRACED_REPORT_TEXT_DEATH_WORDS_H

#include "base/strbuf.h"
#include "model/image.h"

/* "killed by the OOM killer: cgroup /a was at its limit of 20.0 MiB", "SIGKILL sent by ..." */
void death_words_killer(struct strbuf *out, const struct model_process *image);

/* "total-vm 31.0 MiB, anon-rss 19.8 MiB, ...; oom_score_adj 0" */
void death_words_memory(struct strbuf *out, const struct model_process *image);

/* "cgroup /a: 20.0 MiB used of 20.0 MiB, at most 20.0 MiB; ..." */
void death_words_cgroup(struct strbuf *out, const struct model_process *image);

#endif
