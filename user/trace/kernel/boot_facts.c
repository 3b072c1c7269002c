/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/kernel/boot_facts.h"

#include "base/cleanup.h"
#include "base/hashmap.h"
#include "base/private_folder.h"
#include "trace/kernel/feature.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#define BOOT_ID "/proc/sys/kernel/random/boot_id"
#define BOOT_ID_CHARS 36
#define MAX_BYTES (64 << 20)

/* Whose facts: of which boot, found by which program with which rights. */
struct key {
	char boot[BOOT_ID_CHARS];
	uint32_t len; /* of the facts */
	uint32_t capabilities[2];
	uint64_t user_namespace;
	uint64_t program_dev, program_ino, program_size;
	int64_t mtime_s, mtime_ns, ctime_s, ctime_ns;
};

static int read_boot(char boot[BOOT_ID_CHARS])
{
	_cleanup_close_ int fd = open(BOOT_ID, O_RDONLY | O_CLOEXEC);

	return fd >= 0 && read(fd, boot, BOOT_ID_CHARS) == BOOT_ID_CHARS ? 0 : -ENOENT;
}

static int key_of(size_t len, struct key *ret_key)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[2];
	struct stat program, users;

	memset(ret_key, 0, sizeof(*ret_key)); /* padding is compared, too */
	if (feature_any_left_out() || prctl(PR_GET_SECCOMP) != 0 || read_boot(ret_key->boot) ||
	    syscall(SYS_capget, &header, caps) || stat("/proc/self/exe", &program) ||
	    stat("/proc/self/ns/user", &users))
		return -ENOENT;
	ret_key->len = (uint32_t)len;
	ret_key->capabilities[0] = caps[0].effective;
	ret_key->capabilities[1] = caps[1].effective;
	ret_key->user_namespace = users.st_ino;
	ret_key->program_dev = program.st_dev;
	ret_key->program_ino = program.st_ino;
	ret_key->program_size = (uint64_t)program.st_size;
	ret_key->mtime_s = program.st_mtim.tv_sec;
	ret_key->mtime_ns = program.st_mtim.tv_nsec;
	ret_key->ctime_s = program.st_ctim.tv_sec;
	ret_key->ctime_ns = program.st_ctim.tv_nsec;
	return 0;
}

/*
 * Builds in turns, or one with other rights, do not write over each other's: each has its place of
 * PLACES, by which what earlier builds have left stays little. Two that share one find out again.
 */
#define PLACES 64
#define NAME_LEN 64

static int file_name(const struct key *key, const char *name, char ret_file[NAME_LEN])
{
	const uint64_t whose[] = { key->program_dev, key->program_ino, key->user_namespace,
				   key->capabilities[0], key->capabilities[1] };
	unsigned int place = (unsigned int)(hash_bytes(whose, sizeof(whose), 0) % PLACES);
	int n = snprintf(ret_file, NAME_LEN, "%s.%u", name, place);

	return n < NAME_LEN ? 0 : -ENAMETOOLONG;
}

static int open_folder(const char *folder)
{
	char usual[PATH_MAX];
	int r = folder ? 0 : private_folder_path("kernel", usual);

	return r ? r : private_folder_open(folder ? folder : usual);
}

static int read_facts(int fd, const struct key *ours, void **ret_facts, size_t *ret_len)
{
	_cleanup_free_ void *facts = malloc(ours->len + 1UL); /* never 0 bytes */
	struct key kept;
	const struct iovec parts[] = { { &kept, sizeof(kept) }, { facts, ours->len } };

	if (!facts || readv(fd, parts, 2) != (ssize_t)(sizeof(kept) + ours->len) ||
	    memcmp(ours, &kept, sizeof(kept)) != 0)
		return -ENOENT;
	*ret_facts = TAKE_PTR(facts);
	*ret_len = ours->len;
	return 0;
}

int boot_facts_load(const char *folder, const char *name, void **ret_facts, size_t *ret_len)
{
	_cleanup_close_ int dir_fd = -1, fd = -1;
	char file[NAME_LEN];
	struct stat st;
	struct key key;

	if (key_of(0, &key) || file_name(&key, name, file))
		return -ENOENT;
	dir_fd = open_folder(folder);
	if (dir_fd >= 0)
		fd = private_folder_open_file(dir_fd, file, &st);
	if (fd < 0 || st.st_size < (off_t)sizeof(struct key) || st.st_size > MAX_BYTES)
		return -ENOENT;
	key.len = (uint32_t)((size_t)st.st_size - sizeof(key));
	return read_facts(fd, &key, ret_facts, ret_len);
}

int boot_facts_get(const char *folder, const char *name, void *ret_facts, size_t len)
{
	_cleanup_free_ void *facts = NULL;
	size_t found = 0;

	if (boot_facts_load(folder, name, &facts, &found) || found != len)
		return -ENOENT;
	memcpy(ret_facts, facts, len);
	return 0;
}

int boot_facts_put(const char *folder, const char *name, const void *facts, size_t len)
{
	_cleanup_close_ int dir_fd = -1;
	_cleanup_free_ uint8_t *bytes = malloc(sizeof(struct key) + len);
	char file[NAME_LEN];
	struct key key;
	int r;

	if (!bytes)
		return -ENOMEM;
	r = key_of(len, &key);
	if (r == 0)
		r = file_name(&key, name, file);
	if (r)
		return r;
	dir_fd = open_folder(folder);
	if (dir_fd < 0)
		return dir_fd;
	memcpy(bytes, &key, sizeof(key));
	memcpy(bytes + sizeof(key), facts, len);
	return private_folder_put(dir_fd, file, bytes, sizeof(key) + len);
}
