/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the text of leak checks goes, and the XML: standard error, a descriptor, a socket, or
 * files, one for each name that the path makes. A file is replaced as a whole each time that
 * something is added.
 */
#ifndef MEMTRACED_SERVICE_LEAK_LEAK_LOG_H
#define MEMTRACED_SERVICE_LEAK_LEAK_LOG_H

#include "base/cleanup.h"
#include "config/options.h"
#include "report/leak/leak_xml.h"

struct leak_log;

/*
 * In the path %p is the process, %q{NAME} a variable of the environment, %n `number`. `option`: by
 * which it was asked for, for messages ("--log"). Borrows both. 0; -EINVAL: a variable is not set,
 * or the descriptor is not open; or what opening such a file gave (all logged).
 */
int leak_log_new(const struct text_target *target, const char *option, unsigned int number,
		 struct leak_log **ret_log);
void leak_log_free(struct leak_log *log); /* NULL is legal */
DEFINE_CLEANUP(struct leak_log, leak_log_free)

/* Lines that are added begin with the time from now on, as with Valgrind's --time-stamp. */
void leak_log_stamp_lines(struct leak_log *log);

/* 0 or -ENOMEM. An empty text makes an empty file. */
int leak_log_add(struct leak_log *log, pid_t pid, const char *text);
/* The same, in place of what is in the process's file. */
int leak_log_replace(struct leak_log *log, pid_t pid, const char *text);
/*
 * Writes what was added. 0 or negative errno (logged). -ETIMEDOUT: who reads it has not done so in
 * 10 s and a second for each 256 KiB; what follows is dropped. So long has a socket's reader, and
 * that of a descriptor after leak_log_stop() or while SIGTERM, SIGINT or SIGHUP waits.
 */
int leak_log_flush(struct leak_log *log);

/* The run is to end: no reader is waited for without end. */
void leak_log_stop(struct leak_log *log);

/* The file of a process, malloc'ed; "" where it is none; NULL: no memory. */
char *leak_log_path(const struct leak_log *log, pid_t pid);
bool leak_log_has_files(const struct leak_log *log);
/* The variables that the path names. */
const struct leak_xml_variable *leak_log_variables(const struct leak_log *log, size_t *ret_n);

#endif
