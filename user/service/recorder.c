/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/recorder.h"

#include "base/outfile.h"
#include "report/symbols.h"
#include "trace/record/recording.h"

#include <errno.h>

struct recorder {
	struct outfile *file;
	struct recording_writer *writer;
};

int recorder_new(const char *path, uid_t uid, gid_t gid, struct recorder **ret_recorder)
{
	_cleanup_(recorder_free_p) struct recorder *recorder = calloc(1, sizeof(*recorder));
	int r;

	if (!recorder)
		return -ENOMEM;
	r = outfile_new(path, uid, gid, &recorder->file);
	if (r == 0)
		r = recording_writer_new(outfile_stream(recorder->file), &recorder->writer);
	if (r)
		return r;
	*ret_recorder = TAKE_PTR(recorder);
	return 0;
}

void recorder_free(struct recorder *recorder)
{
	if (!recorder)
		return;
	recording_writer_free(recorder->writer);
	outfile_free(recorder->file);
	free(recorder);
}

int recorder_take(const struct record *record, void *userdata)
{
	struct recorder *recorder = userdata;

	return recorder ? recording_write(record, recorder->writer) : 0;
}

int recorder_finish(struct recorder *recorder, const struct symbols *symbols)
{
	int r = symbols_each(symbols, recording_write, recorder->writer);

	return r ? r : outfile_commit(recorder->file);
}
