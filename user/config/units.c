/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/units.h"

#include "base/saturate.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define N_ELEMENTS(a) (sizeof(a) / sizeof((a)[0]))

#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)
#define TIB (UINT64_C(1) << 40)
#define PIB (UINT64_C(1) << 50)
#define EIB (UINT64_C(1) << 60)

#define US UINT64_C(1000)
#define MS (1000 * US)
#define SEC (1000 * MS)
#define MIN (60 * SEC)
#define HOUR (60 * MIN)
#define DAY (24 * HOUR)

/* 18 digits: the most of which all fit into 64 bits. */
#define MAX_FRACTION_DIGITS 18

/* A decimal number as written: whole + fraction / scale. */
struct decimal {
	uint64_t whole;
	uint64_t fraction;
	uint64_t scale;
};

struct parse_unit {
	const char *name;
	uint64_t factor;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Not strtod: it would follow the locale, round, and take signs, blanks, "inf" and hex. */
static int parse_decimal(const char **s, struct decimal *ret)
{
	struct decimal d = { .scale = 1 };
	const char *p = *s;
	int digits = 0;

	if (!is_digit(p[0]) && !(p[0] == '.' && is_digit(p[1])))
		return -EINVAL;
	for (; is_digit(*p); p++)
		if (__builtin_mul_overflow(d.whole, 10, &d.whole) ||
		    __builtin_add_overflow(d.whole, (uint64_t)(*p - '0'), &d.whole))
			return -ERANGE;
	if (p[0] == '.' && is_digit(p[1])) {
		for (p++; is_digit(*p); p++) {
			/* What is further behind is below one unit of any result. */
			if (digits++ >= MAX_FRACTION_DIGITS)
				continue;
			d.fraction = d.fraction * 10 + (uint64_t)(*p - '0');
			d.scale *= 10;
		}
	}
	*s = p;
	*ret = d;
	return 0;
}

static int scale_decimal(const struct decimal *d, uint64_t factor, uint64_t *ret)
{
	unsigned __int128 value = (unsigned __int128)d->whole * factor +
				  (unsigned __int128)d->fraction * factor / d->scale;

	if (value > UINT64_MAX)
		return -ERANGE;
	*ret = (uint64_t)value;
	return 0;
}

int parse_digits(const char *s, const char *end, uint64_t *ret)
{
	uint64_t n = 0;

	if (s == end)
		return -EINVAL;
	for (; s < end; s++) {
		if (*s < '0' || *s > '9')
			return -EINVAL;
		if (__builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, (uint64_t)(*s - '0'), &n))
			return -ERANGE;
	}
	*ret = n;
	return 0;
}

int parse_size(const char *s, uint64_t *ret_bytes)
{
	static const struct parse_unit units[] = {
		{ "k", KIB },	{ "kb", KIB },	{ "kib", KIB }, { "m", MIB },
		{ "mb", MIB },	{ "mib", MIB }, { "g", GIB },	{ "gb", GIB },
		{ "gib", GIB }, { "t", TIB },	{ "tb", TIB },	{ "tib", TIB },
	};
	struct decimal d;
	int r = parse_decimal(&s, &d);

	if (r < 0)
		return r;
	if (*s == '\0' || strcasecmp(s, "b") == 0) {
		if (d.scale != 1) /* half a byte is a slip, not a size */
			return -EINVAL;
		*ret_bytes = d.whole;
		return 0;
	}
	for (size_t i = 0; i < N_ELEMENTS(units); i++)
		if (strcasecmp(s, units[i].name) == 0)
			return scale_decimal(&d, units[i].factor, ret_bytes);
	return -EINVAL;
}

int parse_duration(const char *s, uint64_t *ret_ns)
{
	static const struct parse_unit units[] = {
		{ "", SEC },  { "ns", 1 },    { "us", US },  { "ms", MS }, { "s", SEC },
		{ "m", MIN }, { "min", MIN }, { "h", HOUR }, { "d", DAY },
	};
	struct decimal d;
	int r = parse_decimal(&s, &d);

	if (r < 0)
		return r;
	for (size_t i = 0; i < N_ELEMENTS(units); i++)
		if (strcmp(s, units[i].name) == 0)
			return scale_decimal(&d, units[i].factor, ret_ns);
	return -EINVAL;
}

