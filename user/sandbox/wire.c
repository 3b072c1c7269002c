/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/wire.h"

#include <string.h>

/* The length that stands for NULL. */
#define NO_STRING UINT32_MAX

const char *wire_get_bytes(struct wire_reader *reader, size_t len)
{
	const char *at = reader->at;

	if (reader->bad || len > (size_t)(reader->end - at)) {
		reader->bad = true;
		return NULL;
	}
	reader->at += len;
	return at;
}

static void get(struct wire_reader *reader, void *value, size_t len)
{
	const char *bytes = wire_get_bytes(reader, len);

	if (bytes)
		memcpy(value, bytes, len);
}

uint8_t wire_get_u8(struct wire_reader *reader)
{
	uint8_t value = 0;

	get(reader, &value, sizeof(value));
	return value;
}

uint16_t wire_get_u16(struct wire_reader *reader)
{
	uint16_t value = 0;

	get(reader, &value, sizeof(value));
	return value;
}

uint32_t wire_get_u32(struct wire_reader *reader)
{
	uint32_t value = 0;

	get(reader, &value, sizeof(value));
	return value;
}

uint64_t wire_get_u64(struct wire_reader *reader)
{
	uint64_t value = 0;

	get(reader, &value, sizeof(value));
	return value;
}

bool wire_get_bool(struct wire_reader *reader)
{
	uint8_t value = wire_get_u8(reader);

	if (value > 1)
		reader->bad = true;
	return value == 1;
}

const char *wire_get_string(struct wire_reader *reader, size_t max_len)
{
	uint32_t len = wire_get_u32(reader);
	const char *text;

	if (reader->bad || len == NO_STRING)
		return NULL;
	/* Its NUL is in the message, so that it can be used where it is. */
	text = len <= max_len ? wire_get_bytes(reader, (size_t)len + 1) : NULL;
	if (!text || strnlen(text, (size_t)len + 1) != len) {
		reader->bad = true;
		return NULL;
	}
	return text;
}

uint32_t wire_get_count(struct wire_reader *reader, size_t least_bytes)
{
	uint32_t n = wire_get_u32(reader);

	if (reader->bad || n > (size_t)(reader->end - reader->at) / least_bytes) {
		reader->bad = true;
		return 0;
	}
	return n;
}

bool wire_is_read(const struct wire_reader *reader)
{
	return !reader->bad && reader->at == reader->end;
}

void wire_put_u8(struct strbuf *message, uint8_t value)
{
	strbuf_add(message, &value, sizeof(value));
}

void wire_put_u16(struct strbuf *message, uint16_t value)
{
	strbuf_add(message, &value, sizeof(value));
}

void wire_put_u32(struct strbuf *message, uint32_t value)
{
	strbuf_add(message, &value, sizeof(value));
}

void wire_put_u64(struct strbuf *message, uint64_t value)
{
	strbuf_add(message, &value, sizeof(value));
}

void wire_put_string(struct strbuf *message, const char *text)
{
	size_t len = text ? strlen(text) : 0;

	wire_put_u32(message, text ? (uint32_t)len : NO_STRING);
	if (text)
		strbuf_add(message, text, len + 1);
}
