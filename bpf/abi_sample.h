/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sampled depth: allocations that a process itself has chosen and shows by USDT probes (the
 * contract otel_memory). Where a probe's arguments are, and what stands for a sample in the books:
 * a block whose bytes are the sample's weight, and which counts for weight / size blocks.
 */
#ifndef MEMTRACED_BPF_ABI_SAMPLE_H
#define MEMTRACED_BPF_ABI_SAMPLE_H

#include "abi.h"

/* Where a USDT probe's argument is, by its descriptor: elf/usdt.h. */
enum abi_usdt_place {
	ABI_USDT_NONE,	   /* there is no such argument */
	ABI_USDT_CONSTANT, /* `value` */
	ABI_USDT_REGISTER, /* at `reg` in struct pt_regs */
	ABI_USDT_MEMORY,   /* at [reg + value], or [reg + (index << shift) + value] */
};

struct abi_usdt_arg {
	__u8 place; /* enum abi_usdt_place */
	__u8 bytes; /* 1, 2, 4, 8 */
	__u8 is_signed;
	__u8 shift;
	__u16 reg;   /* bytes into struct pt_regs */
	__u16 index; /* the same; ABI_USDT_NO_INDEX: none */
	__s64 value;
};
#define ABI_USDT_NO_INDEX 0xffff
/* More than struct pt_regs has on any architecture. */
#define ABI_USDT_REGS_MASK 0x1ff

enum abi_sample_argument {
	ABI_SAMPLE_PTR,
	ABI_SAMPLE_SIZE,
	ABI_SAMPLE_WEIGHT,
	ABI_SAMPLE_INTERVAL_TOLD, /* a variable of our own library, not of the contract */
	ABI_SAMPLE_ARGS,
};

/* Of a probe, by ABI_COOKIE_ARGS. */
struct abi_sample_spec {
	struct abi_usdt_arg arg[ABI_SAMPLE_ARGS];
	__u32 is_stand_in; /* of the library that samples for programs without probes */
	/* The caller is in the link register: it has no frame record. */
	__u32 in_link;
};
#define ABI_SAMPLE_SPECS (1 << 12)

/*
 * In abi_proc.sample_interval, beside the interval: the process shows samples of its own. A library
 * that stands in for it then shows the same bytes again.
 */
#define ABI_SAMPLE_OWN (1ULL << 63)
/* What an image's blocks are is settled when it begins: these are samples, else calls are. */
#define ABI_SAMPLE_IMAGE (1ULL << 62)
/*
 * Weights are multiples of the interval, as the contract had it before: the number of samples in a
 * block times the interval. Its variance is the interval times the weight.
 */
#define ABI_SAMPLE_MULTIPLES (1ULL << 61)
/* How often we doubled the interval: there was no more room for samples, or no more time. */
#define ABI_SAMPLE_THINNED_SHIFT 48
#define ABI_SAMPLE_THINNED_MASK 0xfULL
#define ABI_SAMPLE_THINNED(v) ((v) >> ABI_SAMPLE_THINNED_SHIFT & ABI_SAMPLE_THINNED_MASK)
#define ABI_SAMPLE_SHOWN(v) ((v) & ((1ULL << ABI_SAMPLE_THINNED_SHIFT) - 1))
/* What a sample stands for: what the process has shown, and what we made of it. */
#define ABI_SAMPLE_INTERVAL_OF(v) (ABI_SAMPLE_SHOWN(v) << ABI_SAMPLE_THINNED(v))
#define ABI_SAMPLE_INTERVAL(proc) ABI_SAMPLE_INTERVAL_OF((proc)->sample_interval)

/*
 * A process that has more than half of its room for live samples has the interval doubled for
 * those that come, and once more with each of so many parts of the other half.
 */
#define ABI_SAMPLE_DOUBLINGS 15
#define ABI_SAMPLE_NO_ROOM (ABI_SAMPLE_DOUBLINGS + 1)

/* The function that stands for all samples' allocations: abi_block has no room for another. */
#define ABI_FN_SAMPLED 4

/*
 * abi_block.size_fn of a sample: its weight is where a block's size is, and where the function is,
 * its size as a float: 10 bits of mantissa, true to half a thousandth.
 */
#define ABI_SAMPLE_MANTISSA 10

/* How often with so many live samples; or ABI_SAMPLE_NO_ROOM. */
static inline __u32 abi_sample_doublings(__s64 live, __u32 room)
{
	__u64 half = room / 2, part = half / ABI_SAMPLE_DOUBLINGS + 1, beyond;

	if (live < (__s64)half)
		return 0;
	beyond = ((__u64)live - half) / part;
	return beyond < ABI_SAMPLE_DOUBLINGS ? 1 + beyond : ABI_SAMPLE_NO_ROOM;
}

