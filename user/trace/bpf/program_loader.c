/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/bpf/program_loader.h"

#include "base/threads.h"
#include "base/vec.h"

#include <assert.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* Sections whose programs are taken. */
static const struct {
	const char *name;
	enum bpf_prog_type type;
} sections[] = {
	{ "uprobe", BPF_PROG_TYPE_KPROBE },
	{ "kprobe", BPF_PROG_TYPE_KPROBE },
	{ "tracepoint", BPF_PROG_TYPE_TRACEPOINT },
	{ "raw_tracepoint", BPF_PROG_TYPE_RAW_TRACEPOINT },
};
#define N_SECTIONS (sizeof(sections) / sizeof(sections[0]))

/* What the verifier says of a program that it refuses. */
#define LOG_BYTES (16U << 20)

/*
 * libbpf's handlers of sections belong to the process, and its list of them moves when one is added
 * while another thread reads it. So they are registered once for good, and find the loader of the
 * thread that loads an object.
 */
static _Thread_local struct program_loader *current_loader;
static pthread_once_t handlers_once = PTHREAD_ONCE_INIT;
static int handlers_error;

struct loading {
	const struct bpf_program *program;
	struct bpf_insn *insns;
	size_t n_insns;
	void *func_info;
	struct bpf_prog_load_opts opts;
	int fd; /* or negative errno */
};

struct program_loader {
	const struct kernel_call *calls;
	size_t n_calls;
	VEC(struct loading *) loadings; /* in libbpf's order: the longest is the first */
	const struct bpf_program *late; /* program_loader_put_off(); NULL: none */
	struct loading *late_loading;	/* its own, while `thread` loads it */
	pthread_t thread;
};

static void loading_free(struct loading *loading)
{
	if (!loading)
		return;
	if (loading->fd >= 0)
		close(loading->fd);
	free(loading->insns);
	free(loading->func_info);
	free(loading);
}
DEFINE_CLEANUP(struct loading, loading_free)

static int load_program(const struct loading *loading, struct bpf_prog_load_opts *opts)
{
	return bpf_prog_load(bpf_program__type(loading->program),
			     bpf_program__name(loading->program), "GPL", loading->insns,
			     loading->n_insns, opts);
}

static void *load_late(void *userdata)
{
	struct loading *loading = userdata;

	loading->fd = load_program(loading, &loading->opts);
	return NULL;
}

static void load_one(size_t i, void *userdata)
{
	const struct program_loader *loader = userdata;
	struct loading *loading = loader->loadings.data[i];

	loading->fd = load_program(loading, &loading->opts);
}

static void resolve_calls(const struct program_loader *loader, struct loading *loading)
{
	for (size_t i = 0; i < loading->n_insns; i++) {
		struct bpf_insn *insn = &loading->insns[i];

		if (insn->code != (BPF_JMP | BPF_CALL) || insn->src_reg != 0)
			continue;
		for (size_t k = 0; k < loader->n_calls; k++) {
			if (insn->imm != loader->calls[k].number)
				continue;
			insn->src_reg = BPF_PSEUDO_KFUNC_CALL;
			insn->imm = loader->calls[k].btf_id;
			break;
		}
	}
}

/* All but the lines of the source, which only a log shows, and the kernel checks one by one. */
static int loading_new(const struct bpf_program *program, const struct bpf_prog_load_opts *opts,
		       struct loading **ret_loading)
{
	const size_t info = (size_t)opts->func_info_cnt * opts->func_info_rec_size;
	const size_t n = bpf_program__insn_cnt(program);
	_cleanup_(loading_free_p) struct loading *loading = calloc(1, sizeof(*loading));

	if (!loading)
		return -ENOMEM;
	loading->fd = -1;
	loading->program = program;
	loading->n_insns = n;
	loading->insns = calloc(n, sizeof(*loading->insns));
	loading->func_info = malloc(info + 1); /* never 0 bytes */
	if (!loading->insns || !loading->func_info)
		return -ENOMEM;
	memcpy(loading->insns, bpf_program__insns(program), n * sizeof(*loading->insns));
	if (info)
		memcpy(loading->func_info, opts->func_info, info);
	loading->opts = (struct bpf_prog_load_opts){
		.sz = sizeof(loading->opts),
		.expected_attach_type = opts->expected_attach_type,
		.prog_flags = opts->prog_flags,
		.kern_version = opts->kern_version,
		.prog_btf_fd = opts->prog_btf_fd,
		.func_info = info ? loading->func_info : NULL,
		.func_info_cnt = opts->func_info_cnt,
		.func_info_rec_size = opts->func_info_rec_size,
	};
	*ret_loading = TAKE_PTR(loading);
	return 0;
}

