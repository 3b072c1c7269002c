/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What /proc and the files of a process say, without a trace: its command line, and functions of
 * addresses, which pprof's older readers ask for.
 */
#include "report/text/text.h"
#include "service/daemon/routes/pages.h"
#include "service/daemon/routes/permits.h"
#include "service/daemon/routes/routes.h"
#include "symbol/symbolizer.h"
#include "target/proc_file.h"
#include "target/proc_maps.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/sysmacros.h>

#define CMDLINE_MOST (4U << 20)
#define MOST_ADDRESSES 4096

/* Fills the answer where there is no process to speak of, and says so by its status. */
static int check_process(struct service_call *call, struct http_answer *answer)
{
	if (!call->query.pid)
		return page_candidates(call, "of which process? ?pid=PID says so", NULL, answer);
	service_check_process(call, answer);
	return 0;
}

int process_route_cmdline(struct service_call *call, struct http_answer *answer)
{
	int r = check_process(call, answer);

	if (r < 0 || answer->status)
		return r;
	r = proc_file_read(call->query.pid, "cmdline", CMDLINE_MOST, &answer->body);
	if (r < 0) {
		http_answer_say(answer, 404, "process %d: %s", (int)call->query.pid, strerror(-r));
		return 0;
	}
	/* Words are separated by zero bytes, as in Go's; the last one ends with one in /proc. */
	if (answer->body.len > 0 && answer->body.data[answer->body.len - 1] == '\0')
		answer->body.len--;
	answer->status = 200;
	answer->type = HTTP_TEXT;
	return 0;
}

struct lookup {
	pid_t pid;
	struct symbolizer *symbolizer;
	struct proc_maps maps;
};

/* *ret_function is NULL where nothing is known. 0 or -ENOMEM. */
static int look_up(struct lookup *lookup, uint64_t address, const char **ret_function)
{
	const struct proc_map *map = proc_maps_find(&lookup->maps, address);
	_cleanup_close_ int fd = map ? proc_map_open(lookup->pid, map) : -1;
	struct symbol_object *object;
	const struct symbol *symbol;
	char root[32];
	int r;

	*ret_function = NULL;
	if (!map || fd < 0)
		return 0;
	(void)snprintf(root, sizeof(root), "/proc/%d/root", (int)lookup->pid); /* fits */
	r = symbolizer_object(lookup->symbolizer, map->path,
			      makedev(map->dev_major, map->dev_minor), map->ino, fd, root, &object);
	if (r == 0)
		r = symbolizer_resolve(lookup->symbolizer, object,
				       address - map->start + map->offset, false, &symbol);
	if (r == 0)
		*ret_function = symbol->frames[0].function;
	return r;
}

static int add_symbols(struct lookup *lookup, const char *addresses, struct strbuf *out)
{
	const char *at = addresses;
	int r = 0;

	for (size_t i = 0; r == 0 && *at && i < MOST_ADDRESSES; i++) {
		const char *function;
		char *end;
		uint64_t address = strtoull(at, &end, 16);

		if (end == at || (*end && *end != '+' && *end != '\n'))
			return -EINVAL;
		r = look_up(lookup, address, &function);
		if (function) {
			strbuf_addf(out, "0x%" PRIx64 "\t", address);
			text_clean(out, function);
			strbuf_addch(out, '\n');
		}
		at = end + (*end != '\0');
	}
	return r;
}

/* What was read is of that process, unless it has executed another program since. */
static void check_again(struct service_call *call, struct http_answer *answer)
{
	uint64_t start_ticks = call->process.start_ticks;
	struct http_answer now = {};

	service_check_process(call, &now);
	if (now.status || call->process.start_ticks != start_ticks)
		http_answer_say(answer, 403, "process %d is not yours any more",
				(int)call->query.pid);
	http_answer_done(&now);
}

int process_route_symbol(struct service_call *call, struct http_answer *answer)
{
	struct lookup lookup = { .pid = call->query.pid };
	int r = check_process(call, answer);

	if (r < 0 || answer->status)
		return r;
	/* Not how many: whether there are any. */
	strbuf_adds(&answer->body, "num_symbols: 1\n");
	answer->status = 200;
	answer->type = HTTP_TEXT;
	if (strcmp(http_request_method(call->request), "POST") != 0)
		return 0;
	r = proc_maps_read(lookup.pid, &lookup.maps);
	if (r == 0)
		r = symbolizer_new(call->service->worker, &lookup.symbolizer);
	if (r == 0)
		r = add_symbols(&lookup, strbuf_str(http_request_body(call->request)),
				&answer->body);
	symbolizer_free(lookup.symbolizer);
	proc_maps_done(&lookup.maps);
	if (r == -EINVAL)
		http_answer_say(answer, 400, "the body is addresses with + between them: 0x1+0x2");
	else if (r < 0 && r != -ENOMEM)
		http_answer_say(answer, 404, "process %d: %s", (int)lookup.pid, strerror(-r));
	else if (r == 0)
		check_again(call, answer);
	return r == -ENOMEM ? r : 0;
}
