/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyze/valgrind_names.h"

#include "base/glob.h"
#include "base/strbuf.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#define HASH_DIGITS 16U	      /* rustc's, in legacy names */
#define MIN_DISAMBIGUATOR 12U /* digits: shorter ones are more likely an array's length */
#define MAX_BASE62 11U	      /* digits of the same in a v0 name: 64 bits */

bool supp_glob(const char *pattern, const char *string)
{
	return glob_match(pattern, string, strlen(string));
}

static size_t hex_digits(const char *s)
{
	size_t n = 0;

	while (isdigit((unsigned char)s[n]) || (s[n] >= 'a' && s[n] <= 'f'))
		n++;
	return n;
}

/* Up to one more than there can be: a name may have a "Cs" every two bytes. */
static size_t base62_digits(const char *s)
{
	size_t n = 0;

	while (n <= MAX_BASE62 && isalnum((unsigned char)s[n]))
		n++;
	return n;
}

static bool is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static bool goes_on(char c)
{
	return is_name_char(c) || c == ']';
}

/*
 * How much of `at` changes from build to build, after how much that does not:
 *   17h0123456789abcdefE   the last component of a legacy name
 *   ::h0123456789abcdef    the same, demangled
 *   Cs1a2B_7mycrate        a crate's root in a v0 name
 *   mycrate[0123456789abcdef]
 * `before`: the last character that is kept, or 0. Where the second or the last stands, nothing is
 * put, so what is before and behind them may not be such a part, or a version, when it meets: a
 * pattern's name has none any more, and would lose more than the frame's.
 */
static size_t unstable_part(const char *name, const char *at, char before, size_t *ret_keep)
{
	size_t digits;

	/* This is asked at each character of each name. */
	if (!strchr("1:C[", *at))
		return 0;
	if (!strncmp(at, "17h", 3) && hex_digits(at + 3) == HASH_DIGITS &&
	    at[3 + HASH_DIGITS] == 'E') {
		*ret_keep = 3;
		return HASH_DIGITS;
	}
	if (before && !strchr(":@", before) && !strncmp(at, "::h", 3) &&
	    hex_digits(at + 3) == HASH_DIGITS && !goes_on(at[3 + HASH_DIGITS])) {
		*ret_keep = 0;
		return 3 + HASH_DIGITS;
	}
	if (!strncmp(name, "_R", 2) && !strncmp(at, "Cs", 2)) {
		digits = base62_digits(at + 2);
		if (digits <= MAX_BASE62 && at[2 + digits] == '_') {
			*ret_keep = 2;
			return digits;
		}
	}
	if (*at == '[' && is_name_char(before)) {
		digits = hex_digits(at + 1);
		if (digits >= MIN_DISAMBIGUATOR && at[1 + digits] == ']' &&
		    !goes_on(at[2 + digits])) {
			*ret_keep = 0;
			return digits + 2;
		}
	}
	return 0;
}

/* Where an ELF version begins ("@@GLIBC_2.2.5"), or the end. */
static const char *version_of(const char *name)
{
	const char *at = strchr(name, '@');

	return at && at > name && (isupper((unsigned char)at[1]) || at[1] == '@' || at[1] == '*') ?
		       at :
		       name + strlen(name);
}

int supp_stable_name(const char *name, char **ret_name)
{
	_cleanup_strbuf_ struct strbuf sb = { 0 };
	const char *end = version_of(name), *at = name;
	bool changed = *end;
	size_t keep;

	while (at < end) {
		char before = sb.len ? sb.data[sb.len - 1] : '\0';
		size_t part = unstable_part(name, at, before, &keep);

		if (part) {
			strbuf_add(&sb, at, keep);
			/* Demangled ones are often not there at all. */
			strbuf_adds(&sb, *at == ':' || *at == '[' ? "" : "*");
			at += keep + part;
			changed = true;
		} else {
			strbuf_addch(&sb, *at++);
		}
	}
	if (strbuf_error(&sb))
		return -ENOMEM;
	*ret_name = NULL;
	if (changed) {
		*ret_name = strdup(strbuf_str(&sb));
		if (!*ret_name)
			return -ENOMEM;
	}
	return 0;
}

