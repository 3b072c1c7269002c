/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A run with a site of each kind, for tests of what picks and sums sites. Their live bytes tell
 * them apart: 8000, 100, 0, and 4096 of a mapped region.
 */
#ifndef MEMTRACED_TESTS_UNIT_ONE_OF_EACH_H
#define MEMTRACED_TESTS_UNIT_ONE_OF_EACH_H

#include "tests/report_fixture.h"

#define EACH_APP "/opt/demo/server"
#define EACH_SECOND 1000000000ull

enum { SITE_LARGE = 1, SITE_SMALL, SITE_DEAD, SITE_MAPPED };

static inline void one_of_each(struct fixture *f)
{
	const struct script *s = &f->script;

	fixture_init(f);
	emit_run(s);
	emit_function(s, 1, "malloc", "/usr/lib/libc.so.6", 0x9a000);
	emit_function(s, 2, "mmap", "/usr/lib/libc.so.6", 0xff000);
	emit_begin(s, 0, 42, RECORD_NO_IMAGE.n, SCRIPT_ROOT, 1000, "server");
	emit_map(s, 0, 0x10000, 0x20000, 0x1000, 1000, EACH_APP, 11);
	emit_stack(s, SITE_LARGE, 0, 2000, 0x10101, 0x10201);
	emit_stack(s, SITE_SMALL, 0, 2000, 0x10102, 0x10201);
	emit_stack(s, SITE_DEAD, 0, 2000, 0x10103);
	emit_stack(s, SITE_MAPPED, 0, 2000, 0x10104, 0x10201);
	emit_symbol(s, EACH_APP, 11, 0x1101, { "parse_json", 1, "/src/parse.c", 10, true },
		    { "load", 1, "/src/load.c", 20, false });
	emit_symbol(s, EACH_APP, 11, 0x1102, { "parse_xml", 2, "/src/parse.c", 30, false });
	emit_symbol(s, EACH_APP, 11, 0x1103, { "once", 3, NULL, 0, false });
	emit_symbol(s, EACH_APP, 11, 0x1201, { "main", 1, NULL, 0, false });
	emit_region(s, 0, 0x7e0000000000, 0x7e0000001000, 2, SITE_MAPPED, 2 * EACH_SECOND);
	emit_cut(s, 10 * EACH_SECOND);
	emit_totals(s, (struct record_totals){ .allocs = 130, .live_bytes = 8100 });
	emit_site(s, (struct record_site){ .fn = 1,
					   .stack = SITE_LARGE,
					   .live_bytes = 8000,
					   .live_blocks = 2,
					   .allocs = 10,
					   .bytes = 40000,
					   .temporary = 5,
					   .peak_bytes = 9000,
					   .oldest_ns = 9 * EACH_SECOND,
					   .newest_ns = EACH_SECOND });
	emit_site(s, (struct record_site){ .fn = 1,
					   .stack = SITE_SMALL,
					   .live_bytes = 100,
					   .live_blocks = 1,
					   .allocs = 100,
					   .bytes = 10000,
					   .oldest_ns = 2 * EACH_SECOND,
					   .newest_ns = 2 * EACH_SECOND });
	emit_site(s,
		  (struct record_site){ .fn = 1, .stack = SITE_DEAD, .allocs = 20, .bytes = 20 });
	emit_coverage(s, true, 10, NULL, 0);
	emit_cut_end(s);
}

#endif
