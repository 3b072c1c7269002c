/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Valgrind's options (its manual, and --help of 3.19 and later), as `memtraced valgrind` takes
 * them: rows for those that memtraced has under another name or with another default, and the names
 * of the others.
 */
#include "config/near_name.h"
#include "config/option_table.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#define MEMCHECK (1U << VALGRIND_MEMCHECK)
#define MASSIF (1U << VALGRIND_MASSIF)
#define DHAT (1U << VALGRIND_DHAT)
#define CORE (MEMCHECK | MASSIF | DHAT)
/* Bits of rows that options_check.c has no meaning for. */
#define TOOLS_SHIFT 24
#define OF(tools) ((tools) << TOOLS_SHIFT)

static const char *const tool_names[] = {
	[VALGRIND_MEMCHECK] = "memcheck",
	[VALGRIND_MASSIF] = "massif",
	[VALGRIND_DHAT] = "dhat",
	NULL,
};
static const char *const no_yes[] = { "no", "yes", NULL };
static const char *const xtree_memory_names[] = { "none", "allocs", "full", NULL };
static const char *const error_list_names[] = { "no", "yes", "all", NULL };
static const char *const leak_check_names[] = {
	[LEAK_CHECK_NO] = "no",
	[LEAK_CHECK_SUMMARY] = "summary",
	[LEAK_CHECK_FULL] = "full",
	[LEAK_CHECK_YES] = "yes",
	NULL,
};

/* --- what rows apply -------------------------------------------------------------------------- */

static int apply_verbosity(void *object, const struct key *key, const char *value,
			   struct strbuf *error)
{
	struct options *o = object;

	(void)value;
	(void)error;
	o->valgrind.verbosity += key->letter == 'v' ? 1 : -1;
	return 0;
}

static int apply_version(void *object, const struct key *key, const char *value,
			 struct strbuf *error)
{
	struct options *o = object;

	(void)key;
	(void)value;
	(void)error;
	o->action = ACTION_VERSION;
	return 0;
}

static int apply_help(void *object, const struct key *key, const char *value, struct strbuf *error)
{
	struct options *o = object;

	(void)key;
	(void)value;
	(void)error;
	o->action = ACTION_HELP;
	free(o->help_topic);
	o->help_topic = strdup("valgrind");
	return o->help_topic ? 0 : -ENOMEM;
}

static int apply_leak_check(void *object, const struct key *key, const char *value,
			    struct strbuf *error)
{
	struct options *o = object;
	int r = key_set(object, key, value, error);

	if (r == 0 && o->leak.mode == LEAK_CHECK_NO)
		o->leak.mode = LEAK_CHECK_ERRORS;
	return r;
}

/* Older ways to give --show-leak-kinds. */
static int apply_show_kinds(void *object, const struct key *key, const char *value,
			    struct strbuf *error)
{
	uint32_t shown = LEAK_KIND_DEFINITE | LEAK_KIND_POSSIBLE;
	struct options *o = object;
	bool yes = strcmp(value, "yes") == 0;

	if (!yes && strcmp(value, "no") != 0)
		return key_refuse(key, value, error);
	if (strcmp(key->name, "--show-reachable") == 0)
		o->leak.show_kinds = yes ? LEAK_ALL_KINDS : shown;
	else
		o->leak.show_kinds = yes ? shown : LEAK_KIND_DEFINITE;
	return 0;
}

/* A bool that is the contrary of what the option says. */
static int apply_inverse(void *object, const struct key *key, const char *value,
			 struct strbuf *error)
{
	bool *field = (void *)((char *)object + key->offset);

	if (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0)
		return key_refuse(key, value, error);
	*field = *value == 'n';
	return 0;
}

/* An empty text has a meaning. */
static int apply_fullpath_after(void *object, const struct key *key, const char *value,
				struct strbuf *error)
{
	struct options *o = object;

	o->leak.full_paths = true;
	return *value ? key_set(object, key, value, error) : 0;
}

/* None is possible. */
static int apply_patterns(void *object, const struct key *key, const char *value,
			  struct strbuf *error)
{
	return key_set(object, key, *value ? value : ",", error);
}