/* libbpf's call before it loads a program, which has all its instructions by now. */
static int prepare_program(struct bpf_program *program, struct bpf_prog_load_opts *opts,
			   long cookie)
{
	struct bpf_insn nothing[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	struct program_loader *loader = current_loader;
	_cleanup_(loading_free_p) struct loading *loading = NULL;
	int r;

	(void)cookie;
	if (!loader)
		return 0; /* an object that libbpf loads as it is */
	r = loading_new(program, opts, &loading);
	if (r)
		return r;
	resolve_calls(loader, loading);
	r = bpf_program__set_insns(program, nothing, sizeof(nothing) / sizeof(nothing[0]));
	if (r == 0)
		r = vec_push(&loader->loadings, loading);
	if (r)
		return r;
	(void)TAKE_PTR(loading); /* it is the loader's */
	opts->func_info_cnt = 0;
	opts->line_info_cnt = 0;
	opts->prog_btf_fd = 0;
	return 0;
}

static void register_handlers(void)
{
	LIBBPF_OPTS(libbpf_prog_handler_opts, opts, .prog_prepare_load_fn = prepare_program);

	for (size_t i = 0; i < N_SECTIONS && handlers_error == 0; i++) {
		int id = libbpf_register_prog_handler(sections[i].name, sections[i].type, 0, &opts);

		handlers_error = id < 0 ? id : 0;
	}
}

int program_loader_new(const struct kernel_call *calls, size_t n_calls,
		       struct program_loader **ret_loader)
{
	struct program_loader *loader;

	assert(!current_loader);
	(void)pthread_once(&handlers_once, register_handlers); /* cannot fail */
	if (handlers_error)
		return handlers_error;
	loader = calloc(1, sizeof(*loader));
	if (!loader)
		return -ENOMEM;
	loader->calls = calls;
	loader->n_calls = n_calls;
	current_loader = loader;
	*ret_loader = loader;
	return 0;
}

static void print_refusal(const struct loading *loading)
{
	_cleanup_free_ char *log = calloc(1, LOG_BYTES);
	struct bpf_prog_load_opts opts = loading->opts;
	_cleanup_close_ int fd = -1;

	if (!log)
		return;
	opts.log_level = 1;
	opts.log_buf = log;
	opts.log_size = LOG_BYTES;
	fd = load_program(loading, &opts);
	fprintf(stderr, "%s: %s\n%s", bpf_program__name(loading->program), strerror(-loading->fd),
		log);
}

/* The program's descriptor is that of the real one now. */
static int put_in_place(struct loading *loading)
{
	if (loading->fd < 0)
		return loading->fd;
	if (dup3(loading->fd, bpf_program__fd(loading->program), O_CLOEXEC) < 0)
		return -errno;
	return 0;
}

static void forget_loadings(struct program_loader *loader)
{
	vec_foreach(&loader->loadings, loading)
		loading_free(*loading);
	loader->loadings.len = 0;
}

void program_loader_put_off(struct program_loader *loader, const struct bpf_program *program)
{
	loader->late = program;
}

/* Where no thread can be had, it is loaded with the others. */
static void begin_late(struct program_loader *loader)
{
	for (size_t i = 0; loader->late && i < loader->loadings.len; i++) {
		struct loading *loading = loader->loadings.data[i];

		if (loading->program != loader->late ||
		    thread_start(&loader->thread, load_late, loading))
			continue;
		loader->late_loading = loading;
		loader->loadings.data[i] = loader->loadings.data[--loader->loadings.len];
		return;
	}
}

int program_loader_await(struct program_loader *loader)
{
	_cleanup_(loading_free_p) struct loading *loading = TAKE_PTR(loader->late_loading);

	if (!loading)
		return 0;
	(void)pthread_join(loader->thread, NULL); /* ours, and joined once */
	return put_in_place(loading);
}

int program_loader_finish(struct program_loader *loader, int verbose)
{
	int r = 0;

	current_loader = NULL;
	begin_late(loader);
	parallel_each(loader->loadings.len, load_one, loader);
	for (size_t i = 0; i < loader->loadings.len && r == 0; i++) {
		r = put_in_place(loader->loadings.data[i]);
		if (r && verbose)
			print_refusal(loader->loadings.data[i]);
	}
	forget_loadings(loader);
	return r;
}

void program_loader_free(struct program_loader *loader)
{
	if (!loader)
		return;
	(void)program_loader_await(loader); /* nothing was attached to it */
	forget_loadings(loader);
	vec_done(&loader->loadings);
	if (current_loader == loader)
		current_loader = NULL;
	free(loader);
}
