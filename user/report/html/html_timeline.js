/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The timeline of the HTML report: live and resident bytes over the run, the peak, and a range that
 * is chosen by the mouse or by numbers. What a site gained in it is told from the site's own series.
 * Where allocations were not counted there is what was resident alone.
 */
"use strict";
(function (report) {
	const el = report.el, svg = report.svg, state = report.state;
	const HEIGHT = 220, LEFT = 70, RIGHT = 14, TOP = 14, BOTTOM = 24;
	/* What is not looked at each time, of one process alone, and only shown when asked for. */
	const FURTHER = { pss: "proportional share", cgroup: "its cgroup" }, further = {};
	let box, canvas, legend, legendOfLive, summary, from, to, rss, peakRss, rssChoice = null, line = null;
	let scale = null, lines = 0;

	/* The last point at or before a time; -1: none. */
	function pointAt(times, ns) {
		let low = 0, high = times.length;
		while (low < high) {
			const middle = (low + high) >> 1;
			if (times[middle] <= ns)
				low = middle + 1;
			else
				high = middle;
		}
		return low - 1;
	}

	const SUMMED = ["live_bytes", "live_blocks", "allocs", "frees", "bytes", "rss"];

	/* One that ended before anything looked at what was resident of it. */
	function isWithoutRss(process) {
		return process.timeline.rss.every(function (bytes) { return bytes === null; });
	}

	/*
	 * What a process adds at a time: nothing before it began, and no memory after its end. Its peak is
	 * known whether it is among the points or not.
	 */
	function valueAt(process, key, ns) {
		const times = process.timeline.time_ns, at = pointAt(times, ns);
		if (key === "live_bytes" && ns === process.timeline.peak_ns && process.alloc.peak_bytes !== null)
			return process.alloc.peak_bytes;
		const gone = process.end !== null && ns > times[times.length - 1];
		if (at < 0 || (gone && (key === "live_bytes" || key === "live_blocks" || key === "rss")))
			return 0;
		/* Nobody counted its allocations. */
		if (process.timeline[key] === null)
			return null;
		if (key === "rss" && isWithoutRss(process))
			return 0;
		/* What is in memory is not looked at in the last moment. */
		return key === "rss" && at > 0 && process.timeline.rss[at] === null ? process.timeline.rss[at - 1] :
			process.timeline[key][at];
	}

	/* A timeline of all processes, at the times of all their points and peaks. */
	function together(processes) {
		const times = new Set();
		processes.forEach(function (p) {
			p.timeline.time_ns.forEach(function (ns) { times.add(ns); });
			if (p.timeline.peak_ns !== null)
				times.add(p.timeline.peak_ns);
		});
		const all = { time_ns: Array.from(times).sort(function (a, b) { return a - b; }), peak_ns: null };
		SUMMED.forEach(function (key) {
			all[key] = all.time_ns.map(function (ns) {
				return processes.reduce(function (sum, p) {
					const value = valueAt(p, key, ns);
					return sum === null || value === null ? null : sum + value;
				}, 0);
			});
		});
		return all;
	}

	function shownLine() {
		const withTimes = (state.process ? [state.process] : report.processes).filter(function (p) {
			return p.timeline !== null;
		});
		lines = withTimes.length;
		if (lines === 0)
			return null;
		return lines === 1 ? withTimes[0].timeline : together(withTimes);
	}

	/* 1, 2 or 5 times a power of ten: a step of an axis with about `wanted` of them. */
	function roundStep(span, wanted) {
		const raw = span / wanted, power = Math.pow(10, Math.floor(Math.log10(raw)));
		return power * [1, 2, 5, 10].find(function (factor) { return power * factor >= raw; });
	}

	function path(times, values) {
		let text = "", up = true;
		times.forEach(function (ns, at) {
			if (values[at] === null) {
				up = true;
				return;
			}
			text += (up ? "M" : "L") + scale.x(ns).toFixed(1) + " " + scale.y(values[at]).toFixed(1);
			up = false;
		});
		return text;
	}

	/* The same of values that are not known each time. */
	function pathOfKnown(times, values) {
		const known = times.map(function (ns, at) { return at; }).filter(function (at) {
			return values[at] !== null;
		});
		return path(known.map(function (at) { return times[at]; }), known.map(function (at) { return values[at]; }));
	}

	function isKnown(key) {
		return line[key] !== undefined && line[key] !== null &&
			line[key].some(function (value) { return value !== null; });
	}

	/* Of those that are known and chosen. */
	function shownFurther() {
		return Object.keys(FURTHER).filter(function (key) {
			further[key].parentNode.hidden = !isKnown(key);
			return further[key].checked && isKnown(key);
		});
	}

	function drawAxes(width, start, end, top) {
		for (let power = Math.pow(2, Math.floor(Math.log2(Math.max(top, 1)))), value = power; value > 0;
			value = value > Math.max(top / 2, 1) ? value / 2 : 0) {
			canvas.append(svg("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: scale.y(value),
				y2: scale.y(value) }));
			canvas.append(svg("text", { class: "tick end", x: LEFT - 6, y: scale.y(value) + 4 },
				report.bytes(value)));
		}
		canvas.append(svg("line", { class: "axis", x1: LEFT, x2: width - RIGHT, y1: scale.y(0), y2: scale.y(0) }));
		canvas.append(svg("text", { class: "tick end", x: LEFT - 6, y: scale.y(0) + 4 }, "0"));
		const step = roundStep(Math.max(end - start, 1), width / 110);
		for (let ns = Math.ceil(start / step) * step; ns <= end; ns += step)
			canvas.append(svg("text", { class: "tick middle", x: scale.x(ns), y: HEIGHT - 6 },
				ns === 0 ? "0" : report.duration(ns)));
	}

	function drawPeak(peakNs, peakBytes, width) {
		const x = scale.x(peakNs), y = scale.y(peakBytes), late = x > width / 2;
		canvas.append(svg("line", { class: "peak", x1: x, x2: x, y1: y, y2: scale.y(0) }));
		canvas.append(svg("circle", { class: "peak", cx: x, cy: y, r: 3.5 }));
		canvas.append(svg("text", { class: "peak" + (late ? " end" : ""), id: "peak", x: x + (late ? 4 : -4),
			y: y - 9 }, "peak " + report.bytes(peakBytes)));
	}

	function drawRange() {
		const old = canvas.querySelector(".range");
		if (old)
			old.remove();
		if (state.range)
			canvas.append(svg("rect", { class: "range", x: scale.x(state.range[0]), y: TOP,
				width: Math.max(scale.x(state.range[1]) - scale.x(state.range[0]), 1),
				height: HEIGHT - TOP - BOTTOM }));
	}

	/* By the kernel's mark: what was there for a moment is between the points. */
	function mostResident(timeline) {
		if (timeline === null || timeline.peak_rss === null)
			return "";
		return ", " + (timeline.peak_rss_exact ? "at most " : "at least once ") + report.bytes(timeline.peak_rss);
	}

	function draw() {
		const width = Math.max(box.clientWidth, 320), process = state.process;
		canvas.textContent = "";
		line = shownLine();
		box.classList.toggle("empty", line === null || line.time_ns.length < 2);
		if (line === null || line.time_ns.length < 2) {
			line = null;
			summary.textContent = "The run was too short for a timeline.";
			legend.hidden = true;
			return;
		}
		legend.hidden = false;
		const times = line.time_ns, start = times[0], end = times[times.length - 1];
		const ofOne = process || (report.processes.length === 1 ? report.processes[0] : null);
		const peak = ofOne && line.peak_ns !== null ? ofOne.alloc.peak_bytes : null;
		peakRss.textContent = ofOne ? mostResident(ofOne.timeline) : "";
		const heap = isKnown("live_bytes"), resident = Math.max(0, ...line.rss);
		const most = heap ? Math.max(1, peak || 0, ...line.live_bytes) : 1;
		legendOfLive.hidden = !heap;
		/* Much more resident memory would press what is live to the ground. */
		if (rssChoice === null)
			rss.checked = !heap || resident < 5 * most;
		const extra = shownFurther();
		const top = Math.max(most, rss.checked ? resident : 0, ...extra.map(function (key) {
			return Math.max(...line[key]);
		})) * 1.14;
		scale = {
			x: function (ns) {
				const part = (Math.min(Math.max(ns, start), end) - start) / Math.max(end - start, 1);
				return LEFT + part * (width - LEFT - RIGHT);
			},
			y: function (value) { return HEIGHT - BOTTOM - value / top * (HEIGHT - TOP - BOTTOM); },
			ns: function (x) {
				const part = Math.min(Math.max((x - LEFT) / (width - LEFT - RIGHT), 0), 1);
				return start + part * (end - start);
			}
		};
		canvas.setAttribute("viewBox", "0 0 " + width + " " + HEIGHT);
		canvas.setAttribute("width", width);
		drawAxes(width, start, end, top);
		if (heap) {
			const live = path(times, line.live_bytes);
			if (!line.live_bytes.includes(null))
				canvas.append(svg("path", { class: "area", d: live + "L" + scale.x(end) + " " + scale.y(0) + "L" +
					scale.x(start) + " " + scale.y(0) + "Z" }));
			canvas.append(svg("path", { class: "live", d: live }));
		}
		if (rss.checked)
			canvas.append(svg("path", { class: "rss", d: pathOfKnown(times, line.rss) }));
		extra.forEach(function (key) {
			canvas.append(svg("path", { class: key, d: pathOfKnown(times, line[key]) }));
		});
		if (peak !== null)
			drawPeak(line.peak_ns, peak, width);
		drawRange();
		summarize();
	}

	/* The last that is known at a point or before it; null: nothing is. */
	function residentAt(at) {
		while (at >= 0 && line.rss[at] === null)
			at--;
		return at < 0 ? null : line.rss[at];
	}

	function signed(value) { return (value < 0 ? "\u2212" : "+") + report.count(Math.abs(value)); }

	function summarize() {
		const range = state.range;
		document.getElementById("clear-range").hidden = !range;
		from.value = range ? (range[0] / 1e9).toFixed(3) : "";
		to.value = range ? (range[1] / 1e9).toFixed(3) : "";
		if (!range) {
			const without = state.process ? 0 : report.processes.length - lines;
			const unseen = state.process ? 0 : report.processes.filter(function (p) {
				return p.timeline !== null && isWithoutRss(p);
			}).length;
			summary.textContent = (isKnown("live_bytes") ? "Drag over the timeline to choose a range: the table and " +
				"the flame graph then show what sites gained in it." : "Allocations were not counted: it is what was " +
				"resident. Drag over the timeline to choose a range.") + (without ? " Of " + report.count(without) +
				" processes there is no timeline; they are not in the picture." : "") + (unseen ? " " +
				report.count(unseen) + " processes ended before their resident memory was sampled, so it is not shown." :
				"");
			return;
		}
		const a = pointAt(line.time_ns, range[0]), b = pointAt(line.time_ns, range[1]);
		const seconds = (range[1] - range[0]) / 1e9;
		function gained(key) { return line[key][b] - line[key][a]; }
		if (!isKnown("live_bytes") || line.live_bytes[a] === null || line.live_bytes[b] === null) {
			const first = residentAt(a), last = residentAt(b);
			summary.textContent = from.value + " s to " + to.value + " s: " + (first === null || last === null ?
				"it is not known what was resident" : "resident " + signed(last - first) + " bytes");
			return;
		}
		summary.textContent = from.value + " s to " + to.value + " s: live " +
			signed(gained("live_bytes")) + " bytes in " + signed(gained("live_blocks")) + " blocks, " +
			report.count(gained("allocs")) + " allocations of " + report.count(gained("bytes")) + " bytes (" +
			report.bytes(Math.round(gained("bytes") / seconds)) + "/s), " + report.count(gained("frees")) +
			" frees";
	}

	function nearest(times, ns) {
		const before = Math.max(pointAt(times, ns), 0), after = Math.min(before + 1, times.length - 1);
		return ns - times[before] > times[after] - ns ? after : before;
	}

	/* A range begins and ends at points, since nothing is known between them. */
	function choose(a, b) {
		const times = line.time_ns, first = nearest(times, Math.min(a, b)), last = nearest(times, Math.max(a, b));
		if (last <= first)
			state.range = null;
		else
			state.range = [times[first], times[last]];
		drawRange();
		summarize();
	}

	/* What a site gained in the chosen range; null: nobody followed it then. */
	report.gained = function (site) {
		const series = site.series, timeline = site.process.timeline;
		if (!state.range || !series || !timeline)
			return null;
		function at(ns) {
			const index = pointAt(timeline.time_ns, ns);
			if (index < 0)
				return 0;
			if (index < series[0])
				return null;
			return site.process.end !== null && ns > timeline.time_ns[timeline.time_ns.length - 1] ? 0 :
				series[1 + index - series[0]];
		}
		const a = at(state.range[0]), b = at(state.range[1]);
		return a === null || b === null ? null : b - a;
	};

	/* A site's series as a small picture; null: there is none. */
	report.sparkline = function (site) {
		if (!site.series || site.series.length < 3)
			return null;
		const values = site.series.slice(1), top = Math.max(1, ...values), times = site.process.timeline.time_ns;
		const start = times[0], span = Math.max(times[times.length - 1] - start, 1);
		const picture = svg("svg", { class: "spark", viewBox: "0 0 300 40", width: 300, height: 40 });
		picture.append(svg("path", { d: values.map(function (value, index) {
			return (index ? "L" : "M") + (300 * (times[site.series[0] + index] - start) / span).toFixed(1) + " " +
				(39 - 37 * value / top).toFixed(1);
		}).join("") }));
		return picture;
	};

	function listen() {
		let begun = null;
		function ns(event) { return scale.ns(event.clientX - canvas.getBoundingClientRect().left); }
		canvas.addEventListener("pointerdown", function (event) {
			if (!line)
				return;
			begun = ns(event);
			canvas.setPointerCapture(event.pointerId);
			event.preventDefault();
		});
		canvas.addEventListener("pointermove", function (event) {
			if (begun !== null)
				choose(begun, ns(event));
		});
		canvas.addEventListener("pointerup", function (event) {
			if (begun === null)
				return;
			choose(begun, ns(event));
			begun = null;
			report.changed("range");
		});
		[from, to].forEach(function (input) {
			input.addEventListener("change", function () {
				const times = line ? line.time_ns : null;
				if (!times)
					return;
				choose(from.value === "" ? times[0] : 1e9 * from.value,
					to.value === "" ? times[times.length - 1] : 1e9 * to.value);
				report.changed("range");
			});
		});
		document.getElementById("clear-range").addEventListener("click", function () {
			state.range = null;
			drawRange();
			summarize();
			report.changed("range");
		});
		rss.addEventListener("change", function () {
			rssChoice = rss.checked;
			draw();
		});
		Object.keys(FURTHER).forEach(function (key) { further[key].addEventListener("change", draw); });
		window.addEventListener("resize", draw);
	}

	report.addTimeline = function () {
		const place = report.section("timeline", "Timeline");
		canvas = svg("svg", { height: HEIGHT, role: "img", "aria-label": "memory over time" });
		summary = el("p", { id: "range", class: "dim" });
		from = el("input", { id: "from", inputmode: "decimal", size: 8, "aria-label": "range from second" });
		to = el("input", { id: "to", inputmode: "decimal", size: 8, "aria-label": "range to second" });
		rss = el("input", { id: "rss", type: "checkbox" });
		peakRss = el("span", { id: "peak-rss" });
		Object.keys(FURTHER).forEach(function (key) { further[key] = el("input", { id: key, type: "checkbox" }); });
		box = el("div", { class: "plot" }, canvas);
		legendOfLive = el("li", {}, el("i", { class: "key-live" }), "live, of the heap");
		legend = el("ul", { class: "legend" }, legendOfLive,
			el("li", {}, el("label", {}, rss, " ", el("i", { class: "key-rss" }), "resident", peakRss)),
			...Object.keys(FURTHER).map(function (key) {
				return el("li", {}, el("label", {}, further[key], " ", el("i", { class: "key-" + key }), FURTHER[key]));
			}),
			el("li", { class: "controls" }, "range from ", from, " to ", to, " s ",
				el("button", { id: "clear-range", hidden: "" }, "clear")));
		place.append(legend, box, summary);
		listen();
		report.watch(function (what) {
			if (what === "process")
				draw();
		});
	};
}(report));
