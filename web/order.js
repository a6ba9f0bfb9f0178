/* order.js: a tree in the order of another one. */

import { Tree, VALUES, depthsOf } from './tree.js';

/** @typedef {import('./tree.js').Frames} Frames */

/** By node of next: the node with the same path in before, or -1. @param {Tree} next @param {Tree} before */
function twins(next, before) {
	const key = (/** @type {Frames} */ f, /** @type {number} */ i) =>
		[f.name[i], f.mapping[i], f.file[i], f.kind[i], f.inlined[i]].join('\0');
	const frameIds = new Map(before.frames.name.map((_, i) => [key(before.frames, i), i])),
		children = new Map();
	const frame = next.frames.name.map((_, i) => frameIds.get(key(next.frames, i)) ?? -1);
	for (let i = 1; i < before.n; i++) children.set(before.parent[i] * before.frames.count + before.frame[i], i);
	const twin = new Int32Array(next.n).fill(-1);
	twin[0] = 0;
	for (let i = 1; i < next.n; i++) {
		const up = twin[next.parent[i]],
			same = frame[next.frame[i]];
		twin[i] = up < 0 || same < 0 ? -1 : (children.get(up * before.frames.count + same) ?? -1);
	}
	return twin;
}
/** The next tree with siblings in the order of the previous one, and new ones after them, so that the picture does not
 * jump.
 * @param {Tree} next @param {Tree} before */
export function keepOrder(next, before) {
	const twin = twins(next, before),
		order = new Uint32Array(next.n),
		todo = [0];
	for (let k = 0, node = todo.pop(); node !== undefined; node = todo.pop(), k++) {
		const children = [];
		order[k] = node;
		for (let child = node + 1; child < next.end[node]; child = next.end[child]) children.push(child);
		children.sort((a, b) => (twin[a] < 0 ? Infinity : twin[a]) - (twin[b] < 0 ? Infinity : twin[b]) || a - b);
		for (let c = children.length; c-- > 0;) todo.push(children[c]);
	}
	const values = Object.fromEntries(
		VALUES.filter((v) => next[v]).map((v) => [v, Float64Array.from(order, (i) => next[v]?.[i] ?? 0)])
	);
	const depth = depthsOf(order.map((i) => next.depth[i])),
		frame = order.map((i) => next.frame[i]);
	return new Tree(next.header, next.frames, depth, frame, values);
}
