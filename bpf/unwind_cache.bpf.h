/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is known of code addresses without a search. One table for all processes and CPUs, a word an
 * entry, so that none can be read half written:
 *
 *   63                              16 15             0
 *   | high bits of the address's mix   | code          |   at the low 16 bits of the mix
 *
 * The code is the number of a rule, or for those of the common shapes the rule itself:
 *
 *   15  14     13            6 5              0
 *   | 1 | rbp? | (CFA - reg)/8 | rbp at CFA - 8n |        n = 0: unchanged
 *
 * The mix holds stack_seed(), which changes when code of the process goes, so that nothing has to
 * be taken out; that an address is in no mapping is not kept.
 */
#ifndef MEMTRACED_UNWIND_CACHE_BPF_H
#define MEMTRACED_UNWIND_CACHE_BPF_H

#include "abi_unwind.h"

#include <bpf/bpf_helpers.h>

#define UNWIND_CACHE_BITS 16
#define UNWIND_CACHE_WORDS (1U << UNWIND_CACHE_BITS)
#define UNWIND_CODE_MASK 0xffffULL

struct unwind_cache {
	__u64 word[UNWIND_CACHE_WORDS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct unwind_cache);
} unwind_caches SEC(".maps") __weak;

#define UNWIND_CODE_SHORT 0x8000
#define UNWIND_CODE_BP 0x4000
#define UNWIND_CODE_WORDS 0x3f

static __always_inline struct unwind_cache *unwind_cache(void)
{
	__u32 first = 0;

	return bpf_map_lookup_elem(&unwind_caches, &first);
}

/*
 * Different for different addresses of a process, whose highest bits are equal; never 0, which is
 * what an unused entry holds.
 */
static __always_inline __u64 unwind_mix(__u64 address, __u64 seed)
{
	__u64 mix = (address ^ seed * 0xc2b2ae3d27d4eb4fULL) * 0x9e3779b97f4a7c15ULL;

	return (mix ^ mix >> 32) | 1ULL << 63;
}

/* The rule in short, or 0. */
static __always_inline __u32 unwind_code_short(const struct abi_unwind_rule *rule)
{
	__u32 cfa = (__u32)rule->offset, at = -(__s32)rule->bp_offset, code = UNWIND_CODE_SHORT;

	if (cfa & 7 || cfa / 8 > 0xff)
		return 0;
	code |= cfa / 8 << 6;
	if (rule->kind == ABI_UNWIND_BP)
		code |= UNWIND_CODE_BP;
	else if (rule->kind != ABI_UNWIND_SP)
		return 0;
	if (rule->bp == ABI_UNWIND_BP_SAME)
		return code;
	if (rule->bp != ABI_UNWIND_BP_AT_CFA || at & 7 || at < 16 || at / 8 > 0x3f)
		return 0;
	return code | at / 8;
}

#endif
