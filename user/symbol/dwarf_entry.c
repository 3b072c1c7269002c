/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/dwarf_entry.h"

#include "elf/elf_read.h"

#include <dwarf.h>
#include <string.h>

/* abstract_origin and specification: an inlined member function has both. */
#define MAX_REFERENCES 8
/* Names in front of one name. */
#define MAX_SCOPES 32
/* A lambda's constructors are among the first. */
#define MAX_MEMBERS 64

bool dwarf_entry_sibling_is_ahead(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Die sibling;

	if (!dwarf_attr(die, DW_AT_sibling, &attr))
		return true;
	return dwarf_formref_die(&attr, &sibling) &&
	       dwarf_dieoffset(&sibling) > dwarf_dieoffset(die);
}

const char *dwarf_entry_bounded(const char *text)
{
	return text && strnlen(text, NAME_TABLE_MAX_NAME + 1) <= NAME_TABLE_MAX_NAME ? text : NULL;
}

/*
 * The entry that has the attribute: this one, or one that it refers to. libdw's own
 * dwarf_attr_integrate would open split DWARF when led to a skeleton unit.
 */
static bool find_attribute(const Dwarf_Die *from, unsigned name, Dwarf_Attribute *ret_attr,
			   Dwarf_Die *ret_die)
{
	Dwarf_Attribute ref;
	Dwarf_Die die = *from;
	int i;

	for (i = 0; i < MAX_REFERENCES; i++) {
		if (dwarf_attr(&die, name, ret_attr)) {
			*ret_die = die;
			return true;
		}
		if (!dwarf_attr(&die, DW_AT_abstract_origin, &ref) &&
		    !dwarf_attr(&die, DW_AT_specification, &ref))
			return false;
		if (!dwarf_formref_die(&ref, &die))
			return false;
	}
	return false;
}

static const char *find_string(const Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attr;
	Dwarf_Die owner;

	return find_attribute(die, name, &attr, &owner) ?
		       dwarf_entry_bounded(dwarf_formstring(&attr)) :
		       NULL;
}

const char *dwarf_entry_base_name(const Dwarf_Die *die, bool *ret_is_elsewhere)
{
	Dwarf_Attribute attr;
	Dwarf_Die owner;

	*ret_is_elsewhere = false;
	if (!find_attribute(die, DW_AT_name, &attr, &owner))
		return NULL;
	*ret_is_elsewhere = owner.cu != die->cu;
	return dwarf_entry_bounded(dwarf_formstring(&attr));
}

const char *dwarf_entry_linkage_name(const Dwarf_Die *die)
{
	const char *name = find_string(die, DW_AT_linkage_name);

	return name ? name : find_string(die, DW_AT_MIPS_linkage_name);
}

/* The entry by which a function is declared: it stands in the function's scope. */
static Dwarf_Die declaration(const Dwarf_Die *from)
{
	Dwarf_Attribute ref;
	Dwarf_Die die = *from, next;
	int i;

	for (i = 0; i < MAX_REFERENCES; i++) {
		if (!dwarf_attr(&die, DW_AT_abstract_origin, &ref) &&
		    !dwarf_attr(&die, DW_AT_specification, &ref))
			break;
		if (!dwarf_formref_die(&ref, &next))
			break;
		die = next;
	}
	return die;
}

struct scope_walk {
	Dwarf_Off target;
	unsigned visits_left;
	size_t len;
	Dwarf_Die scopes[MAX_SCOPES]; /* the innermost first */
};

static bool is_type(Dwarf_Die *die)
{
	int tag = dwarf_tag(die);

	return tag == DW_TAG_class_type || tag == DW_TAG_structure_type ||
	       tag == DW_TAG_union_type || tag == DW_TAG_enumeration_type ||
	       tag == DW_TAG_interface_type;
}

/* Where the entry's children end; 0: unknown. For entries with dwarf_entry_sibling_is_ahead. */
static Dwarf_Off sibling_offset(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Die sibling;

	return dwarf_attr(die, DW_AT_sibling, &attr) && dwarf_formref_die(&attr, &sibling) ?
		       dwarf_dieoffset(&sibling) :
		       0;
}

/*
 * GCC gives the type of a lambda expression no name, but its constructors. An entry whose children
 * have no known end is not stepped over: they may not have been checked.
 */
