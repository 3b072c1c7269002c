/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/replay.h"

#include "base/log.h"
#include "config/options.h"
#include "model/model.h"
#include "report/symbols.h"
#include "service/outputs.h"
#include "trace/record/recording.h"

#include <errno.h>
#include <string.h>

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
	_cleanup_(source_free_p) struct source *source = NULL;
	_cleanup_fclose_ FILE *file = fopen(options->report_file, "re");
	struct replay replay;
	int r;

	if (!file) {
		log_error("cannot read %s: %s", options->report_file, strerror(errno));
		return -EIO;
	}
	r = model_new(&model);
	if (r == 0)
		r = outputs_new(options, model, false, &outputs);
	if (r)
		return r;
	r = recording_open(file, &source);
	if (r) {
		log_error("%s is no recording of this or an earlier version of memtraced",
			  options->report_file);
		return r;
	}
	replay = (struct replay){ model, outputs };
	r = source_drain(source, take_record, &replay);
	if (r < 0 && r != -EPROTO) {
		log_error("cannot read %s: %s", options->report_file, strerror(-r));
		return r;
	}
	/* What the checksums cannot tell: a record that has no meaning where it stands. */
	if (r == -EPROTO)
		log_warning("%s is damaged: the report is of what comes before that",
			    options->report_file);
	else if (recording_truncated(source))
		log_warning("%s ends early or is damaged: the report is of what comes before that",
			    options->report_file);
	return outputs_write(outputs, true);
}
