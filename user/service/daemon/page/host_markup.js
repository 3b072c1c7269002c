/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Elements made of text alone, since names are the watched programs' and may say anything, and
 * numbers as text. The other host_*.js hang their parts on `host`.
 */
"use strict";
const host = (function () {
	const SVG = "http://www.w3.org/2000/svg";

	function fill(element, attributes, children) {
		Object.entries(attributes).forEach(function (entry) {
			if (typeof entry[1] === "function")
				element.addEventListener(entry[0], entry[1]);
			else
				element.setAttribute(entry[0], entry[1]);
		});
		element.append(...children);
		return element;
	}

	/* Attributes that are functions are listeners; children are elements or text. */
	function el(name, attributes, ...children) {
		return fill(document.createElement(name), attributes, children);
	}

	function svg(name, attributes, ...children) {
		return fill(document.createElementNS(SVG, name), attributes, children);
	}


	function scaled(value, units, step) {
		let size = Math.abs(value), unit = 0;
		while (size >= step && unit + 1 < units.length) {
			size /= step;
			unit++;
		}
		return (value < 0 ? "\u2212" : "") + size.toFixed(unit === 0 || size >= 100 ? 0 : 1) + " " + units[unit];
	}

	function bytes(value) {
		return value === null ? "\u2014" : scaled(value, ["B", "KiB", "MiB", "GiB", "TiB"], 1024);
	}

	/* Of bytes per second; below a page a minute it does not grow. */
	function growth(value) {
		const perMinute = value * 60;
		if (value === null)
			return "\u2014";
		if (Math.abs(perMinute) < 4096)
			return "0";
		return (perMinute > 0 ? "+" : "") + bytes(Math.round(perMinute)) + "/min";
	}

	function seconds(value) {
		const s = Math.round(value);
		if (s < 120)
			return s + " s";
		return s < 7200 ? Math.round(s / 60) + " min" : s < 172800 ? Math.round(s / 3600) + " h" :
			Math.round(s / 86400) + " d";
	}

	/* [x, y, ...] of a series [seconds ago, bytes, ...] in a box, time to the right, 0 at the bottom. */
	function line(series, width, height) {
		const oldest = series.length ? Math.max(series[0], 1) : 1, points = [];
		let most = 1;
		for (let i = 1; i < series.length; i += 2)
			most = Math.max(most, series[i]);
		for (let i = 0; i < series.length; i += 2)
			points.push(((1 - series[i] / oldest) * width).toFixed(1) + "," +
				((1 - series[i + 1] / most) * height).toFixed(1));
		return { points: points.join(" "), oldest: oldest, most: most };
	}

	return { el: el, svg: svg, bytes: bytes, growth: growth, seconds: seconds, line: line };
}());
