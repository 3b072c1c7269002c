/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/log.h"
#include "base/strbuf.h"
#include "config/options.h"
#include "config/words.h"
#include "elf/elf_file.h"
#include "probe/plan.h"
#include "probe/result_text.h"
#include "report/report.h"
#include "sandbox/forker.h"
#include "sandbox/keeper_process.h"
#include "sandbox/worker.h"
#include "service/commands.h"
#include "service/daemon/service.h"
#include "service/probe_cost.h"
#include "service/sample_library.h"
#include "service/session/named_pids.h"
#include "service/session/session.h"
#include "service/valgrind_files.h"
#include "symbol/symbol_server.h"
#include "target/file_helper.h"
#include "target/file_helper_process.h"
#include "target/file_open.h"
#include "trace/bpf/run_stats.h"
#include "trace/kernel/features.h"
#include "version.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define VALGRIND_VERSION "3.19.0"

enum {
	EXIT_USAGE = 1,
	EXIT_CANNOT_TRACE = 2,
	/* As shells and env(1) have them of a command. */
	EXIT_NOT_EXECUTABLE = 126,
	EXIT_NOT_FOUND = 127,
	EXIT_STDOUT_CLOSED = 128 + SIGPIPE,
};

static int print_text(const struct strbuf *text)
{
	if (strbuf_error(text))
		return EXIT_CANNOT_TRACE;
	if (fputs(strbuf_str(text), stdout) == EOF || fflush(stdout) == EOF)
		return errno == EPIPE ? EXIT_STDOUT_CLOSED : EXIT_CANNOT_TRACE;
	return EXIT_SUCCESS;
}

static int print_help(const char *topic)
{
	_cleanup_strbuf_ struct strbuf text = {}, error = {};
	size_t n;
	const struct report_format *formats = report_formats(&n);

	if (options_help(topic, &text, &error) == -ENOENT) {
		log_error("%s", strbuf_str(&error));
		return EXIT_USAGE;
	}
	for (size_t i = 0; i < n && options_help_formats(topic); i++)
		options_help_row(&text, formats[i].name, formats[i].description);
	if (options_help_formats(topic))
		options_help_row(&text, "record",
				 "the run itself, for memtraced report; with -o only");
	return print_text(&text);
}

/* Scripts compare Valgrind's version: this is the one whose command line is taken. */
static int print_version(bool as_valgrind)
{
	_cleanup_strbuf_ struct strbuf text = {};

	if (as_valgrind)
		strbuf_adds(&text, "valgrind-" VALGRIND_VERSION " (");
	strbuf_adds(&text, "memtraced " MEMTRACED_VERSION);
	strbuf_adds(&text, as_valgrind ? ")\n" : "\n");
	return print_text(&text);
}

static bool names_features(void)
{
	_cleanup_strbuf_ struct strbuf name = {};

	if (feature_check_left_out(&name) == 0)
		return true;
	log_error("MEMTRACED_WITHOUT: no feature is called '%s'; memtraced --features lists them",
		  strbuf_str(&name));
	return false;
}

/* What is proven of the C library that we have loaded ourselves. */
static void add_result_sites(const struct features *features, struct strbuf *text)
{
	_cleanup_(elf_file_free_p) struct elf_file *file = NULL;
	_cleanup_(plan_free_p) struct plan *plan = NULL;
	_cleanup_close_ int fd = -1;
	Dl_info libc;

	if (!dladdr((void *)gnu_get_libc_version, &libc) || !libc.dli_fname)
		return;
	fd = open(libc.dli_fname, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && elf_file_new(fd, &file) == 0 &&
	    plan_new(file, libc.dli_fname, &features->emulation, NULL, false, true, &plan) == 0)
		result_text(plan, libc.dli_fname, text);
}

static int print_features(bool verbose)
{
	_cleanup_(features_free_p) struct features *features = NULL;
	_cleanup_strbuf_ struct strbuf text = {};
	int r;

	if (!names_features())
		return EXIT_USAGE;
	r = features_new(true, &features);
	if (r) {
		log_error("cannot probe the kernel's features: %s", strerror(-r));
		return EXIT_CANNOT_TRACE;
	}
	features_try_programs(features);
	features_print(features, &text);
	if (verbose)
		add_result_sites(features, &text);
	return print_text(&text);
}

static int exit_of(int r)
{
	if (r == -EPIPE)
		return EXIT_STDOUT_CLOSED;
	return r == -EINVAL ? EXIT_USAGE : EXIT_CANNOT_TRACE;
}

/* Before anything is opened, loaded or started that it would inherit. */
static int start_worker(struct worker **ret_worker)
{
	int r = worker_new(&file_server, 0, ret_worker);

	if (r < 0)
		log_error("cannot start the process that parses files: %s", strerror(-r));
	if (r < 0)
		return r;
	r = file_helper_begin(FILE_HELPER_COMM, open_serve);
	if (r < 0)
		log_error("cannot start the process that opens files: %s", strerror(-r));
	return r;
}

/*
 * What a call takes here. The kernel counts what programs take from now on, until the descriptor is
 * closed; where it does not, nothing is measured but what a call takes.
 */
static int measure_cost(struct worker *worker, struct probe_cost *cost)
{
	int fd = geteuid() == 0 ? run_stats_open() : -EPERM;

	if (geteuid() == 0)
		(void)probe_cost_measure(worker, "--max-overhead: ", cost); /* else it is assumed */
	return fd < 0 ? -1 : fd;
}