static int apply_time_unit(void *object, const struct key *key, const char *value,
			   struct strbuf *error)
{
	struct options *o = object;

	if (strcmp(value, "i") != 0 && strcmp(value, "ms") != 0 && strcmp(value, "B") != 0)
		return key_refuse(key, value, error);
	o->massif.time_unit = *value == 'B' ? MASSIF_BYTES : MASSIF_MS;
	return 0;
}

static int apply_mode(void *object, const struct key *key, const char *value, struct strbuf *error)
{
	(void)object; /* there is one mode */
	return strcmp(value, "heap") == 0 ? 0 : key_refuse(key, value, error);
}

static int apply_out_file(void *object, const struct key *key, const char *value,
			  struct strbuf *error)
{
	struct options *o = object;

	if (*value == '\0')
		return key_refuse(key, value, error);
	free(o->valgrind.out_file);
	o->valgrind.out_file = strdup(value);
	return o->valgrind.out_file ? 0 : -ENOMEM;
}

/* As 0x5a. glibc has a byte that is not 0: for what is freed; for what it hands out, ~ of it. */
static int apply_fill(void *object, const struct key *key, const char *value, struct strbuf *error)
{
	int *field = (void *)((char *)object + key->offset);
	char *end;
	unsigned long byte = strtoul(value, &end, 16);

	if (*value == '\0' || *end || byte > 0xff || value[0] == '-' ||
	    byte == (strcmp(key->name, "--free-fill") == 0 ? 0 : 0xff))
		return key_refuse(key, value, error);
	*field = (int)byte;
	return 0;
}

/* --- rows ------------------------------------------------------------------------------------- */

#define FIELD(name) KEY_FIELD(struct options, name)