static inline __u16 abi_sample_size_code(__u64 size)
{
	__u32 shift = 0, step;

	if (size >> ABI_SIZE_BITS)
		size = (1ULL << ABI_SIZE_BITS) - 1;
	if (!(size >> ABI_SAMPLE_MANTISSA))
		return size;
	/* By halves, without a loop whose end depends on the size. */
	for (step = 32; step; step >>= 1)
		if (size >> (ABI_SAMPLE_MANTISSA + shift + step))
			shift += step;
	/* A mantissa that is rounded up to the next power of two goes over into the exponent. */
	size = (size + (1ULL << shift >> 1)) >> shift;
	return (shift << ABI_SAMPLE_MANTISSA) + size;
}

static inline __u64 abi_sample_size(__u16 code)
{
	__u32 exponent = code >> ABI_SAMPLE_MANTISSA;
	__u64 mantissa = code & ((1 << ABI_SAMPLE_MANTISSA) - 1);

	return exponent ? (mantissa | 1 << ABI_SAMPLE_MANTISSA) << (exponent - 1) : mantissa;
}

/*
 * Of a block whose size is more than half of its weight, the rest of the weight is kept in place of
 * the size, so that both are known to half a thousandth: abi_block's form says which it is.
 */
#define ABI_SAMPLE_BEYOND 1

static inline __u64 abi_sample_size_fn(__u64 weight, __u64 size)
{
	if (size <= weight && weight - size < size)
		return ABI_SIZE_FN(weight, (__u64)ABI_SAMPLE_BEYOND,
				   abi_sample_size_code(weight - size));
	return ABI_SIZE_FN(weight, 0, abi_sample_size_code(size));
}

/* A sample's own size. */
static inline __u64 abi_sampled_size(const struct abi_block *block)
{
	__u64 kept = abi_sample_size(ABI_BLOCK_FN(block));

	return ABI_BLOCK_FORM(block) == ABI_SAMPLE_BEYOND ? ABI_BLOCK_SIZE(block) - kept : kept;
}

/*
 * What the weight of a sample is multiplied by to give what it adds to the variance: what it stands
 * for beyond itself, or, of multiples of the interval, that. `known`: sample_interval of its
 * process.
 */
static inline __u64 abi_sampled_beyond(const struct abi_block *block, __u64 known)
{
	__u64 kept = abi_sample_size(ABI_BLOCK_FN(block)), weight = ABI_BLOCK_SIZE(block);

	if (known & ABI_SAMPLE_MULTIPLES)
		return ABI_SAMPLE_INTERVAL_OF(known);
	if (ABI_BLOCK_FORM(block) == ABI_SAMPLE_BEYOND)
		return kept;
	return weight > kept ? weight - kept : kept - weight;
}

/* The unit of bytes_variance: 32 bytes, squared. */
#define ABI_SAMPLE_BYTES_SHIFT 10
/* Of one sample; where it stands for more its variance is too small. */
#define ABI_SAMPLE_MOST_BYTES (1ULL << 33)

/* What a sample adds to the estimated variance of bytes: w (w - S), by the contract. */
static inline __u64 abi_sample_bytes_variance(__u64 weight, __u64 beyond)
{
	if (!((weight | beyond) >> 32))
		return (weight * beyond + (1ULL << ABI_SAMPLE_BYTES_SHIFT >> 1)) >>
		       ABI_SAMPLE_BYTES_SHIFT;
	if (weight > ABI_SAMPLE_MOST_BYTES && beyond)
		weight = ABI_SAMPLE_MOST_BYTES;
	if (beyond > ABI_SAMPLE_MOST_BYTES)
		beyond = ABI_SAMPLE_MOST_BYTES;
	return (weight >> ABI_SAMPLE_BYTES_SHIFT / 2) * (beyond >> ABI_SAMPLE_BYTES_SHIFT / 2);
}

/* abi_site_counts of samples: live_blocks and allocs are in parts of a block, */
#define ABI_SAMPLE_BLOCK_SHIFT 16
/* and allocs_variance in parts of a block's square. */
#define ABI_SAMPLE_VARIANCE_SHIFT 4
/* Of one sample; where it stands for more its variance is too small. */
#define ABI_SAMPLE_MOST_BLOCKS (1ULL << 29)

/* The contract's usual interval: the largest while all samples were chosen for certain. */
#define ABI_SAMPLE_USUAL_INTERVAL (512 << 10)

/*
 * The interval R of which a block of this size has this weight, w = S / (1 - exp(-S / R)). From
 * R = w - S/2 - S^2/(12 R) + ..., with what the line before gave for R: not too small by more than
 * 1 in 300, and too large by 3 % where S is 3 R. Larger blocks tell less.
 */
