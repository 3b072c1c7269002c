/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/clock.h"
#include "base/saturate.h"
#include "report/text/cost_words.h"
#include "report/text/next_words.h"
#include "report/text/table.h"
#include "tui/browser.h"
#include "tui/browser_state.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* Where what a key does begins. */
#define HELP_INDENT 9

static const char *const help[] = {
	"The sites that hold memory, each a function and line of the source, anew each second; "
	"totals are of all processes.",
	"",
	"up down pgup pgdn home end   go (also k j space g G)",
	"enter                        the stacks of the site; enter, esc or q leads back",
	"left right                   sort by the column before or behind; or at once by:",
	"  l  LIVE     bytes that live        b  BLOCKS   blocks that live",
	"  n  NEW      live, since the mark   r  /S       allocations a second",
	"  a  ALLOCS   allocations so far     p  PEAK     bytes at the process's peak",
	"  v  VERDICT  leak, growing, cache or steady, once that is known",
	"95%      of samples: what LIVE can be off by; a ? says that they are few",
	"m        mark: a generation begins. NEW then counts what was allocated after the mark "
	"and still lives, by the age that each block itself has (10 ms). It is read while the "
	"program runs, a moment after LIVE.",
	"/        only sites with a frame whose function, file or object has this text; enter "
	"keeps it, esc shows all sites again",
	"i        notes: what is not seen of such programs, and what helps",
	"s        save a report as FORMAT:PATH (json:out.json, flamegraph:out.svg, ...)",
	"q        end: the final report goes to standard output",
};

void browser_help(const struct browser *b, struct strbuf *out)
{
	for (size_t i = 0; i < sizeof(help) / sizeof(help[0]); i++)
		text_wrap(out, help[i], b->width, b->width > 2 * HELP_INDENT ? HELP_INDENT : 0);
}

int browser_new(struct browser **ret_browser)
{
	struct browser *b = calloc(1, sizeof(*b));

	if (!b)
		return -ENOMEM;
	b->height = 24;
	b->width = 80;
	*ret_browser = b;
	return 0;
}

void browser_free(struct browser *browser)
{
	if (!browser)
		return;
	site_rows_done(&browser->rows);
	strbuf_done(&browser->stack);
	strbuf_done(&browser->notes);
	free(browser->opened);
	free(browser);
}

static size_t n_lines(const struct strbuf *text)
{
	size_t n = 0;

	for (size_t i = 0; i < text->len; i++)
		n += text->data[i] == '\n';
	return n;
}

static size_t help_lines(const struct browser *b)
{
	_cleanup_strbuf_ struct strbuf text = { 0 };

	browser_help(b, &text);
	return n_lines(&text);
}

/* --- where one is ---------------------------------------------------------------------------- */

size_t browser_room(const struct browser *b)
{
	size_t header = b->page == PAGE_LIST ?
				HEADER_LINES + (b->totals.n_resident > 0) + b->totals.has_cost :
				1;
	size_t taken = header + FOOTER_LINES;

	return b->height > taken ? b->height - taken : 1;
}

/* Lines of the page's text; 0 for the list. */
static size_t text_lines(const struct browser *b)
{
	return b->page == PAGE_STACK ? b->stack_lines :
	       b->page == PAGE_NOTES ? b->notes_lines :
	       b->page == PAGE_HELP  ? help_lines(b) :
				       0;
}

/* The selection stays within the rows, and in sight. */
static void clamp_selection(struct browser *b)
{
	size_t room = browser_room(b), lines = text_lines(b);

	if (b->selected >= b->rows.n_rows)
		b->selected = b->rows.n_rows ? b->rows.n_rows - 1 : 0;
	if (b->first > b->selected)
		b->first = b->selected;
	if (b->page == PAGE_LIST && b->selected - b->first >= room)
		b->first = b->selected - room + 1;
	if (b->scrolled + room > lines)
		b->scrolled = lines > room ? lines - room : 0;
}

void browser_resize(struct browser *b, size_t height, size_t width)
{
	b->height = height;
	b->width = width;
	clamp_selection(b);
}

/* By so many lines, up when it is negative. */
static void move(struct browser *b, long by)
{
	size_t *at = b->page == PAGE_LIST ? &b->selected : &b->scrolled;

	if (by < 0 && (size_t)-by > *at)
		*at = 0;
	else
		*at += (size_t)by;
	clamp_selection(b);
}

/* --- a new state ----------------------------------------------------------------------------- */

/* The variance of what is young at a site: its part of what is live there. */
static double young_variance(uint64_t interval, const struct view_site *site)
{
	double young = site->young_bytes > 0 ? (double)site->young_bytes : 0;

	if (site->live_samples == 0 || site->live_bytes <= 0)
		return (double)interval * young;
	return site->live_variance * young / (double)site->live_bytes;
}

