/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/leak/leak_replay.h"

#include "base/escape.h"
#include "base/vec.h"
#include "report/leak/leak_result.h"
#include "report/text/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct leak_replay {
	VEC(struct leak_result *) results;
};

int leak_replay_new(struct leak_replay **ret_replay)
{
	struct leak_replay *replay = calloc(1, sizeof(*replay));

	if (!replay)
		return -ENOMEM;
	*ret_replay = replay;
	return 0;
}

void leak_replay_free(struct leak_replay *replay)
{
	if (!replay)
		return;
	vec_foreach(&replay->results, result)
		leak_result_free(*result);
	vec_done(&replay->results);
	free(replay);
}

static int add_result(struct leak_replay *replay, const struct record_leaks *record)
{
	struct leak_result *result;
	int r = leak_record_read(record, &result);

	if (r < 0)
		return r;
	vec_foreach(&replay->results, other) {
		if (!image_is((*other)->seen.image, result->seen.image))
			continue;
		leak_result_free(*other);
		*other = result;
		return 0;
	}
	r = vec_push(&replay->results, result);
	if (r < 0)
		leak_result_free(result);
	return r;
}

/* The lines as they were written, but safe for a terminal: others may have made the recording. */
static int write_text(const char *text)
{
	_cleanup_strbuf_ struct strbuf out = { 0 };

	escape_bytes(&out, text, strlen(text), "\n");
	if (strbuf_error(&out) < 0)
		return strbuf_error(&out);
	/* nobody who closed standard error wants to hear of that */
	(void)fputs(strbuf_str(&out), stderr);
	return 0;
}

int leak_replay_add(const struct record *record, void *userdata)
{
	struct leak_replay *replay = userdata;

	if (record->type == RECORD_LEAKS)
		return add_result(replay, &record->leaks);
	return record->type == RECORD_LEAK_TEXT ? write_text(record->leak_text.text) : 0;
}

struct leak_result *const *leak_replay_results(const struct leak_replay *replay, size_t *ret_n)
{
	*ret_n = replay->results.len;
	return replay->results.data;
}
