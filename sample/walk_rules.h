/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How the caller of code at an address is found, as a rule of bpf/abi_unwind.h: from the call frame
 * information of the object that is loaded there, read in this process when the address is first
 * asked for, and remembered. All threads may call everything here at the same time; no lock is
 * taken and nothing is allocated but pages.
 */
#ifndef MEMTRACED_SAMPLE_WALK_RULES_H
#define MEMTRACED_SAMPLE_WALK_RULES_H

#include "bpf/abi_unwind.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * _dl_find_object() of glibc, since 2.35. A reference to it would have an older one refuse to start
 * the program. NULL: rules cannot be found here.
 */
typedef int walk_find_object(void *address, struct dl_find_object *ret);
bool walk_rules_begin(walk_find_object *dl_find_object);

/*
 * Who is told of each object that a rule is asked of first, and gives it a number. To be called
 * when a book begins, in which those that are known get new ones. NULL: nobody.
 */
void walk_rules_number(uint32_t (*number)(void));
/* Of the object that has this address; 0: none that is known; UINT32_MAX: there are too many. */
uint32_t walk_rules_object(uint64_t address);

/* The kind of a rule, beside those of enum abi_unwind_kind: no object is at the address. */
#define WALK_NO_OBJECT 0xff

/*
 * The rule for the instruction that the byte at `address` is part of: of a return address that is
 * the byte before. ABI_UNWIND_NONE: there is no information.
 */
struct abi_unwind_rule walk_rule(uint64_t address);
/* Who is asked where there is none, once for each address; any thread may. NULL: nobody. */
void walk_rules_ask(struct abi_unwind_rule (*ask)(uint64_t address));

/*
 * To be called when the dynamic linker frees memory: has an object that rules were read of been
 * unloaded? Then all are forgotten, and walk_epoch() is another number. gone() is told where
 * each was before that; where that is not known, of all addresses.
 */
void walk_rules_check(void (*gone)(uint64_t start, uint64_t end));
uint32_t walk_epoch(void);
/*
 * Another number where that is, and where rules of one more object were asked for: code may be
 * there that was no object's before, as what a just-in-time compiler makes. A caller that was found
 * without a rule may be compared while this is the same. (Where code of a new object was walked
 * through before any of it was asked for, all its return addresses were such code's before, on the
 * same stack: no two programs of machine code do that.)
 */
uint32_t walk_changes(void);

/* Is this the dynamic linker's code? */
bool walk_is_linker(uint64_t address);
/* Is it code of the object that has the function? */
bool walk_is_beside(uint64_t address, const void *function);

#endif
