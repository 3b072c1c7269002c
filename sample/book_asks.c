/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sample/book_asks.h"

#include "sample/book_memory.h"
#include "sample/probes.h"
#include "sample/walk_rules.h"

#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ANSWER_S 2

/* One thread at a time: there is one answer. */
static uint32_t asking;

void book_wait_for(uint32_t *word)
{
	const struct timespec limit = { .tv_sec = ANSWER_S };

	if (__atomic_load_n(word, __ATOMIC_ACQUIRE) == 0)
		(void)syscall(SYS_futex, word, FUTEX_WAIT, 0, &limit, NULL,
			      0); /* that long, or until it is another one */
}

/* Not of what shares this memory, which the daemon does not know as a process of its own. */
static bool may_ask(const struct abi_book_header *header)
{
	return probe_book_is_heard() && header->answer == ABI_BOOK_READ && !book_is_filtered() &&
	       header->pid == (uint32_t)getpid();
}

static struct abi_unwind_rule ask_rule(uint64_t address)
{
	struct abi_book_header *header = book.header;
	struct abi_unwind_rule rule = { .kind = ABI_UNWIND_NONE };
	int error = errno;

	if (!may_ask(header) || !book_lock(&asking)) {
		errno = error;
		return rule;
	}
	header->rule = 0;
	__atomic_store_n(&header->has_rule, 0, __ATOMIC_RELEASE);
	memtraced_book(ABI_BOOK_ASKS, address);
	book_wait_for(&header->has_rule);
	if (__atomic_load_n(&header->has_rule, __ATOMIC_ACQUIRE))
		memcpy(&rule, &header->rule, sizeof(rule));
	book_unlock(&asking);
	errno = error;
	return rule;
}

void book_asks_begin(void)
{
	asking = 0; /* a parent's may have been held at the fork */
	walk_rules_ask(ask_rule);
}
