/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tables behind config/options.h: a row an option, see config/key.h. Parser, help and tests
 * read them; no other file includes this. Adding an option is a row and a field of struct options.
 */
#ifndef MEMTRACED_CONFIG_OPTION_TABLE_H
#define MEMTRACED_CONFIG_OPTION_TABLE_H

#include "config/key.h"
#include "config/options.h"

/* Flags of the rows. */
#define OPTION_FOR_REPORT (1U << 0)   /* has a meaning for `memtraced report` */
#define OPTION_ONCE (1U << 1)	      /* a second one is an error; else the last one holds */
#define OPTION_TARGET (1U << 2)	      /* says what to trace */
#define OPTION_CHILD (1U << 3)	      /* needs a command that memtraced starts */
#define OPTION_ALLOC (1U << 4)	      /* has a meaning only where allocations are traced */
#define OPTION_EVENT (1U << 5)	      /* needs -e */
#define OPTION_MAY (1U << 6)	      /* the value, behind "=", may be left out */
#define OPTION_LEAK (1U << 7)	      /* needs --leak-check */
#define OPTION_FOR_DIFF (1U << 8)     /* has a meaning for `memtraced diff` */
#define OPTION_DIFF (1U << 9)	      /* has one there alone */
#define OPTION_FOR_SERVICE (1U << 10) /* has a meaning for --service */
#define OPTION_MEMORY (1U << 11)      /* has one only where allocations or mappings are traced */
#define OPTION_GROWTH (1U << 12)      /* has one only where these or page faults are traced */
#define OPTION_RECORDED (OPTION_FOR_REPORT | OPTION_FOR_DIFF)

#define OPTION_ROWS 96 /* of a table, at most */

/* Of memtraced itself, of `memtraced ctl`, `memtraced sample` and `memtraced valgrind`. */
extern const struct key_table option_keys, ctl_keys, sample_keys, valgrind_keys;

/* Options of Valgrind, by name without dashes, for which its command line has no row of its own. */
enum valgrind_option {
	VALGRIND_UNKNOWN,
	VALGRIND_SHARED,   /* the row of memtraced's own option of that name holds */
	VALGRIND_UNNEEDED, /* about how Valgrind works: without effect, and none is missed */
	VALGRIND_IGNORED,  /* what it asks for is not there */
};
/* `tools`: a bit for each enum valgrind_tool that has it. */
enum valgrind_option valgrind_option_find(const char *name, size_t len, uint32_t *ret_tools);
struct near_name;
/* Their names, for what is misspelled. */
void valgrind_options_offer(struct near_name *near);
/* Of a row of valgrind_keys. */
uint32_t valgrind_key_tools(const struct key *key);

/* What --help has a page on: rows of a group, rows with a flag, or a table; or the three below. */
struct option_topic {
	const char *name;
	const char *title; /* that of the group */
	unsigned int flags;
	const struct key_table *table;
};
extern const struct option_topic option_topics[]; /* ends with a name of NULL */
#define OPTION_TOPIC_ALL "all"
#define OPTION_TOPIC_FORMATS "formats"
#define OPTION_TOPIC_STATUS "status"

/* What the rows apply, in option_values.c. */
key_fn option_pids, option_command, option_comm, option_env;
key_fn option_hist, option_event, option_cpu, option_off_cpu, option_page_faults, option_overhead;
key_fn option_allocator, option_where, option_format, option_output, option_text_file,
	option_text_socket, option_text_fd;
key_fn option_threshold, option_time_unit, option_for, option_unit, option_unit_action;
key_fn option_help;

/* Is the long option one of Valgrind's, and not ours? Then why it is not, and what to do. */
const char *option_refused(const char *name, size_t len);

#endif
