/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/key.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "config/near_name.h"
#include "config/units.h"
#include "config/words.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SPELLING_LEN 64

int config_error(struct strbuf *error, const char *fmt, ...)
{
	va_list ap;

	strbuf_reset(error);
	va_start(ap, fmt);
	strbuf_vaddf(error, fmt, ap);
	va_end(ap);
	return strbuf_error(error) < 0 ? -ENOMEM : -EINVAL;
}

/* --- what errors say to give ------------------------------------------------------------------ */

/* In the largest unit of which it is a multiple: "64k", "30d". */
static void add_in_unit(struct strbuf *out, uint64_t value, uint64_t base, const char *const *units,
			const uint64_t *factors)
{
	uint64_t factor = base;
	size_t i = 0;

	while (units[i + 1] && value >= factor * factors[i] && value % (factor * factors[i]) == 0)
		factor *= factors[i++];
	strbuf_addf(out, "%" PRIu64 "%s", value / factor, units[i]);
}

static void add_limit(struct strbuf *out, enum key_kind kind, uint64_t value)
{
	static const char *const sizes[] = { "", "k", "M", "G", "T", NULL };
	static const uint64_t size_factors[] = { 1024, 1024, 1024, 1024 };
	static const char *const times[] = { "s", "m", "h", "d", NULL };
	static const uint64_t time_factors[] = { 60, 60, 24 };

	if (kind == KEY_SIZE)
		add_in_unit(out, value, 1, sizes, size_factors);
	else if (kind == KEY_TIME)
		add_in_unit(out, value, SECOND_NS, times, time_factors);
	else if (kind == KEY_SHARE)
		strbuf_addf(out, value % 100 ? "%" PRIu64 ".%02" PRIu64 "%%" : "%" PRIu64 "%%",
			    value / 100, value % 100);
	else
		strbuf_addf(out, "%" PRIu64, value);
}

static void add_range(struct strbuf *out, const struct key *key)
{
	strbuf_adds(out, key->kind == KEY_TIME	? "a time from " :
			 key->kind == KEY_SHARE ? "one from " :
						  "");
	add_limit(out, key->kind, key->least);
	strbuf_adds(out, " to ");
	add_limit(out, key->kind, key->most);
}

static void add_choices(struct strbuf *out, const struct key *key, const char *comma)
{
	for (size_t i = 0; key->choices[i]; i++)
		strbuf_addf(out, "%s%s", i ? comma : "", key->choices[i]);
}

/* Of numbers: `out_of_range`, or none at all. */
static void add_expected(struct strbuf *out, const struct key *key, bool out_of_range)
{
	if (key->expected) {
		strbuf_adds(out, key->expected);
	} else if (key->kind == KEY_BOOL) {
		strbuf_adds(out, "yes or no");
	} else if (key->kind == KEY_CHOICE) {
		strbuf_adds(out, "one of ");
		add_choices(out, key, ", ");
	} else if (key->kind == KEY_SET) {
		strbuf_adds(out, "all, none, or some of ");
		add_choices(out, key, ",");
	} else if (key->kind == KEY_PATH) {
		strbuf_adds(out, "an absolute path");
	} else if (key->most) {
		add_range(out, key);
	} else if (out_of_range && key->least == 1) {
		strbuf_adds(out, "more than 0");
	} else if (out_of_range) {
		add_limit(out, key->kind, key->least);
		strbuf_adds(out, " or more");
	} else if (key->kind == KEY_TIME) {
		strbuf_adds(out, "seconds, or a number with ms, s, m, h or d behind it");
	} else if (key->kind == KEY_SIZE) {
		strbuf_adds(out, "a number, or one with k, M, G or T behind it");
	} else {
		strbuf_adds(out, "a number");
	}
}

static bool lacks_percent_sign(const char *value)
{
	_cleanup_strbuf_ struct strbuf percent = {};
	uint64_t share;

	strbuf_addf(&percent, "%s%%", value);
	return strbuf_error(&percent) == 0 && parse_share(strbuf_str(&percent), &share) == 0;
}

