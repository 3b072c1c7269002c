/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Structs as bytes. A table with a row for each member gives both directions, and the bounds of
 * what is read: of integers, lengths, counts. Used by recordings (trace/record/) and by messages
 * between processes. Integers have this machine's byte order and are not aligned; strings have a
 * length and a NUL, so that a reader can use them where they are; lists have a count.
 */
#ifndef MEMTRACED_BASE_CODEC_H
#define MEMTRACED_BASE_CODEC_H

#include "base/strbuf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a struct owns after it was read is for codec_done(). Integers come first, then strings. */
enum field_kind {
	FIELD_U8 = 1,
	FIELD_BOOL,
	FIELD_U16,
	FIELD_U32,	       /* also int and enum */
	FIELD_U64,	       /* also int64_t */
	FIELD_FILE_OFFSET,     /* uint64_t: 0, or below decoder.file_bytes */
	FIELD_STRING,	       /* const char *, in the bytes that are read; never NULL */
	FIELD_OPTIONAL_STRING, /* may be NULL: what that means stands beside the member */
	FIELD_SAME_STRING, /* the same, often equal to the one at `count`, and then not repeated */
	FIELD_COPY,	   /* char *, owned; never NULL */
	FIELD_OPTIONAL_COPY,
	FIELD_BYTES,   /* `max` bytes as they are */
	FIELD_CODED,   /* a pointer to something that both sides have, by its number */
	FIELD_STRUCT,  /* a struct in the struct */
	FIELD_REPEAT,  /* an array of `max` elements */
	FIELD_ARRAY,   /* an array for `max` elements, of which `count` says how many are used */
	FIELD_LIST,    /* a pointer to `count` elements, owned; one of zeros is behind the last */
	FIELD_POINTER, /* a pointer to a struct, owned; may be NULL */
	FIELD_LOCAL,   /* `max` bytes that are not sent */
};

struct field {
	uint16_t offset;    /* in the struct */
	uint16_t count;	    /* offset of the number of elements, or of the other string */
	uint8_t kind;	    /* enum field_kind; 0: behind the last field */
	uint8_t count_size; /* sizeof the number of elements */
	uint32_t max;	    /* highest integer, longest string, most elements; 0: no bound */
	union {
		const struct layout *of;
		const struct field_code *code;
	};
};

struct layout {
	const char *name; /* of the struct */
	uint32_t size;
	const struct field *fields;
	/* What bounds cannot say of a struct that was read. NULL: nothing. */
	bool (*is_sound)(const void *value, const void *context);
};

/* Numbers of FIELD_CODED; 0 is NULL, which a `max` of 1 forbids. */
struct field_code {
	uint32_t (*number)(const void *pointer, const void *context);
	const void *(*pointer)(uint32_t number, const void *context); /* NULL: no such number */
};

/* Layouts whose struct is one integer. */
extern const struct layout codec_u8, codec_u32, codec_u64;

/* Appends the bytes. Longer optional strings than `max` go as NULL. Errors stay in `out`. */
void codec_write(struct strbuf *out, const struct layout *layout, const void *from,
		 const void *context);

struct decoder {
	const char *at, *end;
	int error; /* the first one, which stays: -EBADMSG or -ENOMEM */
	/* Of another version: fields that end early are 0 or "", as are absent strings. */
	bool is_lenient;
	bool swap;	     /* integers have the other byte order */
	uint64_t file_bytes; /* FIELD_FILE_OFFSET */
	const void *context; /* for codes and checks */
};

struct decoder decoder_of(const struct strbuf *message);
/* The next byte; 0 and an error when there is none. */
uint8_t decoder_byte(struct decoder *decoder);
void decoder_refuse(struct decoder *decoder); /* what was read: -EBADMSG */
/* After an error, also an earlier one, *to is all zero and owns nothing. */
void codec_read(struct decoder *decoder, const struct layout *layout, void *to);
/* 0; -EBADMSG: something was wrong, or is left; or -ENOMEM. */
int decoder_end(const struct decoder *decoder);
/* Of a message that is nothing else. As decoder_end(). */
int codec_read_all(const struct strbuf *message, const struct layout *layout, void *to);

/* Frees what a struct that was read owns, and sets it to NULL. */
void codec_done(const struct layout *layout, void *value);

/* --- rows of tables -------------------------------------------------------------------------- */

#define FIELD_WIDTH(kind)                                                                          \
	((kind) == FIELD_U8 || (kind) == FIELD_BOOL ? 1 :                                          \
	 (kind) == FIELD_U16			    ? 2 :                                          \
	 (kind) == FIELD_U32			    ? 4 :                                          \
						      8)
#define MEMBER_SIZE(type, member) sizeof(((struct type *)0)->member)
/* 0, and an error of the compiler where the condition is false. */
#define FIELD_MUST(condition) (0 * sizeof(char[(condition) ? 1 : -1]))

#define F_ROW(type, member, ...)                                                                   \
	{                                                                                          \
		.offset = offsetof(struct type, member), __VA_ARGS__                               \
	}
#define F_END                                                                                      \
	{                                                                                          \
		.kind = 0                                                                          \
	}
/* A member of that kind; and with a bound. */
#define F(type, member, kind) F_MAX(type, member, kind, 0)
#define F_MAX(type, member, kind_, max_)                                                           \
	F_ROW(type, member, .kind = kind_,                                                         \
	      .max = max_ + FIELD_MUST(MEMBER_SIZE(type, member) == FIELD_WIDTH(kind_)))
#define F_SAME_STRING(type, member, other, max_)                                                   \
	F_ROW(type, member, .count = offsetof(struct type, other), .kind = FIELD_SAME_STRING,      \
	      .max = max_)
#define F_BYTES(type, member)                                                                      \
	F_ROW(type, member, .kind = FIELD_BYTES, .max = MEMBER_SIZE(type, member))
#define F_LOCAL(type, member)                                                                      \
	F_ROW(type, member, .kind = FIELD_LOCAL, .max = MEMBER_SIZE(type, member))
#define F_CODED(type, member, code_, max_)                                                         \
	F_ROW(type, member, .kind = FIELD_CODED, .max = max_, .code = code_)
#define F_STRUCT(type, member, of_) F_ROW(type, member, .kind = FIELD_STRUCT, .of = of_)
#define F_POINTER(type, member, of_) F_ROW(type, member, .kind = FIELD_POINTER, .of = of_)
/* An array, all of whose elements are of that type. */
#define F_REPEAT(type, member, element, of_)                                                       \
	F_ROW(type, member, .kind = FIELD_REPEAT,                                                  \
	      .max = MEMBER_SIZE(type, member) / (sizeof(element)), .of = of_)
#define F_COUNTED(type, member, n, kind_, max_, of_)                                               \
	F_ROW(type, member, .count = offsetof(struct type, n), .count_size = MEMBER_SIZE(type, n), \
	      .kind = kind_, .max = max_, .of = of_)
#define F_ARRAY(type, member, n, of)                                                               \
	F_COUNTED(type, member, n, FIELD_ARRAY,                                                    \
		  MEMBER_SIZE(type, member) / MEMBER_SIZE(type, member[0]), of)
#define F_LIST(type, member, n, max, of) F_COUNTED(type, member, n, FIELD_LIST, max, of)

#define LAYOUT(type, fields) LAYOUT_CHECKED(type, fields, NULL)
#define LAYOUT_CHECKED(type, fields, is_sound)                                                     \
	{                                                                                          \
#type, sizeof(struct type), fields, is_sound                                       \
	}

#endif
