/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/object_server.h"

#include "config/near_name.h"
#include "elf/cfi/cfi_file.h"
#include "elf/elf_file.h"
#include "probe/object_wire.h"

#include <errno.h>
#include <string.h>

static int serve_facts(struct decoder *decoder, int fd, struct strbuf *answer)
{
	_cleanup_(object_asked_done) struct object_asked asked = {};
	struct object_facts facts;
	int r = object_get_wants(decoder, &asked);

	if (r == 0)
		r = object_facts_read(fd, &asked.wants, &facts);
	if (r < 0)
		return r;
	object_put_facts(answer, &facts, &asked.wants);
	object_facts_done(&facts);
	return 0;
}

/* Nothing follows when the file is another by now, or has no rows that could be made. */
static int serve_rows(struct decoder *decoder, int fd, struct strbuf *answer)
{
	_cleanup_(elf_file_free_p) struct elf_file *elf = NULL;
	_cleanup_(cfi_rows_free_p) struct cfi_rows *rows = NULL;
	_cleanup_free_ uint8_t *bytes = NULL;
	struct cfi_key asked, key;
	size_t len = 0;
	int r;

	codec_read(decoder, &object_key_layout, &asked);
	if (decoder_end(decoder) < 0)
		return -EBADMSG;
	r = elf_file_new(fd, &elf);
	if (r == 0) {
		cfi_key_of(elf, asked.pruned, &key);
		r = memcmp(&key, &asked, sizeof(key)) == 0 ? 0 : -ESTALE;
	}
	if (r == 0)
		r = cfi_file_rows(elf, asked.pruned, &rows);
	if (r == 0)
		r = cfi_encode(rows, &key, &bytes, &len);
	if (r == 0)
		strbuf_add(answer, bytes, len);
	return r == -ENOMEM ? r : 0;
}

static void offer_symbols(const struct elf_file *elf, struct near_names *near)
{
	const struct elf_symbol *symbols;
	const char *last = "";
	size_t n;

	symbols = elf_file_symbols(elf, &n);
	for (size_t i = 0; i < n; i++) {
		bool again = strcmp(last, symbols[i].name) == 0; /* .dynsym and .symtab */

		last = symbols[i].name;
		if (!again && !near_names_have(near, last))
			near_names_offer(near, last, last);
	}
}

static int serve_near(struct decoder *decoder, int fd, struct strbuf *answer)
{
	_cleanup_(elf_file_free_p) struct elf_file *elf = NULL;
	struct near_names near;
	const char *word;
	int r;

	codec_read(decoder, &object_name_layout, &word);
	if (decoder_end(decoder) < 0)
		return -EBADMSG;
	near_names_init(&near, word);
	r = elf_file_new(fd, &elf);
	if (r == 0)
		offer_symbols(elf, &near);
	/* Else it has changed since, or is no ELF file: nothing comes near in it. */
	object_put_near(answer, &near);
	return r == -ENOMEM ? r : 0;
}

static int serve_function(struct decoder *decoder, int fd, struct strbuf *answer)
{
	_cleanup_(elf_file_free_p) struct elf_file *elf = NULL;
	struct object_ranges ranges = { .n = 0 };
	const struct elf_symbol *symbols = NULL;
	const char *name;
	size_t n = 0;
	int r;

	codec_read(decoder, &object_name_layout, &name);
	if (decoder_end(decoder) < 0)
		return -EBADMSG;
	r = elf_file_new(fd, &elf);
	if (r == 0)
		symbols = elf_file_symbols(elf, &n);
	for (size_t i = 0; i < n && ranges.n < OBJECT_MAX_RANGES; i++) {
		struct object_range *range = &ranges.list[ranges.n];

		range->size = symbols[i].size;
		if (range->size > 0 && strcmp(symbols[i].name, name) == 0 &&
		    elf_file_offset_of(elf, symbols[i].value, &range->offset) == 0)
			ranges.n++;
	}
	/* Else it has changed since, or is no ELF file: nothing is in it. */
	codec_write(answer, &object_ranges_layout, &ranges, NULL);
	return r == -ENOMEM ? r : 0;
}

bool object_server_knows(const struct strbuf *request)
{
	struct decoder decoder = decoder_of(request);
	uint8_t first = decoder_byte(&decoder);

	return first >= OBJECT_FACTS && first <= OBJECT_FUNCTION;
}

int object_serve(const struct strbuf *request, const int *fds, size_t n_fds, struct strbuf *answer)
{
	struct decoder decoder = decoder_of(request);
	uint8_t first = decoder_byte(&decoder);

	if (n_fds != 1)
		return -EBADMSG;
	switch (first) {
	case OBJECT_FACTS:
		return serve_facts(&decoder, fds[0], answer);
	case OBJECT_ROWS:
		return serve_rows(&decoder, fds[0], answer);
	case OBJECT_NEAR:
		return serve_near(&decoder, fds[0], answer);
	case OBJECT_FUNCTION:
		return serve_function(&decoder, fds[0], answer);
	default:
		return -EBADMSG;
	}
}
