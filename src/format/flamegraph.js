// The flame graph's behaviour. The picture is right without it: what is here lays the same frames out for the width of
// the window, for a zoom and for a search. Names are only ever text, never markup.
"use strict";
(function () {
	const svg = document.currentScript && document.currentScript.ownerSVGElement || document.documentElement;
	const SVG = "http://www.w3.org/2000/svg", HTML = "http://www.w3.org/1999/xhtml";
	const get = (name) => svg.querySelector("." + name);
	const frames = get("frames"), head = get("head"), detail = get("detail"), found = get("found"), note = get("note");
	const ROW = Number(frames.dataset.row), TOP = Number(frames.dataset.top), PAD = Number(frames.dataset.pad);
	const NARROW = 640, MORE = 76; // pixels: below that the bar and the words have rows of their own, which take so much
	const LEAST = 300; // a window that is narrower scrolls
	const BAR = 380, PAGE = 460;

	// ---- what there is: frames in the order of the file, parents before children ----

	const path = [];
	const nodes = Array.from(frames.children, function (element, index) {
		const [depth, start, total, parts] = element.dataset.d.split(" ").map(Number);
		const [name, place, words] = element.firstElementChild.textContent.split("\n");
		const node = {element, index, depth, start, total, name, place, words, kids: [], hit: false, shown: true};
		node.short = place.split("/").slice(-parts).join("/");
		node.rect = element.querySelector("rect");
		node.text = element.querySelector("text");
		node.parent = depth ? path[depth - 1] : null;
		if (node.parent)
			node.parent.kids.push(node);
		path[depth] = node;
		element.node = node;
		return node;
	});
	const root = nodes[0], rows = nodes.reduce((most, node) => Math.max(most, node.depth), 0) + 1;
	let zoomed = root, current = root, flipped = false, width = 0, glyph = 7.22, pattern = null, plain = false, narrow = false, top = TOP;

	function add(parent, space, tag, attributes, text) {
		const element = document.createElementNS(space, tag);
		for (const name in attributes)
			element.setAttribute(name, attributes[name]);
		if (text !== undefined)
			element.textContent = text;
		parent.appendChild(element);
		return element;
	}

	function put(element, attributes) {
		for (const name in attributes)
			element.setAttribute(name, attributes[name]);
	}

	// ---- words ----

	// As in the file: "850 ns", "12.3 ms", "2m05s", "3h07m".
	function time(ns) {
		const seconds = Math.round(ns / 1e9), two = (number) => String(number).padStart(2, "0");
		if (ns >= 99.95e9)
			return seconds < 3600 ? Math.floor(seconds / 60) + "m" + two(seconds % 60) + "s" :
				Math.floor(seconds / 3600) + "h" + two(Math.floor(seconds / 60) % 60) + "m";
		const [size, unit] = ns >= 999.5e6 ? [1e9, "s"] : ns >= 999.5e3 ? [1e6, "ms"] : ns >= 1e3 ? [1e3, "us"] : [1, "ns"];
		const value = ns / size;
		return value.toFixed(size === 1 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2) + " " + unit;
	}

	const percent = (part, whole) => (whole ? 100 * part / whole : 0).toFixed(2) + "%";

	// Columns that a text takes: characters of East Asia and signs beyond take two.
	function columns(text) {
		let count = 0;
		for (const character of text)
			count += character.codePointAt(0) >= 0x1100 ? 2 : 1;
		return count;
	}

	function cut(text, room) {
		let kept = "", used = 0;
		if (columns(text) <= room)
			return text;
		for (const character of text) {
			used += columns(character);
			if (used > room - 1)
				break;
			kept += character;
		}
		return kept + "\u2026";
	}

	// Columns of the lines in the head.
	const fits = (space) => Math.floor(space / (glyph * 12.5 / 12));

	function label(node, x, y, space) {
		const room = Math.floor((space - 8) / glyph);
		if (room < 3) {
			if (node.text)
				node.text.remove();
			node.text = null;
			return;
		}
		if (!node.text)
			node.text = add(node.element, SVG, "text", {});
		put(node.text, {x: x + 4, y: y + ROW - 5.5});
		node.text.textContent = cut(node.name, room);
		if (node.short && columns(node.name) + 1 + columns(node.short) <= room)
			add(node.text, SVG, "tspan", {class: "p", dx: "0.6em"}, node.short);
	}

	function tell(node) {
		const share = zoomed !== root && node.depth > zoomed.depth ? ", " + percent(node.total, zoomed.total) + " of the zoom" : "";
		const right = pattern && !narrow ? found.getComputedTextLength() + 24 : 0;
		const line = fits(width - right), words = cut(node.words + share, narrow ? line : line - 10);
		const room = narrow ? line : line - columns(words) - 2;
		detail.textContent = words;
		const name = add(detail, SVG, "tspan", {"font-weight": "bold"}, cut(node.name, room));
		put(name, narrow ? {x: PAD, dy: "1.4em"} : {dx: "1.2em"});
		if (node.place && columns(node.name) + columns(node.place) + 2 <= room)
			add(detail, SVG, "tspan", {class: "p", dx: "0.6em"}, node.place);
	}

	// ---- the picture ----

	function place(node) {
		const over = node.depth <= zoomed.depth;
		const inside = over ? node.start <= zoomed.start && zoomed.start + zoomed.total <= node.start + node.total && above(node, zoomed) :
			node.start >= zoomed.start && node.start + node.total <= zoomed.start + zoomed.total;
		node.shown = inside;
		node.element.style.display = inside ? "" : "none";
		if (!inside)
			return;
		const x = over ? 0 : (node.start - zoomed.start) / zoomed.total * width;
		const space = over ? width : node.total / zoomed.total * width;
		const y = (flipped ? rows - 1 - node.depth : node.depth) * ROW;
		put(node.rect, {x: x.toFixed(2), y, width: Math.max(space - 0.8, space * 0.7).toFixed(2)});
		label(node, x, y, space);
	}

	function above(node, other) {
		while (other && other.depth > node.depth)
			other = other.parent;
		return other === node;
	}

	function paint() {
		for (const node of nodes) {
			const list = node.element.classList;
			list.toggle("up", node.depth < zoomed.depth && node.shown);
			list.toggle("hit", node.hit);
			list.toggle("dim", pattern !== null && !node.hit && !(node.depth < zoomed.depth));
		}
		reset.disabled = zoomed === root && !pattern;
	}

	// Left in the file for whoever draws it without this script, too long for a narrow window.
	function shorten(element, room) {
		if (element.whole === undefined)
			element.whole = element.textContent;
		let low = 0, high = element.whole.length;
		element.textContent = element.whole;
		if (element.getComputedTextLength() <= room)
			return;
		while (low < high) {
			const middle = (low + high + 1) >> 1;
			element.textContent = element.whole.slice(0, middle) + "\u2026";
			if (element.getComputedTextLength() <= room)
				low = middle;
			else
				high = middle - 1;
		}
		element.textContent = element.whole.slice(0, low).replace(/[\ud800-\udbff]$/, "") + "\u2026";
	}

	function layout() {
		// The height first: it decides whether a scroll bar takes some of the width.
		narrow = window.innerWidth < NARROW;
		top = TOP + (narrow ? MORE : 0);
		const height = Math.max(top + rows * ROW + 34, below());
		svg.removeAttribute("viewBox");
		put(svg, {width: "100%", height});
		const outer = Math.max(document.documentElement.clientWidth || window.innerWidth, LEAST);
		width = outer - 2 * PAD;
		put(svg, {width: outer});
		put(get("back"), {width: outer, height});
		put(get("lid"), {width: outer, height: top - 2});
		put(get("line"), {x2: outer, y1: narrow ? 100 : 60, y2: narrow ? 100 : 60});
		put(detail, {y: narrow ? 118 : 78});
		put(found, {x: outer - PAD, y: narrow ? 153 : 78});
		put(frames, {y: top});
		put(tools, narrow ? {x: PAD - 4, y: 57, width: width + 8} : {x: outer - PAD - BAR + 4, y: 5, width: BAR});
		put(keys, {x: (outer - Math.min(width, PAGE)) / 2});
		put(note, {y: top + rows * ROW + 20});
		shorten(get("title"), width - (narrow ? 0 : BAR + 20));
		shorten(get("about"), width - (narrow ? 0 : BAR + 20));
		shorten(note, width);
		nodes.forEach(place);
		paint();
		count();
		tell(current);
	}

	function stick() {
		head.setAttribute("transform", "translate(" + window.scrollX + " " + window.scrollY + ")");
	}

	// ---- what can be done ----

	function zoom(node) {
		zoomed = node;
		focus(node);
		layout();
	}

	function focus(node) {
		current.element.removeAttribute("tabindex");
		current = node;
		put(node.element, {tabindex: 0, role: "treeitem", "aria-level": node.depth + 1,
			"aria-label": [node.name, node.place, node.words].filter(Boolean).join(", ")});
		node.element.focus({preventScroll: true});
		reveal(node);
		paint();
		tell(node);
	}

	function reveal(node) {
		const box = node.rect.getBoundingClientRect();
		if (box.top < top)
			window.scrollBy(0, box.top - top);
		else if (box.bottom > window.innerHeight)
			window.scrollBy(0, box.bottom - window.innerHeight + ROW);
	}

	function flip() {
		flipped = !flipped;
		layout();
		window.scrollTo(0, flipped ? document.documentElement.scrollHeight : 0);
		stick();
	}

	function search(text) {
		plain = false;
		pattern = null;
		if (text) {
			try {
				pattern = new RegExp(text, "i");
			} catch (error) {
				plain = true;
				pattern = new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i");
			}
		}
		for (const node of nodes)
			node.hit = pattern !== null && pattern.test(node.name + " " + node.place);
		paint();
		count();
		tell(current);
	}

	// Time of all that matches within the zoom: a match below another one is counted once.
	function count() {
		let total = 0, hits = 0, elsewhere = 0, until = -1;
		for (const node of nodes) {
			if (!node.hit || !node.shown || node.depth < zoomed.depth) {
				elsewhere += node.hit;
				continue;
			}
			hits++;
			if (node.start >= until) {
				total += node.total;
				until = node.start + node.total;
			}
		}
		const none = elsewhere ? "none in this zoom, " + elsewhere + " elsewhere" : "no frames";
		const some = percent(total, zoomed.total) + " matched, " + time(total) + ", " + hits + (hits === 1 ? " frame" : " frames");
		const words = pattern ? (hits ? some : none) + (plain ? " (taken as plain text)" : "") : "";
		found.textContent = narrow ? cut(words, fits(width)) : words;
	}

	function clear() {
		field.value = "";
		search("");
	}

	function restore() {
		clear();
		zoom(root);
	}

	function next(step) {
		const hits = nodes.filter((node) => node.hit && node.shown);
		if (!hits.length)
			return;
		const after = hits.findIndex((node) => step > 0 ? node.index > current.index : node.index >= current.index);
		const from = step > 0 ? (after < 0 ? 0 : after) : (after < 0 ? hits.length : after) - 1;
		focus(hits[(from + hits.length) % hits.length]);
	}

	// The neighbour in the same row, whoever its parent is.
	function beside(step) {
		for (let i = current.index + step; i >= 0 && i < nodes.length; i += step)
			if (nodes[i].depth === current.depth && nodes[i].shown)
				return nodes[i];
		return current;
	}

	const widest = (node) => node.kids.filter((kid) => kid.shown).reduce((most, kid) => !most || kid.total > most.total ? kid : most, null);
	const inward = () => widest(current) || current, outward = () => current.parent || current;

	// ---- buttons and keys ----

	function button(parent, text, title, act) {
		const made = add(parent, HTML, "button", {type: "button", title}, text);
		made.addEventListener("click", act);
		return made;
	}

	const tools = add(head, SVG, "foreignObject", {y: 5, width: BAR, height: 40});
	const bar = add(tools, HTML, "div", {class: "bar", role: "toolbar"});
	const field = add(bar, HTML, "input", {type: "search", placeholder: "Search (regex)", "aria-label": "Search", spellcheck: "false"});
	field.addEventListener("input", () => search(field.value));
	button(bar, "Flip", "Root at the other end (i)", flip);
	const reset = button(bar, "Reset", "Show everything (Esc)", restore);
	button(bar, "?", "Keys (?)", help);

	const keys = add(svg, SVG, "foreignObject", {});
	const page = add(keys, HTML, "div", {class: "keys", role: "dialog", "aria-label": "Keys"});
	add(page, HTML, "b", {}, "Keys");
	const list = add(page, HTML, "dl", {});
	[["click, Enter", "zoom into a frame; its callers stay"], ["double click, Esc", "everything again"],
		["\u2190 \u2191 \u2192 \u2193", "go to the next frame, caller or callee"], ["Backspace", "zoom out by one frame"],
		["/, Ctrl-F", "search: a regular expression"], ["n, N", "next and last match"],
		["i", "turn upside down"], ["?", "this page"]].forEach(function (pair) {
		add(list, HTML, "dt", {}, pair[0]);
		add(list, HTML, "dd", {}, pair[1]);
	});
	add(page, HTML, "p", {}, "Orange is the program's own code, blue are packages, green is the standard library, pink is native code.");
	const close = button(page, "Close", "Esc", help);
	keys.style.display = "none";

	// Where the page of keys ends. It is as high as its words, if the window is; else it scrolls.
	function below() {
		const room = Math.max(window.innerHeight - top - PAD, 160), space = document.documentElement.clientWidth || window.innerWidth;
		put(keys, {y: window.scrollY + top, width: Math.min(Math.max(space, LEAST) - 2 * PAD, PAGE), height: 1});
		put(keys, {height: Math.min(page.scrollHeight + 2, room)});
		return keys.style.display === "none" ? 0 : window.scrollY + top + Number(keys.getAttribute("height")) + PAD;
	}

	function help() {
		const open = keys.style.display === "none";
		keys.style.display = open ? "" : "none";
		layout();
		(open ? close : current.element).focus({preventScroll: true});
	}

	function escape() {
		if (keys.style.display !== "none")
			help();
		else
			restore();
	}

	const actions = {
		"/": () => field.focus(), "?": help, i: flip, n: () => next(1), N: () => next(-1), Escape: escape,
		Enter: () => zoom(current), " ": () => zoom(current), Backspace: () => zoom(zoomed.parent || root),
		ArrowLeft: () => focus(beside(-1)), ArrowRight: () => focus(beside(1)), Home: () => focus(root),
		ArrowUp: () => focus(flipped ? inward() : outward()), ArrowDown: () => focus(flipped ? outward() : inward()),
	};

	document.addEventListener("keydown", function (event) {
		const control = event.ctrlKey || event.metaKey;
		// As a part of a page, its keys are its own only while it has the focus.
		if (svg !== document.documentElement && !svg.contains(document.activeElement))
			return;
		if (control && event.key === "f" && document.activeElement !== field) {
			// A second Ctrl-F is the browser's own search.
			field.focus();
			field.select();
			event.preventDefault();
			return;
		}
		if (control || event.altKey)
			return;
		if (document.activeElement === field) {
			if (event.key === "Escape")
				clear();
			if (event.key === "Enter")
				next(1);
			else if (event.key === "Escape")
				current.element.focus({preventScroll: true});
			return;
		}
		if (event.target.localName === "button" && (event.key === "Enter" || event.key === " "))
			return;
		if (Object.hasOwn(actions, event.key)) {
			actions[event.key]();
			event.preventDefault();
		}
	});

	const frame = (event) => event.target.closest && event.target.closest(".f");
	frames.addEventListener("click", (event) => frame(event) && zoom(frame(event).node));
	frames.addEventListener("mouseover", (event) => frame(event) && tell(frame(event).node));
	frames.addEventListener("mouseleave", () => tell(current));
	svg.addEventListener("dblclick", (event) => event.target.namespaceURI === SVG && restore());
	window.addEventListener("resize", layout);
	window.addEventListener("scroll", stick);
	window.addEventListener("beforeprint", function () {
		head.removeAttribute("transform");
		svg.setAttribute("viewBox", "0 0 " + svg.getAttribute("width") + " " + (top + rows * ROW + 34));
		put(svg, {width: "100%"});
		svg.removeAttribute("height");
		for (const name of ["title", "about"]) // there are no buttons on paper
			shorten(get(name), width);
	});
	window.addEventListener("afterprint", layout);

	svg.setAttribute("role", "group");
	put(frames, {role: "tree", "aria-label": "Frames"});
	glyph = (function () {
		const probe = add(frames, SVG, "text", {}, "M".repeat(100));
		const size = probe.getComputedTextLength() / 100;
		probe.remove();
		return size || glyph;
	})();
	layout();
	put(root.element, {tabindex: 0, role: "treeitem", "aria-level": 1});
})();
