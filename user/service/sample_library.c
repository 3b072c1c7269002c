/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/sample_library.h"

#include "base/log.h"
#include "base/outfile.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "bpf/abi_book.h"
#include "config/options.h"
#include "config/words.h"
#include "target/launch/launch.h"
#include "target/preload.h"
#include "trace/books/book.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define INTERVAL_VARIABLE "MEMTRACED_SAMPLE_INTERVAL="
#define PRELOAD_VARIABLE "LD_PRELOAD="
/*
 * What the command starts inherits the library, and AddressSanitizer ends a program in which its
 * own is not the first library. The sampling library does nothing there, so that it need not be.
 */
#define SANITIZER_VARIABLE "ASAN_OPTIONS="
#define SANITIZER_OPTION "verify_asan_link_order=0"
#define OFF_VARIABLE "MEMTRACED_SAMPLE_PRELOAD"
#define EXACT_OFF_VARIABLE "MEMTRACED_EXACT_PRELOAD"

#define NO_LIBRARY "libmemtraced-sample.so is neither beside memtraced nor in ../lib/memtraced"

typedef VEC(char *) word_list;

static int add_word(word_list *words, const char *word)
{
	char *copy = strdup(word);
	int r = copy ? vec_push(words, copy) : -ENOMEM;

	if (r)
		free(copy);
	return r;
}

static bool is_off(const char *variable)
{
	const char *value = getenv(variable);

	return value && strcmp(value, "no") == 0;
}

/* `variable` with its =: ours, before or behind what the command would have of it otherwise. */
static int add_joined(const struct options *options, word_list *words, const char *variable,
		      const char *ours, bool ours_first)
{
	_cleanup_strbuf_ struct strbuf word = {}, name = {};
	const char *before;

	strbuf_add(&name, variable, strlen(variable) - 1);
	if (strbuf_error(&name))
		return strbuf_error(&name);
	before = launch_value((const char *const *)options->env_set, strbuf_str(&name));
	if (!before || !*before)
		strbuf_addf(&word, "%s%s", variable, ours);
	else
		strbuf_addf(&word, "%s%s:%s", variable, ours_first ? ours : before,
			    ours_first ? before : ours);
	return strbuf_error(&word) ? strbuf_error(&word) : add_word(words, strbuf_str(&word));
}

/* Why the command cannot have the library; NULL: it can, from this path. */
static const char *find_library(enum preload preload, char library[PATH_MAX])
{
	const char *why = preload_why_not(preload);

	if (!why && preload_library(library) < 0)
		why = NO_LIBRARY;
	return why;
}

/* First, so that it stands before the allocators that the user preloads; those stay. */
static int add_library(const struct options *options, word_list *words, const char *library)
{
	int r = add_joined(options, words, PRELOAD_VARIABLE, library, true);

	/* Of its options the last one holds. */
	return r ? r : add_joined(options, words, SANITIZER_VARIABLE, SANITIZER_OPTION, false);
}

/* A command that cannot have it is named, and runs without. 1: it has it; 0; -ENOMEM. */
static int add_preload(const struct options *options, word_list *words, enum preload preload)
{
	char library[PATH_MAX];
	const char *why = find_library(preload, library);
	int r;

	if (why) {
		log_warning("%s is not sampled itself: %s; %s", options->command[0], why,
			    options->max_overhead ?
				    "until the share of --max-overhead pays for more, only page "
				    "faults are counted" :
				    "without --sample all calls are counted");
		return 0;
	}
	r = add_library(options, words, library);
	return r < 0 ? r : 1;
}

static enum preload judge(const struct options *options)
{
	return preload_judge(options->command[0],
			     launch_value((const char *const *)options->env_set, "PATH"));
}

/* 1: it will show samples; 0; -ENOMEM. */
static int let_sample(const struct options *options, word_list *words)
{
	enum preload preload;

	if (!options->sample_bytes)
		return 0;
	preload = judge(options);
	if (preload == PRELOAD_NOT_NEEDED)
		return 1;
	return !is_off(OFF_VARIABLE) ? add_preload(options, words, preload) : 0;
}

/* Are its calls counted, and by what is best? */
static bool may_keep_books(const struct options *options)
{
	if (options->exact == EXACT_AUTO)
		return options_trace_allocations(options) && !options->sample_bytes &&
		       !options->floor && !is_off(EXACT_OFF_VARIABLE);
	return options->exact == EXACT_LIBRARY;
}

/* What of this machine or of memtraced, which the command inherits, forbids a book; or NULL. */
static const char *find_bound(void)
{
	struct rlimit limit;

#ifndef __x86_64__
	return "it counts on x86-64 alone";
#endif
	if (prctl(PR_GET_SECCOMP) > 0)
		return "its system calls are filtered (seccomp)";
	if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
		return "its address space is limited (RLIMIT_AS)";
	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < ABI_BOOK_BYTES)
		return "the size of its files is limited (RLIMIT_FSIZE)";
	return NULL;
}

