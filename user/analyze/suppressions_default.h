/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The suppressions that are always there, as text in Valgrind's syntax: blocks that the C library,
 * the dynamic linker and libstdc++ hold until the process ends, by design. Memcheck has the
 * libraries free most of them before it counts; from outside that cannot be asked for.
 */
#ifndef MEMTRACED_ANALYZE_SUPPRESSIONS_DEFAULT_H
#define MEMTRACED_ANALYZE_SUPPRESSIONS_DEFAULT_H

const char *suppressions_default_text(void);

#endif
