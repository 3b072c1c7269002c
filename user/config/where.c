/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/where.h"

#include "base/glob.h"
#include "base/vec.h"
#include "config/key.h"
#include "config/near_name.h"
#include "config/units.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const char *const classes[] = { "heap", "mmap", NULL };
static const char *const verdicts[] = { "leak", "growing", "cache", "steady", NULL };
static const char *const leaks[] = { "definite", "indirect", "possible", "reachable", NULL };

static key_fn apply_percent, apply_name, apply_choice;

#define NUMBER(name, kind)                                                                         \
	{                                                                                          \
		"", name, kind, KEY_FIELD(struct where_test, number)                               \
	}
#define NAME(name)                                                                                 \
	{                                                                                          \
		"", name, KEY_OWN, .apply = apply_name                                             \
	}
#define CHOICE(name, words)                                                                        \
	{                                                                                          \
		"", name, KEY_CHOICE, KEY_FIELD(struct where_test, number), .choices = words,      \
									    .apply = apply_choice  \
	}

/* clang-format off */
static const struct key fields[WHERE_FIELDS] = {
	[WHERE_LIVE] = NUMBER("live", KEY_SIZE),
	[WHERE_BLOCKS] = NUMBER("blocks", KEY_SIZE),
	[WHERE_PEAK] = NUMBER("peak", KEY_SIZE),
	[WHERE_ALLOCATED] = NUMBER("allocated", KEY_SIZE),
	[WHERE_ALLOCS] = NUMBER("allocs", KEY_SIZE),
	[WHERE_SIZE] = NUMBER("size", KEY_SIZE),
	[WHERE_TEMPORARY] = { "", "temporary", KEY_OWN, .apply = apply_percent,
			      .expected = "a percentage from 0 to 100" },
	[WHERE_OLDEST] = NUMBER("oldest", KEY_TIME),
	[WHERE_NEWEST] = NUMBER("newest", KEY_TIME),
	[WHERE_LIFETIME] = NUMBER("lifetime", KEY_TIME),
	[WHERE_PID] = NUMBER("pid", KEY_SIZE),
	[WHERE_FUNCTION] = NAME("function"),
	[WHERE_FILE] = NAME("file"),
	[WHERE_OBJECT] = NAME("object"),
	[WHERE_PROCESS] = NAME("process"),
	[WHERE_CLASS] = CHOICE("class", classes),
	[WHERE_GROWTH] = CHOICE("growth", verdicts),
	[WHERE_LEAK] = CHOICE("leak", leaks),
};
/* clang-format on */

static int apply_percent(void *object, const struct key *key, const char *value,
			 struct strbuf *error)
{
	const char *end = strchrnul(value, '%');
	struct where_test *test = object;

	if (parse_digits(value, end, &test->number) < 0 || test->number > 100 || (*end && end[1]))
		return key_refuse(key, value, error);
	return 0;
}

static int apply_name(void *object, const struct key *key, const char *value, struct strbuf *error)
{
	struct where_test *test = object;

	(void)key, (void)error; /* each text is a pattern */
	test->text = strdup(value);
	return test->text ? 0 : -ENOMEM;
}

static int apply_choice(void *object, const struct key *key, const char *value,
			struct strbuf *error)
{
	int r = key_set(object, key, value, error);

	return r ? r : apply_name(object, key, value, error);
}

/* In the order in which they are carried out: operands, then what joins them. */
enum step_kind { STEP_TEST, STEP_NOT, STEP_AND, STEP_OR };

struct step {
	enum step_kind kind;
	size_t test;
};

struct where {
	struct where_test tests[WHERE_TESTS];
	size_t n_tests;
	VEC(struct step) steps;
};

enum token { TOKEN_END, TOKEN_WORD, TOKEN_QUOTED, TOKEN_OP, TOKEN_OPEN, TOKEN_CLOSE };

struct parser {
	const char *text, *at;
	struct strbuf *error;
	struct where *where;
	unsigned int depth;
	enum token token; /* the one at hand */
	const char *start;
	struct strbuf word; /* of a word or of what is between quotes */
	enum where_op op;
};