/* clang-format off */
static const struct key rows[] = {
	{ "valgrind", "--tool", KEY_CHOICE, OF(CORE), FIELD(valgrind.tool), .choices = tool_names,
	  .fallback = "memcheck", .help = "The tool; default: memcheck." },
	{ "valgrind", "--quiet", KEY_FLAG, OF(CORE), .letter = 'q', .apply = apply_verbosity,
	  .help = "Print only errors." },
	{ "valgrind", "--verbose", KEY_FLAG, OF(CORE), .letter = 'v', .apply = apply_verbosity,
	  .help = "Print memtraced's own messages, too." },
	{ "valgrind", "--trace-children", KEY_CHOICE, OF(CORE), FIELD(valgrind.trace_children),
	  .choices = no_yes, .fallback = "no",
	  .help = "Go on when a process executes another program; default: no." },
	{ "valgrind", "--trace-children-skip", KEY_TEXT, OF(CORE), FIELD(valgrind.skip_names),
	  .apply = apply_patterns, .metavar = "PATTERN,...",
	  .help = "With --trace-children=yes, but not when the path is one of these." },
	{ "valgrind", "--trace-children-skip-by-arg", KEY_TEXT, OF(CORE),
	  FIELD(valgrind.skip_words), .apply = apply_patterns, .metavar = "PATTERN,...",
	  .help = "The same, when an argument is one of these." },
	{ "valgrind", "--child-silent-after-fork", KEY_CHOICE, OF(CORE),
	  FIELD(valgrind.silent_forks), .choices = no_yes, .fallback = "no",
	  .help = "Print nothing about a forked child until it executes a program; default: no." },
	{ "valgrind", "--time-stamp", KEY_CHOICE, OF(CORE), FIELD(leak.time_stamps),
	  .choices = no_yes, .fallback = "no",
	  .help = "Begin lines with the time since the start; default: no." },
	{ "valgrind", "--log-socket", KEY_OWN, OF(CORE), FIELD(leak.log),
	  .apply = option_text_socket, .expected = "an address of IPv4, and a port as in "
	  "127.0.0.1:1500", .metavar = "ADDRESS:PORT",
	  .help = "Send the text to this address over TCP; default port: 1500." },
	{ "valgrind", "--xml-socket", KEY_OWN, OF(MEMCHECK), FIELD(leak.xml.to),
	  .apply = option_text_socket, .expected = "an address of IPv4, and a port as in "
	  "127.0.0.1:1500", .metavar = "ADDRESS:PORT", .help = "The same of the XML." },
	{ "valgrind", "--xml-user-comment", KEY_TEXT, OF(MEMCHECK), FIELD(leak.xml.comment),
	  .metavar = "XML", .help = "Copy this into the XML." },
	{ "valgrind", "-s", KEY_FLAG, OF(MEMCHECK), FIELD(leak.error_list),
	  .help = "The same as --show-error-list=yes." },
	{ "valgrind", "--show-error-list", KEY_CHOICE, OF(MEMCHECK), FIELD(leak.error_list),
	  .choices = error_list_names, .fallback = "no",
	  .help = "Print all errors once more at the end, and the suppressions that were used; "
		  "default: no." },
	{ "valgrind", "--fullpath-after", KEY_LIST, OF(CORE), FIELD(leak.fullpath_after),
	  .apply = apply_fullpath_after, .metavar = "PREFIX",
	  .help = "Print paths of source files, of each the part behind PREFIX. May be repeated." },
	{ "valgrind", "--show-below-main", KEY_CHOICE, OF(CORE), FIELD(leak.below_main),
	  .choices = no_yes, .fallback = "no",
	  .help = "Print what calls main, too; default: no." },
	{ "valgrind", "--demangle", KEY_CHOICE, OF(CORE), FIELD(leak.linkage_names),
	  .choices = no_yes, .apply = apply_inverse, .fallback = "yes",
	  .help = "Print names of C++ and Rust as in the source; default: yes." },
	{ "valgrind", "--leak-check", KEY_CHOICE, OF(MEMCHECK), FIELD(leak.mode),
	  .choices = leak_check_names, .apply = apply_leak_check, .fallback = "summary",
	  .help = "Which leaks are printed; yes: full; default: summary." },
	{ "valgrind", "--show-reachable", KEY_CHOICE, OF(MEMCHECK), .choices = no_yes,
	  .apply = apply_show_kinds, .help = "yes: --show-leak-kinds=all; no: its default." },
	{ "valgrind", "--show-possibly-lost", KEY_CHOICE, OF(MEMCHECK), .choices = no_yes,
	  .apply = apply_show_kinds, .help = "no: --show-leak-kinds=definite; yes: its default." },
	{ "valgrind", "--show-mismatched-frees", KEY_CHOICE, OF(MEMCHECK),
	  FIELD(leak.hide_mismatches), .choices = no_yes, .apply = apply_inverse,
	  .fallback = "yes",
	  .help = "Print blocks that one form has made and another takes, as of new and free; "
		  "default: yes." },
	{ "valgrind", "--show-realloc-size-zero", KEY_CHOICE, OF(MEMCHECK),
	  FIELD(leak.hide_realloc_zero), .choices = no_yes, .apply = apply_inverse,
	  .fallback = "yes", .help = "Print calls of realloc with size 0; default: yes." },
	{ "valgrind", "--run-libc-freeres", KEY_CHOICE, OF(CORE), FIELD(leak.keep_libc),
	  .choices = no_yes, .apply = apply_inverse, .fallback = "yes",
	  .help = "Leave out what the C library holds by design; default: yes." },
	{ "valgrind", "--run-cxx-freeres", KEY_CHOICE, OF(CORE), FIELD(leak.keep_libstdcxx),
	  .choices = no_yes, .apply = apply_inverse, .fallback = "yes",
	  .help = "Leave out what libstdc++ holds by design; default: yes." },
	{ "valgrind", "--malloc-fill", KEY_OWN, OF(MEMCHECK), FIELD(valgrind.malloc_fill),
	  .apply = apply_fill, .expected = "a byte in hexadecimal, 0x00 to 0xfe",
	  .metavar = "BYTE", .help = "Have glibc fill blocks with this when it hands them out." },
	{ "valgrind", "--free-fill", KEY_OWN, OF(MEMCHECK), FIELD(valgrind.free_fill),
	  .apply = apply_fill, .expected = "a byte in hexadecimal, 0x01 to 0xff",
	  .metavar = "BYTE", .help = "Have glibc fill blocks with this when they are freed." },
	{ "valgrind", "--xtree-memory", KEY_CHOICE, OF(CORE), FIELD(valgrind.xtree_memory),
	  .choices = xtree_memory_names, .fallback = "none",
	  .help = "allocs, full: write allocations for kcachegrind; default: none." },
	{ "valgrind", "--xtree-memory-file", KEY_TEXT, OF(CORE), FIELD(valgrind.xtree_memory_file),
	  .expected = "a path", .metavar = "FILE",
	  .help = "Where that goes; massif's format if FILE ends in .ms; default: "
		  "xtmemory.kcg.%p." },
	{ "valgrind", "--massif-out-file", KEY_OWN, OF(MASSIF), .apply = apply_out_file,
	  .expected = "a path", .metavar = "FILE",
	  .help = "Where massif's output goes; default: massif.out.%p." },
	{ "valgrind", "--time-unit", KEY_OWN, OF(MASSIF), .apply = apply_time_unit,
	  .fallback = "ms", .expected = "i, ms or B", .metavar = "i|ms|B",
	  .help = "The unit of massif's time; i: the same as ms; default: ms." },
	{ "valgrind", "--dhat-out-file", KEY_OWN, OF(DHAT), .apply = apply_out_file,
	  .expected = "a path", .metavar = "FILE",
	  .help = "Where dhat's output goes; default: dhat.out.%p." },
	{ "valgrind", "--mode", KEY_OWN, OF(DHAT), .apply = apply_mode, .fallback = "heap",
	  .expected = "heap, the one that is there", .metavar = "heap",
	  .help = "What dhat counts; default: heap." },
	{ "valgrind", "--version", KEY_FLAG, OF(CORE), .apply = apply_version,
	  .help = "Show the version of Valgrind whose command line this is, and exit." },
	{ "valgrind", "--help", KEY_FLAG, OF(CORE), .letter = 'h', .apply = apply_help,
	  .help = "Show this help, and exit." },
	{ "valgrind", "--help-debug", KEY_FLAG, OF(CORE), .apply = apply_help,
	  .help = "The same." },
	{ "valgrind", "--help-dyn-options", KEY_FLAG, OF(CORE), .apply = apply_help,
	  .help = "The same." },
};
/* clang-format on */

