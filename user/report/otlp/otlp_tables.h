/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The dictionary of an OTLP request: what samples refer to (profile_tables.h), stacks and
 * attributes, each numbered when it is first named and packed at once. Used by otlp.c alone.
 */
#ifndef MEMTRACED_REPORT_OTLP_OTLP_TABLES_H
#define MEMTRACED_REPORT_OTLP_OTLP_TABLES_H

#include "report/profile_tables.h"

#include "otlp.pb-c.h"

struct otlp_tables {
	struct strbuf dictionary;
	int error; /* sticks */
	struct profile_tables rows;
	struct interns attributes, stacks;
	VEC(int32_t) places;   /* of the stack at hand */
	VEC(Otlp__Line) lines; /* of the location at hand */
	VEC(Otlp__Line *) line_pointers;
};

/* Tables that were begun stay where they are, and have to be released. */
void otlp_tables_begin(struct otlp_tables *tables);
void otlp_tables_done(struct otlp_tables *tables);

/* Appends a message's bytes; a failure sticks to the output. */
void otlp_pack(const ProtobufCMessage *message, struct strbuf *out);

/* Numbers; an error sticks: otlp_tables_end gives it. Strings are made safe for terminals. */
int32_t otlp_tables_string(struct otlp_tables *tables, const char *s);
int32_t otlp_tables_attribute(struct otlp_tables *tables, const char *key, const char *value);
int32_t otlp_tables_stack(struct otlp_tables *tables, const struct view_stack *stack);

/* The packed Dictionary, the tables'. 0 or -ENOMEM. */
int otlp_tables_end(const struct otlp_tables *tables, const struct strbuf **ret_dictionary);

#endif
