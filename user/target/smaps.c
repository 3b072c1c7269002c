/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/smaps.h"

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "target/file_helper.h"
#include "target/proc_file.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Some 700 bytes a mapping, of which vm.max_map_count allows 65,530 unless it was raised. */
#define SMAPS_TEXT_MAX (1024u << 20)
#define STATUS_TEXT_MAX (64u << 10)

typedef VEC(struct smaps_row) row_vec;

/* "   123 kB" up to the end of the string. */
static int parse_kilobytes(const char *text, uint64_t *ret_bytes)
{
	uint64_t value = 0;
	const char *at = text + strspn(text, " \t");
	const char *digits = at;

	for (; isdigit((unsigned char)*at); at++)
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
			return -EBADMSG;
	if (at == digits || strcmp(at, " kB") != 0 || __builtin_mul_overflow(value, 1024, &value))
		return -EBADMSG;
	*ret_bytes = value;
	return 0;
}

/* A line "Key:   value", of which few matter. */
static int parse_value(const char *line, struct smaps_row *row)
{
	const struct {
		const char *key;
		uint64_t *value;
	} keys[] = {
		{ "Rss:", &row->rss_bytes },
		{ "Pss:", &row->pss_bytes },
		{ "Swap:", &row->swap_bytes },
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		size_t len = strlen(keys[i].key);

		if (strncmp(line, keys[i].key, len) == 0)
			return parse_kilobytes(line + len, keys[i].value);
	}
	return strchr(line, ':') ? 0 : -EBADMSG;
}

/* `line` ends at `end`, where its newline has become a NUL. */
static int parse_line(char *line, char *end, row_vec *rows)
{
	struct smaps_row *last = rows->len ? &rows->data[rows->len - 1] : NULL;
	struct smaps_row row = { 0 };
	int r;

	/* Addresses are in lower case. */
	if (isupper((unsigned char)*line)) {
		if (!last || memchr(line, '\0', (size_t)(end - line)))
			return -EBADMSG;
		return parse_value(line, last);
	}
	r = proc_map_parse_line(line, end, &row.map);
	if (r == 0 && last && row.map.start < last->map.end)
		r = -EBADMSG;
	return r ? r : vec_push(rows, row);
}

int smaps_parse(const char *text, size_t len, struct smaps *ret_smaps)
{
	_cleanup_free_ char *copy = malloc(len + 1);
	row_vec rows = { 0 };
	int r = 0;

	if (!copy)
		return -ENOMEM;
	memcpy(copy, text, len);
	copy[len] = '\0';
	for (char *line = copy; r == 0 && line < copy + len;) {
		size_t room = (size_t)(copy + len - line);
		char *end = memchr(line, '\n', room);

		if (!end)
			end = line + room;
		*end = '\0';
		r = parse_line(line, end, &rows);
		line = end + 1;
	}
	if (r < 0) {
		vec_done(&rows);
		return r;
	}
	*ret_smaps = (struct smaps){ rows.data, rows.len, TAKE_PTR(copy) };
	return 0;
}

int smaps_status_value(const char *text, const char *key, uint64_t *ret_bytes)
{
	size_t len = strlen(key);

	for (const char *line = text; *line;) {
		size_t line_len = strcspn(line, "\n");

		if (line_len > len && strncmp(line, key, len) == 0 && line[len] == ':') {
			_cleanup_free_ char *value = strndup(line + len + 1, line_len - len - 1);

			return value ? parse_kilobytes(value, ret_bytes) : -ENOMEM;
		}
		line += line_len + (line[line_len] != '\0');
	}
	return -ENOENT;
}

static int read_as_smaps(pid_t pid, const char *name, struct smaps *ret_smaps)
{
	_cleanup_strbuf_ struct strbuf text = { 0 };
	_cleanup_(smaps_done) struct smaps smaps = { 0 };
	int r = file_helper_read(pid, name, SMAPS_TEXT_MAX, &text);

	if (r == 0)
		r = smaps_parse(strbuf_str(&text), text.len, &smaps);
	/* A zombie's and a kernel thread's are empty. */
	if (r == 0 && smaps.n_rows == 0)
		r = -ESRCH;
	if (r < 0)
		return r;
	*ret_smaps = smaps;
	smaps = (struct smaps){ 0 };
	return 0;
}

int smaps_read(pid_t pid, struct smaps *ret_smaps)
{
	return read_as_smaps(pid, "smaps", ret_smaps);
}

int smaps_sums_read(pid_t pid, struct smaps_sums *ret_sums)
{
	_cleanup_(smaps_done) struct smaps rollup = { 0 };
	_cleanup_strbuf_ struct strbuf status = { 0 };
	struct smaps_sums sums = { 0 };
	int r = read_as_smaps(pid, "smaps_rollup", &rollup);

	if (r == 0)
		r = proc_file_read(proc_living_thread(pid), "status", STATUS_TEXT_MAX, &status);
	if (r == 0)
		r = smaps_status_value(strbuf_str(&status), "VmPTE", &sums.page_table_bytes);
	if (r < 0)
		return r;
	sums.rss_bytes = rollup.rows[0].rss_bytes;
	sums.pss_bytes = rollup.rows[0].pss_bytes;
	sums.swap_bytes = rollup.rows[0].swap_bytes;
	*ret_sums = sums;
	return 0;
}

void smaps_done(struct smaps *smaps)
{
	free(smaps->rows);
	free(smaps->text);
	*smaps = (struct smaps){ 0 };
}
