/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions of include/memtraced.h by which a program asks for a leak check, or of the last. */
#ifndef MEMTRACED_CONFIG_LEAK_REQUEST_H
#define MEMTRACED_CONFIG_LEAK_REQUEST_H

enum leak_request {
	LEAK_REQUEST_NONE,
	LEAK_REQUEST_FULL,
	LEAK_REQUEST_QUICK,   /* sums alone */
	LEAK_REQUEST_ADDED,   /* what has grown since the check before */
	LEAK_REQUEST_CHANGED, /* what has grown or shrunk since then */
	LEAK_REQUEST_SUMS,    /* no check: those of the one before are written into the process */
	LEAK_REQUESTS,
};

/* Its name; not of LEAK_REQUEST_NONE. */
const char *leak_request_function(enum leak_request request);
/* LEAK_REQUEST_NONE: the function is another one. NULL is legal. */
enum leak_request leak_request_find(const char *function);

#endif
