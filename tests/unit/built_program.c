/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "built_program.h"

#include "base/cleanup.h"

#include <fcntl.h>
#include <ftw.h>
#include <gelf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

char *built_folder(void)
{
	char *folder = strdup("/tmp/test-program-XXXXXX");

	assert_non_null(folder);
	assert_non_null(mkdtemp(folder));
	return folder;
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	return remove(path);
}

void built_folder_remove(char *folder)
{
	assert_int_equal(nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
	free(folder);
}

char *built_path(const char *folder, const char *name)
{
	char *path = NULL;

	assert_true(asprintf(&path, "%s/%s", folder, name) > 0);
	return path;
}

void built_write(const char *path, const void *data, size_t len)
{
	_cleanup_fclose_ FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
}

char *built_read(const char *path, size_t *ret_len)
{
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	struct stat st;
	char *data;

	assert_non_null(f);
	assert_int_equal(fstat(fileno(f), &st), 0);
	data = malloc((size_t)st.st_size + 1);
	assert_non_null(data);
	assert_int_equal(fread(data, 1, (size_t)st.st_size, f), st.st_size);
	data[st.st_size] = '\0';
	*ret_len = (size_t)st.st_size;
	return data;
}

bool built_has_tool(const char *name)
{
	char command[128];

	snprintf(command, sizeof(command), "command -v %s >/dev/null 2>&1", name);
	return system(command) == 0;
}

void built_run(const char *fmt, ...)
{
	char command[4096];
	va_list ap;
	int len, status;

	va_start(ap, fmt);
	len = vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	assert_true(len > 0 && (size_t)len < sizeof(command));
	status = system(command);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		fail_msg("failed: %s", command);
}

static uint64_t file_offset(Elf *elf, uint64_t vaddr)
{
	GElf_Phdr ph;
	size_t n;

	assert_int_equal(elf_getphdrnum(elf, &n), 0);
	for (size_t i = 0; i < n; i++) {
		assert_non_null(gelf_getphdr(elf, (int)i, &ph));
		if (ph.p_type == PT_LOAD && vaddr >= ph.p_vaddr && vaddr - ph.p_vaddr < ph.p_filesz)
			return vaddr - ph.p_vaddr + ph.p_offset;
	}
	return 0;
}

static bool find_in_table(Elf *elf, uint32_t type, const char *name,
			  struct built_symbol *ret_symbol)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	GElf_Sym sym;

	while ((scn = elf_nextscn(elf, scn))) {
		if (!gelf_getshdr(scn, &sh) || sh.sh_type != type)
			continue;
		for (int i = 0; gelf_getsym(elf_getdata(scn, NULL), i, &sym); i++) {
			const char *this = elf_strptr(elf, sh.sh_link, sym.st_name);

			if (!this || strcmp(this, name) != 0 || sym.st_value == 0)
				continue;
			ret_symbol->vaddr = sym.st_value;
			ret_symbol->size_bytes = sym.st_size;
			ret_symbol->file_offset = file_offset(elf, sym.st_value);
			return true;
		}
	}
	return false;
}

bool built_find(const char *path, const char *name, struct built_symbol *ret_symbol)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool found;
	Elf *elf;

	assert_true(fd >= 0);
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	assert_non_null(elf);
	found = find_in_table(elf, SHT_SYMTAB, name, ret_symbol) ||
		find_in_table(elf, SHT_DYNSYM, name, ret_symbol);
	elf_end(elf);
	return found;
}
