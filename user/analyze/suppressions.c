/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyze/suppressions.h"

#include "analyze/alloc_frames.h"
#include "analyze/supp_parse.h"
#include "analyze/suppressions_default.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define MAX_FILE (16U << 20)

struct suppressions {
	struct supp_entries entries;
	VEC(char *) strings; /* what entries point into */
};

int suppressions_new(struct suppressions **ret_suppressions)
{
	struct suppressions *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	*ret_suppressions = s;
	return 0;
}

void suppressions_free(struct suppressions *suppressions)
{
	if (!suppressions)
		return;
	vec_foreach(&suppressions->entries.list, entry)
		supp_entry_done(entry);
	vec_done(&suppressions->entries.list);
	vec_foreach(&suppressions->strings, string)
		free(*string);
	vec_done(&suppressions->strings);
	free(suppressions);
}

/* A copy that lives as long as the entries, or NULL. */
static char *keep(struct suppressions *suppressions, const char *data, size_t len)
{
	char *copy = malloc(len + 1);

	if (!copy)
		return NULL;
	memcpy(copy, data, len);
	copy[len] = '\0';
	if (vec_push(&suppressions->strings, copy)) {
		free(copy);
		return NULL;
	}
	return copy;
}

int suppressions_add_text(struct suppressions *suppressions, const char *name, const char *text,
			  size_t len, struct strbuf *error)
{
	char *kept_name = keep(suppressions, name, strlen(name));
	char *kept_text = keep(suppressions, text, len);

	if (!kept_name || !kept_text)
		return -ENOMEM;
	return supp_parse(&suppressions->entries, kept_name, kept_text, len, error);
}

int suppressions_add_file(struct suppressions *suppressions, const char *path, struct strbuf *error)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	_cleanup_strbuf_ struct strbuf text = { 0 };
	int r = fd < 0 ? -errno : strbuf_read(&text, fd, MAX_FILE);

	if (r) {
		strbuf_addf(error, "%s: %s", path, strerror(-r));
		return r;
	}
	return suppressions_add_text(suppressions, path, strbuf_str(&text), text.len, error);
}

int suppressions_add_default(struct suppressions *suppressions)
{
	_cleanup_strbuf_ struct strbuf error = { 0 };
	const char *text = suppressions_default_text();

	return suppressions_add_text(suppressions, "default", text, strlen(text), &error);
}

static int find(const struct suppressions *suppressions, enum suppression_kind kind,
		enum reach_class class, const struct supp_names *names, size_t n)
{
	for (size_t i = 0; i < suppressions->entries.list.len; i++) {
		const struct supp_entry *e = &suppressions->entries.list.data[i];

		if (e->kind == kind && (kind != SUPPRESSION_LEAK || e->classes & (1U << class)) &&
		    (kind != SUPPRESSION_FISHY ||
		     (n > 0 && supp_entry_has_function(e, names[0].frame))) &&
		    supp_entry_matches(e, names, n))
			return (int)i;
	}
	return -ENOENT;
}

/* The names of the frames are those from the second on: the first is room. */
static int find_either_way(const struct suppressions *suppressions, enum suppression_kind kind,
			   enum reach_class class, struct supp_names *names,
			   const struct suppression_frame *frames, size_t n)
{
	static const struct suppression_frame memalign = { .linkage = "memalign",
							   .function = "memalign" };
	int r = find(suppressions, kind, class, names + 1, n);
	struct supp_names kept;
	size_t skip;

	if (r >= 0 || !alloc_frames_memalign(frames, n, &skip))
		return r;
	kept = names[skip];
	names[skip] = (struct supp_names){ .frame = &memalign };
	r = find(suppressions, kind, class, names + skip, n + 1 - skip);
	names[skip] = kept;
	return r;
}

int suppressions_match(const struct suppressions *suppressions, enum suppression_kind kind,
		       enum reach_class class, const struct suppression_frame *frames, size_t n)
{
	size_t inner = alloc_frames_inner(frames, n);
	_cleanup_free_ struct supp_names *names = NULL;
	int r = 0;

	if (!suppressions->entries.list.len)
		return -ENOENT;
	frames += inner;
	n -= inner;
	names = calloc(n + 1, sizeof(*names));
	if (!names)
		return -ENOMEM;
	for (size_t i = 0; i < n && !r; i++)
		r = supp_names_init(&names[1 + i], &frames[i]);
	if (!r)
		r = find_either_way(suppressions, kind, class, names, frames, n);
	for (size_t i = 0; i < n; i++)
		supp_names_done(&names[1 + i]);
	return r;
}

void suppressions_count(struct suppressions *suppressions, int index, uint64_t blocks,
			uint64_t bytes)
{
	struct supp_entry *e = &suppressions->entries.list.data[index];

	e->records++;
	e->blocks += blocks;
	e->bytes += bytes;
}

void suppressions_count_errors(struct suppressions *suppressions, int index, uint64_t errors)
{
	suppressions->entries.list.data[index].records += errors;
}

size_t suppressions_n(const struct suppressions *suppressions)
{
	return suppressions->entries.list.len;
}

struct suppression_use suppressions_use(const struct suppressions *suppressions, size_t index)
{
	const struct supp_entry *e = &suppressions->entries.list.data[index];

	return (struct suppression_use){
		.kind = e->kind,
		.name = e->name,
		.file = e->file,
		.line = e->line,
		.records = e->records,
		.blocks = e->blocks,
		.bytes = e->bytes,
	};
}
