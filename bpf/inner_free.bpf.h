/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frees that an allocator makes of blocks which its user has freed already:
 * user/probe/inner_frees.h.
 */
#ifndef MEMTRACED_INNER_FREE_BPF_H
#define MEMTRACED_INNER_FREE_BPF_H

#include "maps.bpf.h"
#include "thread.bpf.h"

/* In thread.free_sp: the free before was of the same block in the same frame. */
#define FREED_AGAIN 1ULL

/* Return address of the call that free made before it jumped back: below a word that it kept. */
#define JUMPED_BACK_BELOW 16

/*
 * The allocator's own free of what the program has freed already, by its return address; or the
 * thread's last free once more, which has jumped back to its beginning.
 */
VERIFIED_ONCE_NUMBERS int is_inner_free(__u64 address, __u64 ip, __u16 fn)
{
	struct abi_inner_free key = { .fn = fn, .distance = address - ip };
	struct thread *t = thread_find();

	if (bpf_map_lookup_elem(&inner_frees, &key))
		return 1;
	if (!t || !(t->free_sp & FREED_AGAIN) ||
	    bpf_probe_read_user(&address, sizeof(address),
				(void *)((t->free_sp & ~FREED_AGAIN) - JUMPED_BACK_BELOW)))
		return 0;
	key.distance = address - ip;
	if (!bpf_map_lookup_elem(&inner_frees, &key))
		return 0;
	t->free_ptr = 0; /* the word is still there at the next one */
	return 1;
}

#endif
