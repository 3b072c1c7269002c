/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The XML of leak checks: a document for each name that --xml-file makes, of the process that it
 * was begun for; what comes of others is in it, too, and says whose it is. One thread.
 */
#ifndef MEMTRACED_SERVICE_LEAK_LEAK_XML_LOG_H
#define MEMTRACED_SERVICE_LEAK_LEAK_XML_LOG_H

#include "analyze/suppressions.h"
#include "base/cleanup.h"
#include "config/options.h"
#include "report/leak/leak_xml.h"

struct leak_xml_log;

/* All is borrowed. 0, or as leak_log_new(). */
int leak_xml_log_new(const struct options *options, const struct suppressions *suppressions,
		     struct leak_xml_log **ret_log);
void leak_xml_log_free(struct leak_xml_log *log); /* NULL is legal */
DEFINE_CLEANUP(struct leak_xml_log, leak_xml_log_free)

/* The document of a command that is about to start; those of others begin by themselves. */
int leak_xml_log_begin(struct leak_xml_log *log, pid_t pid, char *const *command);

/* A number for one more error of the image, in *ret_id. 0 or -ENOMEM. */
int leak_xml_log_number(struct leak_xml_log *log, const struct model_process *image,
			struct leak_xml_id *ret_id);
/* What was written of the image. 0, -ENOMEM, or what the writers met. */
int leak_xml_log_add(struct leak_xml_log *log, const struct model_process *image,
		     const struct strbuf *text);
/* How often the error has occurred. */
void leak_xml_log_count(struct leak_xml_log *log, pid_t pid, uint64_t unique, uint64_t count);
/* The image has ended, or tracing has: leaks follow. Where it is not the document's, nothing. */
int leak_xml_log_finish(struct leak_xml_log *log, const struct model_process *image);
/* Ends all documents. */
int leak_xml_log_end(struct leak_xml_log *log);
/* As leak_log_stop(). */
void leak_xml_log_stop(struct leak_xml_log *log);
/* Writes what was added. 0 or negative errno (logged). */
int leak_xml_log_flush(struct leak_xml_log *log);

#endif
