/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A library that python3 loads (ctypes) and that calls the interpreter's own allocator, counted
 * into $SELF_COUNTS.
 */
#include "tests/targets/ledger.h"
#include "tests/targets/target.h"

extern void *PyObject_Malloc(size_t size);
extern void *PyObject_Calloc(size_t n, size_t size);
extern void *PyObject_Realloc(void *block, size_t size);
extern void PyObject_Free(void *block);
int use_blocks(int calls);

#define N_SLOTS 300

int use_blocks(int calls)
{
	static void *slots[N_SLOTS];
	uint64_t seed = 3, random;
	size_t size;
	void **slot;

	CHECK(ledger_open("SELF_COUNTS"));
	for (int i = 0; i < calls; i++) {
		random = next_random(&seed);
		slot = &slots[(random >> 16) % N_SLOTS];
		/* Above 512 bytes they are malloc's. */
		size = 1 + random % (random >> 40 & 3 ? 500 : 5000);
		if (*slot && random >> 32 & 1) {
			ledger_free(*slot);
			PyObject_Free(*slot);
			*slot = NULL;
		} else if (*slot) {
			*slot = ledger_realloc(PyObject_Realloc, *slot, size);
		} else {
			*slot = ledger_alloc(random >> 33 & 1 ? PyObject_Malloc(size) :
								PyObject_Calloc(1, size),
					     size);
		}
	}
	return calls;
}
