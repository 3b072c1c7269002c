/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A model with symbols for tests of views and writers, filled by tests/record_script.h.
 */
#ifndef MEMTRACED_TESTS_REPORT_FIXTURE_H
#define MEMTRACED_TESTS_REPORT_FIXTURE_H

#include "report/report.h"
#include "tests/record_script.h"

struct fixture {
	struct model *model;
	struct symbolizer *symbolizer;
	struct symbols *symbols;
	struct view *view; /* of the last fixture_view */
	char *text;	   /* of the fixture_report that is being made */
	size_t text_len;
	struct script script;
};

static inline int fixture_apply(const struct record *record, void *userdata)
{
	struct fixture *f = userdata;
	int r = model_apply(record, f->model);

	return r < 0 ? r : symbols_apply(record, f->symbols);
}

static inline void fixture_init(struct fixture *f)
{
	*f = (struct fixture){ 0 };
	assert_int_equal(model_new(&f->model), 0);
	assert_int_equal(symbolizer_new(NULL, &f->symbolizer), 0);
	assert_int_equal(symbols_new(f->model, f->symbolizer, false, &f->symbols), 0);
	f->script = (struct script){ fixture_apply, f };
}

static inline void fixture_done(struct fixture *f)
{
	view_free(f->view);
	symbols_free(f->symbols);
	symbolizer_free(f->symbolizer);
	model_free(f->model);
}

/* Of a test whose state is a fixture. */
static inline int fixture_setup(void **state)
{
	struct fixture *f = malloc(sizeof(*f));

	if (!f)
		return -1;
	fixture_init(f);
	*state = f;
	return 0;
}

static inline int fixture_teardown(void **state)
{
	fixture_done(*state);
	free(*state);
	return 0;
}

static inline const struct view *fixture_view(struct fixture *f, const struct report_opts *opts)
{
	static const struct report_opts defaults = { 0 };

	view_free(f->view);
	f->view = NULL;
	assert_int_equal(view_new(f->model, f->symbols, opts ? opts : &defaults, &f->view), 0);
	return f->view;
}

/* The report in a format, malloc'ed. */
static inline char *fixture_report(struct fixture *f, const char *format,
				   const struct report_opts *opts)
{
	const struct view *view = fixture_view(f, opts);
	FILE *file = open_memstream(&f->text, &f->text_len);

	assert_non_null(file);
	assert_int_equal(report_write(format, view, file), 0);
	assert_int_equal(fclose(file), 0);
	return TAKE_PTR(f->text);
}

#endif
