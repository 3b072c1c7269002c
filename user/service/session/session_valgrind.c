/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What Valgrind prints of tools whose results are a file, massif and dhat: the first lines, and one
 * at the end.
 */
#include "base/log.h"
#include "service/leak/leak_log.h"
#include "service/session/session_state.h"

#include <string.h>
#include <unistd.h>

/* `title`: of the first lines; NULL: the last one. */
static int add_lines(struct session *s, const char *title)
{
	const struct leak_text_head head = {
		.title = title,
		.pid = launch_pid(s->launch),
		.ppid = leak_log_has_files(s->valgrind) ? getpid() : 0,
		.command = s->options->command,
	};
	_cleanup_strbuf_ struct strbuf text = { 0 };
	int r;

	if (title && s->options->leak.shape == LEAK_SHAPE_VALGRIND)
		leak_text_begin(&text, &head);
	else if (s->options->leak.shape == LEAK_SHAPE_VALGRIND)
		strbuf_addf(&text, "==%d== \n", (int)head.pid);
	r = strbuf_error(&text);
	if (r == 0)
		r = leak_log_add(s->valgrind, head.pid, strbuf_str(&text));
	if (r < 0)
		log_error("%s", strerror(-r));
	return r == 0 ? leak_log_flush(s->valgrind) : r;
}

int session_valgrind_begin(struct session *s)
{
	static const char *const titles[] = {
		[VALGRIND_MEMCHECK] = "",
		[VALGRIND_MASSIF] = "Massif, by memtraced: a heap profiler",
		[VALGRIND_DHAT] = "DHAT, by memtraced: the lives of heap blocks",
	};
	const struct options *o = s->options;
	int r;

	if (!o->valgrind.on || s->leaks)
		return 0;
	r = leak_log_new(&o->leak.log, "--log", 1, &s->valgrind);
	if (r == 0 && o->leak.time_stamps)
		leak_log_stamp_lines(s->valgrind);
	return r == 0 ? add_lines(s, titles[o->valgrind.tool]) : r;
}

int session_valgrind_end(struct session *s)
{
	return s->valgrind ? add_lines(s, NULL) : 0;
}
