/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyze/suppression_file.h"

#include "analyze/reach.h"
#include "analyze/valgrind_names.h"
#include "base/escape.h"

#include <errno.h>
#include <string.h>

void supp_entry_done(struct supp_entry *entry)
{
	vec_foreach(&entry->patterns, pattern)
		free(pattern->stable);
	vec_done(&entry->patterns);
}

bool supp_entry_has_function(const struct supp_entry *entry, const struct suppression_frame *frame)
{
	size_t len, of_frame;
	const char *function = alloc_frames_valgrind_name(frame, &of_frame);

	len = strcspn(entry->argument, "(");
	if (len != of_frame)
		return false;
	/* An entry that was generated has `?` for a byte that a terminal would obey. */
	for (size_t i = 0; i < len; i++)
		if (entry->argument[i] != '?' && entry->argument[i] != function[i])
			return false;
	return true;
}

static bool function_matches(const struct supp_pattern *p, const struct supp_names *names)
{
	return supp_names_match_function(names, p->text, p->stable);
}

static bool object_matches(const struct supp_pattern *p, const struct supp_names *names)
{
	const char *object = names->frame->object;

	return supp_glob(p->text, object ? object : "???");
}

static bool source_matches(const struct supp_pattern *p, const struct supp_names *names)
{
	const struct suppression_frame *f = names->frame;
	const char *slash = f->file ? strrchr(f->file, '/') : NULL;

	if (!f->file || (p->line && p->line != f->line))
		return false;
	return supp_glob(p->text, f->file) || (slash && supp_glob(p->text, slash + 1));
}

#define FRAME_WORDS "fun:, obj:, src: or ..."

/* Lines that one frame matches. SUPP_ANY_FRAMES is the other kind of line. */
static const struct {
	const char *word;
	bool (*matches)(const struct supp_pattern *p, const struct supp_names *names);
} frame_kinds[SUPP_FRAME_KINDS] = {
	[SUPP_FUNCTION] = { "fun:", function_matches },
	[SUPP_OBJECT] = { "obj:", object_matches },
	[SUPP_SOURCE] = { "src:", source_matches },
};

/*
 * Valgrind writes it for what it has taken for frames behind the end of a stack: that of a program
 * whose _start has no symbol.
 */
static bool is_any_object(const struct supp_pattern *p)
{
	return p->kind == SUPP_OBJECT && !strcmp(p->text, "*");
}

/* As supp_glob, with frames for characters, but that the stack may go on. */
bool supp_entry_matches(const struct supp_entry *entry, const struct supp_names *frames, size_t n)
{
	const struct supp_pattern *p = entry->patterns.data;
	size_t n_patterns = entry->patterns.len, at = 0, frame = 0;
	size_t dots = SIZE_MAX, again = 0;

	while (at < n_patterns) {
		if (p[at].kind == SUPP_ANY_FRAMES) {
			dots = at++;
			again = frame;
		} else if (frame < n && frame_kinds[p[at].kind].matches(&p[at], &frames[frame])) {
			at++;
			frame++;
		} else if (frame >= n && is_any_object(&p[at])) {
			at++;
		} else if (dots != SIZE_MAX && again < n) {
			at = dots + 1;
			frame = ++again;
		} else {
			return false;
		}
	}
	return true;
}

#define MAX_FRAMES 500U /* Valgrind's limit of a stack */
#define ALL_CLASSES ((1U << REACH_CLASSES) - 1)

struct parser {
	const char *name;
	char *at, *end; /* what is still to be read */
	unsigned int line;
	struct strbuf *error;
	/* Entries that are not understood, and where the first one says so by which word. */
	size_t n_skipped;
	unsigned int skipped_line;
	const char *skipped_word;
};

