/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/object_facts.h"

#include "elf/cfi/cfi_file.h"
#include "elf/elf_file.h"
#include "elf/elf_sections.h"
#include "elf/usdt.h"
#include "probe/allocators.h"
#include "probe/sample_plan.h"
#include "target/preload.h"

#include <elf.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* _start is about 40 bytes of hand-written code in every libc. */
#define ENTRY_BYTES 64
/* Since glibc 2.34 main is called by a static function that stands right before it in the text. */
#define BEFORE_START_MAIN 512

static void read_threads(struct elf_file *elf, struct stack_start *ret_start)
{
	struct cfi_range ranges[STACK_START_THREADS];
	size_t n = cfi_file_starts(elf, ranges, STACK_START_THREADS);

	for (size_t i = 0; i < n; i++) {
		uint64_t offset;

		if (elf_file_offset_of(elf, ranges[i].start, &offset))
			continue;
		ret_start->threads[i].start = offset;
		ret_start->threads[i].end = offset + ranges[i].end - ranges[i].start;
	}
}

void stack_start_read(struct elf_file *elf, struct stack_start *ret_start)
{
	const struct elf_symbol *symbols;
	size_t n;

	*ret_start = (struct stack_start){ 0 };
	(void)elf_file_offset_of(elf, elf_file_entry(elf), &ret_start->entry); /* -ENOENT: none */
	symbols = elf_file_symbols(elf, &n);
	for (size_t i = 0; i < n; i++) {
		if (strcmp(symbols[i].name, "__libc_start_main") != 0 ||
		    elf_file_offset_of(elf, symbols[i].value, &ret_start->main_call))
			continue;
		ret_start->main_call_end = ret_start->main_call + symbols[i].size;
		ret_start->main_call -= BEFORE_START_MAIN;
		read_threads(elf, ret_start);
		return;
	}
}

bool stack_start_contains(const struct stack_start *start, uint64_t file_offset)
{
	if (start->entry && file_offset >= start->entry && file_offset < start->entry + ENTRY_BYTES)
		return true;
	for (int i = 0; i < STACK_START_THREADS; i++)
		if (file_offset >= start->threads[i].start && file_offset < start->threads[i].end)
			return true;
	return start->main_call && file_offset >= start->main_call &&
	       file_offset < start->main_call_end;
}

/* Each is compared with all; an object has a few. */
#define MAX_POINTS 256

static bool is_known(const struct checkpoints *points, uint64_t offset)
{
	vec_foreach(&points->list, point)
		if (point->offset == offset)
			return true;
	return false;
}

static int find_function(const struct elf_file *file, const char *name, uint16_t function,
			 struct checkpoints *points)
{
	size_t n;
	const struct elf_symbol *symbols = elf_file_symbols(file, &n);
	int r = 0;

	for (size_t i = 0; i < n && r == 0 && points->list.len < MAX_POINTS; i++) {
		uint64_t offset;

		if (strcmp(symbols[i].name, name) != 0 || symbols[i].is_ifunc ||
		    elf_file_offset_of(file, symbols[i].value, &offset) < 0 ||
		    is_known(points, offset))
			continue;
		r = vec_push(&points->list, (struct checkpoint){ offset, function, 0 });
	}
	return r;
}

/* Of include/memtraced.h: its functions, and the provider of its probes. */
#define HEADER "memtraced"

static bool is_of_header(const char *function)
{
	return strncmp(function, HEADER "_", sizeof(HEADER)) == 0;
}

/* In a file without the symbol: the probe of that name, which has no arguments. */
static int find_probe(const struct usdt_notes *notes, const char *name, uint16_t function,
		      struct checkpoints *points)
{
	int r = 0;

	for (size_t i = 0; is_of_header(name) && i < notes->n && r == 0; i++)
		if (strcmp(notes->probes[i].name, name + sizeof(HEADER)) == 0 &&
		    !*notes->probes[i].args && !is_known(points, notes->probes[i].offset))
			r = vec_push(&points->list,
				     (struct checkpoint){ notes->probes[i].offset, function, 0 });
	return r;
}

/* Names are as in the symbol table; NULL-terminated, or NULL: none. 0 or -ENOMEM. */
static int checkpoints_find(const struct elf_file *file, const struct usdt_notes *notes,
			    char *const *names, struct checkpoints *points)
{
	static const char *const executes[] = { "execve", "fexecve", "execveat" };
	int r = 0;

	for (uint16_t i = 0; r == 0 && names && names[i]; i++) {
		size_t before = points->list.len;

		r = find_function(file, names[i], i + 1, points);
		if (r == 0 && points->list.len == before)
			r = find_probe(notes, names[i], i + 1, points);
	}
	for (size_t i = 0; r == 0 && i < sizeof(executes) / sizeof(executes[0]); i++)
		r = find_function(file, executes[i], 0, points);
	return r;
}

/* The program can see by their counter of listeners that these are probed. */
static void set_semaphores(const struct usdt_notes *notes, char *const *names,
			   struct object_facts *facts)
{
	uint64_t offset = notes->n ? notes->probes[0].semaphore_offset : 0;

	for (size_t i = 0; facts->plan && i < facts->plan->n_probes; i++)
		if (is_of_header(facts->plan->probes[i].function))
			facts->plan->probes[i].semaphore_offset = offset;
	vec_foreach(&facts->checkpoints.list, point)
		if (point->function && is_of_header(names[point->function - 1]))
			point->semaphore_offset = offset;
}

