/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command line: one table of options gives parsing and --help; the documents are held to it.
 * Pure functions of argv; errors come back as text, nothing is printed.
 */
#ifndef MEMTRACED_CONFIG_OPTIONS_H
#define MEMTRACED_CONFIG_OPTIONS_H

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "config/allocator_spec.h"
#include "config/event_spec.h"
#include "config/name_globs.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum option_action {
	ACTION_TRACE,
	ACTION_HELP,
	ACTION_VERSION,
	ACTION_FEATURES,    /* --features */
	ACTION_REPORT,	    /* memtraced report FILE */
	ACTION_DIFF,	    /* memtraced diff BEFORE AFTER */
	ACTION_SERVICE,	    /* --service */
	ACTION_CTL,	    /* memtraced ctl ... */
	ACTION_SAMPLE_UNIT, /* memtraced sample ... */
};

/* How the heap of a process is traced where a service is asked for it. */
enum heap_depth {
	HEAP_EXACT,   /* each call of its allocator */
	HEAP_SAMPLED, /* samples that it shows by otel_memory probes */
};
extern const char *const heap_depth_names[]; /* ends with NULL */

enum option_sort { SORT_BYTES, SORT_COUNT, SORT_GROWTH, SORT_PEAK, SORT_TEMPORARY };
/* What sites are summed by. */
enum group_by {
	GROUP_BY_SITE, /* not at all */
	GROUP_BY_FUNCTION,
	GROUP_BY_LINE, /* function and line */
	GROUP_BY_FILE,
	GROUP_BY_OBJECT,
	GROUP_BY_PROCESS,
	GROUP_BY_CLASS,
	GROUP_BY_GROWTH,
	GROUP_BY_LEAK,
	GROUP_BY_SIZE,
	GROUP_BY_AGE,
};
enum option_attach { ATTACH_AUTO, ATTACH_SESSION, ATTACH_MULTI, ATTACH_PERF, ATTACH_EXIT };
enum option_unwind { UNWIND_CFI, UNWIND_FP };
enum option_exact { EXACT_AUTO, EXACT_PROBES, EXACT_LIBRARY };
/* Most that --max-stack takes, and its default: the room that the kernel's programs have. */
#define OPTIONS_MEMORY_LEAST (96ULL << 20)
#define OPTIONS_MAX_STACK 511

/* Of --sample. */
#define OPTIONS_SAMPLE_BYTES (512ULL << 10)
#define OPTIONS_SAMPLE_MOST (1ULL << 40)

/* Of --max-overhead, of -p: hundredths of a percent. */
#define OPTIONS_OVERHEAD 2000

/* Of --keep-ended, where what is traced is found by a rule. */
#define OPTIONS_KEEP_ENDED 100