/* Of processes that run: what the others had is given back. */
/* At another depth: it is not another process. */
static bool goes_on(const struct view_process *process)
{
	return process->image->ended && process->image->how == RECORD_END_DEPTH;
}

static void add_resident(struct browser_totals *t, const struct view_process *process)
{
	const struct record_resident *v = &process->image->resident;
	struct record_resident *sum = &t->resident;

	if (!process->image->has_resident || goes_on(process) ||
	    (process->image->ended && t->n_processes > 1))
		return;
	t->resident_exact =
		(t->resident_exact || t->n_resident == 0) && view_resident_exact(process);
	t->n_resident++;
	sum->rss = saturate_add_u64(sum->rss, v->rss);
	sum->heap_live = saturate_add_u64(sum->heap_live, v->heap_live);
	sum->heap_free = saturate_add_u64(sum->heap_free, v->all_blocks ? v->heap_free : 0);
	sum->mmap = saturate_add_u64(sum->mmap, v->mmap);
	sum->file = saturate_add_u64(sum->file, v->file);
	sum->stack = saturate_add_u64(sum->stack, v->stack);
	sum->unknown = saturate_add_u64(sum->unknown, v->unknown);
	sum->unknown_heap = saturate_add_u64(sum->unknown_heap, v->unknown_heap);
	sum->all_blocks = true; /* there are none in the sum of the others */
}

static void add_growth(struct browser_totals *t, const struct view_process *process)
{
	const struct growth *growth = &process->growth;

	if (!process->has_growth || (t->has_growth && growth->verdict < t->growth.verdict) ||
	    (t->has_growth && growth->verdict == t->growth.verdict &&
	     growth->bytes_per_s <= t->growth.bytes_per_s))
		return;
	t->has_growth = true;
	t->growth = *growth;
	t->growth_pid = process->image->pid;
}

static void add_process(struct browser_totals *t, const struct view_process *process)
{
	const struct record_totals *v = &process->totals;
	const struct view_estimate estimate = view_estimate_totals(v);
	uint64_t ci95, interval = v->sample_interval;
	double variance = 0;
	int64_t young = 0;

	t->allocs += v->allocs;
	if (process->is_past)
		return;
	t->n_processes += !goes_on(process);
	t->exact &= process->exact;
	t->ended &= process->image->ended;
	t->live_bytes = saturate_add(t->live_bytes, v->live_bytes);
	t->live_blocks = saturate_add(t->live_blocks, v->live_blocks);
	t->peak_bytes = saturate_add(t->peak_bytes, v->peak_bytes);
	t->mmap_bytes = saturate_add(t->mmap_bytes, process->mmap.live_bytes);
	view_estimate_add_image(&t->estimate, &estimate, process->image);
	add_resident(t, process);
	add_growth(t, process);
	for (size_t i = 0; i < process->n_sites; i++) {
		if (process->sites[i].class != VIEW_HEAP)
			continue;
		t->young_bytes = saturate_add(t->young_bytes, process->sites[i].young_bytes);
		t->young_blocks = saturate_add(t->young_blocks, process->sites[i].young_blocks);
		young = saturate_add(young, process->sites[i].young_bytes);
		variance += young_variance(interval, &process->sites[i]);
	}
	ci95 = view_estimate_ci95(interval, young, variance);
	t->young_ci95 = hypot(t->young_ci95, (double)ci95);
}

static int name_totals(struct browser_totals *t, const struct view *view)
{
	_cleanup_strbuf_ struct strbuf name = { 0 };

	if (view_n_processes(view)) {
		const struct model_process *image = view_process(view, 0)->image;

		text_fit(&name, *image->comm ? image->comm : "?", 15);
		strbuf_addf(&name, " (pid %u)", image->pid);
	}
	if (t->n_processes > 1)
		strbuf_addf(&name, " and %zu more", t->n_processes - 1);
	if (strbuf_error(&name) < 0)
		return -ENOMEM;
	snprintf(t->name, sizeof(t->name), "%s", strbuf_str(&name));
	return 0;
}

static void set_cost(struct browser_totals *t, const struct browser_totals *last,
		     const struct depths *depths)
{
	const struct record_cost *cost = depths_cost(depths);

	if (!cost)
		return;
	t->is_limited = depths->changes.len > 0 &&
			depths->changes.data[depths->changes.len - 1].depth != RECORD_DEPTH_EXACT;
	t->has_cost = true;
	t->cost = *cost;
	t->recent = last->has_cost ? cost_since(&last->cost, cost) : *cost;
}

