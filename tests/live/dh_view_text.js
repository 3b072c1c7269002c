// SPDX-License-Identifier: GPL-2.0-or-later
// Opens a file in DHAT's viewer, dh_view.js, with so much of a page as that needs, and prints what it
// shows: node dh_view_text.js /path/of/dh_view.js FILE [METRIC]
"use strict";

const fs = require("fs");
const vm = require("vm");

class Node {
	constructor(text) {
		this.childNodes = [];
		this.text = text;
	}
	appendChild(child) {
		this.childNodes.push(child);
		child.parentNode = this;
		return child;
	}
	replaceChild(child, old) {
		this.childNodes[this.childNodes.indexOf(old)] = child;
		child.parentNode = this;
	}
	cloneNode() {
		return new Node();
	}
	get textContent() {
		return (this.text ?? "") + this.childNodes.map(child => child.textContent).join("");
	}
	set textContent(text) {
		this.childNodes = [new Node(text)];
	}
	get selectedIndex() {
		return this.childNodes.findIndex(option => option.selected);
	}
}

const [, , viewer, path, metric] = process.argv;
const page = vm.createContext({
	document: {
		body: new Node(),
		location: { search: "" },
		createElement: () => new Node(),
		createTextNode: text => new Node(text),
	},
	URLSearchParams, performance, Intl,
	data: fs.readFileSync(path, "utf8"),
	metric,
});

vm.runInContext(fs.readFileSync(viewer, "utf8"), page);
vm.runInContext(`
	onLoad();
	gFilename = "file";
	gData = JSON.parse(data);
	buildTree();
	if (metric !== undefined)
		for (const option of gSelect.childNodes)
			option.selected = option.textContent === metric;
	displayTree();
`, page);
process.stdout.write(vm.runInContext("gMainDiv.textContent", page));
