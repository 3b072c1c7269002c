/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/option_table.h"

#include <string.h>

#define WIDTH 80
#define HELP_COLUMN 26

static const char usage[] =
	"Usage: memtraced -p PID[,PID] [OPTION]...\n"
	"       memtraced [OPTION]... [--] CMD [ARG]...\n"
	"       memtraced [OPTION]... -c 'CMD ARGS'\n"
	"       memtraced --cgroup PATH|-a JOB [OPTION]...\n"
	"       memtraced report FILE [OPTION]...\n"
	"       memtraced diff BEFORE AFTER [OPTION]...\n"
	"       memtraced --service [--config=FILE]\n"
	"       memtraced ctl status|reports [NAME]\n"
	"       memtraced ctl trace PID [--for=SEC] [--format=NAME] [--sample]\n"
	"       memtraced ctl token [--for=SEC|--revoke]\n"
	"       memtraced sample --unit=NAME [--interval=SIZE] [--print|--remove]\n"
	"Shows who holds the memory of a program, without restarting or rebuilding it.\n";

static const char closing[] =
	"\n"
	"SPEC: SYSCALL (its result), SYSCALL:ARGUMENT, SYSCALL:ns (its time),\n"
	"CATEGORY:EVENT:FIELD, or malloc (sizes); behind it ,lin=MIN-MAX/STEP for buckets\n"
	"of one width, ,by=comm or ,by=pid. EVENT: SYSCALL or CATEGORY:EVENT.\n"
	"SEC may have a fraction or a unit: 1.5, 100ms, 2m, 1h. SIZE: 4096, 64k, 1.5G.\n"
	"Exit status: that of the command; 126, 127: it cannot be executed, is not found;\n"
	"1: wrong usage; 2: cannot trace; that of --error-exitcode: leak check errors.\n";

/* Adds `text`, broken between words, each line but the first indented by `indent`. */
static void add_wrapped(struct strbuf *out, const char *text, size_t column, size_t indent)
{
	bool first = true;

	while (*text != '\0') {
		size_t len = strcspn(text, " ");

		if (!first && column + 1 + len > WIDTH) {
			strbuf_addf(out, "\n%*s", (int)indent, "");
			column = indent;
		} else if (!first) {
			strbuf_addch(out, ' ');
			column++;
		}
		strbuf_add(out, text, len);
		column += len;
		text += len;
		text += strspn(text, " ");
		first = false;
	}
	strbuf_addch(out, '\n');
}

static void add_value(struct strbuf *out, const struct key *key)
{
	if (!key_takes_value(key))
		return;
	if (key->flags & OPTION_MAY) {
		strbuf_addf(out, "[=%s]", key->metavar);
		return;
	}
	strbuf_addch(out, key->name[1] == '-' ? '=' : ' ');
	if (key->metavar)
		strbuf_adds(out, key->metavar);
	else
		for (size_t i = 0; key->choices[i]; i++)
			strbuf_addf(out, "%s%s", i ? "|" : "", key->choices[i]);
}

static void add_option(struct strbuf *out, const struct key *key)
{
	size_t start = out->len, used;

	if (key->letter)
		strbuf_addf(out, "  -%c, %s", key->letter, key->name);
	else
		strbuf_addf(out, "%s%s", key->name[1] == '-' ? "      " : "  ", key->name);
	add_value(out, key);
	used = out->len - start;
	if (used + 2 > HELP_COLUMN) {
		strbuf_addch(out, '\n');
		used = 0;
	}
	strbuf_addf(out, "%*s", (int)(HELP_COLUMN - used), "");
	add_wrapped(out, key->help, HELP_COLUMN, HELP_COLUMN);
}

void options_help(struct strbuf *out)
{
	const char *title = "";

	strbuf_adds(out, usage);
	for (size_t i = 0; i < option_keys.n; i++) {
		const struct key *key = &option_keys.keys[i];

		if (strcmp(key->section, title) != 0)
			strbuf_addf(out, "\n%s:\n", key->section);
		title = key->section;
		add_option(out, key);
	}
	strbuf_adds(out, closing);
}