static int sum_up(const struct browser *b, const struct view *view, struct browser_totals *ret)
{
	const struct record_coverage *coverage = model_coverage(view_model(view))->at_cut;
	const struct record_run *run = model_run(view_model(view));
	struct browser_totals t = { .exact = view_is_exact(view), .ended = true };
	uint64_t now_ns = view_now_ns(view);

	for (size_t i = 0; i < view_n_processes(view); i++)
		add_process(&t, view_process(view, i));
	for (size_t i = 0; coverage && i < coverage->n_losses; i++)
		t.lost += coverage->losses[i].count;
	if (run && now_ns > run->start_ns)
		t.elapsed_ns = now_ns - run->start_ns;
	if (b->has_rows && now_ns > b->rows.now_ns && t.allocs >= b->totals.allocs)
		t.rate = (double)(t.allocs - b->totals.allocs) * SECOND_NS /
			 (double)(now_ns - b->rows.now_ns);
	set_cost(&t, &b->totals, model_depths(view_model(view)));
	*ret = t;
	return name_totals(ret, view);
}

static int update_stack(struct browser *b, const struct view *view)
{
	struct strbuf stack = { 0 };
	int n;

	if (b->page != PAGE_STACK)
		return 0;
	n = site_row_stacks(view, b->opened, b->filter, b->width, &stack);
	b->opened_gone = n == 0;
	/* What is gone is shown as it was. */
	if (n <= 0) {
		strbuf_done(&stack);
		return n;
	}
	strbuf_done(&b->stack);
	b->stack = stack;
	b->stack_lines = n_lines(&stack);
	return 0;
}

/* What the end of a table says, too. */
static int update_notes(struct browser *b, const struct view *view)
{
	const char *next = next_words(view_model(view));
	struct table t = { .view = view };

	table_programs(&t, NULL);
	if (next)
		table_line(&t, 2, "%s", next);
	if (strbuf_error(&t.out) < 0) {
		strbuf_done(&t.out);
		return -ENOMEM;
	}
	strbuf_done(&b->notes);
	b->notes = t.out;
	b->notes_lines = n_lines(&b->notes);
	return 0;
}

/* The same site stays selected, wherever it went. */
static void select_again(struct browser *b, const char *key)
{
	for (size_t i = 0; i < b->rows.n_rows; i++) {
		if (strcmp(b->rows.rows[i].key, key) != 0)
			continue;
		b->selected = i;
		return;
	}
}

int browser_update(struct browser *b, const struct view *view)
{
	bool moved = b->selected > 0 && b->selected < b->rows.n_rows;
	struct browser_totals totals;
	struct site_rows rows, was = b->rows;
	int r = sum_up(b, view, &totals);

	if (r == 0)
		r = update_stack(b, view);
	if (r == 0)
		r = update_notes(b, view);
	if (r == 0)
		r = site_rows_make(view, b->filter, b->has_rows ? &b->rows : NULL, &rows);
	if (r < 0)
		return r;
	b->rows = rows;
	b->has_rows = true;
	b->totals = totals;
	site_rows_sort(&b->rows, b->sort);
	if (moved)
		select_again(b, was.rows[b->selected].key);
	site_rows_done(&was);
	clamp_selection(b);
	return 0;
}

void browser_marked(struct browser *b, uint64_t mark_ns)
{
	b->marked = true;
	b->mark_ns = mark_ns;
	b->sort = SITE_YOUNG;
	b->selected = b->first = 0;
}

void browser_set_message(struct browser *b, const char *message)
{
	_cleanup_strbuf_ struct strbuf clean = { 0 };

	escape_text(&clean, message);
	snprintf(b->message, sizeof(b->message), "%s", strbuf_str(&clean));
}

/* --- keys ------------------------------------------------------------------------------------ */

static void erase_last(char *text)
{
	size_t len = strlen(text);

	/* A code point is its first byte and those that begin with the bits 10. */
	while (len > 0 && ((unsigned char)text[--len] & 0xc0) == 0x80)
		;
	text[len] = '\0';
}

static void type(char *text, size_t size, int key)
{
	size_t len = strlen(text);

	/* What is typed is a filter or a path: ASCII's printable characters will do. */
	if (key >= ' ' && key < 0x7f && len + 1 < size) {
		text[len] = (char)key;
		text[len + 1] = '\0';
	}
}

static enum browser_wish set_filter(struct browser *b, const char *text)
{
	if (strcmp(b->filter, text) == 0)
		return BROWSER_NOTHING;
	snprintf(b->filter, sizeof(b->filter), "%.*s", (int)sizeof(b->filter) - 1, text);
	b->selected = b->first = 0;
	return BROWSER_UPDATE;
}

static enum browser_wish key_in_prompt(struct browser *b, int key)
{
	enum browser_prompt prompt = b->prompt;

