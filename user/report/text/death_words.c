/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/text/death_words.h"

#include "config/units.h"
#include "report/text/text.h"

#include <inttypes.h>
#include <string.h>

static void add_cgroup(struct strbuf *out, const char *path, const struct record_memory_use *use)
{
	char size[FORMAT_UNIT_LEN];

	strbuf_adds(out, "cgroup ");
	escape_text(out, path ? path : "?");
	strbuf_addf(out, " was at its limit, %s used", format_size((int64_t)use->used, size));
	if (use->limit != UINT64_MAX)
		strbuf_addf(out, " of %s", format_size((int64_t)use->limit, size));
}

static void add_oom(struct strbuf *out, const struct record_death *death)
{
	const char *constraint = death->oom_constraint;

	strbuf_adds(out, "killed by the OOM killer");
	if (constraint && strcmp(constraint, "memcg") == 0) {
		strbuf_adds(out, ": ");
		add_cgroup(out, death->oom_cgroup, &death->oom_use);
	} else if (constraint) {
		strbuf_addf(out, ": the host was out of memory%s",
			    strcmp(constraint, "none") == 0   ? "" :
			    strcmp(constraint, "cpuset") == 0 ? " in a cpuset's nodes" :
								" in a policy's nodes");
	} else if (death->full_cgroup) {
		strbuf_adds(out, " when ");
		add_cgroup(out, death->full_cgroup, &death->full_use);
	} else {
		strbuf_adds(out, "; why is not known");
	}
}

void death_words_killer(struct strbuf *out, const struct model_process *image)
{
	const struct record_death *death = &image->death;

	if (!image->has_death)
		return;
	if (death->oom) {
		add_oom(out, death);
	} else if (death->killer == RECORD_KILLER_KERNEL) {
		strbuf_adds(out, "SIGKILL sent by the kernel, not by its OOM killer");
	} else if (death->killer == RECORD_KILLER_PROCESS && death->sender == image->pid) {
		strbuf_adds(out, "SIGKILL sent by itself");
	} else if (death->killer == RECORD_KILLER_PROCESS) {
		strbuf_addf(out, "SIGKILL sent by process %" PRIu32, death->sender);
		if (death->sender_comm) {
			strbuf_adds(out, " (");
			escape_text(out, death->sender_comm);
			strbuf_addch(out, ')');
		}
		strbuf_addf(out, " of user %" PRIu32, death->sender_uid);
	}
}

void death_words_memory(struct strbuf *out, const struct model_process *image)
{
	const struct record_death *death = &image->death;
	const struct {
		const char *name;
		uint64_t bytes;
	} parts[] = {
		/* CPUs add to sums in batches (struct percpu_counter): these are not exact. */
		{ "total-vm ", death->total_vm }, { "anon-rss ~", death->anon },
		{ "file-rss ~", death->file },	  { "shmem-rss ~", death->shared },
		{ "swapped ~", death->swapped },  { "page tables ", death->page_tables },
	};
	char size[FORMAT_UNIT_LEN];

	if (!image->has_death || !death->has_memory)
		return;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		strbuf_addf(out, "%s%s%s", i ? ", " : "", parts[i].name,
			    format_size((int64_t)parts[i].bytes, size));
	strbuf_addf(out, "; oom_score_adj %d", death->oom_score_adj);
}

void death_words_cgroup(struct strbuf *out, const struct model_process *image)
{
	const struct record_death *death = &image->death;
	char size[FORMAT_UNIT_LEN];

	if (!image->has_death || !death->cgroup)
		return;
	strbuf_adds(out, "cgroup ");
	escape_text(out, death->cgroup);
	strbuf_addf(out, ": %s used", format_size((int64_t)death->use.used, size));
	if (death->use.limit != UINT64_MAX)
		strbuf_addf(out, " of %s", format_size((int64_t)death->use.limit, size));
	else
		strbuf_adds(out, " without a limit");
	strbuf_addf(out, ", at most %s", format_size((int64_t)death->use.most, size));
	if (death->has_events)
		strbuf_addf(out,
			    "; so far %" PRIu64 " at the limit, %" PRIu64 " out of memory, %" PRIu64
			    " OOM kill%s",
			    death->limit_hits, death->ooms, death->oom_kills,
			    death->oom_kills == 1 ? "" : "s");
}
