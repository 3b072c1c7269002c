/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/kallsyms.h"

#include "base/strbuf.h"
#include "base/vec.h"
#include "symbol/range_map.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#define PAGE 4096u
#define NO_MODULE UINT64_MAX

struct symbol_line {
	uint64_t start;
	char type;
	const char *name, *module; /* in the text; module NULL: none */
	size_t name_len, module_len;
};

/* Any symbol, for where others end; data too. */
struct entry {
	uint64_t start;
	uint64_t rank;	    /* of aliases the highest wins; 0: no function */
	uint64_t name_at;   /* in `strings` */
	uint64_t module_at; /* in `strings`, or NO_MODULE */
};

struct kallsyms {
	struct strbuf strings;
	uint64_t last_module_at; /* lines of one module stand together */
	VEC(struct entry) entries;
	struct range_map ranges;
	size_t count;
	uint64_t malformed;
};

/* strtoull would take signs, blanks and "0x". Returns the digits read, 0 when they are too many. */
static size_t parse_address(const char *s, size_t len, uint64_t *ret)
{
	static const char digits[] = "0123456789abcdef";
	uint64_t value = 0;
	size_t n;

	for (n = 0; n < len; n++) {
		const char *digit = s[n] ? strchr(digits, s[n]) : NULL;

		if (!digit)
			break;
		if (value >> 60)
			return 0;
		value = value << 4 | (uint64_t)(digit - digits);
	}
	*ret = value;
	return n;
}

/* "ffffffffc0a81000 t nft_do_chain\t[nf_tables]" */
static bool parse_line(const char *line, size_t len, struct symbol_line *ret)
{
	struct symbol_line s = { 0 };
	size_t n = parse_address(line, len, &s.start);
	const char *end = line + len, *tab;

	if (n == 0 || len - n < 4 || line[n] != ' ' || line[n + 2] != ' ')
		return false;
	s.type = line[n + 1];
	s.name = line + n + 3;
	if (!isalpha((unsigned char)s.type) || memchr(line, '\0', len))
		return false;
	tab = memchr(s.name, '\t', (size_t)(end - s.name));
	s.name_len = (size_t)((tab ? tab : end) - s.name);
	if (tab) {
		if (end - tab < 4 || tab[1] != '[' || end[-1] != ']')
			return false;
		s.module = tab + 2;
		s.module_len = (size_t)(end - 1 - s.module);
	}
	*ret = s;
	return s.name_len > 0;
}

/* Of aliases the global one with the fewest leading underscores, as for the symbols of a file. */
static uint64_t rank_of(const struct symbol_line *s)
{
	size_t underscores = 0;

	if (!strchr("tTwW", s->type))
		return 0;
	while (underscores < s->name_len && s->name[underscores] == '_')
		underscores++;
	return 1 + (255 - (underscores < 255 ? underscores : 255)) + (s->type == 'T' ? 256 : 0);
}

static uint64_t add_string(struct kallsyms *k, const char *s, size_t len)
{
	uint64_t at = k->strings.len;

	strbuf_add(&k->strings, s, len);
	strbuf_addch(&k->strings, '\0');
	return at;
}

static uint64_t add_module(struct kallsyms *k, const struct symbol_line *s)
{
	const char *last;

	if (!s->module)
		return NO_MODULE;
	last = strbuf_str(&k->strings) + (k->last_module_at != NO_MODULE ? k->last_module_at : 0);
	if (k->last_module_at == NO_MODULE || strlen(last) != s->module_len ||
	    memcmp(last, s->module, s->module_len) != 0)
		k->last_module_at = add_string(k, s->module, s->module_len);
	return k->last_module_at;
}

