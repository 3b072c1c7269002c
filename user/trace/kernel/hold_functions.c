/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/kernel/hold_functions.h"

#include "base/cleanup.h"
#include "trace/kernel/boot_facts.h"

#include <bpf/btf.h>
#include <errno.h>

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
