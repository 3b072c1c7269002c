/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/preload.h"

#include "base/cleanup.h"
#include "elf/elf_file.h"
#include "elf/elf_sections.h"
#include "elf/usdt.h"
#include "target/loader_search.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define LIBRARY "libmemtraced-sample.so"
#define PROVIDER "otel_memory"
#define MAX_NAMES ((size_t)256 << 20) /* bytes of .dynstr */

int preload_library(char path[PATH_MAX])
{
	static const char *const places[] = { "%s/" LIBRARY, "%s/../lib/memtraced/" LIBRARY };
	char folder[PATH_MAX], tried[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", folder, sizeof(folder) - 1);
	char *slash;

	if (len < 0)
		return -errno;
	folder[len] = '\0';
	slash = strrchr(folder, '/');
	if (!slash)
		return -ENOENT;
	*slash = '\0';
	for (size_t i = 0; i < 2; i++) {
		if (snprintf(tried, sizeof(tried), places[i], folder) >= (int)sizeof(tried))
			return -ENAMETOOLONG;
		if (realpath(tried, path))
			return 0;
	}
	return -ENOENT;
}

bool preload_is_library(const char *path)
{
	const char *slash = strrchr(path, '/');

	return strcmp(slash ? slash + 1 : path, LIBRARY) == 0;
}

static bool carries_probes(struct elf_file *file)
{
	struct usdt_notes notes = {};
	bool any = usdt_notes_read(file, PROVIDER, &notes) == 0 && notes.n > 0;

	usdt_notes_done(&notes);
	return any;
}

/* Defined here or in a library that is needed: its name is among those of the dynamic linker. */
static bool has_sanitizer(struct elf_file *file)
{
	static const char *const names[] = { "__asan_init", "__hwasan_init", "__lsan_init",
					     "__msan_init", "__tsan_init" };
	struct elf_section section = {};
	bool any = false;

	if (elf_section_read(file, ".dynstr", MAX_NAMES, &section) < 0)
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		any = any || memmem(section.bytes, section.len, names[i], strlen(names[i]) + 1);
	free(section.bytes);
	return any;
}

static bool has_malloc(const struct elf_file *file)
{
	size_t n;
	const struct elf_symbol *symbols = elf_file_symbols(file, &n);

	for (size_t i = 0; i < n; i++)
		if (strcmp(symbols[i].name, "malloc") == 0)
			return true;
	return false;
}

/* Then the dynamic linker passes LD_PRELOAD over (ld.so(8), secure-execution mode). */
static bool has_file_rights(int fd)
{
	struct stat st;

	if (fstat(fd, &st) == 0 && st.st_mode & (S_ISUID | S_ISGID))
		return true;
	return fgetxattr(fd, "security.capability", NULL, 0) > 0;
}

enum preload preload_judge(const char *name, const char *search)
{
	_cleanup_(elf_file_free_p) struct elf_file *file = NULL;
	_cleanup_close_ int fd = program_file_open(name, search);

	if (fd < 0 || elf_file_new(fd, &file) < 0)
		return PRELOAD_WORKS;
	if (carries_probes(file))
		return PRELOAD_NOT_NEEDED;
	if (elf_file_is_static_executable(file))
		return PRELOAD_STATIC;
	if (has_file_rights(fd))
		return PRELOAD_RIGHTS;
	if (has_sanitizer(file))
		return PRELOAD_SANITIZER;
	return has_malloc(file) ? PRELOAD_OWN_MALLOC : PRELOAD_WORKS;
}

const char *preload_why_not(enum preload preload)
{
	switch (preload) {
	case PRELOAD_WORKS:
	case PRELOAD_NOT_NEEDED:
		return NULL;
	case PRELOAD_STATIC:
		return "it is linked statically";
	case PRELOAD_RIGHTS:
		return "it is set-user-ID or has file capabilities";
	case PRELOAD_SANITIZER:
		return "a sanitizer is its allocator";
	case PRELOAD_OWN_MALLOC:
		return "it has a malloc of its own in its executable";
	}
	return NULL;
}
