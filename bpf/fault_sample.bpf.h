/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which page faults are sampled, and for how many each stands: bpf/abi_jobs.h. What is decided of a
 * fault depends on nothing but what was before it, and chance: so sums are right on average,
 * however the interval changes meanwhile.
 */
#ifndef MEMTRACED_FAULT_SAMPLE_BPF_H
#define MEMTRACED_FAULT_SAMPLE_BPF_H

#include "abi_event.h"
#include "abi_jobs.h"
#include "ring.bpf.h"

/* Ticks of a CPU after which the daemon is to judge its period; 0: the period is fixed. */
const volatile __u32 knob_fault_ticks;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* set before the load: one for each CPU */
	__type(key, __u32);
	__type(value, struct abi_fault_clock);
} fault_clocks SEC(".maps");

/* include/uapi/linux/bpf.h */
struct bpf_perf_event_value {
	__u64 counter;
	__u64 enabled;
	__u64 running;
};

/*
 * By perf's count, as what perf says of a sample is the period of the one before, once that has
 * changed. The daemon sets `seen` to 0 when it opens an event anew. The helper fails for events of
 * other CPUs alone: 0.
 */
static __always_inline __u64 faults_since(void *ctx, struct abi_fault_clock *clock)
{
	struct bpf_perf_event_value value = {};
	__u64 n;

	if (bpf_perf_prog_read_value(ctx, &value, sizeof(value)))
		return 0;
	n = value.counter - clock->seen;
	clock->seen = value.counter;
	return n;
}

static __always_inline void count_tick(struct abi_fault_clock *clock)
{
	struct abi_event ev = { .type = ABI_EV_FAULT_TICKS, .slot = ABI_NO_SLOT };

	clock->ticks++;
	if (!knob_fault_ticks || clock->ticks % knob_fault_ticks)
		return;
	ev.time_ns = bpf_ktime_get_ns();
	(void)ring_send_now(&ev, sizeof(ev)); /* it looks by itself, too, if later */
}

/* How many of the windows that have passed had a quarter of what they may, at most. */
static __always_inline void next_window(struct abi_fault_clock *clock, __u64 now_ns)
{
	__u64 windows = (now_ns - clock->since_ns) / ABI_FAULTS_WINDOW_NS;

	if (clock->samples >= ABI_FAULTS_MOST) {
		if (clock->doublings < ABI_FAULTS_MOST_DOUBLINGS)
			clock->doublings++;
	} else if (windows == 0) {
		return;
	} else if (clock->samples < windows * (ABI_FAULTS_MOST / 4)) {
		clock->doublings = clock->doublings > windows ? clock->doublings - windows : 0;
	}
	clock->samples = 0;
	clock->since_ns = now_ns;
}

/* What the tick stands for if it is sampled; 0: it is not. */
static __always_inline __u64 fault_weight(struct abi_fault_clock *clock, __u64 n)
{
	__u32 doublings;

	if (knob_fault_ticks)
		next_window(clock, bpf_ktime_get_ns());
	doublings = clock->doublings & 31; /* for the verifier */
	if (doublings && (bpf_get_prandom_u32() & ((1U << doublings) - 1)))
		return 0;
	clock->samples++;
	n <<= doublings;
	if (n > clock->most_weight)
		clock->most_weight = n;
	return n;
}

#endif
