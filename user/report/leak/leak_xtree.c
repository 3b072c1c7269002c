/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/leak/leak_xtree.h"

#include "base/escape.h"

#include <inttypes.h>
#include <string.h>

/* Nine values now, by how much each is more than at the check before, and by how much less. */
enum { RB, PB, IB, DB, DIB, RBK, PBK, IBK, DBK, VALUES };

static const struct {
	const char *id, *name;
} events[VALUES] = {
	[RB] = { "RB", "Reachable Bytes" },
	[PB] = { "PB", "Possibly lost Bytes" },
	[IB] = { "IB", "Indirectly lost Bytes" },
	[DB] = { "DB", "Definitely lost Bytes" },
	[DIB] = { "DIB", "Definitely Indirectly lost Bytes" },
	[RBK] = { "RBk", "reachable Blocks" },
	[PBK] = { "PBk", "Possibly lost Blocks" },
	[IBK] = { "IBk", "Indirectly lost Blocks" },
	[DBK] = { "DBk", "Definitely lost Blocks" },
};

/* As memcheck writes them: what tells more of a value stands behind that of now alone. */
static const char *more_of(int value)
{
	return value == DB ? " (direct plus indirect)" : value == DIB ? " (subset of DB)" : "";
}

struct costs {
	uint64_t now[VALUES], more[VALUES], less[VALUES];
};

static void add_value(struct costs *costs, int value, uint64_t now, uint64_t old)
{
	costs->now[value] += now;
	costs->more[value] += now > old ? now - old : 0;
	costs->less[value] += old > now ? old - now : 0;
}

static void add_record(struct costs *costs, const struct loss_record *r)
{
	static const int bytes_of[REACH_CLASSES] = {
		[REACH_DEFINITE] = DB,
		[REACH_INDIRECT] = IB,
		[REACH_POSSIBLE] = PB,
		[REACH_REACHABLE] = RB,
	};
	static const int blocks_of[REACH_CLASSES] = {
		[REACH_DEFINITE] = DBK,
		[REACH_INDIRECT] = IBK,
		[REACH_POSSIBLE] = PBK,
		[REACH_REACHABLE] = RBK,
	};

	add_value(costs, bytes_of[r->class], r->bytes + r->indirect_bytes,
		  r->old_bytes + r->old_indirect_bytes);
	add_value(costs, blocks_of[r->class], r->blocks, r->old_blocks);
	if (r->class == REACH_DEFINITE)
		add_value(costs, DIB, r->indirect_bytes, r->old_indirect_bytes);
}

static void put_values(struct strbuf *out, const uint64_t values[VALUES])
{
	for (int i = 0; i < VALUES; i++)
		strbuf_addf(out, " %" PRIu64, values[i]);
}

static void put_costs(struct strbuf *out, const struct costs *costs)
{
	put_values(out, costs->now);
	put_values(out, costs->more);
	put_values(out, costs->less);
	strbuf_addch(out, '\n');
}

static void put_events(struct strbuf *out, const char *prefix, const char *words)
{
	for (int i = 0; i < VALUES; i++)
		strbuf_addf(out, "event: %s%s : %s%s%s\n", prefix, events[i].id, words,
			    events[i].name, *prefix ? "" : more_of(i));
}

static void put_header(struct strbuf *out, pid_t pid, const char *command)
{
	static const char *const prefixes[] = { "", "i", "d" };

	strbuf_addf(out,
		    "# callgrind format\nversion: 1\ncreator: xtree-1\npid: %d\ncmd: ", (int)pid);
	escape_text(out, command);
	strbuf_adds(out, "\n\npositions: line\n");
	put_events(out, "", "");
	put_events(out, "i", "increase ");
	put_events(out, "d", "decrease ");
	strbuf_adds(out, "events:");
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		for (int j = 0; j < VALUES; j++)
			strbuf_addf(out, " %s%s", prefixes[i], events[j].id);
	strbuf_addch(out, '\n');
}

static void put_function(struct strbuf *out, const struct leak_frame *f, const char *file,
			 const char *function)
{
	strbuf_addf(out, "%s=", file);
	escape_text(out, f->file ? f->file : "UnknownFile???");
	strbuf_addf(out, "\n%s=", function);
	escape_text(out, f->function ? f->function : "UnknownFn???");
	strbuf_addch(out, '\n');
}

/* Up to main. */
static size_t n_shown(const struct leak_stack *stack)
{
	size_t n = 0;

	while (n < stack->n_frames) {
		const char *function = stack->frames[n++].function;

		if (function && (strcmp(function, "main") == 0 || supp_calls_main(function)))
			break;
	}
	return n;
}

/* A chain of calls, of which all have the costs, and the last function has them itself. */
static void put_stack(struct strbuf *out, const struct leak_stack *stack, const struct costs *costs)
{
	for (size_t i = n_shown(stack); i > 0; i--) {
		const struct leak_frame *f = &stack->frames[i - 1];

		put_function(out, f, "fl", "fn");
		if (i == 1) {
			strbuf_addf(out, "%" PRIu32, f->line);
			put_costs(out, costs);
			break;
		}
		put_function(out, f - 1, "cfi", "cfn");
		strbuf_addf(out, "calls=0 %" PRIu32 "\n%" PRIu32, (f - 1)->line, f->line);
		put_costs(out, costs);
	}
	strbuf_addch(out, '\n');
}

void leak_xtree(struct strbuf *out, const struct leak_result *result,
		const struct leak_stacks *stacks, const char *command)
{
	struct costs totals = { 0 };

	put_header(out, result->seen.pid, command);
	for (size_t i = 0; i < loss_records_n(result->records); i++) {
		const struct loss_record *r = loss_records_get(result->records, i);
		struct costs costs = { 0 };

		if (!r->shown || r->stack == LOSS_NO_STACK)
			continue;
		add_record(&costs, r);
		add_record(&totals, r);
		put_stack(out, &stacks->stacks[r->stack], &costs);
	}
	strbuf_adds(out, "totals:");
	put_costs(out, &totals);
}
