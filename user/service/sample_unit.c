/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/sample_unit.h"

#include "base/log.h"
#include "base/outfile.h"
#include "target/preload.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define UNITS "/etc/systemd/system"
#define DROP_IN "memtraced-sample.conf"

int sample_unit_text(const char *library, uint64_t interval, struct strbuf *out)
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
	strbuf_addf(out, "\"\nEnvironment=MEMTRACED_SAMPLE_INTERVAL=%" PRIu64 "\n", interval);
	return strbuf_error(out);
}

static int library_text(uint64_t interval, struct strbuf *text)
{
	char library[PATH_MAX];
	int r = preload_library(library);

	if (r < 0) {
		log_error("libmemtraced-sample.so is neither beside memtraced nor in "
			  "../lib/memtraced: install it");
		return r;
	}
	r = sample_unit_text(library, interval, text);
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

static void say_restart(const char *unit)
{
	printf("it takes effect when the service is started again:\n"
	       "  systemctl daemon-reload && systemctl restart %s\n",
	       unit);
}

static int add(const char *folder, const char *path, const struct sample_unit_options *options)
{
	_cleanup_strbuf_ struct strbuf text = {};
	int r = library_text(options->interval, &text);

	if (r < 0)
		return r;
	if (mkdir(folder, 0755) < 0 && errno != EEXIST)
		r = -errno;
	if (r == 0)
		r = write_file(path, &text);
	if (r < 0) {
		log_error("writing %s: %s%s", path, strerror(-r),
			  r == -EACCES || r == -EPERM ? "; be root" : "");
		return r;
	}
	printf("wrote %s\n", path);
	printf("an LD_PRELOAD that the unit has elsewhere does not count any more\n");
	say_restart(options->unit);
	printf("and is then traced by\n"
	       "  memtraced --sample -p $(systemctl show -P MainPID %s)\n",
	       options->unit);
	return 0;
}

static int take_away(const char *folder, const char *path, const char *unit)
{
	if (unlink(path) < 0) {
		int r = -errno;

		if (r == -ENOENT)
			log_error("%s is not there: %s is not sampled by it", path, unit);
		else
			log_error("removing %s: %s", path, strerror(-r));
		return r;
	}
	(void)rmdir(folder); /* others' drop-ins may be there */
	printf("removed %s\n", path);
	say_restart(unit);
	return 0;
}

static int print(uint64_t interval)
{
	_cleanup_strbuf_ struct strbuf text = {};
	int r = library_text(interval, &text);

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
		r = print(options->interval);
	else if (options->what == SAMPLE_UNIT_REMOVE)
		r = take_away(folder, path, options->unit);
	else
		r = add(folder, path, options);
	if (r == 0 && fflush(stdout) == EOF)
		r = -errno;
	return r;
}
