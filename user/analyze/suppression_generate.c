/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyze/suppression_generate.h"

#include "analyze/reach.h"
#include "analyze/valgrind_names.h"
#include "base/escape.h"

#include <errno.h>
#include <string.h>

/*
 * A line of a pattern that matches the name. Names are those of the traced program: a byte that a
 * line of the file cannot hold (a newline would begin a line of its own, the file's reader trims
 * blanks at the end) becomes `?`, which matches it.
 */
static void add_pattern(struct strbuf *sb, const char *keyword, const char *name, size_t len,
			const char *around)
{
	strbuf_addf(sb, "   %s:%s", keyword, around);
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)name[i];
		bool at_end = i + 1 == len && !*around;

		strbuf_addch(sb, c < ' ' || c == 0x7f || (c == ' ' && at_end) ? '?' : name[i]);
	}
	strbuf_addf(sb, "%s\n", len || *around ? around : "*");
}

/*
 * Symbols with a wildcard for what changes from build to build. Of inlined functions Valgrind knows
 * the bare name, where we have scope and arguments: the last part, with wildcards, matches both.
 */
static void add_function(struct strbuf *sb, const struct suppression_frame *f)
{
	_cleanup_free_ char *stable = NULL;

	if (f->linkage) {
		const char *name;

		if (supp_stable_name(f->linkage, "*", &stable))
			sb->error = -ENOMEM;
		name = stable ? stable : f->linkage;
		add_pattern(sb, "fun", name, strlen(name), "");
	} else {
		size_t len;
		const char *base = supp_base_name(f->function, &len);

		add_pattern(sb, "fun", base, len, strcmp(base, f->function) != 0 ? "*" : "");
	}
}

static void add_frame(struct strbuf *sb, const struct suppression_frame *f)
{
	if (f->linkage || f->function)
		add_function(sb, f);
	else
		add_pattern(sb, "obj", f->object ? f->object : "",
			    f->object ? strlen(f->object) : 0, "");
}

static bool is_main(const struct suppression_frame *f)
{
	const char *name = f->linkage ? f->linkage : f->function;

	return name && !strcmp(name, "main");
}

/* `first`: the frame of the function that was called. */
static void add_kind(struct strbuf *sb, enum suppression_kind kind, enum reach_class class,
		     const struct suppression_frame *first)
{
	const char *function;
	size_t len;

	switch (kind) {
	case SUPPRESSION_FISHY:
		function = alloc_frames_valgrind_name(first, &len);
		strbuf_addf(sb, "   Memcheck:FishyValue\n   %.*s(size)\n", (int)len, function);
		break;
	case SUPPRESSION_REALLOC_ZERO:
		strbuf_adds(sb, "   Memcheck:ReallocZero\n");
		break;
	case SUPPRESSION_FREE:
		strbuf_adds(sb, "   Memcheck:Free\n");
		break;
	default:
		strbuf_addf(sb, "   Memcheck:Leak\n   match-leak-kinds: %s\n",
			    reach_class_name(class));
	}
}

/* Terminals show the text: for each byte that must not get there, `?`, which matches it. */
static void mask_unsafe(struct strbuf *sb, size_t begin)
{
	for (size_t at = begin, n; at < sb->len; at += n) {
		uint32_t code;

		n = escape_decode(sb->data + at, sb->len - at, &code);
		if (n == 0 || (escape_is_unsafe(code) && code != '\n'))
			memset(sb->data + at, '?', n ? n : 1);
		n = n ? n : 1;
	}
}

void suppression_generate(struct strbuf *sb, enum suppression_kind kind, enum reach_class class,
			  const struct suppression_frame *frames, size_t n, size_t n_max)
{
	static const struct suppression_frame none;
	size_t left = n_max ? n_max : SUPP_GENERATE_FRAMES, at = alloc_frames_inner(frames, n),
	       skip, begin = sb->len;

	strbuf_adds(sb, "{\n   <insert_a_suppression_name_here>\n");
	add_kind(sb, kind, class, n > at ? &frames[at] : &none);
	if (alloc_frames_memalign(frames + at, n - at, &skip)) {
		strbuf_adds(sb, "   fun:memalign\n");
		at += skip;
		left--;
	}
	if (!n) /* an entry must have a frame */
		strbuf_adds(sb, "   obj:*\n");
	for (; at < n && left; at++, left--) {
		/* so Valgrind calls all of them, and so it compares them */
		if (supp_is_below_main(&frames[at])) {
			strbuf_adds(sb, "   fun:(below main)\n");
			break;
		}
		add_frame(sb, &frames[at]);
		if (is_main(&frames[at]))
			break;
	}
	strbuf_adds(sb, "}\n");
	mask_unsafe(sb, begin);
}