static int fail_parse(const struct parser *p, unsigned int line, const char *reason,
		      const char *what)
{
	strbuf_addf(p->error, "%s:%u: %s", p->name, line, reason);
	if (what)
		strbuf_addf(p->error, ": '%.80s'", what);
	return -EINVAL;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

/* The next line that says something, trimmed, or NULL. */
static char *next_line(struct parser *p)
{
	while (p->at < p->end) {
		char *line = p->at, *end = memchr(line, '\n', p->end - line);

		if (!end)
			end = p->end;
		p->at = end < p->end ? end + 1 : end;
		p->line++;
		while (line < end && is_blank(*line))
			line++;
		while (end > line && is_blank(end[-1]))
			end--;
		*end = '\0';
		if (*line && *line != '#')
			return line;
	}
	return NULL;
}

/* "definite,possible", "all", "none" into a set of 1 << enum reach_class; 0 or -EINVAL. */
static int supp_parse_classes(const char *text, uint32_t *ret_classes)
{
	static const char *const names[REACH_CLASSES] = { "definite", "indirect", "possible",
							  "reachable" };
	uint32_t classes = 0;

	if (!strcmp(text, "all") || !strcmp(text, "none")) {
		*ret_classes = *text == 'a' ? ALL_CLASSES : 0;
		return 0;
	}
	for (;;) {
		size_t len = strcspn(text, ","), i = 0;

		while (i < REACH_CLASSES &&
		       (strlen(names[i]) != len || strncmp(text, names[i], len) != 0))
			i++;
		if (i == REACH_CLASSES)
			return -EINVAL;
		classes |= 1U << i;
		if (!text[len])
			break;
		text += len + 1;
	}
	*ret_classes = classes;
	return 0;
}

/* Is Memcheck in "Memcheck,Addrcheck"? The list ends at `end`. */
static bool has_memcheck(const char *tools, const char *end)
{
	while (tools < end) {
		const char *comma = memchr(tools, ',', end - tools);
		const char *stop = comma ? comma : end;

		if (stop - tools == 8 && !memcmp(tools, "Memcheck", 8))
			return true;
		tools = stop + 1;
	}
	return false;
}

/* The other kinds that Memcheck 3.28 and those before it know. */
static bool is_other_kind(const char *kind)
{
	static const char *const kinds[] = {
		"Param",   "User",     "Cond",	  "Value0",	  "Value1",	   "Value2",
		"Value4",  "Value8",   "Value16", "Value32",	  "Addr1",	   "Addr2",
		"Addr4",   "Addr8",    "Addr16",  "Addr32",	  "Jump",	   "Overlap",
		"Mempool", "BadAlign", "BadSize", "SizeMismatch", "AlignMismatch", "CoreMem",
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(kind, kinds[i]))
			return true;
	return false;
}

static int kind_of(const char *name, enum suppression_kind *ret_kind)
{
	static const char *const kinds[SUPPRESSION_KINDS] = {
		[SUPPRESSION_LEAK] = "Leak",
		[SUPPRESSION_FREE] = "Free",
		[SUPPRESSION_FISHY] = "FishyValue",
		[SUPPRESSION_REALLOC_ZERO] = "ReallocZero",
	};

	for (int i = 0; i < SUPPRESSION_KINDS; i++) {
		if (strcmp(name, kinds[i]) != 0)
			continue;
		*ret_kind = (enum suppression_kind)i;
		return 0;
	}
	return -ENOENT;
}

static int skip_entry(struct parser *p, unsigned int first)
{
	for (;;) {
		const char *line = next_line(p);

		if (!line)
			return fail_parse(p, first, "this entry has no }", NULL);
		if (!strcmp(line, "}"))
			return 0;
	}
}

/* Newer Valgrinds may know more: of what cannot be understood nothing is suppressed. */
static int skip_unknown(struct parser *p, unsigned int first, const char *word)
{
	if (p->n_skipped++ == 0) {
		p->skipped_line = p->line;
		p->skipped_word = word;
	}
	return skip_entry(p, first);
}

/* "file.c:12": the number is only one if nothing else follows the last colon. */
static void split_source(struct supp_pattern *pattern, char *text)
{
	char *colon = strrchr(text, ':'), *end;
	unsigned long line;

	if (!colon || colon[1] < '0' || colon[1] > '9')
		return;
	errno = 0;
	line = strtoul(colon + 1, &end, 10);
	if (*end || errno || !line || line > UINT32_MAX)
		return;
	*colon = '\0';
	pattern->line = line;
}

/* Of "fun:name", and where the name begins. SUPP_FRAME_KINDS: it is of none. */
static enum supp_pattern_kind kind_of_frame(char **line)
{
	for (int kind = 0; kind < SUPP_FRAME_KINDS; kind++) {
		size_t len = strlen(frame_kinds[kind].word);

		if (strncmp(*line, frame_kinds[kind].word, len) != 0)
			continue;
		*line += len;
		return (enum supp_pattern_kind)kind;
	}
	return SUPP_FRAME_KINDS;
}

static int parse_frame(struct parser *p, struct supp_entry *entry, char *line)
{
	struct supp_pattern pattern = { .kind = SUPP_ANY_FRAMES, .text = "" };
	char *text = line;
	int r;

	if (entry->patterns.len == MAX_FRAMES)
		return fail_parse(p, p->line, "more than 500 frames", NULL);
	if (strcmp(line, "...") != 0) {
		pattern.kind = kind_of_frame(&text);
		pattern.text = text;
		if (pattern.kind == SUPP_FRAME_KINDS)
			return fail_parse(p, p->line, "not a frame (" FRAME_WORDS ")", line);
		if (!*text)
			return fail_parse(p, p->line, "a frame without a pattern", line);
	}
	if (pattern.kind == SUPP_SOURCE)
		split_source(&pattern, text);
	if (pattern.kind == SUPP_FUNCTION) {
		r = supp_stable_name(pattern.text, &pattern.stable);
		if (r)
			return r;
	}
	r = vec_push(&entry->patterns, pattern);
	if (r)
		free(pattern.stable);
	return r;
}

/* 1: it has a condition that is not known, and was skipped. */
static int parse_frames(struct parser *p, struct supp_entry *entry)
{
	bool any = false;

	for (;;) {
		char *line = next_line(p);
		int r;

		if (!line)
			return fail_parse(p, entry->line, "this entry has no }", NULL);
		if (!strcmp(line, "}"))
			break;
		if (!strncmp(line, "match-leak-kinds:", 17)) {
			if (entry->kind != SUPPRESSION_LEAK || entry->patterns.len)
				return fail_parse(p, p->line,
						  "match-leak-kinds is for leaks, first", NULL);
			line += 17;
			while (is_blank(*line))
				line++;
			if (supp_parse_classes(line, &entry->classes))
				return fail_parse(
					p, p->line,
					"not a list of definite, indirect, possible, reachable",
					line);
			continue;
		}
		if (!strncmp(line, "match-", 6) && strchr(line, ':')) {
			r = skip_unknown(p, entry->line, line);
			return r ? r : 1;
		}
		r = parse_frame(p, entry, line);
		if (r)
			return r;
		any |= entry->patterns.data[entry->patterns.len - 1].kind != SUPP_ANY_FRAMES;
	}
	if (!any)
		return fail_parse(p, entry->line, "an entry needs a frame that is not ...", NULL);
	return 0;
}

static int parse_entry(struct parser *p, struct supp_entries *entries)
{
	struct supp_entry entry = { .file = p->name, .classes = ALL_CLASSES };
	const char *colon, *tools;
	int r;

	entry.name = next_line(p);
	entry.line = p->line;
	tools = entry.name && strcmp(entry.name, "}") != 0 ? next_line(p) : NULL;
	if (!tools || !strcmp(tools, "}"))
		return fail_parse(p, p->line, "an entry begins with its name and TOOL:KIND", NULL);
	colon = strchr(tools, ':');
	if (!colon || colon == tools || !colon[1])
		return fail_parse(p, p->line, "not TOOL:KIND", tools);
	if (!has_memcheck(tools, colon) || is_other_kind(colon + 1))
		return skip_entry(p, entry.line);
	if (kind_of(colon + 1, &entry.kind))
		return skip_unknown(p, entry.line, colon + 1);
	if (entry.kind == SUPPRESSION_FISHY) {
		entry.argument = next_line(p);
		if (!entry.argument || !strchr(entry.argument, '('))
			return fail_parse(p, p->line, "not FUNCTION(ARGUMENT)", entry.argument);
	}
	r = parse_frames(p, &entry);
	if (!r)
		r = vec_push(&entries->list, entry);
	if (r)
		supp_entry_done(&entry);
	return r < 0 ? r : 0;
}

static int parse_entries(struct parser *p, struct supp_entries *entries)
{
	const char *line;

	while ((line = next_line(p))) {
		int r;

		if (strcmp(line, "{") != 0)
			return fail_parse(p, p->line, "a line with nothing but { begins an entry",
					  line);
		r = parse_entry(p, entries);
		if (r)
			return r;
	}
	return 0;
}

int supp_parse(struct supp_entries *entries, const char *name, char *text, size_t len,
	       struct strbuf *error)
{
	struct parser p = { .name = name, .at = text, .end = text + len, .error = error };
	const char *nul = memchr(text, '\0', len);
	size_t before = entries->list.len;
	int r;

	if (nul) {
		p.line = 1;
		for (const char *c = text; c < nul; c++)
			p.line += *c == '\n';
		return fail_parse(&p, p.line, "a byte of zero: this is not text", NULL);
	}
	r = parse_entries(&p, entries);
	if (!r && p.n_skipped)
		strbuf_addf(error, "%s:%u: '%.80s' is not known; skipping %zu entr%s", name,
			    p.skipped_line, p.skipped_word, p.n_skipped,
			    p.n_skipped == 1 ? "y" : "ies that are not understood");
	while (r && entries->list.len > before)
		supp_entry_done(&entries->list.data[--entries->list.len]);
	return r;
}

/*
 * A line of a pattern that matches the name. Names are those of the traced program: a byte that a
 * line of the file cannot hold (a newline would begin a line of its own, the file's reader trims
 * blanks at the end) becomes `?`, which matches it.
 */
static void add_pattern(struct strbuf *sb, const char *keyword, const char *name, size_t len)
{
	strbuf_addf(sb, "   %s:", keyword);
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)name[i];
		bool at_end = i + 1 == len;

		strbuf_addch(sb, c < ' ' || c == 0x7f || (c == ' ' && at_end) ? '?' : name[i]);
	}
	strbuf_adds(sb, len ? "\n" : "*\n");
}

