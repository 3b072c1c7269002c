/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/replay/hostile_records.h"

#include "base/codec.h"
#include "trace/record/record_codec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int payloads_add(const struct record *record, void *userdata)
{
	struct payloads *payloads = userdata;
	struct payload *more = realloc(payloads->list, (payloads->n + 1) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	payloads->list = more;
	more[payloads->n] = (struct payload){ .type = record->type };
	return record_encode(record, &more[payloads->n++].bytes);
}

void payloads_done(struct payloads *payloads)
{
	for (size_t i = 0; i < payloads->n; i++)
		strbuf_done(&payloads->list[i].bytes);
	free(payloads->list);
}

/* A payload that is copied field by field; all of them are there, as our own writer wrote them. */
struct copy {
	const char *from;
	struct strbuf *to;
	size_t fields, at; /* so far, and the one to change */
	enum hostile how;
	bool changed;
};

static uint64_t other_integer(uint64_t value, size_t size, enum hostile how)
{
	uint64_t top = 1ull << (8 * size - 1);

	switch (how) {
	case HOSTILE_ZERO:
		return 0;
	case HOSTILE_LARGE:
		return UINT64_MAX;
	case HOSTILE_LIMIT:
		return top - 1;
	case HOSTILE_MINIMUM:
		return top;
	case HOSTILE_OTHER:
		return value + 1;
	default:
		return value;
	}
}

static void add_string(struct strbuf *to, const char *text)
{
	uint32_t len = (uint32_t)strlen(text);

	strbuf_add(to, &len, sizeof(len));
	strbuf_add(to, text, len + 1);
}

static void change_string(struct copy *c)
{
	static const char markup[] = "</script>\"'\\%s\n\t\033[2J\xc2\x9b\xe2\x80\xae\xff{}[];,";
	const uint32_t none = UINT32_MAX;
	char text[40 * sizeof(markup)] = "";

	switch (c->how) {
	case HOSTILE_NONE:
		strbuf_add(c->to, &none, sizeof(none));
		break;
	case HOSTILE_LARGE:
		for (size_t i = 0; i < 40; i++)
			strcat(text, markup);
		add_string(c->to, text);
		break;
	default:
		add_string(c->to, "");
	}
}

static void copy_bytes(struct copy *c, size_t n)
{
	strbuf_add(c->to, c->from, n);
	c->from += n;
}

static void copy_string(struct copy *c, bool change)
{
	uint32_t len;
	size_t n;

	memcpy(&len, c->from, sizeof(len));
	n = sizeof(len) + (len == UINT32_MAX ? 0 : (size_t)len + 1);
	if (!change) {
		copy_bytes(c, n);
		return;
	}
	change_string(c);
	c->from += n;
}

static void copy_integer(struct copy *c, size_t size, bool change)
{
	uint64_t value = 0;

	/* little-endian, as the machines that this runs on */
	memcpy(&value, c->from, size);
	if (change)
		value = other_integer(value, size, c->how);
	strbuf_add(c->to, &value, size);
	c->from += size;
}

static void copy_fields(struct copy *c, const struct field *fields);

static void copy_list(struct copy *c, const struct layout *of, bool change)
{
	_cleanup_strbuf_ struct strbuf nowhere = { 0 };
	struct strbuf *to = c->to;
	bool empty = change && c->how == HOSTILE_ZERO;
	uint32_t n, n_written;

	memcpy(&n, c->from, sizeof(n));
	c->from += sizeof(n);
	n_written = empty ? 0 : n;
	strbuf_add(to, &n_written, sizeof(n));
	if (empty)
		c->to = &nowhere;
	for (uint32_t i = 0; i < n; i++)
		copy_fields(c, of->fields);
	c->to = to;
}

static void copy_fields(struct copy *c, const struct field *fields)
{
	for (const struct field *f = fields; f->kind; f++) {
		bool change;

		for (uint32_t i = 0; f->kind == FIELD_REPEAT && i < f->max; i++)
			copy_fields(c, f->of->fields);
		if (f->kind == FIELD_REPEAT || f->kind == FIELD_LOCAL)
			continue;
		change = c->fields++ == c->at;
		c->changed |= change;
		if (f->kind <= FIELD_FILE_OFFSET)
			copy_integer(c, FIELD_WIDTH(f->kind), change);
		else if (f->kind == FIELD_BYTES)
			copy_bytes(c, f->max);
		else if (f->kind == FIELD_LIST)
			copy_list(c, f->of, change);
		else
			copy_string(c, change);
	}
}

bool hostile_field(const struct payload *from, size_t at, enum hostile how, struct payload *to)
{
	struct copy c = {
		.from = strbuf_str(&from->bytes), .to = &to->bytes, .at = at, .how = how
	};

	*to = (struct payload){ .type = from->type };
	copy_fields(&c, record_layout_find(from->type)->fields);
	if (!c.changed)
		strbuf_done(&to->bytes);
	return c.changed;
}
