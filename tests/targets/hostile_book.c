/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Attacks by the book that a process keeps (bpf/abi_book.h), by its first word:
 *
 *   locked FILE   a thread writes into a book, from memory that FILE's server holds back: the lock
 *                 of the book's file is not free before that server ends
 *   huge          a book whose tables are all as large as they can be, and hardly written
 *   deep N        a book with N stacks that are as deep as they can be, of nodes far apart, and all
 *                 that can be of code that was unloaded
 *   many N WAY    a book whose table was doubled N times, and is full; WAY: `doubles`: it is said
 *                 to be doubled just now; `forked`: it forks when it has all its blocks
 *   open N        N children, each with a book whose forks another reader was told of, and that
 *                 has not been told that they have ended
 *   told FILE     tells of FILE, which has a server, as its book: with the library
 *   descriptor KIND [FILE]
 *                 tells of a descriptor that is no book, see kinds[]: with the library
 *   given N       maps a file that another user's process hands it, as servers of X11 and Wayland
 *                 do: a book of N allocations
 *   storm N       N threads tell of no book and ask for rules, all the time: with the library
 *
 * It says "ready", and begins when it is sent a line.
 */
#include "bpf/abi_book.h"
#include "tests/targets/target.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

static struct abi_book_header *header;
static int book_fd;

