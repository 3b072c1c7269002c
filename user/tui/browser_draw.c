/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/vec.h"
#include "config/units.h"
#include "report/text/table_out.h"
#include "report/text/text.h"
#include "tui/browser_state.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

typedef VEC(struct browser_line) line_vec;

struct drawing {
	const struct browser *b;
	struct strbuf text;
	line_vec lines;
	int error;
};

/* What does not fit, in either direction, is left out. */
static void put(struct drawing *d, enum browser_style style, const char *line)
{
	struct browser_line made = { .start = d->text.len, .style = style };
	int r;

	if (d->lines.len >= d->b->height)
		return;
	text_clip(&d->text, line, d->b->width);
	made.len = d->text.len - made.start;
	r = vec_push(&d->lines, made);
	if (r < 0)
		d->error = r;
}

static void put_built(struct drawing *d, enum browser_style style, struct strbuf *line)
{
	if (strbuf_error(line) < 0)
		d->error = -ENOMEM;
	put(d, style, strbuf_str(line));
}

static void add_state(struct strbuf *line, const struct browser_totals *t)
{
	char text[FORMAT_UNIT_LEN];

	strbuf_addf(line, "memtraced  %s, %s, ", t->name, format_duration(t->elapsed_ns, text));
	if (t->exact)
		strbuf_adds(line, "exact");
	else
		strbuf_adds(line, t->estimate.interval ? "ESTIMATES, ± is 95 %" : "NOT EXACT");
	if (t->lost)
		strbuf_addf(line, ", %" PRIu64 " lost", t->lost);
}

static void put_header(struct drawing *d)
{
	const struct browser_totals *t = &d->b->totals;
	const char *mark = t->exact ? "" : "~";
	_cleanup_strbuf_ struct strbuf state = { 0 }, totals = { 0 };
	char live[FORMAT_UNIT_LEN], peak[FORMAT_UNIT_LEN], rate[FORMAT_UNIT_LEN];
	char mmap[FORMAT_UNIT_LEN];

	add_state(&state, t);
	put_built(d, t->exact ? STYLE_PLAIN : STYLE_BOLD, &state);
	strbuf_addf(&totals, "live %s%s", mark, format_size(t->live_bytes, live));
	table_margin(&totals, &t->estimate, t->estimate.ci95_bytes);
	if (!t->estimate.interval)
		strbuf_addf(&totals, " (%" PRId64 " B)", t->live_bytes);
	strbuf_addf(&totals, " in %s%" PRId64, mark, t->live_blocks);
	table_count_margin(&totals, &t->estimate, t->estimate.ci95_blocks);
	strbuf_adds(&totals, " blocks");
	/* Peaks of several processes were at different times. */
	if (t->n_processes == 1) {
		strbuf_addf(&totals, ", peak %s%s", mark, format_size(t->peak_bytes, peak));
		table_margin(&totals, &t->estimate, t->estimate.ci95_peak_bytes);
	}
	strbuf_addf(&totals, ", %s allocs/s", format_count((int64_t)t->rate, rate));
	if (t->mmap_bytes)
		strbuf_addf(&totals, ", mmap %s%s", mark, format_size(t->mmap_bytes, mmap));
	put_built(d, STYLE_BOLD, &totals);
}

static void put_shown(struct drawing *d)
{
	const struct browser *b = d->b;
	const struct browser_totals *t = &b->totals;
	_cleanup_strbuf_ struct strbuf line = { 0 };
	char text[FORMAT_UNIT_LEN];

	strbuf_addf(&line, "%zu", b->rows.n_rows);
	if (*b->filter) {
		strbuf_addf(&line, " of %zu sites with '", b->rows.n_sites);
		escape_text(&line, b->filter);
		strbuf_addch(&line, '\'');
	} else {
		strbuf_adds(&line, " sites");
	}
	if (b->marked) {
		uint64_t since = b->rows.now_ns > b->mark_ns ? b->rows.now_ns - b->mark_ns : 0;

		strbuf_addf(&line, "; since the mark %s ago: ", format_duration(since, text));
		strbuf_addf(&line, "%s%s", t->estimate.interval ? "~" : "",
			    format_size(t->young_bytes, text));
		table_margin(&line, &t->estimate, (uint64_t)t->young_ci95);
		if (!t->estimate.interval)
			strbuf_addf(&line, " (%" PRId64 " B)", t->young_bytes);
		strbuf_addf(&line, " in %s%" PRId64 " blocks still live",
			    t->estimate.interval ? "~" : "", t->young_blocks);
	}
	put_built(d, STYLE_PLAIN, &line);
}

