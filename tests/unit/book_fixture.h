/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Books made by hand, as the library would write them. */
#ifndef MEMTRACED_TESTS_UNIT_BOOK_FIXTURE_H
#define MEMTRACED_TESTS_UNIT_BOOK_FIXTURE_H

#include "bpf/abi_book.h"
#include "trace/books/book.h"

#include <stdint.h>

/* A book in memory of its writer, with its descriptor. */
struct hand_book {
	int fd;
	char *bytes;
};

/* An empty one. */
struct hand_book hand_book_new(void);
void hand_book_done(struct hand_book *hand);

/* Of tests whose state is one. */
int hand_book_setup(void **state);
int hand_book_teardown(void **state);
/* Opens it as the daemon does. */
struct book *open_hand(const struct hand_book *hand);

struct abi_book_header *hand_header(const struct hand_book *hand);
struct abi_book_thread *hand_thread(const struct hand_book *hand, uint32_t number);
struct abi_book_node *hand_node(const struct hand_book *hand, uint32_t number);
struct abi_book_site *hand_site(const struct hand_book *hand, uint32_t number);
struct abi_book_site_cut *hand_site_cut(const struct hand_book *hand, uint32_t number);
struct abi_book_tomb *hand_tomb(const struct hand_book *hand, uint32_t number);
struct abi_book_error *hand_error(const struct hand_book *hand, uint32_t number);
struct abi_book_bucket *hand_bucket(const struct hand_book *hand, uint64_t number);

/* So much that tables which are as large as they can be are believed, but for that of blocks. */
void hand_write_much(const struct hand_book *hand);

#endif
