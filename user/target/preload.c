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

static bool has_name(const struct elf_section *names, const char *name)
{
	return memmem(names->bytes, names->len, name, strlen(name) + 1);
}

bool preload_has_sanitizer(struct elf_file *file)
{
	static const char *const inits[] = { "__asan_init", "__hwasan_init", "__lsan_init",
					     "__msan_init", "__tsan_init" };
	struct elf_section names = {};
	bool any = false;

	if (elf_section_read(file, ".dynstr", MAX_NAMES, &names) < 0)
		return false;
	for (size_t i = 0; i < sizeof(inits) / sizeof(inits[0]); i++)
		any = any || has_name(&names, inits[i]);
	free(names.bytes);
	return any;
}

bool preload_is_linker(struct elf_file *file)
{
	struct elf_section names = {};
	bool is;

	if (elf_section_read(file, ".dynstr", MAX_NAMES, &names) < 0)
		return false;
	/* It defines the version; what others need may have its name, too. */
	is = has_name(&names, "_rtld_global") && has_name(&names, "GLIBC_2.35");
	free(names.bytes);
	return is;
}

/* What cannot be read is left to the exec. */
static bool has_other_linker(struct elf_file *file)
{
	_cleanup_(elf_file_free_p) struct elf_file *linker = NULL;
	struct elf_section name = {};
	_cleanup_close_ int fd = -1;

	if (elf_section_read(file, ".interp", PATH_MAX, &name) < 0)
		return false;
	if (memchr(name.bytes, '\0', name.len))
		fd = program_file_open((const char *)name.bytes, "");
	free(name.bytes);
	return fd >= 0 && elf_file_new(fd, &linker) == 0 && !preload_is_linker(linker);
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

	if (fd < 0)
		return PRELOAD_WORKS;
	if (elf_file_new(fd, &file) < 0)
		return elf_file_is_32bit(fd) ? PRELOAD_32BIT : PRELOAD_WORKS;
	if (carries_probes(file))
		return PRELOAD_NOT_NEEDED;
	if (elf_file_is_static_executable(file))
		return PRELOAD_STATIC;
	if (has_file_rights(fd))
		return PRELOAD_RIGHTS;
	if (preload_has_sanitizer(file))
		return PRELOAD_SANITIZER;
	if (has_other_linker(file))
		return PRELOAD_LINKER;
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
	case PRELOAD_32BIT:
		return "it is a 32-bit program";
	case PRELOAD_LINKER:
		return "its C library is not glibc 2.35 or later";
	}
	return NULL;
}
