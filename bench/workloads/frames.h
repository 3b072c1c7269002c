/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames of four functions of different sizes, so that an unwinder meets different rules. Who
 * includes it defines innermost(), which descend() calls below `depth` of them.
 */
#ifndef BENCH_WORKLOADS_FRAMES_H
#define BENCH_WORKLOADS_FRAMES_H

static void innermost(long n);
static void descend(int depth, long n);

/* Work after the call keeps it from being a jump. */
#define FRAME(name, bytes)                                                                         \
	static void __attribute__((noinline)) name(int depth, long n)                              \
	{                                                                                          \
		volatile char frame[bytes];                                                        \
                                                                                                   \
		frame[0] = (char)depth;                                                            \
		descend(depth - 1, n);                                                             \
		frame[bytes - 1] = frame[0];                                                       \
	}

FRAME(frame_a, 16)
FRAME(frame_b, 200)
FRAME(frame_c, 48)
FRAME(frame_d, 1000)

static inline __attribute__((always_inline)) void descend(int depth, long n)
{
	if (depth <= 0) {
		innermost(n);
		return;
	}
	switch (depth & 3) {
	case 0:
		frame_a(depth, n);
		break;
	case 1:
		frame_b(depth, n);
		break;
	case 2:
		frame_c(depth, n);
		break;
	default:
		frame_d(depth, n);
	}
}

#endif
