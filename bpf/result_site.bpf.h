/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What probes inside an allocator function see of its calls, and its comparison with what entry and
 * return see: abi_result.h.
 */
#ifndef MEMTRACED_RESULT_SITE_BPF_H
#define MEMTRACED_RESULT_SITE_BPF_H

#include "abi_result.h"
#include "arguments.bpf.h"
#include "registers.bpf.h"
#include "thread.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32); /* ABI_COOKIE_ARGS */
	__type(value, struct abi_result_site);
} result_sites SEC(".maps") __weak;

__weak struct abi_result_check result_check SEC(".data.results");

static __always_inline bool site_begins(const struct abi_result_site *site)
{
	return site->kind == ABI_RESULT_BEGINS || site->kind == ABI_RESULT_WHOLE;
}

static __always_inline bool site_ends(const struct abi_result_site *site)
{
	return site->kind == ABI_RESULT_ENDS || site->kind == ABI_RESULT_WHOLE;
}

/* False: it is nowhere, or its memory cannot be read. */
static __always_inline bool site_value(const struct pt_regs *ctx, const struct abi_usdt_arg *arg,
				       __u64 *ret)
{
	__u64 address;

	*ret = arg->value;
	if (arg->place == ABI_USDT_REGISTER)
		*ret = probe_register(ctx, arg->reg);
	if (arg->place != ABI_USDT_MEMORY)
		return arg->place != ABI_USDT_NONE;
	address = PT_REGS_SP(ctx) + arg->value;
	return bpf_probe_read_user(ret, sizeof(*ret), (void *)address) == 0;
}

static __always_inline bool is_checked(__u16 fn)
{
	return *(volatile __u32 *)&result_check.fn == fn;
}

/* Is it the function's own, or in what it calls and that call? Others call the same code. */
static __always_inline bool site_is_of_call(const struct pt_regs *ctx,
					    const struct abi_result_site *site, __u16 fn)
{
	__u64 at = PT_REGS_SP(ctx) + site->link_at, link;

	if (!site->link || (!bpf_probe_read_user(&link, sizeof(link), (void *)at) &&
			    link == PT_REGS_IP(ctx) + (__s64)site->link))
		return true;
	if (is_checked(fn))
		__sync_fetch_and_add(&result_check.missed, 1);
	return false;
}

static __always_inline bool site_counts(const struct pt_regs *ctx,
					const struct abi_result_site *site, __u16 fn)
{
	__u8 condition = site->condition;

	return (condition == ABI_RESULT_ALWAYS || condition_holds(ctx, condition)) &&
	       site_is_of_call(ctx, site, fn);
}

/* What the call was asked for, as requested_size(). False: it is not there. */
static __always_inline bool site_size(const struct pt_regs *ctx, const struct abi_result_site *site,
				      __u64 *ret)
{
	__u64 factor;

	if (!site_value(ctx, &site->size, ret))
		return false;
	if (site->factor.place == ABI_USDT_NONE)
		return true;
	if (!site_value(ctx, &site->factor, &factor))
		return false;
	*ret = size_product(*ret, factor);
	return true;
}

/* As size_is_product(); of a product that is known alone each factor may be 1. */
static __always_inline bool site_size_is_product(const struct pt_regs *ctx,
						 const struct abi_result_site *site)
{
	__u64 size = 0, factor = 0;

	if (!site->is_product || site->factor.place == ABI_USDT_NONE)
		return site->is_product;
	return site_value(ctx, &site->size, &size) && size != 1 &&
	       site_value(ctx, &site->factor, &factor) && factor != 1;
}

/*
 * At the entry, which is seen beside the sites; or where the function leaves for another one, which
 * has a probe like that of the entry: the return is all that is seen of the rest then.
 */
static __always_inline void call_compares(struct alloc_call *call, __u16 fn, bool again)
{
	/* One that never returned. */
	if (call->is_compared && call->is_seen)
		__sync_fetch_and_add(&result_check.pending, -1);
	call->is_compared = is_checked(fn) && !again && *(volatile __u32 *)&result_check.is_armed;
	call->is_sited = *(volatile __u32 *)&result_check.sited == fn;
	call->is_seen = 0;
	call->is_odd = 0;
}

/* At a site of a function whose calls are counted by entry and return. */
static __always_inline void site_compares(struct pt_regs *ctx, const struct abi_result_site *site,
					  struct thread *t, __u16 fn)
{
	__u64 fp = 0, size = 0, result = 0;
	struct alloc_call *call = &t->call;

	if (!t->busy || call->fn != fn || !call->is_compared ||
	    call->sp != PT_REGS_SP(ctx) + site->sp_distance)
		return;
	if (site->kind == ABI_RESULT_LEAVES) {
		call->is_compared = 0; /* the return is all that is seen of the rest */
		return;
	}
	if (!site_value(ctx, &site->fp, &fp) || fp != call->fp)
		call->is_odd = 1;
	if (site->size.place != ABI_USDT_NONE &&
	    (!site_size(ctx, site, &size) || size != call->size))
		call->is_odd = 1;
	if (!site_ends(site))
		return;
	if (call->is_seen || !site_value(ctx, &site->result, &result))
		call->is_odd = 1;
	if (!call->is_seen)
		__sync_fetch_and_add(&result_check.pending, 1);
	if (site->kind == ABI_RESULT_WHOLE)
		__sync_fetch_and_add(&result_check.whole, 1);
	call->is_seen = 1;
	call->seen = result;
}

/* At the return of a call that was compared. */
static __always_inline void call_compared(struct alloc_call *call, __u64 returned)
{
	if (call->is_seen)
		__sync_fetch_and_add(&result_check.pending, -1);
	if (call->is_odd || !call->is_seen || call->seen != returned)
		__sync_fetch_and_add(&result_check.different, 1);
	else
		__sync_fetch_and_add(&result_check.same, 1);
	call->is_compared = 0;
}

#endif
