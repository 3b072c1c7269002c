/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes ELF files for tests with the machine's own C compiler, which a test may find missing. */
#ifndef MEMTRACED_TESTS_BUILD_OBJECT_H
#define MEMTRACED_TESTS_BUILD_OBJECT_H

/*
 * Compiles and links C code with the words of `flags` ("-shared -fPIC"). A descriptor of the
 * result, which has no name any more, or -1: no compiler, or it failed.
 */
int build_object(const char *source, const char *flags);

/* A descriptor of the library of that file name ("libc.so.6") of this machine, or -1. */
int open_library(const char *name);

#endif
