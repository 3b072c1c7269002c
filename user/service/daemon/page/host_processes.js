/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of processes: by resident memory, growth, name or pid, and those whose name or pid has
 * what is typed. A click chooses one.
 */
"use strict";
(function (host) {
	const el = host.el;
	const COLUMNS = [
		{ key: "pid", title: "pid", number: true },
		{ key: "comm", title: "name" },
		{ key: "rss", title: "resident", number: true, down: true },
		{ key: "growth", title: "growth", number: true, down: true }
	];
	const sort = { key: "rss", down: true };
	let filter = "", data = null;
	const body = el("tbody", {}), more = el("p", { class: "dim" });

	function compare(a, b) {
		const x = a[sort.key], y = b[sort.key];
		if (x === y)
			return a.pid - b.pid;
		/* What is not known comes last, either way. */
		if (x === null || y === null)
			return x === null ? 1 : -1;
		return (x < y ? -1 : 1) * (sort.down ? -1 : 1);
	}

	function spark(series) {
		return host.svg("svg", { class: "spark", viewBox: "0 0 90 18", "aria-hidden": "true" },
			host.svg("polyline", { points: host.line(series, 90, 18).points }));
	}

	function row(process) {
		const choose = function () { host.choose(process.pid); };
		return el("tr", {
			class: process.pid === host.chosen ? "chosen" : "", "data-pid": process.pid, click: choose
		},
		el("td", { class: "n" }, String(process.pid)),
		el("td", {}, el("button", { class: "link", click: choose }, process.comm)),
		el("td", { class: "n" }, host.bytes(process.rss)),
		el("td", { class: "n" + (process.growth > 0 ? " up" : "") }, host.growth(process.growth)),
		el("td", {}, spark(process.series)));
	}

	function draw() {
		const shown = data.processes.filter(function (process) {
			return (process.comm + " " + process.pid).toLowerCase().includes(filter);
		}).sort(compare);
		body.replaceChildren(...shown.map(row));
		more.textContent = data.n_processes > data.processes.length ?
			"and " + (data.n_processes - data.processes.length) + " more, with less" : "";
	}

	function title(column) {
		return el("th", { class: column.number ? "n" : "" }, el("button", {
			class: "link", click: function () {
				sort.down = sort.key === column.key ? !sort.down : Boolean(column.down);
				sort.key = column.key;
				draw();
			}
		}, column.title));
	}

	host.processes = el("section", {},
		el("h2", {}, "Processes ", el("input", {
			type: "search", placeholder: "name or pid", "aria-label": "name or pid",
			input: function (event) {
				filter = event.target.value.toLowerCase();
				draw();
			}
		})),
		el("div", { class: "scroll" },
			el("table", {}, el("thead", {}, el("tr", {}, ...COLUMNS.map(title), el("th", {}))), body)),
		more);

	host.drawProcesses = function (fresh) {
		data = fresh;
		draw();
	};
}(host));
