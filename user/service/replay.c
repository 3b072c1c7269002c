/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/commands.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "config/options.h"
#include "model/model.h"
#include "report/view/symbols.h"
#include "service/output/hints.h"
#include "service/output/outputs.h"
#include "service/report_confine.h"
#include "trace/record/recording.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int recorded_run_open(const char *path, FILE **ret_file)
{
	FILE *file = fopen(path, "re");

	if (!file) {
		log_error("cannot read %s: %s", path, strerror(errno));
		return -EIO;
	}
	*ret_file = file;
	return 0;
}

int recorded_run_read(FILE *file, const char *path, record_fn fn, void *userdata, bool *ret_damaged)
{
	_cleanup_(source_free_p) struct source *source = NULL;
	bool meaningless;
	int r = recording_open(file, &source);

	if (r) {
		log_error("%s: not a memtraced recording, or one of a later version", path);
		return r;
	}
	r = source_drain(source, fn, userdata);
	/* What the checksums cannot tell: a record that has no meaning where it stands. */
	meaningless = r == -EPROTO;
	if (meaningless)
		r = fn(&(struct record){ .type = RECORD_CUT_OFF }, userdata);
	if (r < 0) {
		log_error("cannot read %s: %s", path, strerror(-r));
		return r;
	}
	*ret_damaged = meaningless || recording_truncated(source);
	if (meaningless)
		log_warning("%s is damaged; reporting what comes before the damage", path);
	else if (*ret_damaged)
		log_warning("%s ends early or is damaged; reporting what comes before that", path);
	return 0;
}

struct replay {
	struct model *model;
	struct outputs *outputs;
};

static int apply_record(const struct record *record, void *userdata)
{
	struct replay *replay = userdata;
	int r = model_apply(record, replay->model);

	if (r == 0)
		r = outputs_add_record(replay->outputs, record);
	return r ? r : symbols_apply(record, outputs_symbols(replay->outputs));
}

int replay_report(const struct options *options)
{
	_cleanup_(model_free_p) struct model *model = NULL;
	_cleanup_(outputs_free_p) struct outputs *outputs = NULL;
	_cleanup_fclose_ FILE *file = NULL;
	struct replay replay;
	bool damaged;
	int r = recorded_run_open(options->report_file, &file);

	if (r == 0)
		r = report_confine(options, &file, 1);
	if (r == 0)
		r = model_new(&model);
	if (r == 0)
		r = outputs_new(options, model, false, NULL, &outputs);
	if (r)
		return r;
	replay = (struct replay){ model, outputs };
	r = recorded_run_read(file, options->report_file, apply_record, &replay, &damaged);
	if (r == 0)
		hints_log_sort(options, model, options->report_file);
	if (r == 0)
		r = outputs_write(outputs, true);
	if (r == 0)
		hints_log(options, model);
	return r;
}