/* How long "operator<<" or "operator()" is, if one stands at `at`: its brackets open nothing. */
static size_t operator_at(const char *name, size_t at)
{
	if ((at && is_name_char(name[at - 1])) || strncmp(name + at, "operator", 8) != 0)
		return 0;
	if (!strncmp(name + at + 8, "()", 2))
		return 10;
	return 8 + strspn(name + at + 8, "<>=-");
}

/* The length of a name without its arguments: up to a "(" outside of <>. */
static size_t without_arguments(const char *name)
{
	static const char anonymous[] = "(anonymous namespace)";
	size_t i = 0, depth = 0;

	while (name[i]) {
		size_t skip = operator_at(name, i);

		if (!strncmp(name + i, anonymous, strlen(anonymous)))
			skip = strlen(anonymous);
		if (skip) {
			i += skip;
			continue;
		}
		if (name[i] == '(' && !depth)
			break;
		if (name[i] == '<')
			depth++;
		else if (name[i] == '>' && depth)
			depth--;
		i++;
	}
	return i;
}

static bool is_scope(const char *name, size_t at)
{
	return name[at] == ':' && name[at - 1] == ':';
}

/* "long* make<long>(int)": of templates, the result is written, too. "operator new" is a name. */
static bool is_type_end(const char *name, size_t at)
{
	return name[at] == ' ' && (at < 8 || strncmp(name + at - 8, "operator", 8) != 0);
}

const char *supp_base_name(const char *name, size_t *ret_len)
{
	size_t len = without_arguments(name), start = 0, end = len, depth = 0, i = 0;

	while (i < len) {
		size_t skip = operator_at(name, i);

		if (skip) {
			i += skip;
			end = len;
			continue;
		}
		if (name[i] == '<' && !depth++ && i > start)
			end = i;
		else if (name[i] == '>' && depth)
			depth--;
		else if (!depth && i && (is_scope(name, i) || is_type_end(name, i)))
			start = i + 1;
		i++;
	}
	*ret_len = (end > start ? end : len) - start;
	return name + start;
}

int supp_names_init(struct supp_names *names, const struct suppression_frame *frame)
{
	int r = 0;

	*names = (struct supp_names){ .frame = frame };
	if (frame->linkage)
		r = supp_stable_name(frame->linkage, &names->stable_linkage);
	if (!r && frame->function)
		r = supp_stable_name(frame->function, &names->stable_function);
	if (!r && frame->function && (frame->is_inline || !frame->linkage)) {
		size_t len;
		const char *base = supp_base_name(frame->function, &len);

		names->base = strndup(base, len);
		if (!names->base)
			r = -ENOMEM;
	}
	if (r)
		supp_names_done(names);
	return r;
}

void supp_names_done(struct supp_names *names)
{
	free(names->stable_linkage);
	free(names->stable_function);
	free(names->base);
	*names = (struct supp_names){ 0 };
}

bool supp_calls_main(const char *name)
{
	static const char *const names[] = { "__libc_start_main", "__libc_start_call_main",
					     "generic_start_main", "_start" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strncmp(name, names[i], strlen(names[i])) &&
		    (!name[strlen(names[i])] || name[strlen(names[i])] == '@'))
			return true;
	return false;
}

bool supp_is_below_main(const struct suppression_frame *frame)
{
	/* VG_(get_fnname_kind) does not know names with a version. */
	return frame->linkage && !frame->is_inline && supp_calls_main(frame->linkage) &&
	       !(frame->valgrind && strchr(frame->valgrind, '@'));
}

/* Valgrind 3.26 and later have a name, those before it one of these where they have none. */
static bool is_unnamed_inline(const char *pattern)
{
	return !strcmp(pattern, "UnknownInlinedFun") || !strcmp(pattern, "AbsOriFnNameNotFound");
}

/*
 * Does the frame begin a thread by a system call that Valgrind 3.19 does not have? There it is
 * "clone".
 */
