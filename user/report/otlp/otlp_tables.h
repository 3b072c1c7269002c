/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The dictionary of an OTLP request: what samples refer to (profile_tables.h), stacks and
 * attributes, each numbered when it is first named and packed at once. Used by otlp.c alone.
 */
#ifndef MEMTRACED_REPORT_OTLP_OTLP_TABLES_H
#define MEMTRACED_REPORT_OTLP_OTLP_TABLES_H

#include "base/cleanup.h"
#include "report/profile_tables.h"

#include "otlp.pb-c.h"

struct otlp_tables;

/* 0 or -ENOMEM. */
int otlp_tables_new(struct otlp_tables **ret_tables);
void otlp_tables_free(struct otlp_tables *tables); /* NULL is legal */
DEFINE_CLEANUP(struct otlp_tables, otlp_tables_free)

/* Appends a message's bytes; a failure sticks to the output. */
void otlp_pack(const ProtobufCMessage *message, struct strbuf *out);

/* Numbers; an error sticks: otlp_tables_end gives it. Strings are made safe for terminals. */
int32_t otlp_tables_string(struct otlp_tables *tables, const char *s);
int32_t otlp_tables_attribute(struct otlp_tables *tables, const char *key, const char *value);
int32_t otlp_tables_stack(struct otlp_tables *tables, const struct view_stack *stack);

/* The packed Dictionary, the tables'. 0 or -ENOMEM. */
int otlp_tables_end(const struct otlp_tables *tables, const struct strbuf **ret_dictionary);

#endif