static int add_line(struct kallsyms *k, const char *line, size_t len)
{
	struct entry entry;
	struct symbol_line s;

	if (len == 0)
		return 0;
	if (!parse_line(line, len, &s)) {
		k->malformed++;
		return 0;
	}
	/* Hidden from this reader; or an offset in the per-CPU area, which is no address. */
	if (s.start < PAGE || s.start == UINT64_MAX || strchr("aA", s.type))
		return 0;
	entry = (struct entry){ .start = s.start, .rank = rank_of(&s) };
	entry.module_at = add_module(k, &s);
	if (entry.rank > 0)
		entry.name_at = add_string(k, s.name, s.name_len);
	return strbuf_error(&k->strings) < 0 ? -ENOMEM : vec_push(&k->entries, entry);
}

static int compare_entries(const void *item_a, const void *item_b)
{
	const struct entry *a = item_a, *b = item_b;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	/* Of equal rank the first in the text wins, whose name stands first. */
	if (a->rank != b->rank)
		return a->rank > b->rank ? -1 : 1;
	return (a->name_at > b->name_at) - (a->name_at < b->name_at);
}

/*
 * Where a function ends whose next symbol is at `next` (0: none). What lies between two modules is
 * neither's: the last function of one is taken to end within the page after its start.
 */
static uint64_t end_of(const struct entry *entry, const struct entry *next)
{
	uint64_t end;

	if (__builtin_add_overflow(entry->start | (PAGE - 1), PAGE + 1, &end))
		end = UINT64_MAX;
	if (next && (next->module_at == entry->module_at || next->start < end))
		end = next->start;
	return end;
}

/* Of entries at one address the first is the best, and all end at the next address. */
static int add_ranges(struct kallsyms *k)
{
	struct entry *entries = k->entries.data;
	size_t n = k->entries.len, next;
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i = next) {
		for (next = i + 1; next < n && entries[next].start == entries[i].start; next++)
			;
		if (entries[i].rank == 0)
			continue;
		r = range_map_add(&k->ranges, entries[i].start,
				  end_of(&entries[i], next < n ? &entries[next] : NULL), 0, i);
		k->count++;
	}
	return r == 0 ? range_map_build(&k->ranges) : r;
}

int kallsyms_new(const char *text, size_t len, struct kallsyms **ret_kallsyms)
{
	_cleanup_(kallsyms_free_p) struct kallsyms *k = calloc(1, sizeof(*k));
	const char *line = text, *end = text + len, *line_end;
	int r = 0;

	if (!k)
		return -ENOMEM;
	k->last_module_at = NO_MODULE;
	for (; r == 0 && line < end; line = line_end + 1) {
		line_end = memchr(line, '\n', (size_t)(end - line));
		if (!line_end)
			line_end = end;
		r = add_line(k, line, (size_t)(line_end - line));
	}
	if (r < 0)
		return r;
	vec_sort(&k->entries, compare_entries);
	r = add_ranges(k);
	if (r < 0)
		return r;
	*ret_kallsyms = TAKE_PTR(k);
	return 0;
}

void kallsyms_free(struct kallsyms *kallsyms)
{
	if (!kallsyms)
		return;
	range_map_done(&kallsyms->ranges);
	vec_done(&kallsyms->entries);
	strbuf_done(&kallsyms->strings);
	free(kallsyms);
}

bool kallsyms_find(const struct kallsyms *kallsyms, uint64_t addr,
		   struct kallsyms_symbol *ret_symbol)
{
	const char *strings = strbuf_str(&kallsyms->strings);
	const struct entry *entry;
	uint64_t i;

	if (!range_map_find(&kallsyms->ranges, addr, &i))
		return false;
	entry = &kallsyms->entries.data[i];
	*ret_symbol = (struct kallsyms_symbol){
		.start = entry->start,
		.name = strings + entry->name_at,
		.module = entry->module_at == NO_MODULE ? NULL : strings + entry->module_at,
	};
	return true;
}

size_t kallsyms_count(const struct kallsyms *kallsyms)
{
	return kallsyms->count;
}

uint64_t kallsyms_malformed(const struct kallsyms *kallsyms)
{
	return kallsyms->malformed;
}
