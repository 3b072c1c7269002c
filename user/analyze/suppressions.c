/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "analyze/suppressions.h"

#include "analyze/suppression_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/*
 * The suppressions that are always there, as text in Valgrind's syntax: blocks that the C library,
 * the dynamic linker and libstdc++ hold until the process ends, by design. Memcheck has the
 * libraries free most of them before it counts; from outside that cannot be asked for.
 *
 * What is lost is only suppressed where the library has no way to hold it visibly: the linker keeps
 * pointers to the insides of its lists. All else is "reachable".
 */
static const char libc_text[] =
	"{\n"
	"   dynamic linker: where it finds code, by address\n"
	"   Memcheck:Leak\n"
	"   ...\n"
	"   fun:_dl_find_object_update*\n"
	"}\n"
	"{\n"
	"   dynamic linker: the same where its functions have no names\n"
	"   Memcheck:Leak\n"
	"   match-leak-kinds: possible\n"
	"   fun:malloc\n"
	"   obj:*/ld-linux*.so*\n"
	"}\n"
	"{\n"
	"   dynamic linker: the list of what an object needs\n"
	"   Memcheck:Leak\n"
	"   match-leak-kinds: reachable\n"
	"   fun:malloc\n"
	"   ...\n"
	"   fun:_dl_map_object_deps\n"
	"}\n"
	"{\n"
	"   libgcc_s, for the end of threads, where libc's functions have no names\n"
	"   Memcheck:Leak\n"
	"   match-leak-kinds: reachable\n"
	"   fun:*alloc\n"
	"   obj:*/ld-linux*.so*\n"
	"   ...\n"
	"   fun:pthread_exit\n"
	"}\n"
	"{\n"
	"   libgcc_s, for threads that are cancelled, the same\n"
	"   Memcheck:Leak\n"
	"   match-leak-kinds: reachable\n"
	"   fun:*alloc\n"
	"   obj:*/ld-linux*.so*\n"
	"   ...\n"
	"   fun:pthread_cancel\n"
	"}\n";

static const char libstdcxx_text[] =
	"{\n"
	"   libstdc++: emergency pool of exceptions\n"
	"   Memcheck:Leak\n"
	"   match-leak-kinds: reachable\n"
	"   fun:malloc\n"
	"   obj:*/libstdc++.so*\n"
	"   ...\n"
	"   fun:_dl_init\n"
	"}\n"
	"{\n"
	"   libstdc++: emergency pool, by objects where functions have no names\n"
	"   Memcheck:Leak\n"
	"   match-leak-kinds: reachable\n"
	"   fun:malloc\n"
	"   obj:*/libstdc++.so*\n"
	"   obj:*/ld-linux*.so*\n"
	"}\n"
	"{\n"
	"   libstdc++: emergency pool, where the constructor has a name\n"
	"   Memcheck:Leak\n"
	"   match-leak-kinds: reachable\n"
	"   fun:malloc\n"
	"   fun:*__gnu_cxx*pool*\n"
	"}\n"
	"{\n"
	"   libstdc++: emergency pool, its initialiser with the constructor inlined\n"
	"   Memcheck:Leak\n"
	"   match-leak-kinds: reachable\n"
	"   fun:malloc\n"
	"   fun:_GLOBAL__sub_I_eh_alloc.cc\n"
	"}\n";

/*
 * The same of functions of the C library: what is reachable because of them, wherever they are on
 * the stack. Where it has no debug information, only those that it exports have names.
 */
static const struct {
	const char *what, *function;
} held[] = {
	{ "buffers of standard streams", "_IO_file_doallocate" },
	{ "locales", "setlocale" },
	{ "locales", "_nl_find_locale" }, /* of newlocale, whose own block is the program's */
	{ "time zones", "tzset_internal" },
	{ "name services", "__nss_*" },
	{ "character sets", "__gconv_*" },
	{ "character sets of locales", "__wcsmbs_load_conv" },
	{ "messages' catalogues", "__dcigettext" },
	{ "domains of messages", "textdomain" },
	{ "domains of messages", "__textdomain" },
	{ "domains of messages", "bindtextdomain" },
	{ "domains of messages", "__bindtextdomain" },
	{ "domains of messages", "bind_textdomain_codeset" },
	{ "domains of messages", "__bind_textdomain_codeset" },
	/* setenv jumps to it */
	{ "the environment", "__add_to_environ" },
	{ "the environment", "setenv" },
	{ "the environment", "putenv" },
	{ "the resolver", "__resolv_conf_*" },
	{ "the resolver", "__res_context_send" },
	{ "the resolver", "__res_vinit" },
	{ "addresses of interfaces", "__check_pf" },
	{ "libgcc_s, for the end of threads", "__libc_unwind_link_get" },
	{ "errors of the dynamic linker", "dlerror" },
	{ "errors of the dynamic linker", "_dl_exception_create*" },
	{ "the dynamic linker of static programs", "_dl_non_dynamic_init" },
	{ "tables of file systems", "getmntent" },
	{ "tables of file systems", "fstab_init" },
};