static bool begins_thread(const struct suppression_frame *frame)
{
	return frame->linkage &&
	       (!strcmp(frame->linkage, "clone3") || !strcmp(frame->linkage, "__clone3"));
}

static bool any_matches(const char *pattern, const char *a, const char *b, const char *c)
{
	return (a && supp_glob(pattern, a)) || (b && supp_glob(pattern, b)) ||
	       (c && supp_glob(pattern, c));
}

/*
 * "make<long int>": debug information writes the arguments of templates in its own way ("long" in
 * a demangled name), so that they are not compared where its name is not known.
 */
static bool is_inlined_template(const struct supp_names *names, const char *pattern)
{
	size_t len;

	return names->base && !names->frame->valgrind && strchr(pattern, '<') &&
	       supp_base_name(pattern, &len) == pattern && strlen(names->base) == len &&
	       !strncmp(names->base, pattern, len);
}

static bool starts_with(const char *name, const char *prefix)
{
	return name && !strncmp(name, prefix, strlen(prefix));
}

/* The forms that jump to each other in libstdc++, and to free. */
static bool matches_another_form(const struct suppression_frame *f, const char *pattern)
{
	static const char *const deletes[] = {
		"free",
		"_ZdlPv",
		"_ZdaPv",
		"_ZdlPvm",
		"_ZdaPvm",
		"_ZdlPvRKSt9nothrow_t",
		"_ZdaPvRKSt9nothrow_t",
		"_ZdlPvSt11align_val_t",
		"_ZdaPvSt11align_val_t",
		"_ZdlPvmSt11align_val_t",
		"_ZdaPvmSt11align_val_t",
		"_ZdlPvSt11align_val_tRKSt9nothrow_t",
		"_ZdaPvSt11align_val_tRKSt9nothrow_t",
	};
	char array[64];

	if (starts_with(f->linkage, "_Znw") && strlen(f->linkage) < sizeof(array)) {
		memcpy(array, f->linkage, strlen(f->linkage) + 1);
		array[3] = 'a';
		return supp_glob(pattern, array);
	}
	for (size_t i = 0; i < sizeof(deletes) / sizeof(*deletes); i++)
		if (!starts_with(f->linkage, "_Zn") && supp_glob(pattern, deletes[i]))
			return true;
	return false;
}

bool supp_names_match_function(const struct supp_names *names, const char *pattern,
			       const char *stable)
{
	const struct suppression_frame *f = names->frame;

	if (!f->linkage && !f->function)
		return supp_glob(pattern, "???");
	if ((f->valgrind && supp_glob(pattern, f->valgrind)) ||
	    (f->is_inline && is_unnamed_inline(pattern)) ||
	    (f->is_any_form && matches_another_form(f, pattern)) ||
	    (begins_thread(f) && supp_glob(pattern, "clone")))
		return true;
	if (any_matches(pattern, f->linkage, f->function, names->base) ||
	    any_matches(pattern, names->stable_linkage, names->stable_function, NULL))
		return true;
	if (is_inlined_template(names, pattern))
		return true;
	if (f->linkage && !f->is_inline && supp_calls_main(f->linkage) &&
	    supp_glob(pattern, "(below main)"))
		return true;
	return stable &&
	       (any_matches(stable, names->stable_linkage, names->stable_function, names->base) ||
		any_matches(stable, f->linkage, f->function, NULL));
}

static bool is_operator_new(const struct suppression_frame *f)
{
	if (f->linkage)
		return starts_with(f->linkage, "_Znw") || starts_with(f->linkage, "_Zna");
	return starts_with(f->function, "operator new");
}

static bool is_named(const struct suppression_frame *f, const char *name)
{
	const char *own = f->linkage ? f->linkage : f->function;
	size_t len = strlen(name);

	return own && !strncmp(own, name, len) && (!own[len] || own[len] == '@');
}

