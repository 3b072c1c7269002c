/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bpf/unwind.bpf.h on the host: its maps are the arrays of a struct unwind_host, memory is what
 * that says to be readable, return probes are in its list. One walk at a time.
 */
#ifndef MEMTRACED_TESTS_UNWIND_HOST_H
#define MEMTRACED_TESTS_UNWIND_HOST_H

#include "bpf/abi.h"
#include "bpf/abi_unwind.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <bpf/bpf_helpers.h>

#define VERIFIED_ONCE static __attribute__((noinline, unused))
#define VERIFIED_ONCE_NUMBERS VERIFIED_ONCE
#define bpf_map_lookup_elem host_map_lookup
#define bpf_probe_read_user host_read

struct host_memory {
	uint64_t addr;
	const uint8_t *bytes;
	size_t len;
};

/* A call whose return is probed: the trampoline's address is in its stack slot. */
struct host_return_probe {
	uint64_t slot, address;
};
#define HOST_TRAMPOLINE 0x7fffffffe000ULL

/* Of the thread, where they are not in the walk. */
struct pt_regs {
	uint64_t rax, rbx, rdi, fsbase;
};
#define task_registers() (&host->registers)
#define PT_REGS_RC_CORE(regs) ((regs)->rax)
#define REGISTER_RBX(regs) ((regs)->rbx)
#define PT_REGS_PARM1_CORE(regs) ((regs)->rdi)
#define thread_pointer() (host->registers.fsbase)

struct host_rows {
	const struct abi_unwind_row *rows;
	size_t n;
};

struct unwind_host {
	struct host_rows rows, chunk; /* of the first chunk, and of chunk 1 */
	const struct abi_unwind_rule *rules;
	size_t n_rules;
	const struct abi_unwind_mapping *mappings;
	size_t n_mappings;
	const struct abi_unwind_object *objects;
	size_t n_objects;
	struct abi_unwind_space space; /* of slot space.slot */
	uint64_t sorted;	       /* of the same: ABI_UNWIND_SORTED */
	struct host_memory memory[4];
	struct pt_regs registers;
	const struct host_return_probe *probes;
	size_t n_probes;
	/* counted */
	size_t searches, reads, failed_reads;
};

static struct unwind_host *host;

static void *host_map_lookup(void *map, const void *key);
static long host_read(void *to, uint32_t len, const void *from);

/* bpf/return_address.bpf.h */
static inline __u64 original_return_address(__u64 address, __u64 slot, __u64 *instance)
{
	if (address != HOST_TRAMPOLINE)
		return address;
	for (size_t i = *instance; i < host->n_probes; i++) {
		if (host->probes[i].slot == slot) {
			*instance = i;
			return host->probes[i].address;
		}
	}
	return address;
}

/* The same; of Linux from 6.11 on: behind the system call, at d, the stack says where to. */
static inline __u64 interrupted_return(__u64 pc, __u64 sp, __u64 *instance, __u64 *ret_slot)
{
	__u64 address = 0;

	if (pc == HOST_TRAMPOLINE + 0xd) {
		*ret_slot = sp + 16;
		return host_read(&address, sizeof(address), (void *)*ret_slot) ? 0 : address;
	}
	*ret_slot = sp - 8;
	address = original_return_address(pc, *ret_slot, instance);
	return pc != HOST_TRAMPOLINE || address == pc ? 0 : address;
}

#include "bpf/unwind.bpf.h"

static struct unwind_cache host_cache;
static struct unwind_path host_path;

/* As if just loaded. */
static inline void host_use(struct unwind_host *h)
{
	host = h;
	memset(&host_cache, 0, sizeof(host_cache));
	memset(&host_path, 0, sizeof(host_path));
}

/* A mapping that programs have seen made, of object 0: unmapped. */
static inline void host_append(struct unwind_host *h, uint64_t start, uint32_t len, uint32_t object)
{
	uint32_t number = ++h->space.appended;

	h->space.recent[number % ABI_UNWIND_RECENT] = (struct abi_unwind_mapping){
		.start = start, .len = len, .object = object, .number = number
	};
}

static inline void *host_element(const void *array, size_t n, size_t size, const void *key)
{
	uint32_t i = *(const uint32_t *)key;

	return i < n ? (char *)array + i * size : NULL;
}

static void *host_map_lookup(void *map, const void *key)
{
	const struct host_rows *rows = map == &unwind_rows ? &host->rows : map;

	if (map == &unwind_caches)
		return &host_cache;
	if (map == &unwind_paths)
		return &host_path;
	if (map == &unwind_chunks)
		return *(const uint32_t *)key == 1 && host->chunk.n ? &host->chunk : NULL;
	if (map == &unwind_rules)
		return host_element(host->rules, host->n_rules, sizeof(*host->rules), key);
	if (map == &unwind_mappings)
		return host_element(host->mappings, host->n_mappings, sizeof(*host->mappings), key);
	if (map == &unwind_objects)
		return host_element(host->objects, host->n_objects, sizeof(*host->objects), key);
	if (map == &unwind_sorted)
		return *(const uint32_t *)key == host->space.slot ? &host->sorted : NULL;
	if (map == &unwind_spaces) {
		host->searches++;
		return *(const uint32_t *)key == host->space.slot ? &host->space : NULL;
	}
	return host_element(rows->rows, rows->n, sizeof(*rows->rows), key);
}

/* As the helper: nothing is read when not all of it can be. */
static long host_read(void *to, uint32_t len, const void *from)
{
	uint64_t addr = (uintptr_t)from;

	host->reads++;
	memset(to, 0, len);
	for (size_t i = 0; i < sizeof(host->memory) / sizeof(host->memory[0]); i++) {
		const struct host_memory *m = &host->memory[i];

		if (addr - m->addr < m->len && len <= m->len - (addr - m->addr)) {
			memcpy(to, m->bytes + (addr - m->addr), len);
			return 0;
		}
	}
	host->failed_reads++;
	return -EFAULT;
}

#endif
