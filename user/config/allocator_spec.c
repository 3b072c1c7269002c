/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/allocator_spec.h"

#include "config/key.h"
#include "config/near_name.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FUNCTIONS 64
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"
#define WORD LETTERS "-"
#define SYMBOL LETTERS DIGITS "_.$"

/* Bits of what a role may be told: first the places, then these. */
enum { WORD_RET = N_PLACES, WORD_ZERO_FREES, WORD_THROWS, N_WORDS };

static const char *const words[N_WORDS] = {
	[PLACE_SIZE] = "size",	  [PLACE_COUNT] = "count", [PLACE_PTR] = "ptr",
	[PLACE_OUT] = "out",	  [WORD_RET] = "ret",	   [WORD_ZERO_FREES] = "zero-frees",
	[WORD_THROWS] = "throws",
};

#define BIT(word) (1U << (word))
#define MAKES_BLOCK                                                                                \
	(BIT(PLACE_SIZE) | BIT(PLACE_COUNT) | BIT(PLACE_OUT) | BIT(WORD_RET) | BIT(WORD_THROWS))

static const struct {
	const char *name;
	unsigned may;		     /* bits of words */
	uint8_t otherwise[N_PLACES]; /* where things are unless said, as in the C function */
} roles[] = {
	[ALLOCATOR_MALLOC] = { "malloc", MAKES_BLOCK, { [PLACE_SIZE] = 1 } },
	[ALLOCATOR_CALLOC] = { "calloc", MAKES_BLOCK, { [PLACE_COUNT] = 1, [PLACE_SIZE] = 2 } },
	[ALLOCATOR_REALLOC] = { "realloc",
				BIT(PLACE_PTR) | BIT(PLACE_SIZE) | BIT(PLACE_COUNT) |
					BIT(WORD_RET) | BIT(WORD_ZERO_FREES) | BIT(WORD_THROWS),
				{ [PLACE_PTR] = 1, [PLACE_SIZE] = 2 } },
	[ALLOCATOR_FREE] = { "free", BIT(PLACE_PTR), { [PLACE_PTR] = 1 } },
	[ALLOCATOR_INSIDE] = { "inside", 0, { 0 } },
};
#define N_ROLES (sizeof(roles) / sizeof(roles[0]))

struct parser {
	struct allocator_spec spec;
	const char *at;
	struct strbuf *error;
};

static void parser_done(struct parser *p)
{
	allocator_spec_done(&p->spec);
}

void allocator_spec_done(struct allocator_spec *spec)
{
	for (size_t i = 0; i < spec->n_functions; i++)
		free(spec->functions[i].name);
	free(spec->functions);
	free(spec->object);
	free(spec->text);
	*spec = (struct allocator_spec){ 0 };
}

/* The message, with the text and the character that `at` is, counted from 1. */
__attribute__((format(printf, 3, 4))) static int wrong(struct parser *p, const char *at,
						       const char *fmt, ...)
{
	va_list ap;

	strbuf_reset(p->error);
	strbuf_addf(p->error, "invalid --allocator '%s': at character %zu: ", p->spec.text,
		    (size_t)(at - p->spec.text) + 1);
	va_start(ap, fmt);
	strbuf_vaddf(p->error, fmt, ap);
	va_end(ap);
	return strbuf_error(p->error) < 0 ? -ENOMEM : -EINVAL;
}

/* As wrong(), for a word that is none of the names with a bit in `may`. */
static int unknown_word(struct parser *p, const char *at, const char *word, const char *what,
			const char *const *names, size_t n, unsigned may)
{
	_cleanup_strbuf_ struct strbuf all = { 0 };
	struct near_name near;
	const char *best;

	near_name_init(&near, word);
	for (size_t i = 0; i < n; i++) {
		if (!(may & BIT(i)))
			continue;
		near_name_offer(&near, names[i]);
		strbuf_addf(&all, "%s%s", all.len ? ", " : "", names[i]);
	}
	best = near_name_get(&near);
	if (strbuf_error(&all) < 0)
		return -ENOMEM;
	if (best)
		return wrong(p, at, "unknown %s '%s'; did you mean '%s'?", what, word, best);
	if (!all.len)
		return wrong(p, at, "it takes no %s", what);
	return wrong(p, at, "unknown %s '%s': expected one of %s", what, word, strbuf_str(&all));
}

/* A copy of the characters of `set` that come now; they may be none. NULL: no memory. */
static char *next_span(struct parser *p, const char *set)
{
	size_t len = strspn(p->at, set);
	char *word = strndup(p->at, len);

	p->at += len;
	return word;
}

static bool skip_char(struct parser *p, char c)
{
	if (*p->at != c)
		return false;
	p->at++;
	return true;
}

static int set_argument(struct parser *p, struct allocator_spec_function *f, unsigned place,
			const char *at)
{
	size_t len;

	if (!skip_char(p, '@'))
		return wrong(p, p->at, "say in which argument: %s@1 to %s@%d", words[place],
			     words[place], ALLOCATOR_MAX_ARGUMENT);
	len = strspn(p->at, DIGITS);
	if (len != 1 || *p->at < '1' || *p->at > '0' + ALLOCATOR_MAX_ARGUMENT)
		return wrong(p, p->at, "arguments are numbered 1 to %d", ALLOCATOR_MAX_ARGUMENT);
	for (size_t i = 0; i < N_PLACES; i++)
		if (f->argument[i] == *p->at - '0')
			return wrong(p, at, "'%s' and '%s' are both argument %c", words[i],
				     words[place], *p->at);
	f->argument[place] = *p->at++ - '0';
	return 0;
}

