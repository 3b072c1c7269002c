/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of sites in the HTML report, with its filters, which the flame graph follows, too. Rows
 * are made a hundred at a time; a click on one shows its stack with source lines, and its series.
 */
"use strict";
(function (report) {
	const el = report.el, data = report.data, state = report.state, nodes = report.nodes, frames = report.frames;
	const PAGE = 100;
	let body, count, more, shown, drawn, rangeHead;
	let sortBy, descending = true;

	/* Where a child has only inherited blocks of a site, of these. */
	function mean(site) {
		return site.allocs > 0 ? site.bytes / site.allocs : site.blocks > 0 ? site.live / site.blocks : null;
	}
	function temporaryShare(site) {
		return site.temporary === null || site.allocs === 0 ? null : site.temporary / site.allocs;
	}

	/* How old its blocks are when they are freed, where that is known. */
	function lifetime(site) {
		let total = 0, known = 0;
		(site.frees || []).forEach(function (place) {
			total += place.total;
			known += place.blocks - place.unknown;
		});
		return known > 0 ? total / known : null;
	}

	const VERDICTS = ["steady", "cache", "growing", "leak"];
	const LEAKS = ["reachable", "possible", "indirect", "definite"];

	function withMargin(what) {
		return function (value, site) { return report.count(value) + report.margin(site, what); };
	}

	/* What is sorted and shown; `of` gives null for what is not known, which comes last. */
	const COLUMNS = [
		{ id: "live", name: "Live bytes", of: function (s) { return s.live; }, show: withMargin("bytes") },
		{ id: "blocks", name: "Blocks", of: function (s) { return s.blocks; }, show: withMargin("blocks") },
		{ id: "peak", name: "At peak", of: function (s) { return s.peak; }, show: withMargin("peak_bytes") },
		{ id: "bytes", name: "Allocated", of: function (s) { return s.bytes; }, show: withMargin("allocated_bytes") },
		{ id: "allocs", name: "Allocs", of: function (s) { return s.allocs; }, show: withMargin("allocs") },
		{ id: "mean", name: "Mean size", of: mean, show: function (value) {
			return value === null ? "\u2014" : report.count(Math.round(value));
		} },
		{ id: "temporary", name: "Temporary", of: temporaryShare, show: function (value) {
			return value === null ? "\u2014" : (100 * value).toFixed(0) + "\u00a0%";
		} },
		{ id: "oldest", name: "Oldest", of: function (s) { return s.oldest; }, show: report.duration },
		{ id: "lifetime", name: "Lifetime", of: lifetime, show: report.duration },
		{ id: "growth", name: "Growth", of: function (s) {
			return s.growth ? 1e15 * VERDICTS.indexOf(s.growth[0]) + s.growth[1] : null;
		}, show: function (value, s) {
			return s.growth ? s.growth[0] + (VERDICTS.indexOf(s.growth[0]) > 1 ? " " +
				report.bytes(Math.round(s.growth[1])) + "/s" : "") : "\u2014";
		} },
		{ id: "leak", name: "Leak", of: function (s) { return s.leak ? LEAKS.indexOf(s.leak) : null; },
			show: function (value, s) { return s.leak || "\u2014"; } },
		{ id: "range", name: "In range", of: function (s) { return report.gained(s); }, show: function (value) {
			return value === null ? "\u2014" : (value < 0 ? "\u2212" : "+") + report.count(Math.abs(value));
		} }
	];

	function optional(column) {
		switch (column.id) {
		case "growth":
			return report.sites.some(function (s) { return s.growth; });
		case "lifetime":
			return report.sites.some(function (s) { return s.frees; });
		case "leak":
			return report.sites.some(function (s) { return s.leak; });
		default:
			return true;
		}
	}

	/* The frame that it is named by (view_names.c), and that frame's caller. */
	function whereOf(site) {
		return report.stackOf(site.node).slice(site.named, site.named + 2);
	}

	/* Which stacks have the text in a function, file or object: callers stand before the called. */
	function matchingNodes(text) {
		const wanted = text.toLowerCase(), found = new Uint8Array(nodes.count);
		const inFrame = frames.map(function (frame) {
			return (frame.name + "\0" + frame.short + "\0" + (frame.file || "") + "\0" + (frame.object || "")).toLowerCase()
				.includes(wanted);
		});
		for (let node = 0; node < nodes.count; node++) {
			const caller = nodes.caller(node);
			found[node] = inFrame[nodes.frame(node)] || (caller >= 0 && found[caller]) ? 1 : 0;
		}
		return found;
	}

	/* Each gives a test of sites from what its input says, or null for all; NaN is no such value. */
	const FILTERS = [
		{ id: "text", label: "function, file or object", type: "search", test: function (text) {
			if (!text)
				return null;
			const found = matchingNodes(text);
			return function (s) { return s.node >= 0 && found[s.node] === 1; };
		} },
		{ id: "class", label: "class", choices: ["heap", "mmap"], test: function (choice) {
			return function (s) { return s.mapped === (choice === "mmap" ? 1 : 0); };
		} },
		{ id: "min-live", label: "live \u2265", parse: report.parseSize, hint: "64K", test: function (value) {
			return function (s) { return s.live >= value; };
		} },
		{ id: "min-size", label: "mean size \u2265", parse: report.parseSize, hint: "1K", test: function (value) {
			return function (s) { return mean(s) !== null && mean(s) >= value; };
		} },
		{ id: "max-size", label: "mean size \u2264", parse: report.parseSize, hint: "1M", test: function (value) {
			return function (s) { return mean(s) !== null && mean(s) <= value; };
		} },
		{ id: "older", label: "oldest \u2265", parse: report.parseDuration, hint: "10s", test: function (value) {
			return function (s) { return s.oldest !== null && s.oldest >= value; };
		} },
		{ id: "younger", label: "newest \u2264", parse: report.parseDuration, hint: "1s", test: function (value) {
			return function (s) { return s.newest !== null && s.newest <= value; };
		} },
		{ id: "short", label: "temporary \u2265 %", parse: function (text) {
			return text.trim() === "" ? null : +text;
		}, hint: "50", test: function (value) {
			return function (s) { return temporaryShare(s) !== null && 100 * temporaryShare(s) >= value; };
		} },
		{ id: "verdict", label: "growth", choices: VERDICTS.slice().reverse(), test: function (choice) {
			return function (s) { return s.growth !== null && s.growth[0] === choice; };
		} },
		{ id: "leaks", label: "leak", choices: LEAKS.slice().reverse(), test: function (choice) {
			return function (s) { return s.leak === choice; };
		} }
	];

	function testOf(filter) {
		const text = filter.input.value;
		let value = text;
		filter.input.classList.remove("wrong");
		if (!text || !filter.parse)
			return text ? filter.test(text) : null;
		value = filter.parse(text);
		if (Number.isNaN(value)) {
			filter.input.classList.add("wrong");
			return null;
		}
		return value === null ? null : filter.test(value);
	}

	function filter() {
		const tests = FILTERS.map(testOf).filter(Boolean), process = state.process;
		state.shown = report.sites.filter(function (site) {
			return (!process || site.process === process) && tests.every(function (test) { return test(site); });
		});
		report.changed("shown");
	}

	function compare(column) {
		const sign = descending ? -1 : 1;
		return function (a, b) {
			const x = a.key, y = b.key;
			if (x === null || y === null)
				return (x === null) - (y === null);
			return sign * (x - y) || b.site.live - a.site.live || (a.site.id < b.site.id ? -1 : 1);
		};
	}

	function sort() {
		shown = state.shown.map(function (site) { return { site: site, key: sortBy.of(site) }; });
		shown.sort(compare(sortBy));
		shown = shown.map(function (pair) { return pair.site; });
		document.querySelectorAll("#sites th[data-id]").forEach(function (head) {
			head.setAttribute("aria-sort", head.dataset.id !== sortBy.id ? "none" :
				descending ? "descending" : "ascending");
		});
		body.textContent = "";
		drawn = 0;
		addRows();
		rangeHead.hidden = !state.range;
		body.classList.toggle("ranged", state.range !== null);
	}

	function nearOf(site) { return site.process.exact ? "" : "~"; }

	function rowOf(site) {
		const [first, second] = whereOf(site), row = el("tr", { class: "site", tabindex: "0", "data-site": site.id });
		COLUMNS.forEach(function (column) {
			if (column.used)
				row.append(el("td", { class: "n" + (column.id === "range" ? " in-range" : "") +
					(column.id === "growth" && site.growth ? " is-" + site.growth[0] : "") +
					(column.id === "leak" && site.leak ? " is-" + site.leak : "") },
				column.show(column.of(site), site)));
		});
		const where = el("td", { class: "where" });
		if (first)
			where.append(el("b", { title: first.name }, first.short), " ", el("span", { class: "source" }, first.source));
		if (second)
			where.append(el("small", { title: second.name }, "\u2190 " + second.short));
		row.append(where);
		row.site = site;
		return row;
	}

	/* Of one class: what the heap holds and what is mapped are never one number, nor are their peaks. */
	function sumOf(sites) {
		const several = sites.some(function (site) { return site.process !== sites[0].process; });
		let live = 0, peak = 0, exact = true;
		sites.forEach(function (site) {
			live += Math.max(site.live, 0);
			peak += Math.max(site.peak, 0);
			exact = exact && site.process.exact;
		});
		return (exact ? "" : "~") + report.count(live) + " bytes" + report.marginOf(sites, "bytes") + " live, " +
			(exact ? "" : "~") + report.count(peak) + " bytes" + report.marginOf(sites, "peak_bytes") +
			(several ? " at the peak of each process" : " at the peak");
	}

	function addRows() {
		shown.slice(drawn, drawn + PAGE).forEach(function (site) { body.append(rowOf(site)); });
		drawn = Math.min(drawn + PAGE, shown.length);
		const mapped = shown.filter(function (site) { return site.mapped; });
		const heap = shown.filter(function (site) { return !site.mapped; });
		count.textContent = report.count(shown.length) + (shown.length === 1 ? " site: " : " sites: ") +
			(heap.length || !mapped.length ? sumOf(heap) : "") +
			(mapped.length ? (heap.length ? "; mappings: " : "") + sumOf(mapped) : "");
		more.hidden = drawn >= shown.length;
		more.textContent = "show " + Math.min(PAGE, shown.length - drawn) + " more of " +
			report.count(shown.length - drawn);
	}

	function stackTable(node) {
		const table = el("table", { class: "stack" });
		report.stackOf(node).forEach(function (frame, index) {
			table.append(el("tr", { class: frame.mark ? "bad" : "" }, el("td", { class: "n dim" }, String(index)),
				el("td", {}, frame.name + (frame.function || frame.mark ? "" : "+0x" + frame.offset.toString(16)),
					frame.inline ? el("small", {}, " inline") : null,
					frame.kernel ? el("small", {}, " kernel") : null),
				el("td", { class: "source", title: frame.file || "" }, frame.file ? frame.file +
					(frame.line ? ":" + frame.line : "") : ""),
				el("td", { class: "dim", title: frame.object || "" }, frame.object ?
					report.baseName(frame.object) : "")));
		});
		return table;
	}

	/* Buckets are those of RECORD_LIFETIMES: the first below 2^12 ns, each twice the one before. */
	function lifetimeTable(place) {
		const table = el("table", { class: "lifetimes" }), known = place.blocks - place.unknown;
		for (let at = 0; at < place.lifetimes.length; at += 2) {
			const bucket = place.lifetimes[at], blocks = place.lifetimes[at + 1];
			table.append(el("tr", {}, el("td", { class: "n dim" }, bucket === 31 ?
				"\u2265 " + report.duration(Math.pow(2, 42)) : "< " + report.duration(Math.pow(2, 12 + bucket))),
			el("td", { class: "n" }, report.count(blocks)),
			el("td", { class: "dim" }, "\u2588".repeat(Math.max(1, Math.round(40 * blocks / known))))));
		}
		return table;
	}

	function addFree(cell, place, near) {
		const known = place.blocks - place.unknown;
		cell.append(el("p", { class: "freed" }, "freed: " + near + report.count(place.blocks) + " blocks, " + near +
			report.count(place.bytes) + " bytes" + (known > 0 ? ", after " + report.duration(place.total / known) +
			" on average, " + (100 * place.others / known).toFixed(1) + "\u00a0% by another thread" : "") +
			(place.unknown > 0 ? "; of " + report.count(place.unknown) + " it is not known" : "")));
		cell.append(lifetimeTable(place), stackTable(place.node));
	}

	function detailsOf(site) {
		const near = nearOf(site), cell = el("td", { colspan: String(COLUMNS.length + 1) });
		const facts = [
			(site.mapped ? "mmap" : "heap") + " site " + site.id + " of " + site.process.name,
			near + report.count(site.live) + " bytes" + report.margin(site, "bytes") + " live in " + near +
				report.count(site.blocks) + " blocks" + report.margin(site, "blocks") + report.fewSamples(site),
			site.oldest === null ? "" : "oldest " + report.duration(site.oldest) + ", newest " +
				report.duration(site.newest),
			site.temporary === null ? "" : report.count(site.temporary) + " temporary",
			site.growth ? site.growth[0] + ", " + report.bytes(Math.round(site.growth[1])) + "/s, confidence " +
				Math.round(100 * site.growth[2]) + "\u00a0%" : "",
			site.leak ? "leak: " + site.leak : ""
		].filter(Boolean).join("; ");
		cell.append(el("p", { class: "dim" }, facts));
		const line = report.sparkline(site);
		if (line)
			cell.append(line);
		cell.append(stackTable(site.node));
		(site.frees || []).forEach(function (place) { addFree(cell, place, near); });
		return el("tr", { class: "details" }, cell);
	}

	function toggle(row) {
		const open = row.nextSibling && row.nextSibling.classList.contains("details");
		row.classList.toggle("open", !open);
		if (open)
			row.nextSibling.remove();
		else
			row.after(detailsOf(row.site));
	}

	function listen(head) {
		head.addEventListener("click", function (event) {
			const id = event.target.dataset.id;
			if (!id)
				return;
			descending = sortBy.id === id ? !descending : true;
			sortBy = COLUMNS.find(function (column) { return column.id === id; });
			sort();
		});
		body.addEventListener("click", function (event) {
			const row = event.target.closest("tr.site");
			if (row)
				toggle(row);
		});
		body.addEventListener("keydown", function (event) {
			if (event.key === "Enter" && event.target.matches("tr.site"))
				toggle(event.target);
		});
		more.addEventListener("click", addRows);
	}

	function inputOf(filter) {
		if (filter.choices) {
			filter.input = el("select", {}, el("option", { value: "" }, "any"));
			filter.choices.forEach(function (choice) { filter.input.append(el("option", {}, choice)); });
		} else {
			filter.input = el("input", { type: filter.type || "text", placeholder: filter.hint || "" });
		}
		filter.input.id = "filter-" + filter.id;
		/* Typing on waits for the one before. */
		let timer = 0;
		filter.input.addEventListener("input", function () {
			clearTimeout(timer);
			timer = setTimeout(function () { filter.apply(); }, 150);
		});
		filter.apply = filterNow;
		return el("label", { class: "filter" }, el("span", {}, filter.label), filter.input);
	}

	function filterNow() { filter(); }

	report.addSites = function () {
		const place = report.section("sites", "Sites"), head = el("tr", {});
		const filters = el("div", { class: "filters" });
		FILTERS.forEach(function (one) {
			const input = inputOf(one);
			if ((one.id !== "verdict" || optional({ id: "growth" })) && (one.id !== "leaks" || optional({ id: "leak" })))
				filters.append(input);
		});
		COLUMNS.forEach(function (column) {
			column.used = optional(column);
			const cell = el("th", { "data-id": column.id, scope: "col" }, column.name);
			if (column.id === "range") {
				rangeHead = cell;
				cell.classList.add("in-range");
			}
			if (column.used)
				head.append(cell);
		});
		sortBy = COLUMNS[0];
		head.append(el("th", { scope: "col" }, "Where"));
		body = el("tbody", {});
		count = el("p", { id: "count" });
		more = el("button", { id: "more" });
		place.append(filters, count, el("div", { class: "scroll" }, el("table", { class: "sites" },
			el("thead", {}, head), body)), more);
		listen(head);
		report.watch(function (what) {
			if (what === "process" || what === "range")
				filter();
			else if (what === "shown")
				sort();
		});
	};
}(report));
