/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where stacks begin: the code of an object that calls a program's main or is its entry point, and
 * of a C library for arm64 what threads begin with. A frame-pointer walk that ends there has seen
 * the whole stack.
 */
#ifndef MEMTRACED_ELF_STACK_START_H
#define MEMTRACED_ELF_STACK_START_H

#include <stdbool.h>
#include <stdint.h>

/* glibc has one; more are left out. */
#define STACK_START_THREADS 4

struct elf_file;

struct stack_start {
	uint64_t entry;	    /* file offset of e_entry, 0: none */
	uint64_t main_call; /* range around libc's __libc_start_main, 0: none */
	uint64_t main_call_end;
	struct {
		uint64_t start, end;
	} threads[STACK_START_THREADS]; /* ranges; 0 to 0: none */
};

/* Without such code all members are 0. */
void stack_start_read(struct elf_file *elf, struct stack_start *ret_start);

/* Is a return address at this file offset in such code? */
bool stack_start_contains(const struct stack_start *start, uint64_t file_offset);

#endif