/* Which of two runs says how wide frames are. */
enum option_widths { WIDTHS_AFTER, WIDTHS_BEFORE };
enum option_color { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

struct option_output {
	char *format; /* "json"; not checked against the writers here */
	char *path;   /* NULL: stdout */
};

/* Sets of kinds of leaks, in the order of analyze/reach_types.h. */
#define LEAK_KIND_DEFINITE 1U
#define LEAK_KIND_POSSIBLE 4U
#define LEAK_ALL_KINDS 15U
/* Sets of heuristics, in the order of analyze/reach_types.h but without "by pointer". */
#define LEAK_ALL_HEURISTICS 15U

/* Since the check before: nothing of it, what has grown, or what has shrunk as well. */
enum leak_delta { LEAK_DELTA_NONE, LEAK_DELTA_ADDED, LEAK_DELTA_CHANGED };

/* LEAK_CHECK_ERRORS is Valgrind's --leak-check=no: wrong uses of the heap, and no leaks. */
enum leak_check_mode {
	LEAK_CHECK_NO,
	LEAK_CHECK_SUMMARY,
	LEAK_CHECK_FULL,
	LEAK_CHECK_YES,
	LEAK_CHECK_ERRORS
};
enum leak_resolution { LEAK_RESOLUTION_LOW, LEAK_RESOLUTION_MED, LEAK_RESOLUTION_HIGH };
enum leak_generate { LEAK_GENERATE_NO, LEAK_GENERATE_YES, LEAK_GENERATE_ALL };
enum leak_default_suppressions { LEAK_DEFAULT_SUPPRESSIONS, LEAK_NO_DEFAULT_SUPPRESSIONS };

/* How the text of leak checks is: with notes of memtraced's, as memcheck's, as its -q. */
enum leak_shape { LEAK_SHAPE_OWN, LEAK_SHAPE_VALGRIND, LEAK_SHAPE_QUIET };

/* Where a text goes: the last of these that was given; none: standard error. */
struct text_target {
	char *path; /* with %p and the like */
	uint32_t fd;
	struct {
		uint8_t addr[4]; /* of IPv4 */
		uint16_t port;	 /* 0: none */
	} socket;
};

/* --xml and what goes with it: the errors as Valgrind's XML, and not as text. */
struct xml_options {
	bool on;
	struct text_target to;
	uint32_t protocol; /* 4 or 5 */
	char *comment;	   /* XML that is copied; NULL: none */
};

/* --leak-check and what goes with it. */
struct leak_options {
	enum leak_check_mode mode;
	uint32_t show_kinds, error_kinds, heuristics;
	enum leak_resolution resolution;
	uint32_t num_callers;
	enum leak_shape shape;
	struct text_target log;
	struct xml_options xml;
	bool xtree; /* loss records go into a file of callgrind's format: */
	struct text_target xtree_to;
	int error_exitcode;  /* 0: none */
	char **suppressions; /* files; NULL-terminated; NULL: none */
	enum leak_default_suppressions default_suppressions;
	bool keep_libc, keep_libstdcxx; /* without those of that library */
	enum leak_generate generate;
	char **at; /* names of functions; NULL-terminated; behind them those of leak_request.h */
	enum leak_delta delta;
	uint64_t max_stop_ns;
	bool error_list;	/* all errors once more at the end */
	bool hide_mismatches;	/* blocks that one form has made and another takes are no errors */
	bool hide_realloc_zero; /* realloc to size 0 is not one either */
	bool below_main;	/* stacks go on to what calls main */
	bool linkage_names;	/* functions are named as in the symbol table */
	bool time_stamps;	/* lines begin with the time since the start */
	bool full_paths;	/* files are named with their folders, */
	char **fullpath_after;	/* what stands behind one of these; NULL-terminated; NULL: none */
};

/* What massif's options say of its format. */
enum massif_time_unit { MASSIF_MS, MASSIF_BYTES };

struct massif_options {
	uint32_t threshold; /* hundredths of a percent */
	uint64_t max_snapshots;
	enum massif_time_unit time_unit;
};

enum ctl_verb { CTL_NONE, CTL_STATUS, CTL_TRACE, CTL_REPORTS, CTL_TOKEN };

/* What is asked of a running service. */
struct ctl_options {
	enum ctl_verb verb;
	pid_t pid;	 /* of CTL_TRACE */
	uint64_t for_ns; /* whole seconds; of CTL_TOKEN 0: the service's default */
	bool revoke;	 /* of CTL_TOKEN: none is given, those that were are not valid any more */
	enum heap_depth depth;
	char *format; /* of its report; NULL: html */
	char *name;   /* of CTL_REPORTS: the one to show; NULL: the list */
	char *socket; /* NULL: the usual one */
};

enum valgrind_tool { VALGRIND_MEMCHECK, VALGRIND_MASSIF, VALGRIND_DHAT };

/* memtraced valgrind: what only its command line has; the rest is in the other options. */
struct valgrind_options {
	bool on;
	enum valgrind_tool tool;
	int verbosity; /* 0 and less: errors alone; 1: the default */
	bool trace_children;
	char *skip_names, *skip_words; /* target/exec_skip.h; NULL: none */
	bool silent_forks; /* of forked children no text is written unless they execute a program */
	char *out_file;	   /* of massif and dhat; NULL: the default */
	int malloc_fill, free_fill; /* bytes; -1: none */
	bool xtree_memory;
	char *xtree_memory_file; /* NULL: the default */
	char *ignored;		 /* "--track-origins, --vgdb-error": without effect; NULL: none */
};

enum sample_unit_what { SAMPLE_UNIT_WRITE, SAMPLE_UNIT_PRINT, SAMPLE_UNIT_REMOVE };

/* memtraced sample: of a systemd service that is to show samples. */
struct sample_unit_options {
	enum sample_unit_what what;
	char *unit;	   /* with ".service" */
	uint64_t interval; /* bytes */
	bool exact;	   /* it is to keep books of all calls */
};

struct options {
	enum option_action action;
	pid_t *pids; /* -p, in order, without repeats */
	size_t n_pids;
	char **pid_names; /* -p NAME, whose processes are not among the pids yet */
	size_t n_pid_names;
	char **command; /* -c split or the words after --; NULL-terminated; NULL: none */
	char *run_as;
	char **env_set; /* NULL-terminated; NULL: none */
	bool no_follow;
	bool no_exec; /* a process is not traced any more when it has executed another program */
	bool no_tui;  /* no full-screen view on a terminal */
	bool no_rss;  /* what is in memory is not read */
	bool debuginfod;
	char *cgroup;		 /* --cgroup; NULL: none */
	bool all;		 /* -a: the whole host */
	char *uid;		 /* --uid, a name or a number; NULL: of all users */
	struct abi_names *names; /* --comm; NULL: of all names */
	struct hist_spec *hists;
	size_t n_hists;
	struct event_spec *events; /* -e */
	size_t n_events;
	struct allocator_spec *allocators; /* --allocator */
	size_t n_allocators;
	bool kernel_stacks; /* --kernel: of events, the kernel's frames too */
	bool each;	    /* of events, each with its own time */
	bool syscalls;
	bool stacks;	      /* of --syscalls, the callers */
	bool alloc;	      /* allocations beside other jobs: ask options_trace_allocations */
	bool mappings;	      /* mmap and brk without allocations: ask options_trace_memory */
	uint64_t interval_ns; /* -i; 0: none; fractions of a second are accepted */
	uint64_t duration_ns; /* -d; 0: until the target ends */
	uint64_t sample_interval_ns;	      /* between the first samples of what sites hold */
	uint64_t growth_span_ns;	      /* 0: verdicts on growth as soon as samples suffice */
	struct abi_block_filter block_filter; /* open when not given */
	uint64_t older_than_ns;
	enum group_by group_by;
	struct where *where; /* --where; NULL: all sites */
	char **wrappers;     /* --wrapper, NULL-terminated; NULL: none */
	bool full_names;     /* --full-names */
	uint64_t top;	     /* sites to show in tables; 0: all; default 10 */
	enum option_sort sort;
	struct option_output *outputs; /* -f first, then every -o; empty: table to stdout */
	size_t n_outputs;
	struct massif_options massif;
	enum option_attach attach;
	enum option_color color;
	uint64_t existing_stop_ns; /* --existing: how long it may stop a process; 0: not given */
	uint64_t max_blocks;	   /* 0: the built-in default */
	uint64_t memory_limit;	   /* bytes; 0: none */
	enum option_unwind unwind;
	enum option_exact exact; /* how calls are counted */
	uint64_t keep_ended;	 /* --keep-ended; UINT64_MAX: ask options_keep_ended */
	/* Of --mappings, of a process: regions and stacks that are kept; 0: all. Of a service. */
	uint64_t most_regions, most_stacks;
	bool forget_ended;	  /* as live_opts': of a service, which goes on for good */
	struct abi_access access; /* the same: of a service that a user asks */
	bool no_samples;	  /* of one that knows by itself what processes use */
	uint64_t max_stack;	  /* frames kept of a stack; 0: none */
	uint64_t check_stacks;	  /* 0: none */
	bool heap_errors;	  /* --heap-errors: where blocks are freed is remembered */
	bool free_stacks;	  /* --free-stacks: where a site's blocks are freed is counted */
	uint64_t sample_bytes; /* --sample: mean gap that a preload is asked for; 0: not sampled */
	uint64_t max_overhead; /* hundredths of a percent; 0: what tracing costs changes nothing */
	bool overhead_given;   /* also "none" */
	bool overhead_exact_first; /* it begins with all calls, measures them, and has no samples */
	bool floor;		   /* --floor: probes with empty programs */
	struct leak_options leak;
	struct valgrind_options valgrind;
	char *program;	  /* the name that memtraced was started by, and */
	char **own_words; /* the words before the command; NULL-terminated */
	char *report_file;
	char *diff_files[2]; /* before and after */
	enum option_widths widths;
	struct ctl_options ctl;
	struct sample_unit_options sample_unit;
	char *config_file; /* of --service; NULL: the usual place */
	bool verbose, quiet;
	char *help_topic; /* of ACTION_HELP; NULL: none */
};

/*
 * Parses argv (argv[0] is the program). 0 with *ret_options filled; -EINVAL with one line in *error
 * that says what is wrong with which argument and what to do ("unknown option '--tpo'; did you mean
 * '--top'?"); or -ENOMEM. --help and --version end the parsing: what follows them is not looked at.
 */
int options_parse(int argc, char *const *argv, struct options **ret_options, struct strbuf *error);
/*
 * The same of the words behind `memtraced valgrind`; `before`: those that stand before them in
 * Valgrind's order, of .valgrindrc and VALGRIND_OPTS, NULL-terminated, NULL: none.
 */
int options_parse_valgrind(char *const *before, int argc, char *const *argv,
			   struct options **ret_options, struct strbuf *error);
/*
 * Is it that command line: is the program called valgrind-memtraced, or the first word `valgrind`?
 * The index of the first word behind that; 0: it is not.
 */
int options_valgrind_words(int argc, char *const *argv);
void options_free(struct options *options); /* NULL is legal */
DEFINE_CLEANUP(struct options, options_free)

/* Whether allocations are traced: another job turns them off, unless --alloc stands there too. */
bool options_trace_allocations(const struct options *options);
/* Whether these or mappings are: there are processes with sites. */
bool options_trace_memory(const struct options *options);
/* Whether these or page faults are: processes have a timeline, unless there is no_samples. */
bool options_trace_growth(const struct options *options);

/*
 * Is what is traced found by a rule, and are they not the processes of -p or of a command: -a,
 * --cgroup, or --uid and --comm alone, which are then of the whole host.
 */
bool options_trace_widely(const struct options *options);

/* A process of -p, once. 0 or -ENOMEM. */
int options_add_pid(struct options *options, pid_t pid);

/*
 * Limits what a trace of processes that run may cost to OPTIONS_OVERHEAD, if nothing else was said
 * and nothing was asked for that needs all calls.
 */
void options_limit_overhead(struct options *options);
/* What was given that a library in the process cannot do; NULL: nothing. */
const char *options_need_probes(const struct options *options);

/* Whether leaks are looked for. */
static inline bool options_check_leaks(const struct options *options)
{
	return options->leak.mode != LEAK_CHECK_NO;
}

/* Is one of the outputs in this format? */
bool options_has_format(const struct options *options, const char *format);

/* 0; -EINVAL: it is neither word. */
int heap_depth_parse(const char *word, enum heap_depth *ret_depth);

/* The subcommand that a mistyped word most likely stands for; NULL: none. */
const char *options_near_subcommand(const char *word);

/* Can stacks of events be summed by it? */
static inline bool options_groups_stacks(enum group_by by)
{
	return by == GROUP_BY_FUNCTION || by == GROUP_BY_LINE || by == GROUP_BY_FILE ||
	       by == GROUP_BY_OBJECT || by == GROUP_BY_PROCESS;
}

/* "function" */
const char *group_by_name(enum group_by by);

/* Ended processes that stay in the report with their sites; SIZE_MAX: all. */
size_t options_keep_ended(const struct options *options);

/*
 * Adds the text of --help, from the same table: for NULL what fits a terminal of 80x24, else what
 * there is on the topic, which may be an option's name. The caller adds the formats, each by
 * options_help_row(), if options_help_formats(). 0; -ENOENT: it is no topic, *error says which
 * there are; or -ENOMEM.
 */
int options_help(const char *topic, struct strbuf *out, struct strbuf *error);
bool options_help_formats(const char *topic); /* NULL: false */
void options_help_row(struct strbuf *out, const char *name, const char *text);

#endif
