/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines of memcheck's text, each with "==PID== " before it, and stacks as it prints them: for what
 * writes the parts of that text.
 */
#ifndef MEMTRACED_REPORT_LEAK_LEAK_LINES_H
#define MEMTRACED_REPORT_LEAK_LEAK_LINES_H

#include "base/strbuf.h"
#include "report/leak/leak_stacks.h"

#include <sys/types.h>

/* How a line begins. */
void leak_line(struct strbuf *out, pid_t pid);

/* A whole line. */
void leak_say(struct strbuf *out, pid_t pid, const char *text);

/* "   at 0x...: malloc (malloc.c:3281)" and so on, up to main. */
void leak_stack_lines(struct strbuf *out, pid_t pid, const struct leak_stack *stack);

#endif
