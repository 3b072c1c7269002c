/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of the HTML report in their order on the page. */
"use strict";
(function (report) {
	report.addHead();
	if (report.data.allocations || report.processes.some(function (process) { return process.timeline !== null; }))
		report.addTimeline();
	if (report.data.allocations || report.data.events.length > 0)
		report.addFlame();
	if (report.data.allocations)
		report.addSites();
	report.addJobs();
	report.choose(report.processes.length === 1 ? report.processes[0] : null);
	if (!report.data.allocations)
		report.changed("shown");
	document.body.dataset.ready = "1";
}(report));