/* Why probes count its calls, and those of what it starts; nothing: they do not. */
static int why_probes(const struct options *options, char library[PATH_MAX], struct strbuf *why)
{
	const char *of_probes = options_need_probes(options), *words;

	/* It limits what their maps take, not what is in the program. */
	if (!of_probes && options->exact == EXACT_AUTO && options->memory_limit)
		of_probes = "--memory-limit";
	if (of_probes) {
		strbuf_addf(why, "%s needs probes", of_probes);
		return strbuf_error(why);
	}
	words = find_bound();
	words = words ? words : find_library(judge(options), library);
	if (words)
		strbuf_adds(why, words);
	return strbuf_error(why);
}

static int add_books(const struct options *options, word_list *words, const char *library,
		     struct kept_books *ret_books)
{
	int r = add_library(options, words, library);

	if (r == 0)
		r = add_word(words, PRELOAD_KEEPS_BOOKS);
	if (r == 0)
		ret_books->library = strdup(library);
	return r || ret_books->library ? r : -ENOMEM;
}

/* A command that cannot is counted by probes, as is what it starts. */
static int let_keep_books(const struct options *options, word_list *words,
			  struct kept_books *ret_books)
{
	_cleanup_strbuf_ struct strbuf why = {};
	char library[PATH_MAX];
	int r;

	if (!may_keep_books(options))
		return 0;
	r = why_probes(options, library, &why);
	if (r == 0 && !why.len)
		return add_books(options, words, library, ret_books);
	ret_books->why_not = r ? NULL : strdup(strbuf_str(&why));
	if (!ret_books->why_not)
		return -ENOMEM;
	log_message(options->exact == EXACT_LIBRARY ? LOG_LEVEL_WARNING : LOG_LEVEL_DEBUG,
		    "%s is counted by probes: %s", options->command[0], ret_books->why_not);
	return 0;
}

int sample_environment(const struct options *options, char ***ret_words, bool *ret_sampled,
		       struct kept_books *ret_books)
{
	char interval[sizeof(INTERVAL_VARIABLE) + 20];
	word_list words = { 0 };
	int r = 0, sampled = 0;

	*ret_books = (struct kept_books){};

	if (options->sample_bytes) {
		(void)snprintf(interval, sizeof(interval), INTERVAL_VARIABLE "%" PRIu64,
			       options->sample_bytes); /* fits */
		r = add_word(&words, interval);
	}
	/* Behind it, as the last one holds. */
	for (char **word = options->env_set; word && *word && r == 0; word++)
		r = add_word(&words, *word);
	if (r == 0)
		sampled = let_sample(options, &words);
	if (r == 0)
		r = sampled < 0 ? sampled : 0;
	if (r == 0)
		r = let_keep_books(options, &words, ret_books);
	if (r == 0)
		r = vec_push(&words, NULL);
	if (r) {
		vec_foreach(&words, word)
			free(*word);
		vec_done(&words);
		return r;
	}
	*ret_words = words.data;
	*ret_sampled = sampled > 0;
	return 0;
}

/* Why not, where it counts itself; NULL: it does not. */
static const char *why_not_read(int error)
{
	switch (error) {
	case -EBUSY:
		return "another memtraced reads its counts";
	case -ESTALE:
		return "it has ceased to count, as the memtraced that read it is gone";
	case -ENODATA:
		return "it has counted blocks of some sizes alone";
	case -EXDEV:
		return "a part of what it holds was counted by its parent";
	case -EINVAL:
		return "its counts are of another version of memtraced";
	default:
		return NULL;
	}
}

/* 1: its counts can be read; 0, and why not if it keeps any. */
static int try_process(const struct options *options, pid_t pid, struct strbuf *why)
{
	const char *of_probes = options_need_probes(options);
	int error = book_try(pid);

	if (error == 0 && !of_probes)
		return 1;
	strbuf_reset(why);
	if (error == 0)
		strbuf_addf(why, "%s needs probes", of_probes);
	else if (why_not_read(error))
		strbuf_addf(why, "process %d: %s", (int)pid, why_not_read(error));
	return 0;
}

/* Can those of -p be read? Else why not, where some keep books. */
static bool try_processes(const struct options *options, char library[PATH_MAX], struct strbuf *why)
{
	size_t n = 0;

	for (size_t i = 0; i < options->n_pids; i++)
		n += (size_t)try_process(options, options->pids[i], why);
	if (n == options->n_pids && preload_library(library) < 0)
		strbuf_adds(why, NO_LIBRARY);
	else if (n > 0 && n < options->n_pids && !why->len)
		strbuf_addf(why, "%zu of %zu processes count their calls themselves", n,
			    options->n_pids);
	return n == options->n_pids && !why->len;
}

