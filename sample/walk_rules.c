// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The parsing is that of user/elf/cfi, of which this is one more user: sections come from memory,
 * and an entry is found by the table that the linker has sorted (.eh_frame_hdr; Linux Standard Base
 * 5.0 core, 10.6.2).
 */
#include "sample/walk_rules.h"

#include "elf/cfi/cfi_program.h"
#include "elf/cfi/cfi_rule.h"
#include "sample/book_memory.h"

#include <dlfcn.h>
#include <dwarf.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

/* It takes no lock. */
static walk_find_object *find_object;

/* --- what has been found --------------------------------------------------------------------- */

/* An address has 48 bits; above them is the epoch, so that what is of another one is not found. */
#define EPOCH_SHIFT 48
#define FIRST_RULES 256
#define MOST_RULES (1U << 18)
#define RULE_TRIES 16
#define MOST_DISPLACED 16 /* of a table's places, before it is doubled: one in so many */

struct known_rule {
	uint64_t key; /* 0: none, or it is being written */
	struct abi_unwind_rule rule;
};

struct rule_table {
	uint64_t n; /* a power of two */
	uint32_t used, displaced;
	struct known_rule rules[];
};

/* Whose rules are known: to see when one is gone. */
#define MOST_OBJECTS 1024

struct known_object {
	uint64_t start, end;
	uint32_t number;
	void *map; /* NULL: there is none; NOT_YET: it is being written */
};
#define NOT_YET ((void *)1)

static struct rule_table *table; /* those before it stay mapped, but empty: others may use them */
static uint32_t epoch = 1;
static struct known_object objects[MOST_OBJECTS];
static uint32_t n_objects, n_noted; /* n_noted: ever so far */
static uint64_t linker_start, linker_end;

static size_t table_size(uint64_t n)
{
	return sizeof(struct rule_table) + n * sizeof(struct known_rule);
}

static struct rule_table *table_new(uint64_t n)
{
	struct rule_table *made;