static int refuse_value(const struct key *key, const char *value, bool out_of_range,
			struct strbuf *error)
{
	_cleanup_strbuf_ struct strbuf expected = {};

	if (key->kind == KEY_SHARE && lacks_percent_sign(value))
		return config_error(error,
				    "invalid %s '%s': the percent sign is missing; give %s%%",
				    key->name, value, value);
	add_expected(&expected, key, out_of_range);
	if (strbuf_error(&expected) < 0)
		return -ENOMEM;
	return config_error(error, "invalid %s '%s': expected %s", key->name, value,
			    strbuf_str(&expected));
}

int key_refuse(const struct key *key, const char *value, struct strbuf *error)
{
	return refuse_value(key, value, false, error);
}

/* --- values ----------------------------------------------------------------------------------- */

static void *field_of(void *object, const struct key *key)
{
	return (char *)object + key->offset;
}

/* Into a bool, an enum, or a number of 32 or 64 bits, which `value` fits into. */
static void store_number(void *object, const struct key *key, uint64_t value)
{
	void *field = field_of(object, key);
	uint32_t value32 = (uint32_t)value;
	bool truth = value;

	if (key->width == sizeof(bool))
		memcpy(field, &truth, sizeof(truth));
	else if (key->width == sizeof(uint32_t))
		memcpy(field, &value32, sizeof(value32));
	else
		memcpy(field, &value, sizeof(value));
}

static int parse_time(const struct key *key, const char *value, uint64_t *ret_ns)
{
	int r = key->unit_ns ? parse_digits(value, value + strlen(value), ret_ns) : -EINVAL;

	if (r == -EINVAL)
		return parse_duration(value, ret_ns);
	return r == 0 && __builtin_mul_overflow(*ret_ns, key->unit_ns, ret_ns) ? -ERANGE : r;
}

static int parse_number(const struct key *key, const char *value, uint64_t *ret_number)
{
	switch (key->kind) {
	case KEY_SIZE:
		return parse_size(value, ret_number);
	case KEY_SHARE:
		return parse_share(value, ret_number);
	case KEY_TIME:
		return parse_time(key, value, ret_number);
	default:
		return parse_digits(value, value + strlen(value), ret_number);
	}
}

static int set_number(void *object, const struct key *key, const char *value, struct strbuf *error)
{
	uint64_t number;
	int r = parse_number(key, value, &number);

	if (r == -ERANGE && !key->most && !key->expected)
		return config_error(error, "'%s' is too large for '%s'", value, key->name);
	if (r < 0)
		return refuse_value(key, value, false, error);
	if (number < key->least || (key->most && number > key->most))
		return refuse_value(key, value, true, error);
	store_number(object, key, number);
	return 0;
}

/* The index, or -1. */
static int find_choice(const struct key *key, const char *name, size_t len)
{
	for (int i = 0; key->choices[i]; i++)
		if (strlen(key->choices[i]) == len && memcmp(key->choices[i], name, len) == 0)
			return i;
	return -1;
}

static int set_choice(void *object, const struct key *key, const char *value, struct strbuf *error)
{
	int i = find_choice(key, value, strlen(value));

	if (i < 0)
		return key_refuse(key, value, error);
	store_number(object, key, (uint64_t)i);
	return 0;
}

static int set_bits(void *object, const struct key *key, const char *value, struct strbuf *error)
{
	uint64_t set = 0;

	if (strcmp(value, "all") == 0 || strcmp(value, "none") == 0) {
		for (int i = 0; *value == 'a' && key->choices[i]; i++)
			set |= 1U << i;
		store_number(object, key, set);
		return 0;
	}
	for (const char *at = value;; at++) {
		size_t len = strcspn(at, ",");
		int i = find_choice(key, at, len);

		if (i < 0)
			return key_refuse(key, value, error);
		set |= 1U << i;
		at += len;
		if (*at == '\0')
			break;
	}
	store_number(object, key, set);
	return 0;
}

static int set_text(void *object, const struct key *key, const char *value)
{
	char **field = field_of(object, key), *copy = strdup(value);

	if (!copy)
		return -ENOMEM;
	free(*field);
	*field = copy;
	return 0;
}

