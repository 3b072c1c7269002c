/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The most that an image had resident, by the mark that the kernel keeps: samples miss what is
 * there for a moment. /proc has the mark while the image runs, the events of exec and exit have it
 * at the end: where the kernel has given the address space back by then, they have the mark of the
 * pid, in which earlier images are, and which is the image's own only if it has risen since it
 * began. One thread.
 */
#ifndef MEMTRACED_TRACE_LIVE_RSS_PEAK_H
#define MEMTRACED_TRACE_LIVE_RSS_PEAK_H

#include "bpf/abi_event.h"

#include <stdbool.h>
#include <stdint.h>

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
