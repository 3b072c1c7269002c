/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Values of any layout (base/codec.h), for tests: filled so that each byte differs from its
 * neighbours, and compared. By the tables, so that new messages and records are covered at once.
 */
#ifndef MEMTRACED_TESTS_CODEC_VALUES_H
#define MEMTRACED_TESTS_CODEC_VALUES_H

#include "base/codec.h"
#include "base/vec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VALUES_FILE_BYTES 0x100000 /* of FIELD_FILE_OFFSET */
#define VALUES_ELEMENTS 3	   /* of lists */

static inline uint64_t values_count(const struct field *field, const char *value)
{
	uint64_t n = 0;

	memcpy(&n, value + field->count, field->count_size); /* little-endian */
	return n;
}

/* --- the same -------------------------------------------------------------------------------- */

static inline bool values_same(const struct layout *layout, const void *a, const void *b);

static inline bool values_same_elements(const struct layout *of, const char *a, const char *b,
					uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		if (!values_same(of, a + i * of->size, b + i * of->size))
			return false;
	return true;
}

static inline bool values_same_field(const struct field *f, const char *a, const char *b)
{
	const char *text_a, *text_b;

	if (f->kind <= FIELD_FILE_OFFSET)
		return memcmp(a + f->offset, b + f->offset, FIELD_WIDTH(f->kind)) == 0;
	memcpy(&text_a, a + f->offset, f->kind == FIELD_LOCAL ? 0 : sizeof(text_a));
	memcpy(&text_b, b + f->offset, f->kind == FIELD_LOCAL ? 0 : sizeof(text_b));
	switch (f->kind) {
	case FIELD_LOCAL:
		return true;
	case FIELD_BYTES:
		return memcmp(a + f->offset, b + f->offset, f->max) == 0;
	case FIELD_CODED:
		return text_a == text_b;
	case FIELD_STRUCT:
		return values_same(f->of, a + f->offset, b + f->offset);
	case FIELD_REPEAT:
		return values_same_elements(f->of, a + f->offset, b + f->offset, f->max);
	case FIELD_ARRAY:
		return values_count(f, a) == values_count(f, b) &&
		       values_same_elements(f->of, a + f->offset, b + f->offset,
					    values_count(f, a));
	case FIELD_LIST:
		return values_count(f, a) == values_count(f, b) &&
		       values_same_elements(f->of, text_a, text_b, values_count(f, a));
	case FIELD_POINTER:
		return !text_a == !text_b &&
		       values_same_elements(f->of, text_a, text_b, text_a != NULL);
	default:
		return !text_a == !text_b && (!text_a || strcmp(text_a, text_b) == 0);
	}
}

/* All that goes over. */
static inline bool values_same(const struct layout *layout, const void *a, const void *b)
{
	for (const struct field *f = layout->fields; f->kind; f++)
		if (!values_same_field(f, a, b))
			return false;
	return true;
}

/* --- filled ---------------------------------------------------------------------------------- */

/* What tables cannot know: makes a value sound that a layout's check would refuse. */
typedef void (*values_mend_fn)(const struct layout *layout, void *value);

struct values_fill {
	values_mend_fn mend; /* NULL: nothing is to be mended */
	const void *context; /* of codes */
	uint8_t next;	     /* byte */
	unsigned int n_strings;
	VEC(void *) memory; /* of all values */
};

static inline void values_fill(struct values_fill *fill, const struct layout *layout, void *value);

static inline uint64_t values_bound(const struct field *field)
{
	if (field->kind == FIELD_BOOL)
		return 1;
	return field->kind == FIELD_FILE_OFFSET ? VALUES_FILE_BYTES - 1 : field->max;
}

static inline void values_fill_integer(const struct field *field, char *member)
{
	uint64_t value = 0, bound = values_bound(field);

	memcpy(&value, member, FIELD_WIDTH(field->kind));
	if (bound)
		value = value % bound + 1;
	memcpy(member, &value, FIELD_WIDTH(field->kind));
}

static inline char *values_text(struct values_fill *fill)
{
	char *text;

	if (asprintf(&text, "text%u", fill->n_strings++) < 0 || vec_push(&fill->memory, text) < 0)
		abort();
	return text;
}

static inline const void *values_coded(const struct values_fill *fill, const struct field *field)
{
	const void *pointer = NULL;

	for (uint32_t number = 1; !pointer && number < 1 << 20; number++)
		pointer = field->code->pointer(number, fill->context);
	return pointer;
}

static inline void values_fill_elements(struct values_fill *fill, const struct layout *of,
					char *elements, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		values_fill(fill, of, elements + i * of->size);
}

static inline char *values_new(struct values_fill *fill, const struct layout *of, uint64_t n)
{
	char *elements = calloc(n + 1, of->size);

	if (!elements || vec_push(&fill->memory, elements) < 0)
		abort();
	values_fill_elements(fill, of, elements, n);
	return elements;
}

static inline void values_fill_field(struct values_fill *fill, const struct field *f, char *value)
{
	uint64_t n = f->max && f->max < VALUES_ELEMENTS ? f->max : VALUES_ELEMENTS;
	char *member = value + f->offset;

	switch (f->kind) {
	case FIELD_BYTES:
		break;
	case FIELD_LOCAL:
		memset(member, 0, f->max);
		break;
	case FIELD_CODED:
		*(const void **)member = values_coded(fill, f);
		break;
	case FIELD_STRUCT:
		values_fill(fill, f->of, member);
		break;
	case FIELD_REPEAT:
		values_fill_elements(fill, f->of, member, f->max);
		break;
	case FIELD_ARRAY:
		memset(member, 0, (size_t)f->max * f->of->size);
		memset(value + f->count, 0, f->count_size);
		memcpy(value + f->count, &n, f->count_size);
		values_fill_elements(fill, f->of, member, n);
		break;
	case FIELD_LIST:
		memcpy(value + f->count, &n, f->count_size);
		*(char **)member = values_new(fill, f->of, n);
		break;
	case FIELD_POINTER:
		*(char **)member = values_new(fill, f->of, 1);
		break;
	default:
		if (f->kind <= FIELD_FILE_OFFSET)
			values_fill_integer(f, member);
		else
			*(char **)member = values_text(fill);
	}
}

/* Each byte, also those that no row of the table is about. Lives until values_done(). */
static inline void values_fill(struct values_fill *fill, const struct layout *layout, void *value)
{
	for (size_t i = 0; i < layout->size; i++) {
		fill->next = fill->next == 255 ? 1 : fill->next + 1;
		((uint8_t *)value)[i] = fill->next;
	}
	for (const struct field *f = layout->fields; f->kind; f++)
		values_fill_field(fill, f, value);
	if (fill->mend)
		fill->mend(layout, value);
}

static inline void values_done(struct values_fill *fill)
{
	vec_foreach(&fill->memory, memory)
		free(*memory);
	vec_done(&fill->memory);
}

#endif
