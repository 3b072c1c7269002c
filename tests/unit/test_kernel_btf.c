/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that libbpf writes, as pahole has it write the kernel's. */
#include "trace/kernel/kernel_btf.h"

#include "base/cleanup.h"

#include <bpf/btf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/btf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define N_ELEMENTS(a) (sizeof(a) / sizeof((a)[0]))

static int make_path(void **state)
{
	static char path[] = "/tmp/test-kernel-btf-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(close(fd), 0);
	*state = path;
	return 0;
}

static int remove_path(void **state)
{
	return unlink(*state);
}

static void write_file(const char *path, const void *data, size_t len)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), len);
}

/* Two functions and an int; the caller frees. */
static struct btf *make_btf(void)
{
	struct btf *btf = btf__new_empty();
	int type, proto;

	assert_non_null(btf);
	type = btf__add_int(btf, "int", 4, BTF_INT_SIGNED);
	proto = btf__add_func_proto(btf, type);
	assert_true(proto > 0);
	assert_true(btf__add_func(btf, "first_function", BTF_FUNC_GLOBAL, proto) > 0);
	assert_true(btf__add_func(btf, "x_second_function", BTF_FUNC_GLOBAL, proto) > 0);
	return btf;
}

static void only_whole_names_are_found(void **state)
{
	static const struct {
		const char *name;
		int found;
	} cases[] = {
		{ "int", 1 },
		{ "first_function", 1 },
		{ "x_second_function", 1 },
		{ "first_functio", 0 },
		{ "irst_function", 0 },
		{ "second_function", 0 },
		{ "third_function", 0 },
	};
	struct btf *btf = make_btf();
	uint32_t len;
	const void *data = btf__raw_data(btf, &len);

	write_file(*state, data, len);
	btf__free(btf);
	for (size_t i = 0; i < N_ELEMENTS(cases); i++)
		assert_int_equal(btf_file_has(*state, cases[i].name), cases[i].found);
}

static void a_name_behind_one_that_ends_alike_is_found(void **state)
{
	struct {
		struct btf_header header;
		char strings[24];
	} file = {
		.header = { .magic = BTF_MAGIC,
			    .version = BTF_VERSION,
			    .hdr_len = sizeof(struct btf_header),
			    .str_len = sizeof(file.strings) },
		.strings = "\0not_wanted\0a_wanted\0",
	};

	write_file(*state, &file, sizeof(file));
	assert_int_equal(btf_file_has(*state, "wanted"), 0);
	memcpy(file.strings, "\0no_wanted\0wanted", sizeof("\0no_wanted\0wanted"));
	write_file(*state, &file, sizeof(file));
	assert_int_equal(btf_file_has(*state, "wanted"), 1);
}

static void damaged_files_are_refused(void **state)
{
	struct btf *btf = make_btf();
	uint32_t len;
	const void *data = btf__raw_data(btf, &len);
	_cleanup_free_ char *copy = malloc(len);
	struct btf_header *header = (struct btf_header *)copy;

	assert_non_null(copy);
	memcpy(copy, data, len);
	btf__free(btf);
	write_file(*state, copy, len - 1);
	assert_int_equal(btf_file_has(*state, "int"), -EINVAL);
	write_file(*state, copy, sizeof(*header) - 1);
	assert_int_equal(btf_file_has(*state, "int"), -EINVAL);
	header->str_off = UINT32_MAX;
	write_file(*state, copy, len);
	assert_int_equal(btf_file_has(*state, "int"), -EINVAL);
	header->str_off = 0;
	header->magic = __builtin_bswap16(BTF_MAGIC);
	write_file(*state, copy, len);
	assert_int_equal(btf_file_has(*state, "int"), -EINVAL);
	assert_int_equal(btf_file_has("/tmp/no/such/file", "int"), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_whole_names_are_found),
		cmocka_unit_test(a_name_behind_one_that_ends_alike_is_found),
		cmocka_unit_test(damaged_files_are_refused),
	};

	return cmocka_run_group_tests(tests, make_path, remove_path);
}
