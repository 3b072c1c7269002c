/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/program_kinds.h"

#include "elf/elf_file.h"
#include "elf/elf_sections.h"

#include <stddef.h>
#include <string.h>

static const struct {
	const char *function; /* that the file defines, or NULL */
	const char *section;  /* that it has, or NULL */
	struct program_facts facts;
} kinds[PROGRAM_KINDS] = {
	[PROGRAM_32BIT] = {
		.facts.name = "32-bit",
		.facts.title = "32-bit program",
		.facts.heap = "only 64-bit programs can be traced; valgrind and heaptrack have "
			"builds for 32 bits",
	},
	[PROGRAM_NO_SYMBOLS] = {
		.facts.name = "no-symbols",
		.facts.title = "static program without symbols",
		.facts.heap = "--allocator 'object=NAME;malloc=0xADDRESS;free=0xADDRESS' counts "
			"the allocator at these addresses, --page-faults=10 shows where "
			"memory grows",
	},
	[PROGRAM_GO] = {
		.section = ".go.buildinfo",
		.facts.name = "go",
		.facts.title = "Go",
		.facts.heap = "the heap of Go code is not counted; --page-faults=10 shows where "
			"it grows, go tool pprof (net/http/pprof) what is in it",
	},
	[PROGRAM_PYTHON] = {
		.function = "Py_Main",
		.facts.name = "python",
		.facts.title = "Python",
		.facts.heap = "objects of up to 512 bytes are in Python's own arenas (class "
			"mmap), unless it runs with PYTHONMALLOC=malloc",
		.facts.code = "python3 -X perf (3.12 or later) names Python functions in stacks",
	},
	[PROGRAM_NODE] = {
		.function = "_ZN4node5StartEiPPc",
		.facts.name = "node",
		.facts.title = "Node.js",
		.facts.heap = "JavaScript objects are in V8's own heap (class mmap); node "
			"--heap-prof shows what is in it",
		.facts.code = "node --perf-basic-prof names JavaScript functions in stacks",
	},
	[PROGRAM_JAVA] = {
		.function = "JVM_StartThread",
		.facts.name = "java",
		.facts.title = "Java",
		.facts.heap = "Java objects are in the JVM's own heap (class mmap); jcmd PID "
			"GC.class_histogram shows what is in it",
		.facts.code = "jcmd PID Compiler.perfmap (JDK 17 or later) names compiled "
			"methods in stacks",
	},
	[PROGRAM_ERLANG] = {
		.function = "enif_alloc",
		.facts.name = "erlang",
		.facts.title = "Erlang",
		.facts.heap = "Erlang's own allocators take memory in large carriers (class "
			"mmap); erlang:memory() shows what is in them",
		.facts.code = "erl +JPperf true (OTP 25 or later) names Erlang functions in "
			"stacks",
	},
};

const struct program_facts *program_kind_facts(enum program_kind kind)
{
	return &kinds[kind].facts;
}

static enum program_kind kind_of_function(const char *name)
{
	for (enum program_kind kind = 0; kind < PROGRAM_KINDS; kind++)
		if (kinds[kind].function && strcmp(kinds[kind].function, name) == 0)
			return kind;
	return PROGRAM_PLAIN;
}

enum program_kind program_kind_read(struct elf_file *file)
{
	enum program_kind kind = PROGRAM_PLAIN;
	size_t n;
	const struct elf_symbol *symbols = elf_file_symbols(file, &n);

	for (size_t i = 0; i < n && kind == PROGRAM_PLAIN; i++)
		kind = kind_of_function(symbols[i].name);
	for (enum program_kind k = 0; kind == PROGRAM_PLAIN && k < PROGRAM_KINDS; k++)
		if (kinds[k].section && elf_has_section(file, kinds[k].section))
			kind = k;
	if (kind == PROGRAM_PLAIN && elf_file_is_static_executable(file) &&
	    !elf_file_has_symbols(file))
		kind = PROGRAM_NO_SYMBOLS;
	return kind;
}
