/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the other jobs of a run counted, in the HTML report: histograms and system calls. Stacks of
 * events are the flame graph's.
 */
"use strict";
(function (report) {
	const el = report.el, data = report.data;

	function bound(value, unit) {
		if (value === null)
			return "";
		if (unit === "bytes")
			return report.bytes(value);
		return unit === "ns" ? report.duration(value) : report.count(value);
	}

	function bucketText(bucket, unit) {
		if (bucket.lo === null)
			return "< " + bound(bucket.hi, unit);
		if (bucket.hi === null)
			return "\u2265 " + bound(bucket.lo, unit);
		return bound(bucket.lo, unit) + " \u2026";
	}

	function addHistogram(place, histogram) {
		const most = histogram.buckets.reduce(function (top, b) { return Math.max(top, b.count); }, 1);
		const table = el("table", { class: "histogram" });
		histogram.buckets.forEach(function (bucket) {
			table.append(el("tr", {}, el("td", { class: "n" }, bucketText(bucket, histogram.unit)),
				el("td", { class: "n" }, report.count(bucket.count)), el("td", { class: "wide" },
					el("i", { class: "fill", style: "width:" + (100 * bucket.count / most).toFixed(2) + "%" }))));
		});
		place.append(el("h3", {}, histogram.spec + (histogram.key === null ? "" : ", " + histogram.key) + ": " +
			report.count(histogram.count)), table);
		const errors = Object.keys(histogram.errors);
		if (errors.length > 0)
			place.append(el("p", { class: "dim" }, "errors: " + errors.map(function (name) {
				return name + " " + report.count(histogram.errors[name]);
			}).join(", ")));
	}

	const CALL_COLUMNS = [["calls", "calls", report.count], ["errors", "errors", report.count],
		["total_ns", "time", report.duration], ["p99_ns", "99 %", report.duration],
		["max_ns", "longest", report.duration], ["bytes", "bytes", report.count]];

	function addSyscalls(place, process) {
		const table = el("table", { class: "small" }, el("tr", {}, el("th", {}, "system call"),
			...CALL_COLUMNS.map(function (column) { return el("th", { class: "n" }, column[1]); })));
		process.calls.forEach(function (call) {
			table.append(el("tr", {}, el("td", {}, call.name || "number " + call.number),
				...CALL_COLUMNS.map(function (column) {
					return el("td", { class: "n" }, column[2](call[column[0]]));
				})));
		});
		place.append(el("h3", {}, (process.comm || "unknown") + (process.pid === null ? "" : "-" + process.pid)),
			table);
	}

	report.addJobs = function () {
		if (data.histograms.length > 0) {
			const place = report.section("histograms", "Histograms");
			data.histograms.forEach(function (histogram) { addHistogram(place, histogram); });
		}
		if (data.syscalls.length > 0) {
			const place = report.section("syscalls", "System calls");
			data.syscalls.forEach(function (process) { addSyscalls(place, process); });
		}
	};
}(report));
