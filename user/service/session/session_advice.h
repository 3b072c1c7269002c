/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a session says on standard error of that which it did not see, and what helps: programs that
 * cannot be traced, or of which less is seen than of C; functions that were not found; nothing at
 * all.
 */
#ifndef MEMTRACED_SERVICE_SESSION_ADVICE_H
#define MEMTRACED_SERVICE_SESSION_ADVICE_H

#include <sys/types.h>

struct process_info;
struct session;

/* Of a kernel thread or a 32-bit program: -EOPNOTSUPP. */
int session_refuse_kind(const struct process_info *info);

/* Of a process that was refused as no allocator was found in it. */
void session_log_no_allocator(const struct session *s, const struct process_info *info);

/* What helps with a process of -p that is traced; nothing of plain programs. */
void session_log_programs(const struct session *s, pid_t pid);

/* Before the final report: what was looked for and not found. */
void session_log_missing(const struct session *s);

/* After it: of what nothing was seen. */
void session_log_unseen(const struct session *s);

#endif
