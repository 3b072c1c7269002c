/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What entries of debug information say: attributes through references to other entries, and names
 * with their scope. Everything is bounded: the entries may be anybody's. No state.
 */
#ifndef MEMTRACED_SYMBOL_DWARF_ENTRY_H
#define MEMTRACED_SYMBOL_DWARF_ENTRY_H

#include "base/strbuf.h"

#include <elfutils/libdw.h>
#include <stdbool.h>

/* How deep a tree of entries is followed; scopes and inlined calls nest to some dozens. */
#define DWARF_ENTRY_MAX_DEPTH 512
/* Entries visited for one address, or for one name. */
#define DWARF_ENTRY_MAX_VISITS (1 << 20)

/* False for a sibling reference that points backwards: libdw would walk in circles. */
bool dwarf_entry_sibling_is_ahead(Dwarf_Die *die);

/* A string, or NULL where it is so long that copying it for each frame would take long. */
const char *dwarf_entry_bounded(const char *text);

/*
 * The name as in the source, without its scope, of the entry or of one that it refers to, or NULL.
 * *ret_is_elsewhere: that is an entry of another unit.
 */
const char *dwarf_entry_base_name(const Dwarf_Die *die, bool *ret_is_elsewhere);

/* The mangled name of the entry or of one that it refers to, or NULL. */
const char *dwarf_entry_linkage_name(const Dwarf_Die *die);

/*
 * The name as in the source behind those of the namespaces and types that it is declared in, and of
 * the functions that these are declared in: "outer::call::local::run". A function that is nested in
 * another one without such a type between has its own name. Empty where there is none.
 */
void dwarf_entry_add_name(const Dwarf_Die *die, struct strbuf *name);

#endif
