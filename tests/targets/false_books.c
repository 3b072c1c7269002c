/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tells of books that are none, and writes anything into the one that the library keeps of it: what
 * reads that must not mind. Then it allocates N blocks and ends, or waits for a line if there is a
 * second word.
 */
#include "tests/targets/target.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>

static void (*tell_book)(int64_t fd, uint64_t bytes);

static void tell_false_books(void)
{
	int fds[2], memory = memfd_create("memtraced-book", MFD_CLOEXEC);

	CHECK(pipe(fds) == 0 && memory >= 0);
	tell_book(fds[0], 0);
	tell_book(memory, 0);
	CHECK(ftruncate(memory, 1L << 40) == 0);
	tell_book(memory, 0);
	tell_book(open("/dev/zero", O_RDWR), 0);
	tell_book(open("/proc/self/exe", O_RDONLY), 0);
	tell_book(100000, 0);
	tell_book(-5, 0);
}

/* Where the library's book is in memory: its first bytes. */
static uint64_t *find_book(size_t *ret_words)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long start, end;
	char line[500], write;

	CHECK(maps);
	while (fgets(line, sizeof(line), maps))
		if (strstr(line, "/memfd:memtraced-book") &&
		    sscanf(line, "%lx-%lx r%c", &start, &end, &write) == 3 && write == 'w' &&
		    end - start > 1UL << 30) {
			fclose(maps);
			*ret_words = (end - start) / sizeof(uint64_t);
			return (uint64_t *)start;
		}
	fclose(maps);
	return NULL;
}

/* Not the first words, as nothing would be read then; mostly where there is something. */
static void scribble(uint64_t *book, size_t n)
{
	uint64_t state = 1;

	for (int i = 0; i < 200000; i++) {
		uint64_t word = next_random(&state), at = 4 + next_random(&state) % 30;

		if (i % 2)
			at = next_random(&state) % (i % 4 == 1 ? n : 1 << 16);
		if (at < 4)
			continue;
		book[at] = i % 3 ? word : word & 0xff;
	}
}

int main(int argc, char **argv)
{
	uint64_t n_blocks = argument(argc, argv, 1, 10);
	size_t n = 0;
	uint64_t *book;

	for (uint64_t i = 0; i < n_blocks; i++)
		CHECK(malloc(100 + i));
	tell_book = (void (*)(int64_t, uint64_t))dlsym(RTLD_DEFAULT, "memtraced_book");
	CHECK(tell_book);
	tell_false_books();
	book = find_book(&n);
	CHECK(book);
	scribble(book, n);
	if (argc > 2) {
		tell("ready %d\n", getpid());
		while (getchar() != '\n')
			;
	}
	_exit(0); /* the library may not find its way through that book any more */
}