const struct key_table valgrind_keys = KEY_TABLE(rows);

static_assert(sizeof(rows) / sizeof(rows[0]) <= OPTION_ROWS, "option_parser.seen");

uint32_t valgrind_key_tools(const struct key *key)
{
	return key->flags >> TOOLS_SHIFT;
}

/* --- all others ------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	enum valgrind_option what;
	uint32_t tools;
} others[] = {
	{ "log-file", VALGRIND_SHARED, CORE },
	{ "log-fd", VALGRIND_SHARED, CORE },
	{ "xml", VALGRIND_SHARED, MEMCHECK },
	{ "xml-file", VALGRIND_SHARED, MEMCHECK },
	{ "xml-fd", VALGRIND_SHARED, MEMCHECK },
	{ "xml-protocol", VALGRIND_SHARED, MEMCHECK },
	{ "num-callers", VALGRIND_SHARED, CORE },
	{ "error-exitcode", VALGRIND_SHARED, CORE },
	{ "suppressions", VALGRIND_SHARED, CORE },
	{ "gen-suppressions", VALGRIND_SHARED, CORE },
	{ "show-leak-kinds", VALGRIND_SHARED, MEMCHECK },
	{ "errors-for-leak-kinds", VALGRIND_SHARED, MEMCHECK },
	{ "leak-resolution", VALGRIND_SHARED, MEMCHECK },
	{ "leak-check-heuristics", VALGRIND_SHARED, MEMCHECK },
	{ "xtree-leak", VALGRIND_SHARED, MEMCHECK },
	{ "xtree-leak-file", VALGRIND_SHARED, MEMCHECK },
	{ "threshold", VALGRIND_SHARED, MASSIF },
	{ "max-snapshots", VALGRIND_SHARED, MASSIF },

	{ "command-line-only", VALGRIND_UNNEEDED, CORE },
	{ "default-suppressions", VALGRIND_UNNEEDED, CORE },
	{ "error-limit", VALGRIND_UNNEEDED, CORE },
	{ "vgdb", VALGRIND_UNNEEDED, CORE },
	{ "vgdb-poll", VALGRIND_UNNEEDED, CORE },
	{ "vgdb-prefix", VALGRIND_UNNEEDED, CORE },
	{ "vgdb-shadow-registers", VALGRIND_UNNEEDED, CORE },
	{ "enable-debuginfod", VALGRIND_UNNEEDED, CORE },
	{ "keep-debuginfo", VALGRIND_UNNEEDED, CORE },
	{ "read-inline-info", VALGRIND_UNNEEDED, CORE },
	{ "allow-mismatched-debuginfo", VALGRIND_UNNEEDED, CORE },
	{ "soname-synonyms", VALGRIND_UNNEEDED, CORE },
	{ "smc-check", VALGRIND_UNNEEDED, CORE },
	{ "fair-sched", VALGRIND_UNNEEDED, CORE },
	{ "scheduling-quantum", VALGRIND_UNNEEDED, CORE },
	{ "sim-hints", VALGRIND_UNNEEDED, CORE },
	{ "kernel-variant", VALGRIND_UNNEEDED, CORE },
	{ "resync-filter", VALGRIND_UNNEEDED, CORE },
	{ "max-threads", VALGRIND_UNNEEDED, CORE },
	{ "max-guard-pages", VALGRIND_UNNEEDED, CORE },
	{ "max-stackframe", VALGRIND_UNNEEDED, CORE },
	{ "main-stacksize", VALGRIND_UNNEEDED, CORE },
	{ "valgrind-stacksize", VALGRIND_UNNEEDED, CORE },
	{ "aspace-minaddr", VALGRIND_UNNEEDED, CORE },
	{ "num-transtab-sectors", VALGRIND_UNNEEDED, CORE },
	{ "avg-transtab-entry-size", VALGRIND_UNNEEDED, CORE },
	{ "show-emwarns", VALGRIND_UNNEEDED, CORE },
	{ "sigill-diagnostics", VALGRIND_UNNEEDED, CORE },
	{ "unw-stack-scan-thresh", VALGRIND_UNNEEDED, CORE },
	{ "unw-stack-scan-frames", VALGRIND_UNNEEDED, CORE },
	{ "input-fd", VALGRIND_UNNEEDED, CORE },
	{ "dsymutil", VALGRIND_UNNEEDED, CORE },
	{ "sanity-level", VALGRIND_UNNEEDED, CORE },
	{ "stats", VALGRIND_UNNEEDED, CORE },
	{ "core-redzone-size", VALGRIND_UNNEEDED, CORE },
	{ "debug-dump", VALGRIND_UNNEEDED, CORE },
	{ "dump-error", VALGRIND_UNNEEDED, CORE },
	{ "profile-flags", VALGRIND_UNNEEDED, CORE },
	{ "profile-interval", VALGRIND_UNNEEDED, CORE },
	{ "trace-flags", VALGRIND_UNNEEDED, CORE },
	{ "trace-notbelow", VALGRIND_UNNEEDED, CORE },
	{ "trace-notabove", VALGRIND_UNNEEDED, CORE },
	{ "trace-symtab", VALGRIND_UNNEEDED, CORE },
	{ "trace-symtab-patt", VALGRIND_UNNEEDED, CORE },
	{ "trace-cfi", VALGRIND_UNNEEDED, CORE },
	{ "trace-redir", VALGRIND_UNNEEDED, CORE },
	{ "trace-sched", VALGRIND_UNNEEDED, CORE },
	{ "profile-heap", VALGRIND_UNNEEDED, CORE },
	{ "alignment", VALGRIND_UNNEEDED, CORE },
	{ "redzone-size", VALGRIND_UNNEEDED, CORE },
	{ "realloc-zero-bytes-frees", VALGRIND_UNNEEDED, CORE },
	{ "freelist-vol", VALGRIND_UNNEEDED, MEMCHECK },
	{ "freelist-big-blocks", VALGRIND_UNNEEDED, MEMCHECK },
	{ "partial-loads-ok", VALGRIND_UNNEEDED, MEMCHECK },
	{ "expensive-definedness-checks", VALGRIND_UNNEEDED, MEMCHECK },
	{ "workaround-gcc296-bugs", VALGRIND_UNNEEDED, MEMCHECK },
	{ "ignore-range-below-sp", VALGRIND_UNNEEDED, MEMCHECK },
	{ "keep-stacktraces", VALGRIND_UNNEEDED, MEMCHECK },
	{ "heap", VALGRIND_UNNEEDED, MASSIF },
	{ "peak-inaccuracy", VALGRIND_UNNEEDED, MASSIF },
	{ "detailed-freq", VALGRIND_UNNEEDED, MASSIF },
	{ "show-top-n", VALGRIND_UNNEEDED, DHAT },
	{ "sort-by", VALGRIND_UNNEEDED, DHAT },

	{ "track-origins", VALGRIND_IGNORED, MEMCHECK },
	{ "undef-value-errors", VALGRIND_IGNORED, MEMCHECK },
	{ "ignore-ranges", VALGRIND_IGNORED, MEMCHECK },
	{ "xtree-compress-strings", VALGRIND_UNNEEDED, CORE },
	{ "track-fds", VALGRIND_IGNORED, CORE },
	{ "modify-fds", VALGRIND_IGNORED, CORE },
	{ "error-markers", VALGRIND_IGNORED, CORE },
	{ "exit-on-first-error", VALGRIND_IGNORED, CORE },
	{ "vgdb-error", VALGRIND_IGNORED, CORE },
	{ "vgdb-stop-at", VALGRIND_IGNORED, CORE },
	{ "wait-for-gdb", VALGRIND_IGNORED, CORE },
	{ "read-var-info", VALGRIND_IGNORED, CORE },
	{ "extra-debuginfo-path", VALGRIND_IGNORED, CORE },
	{ "debuginfo-server", VALGRIND_IGNORED, CORE },
	{ "merge-recursive-frames", VALGRIND_IGNORED, CORE },
	{ "require-text-symbol", VALGRIND_IGNORED, CORE },
	{ "sym-offsets", VALGRIND_IGNORED, CORE },
	{ "progress-interval", VALGRIND_IGNORED, CORE },
	{ "trace-malloc", VALGRIND_IGNORED, CORE },
	{ "trace-syscalls", VALGRIND_IGNORED, CORE },
	{ "trace-signals", VALGRIND_IGNORED, CORE },
	{ "heap-admin", VALGRIND_IGNORED, MASSIF },
	{ "stacks", VALGRIND_IGNORED, MASSIF },
	{ "pages-as-heap", VALGRIND_IGNORED, MASSIF },
	{ "depth", VALGRIND_IGNORED, MASSIF },
	{ "alloc-fn", VALGRIND_IGNORED, MASSIF },
	{ "ignore-fn", VALGRIND_IGNORED, MASSIF },
};

/* Names that so begin are of how Valgrind translates code. */
static const char *const translating[] = { "vex-", "px-" };

enum valgrind_option valgrind_option_find(const char *name, size_t len, uint32_t *ret_tools)
{
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (strlen(others[i].name) != len || memcmp(others[i].name, name, len) != 0)
			continue;
		*ret_tools = others[i].tools;
		return others[i].what;
	}
	*ret_tools = CORE;
	for (size_t i = 0; i < sizeof(translating) / sizeof(translating[0]); i++)
		if (strncmp(name, translating[i], strlen(translating[i])) == 0)
			return VALGRIND_UNNEEDED;
	return VALGRIND_UNKNOWN;
}

void valgrind_options_offer(struct near_name *near)
{
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		near_name_offer(near, others[i].name);
}
