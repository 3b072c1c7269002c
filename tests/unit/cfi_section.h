/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sections of call frame information made by hand, and what is to become of them. */
#ifndef MEMTRACED_TESTS_CFI_SECTION_H
#define MEMTRACED_TESTS_CFI_SECTION_H

#include "elf/cfi/cfi.h"

#define SECTION 0x10000 /* address of .eh_frame */
#define TEXT 0x1000	/* of the code, and the base */
#define TEXT_LEN 0x1000
#define START 0x100 /* of a function, relative to TEXT as to rows */
#define LEN 0x40

#define BYTES(...) (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ })

#define NONE                                                                                       \
	{                                                                                          \
		0                                                                                  \
	}
#define UNSUPPORTED                                                                                \
	{                                                                                          \
		.kind = ABI_UNWIND_UNSUPPORTED                                                     \
	}
#define SIGNAL(n)                                                                                  \
	{                                                                                          \
		.kind = ABI_UNWIND_SIGNAL, .offset = (n)                                           \
	}
#define END                                                                                        \
	{                                                                                          \
		.kind = ABI_UNWIND_END                                                             \
	}
#define SP(n)                                                                                      \
	{                                                                                          \
		.kind = ABI_UNWIND_SP, .offset = (n)                                               \
	}
#define SP_BP(n, at) SP_BP_BY(n, ABI_UNWIND_BP_AT_CFA, at)
#define SP_BP_BY(n, by, at)                                                                        \
	{                                                                                          \
		.kind = ABI_UNWIND_SP, .offset = (n), .bp = (by), .bp_offset = (at)                \
	}
#define BP(n)                                                                                      \
	{                                                                                          \
		.kind = ABI_UNWIND_BP, .offset = (n)                                               \
	}

struct section {
	uint8_t bytes[1024];
	size_t len;
};

void put(struct section *s, const void *bytes, size_t len);
void put_number(struct section *s, uint64_t number, size_t size);

/* Writes an entry's length, of 4 bytes at `start`, once what belongs to it has been put. */
void close_entry(struct section *s, size_t start);

/* What every compiler begins with: CFA = rsp + 8, return address at CFA - 8. */
extern const uint8_t usual[5];

/* A CIE of .eh_frame with these words of augmentation data. */
void put_cie(struct section *s, const char *augmentation, const uint8_t *data, size_t len);

/* An FDE of the CIE at the section's begin: addresses are pcrel of 4 bytes. */
void put_fde(struct section *s, uint32_t rel, uint32_t len, const uint8_t *program, size_t n);

/* With a CIE for put_fde(). */
struct section usual_section(void);

struct cfi_input input_of(const struct section *eh_frame);

/* Compiles, and checks what is promised of all rows. */
struct cfi_rows *compile(const struct cfi_input *in);

struct wanted {
	uint32_t pc;
	struct abi_unwind_rule rule;
};

/* The rows behind the first, which is one of none. */
void assert_rows(const struct cfi_rows *rows, const struct wanted *wanted, size_t n,
		 const char *what);

#endif
