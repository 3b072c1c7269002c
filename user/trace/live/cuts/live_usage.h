/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel says of a process's memory, for samples: what is resident, what its cgroup uses,
 * and now and then its proportional share. Of one thread.
 */
#ifndef MEMTRACED_TRACE_LIVE_USAGE_H
#define MEMTRACED_TRACE_LIVE_USAGE_H

#include "bpf/abi_event.h"
#include "trace/record/record_sample.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct live_usage;

#define LIVE_PSS_EVERY_NS 10000000000ULL
/* Where only this is read, of so many at a time: as many as the model keeps series of. */
#define LIVE_USAGE_PROCESSES 1024U

/*
 * A process's share is read `pss_every_ns` after it is first looked at, then so often at most; 0:
 * not at all. 0 or -ENOMEM; where there are no memory cgroups, nothing is known of them.
 */
int live_usage_new(uint64_t pss_every_ns, struct live_usage **ret_usage);
void live_usage_free(struct live_usage *usage);

/* When one process's share is read again: zeroed, it has not been read. */
struct live_usage_clock {
	uint64_t next_pss_ns;
	uint64_t pss_bytes; /* for the next sample; 0: not read since the one before */
};

/* A sample begins; to be called before what is below. */
void live_usage_begin(struct live_usage *usage);

/*
 * Reads the share of a process if it is due. False: for this sample there is no more time, of all
 * processes together; who is next should be first the next time.
 */
bool live_usage_read_share(struct live_usage *usage, pid_t pid, struct live_usage_clock *clock);

/* Sets rss_bytes, cgroup_bytes and pss_bytes of the sample, each to what says "not known", too. */
void live_usage_read(struct live_usage *usage, pid_t pid, struct live_usage_clock *clock,
		     struct record_sample_process *sample);

/*
 * The most that an image had resident, by the mark that the kernel keeps: samples miss what is
 * there for a moment. /proc has the mark while the image runs, the events of exec and exit have it
 * at the end: where the kernel has given the address space back by then, they have the mark of the
 * pid, in which earlier images are, and which is the image's own only if it has risen since it
 * began.
 */
struct live_rss_peak {
	uint64_t bytes;	    /* 0: not known */
	bool is_least;	    /* it may have been more */
	bool knows_earlier; /* what of the pid's mark is of earlier images: */
	uint32_t earlier_pages;
};

/* An image whose process had that mark before; 0: a new process's. */
void live_rss_peak_begin(struct live_rss_peak *peak, uint32_t earlier_pages);
/* Its mark while it runs. */
void live_rss_peak_note(struct live_rss_peak *peak, uint64_t bytes);
/* Its end, of which this event tells: an EXIT, or an EXEC that replaces it. */
void live_rss_peak_end(struct live_rss_peak *peak, const struct abi_ev_process *ev);

#endif
