/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/kernel/kernel_btf.h"

#include "base/cleanup.h"
#include "trace/kernel/boot_facts.h"

#include <bpf/btf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/btf.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

/* All of the range; -EINVAL when the file ends before. */
static int read_range(int fd, void *buf, size_t len, off_t at)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = pread(fd, (char *)buf + done, len - done, at + done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EINVAL;
		done += n;
	}
	return 0;
}

/*
 * Each string ends in a zero and begins behind one, as the first is empty. None is the end of
 * another (pahole writes each once, by libbpf's btf__add_str).
 */
static int has_string(const char *strings, size_t len, const char *name)
{
	const size_t whole = strlen(name) + 1;
	const char *at = strings;

	while ((at = memmem(at, strings + len - at, name, whole))) {
		if (at > strings && at[-1] == '\0')
			return 1;
		at++;
	}
	return 0;
}

int btf_file_has(const char *path, const char *name)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_free_ char *strings = NULL;
	struct btf_header header;
	struct stat st;
	uint64_t start;
	int r;

	if (fd < 0 || fstat(fd, &st))
		return -errno;
	r = read_range(fd, &header, sizeof(header), 0);
	if (r)
		return r;
	start = (uint64_t)header.hdr_len + header.str_off;
	if (header.magic != BTF_MAGIC || start + header.str_len > (uint64_t)st.st_size)
		return -EINVAL;
	strings = malloc(header.str_len + 1ULL); /* some kernels' may be empty: never 0 bytes */
	if (!strings)
		return -ENOMEM;
	r = read_range(fd, strings, header.str_len, start);
	return r ? r : has_string(strings, header.str_len, name);
}

#define FACT "hold-functions"

DEFINE_CLEANUP(struct btf, btf__free)

int hold_functions_find(struct hold_functions *ret_functions)
{
	_cleanup_(btf__free_p) struct btf *btf = NULL;
	struct hold_functions found;

	if (boot_facts_get(NULL, FACT, ret_functions, sizeof(*ret_functions)) == 0)
		return 0;
	btf = btf__load_vmlinux_btf();
	if (!btf)
		return -errno;
	found.disable = btf__find_by_name_kind(btf, "bpf_preempt_disable", BTF_KIND_FUNC);
	found.enable = btf__find_by_name_kind(btf, "bpf_preempt_enable", BTF_KIND_FUNC);
	if (found.disable < 0 || found.enable < 0)
		return -ENOENT;
	(void)boot_facts_put(NULL, FACT, &found,
			     sizeof(found)); /* else the next start looks, too */
	*ret_functions = found;
	return 0;
}