__attribute__((format(printf, 3, 4))) static int wrong(struct parser *p, const char *where,
						       const char *fmt, ...)
{
	_cleanup_strbuf_ struct strbuf text = { 0 };
	va_list args;

	va_start(args, fmt);
	strbuf_vaddf(&text, fmt, args);
	va_end(args);
	return config_error(p->error, "column %zu: %s", (size_t)(where - p->text) + 1,
			    strbuf_str(&text));
}

static int next_operator(struct parser *p)
{
	static const struct {
		const char *text;
		enum where_op op;
	} ops[] = {
		{ "==", WHERE_EQ }, { "!=", WHERE_NE }, { "<=", WHERE_LE }, { ">=", WHERE_GE },
		{ "=", WHERE_EQ },  { "<", WHERE_LT },	{ ">", WHERE_GT },
	};

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		size_t len = strlen(ops[i].text);

		if (strncmp(p->at, ops[i].text, len) != 0)
			continue;
		p->at += len;
		p->op = ops[i].op;
		p->token = TOKEN_OP;
		return 0;
	}
	return wrong(p, p->at, "'!' stands only in '!='; write 'not'");
}

static int next_quoted(struct parser *p)
{
	const char *end = strchr(p->at + 1, *p->at);

	if (!end)
		return wrong(p, p->at, "the quote has no end");
	strbuf_add(&p->word, p->at + 1, (size_t)(end - p->at) - 1);
	p->at = end + 1;
	p->token = TOKEN_QUOTED;
	return strbuf_error(&p->word);
}

static int next(struct parser *p)
{
	size_t len;

	strbuf_reset(&p->word);
	p->at += strspn(p->at, " \t\r\n");
	p->start = p->at;
	switch (*p->at) {
	case '\0':
		p->token = TOKEN_END;
		return 0;
	case '(':
	case ')':
		p->token = *p->at++ == '(' ? TOKEN_OPEN : TOKEN_CLOSE;
		return 0;
	case '=':
	case '!':
	case '<':
	case '>':
		return next_operator(p);
	case '"':
	case '\'':
		return next_quoted(p);
	default:
		len = strcspn(p->at, " \t\r\n()=!<>\"'");
		strbuf_add(&p->word, p->at, len);
		p->at += len;
		p->token = TOKEN_WORD;
		return strbuf_error(&p->word);
	}
}

static bool is_word(const struct parser *p, const char *word)
{
	return p->token == TOKEN_WORD && strcmp(strbuf_str(&p->word), word) == 0;
}

/* What follows is not what could. */
static int unexpected(struct parser *p, const char *wanted)
{
	if (p->token == TOKEN_END)
		return wrong(p, p->start, "%s is missing", wanted);
	return wrong(p, p->start, "%s is missing before '%.*s'", wanted, (int)(p->at - p->start),
		     p->start);
}

static int add_step(struct parser *p, enum step_kind kind, size_t test)
{
	return vec_push(&p->where->steps, (struct step){ kind, test });
}

static int parse_field(struct parser *p, enum where_field *ret_field)
{
	_cleanup_strbuf_ struct strbuf names = { 0 };
	const char *word = strbuf_str(&p->word), *best;
	struct near_name near;

	if (p->token != TOKEN_WORD)
		return unexpected(p, "a field");
	near_name_init(&near, word);
	for (size_t i = 0; i < WHERE_FIELDS; i++) {
		if (strcmp(word, fields[i].name) == 0) {
			*ret_field = (enum where_field)i;
			return 0;
		}
		near_name_offer(&near, fields[i].name);
		strbuf_addf(&names, "%s%s", i ? " " : "", fields[i].name);
	}
	best = near_name_get(&near);
	if (best)
		return wrong(p, p->start, "unknown field '%s'; did you mean '%s'?", word, best);
	return wrong(p, p->start, "unknown field '%s'; fields are: %s", word, strbuf_str(&names));
}

static int parse_value(struct parser *p, struct where_test *test)
{
	_cleanup_strbuf_ struct strbuf why = { 0 };
	int r = key_apply(test, &fields[test->field], strbuf_str(&p->word), &why);

	return r == -EINVAL ? wrong(p, p->start, "%s", strbuf_str(&why)) : r;
}

