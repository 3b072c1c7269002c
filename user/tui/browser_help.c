/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tui/browser_state.h"

const char *const browser_help[] = {
	"The sites that hold memory, anew each second; totals are of all processes.",
	"",
	"up down pgup pgdn home end   go (also k j space g G)",
	"enter                        the stack of the site; enter, esc or q leads back",
	"left right                   sort by the column before or behind; or at once by:",
	"  l  LIVE     bytes that live        b  BLOCKS   blocks that live",
	"  n  NEW      live, since the mark   r  /S       allocations a second",
	"  a  ALLOCS   allocations so far     p  PEAK     bytes at the process's peak",
	"95%      of samples: what LIVE can be off by; a ? says that there are few of them",
	"m        mark: a generation begins. NEW then counts what was allocated after the",
	"         mark and still lives, by the age that each block itself has (10 ms). It is",
	"         read while the program runs, a moment after LIVE.",
	"/        only sites with a frame whose function, file or object has this text",
	"esc      all sites again",
	"s        save a report as FORMAT:PATH (json:out.json, flamegraph:out.svg, ...)",
	"q        end: the final report goes to standard output",
};
const size_t browser_help_lines = sizeof(browser_help) / sizeof(browser_help[0]);
