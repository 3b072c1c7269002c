/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The errors of a run as Valgrind's XML, protocol 4 or 5 (docs/internals/xml-output-protocol4.txt
 * and 5 of its sources), in parts: the head with the state RUNNING, errors, the state FINISHED,
 * more errors, counts and the end. Characters that XML 1.0 forbids are escaped as in all texts.
 * Pure.
 */
#ifndef MEMTRACED_REPORT_LEAK_LEAK_XML_H
#define MEMTRACED_REPORT_LEAK_LEAK_XML_H

#include "report/leak/leak_text.h"

/* A variable of the environment that the path of the XML's file names. */
struct leak_xml_variable {
	const char *name, *value;
};

struct leak_xml_head {
	pid_t pid, ppid;
	const struct leak_xml_variable *variables;
	size_t n_variables;
	const char *program;	/* memtraced, as it was started, */
	char *const *own_words; /* its options, NULL-terminated, */
	char *const *command;	/* and the program with its arguments, NULL-terminated */
};

void leak_xml_begin(struct strbuf *out, const struct leak_xml_head *head,
		    const struct xml_options *options);
void leak_xml_finished(struct strbuf *out, uint64_t elapsed_ns);
/* "00:00:00:01.500 ", days first: as Valgrind writes times, also in texts. */
void leak_xml_elapsed(struct strbuf *out, uint64_t elapsed_ns);
/* `counts`: of the errors by their numbers, from 0; 0: not counted. */
void leak_xml_end(struct strbuf *out, const uint64_t *counts, size_t n,
		  const struct suppressions *used);

/* An error: its number, and of which process; where it is not the head's, that is said. */
struct leak_xml_id {
	uint64_t unique;
	const struct model_process *image;
	bool is_other;
};

void leak_xml_error(struct strbuf *out, const struct leak_xml_id *id,
		    const struct leak_error *error, bool certain,
		    const struct leak_options *options);
void leak_xml_record(struct strbuf *out, const struct leak_xml_id *id,
		     const struct loss_records *list, size_t index,
		     const struct leak_stacks *stacks, const struct leak_options *options);
/* It has no number, and no room for the process. */
void leak_xml_fault(struct strbuf *out, const struct leak_fault *fault,
		    const struct leak_options *options);

#endif
