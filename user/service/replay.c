/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/replay.h"

#include "config/options.h"
#include "model/model.h"
#include "report/view/symbols.h"
#include "service/outputs.h"
#include "service/recorded_run.h"
#include "service/report_confine.h"

struct replay {
	struct model *model;
	struct outputs *outputs;
};

static int take_record(const struct record *record, void *userdata)
{
	struct replay *replay = userdata;
	int r = model_apply(record, replay->model);

	if (r == 0)
		r = outputs_take(replay->outputs, record);
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
	r = recorded_run_read(file, options->report_file, take_record, &replay, &damaged);
	return r ? r : outputs_write(outputs, true);
}
