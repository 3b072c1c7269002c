/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the fields of a tracepoint's record are, read from the text of tracefs's
 * events/CATEGORY/NAME/format. Pure functions over a buffer.
 *
 * System calls have traps, which are taken care of here: each argument of sys_enter_* stands in a
 * slot of 8 bytes that is declared unsigned whatever the argument's type, and of an int only the
 * low 4 bytes of the slot mean something, as a caller may leave rubbish above them.
 */
#ifndef MEMTRACED_TRACE_KERNEL_TRACEPOINT_FORMAT_H
#define MEMTRACED_TRACE_KERNEL_TRACEPOINT_FORMAT_H

#include "base/strbuf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tp_field_kind {
	TP_FIELD_INT,	  /* 1, 2, 4 or 8 bytes; pointers too */
	TP_FIELD_STRING,  /* char[N] in place */
	TP_FIELD_DYNAMIC, /* __data_loc, __rel_loc: 4 bytes, length << 16 | offset */
	TP_FIELD_ARRAY,	  /* of anything else, or a structure */
};

struct tp_field {
	char *name;
	uint32_t offset, size; /* bytes in the record; size 0: what follows up to its end */
	uint32_t value_size;   /* <= size: of an INT, the low bytes that are the value */
	bool is_signed;	       /* of an INT: to be extended with the sign of these bytes */
	bool is_pointer;
	bool is_common; /* in the head that all tracepoints have */
	enum tp_field_kind kind;
};

struct tp_format {
	char *name;
	uint32_t id;
	struct tp_field *fields; /* in the text's order */
	size_t n_fields;
};

/* 0 with *ret_format filled, to be released with tp_format_done; -EBADMSG or -ENOMEM. */
int tp_format_parse(const char *text, size_t len, struct tp_format *ret_format);
void tp_format_done(struct tp_format *format);

/* NULL: no such field. */
const struct tp_field *tp_format_find(const struct tp_format *format, const char *name);

/* Adds the names of the tracepoint's own fields of this kind: "prev_pid, prev_prio". */
void tp_format_list(const struct tp_format *format, enum tp_field_kind kind, struct strbuf *out);

#endif
