/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs of which memtraced sees less than of C, by facts of their files: interpreters and
 * run-times with heaps of their own, files for 32 bits, files without symbols. A table: what each
 * is known by, and what helps. It decides nothing: a file may claim to be any of them.
 */
#ifndef MEMTRACED_PROBE_PROGRAM_KINDS_H
#define MEMTRACED_PROBE_PROGRAM_KINDS_H

struct elf_file;

/* Recordings have these numbers: new ones go to the end. */
enum program_kind {
	PROGRAM_PLAIN,
	PROGRAM_32BIT,
	PROGRAM_NO_SYMBOLS, /* linked statically: none of its functions is known */
	PROGRAM_GO,
	PROGRAM_PYTHON,
	PROGRAM_NODE,
	PROGRAM_JAVA,
	PROGRAM_ERLANG,
	PROGRAM_KINDS,
};

struct program_facts {
	const char *name;  /* in JSON: "python" */
	const char *title; /* for people: "Python" */
	const char *heap;  /* what is not seen of its memory, and what shows it */
	const char *code;  /* how its functions get names in stacks; NULL: they have them */
};

/* Of all but PROGRAM_PLAIN, and of no number from PROGRAM_KINDS on. */
const struct program_facts *program_kind_facts(enum program_kind kind);

/* What a file for 64 bits is. */
enum program_kind program_kind_read(struct elf_file *file);

#endif