static int add_text(void *object, const struct key *key, const char *value, struct strbuf *error)
{
	char ***field = field_of(object, key), **texts;
	size_t n = 0;

	while (*field && (*field)[n])
		n++;
	if (key->most && n == key->most)
		return config_error(error, "there are more than %zu lines '%s'", n, key->name);
	texts = reallocarray(*field, n + 2, sizeof(*texts));
	if (!texts)
		return -ENOMEM;
	*field = texts;
	texts[n] = strdup(value);
	texts[n + 1] = NULL;
	return texts[n] ? 0 : -ENOMEM;
}

int key_set_limit(void *object, const struct key *key, const char *value, struct strbuf *error)
{
	if (strcmp(value, "none") != 0 && strcmp(value, "no") != 0)
		return key_set(object, key, value, error);
	store_number(object, key, 0);
	return 0;
}

int key_set(void *object, const struct key *key, const char *value, struct strbuf *error)
{
	if ((key->kind == KEY_TEXT || key->kind == KEY_LIST) && *value == '\0')
		return config_error(error, "'%s' needs %s", key->name,
				    key->expected ? key->expected : "a value");
	switch (key->kind) {
	case KEY_FLAG:
		store_number(object, key, key->stored ? key->stored : 1);
		return 0;
	case KEY_BOOL:
		if (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0)
			return key_refuse(key, value, error);
		store_number(object, key, *value == 'y');
		return 0;
	case KEY_CHOICE:
		return set_choice(object, key, value, error);
	case KEY_SET:
		return set_bits(object, key, value, error);
	case KEY_NUMBER:
	case KEY_SIZE:
	case KEY_TIME:
	case KEY_SHARE:
		return set_number(object, key, value, error);
	case KEY_PATH:
		if (*value != '/')
			return key_refuse(key, value, error);
		return set_text(object, key, value);
	case KEY_TEXT:
		return set_text(object, key, value);
	case KEY_LIST:
		return add_text(object, key, value, error);
	case KEY_OWN:
		break;
	}
	return -EINVAL;
}

int key_apply(void *object, const struct key *key, const char *value, struct strbuf *error)
{
	if (!value)
		value = key->implied;
	return (key->apply ? key->apply : key_set)(object, key, value, error);
}

/* --- tables ----------------------------------------------------------------------------------- */

int key_table_init(const struct key_table *table, void *object)
{
	_cleanup_strbuf_ struct strbuf error = {};
	int r = 0;

	for (size_t i = 0; r == 0 && i < table->n; i++)
		if (table->keys[i].fallback)
			r = key_apply(object, &table->keys[i], table->keys[i].fallback, &error);
	return r;
}

void key_table_done(const struct key_table *table, void *object)
{
	for (size_t i = 0; i < table->n; i++) {
		const struct key *key = &table->keys[i];

		if (key->kind == KEY_TEXT || key->kind == KEY_PATH)
			free(*(char **)field_of(object, key));
		else if (key->kind == KEY_LIST)
			words_free(*(char ***)field_of(object, key));
	}
}

const struct key *key_table_find(const struct key_table *table, const char *section,
				 const char *name)
{
	for (const struct key *key = table->keys; key < table->keys + table->n; key++)
		if (strcmp(key->section, section) == 0 && strcmp(key->name, name) == 0)
			return key;
	return NULL;
}

/* Of a section that is known the names alone are compared, else the spellings "[http] listen". */
static int unknown(const struct key_table *table, const char *section, const char *name,
		   struct strbuf *error)
{
	char spellings[KEY_LINES][SPELLING_LEN], given[SPELLING_LEN];
	struct near_name in_section, anywhere;
	const char *key, *spelling;
	bool is_known = false;