static bool has_header(const struct plan *plan)
{
	for (size_t i = 0; plan && i < plan->n_probes; i++)
		if (is_of_header(plan->probes[i].function))
			return true;
	return false;
}

static int read_header_probes(struct elf_file *elf, const struct object_wants *wants,
			      struct object_facts *facts)
{
	_cleanup_(usdt_notes_done) struct usdt_notes notes = { 0 };
	int r = wants->checkpoints || has_header(facts->plan) ?
			usdt_notes_read(elf, HEADER, &notes) :
			0;

	if (r == 0 && wants->checkpoints)
		r = checkpoints_find(elf, &notes, wants->checkpoint_names, &facts->checkpoints);
	if (r == 0)
		set_semaphores(&notes, wants->checkpoint_names, facts);
	return r;
}

/*
 * The function that a dynamic linker calls for debuggers when it has mapped or unmapped libraries,
 * and before any of their code runs: r_debug.r_brk of <link.h>.
 */
struct elf_file;

/* glibc's and musl's; both export it. */
#define LOADER_STOP "_dl_debug_state"

/* Its offset in the file; 0: the file is no dynamic linker, or has another name for it. */
static uint64_t loader_stop_find(const struct elf_file *file)
{
	const struct elf_symbol *symbols;
	uint64_t offset;
	size_t n;

	if (elf_file_type(file) != ET_DYN || elf_file_is_static_executable(file))
		return 0;
	symbols = elf_file_symbols(file, &n);
	for (size_t i = 0; i < n; i++)
		if (strcmp(symbols[i].name, LOADER_STOP) == 0 && !symbols[i].is_ifunc &&
		    elf_file_offset_of(file, symbols[i].value, &offset) == 0)
			return offset;
	return 0;
}

#define MAX_NAMES ((size_t)64 << 20) /* bytes of .dynstr */

static bool defines(const struct elf_file *elf, const char *name)
{
	size_t n;
	const struct elf_symbol *symbols = elf_file_symbols(elf, &n);

	for (size_t i = 0; i < n; i++)
		if (strcmp(symbols[i].name, name) == 0)
			return true;
	return false;
}

static bool is_own_name(const char *name)
{
	/* Most names need no further look. */
	const struct allocator_function *function =
		strchr("tmj_", *name) ? allocator_function_find(name) : NULL;

	return function && allocator_family_of(function);
}

/* Of what it needs from others, only the names are there: those that it does not define itself. */
static bool find_own_names(struct elf_file *elf)
{
	struct elf_section section = {};
	const char *names, *end;
	bool any = false;

	if (elf_section_read(elf, ".dynstr", MAX_NAMES, &section) < 0)
		return false;
	names = (const char *)section.bytes;
	end = names + section.len;
	/* Without a NUL at its end the last one is not read. */
	while (!any && names < end && memchr(names, '\0', (size_t)(end - names))) {
		any = *names && is_own_name(names) && !defines(elf, names);
		names += strlen(names) + 1;
	}
	free(section.bytes);
	return any;
}

void object_facts_done(struct object_facts *facts)
{
	plan_free(facts->plan);
	plan_free(facts->samples);
	vec_done(&facts->checkpoints.list);
	elf_needs_done(&facts->needs);
	*facts = (struct object_facts){ 0 };
}

static int read_all(struct elf_file *elf, const struct object_wants *wants,
		    struct object_facts *facts)
{
	const uint8_t *id;
	size_t len;
	int r = 0;

	/* Once for all that is asked of it: symbols are read, which takes node's 45 ms. */
	if (wants->allocators)
		r = plan_new(elf, wants->path, wants->emulation, wants->custom, wants->checkpoints,
			     wants->results, &facts->plan);
	if (r == 0 && wants->samples)
		r = sample_plan_new(elf, wants->is_stand_in, &facts->samples);
	if (r == 0)
		r = read_header_probes(elf, wants, facts);
	if (r < 0)
		return r;
	stack_start_read(elf, &facts->start);
	len = elf_file_build_id(elf, &id);
	if (len > 0 && len <= sizeof(facts->build_id)) {
		memcpy(facts->build_id, id, len);
		facts->build_id_len = (uint8_t)len;
	}
	if (wants->unwinding)
		cfi_facts_read(elf, &facts->unwind);
	if (wants->books) {
		facts->uses_own_names = find_own_names(elf) || has_header(facts->plan);
		facts->preloads = preload_is_linker(elf);
		facts->has_sanitizer = preload_has_sanitizer(elf);
	}
	facts->kind = program_kind_read(elf);
	facts->is_elf = true;
	r = elf_needs_read(elf, &facts->needs);
	/* A file that is not a library has few symbols to look through. */
	if (r == 0 && wants->loader && facts->needs.names.len == 0)
		facts->loader_stop = loader_stop_find(elf);
	return r;
}

int object_facts_read(int fd, const struct object_wants *wants, struct object_facts *ret_facts)
{
	_cleanup_(elf_file_free_p) struct elf_file *elf = NULL;
	struct object_facts facts = { 0 };
	int r = elf_file_new(fd, &elf);

	if (r == 0)
		r = read_all(elf, wants, &facts);
	/* Not ELF, another machine's, damaged: the loader would not run it, nothing to probe. */
	if (r < 0)
		object_facts_done(&facts);
	if (r == -EOPNOTSUPP && elf_file_is_32bit(fd))
		facts.kind = PROGRAM_32BIT;
	if (r != -ENOMEM)
		*ret_facts = facts;
	return r == -ENOMEM ? r : 0;
}
