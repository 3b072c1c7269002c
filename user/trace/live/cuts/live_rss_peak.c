/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/live/cuts/live_rss_peak.h"

#include <unistd.h>

void live_rss_peak_begin(struct live_rss_peak *peak, uint32_t earlier_pages)
{
	peak->knows_earlier = true;
	peak->earlier_pages = earlier_pages;
}

void live_rss_peak_note(struct live_rss_peak *peak, uint64_t bytes)
{
	if (bytes > peak->bytes)
		peak->bytes = bytes;
}

void live_rss_peak_end(struct live_rss_peak *peak, const struct abi_ev_process *ev)
{
	bool has_risen = peak->knows_earlier && ev->peak_pages > peak->earlier_pages;

	peak->is_least = !(ev->flags & ABI_PROCESS_OWN_PEAK) && !has_risen;
	if (!peak->is_least)
		live_rss_peak_note(peak, ev->peak_pages * (uint64_t)sysconf(_SC_PAGESIZE));
}
