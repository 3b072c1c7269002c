/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A test that cannot run here says why, which `make check` shows with it. Behind <cmocka.h>. */
#ifndef MEMTRACED_TESTS_SKIP_BECAUSE_H
#define MEMTRACED_TESTS_SKIP_BECAUSE_H

#define skip_because(reason)                                                                       \
	do {                                                                                       \
		print_message("%s\n", reason);                                                     \
		skip();                                                                            \
	} while (0)

#endif