int running_books(const struct options *options, struct kept_books *ret_books)
{
	_cleanup_strbuf_ struct strbuf why = {};
	char library[PATH_MAX], **words;
	bool all;

	*ret_books = (struct kept_books){};
	/* That root is needed is said later. */
	if (options->n_pids == 0 || options->exact == EXACT_PROBES || geteuid() != 0 ||
	    !options_trace_allocations(options))
		return 0;
	all = try_processes(options, library, &why);
	if (strbuf_error(&why))
		return strbuf_error(&why);
	if (why.len)
		log_info("all calls are counted by probes: %s", strbuf_str(&why));
	if (!all && options->exact == EXACT_LIBRARY) {
		log_error("--exact=library: not each process of -p counts its calls itself; "
			  "'memtraced sample --unit=NAME --exact' makes a service do so from its "
			  "next start on");
		return -ENOTSUP;
	}
	if (!all && !why.len)
		return 0;
	words = all ? &ret_books->library : &ret_books->why_not;
	*words = strdup(all ? library : strbuf_str(&why));
	return *words ? 0 : -ENOMEM;
}

#define UNITS "/etc/systemd/system"
#define DROP_IN "memtraced-sample.conf"

int sample_unit_text(const struct sample_unit_options *options, const char *library,
		     struct strbuf *out)
{
	strbuf_adds(out, "# By `memtraced sample`; `memtraced sample --remove` takes it away.\n"
			 "[Service]\n"
			 "Environment=\"LD_PRELOAD=");
	for (const char *at = library; *at; at++) {
		/* What separates libraries for ld.so, or ends a word or line for systemd. */
		if (strchr(": \t\n\"'\\", *at))
			return -EINVAL;
		strbuf_addch(out, *at);
		if (*at == '%') /* systemd.unit(5), "Specifiers" */
			strbuf_addch(out, '%');
	}
	if (options->exact)
		strbuf_adds(out, "\"\nEnvironment=" PRELOAD_BOOKS_STAY "\n");
	else
		strbuf_addf(out, "\"\nEnvironment=MEMTRACED_SAMPLE_INTERVAL=%" PRIu64 "\n",
			    options->interval);
	return strbuf_error(out);
}

static int library_text(const struct sample_unit_options *options, struct strbuf *text)
{
	char library[PATH_MAX];
	int r = preload_library(library);

	if (r < 0) {
		log_error("libmemtraced-sample.so is neither beside memtraced nor in "
			  "../lib/memtraced: install it");
		return r;
	}
	r = sample_unit_text(options, library, text);
	if (r < 0)
		log_error("%s: systemd cannot preload a library of this path", library);
	return r;
}

static int write_file(const char *path, const struct strbuf *text)
{
	_cleanup_(outfile_free_p) struct outfile *file = NULL;
	int r = outfile_new(path, (uid_t)-1, (gid_t)-1, &file);

	if (r < 0)
		return r;
	/* What fails here, commit tells. */
	(void)fputs(strbuf_str(text), outfile_stream(file));
	return outfile_commit(file);
}

static void print_restart(const char *unit)
{
	printf("it takes effect when the service is started again:\n"
	       "  systemctl daemon-reload && systemctl restart %s\n",
	       unit);
}

static int write_drop_in(const char *folder, const char *path,
			 const struct sample_unit_options *options)
{
	_cleanup_strbuf_ struct strbuf text = {};
	int r = library_text(options, &text);

	if (r < 0)
		return r;
	if (mkdir(folder, 0755) < 0 && errno != EEXIST)
		r = -errno;
	if (r == 0)
		r = write_file(path, &text);
	if (r < 0) {
		log_error("cannot write %s: %s%s", path, strerror(-r),
			  r == -EACCES || r == -EPERM ? "; be root" : "");
		return r;
	}
	printf("wrote %s\n", path);
	printf("an LD_PRELOAD that the unit has elsewhere does not count any more\n");
	print_restart(options->unit);
	printf("and is then traced by\n"
	       "  memtraced %s-p $(systemctl show -P MainPID %s)\n",
	       options->exact ? "" : "--sample ", options->unit);
	return 0;
}

static int remove_drop_in(const char *folder, const char *path, const char *unit)
{
	if (unlink(path) < 0) {
		int r = -errno;

		if (r == -ENOENT)
			log_error("%s is not there: %s is not sampled by it", path, unit);
		else
			log_error("cannot remove %s: %s", path, strerror(-r));
		return r;
	}
	(void)rmdir(folder); /* others' drop-ins may be there */
	printf("removed %s\n", path);
	print_restart(unit);
	return 0;
}

static int print(const struct sample_unit_options *options)
{
	_cleanup_strbuf_ struct strbuf text = {};
	int r = library_text(options, &text);

	if (r == 0 && fputs(strbuf_str(&text), stdout) == EOF)
		r = -EIO;
	return r;
}

int sample_unit_run(const struct sample_unit_options *options)
{
	char folder[PATH_MAX], path[PATH_MAX];
	int r;

	/* Both fit: a unit's name has 255 bytes at most. */
	(void)snprintf(folder, sizeof(folder), UNITS "/%s.d", options->unit);
	(void)snprintf(path, sizeof(path), UNITS "/%s.d/" DROP_IN, options->unit);
	if (options->what == SAMPLE_UNIT_PRINT)
		r = print(options);
	else if (options->what == SAMPLE_UNIT_REMOVE)
		r = remove_drop_in(folder, path, options->unit);
	else
		r = write_drop_in(folder, path, options);
	if (r == 0 && fflush(stdout) == EOF)
		r = -errno;
	return r;
}
