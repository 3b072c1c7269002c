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

struct bpf_program;
struct program_loader;

/* A call of `number`, which no helper has, stands for the kernel's function of this BTF id. */
struct kernel_call {
	int32_t number, btf_id;
};

/*
 * From here on programs are taken from the object that this thread loads, until
 * program_loader_finish(). `calls` is borrowed. 0 or negative errno.
 */
int program_loader_new(const struct kernel_call *calls, size_t n_calls,
		       struct program_loader **ret_loader);

/*
 * One program, to which nothing may be attached before program_loader_await(): a thread of its own
 * loads it, which goes on behind program_loader_finish(). The object may not go before.
 */
void program_loader_put_off(struct program_loader *loader, const struct bpf_program *program);

/*
 * When libbpf has loaded an object: the programs are what their descriptors say, and no more are
 * taken. 0, or the error of the first that the kernel refused. `verbose`: its verifier's log goes
 * to stderr.
 */
int program_loader_finish(struct program_loader *loader, int verbose);

/* The one that was put off is there, too. 0 or what the kernel said; 0 again after that. */
int program_loader_await(struct program_loader *loader);

/* Waits for what it loads. NULL is legal. */
void program_loader_free(struct program_loader *loader);
DEFINE_CLEANUP(struct program_loader, program_loader_free)

#endif
