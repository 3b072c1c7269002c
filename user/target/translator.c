/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/translator.h"

#include "base/cleanup.h"
#include "target/process.h"
#include "target/process_list.h"

#include <errno.h>
#include <fnmatch.h>

/* With another architecture's code they have files that are not probed: those are left out. */
bool translator_is(const char *exe)
{
	static const char *const patterns[] = {
#ifdef __x86_64__
		"*/valgrind/*-amd64-linux", "*/qemu-x86_64", "*/qemu-x86_64-*",
#else
		"*/valgrind/*-arm64-linux", "*/qemu-aarch64", "*/qemu-aarch64-*",
#endif
		"*/libdynamorio.so*",	    "*/pinbin",
	};

	for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++)
		if (fnmatch(patterns[i], exe, 0) == 0)
			return true;
	return false;
}

int translator_find(char **ret_exe)
{
	pid_vec pids = {};
	int r = process_list_host(&pids);

	*ret_exe = NULL;
	for (size_t i = 0; i < pids.len && r == 0 && !*ret_exe; i++) {
		_cleanup_free_ char *exe = NULL;

		r = process_exe(pids.data[i], &exe);
		if (r == 0 && translator_is(exe))
			*ret_exe = TAKE_PTR(exe);
		if (r != -ENOMEM)
			r = 0; /* gone, or the kernel's */
	}
	vec_done(&pids);
	return r;
}
