/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loads the programs of an object several at a time. The kernel's verifier takes no lock for who
 * has CAP_BPF, and is most of what a start takes, while libbpf loads one program after the other.
 * So each is taken from libbpf when it is about to be loaded, and one without content put in its
 * place; at the end its descriptor becomes that of the real one.
 *
 * A thread has one loader at a time, and takes programs from the objects that it loads itself.
 */
#ifndef MEMTRACED_TRACE_BPF_PROGRAM_LOADER_H
#define MEMTRACED_TRACE_BPF_PROGRAM_LOADER_H

#include "base/cleanup.h"

#include <stddef.h>
#include <stdint.h>

struct program_loader;

/* A call of `number`, which no helper has, stands for the kernel's function of this BTF id. */
struct kernel_call {
	int32_t number, btf_id;
};

/*
 * From here on programs are taken from all objects that this thread loads, until it frees the
 * loader. `calls` is borrowed. 0 or negative errno.
 */
int program_loader_new(const struct kernel_call *calls, size_t n_calls,
		       struct program_loader **ret_loader);

/*
 * When libbpf has loaded an object: the programs are what their descriptors say. 0, or the error
 * of the first that the kernel refused. `verbose`: its verifier's log goes to stderr.
 */
int program_loader_finish(struct program_loader *loader, int verbose);

void program_loader_free(struct program_loader *loader); /* NULL is legal */
DEFINE_CLEANUP(struct program_loader, program_loader_free)

#endif
