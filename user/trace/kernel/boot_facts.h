/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was found out about the running kernel, kept until the next boot in a folder that only we
 * may write to: to find it out again takes each start tens of milliseconds. Taken only by the very
 * same program with the same rights, each of which has files of its own; nothing is kept or taken
 * under MEMTRACED_WITHOUT, nor under a seccomp filter, which may refuse what others are granted.
 * memtraced --features finds it anew.
 */
#ifndef MEMTRACED_TRACE_KERNEL_BOOT_FACTS_H
#define MEMTRACED_TRACE_KERNEL_BOOT_FACTS_H

#include <stddef.h>

/*
 * `folder` NULL: the usual one (base/private_folder.h). Facts are a struct without pointers. 0, or
 * -ENOENT: nothing was kept, or not for us.
 */
int boot_facts_get(const char *folder, const char *name, void *ret_facts, size_t len);
/* Of any size, to be freed. */
int boot_facts_load(const char *folder, const char *name, void **ret_facts, size_t *ret_len);
/* 0 or negative errno: the next start finds them out again. */
int boot_facts_put(const char *folder, const char *name, const void *facts, size_t len);

#endif