/* And what such a function has allocated itself: it may also call what is the program's. */
static const char *const holders[] = {
	"getpwnam",	 "getpwuid",	   "getpwent",	     "getgrnam",	 "getgrgid",
	"getgrent",	 "getspnam",	   "getspent",	     "getsgnam",	 "getsgent",
	"gethostbyname", "gethostbyname2", "gethostbyaddr",  "gethostent",	 "getservbyname",
	"getservbyport", "getservent",	   "getprotobyname", "getprotobynumber", "getprotoent",
	"getnetbyname",	 "getnetbyaddr",   "getnetent",	     "getrpcbyname",	 "getrpcbynumber",
	"getrpcent",	 "getaliasbyname", "getaliasent",    "getnetgrent",	 "getutent",
	"getutid",	 "getutline",	   "getfsent",	     "getfsspec",	 "getfsfile",
	"hcreate",	 "hcreate_r", /* which hcreate jumps to */
	"_dlerror_run",		      /* in which dlopen() loads libraries */
};

#define MAX_FILE (16U << 20)

struct suppressions {
	struct supp_entries entries;
	size_t first_default; /* of the entries; SIZE_MAX: there are none */
	VEC(char *) strings;  /* what entries point into */
};

int suppressions_new(struct suppressions **ret_suppressions)
{
	struct suppressions *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->first_default = SIZE_MAX;
	*ret_suppressions = s;
	return 0;
}

void suppressions_free(struct suppressions *suppressions)
{
	if (!suppressions)
		return;
	vec_foreach(&suppressions->entries.list, entry)
		supp_entry_done(entry);
	vec_done(&suppressions->entries.list);
	vec_foreach(&suppressions->strings, string)
		free(*string);
	vec_done(&suppressions->strings);
	free(suppressions);
}

/* A copy that lives as long as the entries, or NULL. */
static char *copy_string(struct suppressions *suppressions, const char *data, size_t len)
{
	char *copy = malloc(len + 1);

	if (!copy)
		return NULL;
	memcpy(copy, data, len);
	copy[len] = '\0';
	if (vec_push(&suppressions->strings, copy)) {
		free(copy);
		return NULL;
	}
	return copy;
}

int suppressions_add_text(struct suppressions *suppressions, const char *name, const char *text,
			  size_t len, struct strbuf *error)
{
	char *kept_name = copy_string(suppressions, name, strlen(name));
	char *kept_text = copy_string(suppressions, text, len);

	if (!kept_name || !kept_text)
		return -ENOMEM;
	return supp_parse(&suppressions->entries, kept_name, kept_text, len, error);
}

int suppressions_add_file(struct suppressions *suppressions, const char *path, struct strbuf *error)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	_cleanup_strbuf_ struct strbuf text = { 0 };
	int r = fd < 0 ? -errno : strbuf_read(&text, fd, MAX_FILE);

	if (r) {
		strbuf_addf(error, "%s: %s", path, strerror(-r));
		return r;
	}
	return suppressions_add_text(suppressions, path, strbuf_str(&text), text.len, error);
}

static void add_entry(struct strbuf *text, const char *what, const char *first,
		      const char *function)
{
	strbuf_addf(text,
		    "{\nlibc: %s\nMemcheck:Leak\nmatch-leak-kinds: reachable\n%s\nfun:%s\n}\n",
		    what, first, function);
}

static void add_libc(struct strbuf *text)
{
	strbuf_adds(text, libc_text);
	for (size_t i = 0; i < sizeof(held) / sizeof(held[0]); i++)
		add_entry(text, held[i].what, "...", held[i].function);
	for (size_t i = 0; i < sizeof(holders) / sizeof(holders[0]); i++)
		add_entry(text, "what look-ups keep", "fun:*alloc", holders[i]);
}

int suppressions_add_default(struct suppressions *suppressions, bool libc, bool libstdcxx)
{
	_cleanup_strbuf_ struct strbuf error = { 0 }, text = { 0 };
	int r;

	if (libc)
		add_libc(&text);
	if (libstdcxx)
		strbuf_adds(&text, libstdcxx_text);
	r = strbuf_error(&text);
	suppressions->first_default = suppressions->entries.list.len;
	return r < 0 ? r :
		       suppressions_add_text(suppressions, "default", strbuf_str(&text), text.len,
					     &error);
}

