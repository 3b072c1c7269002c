/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * JSON values for writers, by json-c. Errors stick to the output, so that a writer looks at its
 * end: once there was no memory, what is added to NULL is dropped.
 */
#ifndef MEMTRACED_REPORT_JSON_JSON_OUT_H
#define MEMTRACED_REPORT_JSON_JSON_OUT_H

#include "report/view/view_stack.h"

#include <json-c/json.h>
#include <stdio.h>

struct json_stacks;

/* A writer that has stacks ends it with json_stacks_done (json_stacks.h). */
struct json_out {
	FILE *file;
	int error;    /* sticks */
	bool in_html; /* for a page: no name ends a script, and names are as people read them */
	struct json_stacks *stacks; /* tables of those so far; NULL: none */
};

/* An empty object; NULL is one that could not be made, which all below take. */
struct json_object *json_out_new(struct json_out *out);
struct json_object *json_out_new_string(struct json_out *out, const char *s);

/* Three digits behind the point: reals are estimates. */
struct json_object *json_out_new_real(struct json_out *out, double value);

/*
 * To an object, or to the end of an array. `value` is taken over; where it or `to` is NULL, there
 * was no memory for it, which is out->error then. So it is with all that follow.
 */
void json_out_add(struct json_out *out, struct json_object *to, const char *key,
		  struct json_object *value);
void json_out_push(struct json_out *out, struct json_object *to, struct json_object *value);
void json_out_push_null(struct json_out *out, struct json_object *to);
/* A new object at the end of the array, which it belongs to; or NULL. */
struct json_object *json_out_push_new(struct json_out *out, struct json_object *to);

void json_out_null(struct json_out *out, struct json_object *to, const char *key);
/* A value of one of the above, which has told of its error; NULL is null. */
void json_out_add_or_null(struct json_out *out, struct json_object *to, const char *key,
			  struct json_object *value);
void json_out_bool(struct json_out *out, struct json_object *to, const char *key, bool value);
void json_out_u64(struct json_out *out, struct json_object *to, const char *key, uint64_t value);
/* Else null. */
void json_out_known(struct json_out *out, struct json_object *to, const char *key, bool known,
		    uint64_t value);
/* NULL is null. */
void json_out_string(struct json_out *out, struct json_object *to, const char *key, const char *s);

/* "0x1f"; else null. */
void json_out_address(struct json_out *out, struct json_object *to, const char *key, bool known,
		      uint64_t address);

/* Writes the value and frees it. */
void json_out_put(struct json_out *out, struct json_object *value);
/* The same of an object's members without its braces, to be followed by more. */
void json_out_put_members(struct json_out *out, struct json_object *object);

#endif
