/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What traces of allocations may cost and do cost, what was not seen for that, and the rules: where
 * their conditions hold, and what they have had traced.
 */
"use strict";
(function (host) {
	const el = host.el;
	const costs = el("p", {}), traces = el("tbody", {}), rules = el("tbody", {});
	const traceTable = el("div", { class: "scroll", hidden: "" }, el("table", {}, el("thead", {}, el("tr", {},
		el("th", {}, "trace"), el("th", { class: "n" }, "of a CPU"), el("th", { class: "n" }, "at last"),
		el("th", {}, "state"))), traces));
	const waiting = el("p", { class: "bad", hidden: "" });
	const noRules = el("p", { class: "dim" }, "There are none in the configuration.");
	const ruleTable = el("div", { class: "scroll" }, el("table", {}, el("thead", {}, el("tr", {},
		el("th", {}, "rule"), el("th", {}, "when"), el("th", {}, "holds now"), el("th", { class: "n" }, "traced"),
		el("th", { class: "n" }, "refused"), el("th", {}, "last"))), rules));
	const budgetSection = el("section", { id: "budget", hidden: "" }, el("h2", {}, "Budget"), costs, traceTable,
		waiting);
	const ruleSection = el("section", { id: "rules", hidden: "" }, el("h2", {}, "Rules"), noRules, ruleTable);

	function share(ppm) { return (ppm / 10000).toFixed(2) + " %"; }

	function time(ns) { return host.seconds(ns / 1e9); }

	function costsText(budget) {
		if (budget.call_ns === null)
			return "The cost of an allocator call could not be measured: no budget applies.";
		return "Probes take " + share(budget.host_ppm) + " of the host's CPUs (estimated: " + budget.call_ns +
			" ns a call of an allocator), " +
			(budget.max_ppm === null ? "without a limit" : "at most " + share(budget.max_ppm)) +
			". For that " + budget.stopped + " traces ended early, " + budget.refused + " were refused.";
	}

	function traceRow(trace) {
		return el("tr", {}, el("td", {}, trace.pid === null ? "several" : "process " + trace.pid),
			el("td", { class: "n" }, share(trace.used_ppm)),
			el("td", { class: "n" }, share(trace.predicted_ppm)),
			el("td", { class: trace.stopped ? "bad" : "" }, trace.stopped ?
				"NOT TRACED any longer: tracing budget exhausted" : "for another " + time(trace.left_ns)));
	}

	function ruleRow(rule) {
		return el("tr", { "data-rule": rule.name }, el("td", {}, rule.name),
			el("td", {}, rule.when),
			el("td", {}, rule.held === 0 ? "of none" : "of " + rule.held + ", for " + time(rule.held_ns)),
			el("td", { class: "n" }, rule.fired + (rule.running ? ", " + rule.running + " running" : "")),
			el("td", { class: "n" + (rule.refused ? " bad" : "") }, String(rule.refused)),
			el("td", {}, rule.last === null ? "\u2014" : rule.last.comm + " (" + rule.last.pid + "), " +
				time(rule.last.ago_ns) + " ago"));
	}

	host.budget = [budgetSection, ruleSection];
	host.drawBudget = function (data) {
		const charged = data.traces.filter(function (trace) { return trace.used_ppm !== null; });
		/* Who is not root is told of neither. */
		budgetSection.hidden = ruleSection.hidden = data.budget === null;
		if (data.budget === null)
			return;
		costs.textContent = costsText(data.budget);
		traceTable.hidden = charged.length === 0;
		traces.replaceChildren(...charged.map(traceRow));
		waiting.hidden = data.budget.waiting.length === 0;
		waiting.textContent = "Not traced before what they took is in balance: " +
			data.budget.waiting.map(function (one) {
				return "process " + one.pid + " for " + time(one.wait_ns);
			}).join(", ");
		noRules.hidden = data.rules.length > 0;
		ruleTable.hidden = data.rules.length === 0;
		rules.replaceChildren(...data.rules.map(ruleRow));
	};
}(host));
