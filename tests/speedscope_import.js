// node speedscope_import.js BUNDLE FILE: what speedscope's own importer makes of a file, as JSON.
//
// The package has no library but the bundle of its page. Its importers are functions at the top of that bundle: the words
// that it logs before it calls them tell their names, and a line put before its first statement hands them out. The page
// itself cannot start without a browser, which is fine: by then everything else is defined.
"use strict";
const fs = require("fs");

const nothing = new Proxy(function () {}, {
	get: (_, key) => key === Symbol.toPrimitive ? () => "" : nothing,
	apply: () => nothing,
	construct: () => nothing,
	set: () => true,
});

function importers(bundle) {
	const text = fs.readFileSync(bundle, "utf-8");
	const name = (words) => {
		const found = text.match(new RegExp(`"${words}"\\),([A-Za-z_$][\\w$]*)\\(`));
		if (!found)
			throw new Error(`speedscope no longer says "${words}"`);
		return found[1];
	};
	const hand = `hand.speedscope = ${name("Importing as speedscope json file")}; hand.trace = ${name("Importing as Trace Event Format profile")};`;
	const start = text.indexOf("(()=>{") + "(()=>{".length;
	const hand_out = {};
	try {
		new Function("hand", "window", "document", "navigator", "localStorage", text.slice(0, start) + hand + text.slice(start))(
			hand_out, nothing, nothing, nothing, nothing);
	} catch (error) {
		if (!hand_out.speedscope)
			throw error;
	}
	return hand_out;
}

// The stack with most time of its own, outermost frame first.
function heaviest(profile) {
	let best = {weight: -1, stack: []};
	(function walk(node, stack) {
		if (node.getSelfWeight() > best.weight)
			best = {weight: node.getSelfWeight(), stack: stack.map((frame) => frame.name)};
		for (const child of node.children)
			walk(child, [...stack, child.frame]);
	})(profile.getAppendOrderCalltreeRoot(), []);
	return best;
}

const say = console.log;
console.log = console.warn = () => {};
const hand = importers(process.argv[2]);
const file = JSON.parse(fs.readFileSync(process.argv[3], "utf-8"));
const group = (file.traceEvents ? hand.trace : hand.speedscope)(file);
say(JSON.stringify({
	name: group.name,
	index: group.indexToView,
	profiles: group.profiles.map((profile) => ({
		name: profile.getName(), unit: profile.getWeightUnit(), total: profile.getTotalWeight(),
		inside: profile.getTotalNonIdleWeight(), heaviest: heaviest(profile),
	})),
}));
