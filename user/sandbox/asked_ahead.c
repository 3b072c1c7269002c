/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sandbox/asked_ahead.h"

#include <errno.h>
#include <string.h>

static void forget_question(struct asked_ahead *asked, struct asked_question *question)
{
	size_t at = (size_t)(question - asked->list);

	strbuf_done(&question->request);
	strbuf_done(&question->answer);
	memmove(question, question + 1, (--asked->n - at) * sizeof(*question));
}

void asked_ahead_reset(struct asked_ahead *asked)
{
	while (asked->n > 0)
		forget_question(asked, &asked->list[asked->n - 1]);
}

struct asked_question *asked_ahead_find(struct asked_ahead *asked, const struct asked_file *file,
					const struct strbuf *request)
{
	for (size_t i = 0; i < asked->n; i++) {
		struct asked_question *question = &asked->list[i];

		if (question->request.len == request->len &&
		    memcmp(strbuf_str(&question->request), strbuf_str(request), request->len) ==
			    0 &&
		    file_version_equal(&question->file.version, &file->version) &&
		    file_owner_equal(&question->file.owner, &file->owner))
			return question;
	}
	return NULL;
}

struct asked_question *asked_ahead_next(struct asked_ahead *asked)
{
	for (size_t i = 0; i < asked->n; i++)
		if (!asked->list[i].is_answered)
			return &asked->list[i];
	return NULL;
}

int asked_ahead_add(struct asked_ahead *asked, const struct asked_file *file,
		    const struct strbuf *request)
{
	struct asked_question question = { .file = *file };

	if (asked->n == ASKED_AHEAD_MOST && !asked->list[0].is_answered)
		return -ENOSPC;
	strbuf_add(&question.request, strbuf_str(request), request->len);
	if (strbuf_error(&question.request)) {
		strbuf_done(&question.request);
		return -ENOMEM;
	}
	if (asked->n == ASKED_AHEAD_MOST)
		forget_question(asked, &asked->list[0]);
	asked->list[asked->n++] = question;
	return 0;
}

void asked_ahead_drop(struct asked_ahead *asked)
{
	forget_question(asked, &asked->list[asked->n - 1]);
}

void asked_ahead_take(struct asked_ahead *asked, struct asked_question *question,
		      struct strbuf *answer)
{
	strbuf_done(answer);
	*answer = question->answer;
	question->answer = (struct strbuf){ 0 };
	forget_question(asked, question);
}
