/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The head of the HTML report: what ran, how much of it was seen, the totals of all processes or of
 * the one that is chosen, what is in memory, and what leak checks and misuse of the heap gave.
 */
"use strict";
(function (report) {
	const el = report.el, data = report.data, state = report.state;
	const NOTHING_COUNTED = "nothing-counted"; /* RECORD_CAUSE_FLOOR */
	let totals;

	function causes(of) {
		const names = Object.keys(of);
		return names.length === 0 ? "" : " (" + names.map(function (name) {
			return name + " " + report.count(of[name]);
		}).join(", ") + ")";
	}

	function stacksText(coverage) {
		return "stacks" + (coverage.unwinder ? " by " + coverage.unwinder : "") + ": " +
			(coverage.stacks_truncated ? "NOT ALL COMPLETE: " : "") + report.count(coverage.stacks_complete) +
			" complete, " + report.count(coverage.stacks_truncated) + " truncated" + causes(coverage.cut) +
			(data.age_resolution_ns ? "; age resolution " + report.duration(data.age_resolution_ns) : "");
	}

	/* Shares are of a CPU's time, in millionths. */
	function budgetText(budget) {
		const share = function (ppm) { return (ppm / 10000).toFixed(2) + "\u00a0%"; };
		if (budget.pre_empted)
			return "ended early to make room for another trace: NOT TRACED for the last " +
				report.duration(budget.untraced_ns);
		return "budget: probes used " + share(budget.used_ppm) + " of a CPU's time (estimated), " +
			share(budget.predicted_ppm) + " if it had gone on; allowed: " +
			(budget.max_ppm === null ? "all" : share(budget.max_ppm)) + (budget.untraced_ns ?
			"; so it was NOT TRACED for the last " + report.duration(budget.untraced_ns) : "");
	}

	const DEPTHS = { exact: "all calls", sampled: "samples", growth: "page faults alone" };

	/* From when on what was counted, and why: as the table has it (table_depth.c). */
	function depthText(change, before) {
		const begin = "depth: from " + (change.at_ns === 0 ? "the start" : report.duration(change.at_ns)) + " on ";
		const kept = change.interval_factor > 1 ? "one sample in " + change.interval_factor +
			", which stands for the others: " : null;
		if (before && before.depth === change.depth)
			return begin + (kept || "all samples: ") + (change.interval_factor > before.interval_factor ?
				"they took more than their share, estimates are as right as before and less exact" :
				"there is room for more");
		return begin + (kept || DEPTHS[change.depth] + ": ") + (change.at_ns === 0 ?
			"the overhead budget does not cover exact counting yet" : change.exact_ppm === null ?
			"tried, as nothing tells what it would cost" : (change.depth === "exact" ? "~" : "") +
			report.count(change.calls_per_s) + " calls/s, of which all would take " +
			(change.exact_ppm / 10000).toFixed(1) + "\u00a0% of the CPU time");
	}

	function addDepths(into, coverage) {
		const percent = function (ppm) { return (ppm / 10000).toFixed(2) + "\u00a0%"; };
		const overhead = coverage.overhead;
		if (!overhead)
			return;
		coverage.depths.forEach(function (change, at) {
			into.append(el("p", { class: "depth dim" }, depthText(change, coverage.depths[at - 1])));
		});
		into.append(el("p", { id: "overhead", class: "dim" }, "overhead: " + percent(overhead.predicted_ppm) + " of " +
			report.duration(overhead.cpu_ns) + " of CPU time (a fifth of one CPU at least) predicted, by calls of " + report.count(overhead.call_ns) +
			" ns and samples of " + report.count(overhead.sample_ns) + "; " + (overhead.measured_ppm === null ?
			"not measured" : percent(overhead.measured_ppm) + " measured") + " (the kernel's count of the BPF " +
			"programs' time, and an estimate for traps and cache misses); asked for: " + percent(overhead.max_ppm)));
	}

	function addCoverage(into) {
		const coverage = data.coverage, counted = !(NOTHING_COUNTED in coverage.lost);
		into.append(el("p", { id: "coverage", class: data.lost_nothing && counted ? "good" : "bad" },
			data.coverage_words));
		if (coverage.stacks_complete || coverage.stacks_truncated)
			into.append(el("p", { class: coverage.stacks_truncated ? "bad" : "dim" }, stacksText(coverage)));
		if (coverage.budget)
			into.append(el("p", { id: "budget", class: coverage.budget.untraced_ns ? "bad" : "dim" },
				budgetText(coverage.budget)));
		addDepths(into, coverage);
		if (coverage.kernel_lacks)
			into.append(el("p", { class: "dim" }, "kernel: " + coverage.kernel_lacks));
		coverage.unprobed.forEach(function (one) {
			into.append(el("p", { class: "dim" }, "not probed: " + (one.function || "?") + " in " +
				(one.object || "?") + (one.why ? ": " + one.why : "")));
		});
	}

	/* Who sent what ended it, and for what. */
	function deathText(death) {
		const oom = death.oom, sender = death.sender, full = oom && (oom.cgroup || death.full_cgroup);
		if (full)
			return " by the OOM killer: cgroup " + full.path + " was at its limit, " +
				report.bytes(full.used) + " used" +
				(full.limit === null ? "" : " of " + report.bytes(full.limit));
		if (oom)
			return " by the OOM killer" + (oom.constraint === "none" ? ": the host was out of memory" : "");
		if (sender)
			return ", sent by process " + sender.pid + " (" + sender.comm + ") of user " + sender.uid;
		return death.by === "kernel" ? ", sent by the kernel" : "";
	}

	/* Another image of the process takes its place: what it held here may be gone. */
	function goesOn(process) { return process.end !== null && process.end.depth_changed === true; }

	function endText(end, death) {
		if (!end)
			return "was still running";
		if (end.depth_changed)
			return "goes on at another depth";
		if (end.hidden)
			return "no longer accessible to the user who asked";
		if (end.signal !== null)
			return "killed by signal " + end.signal +
				(death ? deathText(death) : end.oom ? " (out of memory)" : "");
		return end.exit === null ? "ended" : "exited with " + end.exit;
	}

	function card(key, label, value, note) {
		return el("div", { class: "card", "data-key": key }, el("b", {}, value), el("span", {}, label),
			note ? el("small", {}, note) : null);
	}

	/* What is not exact says so: live memory can be off either way, counts are lower bounds. */
	function addCards(into, alloc, exact, peak, peakNote, liveNote) {
		const estimate = alloc.estimate, near = exact ? "" : "~", least = exact ? "" : estimate ? "~" : "\u2265";
		const cards = el("div", { class: "cards" });
		cards.append(
			card("live_bytes", "live", near + report.bytes(alloc.live_bytes),
				near + report.count(alloc.live_bytes) + " bytes" + report.margin(estimate, "bytes") + " in " + near +
				report.count(alloc.live_blocks) + " blocks" + report.margin(estimate, "blocks")),
			card("peak_bytes", "peak", peak === null ? "\u2014" : near + report.bytes(peak), peakNote),
			card("bytes", "allocated", least + report.bytes(alloc.bytes), least + report.count(alloc.bytes) +
				" bytes" + report.margin(estimate, "allocated_bytes")),
			card("allocs", "allocations", least + report.count(alloc.allocs) + report.margin(estimate, "allocs"),
				alloc.failed ? least + report.count(alloc.failed) + " failed" : ""),
			card("frees", "frees", least + report.count(alloc.frees) + report.margin(estimate, "frees"), [
				alloc.missed_frees ? report.count(alloc.missed_frees) + " missed" : "",
				alloc.unknown_frees ? report.count(alloc.unknown_frees) + " of unknown blocks" : ""
			].filter(Boolean).join(", ")));
		if (estimate)
			cards.append(card("estimate", "of each sample", report.bytes(estimate.interval),
				"estimates: \u00b1 is 95\u00a0%"));
		else
			cards.append(card("temporary", "temporary", near + (report.percent(alloc.temporary, alloc.allocs) || "0\u00a0%"),
				least + report.count(alloc.temporary) + " freed before the next allocation"));
		into.append(cards);
	}

	const PARTS = [["heap_live", "live blocks"], ["heap_free", "free in the heap"],
		["unknown_heap", "heap, not known"], ["mmap", "mmap regions"], ["file", "files"], ["stack", "stacks"],
		["unknown", "unknown"]];

	/* `unknown` includes `unknown_heap`, which is a part of its own here: the parts add up to the whole. */
	function partOf(rss, name) {
		return name === "unknown" ? Math.max(rss.unknown - rss.unknown_heap, 0) : rss[name];
	}

	function addResident(into, rss) {
		const bar = el("div", { class: "bar" }), legend = el("ul", { class: "legend" });
		PARTS.forEach(function (part, index) {
			const value = partOf(rss, part[0]);
			if (!value)
				return;
			bar.append(el("i", { class: "part" + index, style: "flex-grow:" + value,
				title: part[1] + ": " + report.count(value) + " bytes" }));
			legend.append(el("li", { "data-key": part[0] }, el("i", { class: "part" + index }), part[1] + " " +
				report.bytes(value)));
		});
		if (rss.inaccessible)
			legend.append(el("li", { "data-key": "inaccessible" }, "of " + report.bytes(rss.mapped) +
				" of mapped address space, " + report.bytes(rss.inaccessible) + " may not be accessed (PROT_NONE)"));
		if (rss.moved)
			legend.append(el("li", { "data-key": "moved" }, report.bytes(rss.moved) + " came or went while it was read"));
		into.append(el("h3", {}, "In memory: " + (rss.exact ? "" : "~") + report.bytes(rss.rss) +
			(rss.at_ns === null ? "" : ", seen at " + report.duration(rss.at_ns))), bar, legend);
	}

	function addLeaks(into, leaks) {
		const table = el("table", { class: "small", id: "leaks" });
		["definite", "indirect", "possible", "reachable", "suppressed"].forEach(function (name) {
			if (leaks[name])
				table.append(el("tr", { class: name === "definite" && leaks[name].blocks ? "bad" : "" },
					el("th", {}, name), el("td", { class: "n" }, report.count(leaks[name].bytes) + " bytes"),
					el("td", { class: "n" }, report.count(leaks[name].blocks) + " blocks")));
		});
		into.append(el("h3", {}, "Leak check" + (leaks.complete ? "" : " (NOT COMPLETE)")), table);
		if (!leaks.all_blocks_known)
			into.append(el("p", { class: "bad" }, "There are blocks that are not known."));
	}

	function frameText(frame) {
		return (frame.function || (frame.object ? "[" + report.baseName(frame.object) + "]" : frame.addr ||
			"[unknown]")) + (frame.file ? " (" + report.baseName(frame.file) +
			(frame.line === null ? "" : ":" + frame.line) + ")" : "");
	}

	/* Of a stack in the tables, innermost first. */
	function framesOf(stack) {
		const tables = data.tables, frames = [];
		for (; stack !== null; stack = tables.stacks[stack][1]) {
			const frame = tables.frames[tables.stacks[stack][0]];
			frames.push(Object.assign({}, frame, tables.functions[frame.function]));
		}
		return frames;
	}

	function frameList(heading, frames) {
		return el("div", {}, el("b", {}, heading), el("ol", {}, ...frames.map(function (frame) {
			return el("li", {}, frameText(frame));
		})));
	}

	function addErrors(into, process) {
		if (process.heap_errors.length === 0 && !process.further_heap_errors)
			return;
		into.append(el("h3", {}, "Wrong uses of the heap"));
		process.heap_errors.forEach(function (error) {
			const frames = framesOf(error.stack_id);
			into.append(el("details", { class: "error" }, el("summary", { class: "bad" }, (error.kind ||
				"unknown kind") + ", " + report.count(error.count) + (error.count === 1 ? " time" : " times") +
				(error.certain ? "" : " (not certain)") + (frames[1] ? ": " + frameText(frames[1]) :
				"")), frameList("called by", frames),
			error.allocated_stack_id === null ? null : frameList("made by", framesOf(error.allocated_stack_id)),
			error.freed_stack_id === null ? null : frameList("freed before by", framesOf(error.freed_stack_id))));
		});
		if (process.further_heap_errors)
			into.append(el("p", { class: "bad" }, report.count(process.further_heap_errors) +
				" more, whose places were not kept"));
	}

	function growthText(growth) {
		const rises = growth.verdict === "leak" || growth.verdict === "growing";
		return "heap: " + growth.verdict + (rises ? ", " + report.bytes(Math.round(growth.bytes_per_s)) + "/s" : "") +
			" (confidence " + Math.round(100 * growth.confidence) + "\u00a0%)";
	}

	function addMapped(into, process) {
		const mmap = process.mmap;
		if (!mmap)
			return;
		into.append(el("p", { id: "mmap" }, "mmap: " + (process.exact ? "" : "~") +
			report.count(mmap.live_bytes) + " bytes live in " + report.count(mmap.live_blocks) +
			" regions, peak " + report.bytes(mmap.peak_bytes) + ", " + report.count(mmap.allocs) + " mappings" +
			(mmap.looked_at_ns ? ", in " + report.duration(mmap.looked_at_ns) + " that it was looked at" : "") +
			(mmap.left_out ? "; " + report.count(mmap.left_out) +
				" more are not known any more: there were too many" : "")));
	}

	function addProcess(into, process) {
		const alloc = process.alloc, error = process.peak_error_bytes;
		into.append(el("p", { class: "dim" }, (process.exe || "") + " \u2013 " + endText(process.end, process.death)));
		(process.notes || []).forEach(function (note) {
			into.append(el("p", { class: "note" }, note.text));
		});
		if (data.coverage.depths && data.coverage.depths.length > 0)
			into.append(el("p", { class: "dim" }, DEPTHS[process.depth] + " counted" + (goesOn(process) ?
				", until another depth began: what lived then may have been freed since" : "")));
		if (!data.allocations || alloc.allocs === null) {
			into.append(el("p", { class: "dim" }, "heap: not counted"));
			addMapped(into, process);
			return;
		}
		addCards(into, alloc, process.exact, alloc.peak_bytes, (process.exact ? "" : "~") +
			report.count(alloc.peak_bytes) + " bytes" + report.margin(alloc.estimate, "peak_bytes") + (process.timeline && process.timeline.peak_ns !== null ?
			" at " + report.duration(process.timeline.peak_ns) : "") + (error ?
			"; each site's share accurate to " + report.bytes(error) : ""), "");
		if (alloc.before_attach)
			into.append(el("p", {}, "Of live memory, " + report.bytes(alloc.before_attach.usable_bytes) + " in " +
				report.count(alloc.before_attach.live_blocks) + " blocks are from before the attach" +
				(alloc.before_attach.unread_bytes ? "; " + report.bytes(alloc.before_attach.unread_bytes) +
				" of the heap then was not understood" : "") + "."));
		addMapped(into, process);
		if (process.growth)
			into.append(el("p", { class: process.growth.verdict === "leak" ? "bad" : "dim" },
				growthText(process.growth)));
		if (process.left_out.sites)
			into.append(el("p", { class: "bad" }, process.left_out.by +
				" left out " + report.count(process.left_out.sites) + " sites with " + report.bytes(process.left_out.bytes) +
				" live."));
		if (process.leaks)
			addLeaks(into, process.leaks);
		if (process.rss)
			addResident(into, process.rss);
		addErrors(into, process);
	}

	const SUMMED = ["live_bytes", "live_blocks", "allocs", "bytes", "frees", "failed", "temporary",
		"missed_frees", "unknown_frees"];

	/*
	 * What a sum of processes can be off by, as view_estimate.h has it: squares of estimates that do not
	 * depend on each other add up, those without samples make it no less certain, and what a forked child
	 * holds are samples of its parent's.
	 */
	function sumOf(processes) {
		const sum = { interval: 0, ci95_bytes: null, ci95_blocks: null, ci95_frees: 0 }, missed = {};
		function add(estimate, bytes, blocks, forked) {
			const other = estimate["ci95_" + bytes], seen = other !== 3 * estimate.interval;
			const join = forked ? function (a, b) { return a + b; } : Math.hypot;
			if (missed[bytes] !== false) {
				sum["ci95_" + bytes] = other;
				sum["ci95_" + blocks] = estimate["ci95_" + blocks];
				missed[bytes] = !seen;
			} else if (seen) {
				[bytes, blocks].forEach(function (what) {
					sum["ci95_" + what] = Math.ceil(join(sum["ci95_" + what], estimate["ci95_" + what]));
				});
			}
		}
		processes.forEach(function (process) {
			const estimate = process.alloc.estimate;
			sum.interval = Math.max(sum.interval, estimate.interval);
			if (!goesOn(process))
				add(estimate, "bytes", "blocks", process.inherits);
			add(estimate, "allocated_bytes", "allocs", false);
			sum.ci95_frees = Math.ceil(Math.hypot(sum.ci95_frees, estimate.ci95_frees));
		});
		return processes.length ? sum : null;
	}

	function addAll(into) {
		const alloc = {}, counted = report.processes.filter(function (p) { return p.alloc.allocs !== null; });
		if (!data.allocations || counted.length === 0)
			return;
		SUMMED.forEach(function (key) {
			alloc[key] = counted.reduce(function (all, p) {
				return all + (key.startsWith("live_") && goesOn(p) ? 0 : p.alloc[key]);
			}, 0);
		});
		alloc.estimate = sumOf(counted.filter(function (p) { return p.alloc.estimate; }));
		addCards(into, alloc, counted.every(function (p) { return p.exact; }), null,
			"of each process: below", counted.some(function (p) { return p.end; }) ? "; of ended processes at their end" : "");
		const table = el("table", { class: "small wide" }, el("tr", {}, ...["process", "live bytes", "blocks",
			"peak", "allocations", "state"].map(function (name, at) {
			return el("th", { class: at > 0 && at < 5 ? "n" : "" }, name);
		})));
		report.processes.slice(0, 200).forEach(function (process) {
			const near = process.exact ? "" : "~", a = process.alloc;
			const name = el("button", { class: "link" }, process.name);
			name.addEventListener("click", function () { report.choose(process); });
			table.append(el("tr", {}, el("td", {}, name), ...[[a.live_bytes, "bytes"], [a.live_blocks, "blocks"],
				[a.peak_bytes, "peak_bytes"], [a.allocs, "allocs"]].map(function ([value, what]) {
				return el("td", { class: "n" }, value === null ? "\u2014" : near + report.count(value) +
					report.margin(a.estimate, what));
			}), el("td", { class: "dim" }, endText(process.end, process.death))));
		});
		const scroll = el("div", { class: "scroll short" }, table);
		into.append(scroll);
		if (report.processes.length > 200)
			scroll.append(el("p", { class: "dim" }, "and " + report.count(report.processes.length - 200) + " more"));
	}

	function addEnded(into) {
		if (data.processes_left_out)
			into.append(el("p", { class: "bad" }, report.count(data.processes_left_out) +
				" processes left out: no site matches --where"));
		if (data.ended.length === 0)
			return;
		into.append(el("p", { class: "dim" }, "Processes that ended long ago, summed: " +
			data.ended.map(function (one) {
				return report.count(one.processes) + " \u00d7 " + one.comm + " (" + report.count(one.alloc.allocs) +
					report.margin(one.alloc.estimate, "allocs") + " allocations, " +
					report.count(one.alloc.live_bytes) + report.margin(one.alloc.estimate, "bytes") +
					" bytes live at the end)";
			}).join(", ")));
	}

	function draw() {
		totals.textContent = "";
		if (state.process)
			addProcess(totals, state.process);
		else
			addAll(totals);
		addEnded(totals);
	}

	function picker() {
		const select = el("select", { id: "process", "aria-label": "process" }, el("option", { value: "" },
			"all " + report.processes.length + " processes"));
		report.processes.forEach(function (process) {
			select.append(el("option", { value: process.index }, process.name));
		});
		select.addEventListener("change", function () {
			report.choose(select.value === "" ? null : report.processes[+select.value]);
		});
		return select;
	}

	/* null: all processes. */
	report.choose = function (process) {
		const select = document.getElementById("process");
		if (select)
			select.value = process ? process.index : "";
		state.process = process;
		state.range = null;
		report.changed("process");
	};

	report.addHead = function () {
		const head = document.querySelector("header"), first = report.processes[0];
		/* Of a host or a cgroup, where the first is one of many. */
		const many = report.processes.length > 1 && !data.root;
		head.append(el("h1", {}, many ? report.count(report.processes.length) + " processes" :
			first ? first.comm || "unknown" : "no process"), el("p", { class: "dim" },
			[data.tool, data.start ? "begun " + data.start.slice(0, 19).replace("T", " ") + " UTC" : "",
				data.elapsed_ns === null ? "" : "after " + report.duration(data.elapsed_ns)].filter(Boolean)
				.join(", ")));
		if (data.allocations && report.processes.length > 1)
			head.append(picker());
		addCoverage(head);
		totals = el("div", { id: "totals" });
		document.querySelector("main").append(totals);
		report.watch(function (what) {
			if (what === "process")
				draw();
		});
	};
}(report));
