/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * swaps: does what the lines of its input say, and answers each with itself. "/path" maps the code
 * of that library in the place of the one before, without a linker; "N" calls the function that the
 * library begins at, which touches N new pages.
 */
#include "tests/targets/target.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>

#define ROOM (1UL << 20)

typedef void touch(volatile char *at, size_t pages);

static char *code_of(const char *path, char *room)
{
	int fd = open(path, O_RDONLY);
	Elf64_Ehdr header;
	Elf64_Phdr part;

	CHECK(fd >= 0 && read(fd, &header, sizeof(header)) == sizeof(header));
	CHECK(munmap(room, ROOM) == 0);
	for (unsigned int i = 0; i < header.e_phnum; i++) {
		off_t at = (off_t)(header.e_phoff + i * sizeof(part));

		CHECK(pread(fd, &part, sizeof(part), at) == sizeof(part));
		if (part.p_type == PT_LOAD && part.p_flags & PF_X)
			break;
	}
	CHECK(mmap(room, part.p_filesz, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd,
		   (off_t)part.p_offset) == room);
	close(fd);
	return room + (header.e_entry - part.p_vaddr);
}

static char *fresh(size_t bytes)
{
	char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(at != MAP_FAILED && !madvise(at, bytes, MADV_NOHUGEPAGE));
	return at;
}

int main(void)
{
	char *room = mmap(NULL, ROOM, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *code = NULL;
	char line[4096];

	CHECK(room != MAP_FAILED);
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		if (*line == '/') {
			code = code_of(line, room);
		} else {
			size_t pages = strtoul(line, NULL, 10);

			((touch *)(uintptr_t)code)(fresh(pages * 4096), pages);
		}
		tell("%s\n", line);
	}
	return 0;
}