int parse_share(const char *s, uint64_t *ret_hundredths)
{
	struct decimal d;
	int r = parse_decimal(&s, &d);

	if (r < 0)
		return r;
	return strcmp(s, "%") == 0 ? scale_decimal(&d, 100, ret_hundredths) : -EINVAL;
}

/* A number is shown by the first row where, rounded to the row's digits, it is below `limit`. */
struct format_row {
	uint64_t factor;
	uint64_t limit; /* in units of `factor`; 0: none */
	bool tenths;
	const char *suffix;
};

/* a / b, rounded to the nearest. */
static uint64_t divide_rounded(unsigned __int128 a, uint64_t b)
{
	return (uint64_t)((a + b / 2) / b);
}

static const char *format_rows(const struct format_row *row, bool negative, uint64_t value,
			       char buf[FORMAT_UNIT_LEN])
{
	const char *sign = negative ? "-" : "";
	unsigned int scale;
	uint64_t shown;

	for (;; row++) {
		scale = row->tenths ? 10 : 1;
		shown = divide_rounded((unsigned __int128)value * scale, row->factor);
		if (row->limit == 0 || shown < row->limit * scale)
			break;
	}
	/* Nothing is cut off: the largest of all is the 213503.98 days of 2^64 ns. */
	if (row->tenths)
		(void)snprintf(buf, FORMAT_UNIT_LEN, "%s%u.%u%s", sign, (unsigned int)(shown / 10),
			       (unsigned int)(shown % 10), row->suffix);
	else
		(void)snprintf(buf, FORMAT_UNIT_LEN, "%s%u%s", sign, (unsigned int)shown,
			       row->suffix);
	return buf;
}

const char *format_size(int64_t bytes, char buf[FORMAT_UNIT_LEN])
{
	/* From 1000 on without tenths, so that also "-1023 KiB" keeps to its ten characters. */
	static const struct format_row rows[] = {
		{ 1, 1024, false, " B" },     { KIB, 1000, true, " KiB" },
		{ KIB, 1024, false, " KiB" }, { MIB, 1000, true, " MiB" },
		{ MIB, 1024, false, " MiB" }, { GIB, 1000, true, " GiB" },
		{ GIB, 1024, false, " GiB" }, { TIB, 1000, true, " TiB" },
		{ TIB, 1024, false, " TiB" }, { PIB, 1000, true, " PiB" },
		{ PIB, 1024, false, " PiB" }, { EIB, 0, true, " EiB" },
	};

	return format_rows(rows, bytes < 0, magnitude(bytes), buf);
}

const char *format_count(int64_t count, char buf[FORMAT_UNIT_LEN])
{
	static const struct format_row rows[] = {
		{ 1, 1000, false, "" },
		{ UINT64_C(1000), 1000, true, " k" },
		{ UINT64_C(1000000), 1000, true, " M" },
		{ UINT64_C(1000000000), 1000, true, " G" },
		{ UINT64_C(1000000000000), 1000, true, " T" },
		{ UINT64_C(1000000000000000), 1000, true, " P" },
		{ UINT64_C(1000000000000000000), 0, true, " E" },
	};

	return format_rows(rows, count < 0, magnitude(count), buf);
}

const char *format_duration(uint64_t ns, char buf[FORMAT_UNIT_LEN])
{
	static const struct format_row rows[] = {
		{ 1, 1, false, " s" }, /* only 0 is below 1 */
		{ 1, 1000, false, " ns" }, { US, 1000, false, " us" }, { MS, 1000, false, " ms" },
		{ SEC, 60, true, " s" },   { MIN, 60, false, " min" }, { HOUR, 24, true, " h" },
		{ DAY, 0, true, " d" },
	};

	return format_rows(rows, false, ns, buf);
}