	switch (key) {
	case BROWSER_ESCAPE:
		b->prompt = PROMPT_NONE;
		*b->answer = '\0';
		break;
	case BROWSER_ENTER:
		b->prompt = PROMPT_NONE;
		if (prompt == PROMPT_SAVE && *b->answer)
			return BROWSER_SAVE;
		break;
	case BROWSER_BACKSPACE:
		erase_last(b->answer);
		break;
	default:
		type(b->answer, prompt == PROMPT_FILTER ? sizeof(b->filter) : sizeof(b->answer),
		     key);
		break;
	}
	/* Rows follow what is typed. */
	return prompt == PROMPT_FILTER ? set_filter(b, b->answer) : BROWSER_NOTHING;
}

static void open_prompt(struct browser *b, enum browser_prompt prompt, const char *text)
{
	b->prompt = prompt;
	snprintf(b->answer, sizeof(b->answer), "%s", text);
}

static void open_page(struct browser *b, enum browser_page page)
{
	b->page = page;
	b->scrolled = 0;
	clamp_selection(b);
}

static enum browser_wish open_stack(struct browser *b)
{
	if (b->selected >= b->rows.n_rows)
		return BROWSER_NOTHING;
	free(b->opened);
	b->opened = strdup(b->rows.rows[b->selected].key);
	if (!b->opened)
		return BROWSER_NOTHING;
	strbuf_reset(&b->stack);
	b->stack_lines = 0;
	open_page(b, PAGE_STACK);
	return BROWSER_UPDATE;
}

/* Keys that mean the same on all pages. */
static bool key_moves(struct browser *b, int key)
{
	long page = (long)browser_room(b), all = 1L << 30;

	switch (key) {
	case BROWSER_UP:
	case 'k':
		move(b, -1);
		return true;
	case BROWSER_DOWN:
	case 'j':
		move(b, 1);
		return true;
	case BROWSER_PAGE_UP:
		move(b, -page);
		return true;
	case BROWSER_PAGE_DOWN:
	case ' ':
		move(b, page);
		return true;
	case BROWSER_HOME:
	case 'g':
		move(b, -all);
		return true;
	case BROWSER_END:
	case 'G':
		move(b, all);
		return true;
	default:
		return false;
	}
}

static void sort_by(struct browser *b, enum site_column column)
{
	b->sort = column;
	b->selected = b->first = 0;
	site_rows_sort(&b->rows, column);
}

static enum browser_wish key_in_list(struct browser *b, int key)
{
	static const char columns[BROWSER_COLUMNS + 1] = "lbnrapv";
	const char *column = key > 0 && key < 0x7f ? strchr(columns, key) : NULL;

	if (column) {
		sort_by(b, (enum site_column)(column - columns));
		return BROWSER_NOTHING;
	}
	switch (key) {
	case BROWSER_LEFT:
		sort_by(b, (b->sort + BROWSER_COLUMNS - 1) % BROWSER_COLUMNS);
		return BROWSER_NOTHING;
	case BROWSER_RIGHT:
		sort_by(b, (b->sort + 1) % BROWSER_COLUMNS);
		return BROWSER_NOTHING;
	case BROWSER_ENTER:
		return open_stack(b);
	case BROWSER_ESCAPE:
		return set_filter(b, "");
	case '/':
		open_prompt(b, PROMPT_FILTER, b->filter);
		return BROWSER_NOTHING;
	case 'm':
		return BROWSER_MARK;
	default:
		return BROWSER_NOTHING;
	}
}

enum browser_wish browser_key(struct browser *b, int key)
{
	*b->message = '\0';
	if (b->prompt != PROMPT_NONE)
		return key_in_prompt(b, key);
	if (key_moves(b, key))
		return BROWSER_NOTHING;
	switch (key) {
	case 's':
		open_prompt(b, PROMPT_SAVE, "");
		return BROWSER_NOTHING;
	case '?':
	case 'h':
		open_page(b, PAGE_HELP);
		return BROWSER_NOTHING;
	case 'i':
		open_page(b, PAGE_NOTES);
		return BROWSER_NOTHING;
	case 'q':
		if (b->page == PAGE_LIST)
			return BROWSER_QUIT;
		open_page(b, PAGE_LIST);
		return BROWSER_NOTHING;
	default:
		break;
	}
	if (b->page == PAGE_LIST)
		return key_in_list(b, key);
	if (key == BROWSER_ESCAPE || key == BROWSER_ENTER || key == BROWSER_LEFT)
		open_page(b, PAGE_LIST);
	return BROWSER_NOTHING;
}

const char *browser_answer(const struct browser *b)
{
	return b->answer;
}
