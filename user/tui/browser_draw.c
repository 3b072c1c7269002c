/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/vec.h"
#include "config/units.h"
#include "report/text/cost_words.h"
#include "report/text/table.h"
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
static void put_line(struct drawing *d, enum browser_style style, const char *line)
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
	put_line(d, style, strbuf_str(line));
}

/* A number that is cut looks like another: a line ends before the part that does not fit. */
static void put_parts(struct drawing *d, enum browser_style style, struct strbuf *line)
{
	const char *text = strbuf_str(line), *end = NULL;
	_cleanup_strbuf_ struct strbuf fitting = { 0 };
	size_t columns = 0;

	for (const char *s = text; *s && columns + strlen(" .") <= d->b->width; s++) {
		if ((*s == ',' || *s == ';') && s[1] == ' ')
			end = s;
		columns += ((unsigned char)*s & 0xc0) != 0x80;
	}
	if (text_columns(text) <= d->b->width || !end) {
		put_built(d, style, line);
		return;
	}
	strbuf_add(&fitting, text, (size_t)(end - text));
	strbuf_adds(&fitting, " …");
	put_built(d, style, &fitting);
}

static void add_state(struct strbuf *line, const struct browser_totals *t, const char *title)
{
	char text[FORMAT_UNIT_LEN];

	strbuf_addf(line, "%s%s, %s, ", title, t->name, format_duration(t->elapsed_ns, text));
	if (t->exact)
		strbuf_adds(line, "exact");
	else
		strbuf_adds(line, t->estimate.interval ? "ESTIMATES, ± is 95 %" : "NOT EXACT");
	if (t->lost)
		strbuf_addf(line, ", %" PRIu64 " lost", t->lost);
}

/* What goes first where the window is too narrow for all. */
enum detail { DETAIL_BYTES, DETAIL_PEAK, DETAIL_BLOCKS, DETAIL_NONE };

static void add_growth(struct strbuf *line, const struct browser_totals *t)
{
	if (!t->has_growth)
		return;
	strbuf_adds(line, "; ");
	table_growth_words(&t->growth, line);
	if (t->n_processes > 1)
		strbuf_addf(line, " in pid %" PRIu32, t->growth_pid);
}

static void add_totals(struct strbuf *totals, const struct browser_totals *t, enum detail from)
{
	const char *mark = t->exact ? "" : "~";
	char live[FORMAT_UNIT_LEN], peak[FORMAT_UNIT_LEN], rate[FORMAT_UNIT_LEN];
	char mmap[FORMAT_UNIT_LEN];

	strbuf_addf(totals, "live %s%s", mark, format_size(t->live_bytes, live));
	table_margin(totals, &t->estimate, t->estimate.ci95_bytes);
	if (!t->estimate.interval && from <= DETAIL_BYTES)
		strbuf_addf(totals, " (%" PRId64 " B)", t->live_bytes);
	if (from <= DETAIL_BLOCKS) {
		strbuf_addf(totals, " in %s%" PRId64, mark, t->live_blocks);
		table_count_margin(totals, &t->estimate, t->estimate.ci95_blocks);
		strbuf_adds(totals, " blocks");
	}
	/* Peaks of several processes were at different times. */
	if (t->n_processes == 1 && from <= DETAIL_PEAK) {
		strbuf_addf(totals, ", peak %s%s", mark, format_size(t->peak_bytes, peak));
		table_margin(totals, &t->estimate, t->estimate.ci95_peak_bytes);
	}
	add_growth(totals, t);
	strbuf_addf(totals, ", %s allocs/s", format_count((int64_t)t->rate, rate));
	if (t->mmap_bytes)
		strbuf_addf(totals, ", mmap %s%s", mark, format_size(t->mmap_bytes, mmap));
}

static void put_cost(struct drawing *d, const struct browser_totals *t)
{
	_cleanup_strbuf_ struct strbuf words = { 0 };
	bool is_high = cost_is_high(&t->recent);

	if (t->is_limited)
		strbuf_adds(&words, "calls are not counted now, as that took too much; "
				    "--max-overhead=none counts all");
	else
		cost_short_words(&t->recent, &words);
	if (is_high && !t->is_limited)
		cost_bound_words(&t->recent, &words);
	put_parts(d, is_high || t->is_limited ? STYLE_BOLD : STYLE_PLAIN, &words);
}