/* As the library makes one. */
static void make_book(void)
{
	book_fd = memfd_create(ABI_BOOK_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	CHECK(book_fd >= 0 && ftruncate(book_fd, (off_t)ABI_BOOK_BYTES) == 0);
	CHECK(fcntl(book_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0);
	header = mmap(NULL, ABI_BOOK_MAPPED, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
		      book_fd, 0);
	CHECK(header != MAP_FAILED);
	CHECK(mprotect((char *)header + ABI_BOOK_BYTES, ABI_BOOK_FENCE, PROT_NONE) == 0);
	header->magic = ABI_BOOK_MAGIC;
	header->version = ABI_BOOK_VERSION;
	header->pid = (uint32_t)getpid();
	header->stays = 1;
}

static void *write_for_ever(void *held_back)
{
	(void)!pwrite(book_fd, held_back, 4096, 1 << 20);
	return NULL;
}

static void lock(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *held_back = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	pthread_t thread;

	CHECK(fd >= 0 && held_back != MAP_FAILED);
	make_book();
	tell("ready\n");
	wait_for_line();
	CHECK(pthread_create(&thread, NULL, write_for_ever, held_back) == 0);
	usleep(200000);
	tell("locked\n");
	pause();
}

static void claim(void)
{
	make_book();
	header->threads = header->nodes = header->sites = header->tombs = header->pairs =
		header->errors = UINT32_MAX;
	header->doublings = ABI_BOOK_DOUBLINGS;
	header->lost[ABI_BOOK_LOST_FORK] = UINT64_MAX;
	tell("ready\n");
	pause();
}

static struct abi_book_node *node_at(uint32_t number)
{
	return (struct abi_book_node *)(void *)((char *)header + ABI_BOOK_AT_NODES) + number;
}

#define APART 256U

static void deepen(uint64_t n)
{
	struct abi_book_site *sites;
	struct abi_book_gone *gone;

	make_book();
	sites = (struct abi_book_site *)(void *)((char *)header + ABI_BOOK_AT_SITES);
	gone = (struct abi_book_gone *)(void *)((char *)header + ABI_BOOK_AT_GONE);
	for (uint32_t i = 0; i < ABI_MAX_FRAMES; i++)
		*node_at(1 + i * APART) =
			(struct abi_book_node){ .address = 0x10000 + i,
						.parent = i ? 1 + (i - 1) * APART : 0 };
	for (uint32_t i = 1; i <= n; i++) {
		uint32_t tip = ABI_MAX_FRAMES * APART + i;

		*node_at(tip) =
			(struct abi_book_node){ .address = 0x400000 + i,
						.parent = 1 + (ABI_MAX_FRAMES - 1) * APART };
		sites[i].node = tip;
		sites[i].function = ABI_BOOK_MALLOC;
		sites[i].thread = 1;
		sites[i].now.allocs = sites[i].now.live_blocks = 1;
	}
	for (uint32_t i = 0; i < ABI_BOOK_GONE; i++)
		gone[i] = (struct abi_book_gone){ 0x70000000, 0x80000000, UINT64_MAX };
	header->sites = (uint32_t)n;
	header->nodes = (uint32_t)(ABI_MAX_FRAMES * APART + n);
	header->gone = ABI_BOOK_GONE;
	tell("ready\n");
	pause();
}

static void put_bucket(uint64_t number)
{
	struct abi_book_bucket *bucket =
		(struct abi_book_bucket *)(void *)((char *)header + ABI_BOOK_AT_BLOCKS) + number;

	for (unsigned int way = 0; way < ABI_BOOK_WAYS; way++) {
		bucket->address[way] = 0x10000 + (number * ABI_BOOK_WAYS + way) * 16;
		bucket->block[way].size_fn = ABI_BOOK_SIZE_FN(16, 0, ABI_FORM_OWN, ABI_BOOK_MALLOC);
	}
}

static void fill(uint64_t doublings, const char *way)
{
	make_book();
	for (uint64_t i = 0; i < ABI_BOOK_BUCKETS(doublings); i++)
		put_bucket(i);
	header->doublings = (uint32_t)doublings;
	if (strcmp(way, "doubles") == 0)
		header->doublings = (uint32_t)(doublings - 1) | ABI_BOOK_DOUBLES;
	tell("ready\n");
	wait_for_line();
	if (strcmp(way, "forked") == 0) {
		header->era = 1;
		if (fork() == 0)
			prctl(PR_SET_PDEATHSIG, SIGKILL);
	}
	tell("forked\n");
	pause();
}

static void claim_forks(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		if (fork() == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			make_book();
			header->era = 2;
			header->ended_forks = 1;
			tell("one\n");
			pause();
		}
	make_book();
	tell("ready\n");
	pause();
}

static void (*tell_book)(int64_t fd, uint64_t value);

static void find_probe(void)
{
	tell_book = (void (*)(int64_t, uint64_t))dlsym(RTLD_DEFAULT, "memtraced_book");
	CHECK(tell_book);
}

static void tell_of(const char *path)
{
	int fd = open(path, O_PATH | O_CLOEXEC);

	CHECK(fd >= 0);
	find_probe();
	tell("ready\n");
	wait_for_line();
	tell_book(fd, ABI_BOOK_BYTES);
	CHECK(malloc(1000));
	exit(0);
}

static int put_header(int fd, uint64_t size, int seals)
{
	const struct abi_book_header head = { .magic = ABI_BOOK_MAGIC,
					      .version = ABI_BOOK_VERSION,
					      .pid = (uint32_t)getpid() };

	CHECK(fd >= 0 && ftruncate(fd, (off_t)size) == 0);
	CHECK(pwrite(fd, &head, sizeof(head), 0) == sizeof(head));
	CHECK(!seals || fcntl(fd, F_ADD_SEALS, seals) == 0);
	return fd;
}

static int of_memory(unsigned int flags)
{
	return memfd_create(ABI_BOOK_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING | flags);
}

static int open_pipe(const char *file)
{
	int ends[2];

	(void)file;
	CHECK(pipe(ends) == 0);
	return ends[0];
}

static int open_epoll(const char *file)
{
	(void)file;
	return epoll_create1(EPOLL_CLOEXEC);
}

/* No page of it can be had: who touches it gets SIGBUS. */
static int open_hugetlb(const char *file)
{
	int fd = of_memory(MFD_HUGETLB);
	const uint64_t size = (ABI_BOOK_BYTES + (2 << 20) - 1) & ~(uint64_t)((2 << 20) - 1);

	(void)file;
	CHECK(fd >= 0 && ftruncate(fd, (off_t)size) == 0);
	CHECK(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0);
	return fd;
}

static int open_secret(const char *file)
{
	int fd = (int)syscall(SYS_memfd_secret, O_CLOEXEC);

	(void)file;
	/* The kernel may not have it. */
	return fd >= 0 && ftruncate(fd, 1 << 20) == 0 ? fd : of_memory(0);
}

static void *shrink(void *fd)
{
	for (;;) {
		CHECK(ftruncate((int)(intptr_t)fd, 0) == 0);
		(void)put_header((int)(intptr_t)fd, ABI_BOOK_BYTES, 0);
	}
	return NULL;
}

static int open_shrinking(const char *file)
{
	int fd = put_header(of_memory(0), ABI_BOOK_BYTES, 0);
	pthread_t thread;

	(void)file;
	CHECK(pthread_create(&thread, NULL, shrink, (void *)(intptr_t)fd) == 0);
	return fd;
}

static int open_unwritable(const char *file)
{
	(void)file;
	return put_header(of_memory(0), ABI_BOOK_BYTES, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
}

static int open_others(const char *file)
{
	return open(file, O_RDONLY | O_CLOEXEC);
}

static int swapped_fd;

/* Between a look at it and its use it is another file. */
static void *swap(void *of_pipe)
{
	int book = put_header(of_memory(0), ABI_BOOK_BYTES, F_SEAL_SHRINK | F_SEAL_GROW);
	int pair[2];

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	for (;;) {
		CHECK(dup2(book, swapped_fd) == swapped_fd);
		CHECK(dup2((int)(intptr_t)of_pipe, swapped_fd) == swapped_fd);
		CHECK(dup2(pair[0], swapped_fd) == swapped_fd);
	}
	return NULL;
}

static int open_swapped(const char *file)
{
	int of_pipe = open_pipe(file);
	pthread_t thread;

	swapped_fd = dup(of_pipe);
	CHECK(pthread_create(&thread, NULL, swap, (void *)(intptr_t)of_pipe) == 0);
	return swapped_fd;
}

static const struct {
	const char *name;
	int (*open_it)(const char *file);
} kinds[] = {
	{ "pipe", open_pipe },		 { "epoll", open_epoll },
	{ "hugetlb", open_hugetlb },	 { "secret", open_secret },
	{ "shrinking", open_shrinking }, { "unwritable", open_unwritable },
	{ "others", open_others },	 { "swapped", open_swapped },
};

#define TIMES_TOLD 2000

static void tell_descriptor(const char *kind, const char *file)
{
	int fd = -1;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kinds[i].name, kind) == 0)
			fd = kinds[i].open_it(file);
	CHECK(fd >= 0);
	find_probe();
	tell("ready\n");
	wait_for_line();
	for (int i = 0; i < TIMES_TOLD; i++)
		tell_book(fd, ABI_BOOK_BYTES);
	CHECK(malloc(1000));
	exit(0);
}

/* The first descriptor that comes with a byte. */
static int receive_fd(int socket)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	char byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr message = { .msg_iov = &iov,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	int fd;

	CHECK(recvmsg(socket, &message, MSG_CMSG_CLOEXEC) == 1 && CMSG_FIRSTHDR(&message));
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
	return fd;
}

static void send_fd(int socket, int fd)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { .head = { .cmsg_len = CMSG_LEN(sizeof(int)),
				.cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS } };
	struct iovec iov = { (char[]){ 0 }, 1 };
	const struct msghdr message = { .msg_iov = &iov,
					.msg_iovlen = 1,
					.msg_control = &control,
					.msg_controllen = sizeof(control) };

	memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	CHECK(sendmsg(socket, &message, 0) == 1);
}