	made = mmap(NULL, table_size(n), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	if (made == MAP_FAILED)
		return NULL;
	made->n = n;
	return made;
}

static uint64_t key_of(uint64_t address)
{
	return address | (uint64_t)(__atomic_load_n(&epoch, __ATOMIC_RELAXED) & 0xffff)
				 << EPOCH_SHIFT;
}

/* Mixed: else they are full where code is dense, and empty elsewhere. */
static struct known_rule *place_of(struct rule_table *t, uint64_t key, uint64_t i)
{
	return &t->rules[((key * UINT64_C(0x9e3779b97f4a7c15) >> 32) + i) & (t->n - 1)];
}

static bool find_known(struct rule_table *t, uint64_t key, struct abi_unwind_rule *ret)
{
	for (uint64_t i = 0; i < RULE_TRIES; i++) {
		struct known_rule *known = place_of(t, key, i);

		if (__atomic_load_n(&known->key, __ATOMIC_ACQUIRE) != key)
			continue;
		*ret = known->rule;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		return __atomic_load_n(&known->key, __ATOMIC_RELAXED) == key;
	}
	return false;
}

static bool put_at(struct known_rule *known, uint64_t was, uint64_t key,
		   struct abi_unwind_rule rule)
{
	/* A key that nobody asks for, as no code is there. */
	if (!__atomic_compare_exchange_n(&known->key, &was, 1, false, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return false;
	known->rule = rule;
	__atomic_store_n(&known->key, key, __ATOMIC_RELEASE);
	return true;
}

static bool put_in(struct rule_table *t, uint64_t key, struct abi_unwind_rule rule)
{
	for (uint64_t i = 0; i < RULE_TRIES; i++) {
		struct known_rule *known = place_of(t, key, i);

		if (__atomic_load_n(&known->key, __ATOMIC_RELAXED) == 0 &&
		    put_at(known, 0, key, rule)) {
			__atomic_fetch_add(&t->used, 1, __ATOMIC_RELAXED);
			return true;
		}
	}
	return false;
}

/* Whoever still looks there finds nothing. The page with its size stays. */
static void empty(struct rule_table *t)
{
	const size_t page = (size_t)getauxval(AT_PAGESZ), size = table_size(t->n);

	if (size > page && !book_is_filtered())
		(void)madvise((char *)t + page, size - page, MADV_DONTNEED); /* or it is larger */
}

/* What another thread puts into the old one meanwhile is read once more. */
static struct rule_table *grow(struct rule_table *old)
{
	struct rule_table *made = table_new(old->n * 2), *was = old;

	if (!made)
		return old;
	for (uint64_t i = 0; i < old->n; i++) {
		uint64_t key = old->rules[i].key;

		if (key > 1 && key == key_of(key & ((1ULL << EPOCH_SHIFT) - 1)))
			(void)put_in(made, key, old->rules[i].rule); /* else it is read again */
	}
	if (__atomic_compare_exchange_n(&table, &was, made, false, __ATOMIC_RELEASE,
					__ATOMIC_ACQUIRE)) {
		empty(old);
		return made;
	}
	(void)munmap(made, table_size(made->n)); /* never used */
	return was;
}

static void put_known(uint64_t key, struct abi_unwind_rule rule)
{
	struct rule_table *t = __atomic_load_n(&table, __ATOMIC_ACQUIRE);
	struct known_rule *known;
	uint64_t was;

	if (put_in(t, key, rule))
		return;
	/* It is dense before many rules give their places away, which are then read again. */
	if (t->n < MOST_RULES && t->used > t->n / 2 &&
	    __atomic_add_fetch(&t->displaced, 1, __ATOMIC_RELAXED) > t->n / MOST_DISPLACED) {
		t = grow(t);
		if (put_in(t, key, rule))
			return;
	}
	known = place_of(t, key, (key >> 2) % RULE_TRIES);
	was = __atomic_load_n(&known->key, __ATOMIC_RELAXED);
	if (was != 1)
		(void)put_at(known, was, key, rule); /* else another thread has just put one */
}

/* --- reading --------------------------------------------------------------------------------- */

struct search {
	uint64_t address;
	const struct cfi_cie *cie;
	struct abi_unwind_rule rule; /* by the last state that begins at or below it */
};

static int take_state(void *ctx, uint64_t pc, const struct cfi_state *state)
{
	struct search *search = ctx;
	uint32_t lost[CFI_LOSSES];

	if (pc > search->address)
		return 1;
	search->rule = cfi_rule(search->cie, state, true, lost);
	return 0;
}

/* By the entry at `offset` of the section, if it is one for the address; else `none`. */
static struct abi_unwind_rule rule_of_entry(const struct cfi_section *section, size_t offset,
					    uint64_t address, struct abi_unwind_rule none)
{
	struct search search = { .address = address, .rule = none };
	struct cfi_state initial;
	struct cfi_fde fde;
	struct cfi_cie cie;
	int r;

	if (cfi_next_entry(section, &offset, &fde) != CFI_ENTRY_FDE || address < fde.start ||
	    address >= fde.end)
		return search.rule;
	search.cie = &cie;
	if (!cfi_read_cie(section, fde.cie, &cie) || cfi_run_cie(section, &cie, &initial))
		return search.rule;
	r = cfi_run_fde(section, &cie, &initial, &fde, take_state, &search);
	if (r < 0)
		search.rule = (struct abi_unwind_rule){ .kind = ABI_UNWIND_UNSUPPORTED };
	return search.rule;
}

/* A row of the sorted table: where code begins, and its entry, from the table's section on. */
struct table_row {
	int32_t code, entry;
};

/*
 * The table of an object, as linkers write it: version 1, its pointer to .eh_frame of any form, a
 * count of four bytes, and rows of two numbers relative to the header. NULL: it is another.
 */
static const struct table_row *table_of(const uint8_t *header, const uint8_t *end,
					uint64_t *ret_eh_frame, uint32_t *ret_n)
{
	const struct cfi_section section = { .data = header,
					     .len = (size_t)(end - header),
					     .addr = (uintptr_t)header,
					     .data_base = (uintptr_t)header,
					     .is_eh = true };
	struct cfi_reader r = { header, end, false };
	uint8_t version = cfi_get_u8(&r), to_frame = cfi_get_u8(&r), of_count = cfi_get_u8(&r),
		of_rows = cfi_get_u8(&r);
	uint64_t n;

	if (version != 1 || of_rows != (DW_EH_PE_datarel | DW_EH_PE_sdata4))
		return NULL;
	*ret_eh_frame = cfi_get_pointer(&section, &r, to_frame);
	n = cfi_get_pointer(&section, &r, of_count);
	if (r.failed || n == 0 || n > cfi_left(&r) / sizeof(struct table_row) ||
	    (uintptr_t)r.at % _Alignof(struct table_row))
		return NULL;
	*ret_n = (uint32_t)n;
	return (const struct table_row *)r.at;
}

/* What follows the entry point in the dynamic linker before it jumps to the program's. */
#define ENTRY_BYTES 256

/* Is it where the kernel has let the process begin? Such code needs no information. */
static bool is_entry(const struct dl_find_object *object, uint64_t address)
{
	const ElfW(Ehdr) *elf = object->dlfo_map_start;
	uint64_t entry = (uintptr_t)elf + elf->e_entry;

	return memcmp(elf->e_ident, ELFMAG, SELFMAG) == 0 && address - entry < ENTRY_BYTES;
}

/*
 * The end of what is loaded with the header. Of a program with holes between its segments glibc
 * tells the segment of the address alone, and the kernel where the program headers are.
 */
static const uint8_t *end_of(const struct dl_find_object *object, const uint8_t *header)
{
	const ElfW(Phdr) *headers = (const ElfW(Phdr) *)getauxval(AT_PHDR);
	uintptr_t base = object->dlfo_link_map->l_addr;

	if (header >= (const uint8_t *)object->dlfo_map_start &&
	    header < (const uint8_t *)object->dlfo_map_end)
		return object->dlfo_map_end;
	for (unsigned long i = 0; headers && i < getauxval(AT_PHNUM); i++)
		if (headers[i].p_type == PT_LOAD &&
		    (uintptr_t)header - (base + headers[i].p_vaddr) < headers[i].p_filesz)
			return (const uint8_t *)(base + headers[i].p_vaddr + headers[i].p_filesz);
	return header;
}

static struct abi_unwind_rule read_rule(const struct dl_find_object *object, uint64_t address)
{
	const uint8_t *header = object->dlfo_eh_frame, *end = end_of(object, header);
	const struct abi_unwind_rule none = { .kind = is_entry(object, address) ? ABI_UNWIND_END :
										  ABI_UNWIND_NONE };
	struct cfi_section section = { .is_eh = true };
	const struct table_row *rows;
	uint64_t eh_frame, entry;
	uint32_t n, low = 0;
	int64_t distance;

	if (!header || header >= end)
		return none;
	rows = table_of(header, end, &eh_frame, &n);
	distance = (int64_t)(address - (uintptr_t)header);
	if (!rows || distance < rows[0].code)
		return none;
	for (uint32_t high = n; high - low > 1;) {
		uint32_t middle = low + (high - low) / 2;

		if (rows[middle].code <= distance)
			low = middle;
		else
			high = middle;
	}
	entry = (uintptr_t)header + (uint64_t)(int64_t)rows[low].entry;
	if (entry < eh_frame || entry >= (uintptr_t)end)
		return none;
	section.data = (const uint8_t *)(uintptr_t)eh_frame;
	section.len = (uintptr_t)end - eh_frame;
	section.addr = eh_frame;
	section.data_base = (uintptr_t)header;
	return rule_of_entry(&section, entry - eh_frame, address, none);
}

static uint32_t (*give_number)(void);

static uint32_t new_number(void)
{
	return give_number ? give_number() : 0;
}

/* The objects that are known; other threads may add some. */
static struct known_object *known_end(void)
{
	uint32_t n = __atomic_load_n(&n_objects, __ATOMIC_ACQUIRE);

	return &objects[n < MOST_OBJECTS ? n : MOST_OBJECTS];
}

static bool is_known(const struct known_object *known)
{
	void *map = __atomic_load_n(&known->map, __ATOMIC_ACQUIRE);

	return map && map != NOT_YET;
}

/* NULL: there are too many. */
static struct known_object *take_place(void)
{
	struct known_object *end = known_end();
	uint32_t n;

	for (struct known_object *known = objects; known < end; known++) {
		void *none = NULL;

		if (__atomic_compare_exchange_n(&known->map, &none, NOT_YET, false,
						__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return known;
	}
	n = __atomic_fetch_add(&n_objects, 1, __ATOMIC_ACQ_REL);
	return n < MOST_OBJECTS ? &objects[n] : NULL;
}

/* Two threads may note one twice. */
static void note_object(const struct dl_find_object *object)
{
	struct known_object *end = known_end(), *made;

	for (struct known_object *known = objects; known < end; known++)
		if (__atomic_load_n(&known->map, __ATOMIC_ACQUIRE) == object->dlfo_link_map)
			return;
	__atomic_fetch_add(&n_noted, 1, __ATOMIC_RELEASE);
	made = take_place();
	if (!made)
		return;
	made->start = (uintptr_t)object->dlfo_map_start;
	made->end = (uintptr_t)object->dlfo_map_end;
	made->number = new_number();
	__atomic_store_n(&made->map, (void *)object->dlfo_link_map, __ATOMIC_RELEASE);
}

void walk_rules_number(uint32_t (*number)(void))
{
	struct known_object *end = known_end();

	give_number = number;
	for (struct known_object *known = objects; known < end; known++)
		if (is_known(known))
			known->number = new_number();
}

uint32_t walk_rules_object(uint64_t address)
{
	struct known_object *end = known_end();

	for (struct known_object *known = objects; known < end; known++)
		if (is_known(known) && address - known->start < known->end - known->start)
			return known->number;
	return __atomic_load_n(&n_objects, __ATOMIC_RELAXED) > MOST_OBJECTS ? UINT32_MAX : 0;
}

static struct abi_unwind_rule (*ask)(uint64_t address);

void walk_rules_ask(struct abi_unwind_rule (*asked)(uint64_t address))
{
	ask = asked;
}

struct abi_unwind_rule walk_rule(uint64_t address)
{
	struct abi_unwind_rule rule = { .kind = WALK_NO_OBJECT };
	uint64_t key = key_of(address);
	struct dl_find_object object;

	if (find_known(__atomic_load_n(&table, __ATOMIC_ACQUIRE), key, &rule))
		return rule;
	/* That is not remembered: an object may be loaded there. */
	if (address >> EPOCH_SHIFT || find_object((void *)(uintptr_t)address, &object))
		return (struct abi_unwind_rule){ .kind = WALK_NO_OBJECT };
	note_object(&object);
	rule = read_rule(&object, address);
	if (rule.kind == ABI_UNWIND_NONE && ask)
		rule = ask(address);
	put_known(key, rule);
	return rule;
}

/* --- what changes ---------------------------------------------------------------------------- */

static bool is_there(const struct known_object *known)
{
	struct dl_find_object object;

	return find_object((void *)known->start, &object) == 0 &&
	       object.dlfo_link_map == known->map;
}

static void forget(struct known_object *known)
{
	__atomic_store_n(&known->map, NULL, __ATOMIC_RELEASE);
}

/* Rules of 65,536 epochs before would be found again. */
static void next_epoch(void)
{
	if ((__atomic_add_fetch(&epoch, 1, __ATOMIC_RELEASE) & 0xffff) == 0)
		empty(__atomic_load_n(&table, __ATOMIC_ACQUIRE));
}

void walk_rules_check(void (*gone)(uint64_t start, uint64_t end))
{
	bool too_many = __atomic_load_n(&n_objects, __ATOMIC_ACQUIRE) > MOST_OBJECTS;
	struct known_object *end = known_end();
	bool any = too_many;

	if (too_many)
		gone(0, UINT64_MAX);
	for (struct known_object *known = objects; known < end; known++) {
		if (!is_known(known) || (!too_many && is_there(known)))
			continue;
		if (!too_many)
			gone(known->start, known->end);
		forget(known);
		any = true;
	}
	if (too_many)
		__atomic_store_n(&n_objects, 0, __ATOMIC_RELEASE);
	if (any)
		next_epoch();
}

uint32_t walk_epoch(void)
{
	return __atomic_load_n(&epoch, __ATOMIC_ACQUIRE);
}

uint32_t walk_changes(void)
{
	return walk_epoch() + __atomic_load_n(&n_noted, __ATOMIC_ACQUIRE);
}

bool walk_is_linker(uint64_t address)
{
	return address - linker_start < linker_end - linker_start;
}

bool walk_is_beside(uint64_t address, const void *function)
{
	struct dl_find_object its, functions;

	return find_object((void *)(uintptr_t)address, &its) == 0 &&
	       find_object((void *)(uintptr_t)function, &functions) == 0 &&
	       its.dlfo_link_map == functions.dlfo_link_map;
}

bool walk_rules_begin(walk_find_object *dl_find_object)
{
	struct dl_find_object linker;

	find_object = dl_find_object;
	if (!find_object)
		return false;
	if (find_object((void *)getauxval(AT_BASE), &linker) == 0) {
		linker_start = (uintptr_t)linker.dlfo_map_start;
		linker_end = (uintptr_t)linker.dlfo_map_end;
	}
	if (!linker_end)
		return false;
	if (!table)
		table = table_new(FIRST_RULES);
	return table != NULL;
}
