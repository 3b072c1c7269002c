/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/text/error_words.h"

#include "config/units.h"
#include "report/text/text.h"

#include <inttypes.h>
#include <signal.h>

void error_words_title(struct strbuf *out, const struct record_heap_error *error,
		       const char *function)
{
	char size[FORMAT_UNIT_LEN];

	if (!function)
		function = "an allocator function";
	switch (error->kind) {
	case RECORD_MISMATCHED_FREE:
		strbuf_adds(out, "Mismatched free() / delete / delete []");
		break;
	case RECORD_FOREIGN_FREE:
		strbuf_adds(out, "Free of a block that another allocator has made");
		break;
	case RECORD_FAILED_ALLOCATION:
		/* Of calloc and reallocarray: the product. */
		strbuf_addf(out, "Failed allocation: %s for %s", function,
			    error->size == UINT64_MAX ? "2^64 bytes or more" :
							format_size((int64_t)error->size, size));
		break;
	case RECORD_SUSPICIOUS_SIZE:
		strbuf_addf(out,
			    "Argument 'size' of function %s has a fishy (possibly negative) "
			    "value: %" PRId64,
			    function, (int64_t)error->size);
		break;
	case RECORD_REALLOC_ZERO:
		strbuf_adds(out, "realloc() with size 0");
		break;
	default:
		strbuf_adds(out, "Invalid free() / delete / delete[] / realloc()");
	}
}

void error_words_address(struct strbuf *out, const struct record_heap_error *error, bool has_block)
{
	bool freed = error->kind == RECORD_DOUBLE_FREE;
	uint64_t offset = error->addr - error->block;

	strbuf_addf(out, "Address 0x%" PRIx64, error->addr);
	if (has_block && offset < error->block_size + (error->block_size == 0)) {
		strbuf_adds(out, " is ");
		text_grouped(out, offset);
		strbuf_adds(out, " bytes inside a block of size ");
		text_grouped(out, error->block_size);
		strbuf_adds(out, freed ? " free'd" : " alloc'd");
	} else if (freed) {
		strbuf_adds(out, " is a block that was free'd before");
	} else {
		strbuf_adds(out, " is not a live block: freed before or never allocated");
	}
}

bool error_words_has_address(const struct record_heap_error *error, bool has_block)
{
	bool is_free = error->kind == RECORD_INVALID_FREE || error->kind == RECORD_DOUBLE_FREE;

	return error->addr && (has_block || is_free);
}

const char *fault_signal_name(int signal)
{
	switch (signal) {
	case SIGSEGV:
		return "SIGSEGV";
	case SIGBUS:
		return "SIGBUS";
	case SIGABRT:
		return "SIGABRT";
	case SIGILL:
		return "SIGILL";
	case SIGFPE:
		return "SIGFPE";
	default:
		return NULL;
	}
}

void fault_words_title(struct strbuf *out, const struct record_fault *fault)
{
	const char *name = fault_signal_name(fault->signal);

	strbuf_addf(out, "Process terminating with default action of signal %d", fault->signal);
	if (name)
		strbuf_addf(out, " (%s)", name);
}

/* coregrind/m_signals.c has the same for its users. */
static const char *cause_of(const struct record_fault *fault)
{
	switch (fault->signal) {
	case SIGSEGV:
		if (fault->code == SEGV_MAPERR)
			return "Access not within mapped region";
		if (fault->code == SEGV_ACCERR)
			return "Bad permissions for mapped region";
		return fault->code == SI_KERNEL ? "General Protection Fault" : NULL;
	case SIGBUS:
		if (fault->code == BUS_ADRALN)
			return "Invalid address alignment";
		return fault->code == BUS_ADRERR ? "Non-existent physical address" : NULL;
	case SIGILL:
		return fault->code > 0 ? "Illegal instruction" : NULL;
	case SIGFPE:
		return fault->code == FPE_INTDIV ? "Integer divide by zero" : NULL;
	default:
		return NULL;
	}
}

void fault_words_cause(struct strbuf *out, const struct record_fault *fault)
{
	const char *cause = cause_of(fault);

	/* Not of SIGABRT, which abort() sends to itself. */
	if (!cause && fault->code <= 0 && fault->signal != SIGABRT)
		cause = "Sent by a process";
	if (!cause)
		return;
	strbuf_adds(out, cause);
	if (fault->has_addr)
		strbuf_addf(out, " at address 0x%" PRIx64, fault->addr);
}

int fault_side(const struct record_fault *fault, uint64_t *ret_offset)
{
	uint64_t size = fault->block_size ? fault->block_size : 1;

	if (fault->addr < fault->block) {
		*ret_offset = fault->block - fault->addr;
		return -1;
	}
	*ret_offset = fault->addr - fault->block;
	if (*ret_offset < size)
		return 0;
	*ret_offset -= fault->block_size;
	return 1;
}

void fault_words_address(struct strbuf *out, const struct record_fault *fault)
{
	static const char *const sides[] = { "before", "inside", "after" };
	uint64_t offset;
	int side;

	if (!fault->has_addr)
		return;
	strbuf_addf(out, "Address 0x%" PRIx64 " is ", fault->addr);
	if (!fault->block) {
		strbuf_adds(out, fault->unsearched ?
					 "in no block that is known: not all were searched" :
					 "in and near no block that is known");
		return;
	}
	side = fault_side(fault, &offset);
	text_grouped(out, offset);
	strbuf_addf(out, " bytes %s a block of size ", sides[side + 1]);
	text_grouped(out, fault->block_size);
	strbuf_adds(out, fault->freed ? " free'd" : " alloc'd");
}
