/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scope-bound ownership: a variable declared with one of these attributes releases what it holds
 * when it goes out of scope; TAKE_PTR and TAKE_FD hand the object on and leave "nothing" behind.
 * Header only; no state.
 */
#ifndef MEMTRACED_BASE_CLEANUP_H
#define MEMTRACED_BASE_CLEANUP_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define _cleanup_(f) __attribute__((cleanup(f)))

/* Defines `static inline void FREE_FN_p(TYPE **p)`: calls free_fn(*p); free_fn(NULL) is legal. */
#define DEFINE_CLEANUP(type, free_fn)                                                              \
	static inline void free_fn##_p(type **p)                                                   \
	{                                                                                          \
		free_fn(*p);                                                                       \
	}

static inline void cleanup_free(void *p)
{
	free(*(void **)p);
}

static inline void cleanup_close(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void cleanup_fclose(FILE **f)
{
	if (*f)
		fclose(*f);
}

static inline void cleanup_closedir(DIR **d)
{
	if (*d)
		closedir(*d);
}

#define _cleanup_free_ _cleanup_(cleanup_free)
#define _cleanup_close_ _cleanup_(cleanup_close)
#define _cleanup_fclose_ _cleanup_(cleanup_fclose)
#define _cleanup_closedir_ _cleanup_(cleanup_closedir)

#define TAKE_PTR(p)                                                                                \
	({                                                                                         \
		typeof(p) take_ptr_tmp = (p);                                                      \
		(p) = NULL;                                                                        \
		take_ptr_tmp;                                                                      \
	})

#define TAKE_FD(fd)                                                                                \
	({                                                                                         \
		int take_fd_tmp = (fd);                                                            \
		(fd) = -1;                                                                         \
		take_fd_tmp;                                                                       \
	})

#endif
