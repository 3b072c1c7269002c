/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The chosen process: its resident memory over time, a trace of its heap at a click, and while that
 * runs its report, which is made anew again and again.
 */
"use strict";
(function (host) {
	const el = host.el, svg = host.svg;
	const WIDTH = 720, HEIGHT = 130, REFRESH_MS = 4000;
	const title = el("h2", {}), facts = el("p", { class: "dim" }), plot = el("div", { class: "plot" });
	const said = el("p", { role: "status" }), live = el("div", {});
	const span = el("input", { type: "number", min: "1", value: "60", "aria-label": "seconds" });
	const follow = el("input", { type: "checkbox", checked: "" });
	const sampled = el("input", { type: "checkbox", id: "sampled" });
	const others = el("span", {});
	let framed = null, depth = null, drawn = 0; /* whose trace is shown, and of which depth */

	function profile(name, query) { return "/debug/pprof/" + name + "?pid=" + host.chosen + query; }

	function trace() {
		const pid = host.chosen;
		said.textContent = "the trace begins\u2026";
		fetch("/ctl/trace?pid=" + pid + "&seconds=" + Number(span.value) + "&depth=" +
			(sampled.checked ? "sampled" : "exact") + "&format=html", { method: "POST" })
			.then(function (answer) { return answer.text(); })
			.then(function (text) {
				if (pid === host.chosen)
					said.textContent = text;
				host.ask();
			})
			.catch(function (error) { said.textContent = String(error); });
	}

	function heapPage() { return profile("heap", "&depth=" + depth + "&format=html"); }

	/* A new one takes the place of the old one when it is there: nothing flickers. */
	function refresh() {
		const fresh = el("iframe", {
			sandbox: "allow-scripts", title: "report of the trace so far", src: heapPage(),
			class: "coming", load: function () {
				if (!fresh.isConnected)
					return;
				live.querySelectorAll("iframe").forEach(function (frame) {
					if (frame !== fresh)
						frame.remove();
				});
				fresh.className = "";
			}
		});
		drawn = Date.now();
		live.append(fresh);
	}

	function drawLive(running) {
		if (framed !== null && (framed !== host.chosen || (running && running.depth !== depth))) {
			live.replaceChildren();
			framed = null;
		}
		if (!running)
			return;
		if (framed === null) {
			framed = host.chosen;
			depth = running.depth;
			live.append(el("p", {}, el("label", {}, follow, " make it anew every few seconds"), " \u00b7 ",
				el("a", { href: heapPage(), target: "_blank" }, "in a page of its own")));
			refresh();
		} else if (follow.checked && !live.querySelector(".coming") && Date.now() - drawn >= REFRESH_MS) {
			refresh();
		}
	}

	function drawPlot(series) {
		const shape = host.line(series, WIDTH, HEIGHT);
		plot.replaceChildren(
			svg("svg", { viewBox: "-4 -14 " + (WIDTH + 8) + " " + (HEIGHT + 32) },
				svg("line", { x1: 0, x2: WIDTH, y1: HEIGHT, y2: HEIGHT, class: "axis" }),
				svg("polyline", { points: shape.points }),
				svg("text", { x: 0, y: -4 }, host.bytes(shape.most)),
				svg("text", { x: 0, y: HEIGHT + 14 }, host.seconds(shape.oldest) + " ago"),
				svg("text", { x: WIDTH, y: HEIGHT + 14, class: "end" }, "now")));
	}

	function drawFacts(process, running) {
		const parts = [host.bytes(process.rss) + " resident"];
		if (process.pss !== null)
			parts.push(host.bytes(process.pss) + " proportional");
		if (process.growth !== null)
			parts.push(host.growth(process.growth) + " growth");
		if (running)
			parts.push("traced " + (running.depth === "sampled" ? "by its samples " : "") + "for " +
				host.seconds(running.age_ns / 1e9) + ", " + host.seconds(running.left_ns / 1e9) + " to go");
		facts.textContent = parts.join(" \u00b7 ");
	}

	host.process = el("section", { id: "process", hidden: "" }, title, facts, plot,
		el("p", {}, el("button", { id: "trace", click: trace }, "Trace its heap"), " for ", span, " s ",
			el("label", { title: "by otel_memory probes; next to free" }, sampled, " by samples that it shows"), " \u00b7 ", others),
		said, live);

	host.drawProcess = function (data) {
		const process = data.processes.find(function (p) { return p.pid === host.chosen; });
		const heaps = data.traces.filter(function (t) { return t.pid === host.chosen && t.kind === "heap"; });
		/* Of two that of the depth that is chosen. */
		const running = heaps.find(function (t) { return (t.depth === "sampled") === sampled.checked; }) || heaps[0];

		host.process.hidden = host.chosen === null;
		if (host.chosen === null)
			return;
		span.max = data.max_seconds;
		title.textContent = (process ? process.comm + " " : "") + "(" + host.chosen + ")";
		if (process) {
			drawFacts(process, running);
			drawPlot(process.series);
		} else {
			facts.textContent = "It has ended, or has less memory than those that are listed.";
			plot.replaceChildren();
		}
		drawLive(running);
	};

	/* Another one was chosen. */
	host.beginProcess = function () {
		said.textContent = "";
		others.replaceChildren(
			el("a", { href: profile("heap", "&seconds=5") }, "heap for pprof"), " \u00b7 ",
			el("a", { href: profile("profile", "&seconds=5&format=html"), target: "_blank" }, "its CPU time, 5 s"), " \u00b7 ",
			el("a", { href: profile("growth", ""), target: "_blank" }, "its growth so far"));
		if (host.mappings)
			others.append(" \u00b7 ", el("a", { href: profile("mappings", ""), target: "_blank" }, "what it has mapped"));
	};
}(host));
