/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What of root's rights the service keeps, however it is started: those that its unit gives
 * (systemd/memtraced.service.in).
 */
#ifndef MEMTRACED_SERVICE_DAEMON_PRIVILEGES_H
#define MEMTRACED_SERVICE_DAEMON_PRIVILEGES_H

struct strbuf;

/*
 * Gives up all others, for good, of the calling process, which has one thread. Where the kernel
 * does not know all that are kept (before Linux 5.9) everything stays. 0 or negative errno.
 */
int privileges_drop(void);

/* Names of the effective ones, with blanks between them: "chown sys_ptrace ...". */
void privileges_list(struct strbuf *out);

#endif
