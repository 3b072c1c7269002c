/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers with units, as people write and read them. Pure functions.
 */
#ifndef MEMTRACED_CONFIG_UNITS_H
#define MEMTRACED_CONFIG_UNITS_H

#include <stdint.h>

/* Decimal digits up to `end` (not included) and nothing else. 0, -EINVAL or -ERANGE. */
int parse_digits(const char *s, const char *end, uint64_t *ret);

/*
 * "4096", "64k", "10M", "2GiB", "1.5M", ".5g": k, M, G, T in either case are powers of 1024, with
 * or without "B" or "iB"; a fraction of a byte is dropped. 0, -EINVAL or -ERANGE.
 */
int parse_size(const char *s, uint64_t *ret_bytes);

/*
 * "5" (seconds), "1.5", "100ms", "10s", "2m", "1h", "3d"; also "ns", "us" and "min". 0, -EINVAL or
 * -ERANGE.
 */
int parse_duration(const char *s, uint64_t *ret_ns);

/* "5%", "0.5%", "100%", as hundredths of a percent. 0, -EINVAL or -ERANGE. */
int parse_share(const char *s, uint64_t *ret_hundredths);

/* "4 B", "64.0 KiB", "1.2 GiB": at most 10 characters; negative values with a minus. */
#define FORMAT_UNIT_LEN 16
const char *format_size(int64_t bytes, char buf[FORMAT_UNIT_LEN]);
/* "812", "1.2 k", "3.4 M". */
const char *format_count(int64_t count, char buf[FORMAT_UNIT_LEN]);
/* "850 us", "120 ms", "3.4 s", "12 min", "5.0 h", "3.2 d"; "0 s". */
const char *format_duration(uint64_t ns, char buf[FORMAT_UNIT_LEN]);

#endif
