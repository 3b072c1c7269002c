/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * <dlfcn.h> by the versions that every glibc has. Until 2.33 it is in libdl.so.2, since 2.34 in
 * libc.so.6, under these versions and new ones, for which an older one would refuse to start the
 * program that has this library (ld.so: "version `GLIBC_2.34' not found").
 */
#ifndef MEMTRACED_SAMPLE_LIBDL_H
#define MEMTRACED_SAMPLE_LIBDL_H

#include <dlfcn.h>

#ifdef __aarch64__
#define FIRST_GLIBC "GLIBC_2.17"
#else
#define FIRST_GLIBC "GLIBC_2.2.5"
#endif

__asm__(".symver dladdr,dladdr@" FIRST_GLIBC);
__asm__(".symver dlerror,dlerror@" FIRST_GLIBC);
__asm__(".symver dlopen,dlopen@" FIRST_GLIBC);
#ifndef __x86_64__ /* where this library stands before it (sample/loads.c) */
__asm__(".symver dlsym,dlsym@" FIRST_GLIBC);
#endif

#endif
