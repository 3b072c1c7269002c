/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `memtraced --service`: runs until SIGTERM or SIGINT, reads its configuration anew at SIGHUP.
 * Traces on demand, over HTTP; what is traced is not touched by its end, whatever ends it.
 */
#ifndef MEMTRACED_SERVICE_DAEMON_SERVICE_H
#define MEMTRACED_SERVICE_DAEMON_SERVICE_H

/*
 * `config_path`: NULL: the usual place. The worker serves file_server's requests. 0 after a
 * signal; -EINVAL: the configuration is wrong; other negative errno. All were logged.
 */
struct worker;
int service_run(const char *config_path, struct worker *worker);

#endif
