/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions as a few bytes of machine code, for sites_find(). */
#ifndef MEMTRACED_TESTS_CODE_IMAGE_H
#define MEMTRACED_TESTS_CODE_IMAGE_H

#include "probe/sites.h"

/*
 * Each function under test is at BASE; behind its code stand linkage stubs, and at LOCAL_* other
 * functions of the same object, each only a `ret`.
 */
#define BASE 0x1000
#define IMAGE_BYTES 0x100
#define SLOTS 0x2000

enum {
	STUB_MALLOC = 0x80,
	STUB_FREE = 0x88,
	STUB_REALLOC = 0x90, /* with endbr64 */
	STUB_NEW = 0x9a,
	STUB_ABORT = 0xa0,
	STUB_MEMSET = 0xa8,
	STUB_NAMELESS = 0xb0,
	LOCAL_MALLOC = 0xc0,
	LOCAL_NEW = 0xc8,
	LOCAL_HELPER = 0xd0,
	LOCAL_ABORT = 0xd8,
};

/* Four bytes that lead from behind the instruction that ends with them, at `end`, to `to`. */
#define REL32(end, to)                                                                             \
	(uint8_t)((to) - (end)), (uint8_t)(((to) - (end)) >> 8), (uint8_t)(((to) - (end)) >> 16),  \
		(uint8_t)(((to) - (end)) >> 24)
#define CALL(at, to) 0xe8, REL32((at) + 5, to)
#define JMP(at, to) 0xe9, REL32((at) + 5, to)
#define SLOT_JMP(at, slot) 0xff, 0x25, REL32((at) + 6, SLOTS - BASE + 8 * (slot))
#define SLOT_CALL(at, slot) 0xff, 0x15, REL32((at) + 6, SLOTS - BASE + 8 * (slot))
#define TEST_RDI 0x48, 0x85, 0xff
#define JE(distance) 0x74, distance
#define JMP_RAX 0xff, 0xe0
#define PUSH_RBX 0x53
#define POP_RBX 0x5b
#define NOP 0x90
#define RET 0xc3
#define UD2 0x0f, 0x0b

struct code_image {
	uint8_t bytes[IMAGE_BYTES];
	size_t len;
	uint64_t starts;      /* a function is known to start there, too; 0: none */
	uint64_t pad_of, pad; /* the call at pad_of has a landing pad */
};

/* Adds the stubs and the other functions to the code under test. */
void code_image_finish(struct code_image *image);

/* The image as sites_find() wants it. */
struct sites_code code_image_view(struct code_image *image);

#endif
