/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/output/event_streams.h"

#include "base/vec.h"
#include "report/perf/perf_script.h"
#include "service/output/output_file.h"

#include <errno.h>

struct target {
	struct perf_script_stream *stream;
	struct output_file *file; /* NULL: standard output */
};

struct event_streams {
	const struct model *model;
	struct symbols *symbols;
	struct stdout_stream *out; /* NULL until a stream goes there */
	VEC(struct target) targets;
};

int event_streams_new(const struct model *model, struct symbols *symbols,
		      struct event_streams **ret_streams)
{
	struct event_streams *streams = calloc(1, sizeof(*streams));

	if (!streams)
		return -ENOMEM;
	streams->model = model;
	streams->symbols = symbols;
	*ret_streams = streams;
	return 0;
}

void event_streams_free(struct event_streams *streams)
{
	if (!streams)
		return;
	vec_foreach(&streams->targets, target) {
		perf_script_stream_free(target->stream);
		output_file_free(target->file);
	}
	vec_done(&streams->targets);
	stdout_stream_free(streams->out);
	free(streams);
}

int event_streams_add(struct event_streams *streams, uint32_t event_id, struct output_file *file,
		      struct stdout_queue *queue)
{
	struct target target = { .file = file };
	int r = 0;

	if (!file && !streams->out)
		r = stdout_stream_new(queue, &streams->out);
	if (r == 0)
		r = perf_script_stream_new(streams->model, streams->symbols, event_id,
					   file ? output_file_stream(file) :
						  stdout_stream_file(streams->out),
					   &target.stream);
	if (r == 0)
		r = vec_push(&streams->targets, target);
	if (r < 0) {
		perf_script_stream_free(target.stream);
		output_file_free(target.file);
	}
	return r;
}

int event_streams_write(struct event_streams *streams, const struct record_occurrence *occurrence)
{
	vec_foreach(&streams->targets, target) {
		int r = perf_script_stream_add(target->stream, occurrence);

		/* Why it failed the next flush of stdout says, or the end of a file. */
		if (r < 0 && r != -EIO)
			return r;
	}
	return 0;
}

int event_streams_flush(struct event_streams *streams)
{
	return streams->out ? stdout_stream_flush(streams->out) : 0;
}

int event_streams_finish(struct event_streams *streams)
{
	int r = event_streams_flush(streams);

	vec_foreach(&streams->targets, target) {
		int r_file = target->file ? output_file_end(target->file, 0) : 0;

		if (r == 0)
			r = r_file;
	}
	return r;
}
