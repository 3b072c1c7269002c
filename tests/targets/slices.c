/* SPDX-License-Identifier: GPL-2.0-or-later */
/* usage: slices [CALLS]: GLib's slices, counted into $SELF_COUNTS. */
#include "tests/targets/ledger.h"
#include "tests/targets/target.h"

#include <glib.h>

#define N_SLOTS 300

int main(int argc, char **argv)
{
	static struct {
		void *block;
		size_t size;
	} slots[N_SLOTS];
	uint64_t calls = argument(argc, argv, 1, 2000), seed = 5, random;
	size_t at;

	CHECK(ledger_open("SELF_COUNTS"));
	for (uint64_t i = 0; i < calls; i++) {
		random = next_random(&seed);
		at = (random >> 16) % N_SLOTS;
		if (slots[at].block) {
			ledger_free(slots[at].block);
			g_slice_free1(slots[at].size, slots[at].block);
			slots[at].block = NULL;
			continue;
		}
		slots[at].size = 1 + random % (random >> 40 & 7 ? 400 : 40000);
		slots[at].block = ledger_alloc(random >> 32 & 1 ? g_slice_alloc(slots[at].size) :
								  g_slice_alloc0(slots[at].size),
					       slots[at].size);
	}
	tell("done %llu\n", (unsigned long long)calls);
	return 0;
}
