/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/replay/many_sites.h"

#include "tests/record_script.h"

#include <stdio.h>

#define APP "/opt/demo/server"
#define LIBC "/usr/lib/x86_64-linux-gnu/libc.so.6"
#define INO_APP 11
#define CODE 0x401000ull /* from this byte of the file on, mapped at 0x400000 more */
#define SECOND 1000000000ull
#define DEEPEST 44

static uint64_t code_of(uint64_t function, uint64_t n_functions)
{
	return CODE + 16 * (1 + function % n_functions);
}

/*
 * Neighbours have their callers in common, but for the innermost three frames, which the number's
 * digits choose: so no two stacks are the same, up to the third power of the number of functions.
 */
static void emit_stack_number(const struct script *s, uint64_t number, uint64_t n_functions)
{
	uint64_t frames[DEEPEST], family = number / 500;
	size_t n = 12 + family % 32;

	frames[0] = code_of(number, n_functions);
	frames[1] = code_of(number / n_functions, n_functions);
	frames[2] = code_of(number / n_functions / n_functions, n_functions);
	for (size_t i = 3; i < n; i++)
		frames[i] = code_of(i == n - 1 ? 0 : (family % (n - i)) * 37 + i, n_functions);
	emit_stack_of(s, number + 1, 0, SECOND, false, frames, n);
}

static void emit_function_number(const struct script *s, uint64_t number, uint64_t n_functions)
{
	char name[64], file[64];

	snprintf(name, sizeof(name), "demo::Worker%u::step%u", (unsigned int)number / 50,
		 (unsigned int)number % 50);
	snprintf(file, sizeof(file), "/src/demo/worker%u.cc", (unsigned int)number / 50);
	emit_symbol(s, APP, INO_APP, code_of(number, n_functions) - 0x400000,
		    { name, 8, file, 10 + (uint32_t)number % 50, false });
}

static void emit_site_number(const struct script *s, uint64_t number)
{
	uint64_t blocks = number + 1;

	emit_site(s, (struct record_site){
			     .fn = 1,
			     .stack = number + 1,
			     .live_bytes = 16 * (int64_t)blocks,
			     .live_blocks = (int64_t)blocks,
			     .allocs = 2 * blocks,
			     .bytes = 32 * blocks,
			     .temporary = blocks / 2,
			     .peak_bytes = 16 * (int64_t)blocks,
			     .oldest_ns = (1 + number % 60) * SECOND,
			     .newest_ns = number % 60 * SECOND,
		     });
}

void many_sites_emit(uint64_t n_sites, uint64_t n_functions, record_fn fn, void *userdata)
{
	const struct script s = { fn, userdata };
	uint64_t blocks = n_sites * (n_sites + 1) / 2, temporary = 0;

	emit_run(&s);
	emit_function(&s, 1, "malloc", LIBC, 0x9a000);
	emit_begin(&s, 0, 4242, RECORD_NO_IMAGE.n, SCRIPT_ROOT, SECOND, "server");
	emit_map(&s, 0, CODE, CODE + 16 * (n_functions + 2), CODE - 0x400000, SECOND, APP, INO_APP);
	for (uint64_t i = 0; i < n_sites; i++)
		emit_stack_number(&s, i, n_functions);
	for (uint64_t i = 0; i < n_sites; i++)
		temporary += (i + 1) / 2;
	emit_cut(&s, 70 * SECOND);
	emit_totals(&s, (struct record_totals){
				.allocs = 2 * blocks,
				.frees = blocks,
				.bytes = 32 * blocks,
				.live_bytes = 16 * (int64_t)blocks,
				.live_blocks = (int64_t)blocks,
				.peak_bytes = 16 * (int64_t)blocks,
				.temporary = temporary,
			});
	for (uint64_t i = 0; i < n_sites; i++)
		emit_site_number(&s, i);
	emit_coverage(&s, true, 3 * blocks, NULL, 0);
	emit_cut_end(&s);
	for (uint64_t i = 0; i < n_functions; i++)
		emit_function_number(&s, i, n_functions);
}
