/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A system call made by an instruction of the program's own, and a pause of the processor. */
#ifndef MEMTRACED_TESTS_RAW_SYSCALL_H
#define MEMTRACED_TESTS_RAW_SYSCALL_H

/* Macros, so that they are no function on any stack. */
#ifdef __aarch64__
#define RAW_SYSCALL3(nr, a, b, c)                                                                  \
	({                                                                                         \
		register long x8 __asm__("x8") = (nr);                                             \
		register long x0 __asm__("x0") = (a);                                              \
		register long x1 __asm__("x1") = (b);                                              \
		register long x2 __asm__("x2") = (c);                                              \
                                                                                                   \
		__asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");      \
		x0;                                                                                \
	})
#define PROCESSOR_PAUSE() __asm__ volatile("yield")
#else
#define RAW_SYSCALL3(nr, a, b, c)                                                                  \
	({                                                                                         \
		long result;                                                                       \
                                                                                                   \
		__asm__ volatile("syscall"                                                         \
				 : "=a"(result)                                                    \
				 : "a"(nr), "D"(a), "S"(b), "d"(c)                                 \
				 : "rcx", "r11", "memory");                                        \
		result;                                                                            \
	})
#define PROCESSOR_PAUSE() __builtin_ia32_pause()
#endif

#endif
