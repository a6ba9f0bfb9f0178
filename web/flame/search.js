/* flame/search.js: the frames that match a text, and their share of everything. */

/** @typedef {import('../tree.js').Tree} Tree */
/** matched: the totals of all stacks with a match in them; a match below another one does not count again. nodes: the
 * matching nodes in pre-order; frames: their number. matchedB, selfB: of side B.
 * @typedef {{text: string, error: string, matched: number, self: number, matchedB: number, selfB: number, nodes:
 * Uint32Array, frames: number}} Found */

const LONGEST = 4096; /* characters of a name that are searched */

/** @param {string} text @returns {(name: string) => boolean} throws an Error in words that can be shown */
export function matcher(text) {
	const re = /^\/(.+)\/(i?)$/s.exec(text);
	if (!re) return (name) => name.includes(text);
	try {
		const expression = new RegExp(re[1], re[2]);
		return (name) => expression.test(name.length > LONGEST ? name.slice(0, LONGEST) : name);
	} catch (e) {
		throw new Error('bad expression: ' + String(/** @type {Error} */ (e).message).replace(/^.*: /s, ''));
	}
}
/** @returns {Found} */
export function nothingFound(text = '', error = '') {
	return { text, error, matched: 0, self: 0, matchedB: 0, selfB: 0, nodes: new Uint32Array(0), frames: 0 };
}
/** Frames that match, 1 each. Each name is tested once, however many frames have it.
 * @param {Tree} t @param {(name: string) => boolean} test */
function matchingFrames(t, test) {
	const { count, name, nameId, kind } = t.frames,
		known = new Map(),
		hit = new Uint8Array(count);
	for (let i = 1; i < count; i++) {
		const id = nameId[i];
		let is = known.get(id);
		if (is === undefined) known.set(id, (is = test(name[i])));
		hit[i] = is && kind[i] !== 'rest' ? 1 : 0;
	}
	return hit;
}
/** The nodes with these frames, in pre-order. @param {Tree} t @param {Uint8Array} hit */
function nodesOf({ frame, n }, hit) {
	let count = 0;
	for (let i = 0; i < n; i++) count += hit[frame[i]];
	const nodes = new Uint32Array(count);
	for (let i = 0, k = 0; k < count; i++) if (hit[frame[i]]) nodes[k++] = i;
	return nodes;
}
/** @param {Tree} t @param {string} text @returns {Found} */
export function search(t, text) {
	const found = nothingFound(text),
		{ end, total, self, totalB, selfB } = t;
	if (!text) return found;
	const nodes = (found.nodes = nodesOf(t, matchingFrames(t, matcher(text))));
	for (let k = 0, upto = 0; k < nodes.length; k++) {
		const i = nodes[k];
		found.self += self[i];
		if (selfB) found.selfB += selfB[i];
		if (i < upto) continue;
		found.matched += total[i];
		if (totalB) found.matchedB += totalB[i];
		upto = end[i];
	}
	found.frames = nodes.length;
	return found;
}