static int parse_comparison(struct parser *p)
{
	struct where_test *test;
	bool is_text;
	int r;

	if (p->where->n_tests == WHERE_TESTS)
		return wrong(p, p->start, "there are more than %d comparisons", WHERE_TESTS);
	test = &p->where->tests[p->where->n_tests];
	r = parse_field(p, &test->field);
	if (r == 0)
		r = next(p);
	if (r < 0)
		return r;
	is_text = test->field >= WHERE_FUNCTION;
	if (p->token != TOKEN_OP)
		return unexpected(p, "a comparison (= != < <= > >=)");
	if (is_text && p->op != WHERE_EQ && p->op != WHERE_NE)
		return wrong(p, p->start, "'%s' is compared by = and != alone",
			     fields[test->field].name);
	test->op = p->op;
	r = next(p);
	if (r == 0 && p->token != TOKEN_WORD && p->token != TOKEN_QUOTED)
		return unexpected(p, "a value");
	if (r == 0)
		r = parse_value(p, test);
	if (r == 0)
		r = add_step(p, STEP_TEST, p->where->n_tests++);
	return r < 0 ? r : next(p);
}

static int parse_or(struct parser *p);

static int parse_not(struct parser *p)
{
	bool negated = is_word(p, "not");
	int r;

	if (!negated && p->token != TOKEN_OPEN)
		return parse_comparison(p);
	if (p->depth == WHERE_DEPTH)
		return wrong(p, p->start, "it is nested more than %d deep", WHERE_DEPTH);
	p->depth++;
	r = next(p);
	if (r == 0)
		r = negated ? parse_not(p) : parse_or(p);
	p->depth--;
	if (r < 0)
		return r;
	if (negated)
		return add_step(p, STEP_NOT, 0);
	return p->token == TOKEN_CLOSE ? next(p) : unexpected(p, "')'");
}

static int parse_and(struct parser *p)
{
	int r = parse_not(p);

	while (r == 0 && is_word(p, "and")) {
		r = next(p);
		if (r == 0)
			r = parse_not(p);
		if (r == 0)
			r = add_step(p, STEP_AND, 0);
	}
	return r;
}

static int parse_or(struct parser *p)
{
	int r = parse_and(p);

	while (r == 0 && is_word(p, "or")) {
		r = next(p);
		if (r == 0)
			r = parse_and(p);
		if (r == 0)
			r = add_step(p, STEP_OR, 0);
	}
	return r;
}

int where_parse(const char *text, struct where **ret_where, struct strbuf *error)
{
	_cleanup_(where_free_p) struct where *where = calloc(1, sizeof(*where));
	struct parser p = { .text = text, .at = text, .error = error, .where = where };
	int r;

	if (!where)
		return -ENOMEM;
	r = next(&p);
	if (r == 0)
		r = parse_or(&p);
	if (r == 0 && p.token != TOKEN_END)
		r = unexpected(&p, "'and' or 'or'");
	strbuf_done(&p.word);
	if (r < 0)
		return r;
	*ret_where = TAKE_PTR(where);
	return 0;
}

void where_free(struct where *where)
{
	if (!where)
		return;
	for (size_t i = 0; i < WHERE_TESTS; i++)
		free(where->tests[i].text);
	vec_done(&where->steps);
	free(where);
}

/* Each comparison puts a value on the stack, so there are no more values than comparisons. */
bool where_holds(const struct where *where, where_fn fn, void *userdata)
{
	bool values[WHERE_TESTS + 1];
	size_t n = 0;

	vec_foreach(&where->steps, step) {
		if (step->kind == STEP_TEST) {
			values[n++] = fn(&where->tests[step->test], userdata);
		} else if (step->kind == STEP_NOT) {
			values[n - 1] = !values[n - 1];
		} else {
			n--;
			values[n - 1] = step->kind == STEP_AND ? values[n - 1] && values[n] :
								 values[n - 1] || values[n];
		}
	}
	return values[0];
}

bool where_compare(const struct where_test *test, uint64_t value)
{
	switch (test->op) {
	case WHERE_EQ:
		return value == test->number;
	case WHERE_NE:
		return value != test->number;
	case WHERE_LT:
		return value < test->number;
	case WHERE_LE:
		return value <= test->number;
	case WHERE_GT:
		return value > test->number;
	case WHERE_GE:
		return value >= test->number;
	}
	return false;
}

bool where_matches(const struct where_test *test, const char *text)
{
	return glob_match(test->text, text, strlen(text));
}
