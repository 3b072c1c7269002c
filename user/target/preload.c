/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/preload.h"

#include "base/cleanup.h"
#include "base/file_system.h"
#include "elf/elf_file.h"
#include "elf/elf_sections.h"
#include "elf/usdt.h"
#include "target/file_open.h"
#include "target/loader_search.h"
#include "target/proc_file.h"
#include "target/process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
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

/* --- can a process open it? ------------------------------------------------------------------- */

#define VARIABLE "LD_PRELOAD="
/* As much as the kernel lets a new image have (MAX_ARG_STRLEN times a lot): more is none. */
#define MOST_BYTES ((size_t)6 << 20)
#define PROC_TEXT_MAX 4096

static bool has_our(pid_t pid, const char *name, const char *ours)
{
	_cleanup_close_ int fd = proc_file_open(pid, name, O_PATH);
	_cleanup_close_ int our_fd = open(ours, O_PATH | O_CLOEXEC);

	return fd >= 0 && our_fd >= 0 && file_is_same(fd, our_fd);
}

/* In another root, no file system is searched that another user may serve. */
static bool is_in_root(pid_t pid, const char *library, int library_fd)
{
	_cleanup_close_ int root_fd = -1, fd = -1;

	if (has_our(pid, "root", "/") && has_our(pid, "ns/mnt", "/proc/self/ns/mnt"))
		return true;
	root_fd = proc_file_open(pid, "root", O_PATH | O_DIRECTORY);
	fd = root_fd < 0 ? root_fd : root_find(root_fd, pid, library, FILE_SYSTEM_LOCAL);
	return fd >= 0 && file_is_same(fd, library_fd);
}

static bool allows(const struct stat *st, const struct process_info *user, mode_t bit)
{
	if (st->st_uid == user->uid)
		return st->st_mode & bit << 6;
	return st->st_mode & (st->st_gid == user->gid ? bit << 3 : bit);
}

/* As our root has it, where the file is the same. */
static bool may_read(const struct process_info *user, const char *library)
{
	char folder[PATH_MAX];
	struct stat st;

	if (user->uid == 0)
		return true;
	if (strlen(library) >= sizeof(folder) || stat(library, &st) < 0 ||
	    !allows(&st, user, S_IROTH))
		return false;
	strcpy(folder, library);
	for (char *slash; (slash = strrchr(folder, '/'));) {
		*slash = '\0';
		if (stat(*folder ? folder : "/", &st) < 0 || !allows(&st, user, S_IXOTH))
			return false;
	}
	return true;
}

bool preload_is_usable(pid_t pid, const char *library, int library_fd)
{
	struct process_info info;

	return process_info_read(pid, &info) == 0 && !info.seccomp && may_read(&info, library) &&
	       is_in_root(pid, library, library_fd);
}

/* --- taking it out ---------------------------------------------------------------------------- */

bool preload_drop(char *value, const char *library)
{
	size_t len = strlen(library);

	/* Between what ld.so takes for separators. */
	for (char *at = value; *at; at += strcspn(at, ": ")) {
		at += strspn(at, ": ");
		if (strcspn(at, ": ") != len || strncmp(at, library, len) != 0)
			continue;
		len += at[len] != '\0';
		memmove(at, at + len, strlen(at + len) + 1);
		return true;
	}
	return false;
}

/* Where its environment is (proc_pid_stat(5): env_start, env_end). */
static int find_environment(pid_t pid, uint64_t *ret_start, uint64_t *ret_end)
{
	_cleanup_strbuf_ struct strbuf text = {};
	int r = proc_file_read(pid, "stat", PROC_TEXT_MAX, &text);
	const char *at = r < 0 ? NULL : process_stat_field(strbuf_str(&text), 50);

	if (r < 0)
		return r;
	if (!at || sscanf(at, "%" SCNu64 " %" SCNu64, ret_start, ret_end) != 2)
		return -EBADMSG;
	return *ret_end < *ret_start || *ret_end - *ret_start > MOST_BYTES ? -EFBIG : 0;
}

/* The variable at `word`, which ends before `end`, is at `addr` in the process. */
static int withdraw_from(int mem_fd, uint64_t addr, char *word, const char *library)
{
	/* Sanitizers read /proc/PID/environ as far as the first empty string. */
	static const char filler[] = "MEMTRACED=";
	size_t len, left;
	char *value;

	if (strncmp(word, VARIABLE, sizeof(VARIABLE) - 1) != 0)
		return 0;
	value = word + sizeof(VARIABLE) - 1;
	len = strlen(value);
	if (!preload_drop(value, library))
		return 0;
	left = strlen(value);
	memset(value + left + 1, '-', len - left - 1);
	memcpy(value + left + 1, filler,
	       len - left > sizeof(filler) ? sizeof(filler) - 1 : len - left - 1);
	if (pwrite(mem_fd, value, len, (off_t)(addr + sizeof(VARIABLE) - 1)) != (ssize_t)len)
		return -EIO;
	return 1;
}

int preload_withdraw(pid_t pid, const char *library)
{
	_cleanup_close_ int fd = proc_file_open(pid, "mem", O_RDWR);
	_cleanup_free_ char *text = NULL;
	uint64_t start, end;
	int r = fd < 0 ? fd : find_environment(pid, &start, &end);
	size_t len;

	if (r < 0)
		return r;
	len = (size_t)(end - start);
	text = calloc(len + 1, 1);
	if (!text)
		return -ENOMEM;
	if (pread(fd, text, len, (off_t)start) != (ssize_t)len)
		return -EIO;
	for (char *word = text; r == 0 && word < text + len; word += strlen(word) + 1)
		r = withdraw_from(fd, start + (uint64_t)(word - text), word, library);
	return r;
}
