/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How programs come to have our library (--sample, --exact): by the environment of a
 * command, or by systemd's of a service.
 */
#ifndef MEMTRACED_SERVICE_SAMPLE_LIBRARY_H
#define MEMTRACED_SERVICE_SAMPLE_LIBRARY_H

#include "base/strbuf.h"
#include "config/options.h"

#include <stdbool.h>
#include <stdlib.h>

/* Do processes count their calls themselves? */
struct kept_books {
	char *library; /* its path; NULL: they do not, */
	char *why_not; /* though they would else; NULL, too: that was not asked for */
};

static inline void kept_books_done(struct kept_books *books)
{
	free(books->library);
	free(books->why_not);
}

/*
 * The variables to set for the command: the user's (--env), and with --sample the interval unless
 * the user has set it, and our library before what else is preloaded, unless the command carries
 * probes itself or MEMTRACED_SAMPLE_PRELOAD is "no". NULL-terminated, for words_free. *ret_sampled:
 * will it show samples, as far as its file tells? *ret_books: to be done in any case. 0 or -ENOMEM.
 */
int sample_environment(const struct options *options, char ***ret_words, bool *ret_sampled,
		       struct kept_books *ret_books);

/*
 * The same of the processes of -p: they do if each of them does, and its counts can be read. What
 * speaks against that is logged. 0; -ENOTSUP: --exact=library, and they do not; or -ENOMEM.
 */
int running_books(const struct options *options, struct kept_books *ret_books);

/*
 * `memtraced sample --unit`: the drop-in by which systemd preloads the sampling library into a
 * service from its next start on. Nothing is restarted here, and nothing that runs is touched.
 *
 * The text of the drop-in. -EINVAL: the library's path cannot stand there.
 */
int sample_unit_text(const struct sample_unit_options *options, const char *library,
		     struct strbuf *out);

/* Writes, prints or removes it and says what to do then. 0 or negative errno, which was logged. */
int sample_unit_run(const struct sample_unit_options *options);

#endif
