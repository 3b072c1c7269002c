/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Zoom, search and turning of a flame graph; a part of its SVG. A frame is a <g> that says where it
 * starts (data-s), its value (data-v) and its depth (data-d); its title begins with its name.
 */
"use strict";
(function () {
	var svg = document.documentElement, NS = svg.namespaceURI;
	var LEFT = 10, ROW = 17, CHAR = 7.1;
	var width = svg.viewBox.baseVal.width - 2 * LEFT;
	var top = +svg.dataset.top, rows = +svg.dataset.rows, unit = svg.dataset.unit;
	var reset = byId("reset"), input = byId("search"), found = byId("found"), details = byId("details");
	var rootFirst = false, zoomed = null;
	var frames = Array.prototype.map.call(document.querySelectorAll("#frames > g"), function (g) {
		var title = g.firstChild.textContent;
		return {
			g: g, rect: g.querySelector("rect"), text: g.querySelector("text"), title: title,
			name: title.slice(0, title.lastIndexOf(" (")),
			start: +g.dataset.s, value: +g.dataset.v, depth: +g.dataset.d
		};
	});
	var byElement = new Map(frames.map(function (f) { return [f.g, f]; }));
	var root = frames.find(function (f) { return f.depth === 0; });

	function byId(id) { return document.getElementById(id); }

	function fit(name, pixels) {
		var room = Math.floor((pixels - 6) / CHAR);
		if (room < 3)
			return "";
		return name.length <= room ? name : name.slice(0, room - 1) + "\u2026";
	}

	function place(frame, x, pixels) {
		var row = rootFirst ? frame.depth : rows - 1 - frame.depth;
		var y = top + row * ROW, label = fit(frame.name, pixels);
		frame.rect.setAttribute("x", x.toFixed(2));
		frame.rect.setAttribute("width", Math.max(pixels - 0.4, 0.1).toFixed(2));
		frame.rect.setAttribute("y", y);
		if (label && !frame.text)
			frame.text = frame.g.appendChild(document.createElementNS(NS, "text"));
		if (frame.text) {
			frame.text.textContent = label;
			frame.text.setAttribute("x", (x + 3).toFixed(2));
			frame.text.setAttribute("y", y + 12);
		}
	}

	/* The zoomed frame is as wide as the picture; those below it are faded, others are not there. */
	function draw() {
		var from = zoomed || root, end = from.start + from.value, scale = width / from.value;
		frames.forEach(function (f) {
			var below = f.depth < from.depth && f.start <= from.start && f.start + f.value >= end;
			var within = f.depth >= from.depth && f.start >= from.start && f.start + f.value <= end;
			f.g.classList.toggle("below", below);
			f.g.classList.toggle("away", !below && !within);
			if (below)
				place(f, LEFT, width);
			else if (within)
				place(f, LEFT + (f.start - from.start) * scale, f.value * scale);
		});
		reset.classList.toggle("away", !zoomed || zoomed === root);
	}

	function zoom(frame) {
		zoomed = frame;
		draw();
	}

	function number(value) { return value.toLocaleString("en-US"); }

	/* A frame that matches below one that matches is a part of it, and not counted again. */
	function search(text) {
		var end = -1, sum = 0, count = 0, pattern = null;
		try {
			pattern = text ? new RegExp(text, "i") : null;
			input.classList.remove("wrong");
		} catch (error) {
			input.classList.add("wrong");
		}
		frames.slice().sort(function (a, b) {
			return a.start - b.start || a.depth - b.depth;
		}).forEach(function (f) {
			var matches = pattern !== null && pattern.test(f.name);
			f.g.classList.toggle("found", matches);
			if (!matches)
				return;
			count++;
			if (f.start >= end) {
				sum += f.value;
				end = f.start + f.value;
			}
		});
		found.textContent = pattern ? count + (count === 1 ? " frame: " : " frames: ") + number(sum) +
			" " + unit + ", " + (100 * sum / root.value).toFixed(2) + " %" : "";
	}

	function frameOf(target) {
		var g = target.closest ? target.closest("#frames > g") : null;
		return g ? byElement.get(g) : null;
	}

	if (!root || root.value === 0)
		return;
	svg.addEventListener("click", function (event) {
		var frame = frameOf(event.target);
		if (frame)
			zoom(frame);
	});
	svg.addEventListener("mouseover", function (event) {
		var frame = frameOf(event.target);
		details.textContent = frame ? frame.title : "";
	});
	reset.addEventListener("click", function () { zoom(null); });
	byId("turn").addEventListener("click", function () {
		rootFirst = !rootFirst;
		draw();
	});
	if (input)
		input.addEventListener("input", function () { search(input.value); });
	window.addEventListener("keydown", function (event) {
		if (event.key === "Escape") {
			if (input)
				input.value = "";
			search("");
			zoom(null);
		} else if (input && event.key === "/" && event.target !== input) {
			event.preventDefault();
			input.focus();
		}
	});
	svg.classList.add("live");
}());