static int find(const struct suppressions *suppressions, size_t first, enum suppression_kind kind,
		enum reach_class class, const struct supp_names *names, size_t n)
{
	for (size_t i = first; i < suppressions->entries.list.len; i++) {
		const struct supp_entry *e = &suppressions->entries.list.data[i];

		if (e->kind == kind && (kind != SUPPRESSION_LEAK || e->classes & (1U << class)) &&
		    (kind != SUPPRESSION_FISHY ||
		     (n > 0 && supp_entry_has_function(e, names[0].frame))) &&
		    supp_entry_matches(e, names, n))
			return (int)i;
	}
	return -ENOENT;
}

/* The names of the frames are those from the second on: the first is room. */
static int find_either_way(const struct suppressions *suppressions, size_t first,
			   enum suppression_kind kind, enum reach_class class,
			   struct supp_names *names, const struct suppression_frame *frames,
			   size_t n)
{
	static const struct suppression_frame memalign = { .linkage = "memalign",
							   .function = "memalign" };
	int r = find(suppressions, first, kind, class, names + 1, n);
	struct supp_names kept;
	size_t skip;

	if (r >= 0 || !alloc_frames_memalign(frames, n, &skip))
		return r;
	kept = names[skip];
	names[skip] = (struct supp_names){ .frame = &memalign };
	r = find(suppressions, first, kind, class, names + skip, n + 1 - skip);
	names[skip] = kept;
	return r;
}

/* The frames without those that Valgrind before 3.26 does not see. How many. */
static size_t leave_out_unseen(struct supp_names *names, struct suppression_frame *frames, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		if (frames[i].seen == SYMBOL_UNSEEN) {
			supp_names_done(&names[i]);
			continue;
		}
		frames[kept] = frames[i];
		names[kept] = names[i];
		names[kept].frame = &frames[kept];
		kept++;
	}
	return kept;
}

static int match_from(const struct suppressions *suppressions, size_t first,
		      enum suppression_kind kind, enum reach_class class,
		      const struct suppression_frame *frames, size_t n)
{
	size_t inner = alloc_frames_inner(frames, n), seen;
	_cleanup_free_ struct suppression_frame *copies = NULL;
	_cleanup_free_ struct supp_names *names = NULL;
	int r = 0;

	if (first >= suppressions->entries.list.len)
		return -ENOENT;
	n -= inner;
	names = calloc(n + 1, sizeof(*names));
	copies = calloc(n + 1, sizeof(*copies));
	if (!names || !copies)
		return -ENOMEM;
	for (size_t i = 0; i < n && !r; i++) {
		copies[i] = frames[inner + i];
		r = supp_names_init(&names[1 + i], &copies[i]);
	}
	if (!r)
		r = find_either_way(suppressions, first, kind, class, names, copies, n);
	seen = r == -ENOENT ? leave_out_unseen(names + 1, copies, n) : n;
	if (seen < n)
		r = find_either_way(suppressions, first, kind, class, names, copies, seen);
	for (size_t i = 0; i < seen; i++)
		supp_names_done(&names[1 + i]);
	return r;
}

int suppressions_match(const struct suppressions *suppressions, enum suppression_kind kind,
		       enum reach_class class, const struct suppression_frame *frames, size_t n)
{
	return match_from(suppressions, 0, kind, class, frames, n);
}

int suppressions_match_default(const struct suppressions *suppressions, enum reach_class class,
			       const struct suppression_frame *frames, size_t n)
{
	return match_from(suppressions, suppressions->first_default, SUPPRESSION_LEAK, class,
			  frames, n);
}

void suppressions_count(struct suppressions *suppressions, int index, uint64_t blocks,
			uint64_t bytes)
{
	struct supp_entry *e = &suppressions->entries.list.data[index];

	e->records++;
	e->blocks += blocks;
	e->bytes += bytes;
}

void suppressions_forget_uses(struct suppressions *suppressions, size_t first)
{
	for (size_t i = first; i < suppressions->entries.list.len; i++) {
		struct supp_entry *e = &suppressions->entries.list.data[i];

		e->records = e->blocks = e->bytes = 0;
	}
}

void suppressions_count_errors(struct suppressions *suppressions, int index, uint64_t errors)
{
	suppressions->entries.list.data[index].records += errors;
}

size_t suppressions_n(const struct suppressions *suppressions)
{
	return suppressions->entries.list.len;
}

struct suppression_use suppressions_use(const struct suppressions *suppressions, size_t index)
{
	const struct supp_entry *e = &suppressions->entries.list.data[index];

	return (struct suppression_use){
		.kind = e->kind,
		.name = e->name,
		.file = e->file,
		.line = e->line,
		.records = e->records,
		.blocks = e->blocks,
		.bytes = e->bytes,
	};
}