bool alloc_frames_is_allocator(const struct suppression_frame *f)
{
	static const char *const names[] = { "malloc", "calloc", "aligned_alloc", "memalign",
					     "posix_memalign" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (is_named(f, names[i]))
			return true;
	return is_operator_new(f);
}

static bool is_operator_delete(const struct suppression_frame *f)
{
	if (f->linkage)
		return starts_with(f->linkage, "_ZdlPv") || starts_with(f->linkage, "_ZdaPv");
	return starts_with(f->function, "operator delete");
}

static bool is_operator_over(const struct suppression_frame *inner,
			     const struct suppression_frame *outer)
{
	if (is_operator_new(outer))
		return alloc_frames_is_allocator(inner);
	return is_operator_delete(outer) && (is_named(inner, "free") || is_operator_delete(inner));
}

size_t alloc_frames_inner(const struct suppression_frame *frames, size_t n)
{
	size_t inner = 0;

	while (inner + 1 < n && is_operator_over(&frames[inner], &frames[inner + 1]))
		inner++;
	return inner;
}

bool alloc_frames_memalign(const struct suppression_frame *frames, size_t n, size_t *ret_skip)
{
	if (!n)
		return false;
	*ret_skip = is_named(frames, "aligned_alloc") || is_named(frames, "valloc");
	return *ret_skip || is_named(frames, "posix_memalign");
}

bool alloc_frames_has_forms(const struct suppression_frame *frame)
{
	return is_operator_new(frame) || is_operator_delete(frame) || is_named(frame, "free");
}

void supp_write_literal(const char *name, size_t len, struct strbuf *out)
{
	for (size_t i = 0; i < len; i++)
		strbuf_addch(out, name[i] == '*' ? '?' : name[i]);
}

void supp_names_write(const struct suppression_frame *f, struct strbuf *out)
{
	const char *name = f->valgrind ? f->valgrind : f->linkage;
	_cleanup_free_ char *stable = NULL;

	if (f->is_any_form && is_operator_new(f) && f->linkage) {
		strbuf_addf(out, "%.3s?%s", f->linkage, f->linkage + 4);
	} else if (f->seen == SYMBOL_UNNAMED || f->is_any_form) {
		strbuf_adds(out, "*");
	} else if (begins_thread(f)) {
		strbuf_adds(out, "clone");
	} else if (name) {
		if (!strchr(name, '*') && supp_stable_name(name, &stable))
			out->error = -ENOMEM;
		if (stable)
			strbuf_adds(out, stable);
		else
			supp_write_literal(name, (size_t)(version_of(name) - name), out);
		strbuf_adds(out, *version_of(name) ? "@*" : "");
	} else {
		size_t len;
		const char *base = supp_base_name(f->function, &len);
		const char *around = strcmp(base, f->function) != 0 ? "*" : "";

		strbuf_adds(out, around);
		supp_write_literal(base, len, out);
		strbuf_adds(out, around);
	}
}

const char *alloc_frames_valgrind_name(const struct suppression_frame *frame, size_t *ret_len)
{
	static const struct {
		const char *linkage, *name;
	} operators[] = {
		/* memcheck/mc_malloc_wrappers.c */
		{ "_ZnwmSt11align_val_t", "__builtin_new_aligned" },
		{ "_ZnamSt11align_val_t", "__builtin_vec_new_aligned" },
		{ "_Znw", "__builtin_new" },
		{ "_Zna", "__builtin_vec_new" },
		{ "aligned_alloc", "memalign" },
		{ "posix_memalign", "memalign" },
		{ "valloc", "memalign" },
	};
	const char *name = frame->linkage ? frame->linkage : frame->function;

	for (size_t i = 0; name && i < sizeof(operators) / sizeof(*operators); i++) {
		if (strncmp(name, operators[i].linkage, strlen(operators[i].linkage)) != 0)
			continue;
		name = operators[i].name;
		break;
	}
	/* In a file of suppressions "#" begins a comment, and blanks before a name are skipped. */
	if (!name || *name <= ' ' || *name == '#')
		name = "???";
	/* Without version and arguments; a line ends at the newline. */
	*ret_len = strcspn(name, "@(\n\r");
	return name;
}
