/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Suppression entries for what was found, such that Valgrind reads them as well, and the same leak
 * of the next build is still meant.
 */
#ifndef MEMTRACED_ANALYZE_SUPPRESSION_GENERATE_H
#define MEMTRACED_ANALYZE_SUPPRESSION_GENERATE_H

#include "analyze/valgrind_names.h"
#include "base/strbuf.h"

#define SUPP_GENERATE_FRAMES 24U /* what Valgrind writes at most */

/*
 * Appends an entry: frames up to main, or n_max of them (0: SUPP_GENERATE_FRAMES). The class is of
 * leaks.
 */
void suppression_generate(struct strbuf *sb, enum suppression_kind kind, enum reach_class class,
			  const struct suppression_frame *frames, size_t n, size_t n_max);

#endif