static int parse_place(struct parser *p, struct allocator_spec_function *f, unsigned *seen)
{
	const char *at = p->at;
	_cleanup_free_ char *word = next_span(p, WORD);
	unsigned i;

	if (!word)
		return -ENOMEM;
	for (i = 0; i < N_WORDS; i++)
		if (strcmp(words[i], word) == 0)
			break;
	if (i == N_WORDS || !(roles[f->role].may & BIT(i)))
		return unknown_word(p, at, word, "place or property here", words, N_WORDS,
				    roles[f->role].may);
	if (*seen & BIT(i))
		return wrong(p, at, "'%s' is given twice", word);
	*seen |= BIT(i);
	if (*seen & BIT(WORD_RET) && *seen & BIT(PLACE_OUT))
		return wrong(p, at, "the block is either returned (ret) or put somewhere (out@N)");
	f->zero_frees |= i == WORD_ZERO_FREES;
	f->throws |= i == WORD_THROWS;
	return i < N_PLACES ? set_argument(p, f, i, at) : 0;
}

/* What was not said is as in the C function. */
static int fill_places(struct parser *p, struct allocator_spec_function *f, const char *at)
{
	for (size_t i = 0; i < N_PLACES; i++) {
		uint8_t otherwise = roles[f->role].otherwise[i];

		if (f->argument[i] || !otherwise)
			continue;
		for (size_t k = 0; k < N_PLACES; k++)
			if (f->argument[k] == otherwise)
				return wrong(p, at, "'%s' is argument %d, so say where '%s' is",
					     words[k], otherwise, words[i]);
		f->argument[i] = otherwise;
	}
	return 0;
}

static int parse_places(struct parser *p, struct allocator_spec_function *f, const char *at)
{
	unsigned seen = 0;
	int r = 0;

	if (skip_char(p, ':'))
		do
			r = parse_place(p, f, &seen);
		while (r == 0 && skip_char(p, ','));
	return r ? r : fill_places(p, f, at);
}

/* "0x1f40": an address as nm shows it. */
static int parse_address(struct parser *p, struct allocator_spec_function *f, const char *at)
{
	char *end;

	if (strncmp(f->name, "0x", 2) != 0)
		return f->name[0] >= '0' && f->name[0] <= '9' ?
			       wrong(p, at, "invalid symbol '%s'; addresses begin with 0x",
				     f->name) :
			       0;
	errno = 0;
	f->address = strtoull(f->name, &end, 16);
	if (errno || *end || end == f->name + 2 || !f->address)
		return wrong(p, at, "invalid address '%s'", f->name);
	return 0;
}

static int parse_function(struct parser *p, enum allocator_role role)
{
	const char *at = p->at;
	struct allocator_spec_function *f;

	if (p->spec.n_functions == MAX_FUNCTIONS)
		return wrong(p, at, "there are more than %d functions", MAX_FUNCTIONS);
	f = reallocarray(p->spec.functions, p->spec.n_functions + 1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	p->spec.functions = f;
	f += p->spec.n_functions;
	*f = (struct allocator_spec_function){ .role = role, .name = next_span(p, SYMBOL) };
	if (!f->name)
		return -ENOMEM;
	p->spec.n_functions++;
	if (!*f->name)
		return wrong(p, at, "give the function's symbol, or its address with 0x");
	if (parse_address(p, f, at) < 0)
		return strbuf_error(p->error) < 0 ? -ENOMEM : -EINVAL;
	return parse_places(p, f, at);
}

static int parse_object(struct parser *p)
{
	size_t len = strcspn(p->at, ";");

	if (p->spec.object)
		return wrong(p, p->at, "there is one object in a value: give '--allocator' twice");
	if (!len)
		return wrong(p, p->at, "give the name of a file, such as libpool.so.1");
	if (len > PATH_MAX)
		return wrong(p, p->at, "no file has so long a name");
	p->spec.object = strndup(p->at, len);
	p->at += len;
	return p->spec.object ? 0 : -ENOMEM;
}

static int parse_part(struct parser *p)
{
	const char *names[N_ROLES + 1];
	const char *at = p->at;
	_cleanup_free_ char *word = next_span(p, WORD);
	size_t i;

	if (!word)
		return -ENOMEM;
	for (i = 0; i < N_ROLES; i++)
		names[i] = roles[i].name;
	names[N_ROLES] = "object";
	for (i = 0; i <= N_ROLES; i++)
		if (strcmp(names[i], word) == 0)
			break;
	if (i > N_ROLES)
		return unknown_word(p, at, word, "role", names, N_ROLES + 1, ~0U);
	if (!skip_char(p, '='))
		return wrong(p, p->at, "a '=' is missing after '%s'", word);
	return i == N_ROLES ? parse_object(p) : parse_function(p, (enum allocator_role)i);
}

static int parse_spec(struct parser *p)
{
	int r;

	do
		r = parse_part(p);
	while (r == 0 && skip_char(p, ';'));
	if (r == 0 && *p->at)
		return wrong(p, p->at, "this cannot follow here");
	if (r == 0 && !p->spec.n_functions)
		return wrong(p, p->at, "no function is named");
	for (size_t i = 0; r == 0 && i < p->spec.n_functions; i++)
		if (p->spec.functions[i].address && !p->spec.object)
			return wrong(p, p->at, "the address %s needs 'object=FILE' beside it",
				     p->spec.functions[i].name);
	return r;
}

int allocator_spec_parse(const char *text, struct allocator_spec *ret_spec, struct strbuf *error)
{
	_cleanup_(parser_done) struct parser p = { .error = error };
	int r;

	p.spec.text = strdup(text);
	if (!p.spec.text)
		return -ENOMEM;
	p.at = p.spec.text;
	r = parse_spec(&p);
	if (r < 0)
		return r;
	*ret_spec = p.spec;
	p.spec = (struct allocator_spec){ 0 };
	return 0;
}