static void put_list(struct drawing *d)
{
	const struct browser *b = d->b;
	_cleanup_strbuf_ struct strbuf head = { 0 };
	struct site_layout layout = {
		.shown = { SITE_LIVE, SITE_BLOCKS, SITE_VERDICT, SITE_YOUNG, SITE_RATE, SITE_ALLOCS,
			   SITE_PEAK },
		.n_shown = BROWSER_COLUMNS,
		.sort = b->sort,
		.with_pids = b->totals.n_processes > 1,
		.marked = b->marked,
		.columns = b->width,
	};
	size_t room = browser_room(b);

	site_layout_fit(&layout, &b->rows);
	put_header(d);
	put_shown(d);
	site_rows_head(&head, &layout);
	put_built(d, STYLE_REVERSE, &head);
	for (size_t i = b->first; i < b->rows.n_rows && i - b->first < room; i++) {
		_cleanup_strbuf_ struct strbuf line = { 0 };

		site_row_line(&line, &b->rows.rows[i], &layout);
		put_built(d, i == b->selected ? STYLE_REVERSE : STYLE_PLAIN, &line);
	}
}

/* The lines of a text from the scrolled one on. */
static void put_text(struct drawing *d, const char *text)
{
	size_t line = 0, room = browser_room(d->b);

	while (*text) {
		size_t len = strcspn(text, "\n");
		_cleanup_free_ char *copy = strndup(text, len);

		if (!copy) {
			d->error = -ENOMEM;
			return;
		}
		if (line >= d->b->scrolled && line - d->b->scrolled < room)
			put(d, STYLE_PLAIN, copy);
		line++;
		text += len + (text[len] != '\0');
	}
}

static void put_page(struct drawing *d)
{
	const struct browser *b = d->b;
	_cleanup_strbuf_ struct strbuf help = { 0 };

	if (b->page == PAGE_STACK) {
		put(d, STYLE_REVERSE,
		    b->opened_gone ? "a site that is gone or filtered" : "what allocates, first");
		put_text(d, strbuf_str((struct strbuf *)&b->stack));
		return;
	}
	put(d, STYLE_REVERSE, "memtraced: keys");
	for (size_t i = 0; i < browser_help_lines; i++)
		strbuf_addf(&help, "%s\n", browser_help[i]);
	if (strbuf_error(&help) < 0)
		d->error = -ENOMEM;
	else
		put_text(d, strbuf_str(&help));
}

static void put_footer(struct drawing *d)
{
	const struct browser *b = d->b;
	_cleanup_strbuf_ struct strbuf line = { 0 };

	if (d->lines.len + 1 > b->height)
		return;
	while (d->lines.len + 1 < b->height && d->error == 0)
		put(d, STYLE_PLAIN, "");
	if (b->prompt != PROMPT_NONE) {
		strbuf_adds(&line,
			    b->prompt == PROMPT_FILTER ? "filter: " : "save as FORMAT:PATH: ");
		escape_text(&line, b->answer);
		strbuf_addch(&line, '_');
	} else if (*b->message) {
		strbuf_adds(&line, b->message);
	} else if (b->totals.ended && b->has_rows) {
		strbuf_adds(&line, "all processes have ended; q: final report");
	} else {
		strbuf_adds(&line, "?: help  /: filter  m: mark  enter: stack  s: save  q: quit  "
				   "sort: l b n r a p v");
	}
	put_built(d, STYLE_BOLD, &line);
}

int browser_draw(const struct browser *b, struct browser_screen *screen)
{
	struct drawing d = { .b = b };

	if (b->page == PAGE_LIST)
		put_list(&d);
	else
		put_page(&d);
	/* The bottom is for what is asked, in the smallest window, too. */
	if (b->height && d.lines.len >= b->height)
		d.lines.len = b->height - 1;
	put_footer(&d);
	if (strbuf_error(&d.text) < 0)
		d.error = -ENOMEM;
	if (d.error < 0) {
		strbuf_done(&d.text);
		vec_done(&d.lines);
		return d.error;
	}
	browser_screen_done(screen);
	*screen = (struct browser_screen){ d.text, d.lines.data, d.lines.len };
	return 0;
}

void browser_screen_done(struct browser_screen *screen)
{
	strbuf_done(&screen->text);
	free(screen->lines);
	*screen = (struct browser_screen){ 0 };
}
