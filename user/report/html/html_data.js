/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The data of the HTML report, its numbers as text, and elements made of text alone: names are the
 * traced program's and may say anything. The other html_*.js hang their parts on `report`.
 */
"use strict";
const report = (function () {
	const INLINE = 1, KERNEL = 2, MARK = 4; /* html_stacks.c has the same */
	/* The columns of html_data.c's rows. */
	const COLUMNS = ["id", "mapped", "live", "blocks", "allocs", "bytes", "peak", "temporary", "oldest",
		"newest", "leak", "growth", "ci95_bytes", "ci95_blocks", "ci95_peak_bytes",
		"ci95_allocated_bytes", "ci95_allocs", "series", "named", "node"];
	/* And of where its blocks are freed, where that was asked for. */
	const FREES = ["site", "node", "blocks", "bytes", "others", "unknown", "total", "lifetimes"];
	const data = JSON.parse(document.getElementById("data").textContent);
	const processes = data.processes, sites = [];

	processes.forEach(function (process, index) {
		process.index = index;
		process.name = (process.comm || "unknown") + (process.pid === null ? "" : "-" + process.pid);
		process.sites.forEach(function (row) {
			const site = { process: process };
			COLUMNS.forEach(function (name, at) { site[name] = row[at]; });
			site.frees = process.frees ? [] : null;
			sites.push(site);
		});
		const first = sites.length - process.sites.length;
		(process.frees || []).forEach(function (row) {
			const place = {};
			FREES.forEach(function (name, at) { place[name] = row[at]; });
			sites[first + place.site].frees.push(place);
		});
		delete process.frees;
		delete process.sites;
	});

	const nodes = {
		count: data.nodes.length / 2,
		caller: function (node) { return data.nodes[2 * node]; },
		frame: function (node) { return data.nodes[2 * node + 1]; }
	};

	function baseName(path) { return path.slice(path.lastIndexOf("/") + 1); }

	function string(index) { return index < 0 ? null : data.strings[index]; }

	const frames = data.frames.map(function (row) {
		const object = string(row[3]), frame = {
			function: string(row[0]), file: string(row[1]), line: row[2], object: object, offset: row[4],
			inline: (row[5] & INLINE) !== 0, kernel: (row[5] & KERNEL) !== 0, mark: (row[5] & MARK) !== 0
		};
		frame.name = frame.function || (object ? "[" + baseName(object).replace(/^\[|\]$/g, "") + "]" :
			"[unknown]");
		frame.short = string(row[6]) || frame.name;
		frame.source = frame.file ? baseName(frame.file) + (frame.line ? ":" + frame.line : "") : "";
		return frame;
	});

	/* The frames of a stack, innermost first. */
	function stackOf(node) {
		const stack = [];
		for (; node >= 0; node = nodes.caller(node))
			stack.push(frames[nodes.frame(node)]);
		return stack;
	}

	/* What JavaScript cannot hold exactly is not printed as if it were. */
	function count(value) {
		if (value === null || value === undefined)
			return "\u2014";
		return (Number.isSafeInteger(value) ? "" : "~") + value.toLocaleString("en-US");
	}

	function scaled(value, step, units) {
		let unit = 0, size = Math.abs(value);
		while (size >= step && unit + 1 < units.length) {
			size /= step;
			unit++;
		}
		const digits = unit === 0 || size >= 100 ? 0 : size >= 10 ? 1 : 2;
		return (value < 0 ? "\u2212" : "") + size.toFixed(digits) + "\u00a0" + units[unit];
	}

	function bytes(value) {
		return value === null || value === undefined ? "\u2014" :
			scaled(value, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]);
	}

	function duration(ns) {
		if (ns === null || ns === undefined)
			return "\u2014";
		const seconds = ns / 1e9;
		if (seconds >= 86400)
			return (seconds / 86400).toFixed(1) + "\u00a0d";
		if (seconds >= 3600)
			return (seconds / 3600).toFixed(1) + "\u00a0h";
		if (seconds >= 60)
			return (seconds / 60).toFixed(1) + "\u00a0min";
		return seconds >= 1 ? seconds.toFixed(1) + "\u00a0s" : scaled(ns, 1000, ["ns", "\u00b5s", "ms"]);
	}

	/* Below it samples are said to be few; view_estimate.h has the same. */
	const FEW_SAMPLES = 10;

	/* ", from 3 samples only", where a site's numbers are. */
	function fewSamples(site) {
		const estimate = site.ci95_bytes === null ? null : site.process.alloc.estimate;
		const samples = estimate ? Math.floor(Math.max(site.live, 0) / estimate.interval) : FEW_SAMPLES;
		return samples >= FEW_SAMPLES ? "" : ", from " + samples + " sample" + (samples === 1 ? "" : "s") + " only";
	}

	/*
	 * What a sum of sites can be off by: squares add up, but peaks are all rather too large. Those
	 * without samples, which may have missed three, make it no less certain than the others do, and
	 * what a forked child holds are samples of its parent's.
	 */
	function marginOf(list, what) {
		const of = list.filter(function (site) { return site["ci95_" + what] !== null; });
		const seen = of.filter(function (site) {
			return site["ci95_" + what] !== 3 * site.process.alloc.estimate.interval;
		});
		const sum = (seen.length ? seen : of.slice(0, 1)).reduce(function (all, site) {
			const one = site["ci95_" + what];
			const shared = site.process.inherits && (what === "bytes" || what === "blocks");
			return what === "peak_bytes" || shared ? all + one : Math.hypot(all, one);
		}, 0);
		return of.length ? " \u00b1 " + count(Math.ceil(sum)) : "";
	}

	/* How far an estimate can be off; nothing of what is none. */
	function margin(of, what) {
		const value = of ? of["ci95_" + what] : null;
		return value === null ? "" : " \u00b1 " + count(value);
	}

	function percent(part, whole) { return whole > 0 ? (100 * part / whole).toFixed(1) + "\u00a0%" : ""; }

	/* "64K", "1.5 MiB", "20": a number of bytes; null: empty; NaN: neither. */
	function parseSize(text) {
		const match = /^([\d.]+)\s*([kmgt]?)(?:i?b)?$/i.exec(text.trim());
		if (!text.trim())
			return null;
		return match ? +match[1] * Math.pow(1024, "kmgt".indexOf(match[2].toLowerCase() || "-") + 1) : NaN;
	}

	/* "20" seconds, "5m", "100ms", "1.5 h": nanoseconds; as above. */
	function parseDuration(text) {
		const units = { ns: 1, us: 1e3, "\u00b5s": 1e3, ms: 1e6, s: 1e9, m: 6e10, min: 6e10, h: 36e11, d: 864e11 };
		const match = /^([\d.]+)\s*(ns|us|\u00b5s|ms|s|m|min|h|d)?$/i.exec(text.trim());
		if (!text.trim())
			return null;
		return match ? +match[1] * units[(match[2] || "s").toLowerCase()] : NaN;
	}

	/* el("td", { class: "n" }, "text", element, ...): strings become text nodes. */
	function el(tag, attributes) {
		const element = document.createElement(tag);
		Object.keys(attributes || {}).forEach(function (key) { element.setAttribute(key, attributes[key]); });
		for (let i = 2; i < arguments.length; i++)
			if (arguments[i] !== null && arguments[i] !== undefined)
				element.append(arguments[i]);
		return element;
	}

	function svg(tag, attributes, text) {
		const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
		Object.keys(attributes || {}).forEach(function (key) { element.setAttribute(key, attributes[key]); });
		if (text !== undefined)
			element.textContent = text;
		return element;
	}

	/* A section with a heading, at the end of the page. */
	function section(id, heading) {
		const made = el("section", { id: id }, el("h2", {}, heading));
		document.querySelector("main").append(made);
		return made;
	}

	/* What the viewer has chosen; parts are redrawn when it changes. */
	const state = { process: null, range: null, shown: sites };
	const watchers = [];
	function watch(fn) { watchers.push(fn); }
	function changed(what) { watchers.forEach(function (fn) { fn(what); }); }

	document.body.append(el("header", {}), el("main", {}));
	return { data: data, processes: processes, sites: sites, nodes: nodes, frames: frames, stackOf: stackOf,
		baseName: baseName, count: count, margin: margin, marginOf: marginOf, fewSamples: fewSamples, bytes: bytes, duration: duration, percent: percent,
		parseSize: parseSize, parseDuration: parseDuration, el: el, svg: svg, section: section,
		state: state, watch: watch, changed: changed };
}());
