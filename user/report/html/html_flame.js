/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The flame graph of the HTML report, of the sites that pass the filters or of an event's stacks:
 * callers stand above what they call; reversed, what allocates stands on top of its callers. Only
 * what is a pixel wide at least is there as an element.
 */
"use strict";
(function (report) {
	const el = report.el, data = report.data, state = report.state, nodes = report.nodes, frames = report.frames;
	/* Of several processes these are of different moments. */
	const OF_EACH = data.processes.length > 1 ? " of each process" : "";
	const ROW = 19, NARROWEST = 1;
	/* What was live before a depth changed may be freed: in the graph of all processes it has no part. */
	function held(of) {
		return function (site) { return site.process.past && !state.process ? 0 : of(site); };
	}
	const QUANTITIES = [
		{ name: "live bytes", unit: "bytes", of: held(function (site) { return site.live; }) },
		{ name: "live blocks", unit: "blocks", of: held(function (site) { return site.blocks; }) },
		{ name: "bytes at the peak" + OF_EACH, unit: "bytes", of: held(function (site) { return site.peak; }) },
		{ name: "allocated bytes", unit: "bytes", of: function (site) { return site.bytes; } },
		{ name: "allocations", unit: "allocations", of: function (site) { return site.allocs; } },
		{ name: "temporary allocations", unit: "allocations", of: function (site) { return site.temporary; } },
		{ name: "gained in the range", unit: "bytes", of: function (site) { return report.gained(site); },
			ranged: true },
		{ name: "mapped bytes", unit: "bytes", mapped: 1, of: held(function (site) { return site.live; }) },
		{ name: "mapped regions", unit: "regions", mapped: 1, of: held(function (site) { return site.blocks; }) },
		{ name: "bytes at the mappings' peak" + OF_EACH, unit: "bytes", mapped: 1, of: held(function (site) { return site.peak; }) },
		{ name: "bytes of all mappings", unit: "bytes", mapped: 1, of: function (site) { return site.bytes; } },
		{ name: "mappings", unit: "mappings", mapped: 1, of: function (site) { return site.allocs; } }
	];
	let box, details, quantity, byLine, reversed, search, found, tree, zoomed, elements;
	let ranged = null, before = null; /* the option of the range; what was chosen before it */

	/* Numbers of what frames are told apart by: the function, or the function and its line. */
	let labels, labelOf;
	function numberLabels(withLine) {
		const known = new Map();
		labels = [];
		labelOf = frames.map(function (frame) {
			const line = withLine && frame.source ? " (" + frame.source + ")" : "";
			const key = frame.name + line + (frame.kernel ? "\0" : "");
			if (!known.has(key)) {
				known.set(key, labels.length);
				labels.push({ name: frame.name + line, short: frame.short + line, kernel: frame.kernel, mark: frame.mark });
			}
			return known.get(key);
		});
	}

	function nodeOf(name, kind) {
		return { name: name, kind: kind || "", value: 0, children: new Map(), depth: 0, start: 0, parent: null };
	}

	function childOf(parent, key, name, kind) {
		let child = parent.children.get(key);
		if (!child) {
			child = nodeOf(name, kind);
			child.parent = parent;
			child.depth = parent.depth + 1;
			parent.children.set(key, child);
		}
		return child;
	}

	function frameChild(parent, frame) {
		const label = labelOf[frame], is = labels[label];
		const child = childOf(parent, label, is.name, is.mark ? "mark" : is.kernel ? "kernel" : "");
		child.isFrame = true;
		child.short = is.short;
		return child;
	}

	/* What has been built of the tables' stacks, below each root: a node of theirs has one of ours. */
	function placeOf(root, node) {
		const way = [];
		let place = root;
		for (; node >= 0; node = nodes.caller(node)) {
			const there = root.built.get(node);
			if (there) {
				place = there;
				break;
			}
			way.push(node);
		}
		while (way.length > 0) {
			node = way.pop();
			place = frameChild(place, nodes.frame(node));
			root.built.set(node, place);
		}
		return place;
	}

	function add(root, item) {
		for (let place = placeOf(root, item.node); place; place = place.parent)
			place.value += item.value;
	}

	/*
	 * Reversed, few stacks have their beginnings in common, and a tree of all would be as large as all stacks
	 * together: a frame's callers are made when it is wide enough to be drawn, from the stacks that it is of.
	 */
	function addCallers(of) {
		of.items.forEach(function (item) {
			if (item.node < 0)
				return;
			const child = frameChild(of, nodes.frame(item.node));
			child.items = child.items || [];
			child.items.push({ node: nodes.caller(item.node), value: item.value });
			child.value += item.value;
		});
		of.items = null;
	}

	/* By value, the largest first. */
	function childrenOf(node) {
		let start = node.start;
		if (node.items)
			addCallers(node);
		if (!Array.isArray(node.children)) {
			node.children = Array.from(node.children.values()).sort(function (a, b) {
				return b.value - a.value || (a.name < b.name ? -1 : 1);
			});
			node.children.forEach(function (child) {
				child.start = start;
				start += child.value;
			});
		}
		return node.children;
	}

	/* Images of one process, and processes whose names are equal, stand apart by their numbers. */
	function processRoot(all, item) {
		const several = report.processes.length > 1 && (!state.process || !item.process);
		const key = item.process ? -2 - item.process.index : item.of;
		const root = several ? childOf(all, key, item.of, "process") : all;
		root.built = root.built || new Map();
		return root;
	}

	function selectedEvent() {
		const index = quantity.value.startsWith("event") ? +quantity.value.slice(5) : -1;
		return index < 0 ? null : data.events[index];
	}

	/* A frame has no negative width: what sites lost in the range, and those nobody followed, are told. */
	function rangeText(kind) {
		let lost = 0, unknown = 0;
		if (!kind || !kind.ranged)
			return "";
		state.shown.forEach(function (site) {
			const gained = site.mapped ? 0 : report.gained(site);
			lost += Math.min(gained || 0, 0);
			unknown += gained === null ? 1 : 0;
		});
		return [lost < 0 ? "sites that shrank in the range lost " + report.count(-lost) + " bytes and are not drawn" : "",
			unknown > 0 ? "of " + report.count(unknown) + (unknown === 1 ? " site" : " sites") +
				" it is not known what they gained in the range" : ""].filter(Boolean).join("; ");
	}

	/* What is drawn: stacks with their values. */
	function itemsOf(event, kind) {
		if (event)
			return event.stacks.map(function (row) {
				return { node: row[3], value: row[2], of: (row[1] || "unknown") + (row[0] === null ? "" : "-" + row[0]) };
			});
		/* A heap's bytes and those of mappings are never one number: the heap, unless nothing of it is shown. */
		const mapped = kind.mapped || (state.shown.some(function (site) { return !site.mapped; }) ? 0 : 1);
		return state.shown.filter(function (site) { return site.mapped === mapped; }).map(function (site) {
			return { node: site.node, value: kind.of(site), of: site.process.name, process: site.process };
		}).filter(function (item) { return item.value > 0; });
	}

	function build() {
		const all = nodeOf("all"), event = selectedEvent(), kind = event ? null : QUANTITIES[+quantity.value];
		numberLabels(byLine.checked);
		all.unit = event ? event.unit : kind.unit;
		all.pageBytes = event ? event.page_bytes : 0;
		all.stacks = itemsOf(event, kind);
		all.range = rangeText(kind);
		all.built = new Map();
		if (reversed.checked) {
			all.items = all.stacks;
			all.value = all.items.reduce(function (sum, item) { return sum + item.value; }, 0);
		} else {
			all.stacks.forEach(function (item) { add(processRoot(all, item), item); });
		}
		return all;
	}

	function hash(text) {
		let value = 7;
		for (let i = 0; i < text.length; i++)
			value = (Math.imul(value, 31) + text.charCodeAt(i)) | 0;
		return value >>> 0;
	}

	/* Greens for memory, ambers for the kernel and for events. */
	function hue(node) {
		const warm = node.kind === "kernel" || selectedEvent();
		return warm ? 22 + hash(node.name) % 28 : 88 + hash(node.name) % 62;
	}

	function amount(value) {
		/* Page faults in bytes, too: of small pages, as nothing says how large one was. */
		return tree.unit === "ns" ? report.duration(value) : report.count(value) + " " + tree.unit +
			(tree.pageBytes ? ", ~" + report.bytes(value * tree.pageBytes) + " if all pages are small" : "");
	}

	function describe(node) {
		return node.name + " (" + amount(node.value) + ", " +
			(report.percent(node.value, tree.value) || "0\u00a0%") + ")";
	}

	function put(node, left, width, below) {
		const frame = el("div", { class: "f" + (node.kind ? " " + node.kind : "") + (below ? " below" : "") +
			(node.depth === 0 ? " all" : ""), style: "left:" + left.toFixed(2) + "px;width:" +
			Math.max(width - 1, 0.5).toFixed(2) + "px;top:" + node.depth * ROW + "px;--h:" + hue(node) });
		if (width > 24)
			frame.textContent = node.short || node.name;
		frame.node = node;
		elements.push(frame);
		box.append(frame);
	}

	/* The zoomed frame is as wide as the box; those it stands on are faded, others are not there. */
	function draw() {
		const width = box.clientWidth || 1000, scale = zoomed.value > 0 ? width / zoomed.value : 0, stack = [zoomed];
		let leftOut = 0, deepest = zoomed.depth;
		elements = [];
		box.textContent = "";
		for (let node = zoomed.parent; node; node = node.parent)
			put(node, 0, width, true);
		while (stack.length > 0) {
			const node = stack.pop(), wide = node === zoomed ? width : node.value * scale;
			if (wide < NARROWEST) {
				leftOut++;
				continue;
			}
			put(node, (node.start - zoomed.start) * scale, wide, false);
			deepest = Math.max(deepest, node.depth);
			for (let children = childrenOf(node), i = children.length; i > 0; i--)
				stack.push(children[i - 1]);
		}
		box.style.height = (deepest + 1) * ROW + "px";
		document.getElementById("left-out").textContent = [tree.range, leftOut === 0 ? "" : report.count(leftOut) +
			(leftOut === 1 ? " frame is" : " frames are") +
			" narrower than a pixel and not drawn, nor what they call"].filter(Boolean).join("; ");
		document.getElementById("unzoom").hidden = zoomed === tree;
		details.textContent = describe(zoomed);
		mark();
	}

	/*
	 * A range that is chosen is what is drawn from then on, and what was drawn before is drawn again once
	 * there is none. In between another quantity can be chosen.
	 */
	function followRange() {
		if (!ranged || ranged.disabled === !state.range)
			return;
		ranged.disabled = !state.range;
		if (state.range)
			before = quantity.value;
		else if (!ranged.selected)
			return;
		quantity.value = state.range ? ranged.value : before;
	}

	function redraw() {
		followRange();
		tree = build();
		zoomed = tree;
		draw();
	}

	/* Of how many functions the pattern is, and the value of all stacks that have one of them. */
	function matching(pattern) {
		const fits = labels.map(function (label) { return pattern.test(label.name); });
		const within = new Uint8Array(nodes.count), used = new Set();
		for (let node = 0; node < nodes.count; node++) {
			const caller = nodes.caller(node);
			within[node] = fits[labelOf[nodes.frame(node)]] || (caller >= 0 && within[caller]) ? 1 : 0;
		}
		let sum = 0;
		tree.stacks.forEach(function (item) {
			if (item.node < 0 || !within[item.node])
				return;
			sum += item.value;
			for (let node = item.node; node >= 0 && within[node]; node = nodes.caller(node))
				if (fits[labelOf[nodes.frame(node)]])
					used.add(labelOf[nodes.frame(node)]);
		});
		return [used.size, sum];
	}

	function mark() {
		let pattern = null;
		try {
			pattern = search.value ? new RegExp(search.value, "i") : null;
			search.classList.remove("wrong");
		} catch (error) {
			search.classList.add("wrong");
		}
		elements.forEach(function (frame) {
			frame.classList.toggle("found", pattern !== null && frame.node.isFrame === true &&
				pattern.test(frame.node.name));
		});
		found.textContent = "";
		if (pattern) {
			const [count, sum] = matching(pattern);
			found.textContent = report.count(count) + (count === 1 ? " function: " : " functions: ") +
				amount(sum) + ", " + (report.percent(sum, tree.value) || "0\u00a0%");
		}
	}

	function listen() {
		box.addEventListener("click", function (event) {
			if (event.target.node) {
				zoomed = event.target.node;
				draw();
			}
		});
		box.addEventListener("mouseover", function (event) {
			if (!event.target.node)
				return;
			details.textContent = describe(event.target.node);
			event.target.title = details.textContent;
		});
		document.getElementById("unzoom").addEventListener("click", function () {
			zoomed = tree;
			draw();
		});
		[quantity, byLine, reversed].forEach(function (input) { input.addEventListener("change", redraw); });
		search.addEventListener("input", mark);
		window.addEventListener("resize", function () { draw(); });
	}

	function options() {
		if (data.allocations)
			QUANTITIES.forEach(function (kind, index) {
				const option = el("option", { value: index }, kind.name);
				if (kind.ranged) {
					option.disabled = true;
					ranged = option;
				}
				quantity.append(option);
			});
		data.events.forEach(function (event, index) {
			quantity.append(el("option", { value: "event" + index }, event.name));
		});
	}

	report.addFlame = function () {
		const place = report.section("flame", "Flame graph");
		quantity = el("select", { id: "quantity", "aria-label": "what frames are as wide as" });
		byLine = el("input", { type: "checkbox", id: "by-line" });
		reversed = el("input", { type: "checkbox", id: "reversed" });
		search = el("input", { type: "search", id: "flame-search", placeholder: "search", "aria-label": "search" });
		found = el("span", { id: "found", class: "dim" });
		details = el("p", { id: "details" });
		box = el("div", { class: "flame" });
		options();
		place.append(el("div", { class: "controls" }, quantity, el("label", {}, byLine, " lines apart"),
			el("label", {}, reversed, " reversed"), search, found, el("button", { id: "unzoom", hidden: "" },
				"reset zoom")), details, el("div", { class: "flame-frame" }, box),
		el("p", { id: "left-out", class: "dim" }));
		listen();
		report.watch(function (what) {
			if (what === "shown")
				redraw();
		});
	};
}(report));