/* As Valgrind ends by the signal that has killed its program, whose core file is the one. */
static void end_by_signal(int signal_number)
{
	const struct rlimit none = { 0 };
	sigset_t set;

	(void)setrlimit(RLIMIT_CORE, &none);
	(void)signal(signal_number, SIG_DFL); /* SIGKILL has no other */
	sigemptyset(&set);
	sigaddset(&set, signal_number);
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL);
	(void)raise(signal_number);
}

static int trace(struct options *options, const struct launch_inherited *inherited, int *ret_signal)
{
	_cleanup_(kept_books_done) struct kept_books books = {};
	_cleanup_(worker_free_p) struct worker *worker = NULL;
	_cleanup_(session_free_p) struct session *session = NULL;
	_cleanup_close_ int stats_fd = -1;
	struct probe_cost cost = PROBE_COST_ASSUMED;
	int r;

	if (!names_features())
		return EXIT_USAGE;
	r = start_worker(&worker);
	if (r == 0)
		r = running_books(options, &books);
	if (!books.library)
		options_limit_overhead(options);
	if (r == 0 && options->max_overhead && !options->overhead_exact_first)
		stats_fd = measure_cost(worker, &cost);
	if (r == 0)
		r = session_new(options, inherited, worker, &cost, &books, &session);
	while (r == 0)
		r = session_step(session, -1);
	if (r > 0)
		r = session_finish(session);
	if (r == -ECHILD || r == -ENOEXEC)
		return r == -ECHILD ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
	if (r == 0)
		*ret_signal = session_death_signal(session);
	return r ? exit_of(r) : session_exit_status(session);
}

static int run_service(const struct options *options)
{
	_cleanup_(worker_free_p) struct worker *worker = NULL;
	int r = names_features() ? start_worker(&worker) : -EINVAL;

	if (r == 0)
		r = service_run(options->config_file, worker);
	return r ? exit_of(r) : EXIT_SUCCESS;
}

/*
 * Each object that is traced is held open, with its debug files; the usual soft limit is 1024. What
 * cannot be had is no error: files beyond it are without names. The child has its own again.
 */
static void allow_open_files(const struct launch_inherited *inherited)
{
	struct rlimit limit = inherited->limits[RLIMIT_NOFILE];

	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

/*
 * What is opened must not become a standard stream that was closed, and get what is written there.
 * Nothing can be read or written by these; they end with our exec, so that a child has none.
 */
static void occupy_closed_streams(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			(void)open("/dev/null",
				   (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
}

/* This program is a helper that was executed in place of one that was killed; or returns. */
static void serve_role(const char *name)
{
	if (!name)
		return;
	if (strcmp(name, KEEPER_COMM) == 0)
		keeper_process(&file_server, HELPER_SOCKET);
	if (strcmp(name, FILE_HELPER_COMM) == 0)
		file_helper_process(HELPER_SOCKET, open_serve);
}

static int parse_arguments(int argc, char **argv, struct options **ret_options,
			   struct strbuf *error)
{
	char **before = NULL;
	int r;

	if (!options_valgrind_words(argc, argv))
		return options_parse(argc, argv, ret_options, error);
	r = valgrind_files_read(&before);
	if (r == 0)
		r = options_parse_valgrind(before, argc, argv, ret_options, error);
	words_free(before);
	return r;
}

static enum log_level log_level_of(const struct options *options)
{
	if (options->verbose)
		return LOG_LEVEL_DEBUG;
	if (options->valgrind.on && options->valgrind.verbosity > 0)
		return LOG_LEVEL_WARNING;
	return options->quiet ? LOG_LEVEL_ERROR : LOG_LEVEL_INFO;
}

int main(int argc, char **argv)
{
	_cleanup_(options_free_p) struct options *options = NULL;
	_cleanup_strbuf_ struct strbuf error = {};
	struct launch_inherited inherited;
	int r, killed_by = 0;

	serve_role(argv[0]);
	r = launch_inherited_save(&inherited);
	if (r) {
		log_error("cannot read the signal state: %s", strerror(-r));
		return EXIT_CANNOT_TRACE;
	}
	occupy_closed_streams();
	allow_open_files(&inherited);
	/* A closed stdout, or a limit of file sizes, is an error of the write that finds it. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	r = parse_arguments(argc, argv, &options, &error);
	if (r) {
		log_error("%s", r == -EINVAL ? strbuf_str(&error) : strerror(-r));
		return EXIT_USAGE;
	}
	log_set_level(log_level_of(options));
	if (options->valgrind.ignored)
		log_warning("without effect: %s; valgrind-memtraced(1) says what is not found",
			    options->valgrind.ignored);
	switch (options->action) {
	case ACTION_HELP:
		return print_help(options->help_topic);
	case ACTION_VERSION:
		return print_version(options->valgrind.on);
	case ACTION_FEATURES:
		return print_features(options->verbose);
	case ACTION_REPORT:
		r = replay_report(options);
		return r ? exit_of(r) : EXIT_SUCCESS;
	case ACTION_DIFF:
		r = diff_recordings(options);
		return r ? exit_of(r) : EXIT_SUCCESS;
	case ACTION_CTL:
		r = ctl_run(&options->ctl);
		return r ? exit_of(r) : EXIT_SUCCESS;
	case ACTION_SAMPLE_UNIT:
		r = sample_unit_run(&options->sample_unit);
		return r ? exit_of(r) : EXIT_SUCCESS;
	case ACTION_SERVICE:
		return run_service(options);
	case ACTION_TRACE:
		if (named_pids_find(options))
			return EXIT_CANNOT_TRACE;
		r = trace(options, &inherited, &killed_by);
		if (options->valgrind.on && killed_by)
			end_by_signal(killed_by);
		return r;
	}
	return EXIT_USAGE;
}