static void put_header(struct drawing *d)
{
	const struct browser_totals *t = &d->b->totals;
	_cleanup_strbuf_ struct strbuf state = { 0 }, totals = { 0 }, resident = { 0 };
	enum detail from = DETAIL_BYTES;

	add_state(&state, t, "memtraced  ");
	if (text_columns(strbuf_str(&state)) > d->b->width) {
		strbuf_reset(&state);
		add_state(&state, t, "");
	}
	put_parts(d, t->exact ? STYLE_PLAIN : STYLE_BOLD, &state);
	add_totals(&totals, t, from);
	while (text_columns(strbuf_str(&totals)) > d->b->width && from < DETAIL_NONE) {
		strbuf_reset(&totals);
		add_totals(&totals, t, ++from);
	}
	put_parts(d, STYLE_BOLD, &totals);
	if (t->has_cost)
		put_cost(d, t);
	if (t->n_resident == 0)
		return;
	table_resident_words(&t->resident, t->resident_exact, &resident);
	if (t->n_resident > 1)
		strbuf_addf(&resident, "; of %zu processes", t->n_resident);
	put_parts(d, STYLE_PLAIN, &resident);
}

/* Below the rows, with a line between them. */
static bool notes_fit(const struct browser *b)
{
	return b->notes_lines > 0 && b->rows.n_rows + 1 + b->notes_lines <= browser_room(b);
}

static void put_shown(struct drawing *d)
{
	const struct browser *b = d->b;
	const struct browser_totals *t = &b->totals;
	_cleanup_strbuf_ struct strbuf line = { 0 };
	char text[FORMAT_UNIT_LEN];

	strbuf_addf(&line, "%zu", b->rows.n_rows);
	if (*b->filter) {
		strbuf_addf(&line, " of %zu sites with '", b->rows.n_all);
		escape_text(&line, b->filter);
		strbuf_addch(&line, '\'');
	} else {
		strbuf_addf(&line, " site%s", b->rows.n_rows == 1 ? "" : "s");
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
	if (!notes_fit(b) && b->notes_lines > 0)
		strbuf_adds(&line, "; i: notes");
	put_parts(d, STYLE_PLAIN, &line);
}

/* The lines of a text from that one on. */
static void put_text(struct drawing *d, const char *text, size_t from)
{
	size_t line = 0, room = browser_room(d->b);

	while (*text) {
		size_t len = strcspn(text, "\n");
		_cleanup_free_ char *copy = strndup(text, len);

		if (!copy) {
			d->error = -ENOMEM;
			return;
		}
		if (line >= from && line - from < room)
			put_line(d, STYLE_PLAIN, copy);
		line++;
		text += len + (text[len] != '\0');
	}
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
	if (notes_fit(b)) {
		put_line(d, STYLE_PLAIN, "");
		put_text(d, strbuf_str((struct strbuf *)&b->notes), 0);
	}
}

static void put_page(struct drawing *d)
{
	const struct browser *b = d->b;
	_cleanup_strbuf_ struct strbuf help = { 0 };

	if (b->page == PAGE_STACK) {
		put_line(d, STYLE_REVERSE,
			 b->opened_gone ? "a site that is gone" :
					  "stacks of the site, innermost frames first");
		put_text(d, strbuf_str((struct strbuf *)&b->stack), b->scrolled);
		return;
	}
	if (b->page == PAGE_NOTES) {
		put_line(d, STYLE_REVERSE,
			 b->notes_lines ? "notes" : "there is nothing to note of these programs");
		put_text(d, strbuf_str((struct strbuf *)&b->notes), b->scrolled);
		return;
	}
	put_line(d, STYLE_REVERSE, "memtraced: keys");
	browser_help(b, &help);
	if (strbuf_error(&help) < 0)
		d->error = -ENOMEM;
	else
		put_text(d, strbuf_str(&help), b->scrolled);
}

static void put_footer(struct drawing *d)
{
	static const char keys_line[] = "?: help  /: filter  m: mark  enter: stack  s: save  "
					"q: quit  sort: l b n r a p v";
	const struct browser *b = d->b;
	_cleanup_strbuf_ struct strbuf line = { 0 };

	if (d->lines.len + 1 > b->height)
		return;
	while (d->lines.len + 1 < b->height && d->error == 0)
		put_line(d, STYLE_PLAIN, "");
	if (b->prompt != PROMPT_NONE) {
		strbuf_adds(&line,
			    b->prompt == PROMPT_FILTER ? "filter: " : "save as FORMAT:PATH: ");
		escape_text(&line, b->answer);
		strbuf_addch(&line, '_');
		if (b->prompt == PROMPT_FILTER)
			strbuf_adds(&line, "   enter: keep  esc: all sites");
	} else if (*b->message) {
		strbuf_adds(&line, b->message);
	} else if (b->totals.ended && b->has_rows) {
		strbuf_adds(&line, "all processes have ended; q: final report");
	} else {
		strbuf_adds(&line, b->width < text_columns(keys_line) ?
					   "?: help  /: filter  enter: stack  q: end" :
					   keys_line);
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