#define NOBODY 65534

/* A book of `n` allocations, which the client goes on having mapped. */
static void be_client(int socket, uint64_t n)
{
	struct abi_book_site *sites;

	CHECK(setresgid(NOBODY, NOBODY, NOBODY) == 0 && setresuid(NOBODY, NOBODY, NOBODY) == 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* another uid would take it back */
	make_book();
	sites = (struct abi_book_site *)(void *)((char *)header + ABI_BOOK_AT_SITES);
	*node_at(2) = (struct abi_book_node){ .address = 0x400000, .parent = 1 };
	sites[1].node = 2;
	sites[1].function = ABI_BOOK_MALLOC;
	sites[1].thread = 1;
	sites[1].now.allocs = sites[1].now.live_blocks = n;
	header->sites = 1;
	header->nodes = 2;
	send_fd(socket, book_fd);
	pause();
}

static void be_server(uint64_t n)
{
	int pair[2], fd;

	CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
	if (fork() == 0)
		be_client(pair[1], n);
	fd = receive_fd(pair[0]);
	/* Below a book of its own: that one is found later. */
	CHECK(mmap((void *)(1UL << 32), ABI_BOOK_MAPPED, PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_NORESERVE, fd, 0) != MAP_FAILED);
	CHECK(malloc(1000));
	tell("ready\n");
	pause();
}

static void *tell_for_ever(void *unused)
{
	(void)unused;
	for (uint64_t i = 0;; i++)
		tell_book(i % 2 ? ABI_BOOK_ASKS : 1000000, i);
	return NULL;
}

static void storm(uint64_t threads)
{
	pthread_t thread;

	find_probe();
	tell("ready\n");
	wait_for_line();
	for (uint64_t i = 0; i < threads; i++)
		CHECK(pthread_create(&thread, NULL, tell_for_ever, NULL) == 0);
	pause();
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "locked") == 0 && argc > 2)
		lock(argv[2]);
	else if (strcmp(what, "huge") == 0)
		claim();
	else if (strcmp(what, "deep") == 0)
		deepen(argument(argc, argv, 2, 1000));
	else if (strcmp(what, "many") == 0 && argc > 3)
		fill(argument(argc, argv, 2, 1), argv[3]);
	else if (strcmp(what, "open") == 0)
		claim_forks(argument(argc, argv, 2, 1));
	else if (strcmp(what, "told") == 0 && argc > 2)
		tell_of(argv[2]);
	else if (strcmp(what, "descriptor") == 0 && argc > 2)
		tell_descriptor(argv[2], argc > 3 ? argv[3] : "");
	else if (strcmp(what, "given") == 0)
		be_server(argument(argc, argv, 2, 1));
	else if (strcmp(what, "storm") == 0)
		storm(argument(argc, argv, 2, 1));
	return 1;
}
