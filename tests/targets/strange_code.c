/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * strange_code STACKS FRAMES WHERE HOW: live blocks of 16 bytes, each on a stack of so many frames,
 * whose records are forged. WHERE says where they return to: "anonymous" code, or code of a "file"
 * that is no ELF file. HOW: "random" addresses, none of which comes twice but by chance, random
 * ones of a "few" thousand, or the "same" ones but for a frame. Says "ready" before, and "made"
 * afterwards.
 */
#include "tests/targets/target.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#define CODE_BYTES (1ULL << 36)
#define THUNK_BYTES 64
#define CODE_PLACES ((CODE_BYTES - 2 * THUNK_BYTES) / 16)
#define MOST_FRAMES 500

/* As frame pointers lead to it. */
struct frame {
	const struct frame *caller;
	uint64_t return_address;
};

/* thunk(size, malloc, frames): calls the function with the frames for its callers. */
typedef void *thunk_fn(size_t size, void *(*function)(size_t), const struct frame *frames);

#if defined(__x86_64__)
__asm__(".pushsection .rodata\n"
	"thunk_code:\n"
	"	push %rbp\n"
	"	mov %rdx, %rbp\n"
	"	call *%rsi\n"
	"	pop %rbp\n"
	"	ret\n"
	"thunk_code_end:\n"
	".popsection\n");
#elif defined(__aarch64__)
__asm__(".pushsection .rodata\n"
	"	.balign 4\n"
	"thunk_code:\n"
	"	stp x29, x30, [sp, #-16]!\n"
	"	mov x29, x2\n"
	"	blr x1\n"
	"	ldp x29, x30, [sp], #16\n"
	"	ret\n"
	"thunk_code_end:\n"
	".popsection\n");
#else
#error "no thunk for this architecture"
#endif

extern const unsigned char thunk_code[], thunk_code_end[];

static unsigned char *map_code(int fd)
{
	int flags = MAP_PRIVATE | MAP_NORESERVE | (fd < 0 ? MAP_ANONYMOUS : 0);
	unsigned char *code =
		mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC, flags, fd, 0);
	size_t len = (size_t)(thunk_code_end - thunk_code);

	CHECK(code != MAP_FAILED && len <= THUNK_BYTES);
	memcpy(code, thunk_code, len);
	__builtin___clear_cache((char *)code, (char *)code + len);
	return code;
}

static int sparse_file(void)
{
	char path[] = "/var/tmp/strange_code-XXXXXX";
	int fd = mkstemp(path);

	CHECK(fd >= 0 && unlink(path) == 0 && ftruncate(fd, (off_t)CODE_BYTES) == 0);
	return fd;
}

int main(int argc, char **argv)
{
	uint64_t n_stacks = argument(argc, argv, 1, 4), n_frames = argument(argc, argv, 2, 60);
	const char *where = argc > 3 ? argv[3] : "anonymous";
	const char *how = argc > 4 ? argv[4] : "same";
	uint64_t state = 1, start, n_places = strcmp(how, "few") == 0 ? 4096 : CODE_PLACES;
	unsigned char *code;
	struct frame frames[MOST_FRAMES + 1];

	CHECK(n_frames > 0 && n_frames <= MOST_FRAMES);
	code = map_code(strcmp(where, "file") == 0 ? sparse_file() : -1);
	start = (uint64_t)(uintptr_t)code + THUNK_BYTES;
	free(malloc(opaque(16))); /* a library that counts begins here */
	tell("ready\n");
	wait_for_line();
	for (uint64_t i = 0; i < n_stacks; i++) {
		for (uint64_t k = 0; k < n_frames; k++) {
			uint64_t place = k == 0 ? i : n_stacks + k;

			if (strcmp(how, "same") != 0)
				place = next_random(&state) % n_places;
			frames[k] = (struct frame){ &frames[k + 1], start + 16 * place + 5 };
		}
		frames[n_frames] = (struct frame){ 0 };
		CHECK(((thunk_fn *)(uintptr_t)code)(16, malloc, frames));
	}
	tell("made\n");
	wait_for_line();
	return 0;
}