static void write_frame(struct strbuf *sb, const struct suppression_frame *f)
{
	_cleanup_strbuf_ struct strbuf name = { 0 };

	if (supp_is_below_main(f)) {
		/* so Valgrind calls all of them, and so it compares them */
		strbuf_adds(sb, "   fun:(below main)\n");
	} else if (f->linkage || f->function) {
		supp_names_write(f, &name);
		if (strbuf_error(&name))
			sb->error = strbuf_error(&name);
		add_pattern(sb, "fun", strbuf_str(&name), name.len);
	} else {
		if (f->object)
			supp_write_literal(f->object, strlen(f->object), &name);
		if (strbuf_error(&name))
			sb->error = strbuf_error(&name);
		add_pattern(sb, "obj", strbuf_str(&name), name.len);
	}
}

static bool is_main(const struct suppression_frame *f)
{
	const char *name = f->linkage ? f->linkage : f->function;

	return !f->is_inline && name && !strcmp(name, "main");
}

/* Up to the outermost main or, without one, to the innermost of the functions that call it. */
static size_t count_up_to_main(const struct suppression_frame *frames, size_t n)
{
	size_t end = n;

	for (size_t i = n; i-- > 0;) {
		if (is_main(&frames[i]) || supp_is_below_main(&frames[i]))
			end = i + 1;
		if (is_main(&frames[i]))
			break;
	}
	return end < MAX_FRAMES ? end : MAX_FRAMES;
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
			  const struct suppression_frame *frames, size_t n)
{
	static const struct suppression_frame none;
	size_t at = alloc_frames_inner(frames, n), end = count_up_to_main(frames, n), skip,
	       begin = sb->len;

	strbuf_adds(sb, "{\n   <insert_a_suppression_name_here>\n");
	add_kind(sb, kind, class, n > at ? &frames[at] : &none);
	if (alloc_frames_memalign(frames + at, n - at, &skip)) {
		strbuf_adds(sb, "   fun:memalign\n");
		at += skip;
	}
	if (!n) /* an entry must have a frame */
		strbuf_adds(sb, "   obj:*\n");
	for (; at < end; at++) {
		bool is_unseen = frames[at].seen == SYMBOL_UNSEEN;

		if (!is_unseen)
			write_frame(sb, &frames[at]);
		else if (at == 0 || frames[at - 1].seen != SYMBOL_UNSEEN)
			strbuf_adds(sb, "   ...\n");
	}
	strbuf_adds(sb, "}\n");
	mask_unsafe(sb, begin);
}
