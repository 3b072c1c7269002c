/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The page of the host: asks for its data again and again while somebody looks, and draws its
 * parts; beside the processes these are cgroups and the reports that are kept.
 */
"use strict";
(function (host) {
	const el = host.el;
	const POLL_MS = 2000;
	const service = el("span", { class: "dim" }), problem = el("p", { class: "bad", role: "alert", hidden: "" });
	const cgroups = el("tbody", {}), reports = el("tbody", {});
	const cgroupSection = el("section", { hidden: "" }, el("h2", {}, "Cgroups"),
		el("div", { class: "scroll" }, el("table", {}, el("thead", {}, el("tr", {}, el("th", {}, "cgroup"),
			el("th", { class: "n" }, "memory"), el("th", { class: "n" }, "limit"),
			el("th", { class: "n" }, "pressure"))), cgroups)));
	const noReports = el("p", { class: "dim" }, "There are none.");
	let asking = false, latest = null;

	function drawCgroups(list) {
		cgroupSection.hidden = list.length === 0;
		cgroups.replaceChildren(...list.map(function (cgroup) {
			const full = cgroup.max !== null && cgroup.current > 0.9 * cgroup.max;
			return el("tr", {}, el("td", {}, host.clean(cgroup.name)),
				el("td", { class: "n" + (full ? " bad" : "") }, host.bytes(cgroup.current)),
				el("td", { class: "n" }, host.bytes(cgroup.max)),
				el("td", { class: "n" }, cgroup.pressure === null ? "\u2014" :
					(cgroup.pressure / 100).toFixed(2) + " %"));
		}));
	}

	function drawReports(list) {
		noReports.hidden = list.length > 0;
		reports.replaceChildren(...list.map(function (report) {
			const query = "?name=" + encodeURIComponent(report.name);
			return el("tr", {},
				el("td", {}, report.name.endsWith(".html") ?
					el("a", { href: "/report" + query, target: "_blank" }, report.name) : report.name),
				el("td", { class: "n" }, host.bytes(report.bytes)),
				el("td", {}, new Date(report.time * 1000).toLocaleString()),
				el("td", {}, el("a", { href: "/ctl/reports" + query, download: report.name }, "save")));
		}));
	}

	function drawChoice(data) {
		host.drawProcesses(data);
		host.drawProcess(data);
	}

	function draw(data) {
		latest = data;
		host.mappings = data.mappings;
		data.processes.forEach(function (process) {
			process.series = (process.series || []).concat([0, process.rss]);
		});
		service.textContent = "memtraced " + data.version + ", up for " + host.seconds(data.up_ns / 1e9) +
			(data.interval_ns === null ? "; memory is not watched" :
				"; looks every " + host.seconds(data.interval_ns / 1e9) + ", growth is that of the last " +
				host.seconds(data.growth_window_ns / 1e9));
		drawChoice(data);
		drawCgroups(data.cgroups);
		drawReports(data.reports);
		host.drawBudget(data);
		document.body.dataset.ready = "1";
	}

	host.ask = function () {
		if (asking)
			return;
		asking = true;
		fetch("/host").then(function (answer) {
			return answer.ok ? answer.json() : answer.text().then(function (text) { throw new Error(text); });
		}).then(function (data) {
			problem.hidden = true;
			draw(data);
		}).catch(function (error) {
			problem.textContent = "Not up to date: " + error.message;
			problem.hidden = false;
		}).finally(function () { asking = false; });
	};

	host.chosen = null;
	host.choose = function (pid) {
		if (host.chosen !== pid) {
			host.chosen = pid;
			host.beginProcess();
			drawChoice(latest);
			host.process.scrollIntoView({ block: "nearest" });
		}
	};

	document.body.append(el("header", {}, el("h1", {}, "memtraced"), service, problem),
		el("main", {}, host.process, host.processes, cgroupSection, ...host.budget,
			el("section", {}, el("h2", {}, "Reports"), noReports, el("div", { class: "scroll" },
				el("table", {}, reports)))));
	/* fetch() takes no address with a token in it; the browser knows the token from now on. */
	if (new URL(document.URL).password) {
		location.replace(location.origin + location.pathname);
		return;
	}
	host.ask();
	setInterval(function () {
		if (!document.hidden)
			host.ask();
	}, POLL_MS);
}(host));