static inline __u64 abi_sample_interval(__u64 weight, __u64 size)
{
	__u64 interval, half, third;

	if (size > weight)
		return weight;
	half = weight - size / 2;
	interval = half;
	/* At least size / 2 and size / 3, so that nothing is negative or too large for 64 bits. */
	third = size * ((size << 10) / (interval ? interval : 1)) / (12 << 10);
	interval = half - third;
	third = size * ((size << 10) / (interval ? interval : 1)) / (12 << 10);
	interval = half - third;
	if (size == weight && interval > ABI_SAMPLE_USUAL_INTERVAL)
		return ABI_SAMPLE_USUAL_INTERVAL;
	return interval ? interval : 1;
}

/*
 * abi_proc.least_sample: the least weight that was shown, with the code of its size above it. It is
 * the smallest block's, which tells the interval best.
 */
#define ABI_SAMPLE_LEAST(weight, code) ((weight) | (__u64)(code) << ABI_SIZE_BITS)
#define ABI_SAMPLE_LEAST_WEIGHT(v) ((v) & ((1ULL << ABI_SIZE_BITS) - 1))
#define ABI_SAMPLE_LEAST_CODE(v) ((__u16)((v) >> ABI_SIZE_BITS))

static inline __u64 abi_sample_least(__u64 least, __u64 weight, __u64 size)
{
	__u64 shown = ABI_SAMPLE_LEAST(weight, abi_sample_size_code(size));

	if (!least || ABI_SAMPLE_LEAST_WEIGHT(least) > weight)
		return shown;
	return least;
}

/* The interval that the least weight tells; with ABI_SAMPLE_MULTIPLES in `kind` it is that. */
static inline __u64 abi_sample_told(__u64 least, __u64 kind)
{
	__u64 weight = ABI_SAMPLE_LEAST_WEIGHT(least);

	if (kind & ABI_SAMPLE_MULTIPLES)
		return weight | ABI_SAMPLE_MULTIPLES;
	return abi_sample_interval(weight, abi_sample_size(ABI_SAMPLE_LEAST_CODE(least)));
}

/*
 * Is this sample one of a process whose weights are multiples of the interval? By the contract of
 * now no weight is below the size, and blocks of one weight have one size, but for rounding.
 */
static inline int abi_sample_is_multiple(__u64 least, __u64 weight, __u64 size)
{
	__u64 other = abi_sample_size(ABI_SAMPLE_LEAST_CODE(least));
	__u64 apart = size > other ? size - other : other - size;

	if (weight < size)
		return 1;
	return weight == ABI_SAMPLE_LEAST_WEIGHT(least) && apart > 8 + size / 512;
}

/* For how many blocks a sample counts, in these parts. */
static inline __u64 abi_sample_blocks(__u64 weight, __u64 size)
{
	return (weight << ABI_SAMPLE_BLOCK_SHIFT) / (size ? size : 1);
}

/* What a sample adds to the estimated variance of the number of blocks: w (w - S) / S^2. */
static inline __u64 abi_sample_variance(__u64 weight, __u64 size, __u64 beyond)
{
	__u64 blocks = abi_sample_blocks(weight, size) >> 8;
	__u64 of_beyond = (beyond << 8) / (size ? size : 1);

	if (!((blocks | of_beyond) >> 32))
		return blocks * of_beyond >> (16 - ABI_SAMPLE_VARIANCE_SHIFT);
	/* A GiB of small blocks, say: of so many none is a part of one, and squares must fit. */
	blocks >>= 8;
	of_beyond >>= 8;
	if (blocks > ABI_SAMPLE_MOST_BLOCKS)
		blocks = ABI_SAMPLE_MOST_BLOCKS;
	if (of_beyond > ABI_SAMPLE_MOST_BLOCKS)
		of_beyond = ABI_SAMPLE_MOST_BLOCKS;
	return blocks * of_beyond << ABI_SAMPLE_VARIANCE_SHIFT;
}

/* For how many blocks beyond itself a sample stands, by what it adds to both sums. */
static inline __u64 abi_sample_blocks_beyond(__u64 blocks, __u64 variance)
{
	blocks >>= ABI_SAMPLE_BLOCK_SHIFT - ABI_SAMPLE_VARIANCE_SHIFT;
	return variance / (blocks ? blocks : 1);
}

#ifndef __bpf__
static_assert(sizeof(struct abi_usdt_arg) == 16, "abi_usdt_arg");
static_assert(sizeof(struct abi_sample_spec) == 72, "abi_sample_spec");
static_assert(ABI_SIZE_BITS + 16 <= 64, "a weight and the code of a size");
#endif

#endif