static bool is_lambda(Dwarf_Die *type)
{
	Dwarf_Die die;
	int i, r = dwarf_child(type, &die);

	for (i = 0; r == 0 && i < MAX_MEMBERS; i++, r = dwarf_siblingof(&die, &die)) {
		const char *name = find_string(&die, DW_AT_name);

		if (name && (strcmp(name, "<lambda>") == 0 || strcmp(name, "~<lambda>") == 0))
			return true;
		if (!dwarf_entry_sibling_is_ahead(&die) ||
		    (dwarf_haschildren(&die) > 0 && sibling_offset(&die) == 0))
			return false;
	}
	return false;
}

static const char *type_name(Dwarf_Die *type)
{
	const char *name = find_string(type, DW_AT_name);

	if (name)
		return name;
	return is_lambda(type) ? "{lambda}" : "{unnamed type}";
}

/* No more is looked at: the entries are damaged, or too many. */
static bool abandon_walk(struct scope_walk *walk)
{
	walk->visits_left = 0;
	return false;
}

/*
 * Looks for the target below `parent` and appends what is around it. Entries are in the order of
 * their offsets. Each is checked before libdw is asked to step over it: nothing else may have.
 */
static bool find_scopes(struct scope_walk *walk, Dwarf_Die *parent, unsigned depth)
{
	Dwarf_Die die;
	int r;

	if (depth == DWARF_ENTRY_MAX_DEPTH)
		return abandon_walk(walk);
	for (r = dwarf_child(parent, &die); r == 0; r = dwarf_siblingof(&die, &die)) {
		Dwarf_Off at = dwarf_dieoffset(&die), next;

		if (at == walk->target)
			return true;
		if (at > walk->target || walk->visits_left == 0 ||
		    !dwarf_entry_sibling_is_ahead(&die))
			return abandon_walk(walk);
		walk->visits_left--;
		next = sibling_offset(&die);
		if (dwarf_haschildren(&die) <= 0 || (next > 0 && next <= walk->target))
			continue;
		if (find_scopes(walk, &die, depth + 1)) {
			if (walk->len < MAX_SCOPES)
				walk->scopes[walk->len++] = die;
			return true;
		}
		if (walk->visits_left == 0)
			return false;
	}
	return false;
}

static bool find_entry(struct scope_walk *walk, Dwarf_Die *die)
{
	Dwarf_Die unit;

	walk->len = 0;
	walk->target = dwarf_dieoffset(die);
	return dwarf_diecu(die, &unit, NULL, NULL) && find_scopes(walk, &unit, 0);
}

struct name_parts {
	const char *parts[MAX_SCOPES]; /* the innermost first */
	size_t len;
};

static void add_part(struct name_parts *parts, const char *text)
{
	if (parts->len < MAX_SCOPES)
		parts->parts[parts->len++] = text;
}

/*
 * Adds the scopes of one declaration. True when the last is a function with a type inside: its
 * scopes are those of its own declaration, which is written to `ret_function`.
 */
static bool add_scopes(struct name_parts *parts, struct scope_walk *walk, Dwarf_Die *ret_function)
{
	bool has_type = false;

	for (size_t i = 0; i < walk->len; i++) {
		Dwarf_Die *scope = &walk->scopes[i];
		const char *name = find_string(scope, DW_AT_name);

		if (is_type(scope)) {
			add_part(parts, type_name(scope));
			has_type = true;
		} else if (dwarf_tag(scope) == DW_TAG_namespace) {
			add_part(parts, name ? name : "(anonymous namespace)");
		} else if (dwarf_tag(scope) == DW_TAG_subprogram) {
			*ret_function = declaration(scope);
			return has_type && name;
		}
	}
	return false;
}

void dwarf_entry_add_name(const Dwarf_Die *die, struct strbuf *name)
{
	struct scope_walk walk = { .visits_left = DWARF_ENTRY_MAX_VISITS };
	Dwarf_Die at = declaration(die);
	const char *own = find_string(die, DW_AT_name);
	struct name_parts parts = { .parts = { own }, .len = 1 };

	if (!own)
		return;
	while (find_entry(&walk, &at) && add_scopes(&parts, &walk, &at) && parts.len < MAX_SCOPES)
		add_part(&parts, find_string(&at, DW_AT_name));
	while (parts.len > 0) {
		strbuf_adds(name, parts.parts[--parts.len]);
		strbuf_adds(name, parts.len > 0 ? "::" : "");
	}
}
