/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "service/leak/leak_xml_log.h"

#include "base/clock.h"
#include "base/vec.h"
#include "config/words.h"
#include "service/leak/leak_log.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

struct document {
	char *path;
	pid_t pid;
	uint64_t start_ns;
	bool finished;
	VEC(uint64_t) counts; /* of errors, by their numbers; 0: not counted by it, as leaks */
};

struct leak_xml_log {
	const struct options *options;
	const struct suppressions *suppressions;
	struct leak_log *log;
	VEC(struct document) documents;
};

/* In another file than the text, where %n tells them apart. */
static unsigned int file_number(const struct leak_options *leak)
{
	return leak->log.path && strstr(leak->log.path, "%n") ? 2 : 1;
}

int leak_xml_log_new(const struct options *options, const struct suppressions *suppressions,
		     struct leak_xml_log **ret_log)
{
	_cleanup_(leak_xml_log_free_p) struct leak_xml_log *log = calloc(1, sizeof(*log));
	int r;

	if (!log)
		return -ENOMEM;
	log->options = options;
	log->suppressions = suppressions;
	r = leak_log_new(&options->leak.xml.to, "--xml", file_number(&options->leak), &log->log);
	if (r < 0)
		return r;
	*ret_log = TAKE_PTR(log);
	return 0;
}

void leak_xml_log_free(struct leak_xml_log *log)
{
	if (!log)
		return;
	vec_foreach(&log->documents, document) {
		free(document->path);
		vec_done(&document->counts);
	}
	vec_done(&log->documents);
	leak_log_free(log->log);
	free(log);
}

/* --- documents -------------------------------------------------------------------------------- */

static int add_text(struct leak_xml_log *log, pid_t pid, const struct strbuf *text)
{
	return strbuf_error(text) < 0 ? strbuf_error(text) :
					leak_log_add(log->log, pid, strbuf_str(text));
}

static struct document *find_document(const struct leak_xml_log *log, const char *path)
{
	vec_foreach(&log->documents, document)
		if (strcmp(document->path, path) == 0)
			return document;
	return NULL;
}

static int begin_document(struct leak_xml_log *log, char *path, pid_t pid, pid_t ppid,
			  char *const *command)
{
	struct leak_xml_head head = { .pid = pid,
				      .ppid = ppid,
				      .program = log->options->program,
				      .own_words = log->options->own_words,
				      .command = command };
	_cleanup_strbuf_ struct strbuf text = { 0 };
	struct document document = { .pid = pid, .start_ns = clock_monotonic_ns() };
	int r;

	head.variables = leak_log_variables(log->log, &head.n_variables);
	leak_xml_begin(&text, &head, &log->options->leak.xml);
	r = add_text(log, pid, &text);
	if (r < 0)
		return r;
	document.path = strdup(path);
	r = document.path ? vec_push(&log->documents, document) : -ENOMEM;
	if (r < 0)
		free(document.path);
	return r;
}

int leak_xml_log_begin(struct leak_xml_log *log, pid_t pid, char *const *command)
{
	_cleanup_free_ char *path = leak_log_path(log->log, pid);

	return path ? begin_document(log, path, pid, getpid(), command) : -ENOMEM;
}

/* Of an image that was found: its words, or its name. */
static int begin_of_image(struct leak_xml_log *log, char *path, const struct model_process *image)
{
	char *name[] = { (char *)(image->exe ? image->exe : image->comm), NULL };
	char **words = NULL;
	int r = image->command ? words_split(image->command, &words) : -EINVAL;

	if (r == -ENOMEM)
		return r;
	r = begin_document(log, path, (pid_t)image->pid, (pid_t)image->ppid, words ? words : name);
	words_free(words);
	return r;
}

/* That of the image's process, which is begun if need be. */
static int document_of(struct leak_xml_log *log, const struct model_process *image,
		       struct document **ret_document)
{
	_cleanup_free_ char *path = leak_log_path(log->log, (pid_t)image->pid);
	int r = path ? 0 : -ENOMEM;

	if (r == 0 && !find_document(log, path))
		r = begin_of_image(log, path, image);
	if (r == 0)
		*ret_document = find_document(log, path);
	return r;
}

/* --- what is in them -------------------------------------------------------------------------- */

int leak_xml_log_number(struct leak_xml_log *log, const struct model_process *image,
			struct leak_xml_id *ret_id)
{
	struct document *document = NULL;
	int r = document_of(log, image, &document);

	if (r == 0)
		r = vec_push(&document->counts, 0);
	if (r < 0)
		return r;
	*ret_id = (struct leak_xml_id){ .unique = document->counts.len - 1,
					.image = image,
					.is_other = document->pid != (pid_t)image->pid };
	return 0;
}

int leak_xml_log_add(struct leak_xml_log *log, const struct model_process *image,
		     const struct strbuf *text)
{
	return add_text(log, (pid_t)image->pid, text);
}

void leak_xml_log_count(struct leak_xml_log *log, pid_t pid, uint64_t unique, uint64_t count)
{
	_cleanup_free_ char *path = leak_log_path(log->log, pid);
	struct document *document = path ? find_document(log, path) : NULL;

	if (document && unique < document->counts.len)
		document->counts.data[unique] = count;
}

static int finish(struct leak_xml_log *log, struct document *document)
{
	_cleanup_strbuf_ struct strbuf text = { 0 };

	if (document->finished)
		return 0;
	document->finished = true;
	leak_xml_finished(&text, clock_monotonic_ns() - document->start_ns);
	return add_text(log, document->pid, &text);
}

int leak_xml_log_finish(struct leak_xml_log *log, const struct model_process *image)
{
	struct document *document = NULL;
	int r = document_of(log, image, &document);

	return r == 0 && document->pid == (pid_t)image->pid ? finish(log, document) : r;
}

int leak_xml_log_end(struct leak_xml_log *log)
{
	int r = 0;

	vec_foreach(&log->documents, document) {
		_cleanup_strbuf_ struct strbuf text = { 0 };

		if (r == 0)
			r = finish(log, document);
		leak_xml_end(&text, document->counts.data, document->counts.len, log->suppressions);
		if (r == 0)
			r = add_text(log, document->pid, &text);
	}
	return r;
}

void leak_xml_log_stop(struct leak_xml_log *log)
{
	leak_log_stop(log->log);
}

int leak_xml_log_flush(struct leak_xml_log *log)
{
	return leak_log_flush(log->log);
}
