/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Byte strings numbered from 0 in the order in which they were first added, each kept once: the
 * tables of names, functions and places that output formats refer to by number. One owner.
 */
#ifndef MEMTRACED_BASE_INTERNS_H
#define MEMTRACED_BASE_INTERNS_H

#include "base/hashmap.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero-initialised is empty. */
struct interns {
	struct hashmap by_data;
	VEC(struct interned *) items;
};

void interns_done(struct interns *interns);

/*
 * The number of what equals these bytes, which are copied when they are new. A struct is a key when
 * its padding is named and set. 1: it is new, 0: it was there, -ENOMEM.
 */
int interns_add(struct interns *interns, const void *data, size_t len, size_t *ret_index);
/* The same of a string with its end. */
int interns_add_string(struct interns *interns, const char *s, size_t *ret_index);

/*
 * The same for tables with numbers of 32 bits. NULL is INTERNS_NONE; strings have their end. 0 or
 * -ENOMEM.
 */
#define INTERNS_NONE UINT32_MAX
int interns_number(struct interns *interns, const void *data, size_t len, uint32_t *ret_number);
int interns_number_string(struct interns *interns, const char *s, uint32_t *ret_number);

bool interns_has(const struct interns *interns, const void *data, size_t len);

/* The bytes, aligned as by malloc; valid until the interns are freed. */
const void *interns_get(const struct interns *interns, size_t index);
size_t interns_length(const struct interns *interns, size_t index); /* of these bytes */
size_t interns_count(const struct interns *interns);

#endif