	if (*section == '\0')
		return config_error(
			error, "'%s' stands before any section: put it below one, as [http]", name);
	/* What is longer is near to none. */
	(void)snprintf(given, sizeof(given), "[%s] %s", section, name);
	near_name_init(&in_section, name);
	near_name_init(&anywhere, given);
	for (size_t i = 0; i < table->n && i < KEY_LINES; i++) {
		(void)snprintf(spellings[i], SPELLING_LEN, "[%s] %s", table->keys[i].section,
			       table->keys[i].name); /* fits */
		near_name_offer(&anywhere, spellings[i]);
		if (strcmp(table->keys[i].section, section) != 0)
			continue;
		is_known = true;
		near_name_offer(&in_section, table->keys[i].name);
	}
	key = is_known ? near_name_get(&in_section) : NULL;
	spelling = is_known ? NULL : near_name_get(&anywhere);
	if (key)
		return config_error(error, "unknown key '[%s] %s'; did you mean '[%s] %s'?",
				    section, name, section, key);
	if (spelling)
		return config_error(error, "unknown key '[%s] %s'; did you mean '%s'?", section,
				    name, spelling);
	return config_error(error, "unknown key '[%s] %s'; memtraced.conf(5) lists the keys",
			    section, name);
}

int key_table_set(const struct key_table *table, void *object, unsigned int *lines,
		  unsigned int line, const char *section, const char *name, const char *value,
		  struct strbuf *error)
{
	const struct key *key = key_table_find(table, section, name);

	if (!key)
		return unknown(table, section, name, error);
	if (lines[key - table->keys] && !key->repeats)
		return config_error(error, "'%s' is given twice: give it once", name);
	lines[key - table->keys] = line;
	if (*value == '\0')
		return config_error(error, "'%s' has no value: give one, or leave the line out",
				    name);
	return key_apply(object, key, value, error);
}

/* --- sections with a name --------------------------------------------------------------------- */

bool key_section_is(const char *section, const char *kind)
{
	size_t len = strlen(kind);

	return strncmp(section, kind, len) == 0 && (section[len] == '\0' || section[len] == ' ');
}

/* The name in it, a part of `section`; NULL: it is not well-formed. */
static const char *section_name(const char *section, const char *kind)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789-_.";
	const char *name = section + strlen(kind);

	name += strspn(name, " ");
	return *name && !name[strspn(name, letters)] && strlen(name) <= KEY_SECTION_NAME_MOST ?
		       name :
		       NULL;
}

static struct key_section *section_at(const struct key_sections *of, void *list, size_t i)
{
	return (struct key_section *)((char *)list + i * of->size);
}

static void section_done(const struct key_sections *of, struct key_section *section)
{
	if (of->done)
		of->done(section);
	free(section->name);
	key_table_done(of->table, section);
}

static int add_section(const struct key_sections *of, void **list, size_t *n, const char *name,
		       unsigned int line)
{
	void *grown = reallocarray(*list, *n + 1, of->size);
	struct key_section *section;

	if (!grown)
		return -ENOMEM;
	*list = grown;
	section = section_at(of, grown, *n);
	memset(section, 0, of->size);
	section->name = strdup(name);
	section->line = line;
	if (!section->name || key_table_init(of->table, section) < 0) {
		section_done(of, section);
		return -ENOMEM;
	}
	++*n;
	return 0;
}

int key_sections_set(const struct key_sections *of, void **list, size_t *n, const char *section,
		     unsigned int line, const char *name, const char *value, struct strbuf *why)
{
	struct key_section *found;
	const char *wanted = section_name(section, of->kind);
	size_t i = 0;
	int r = 0;

	if (!wanted)
		return config_error(
			why,
			"invalid section [%s]: expected a name of letters, digits, '-', '_' and "
			"'.', %d at most, as in [%s one]",
			section, KEY_SECTION_NAME_MOST, of->kind);
	while (i < *n && strcmp(section_at(of, *list, i)->name, wanted) != 0)
		i++;
	if (i == of->most)
		return config_error(why, "there are more than %zu %s", of->most, of->many);
	if (i == *n)
		r = add_section(of, list, n, wanted, line);
	if (r < 0)
		return r;
	found = section_at(of, *list, i);
	return key_table_set(of->table, found, found->lines, line, of->kind, name, value, why);
}

void key_sections_done(const struct key_sections *of, void *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		section_done(of, section_at(of, list, i));
	free(list);
}
