/* flame/layout.js: positions of nodes, in units of value (ns in a chart); rows are depths. In pre-order, rows come out
 * sorted by position, so a counting pass is enough; the nodes in view are found by binary search. */
import { diffFactor, hash } from '../colours.js';

/** @typedef {import('../tree.js').Tree} Tree */

export class Layout {
	/** @param {Tree} tree */
	constructor(tree) {
		this.tree = tree;
		this.rows = tree.rows;
		/** The widths of nodes; in a diff both sides count, so that removed frames are visible, too. */
		this.width = widthsOf(tree);
		this.start = tree.startNs || startsOf(tree, this.width);
		const { order, first } = rowsOf(tree.depth, tree.rows);
		/** Nodes row by row: those of row r are order[first[r]] … order[first[r + 1] - 1]. */
		this.order = order;
		this.first = first;
	}
	/** Of a list like order (within from … to): the number of nodes that begin at or before x.
	 * @param {Uint32Array} order @param {number} from @param {number} to @param {number} x */
	after(order, from, to, x) {
		const start = this.start;
		while (from < to) {
			const middle = (from + to) >>> 1;
			if (start[order[middle]] <= x) from = middle + 1;
			else to = middle;
		}
		return from;
	}
	/** The node of a row at x, -1 for none. @param {number} row @param {number} x */
	at(row, x) {
		if (row < 0 || row >= this.rows) return -1;
		const from = this.first[row],
			i = this.after(this.order, from, this.first[row + 1], x) - 1;
		const node = i < from ? -1 : this.order[i];
		return node >= 0 && x < this.start[node] + this.width[node] ? node : -1;
	}
	/** The widest node of a row that begins within x0 … x1, else the one at the middle; and the number that begin
	 * there.
	 * @param {number} row @param {number} x0 @param {number} x1 */
	widest(row, x0, x1) {
		const middle = this.at(row, (x0 + x1) / 2);
		if ((middle >= 0 && this.width[middle] >= x1 - x0) || row < 0 || row >= this.rows)
			return { node: middle, count: middle < 0 ? 0 : 1 };
		const to = this.first[row + 1],
			from = this.after(this.order, this.first[row], to, x0);
		let node = middle,
			i = from;
		for (; i < to && this.start[this.order[i]] < x1; i++)
			if (node < 0 || this.width[this.order[i]] > this.width[node]) node = this.order[i];
		return { node, count: Math.max(i - from, node < 0 ? 0 : 1) };
	}
	/** The node `by` places further in the same row. @param {number} node @param {number} by */
	beside(node, by) {
		const row = this.tree.depth[node],
			from = this.first[row],
			to = this.first[row + 1];
		const at = indexIn(this.order, from, to, node) + by;
		return at < from || at >= to ? -1 : this.order[at];
	}
	/** The parent, without the tree's own table. @param {number} node */
	up(node) {
		const row = this.tree.depth[node] - 1;
		return row < 0 ? -1 : this.order[indexIn(this.order, this.first[row], this.first[row + 1], node)];
	}
	/** The widest child, -1 when there is none. @param {number} node */
	heaviest(node) {
		const { end } = this.tree;
		let best = -1;
		for (let i = node + 1; i < end[node]; i = end[i]) if (best < 0 || this.width[i] > this.width[best]) best = i;
		return best;
	}
}

/** The index of the last id up to this one in a sorted part of a list.
 * @param {Uint32Array} order @param {number} from @param {number} to @param {number} id */
function indexIn(order, from, to, id) {
	while (to - from > 1) {
		const middle = (from + to) >>> 1;
		if (order[middle] <= id) from = middle;
		else to = middle;
	}
	return from;
}
/** Values below zero (a difference stored as one profile) take as much room as others. @param {Tree} t */
function widthsOf(t) {
	const a = t.header.signed ? sizes(t, t.self) : t.total;
	if (!t.selfB || !t.totalB) return a;
	const b = t.header.signed ? sizes(t, t.selfB) : t.totalB,
		factor = diffFactor(t);
	return a.map((v, i) => v * factor + b[i]);
}
/** Totals of the values without their signs. @param {Tree} t @param {Float64Array} self */
function sizes(t, self) {
	const out = self.map(Math.abs),
		{ parent } = t;
	for (let i = t.n - 1; i > 0; i--) out[parent[i]] += out[i];
	return out;
}
/** A node begins where the one before it at its depth ends, the first one where its parent begins.
 * @param {Tree} t @param {Float64Array} width */
function startsOf(t, width) {
	const start = new Float64Array(t.n),
		next = new Float64Array(t.rows + 1);
	for (let i = 0; i < t.n; i++) {
		const d = t.depth[i],
			x = next[d];
		start[i] = x;
		next[d] = x + width[i];
		next[d + 1] = x;
	}
	return start;
}
/** The nodes in the order of their rows, by counting; left to right as they come. nodes: only these, in pre-order.
 * @param {import('../tree.js').Depths} depth @param {number} rows @param {Uint32Array} [nodes] */
function rowsOf(depth, rows, nodes) {
	const first = new Uint32Array(rows + 1),
		n = nodes ? nodes.length : depth.length,
		order = new Uint32Array(n);
	for (let k = 0; k < n; k++) first[depth[nodes ? nodes[k] : k] + 1]++;
	for (let r = 0; r < rows; r++) first[r + 1] += first[r];
	const next = first.slice();
	for (let k = 0; k < n; k++) {
		const i = nodes ? nodes[k] : k;
		order[next[depth[i]]++] = i;
	}
	return { order, first };
}
/** The same for some nodes only, given in pre-order. @param {Tree} t @param {Uint32Array} nodes */
export function rowsOfSome(t, nodes) {
	return rowsOf(t.depth, t.rows, nodes);
}

/* --- paths: the names from the root identify a node --- */

const BASE = 0x811c9dc5;
/** @param {number} h @param {number} name */
function step(h, name) {
	const x = Math.imul(h ^ name, 0x85ebca6b);
	return ((x ^ (x >>> 13)) * 1) | 0;
}
/** @param {Tree} t */
function nameHashes(t) {
	return Int32Array.from(t.frames.name, hash);
}
/** A hash of the path to this node, "" for the root. @param {Layout} l @param {number} node */
export function pathHash(l, node) {
	const path = [];
	for (let i = node; i > 0; i = l.up(i)) path.push(hash(l.tree.name(i)));
	let a = BASE,
		b = ~BASE;
	for (const name of path.reverse()) {
		a = step(a, name);
		b = step(b, ~name);
	}
	return path.length ? word(a, b) : '';
}
/** @param {number} a @param {number} b */
function word(a, b) {
	return (a >>> 0).toString(36) + '.' + (b >>> 0).toString(36);
}
/** The node whose path has this hash, -1 for none. @param {Layout} l @param {string} wanted */
export function nodeOfPath(l, wanted) {
	const t = l.tree,
		names = nameHashes(t),
		a = new Int32Array(t.rows + 1),
		b = new Int32Array(t.rows + 1);
	if (!wanted) return 0;
	a[1] = BASE;
	b[1] = ~BASE;
	for (let i = 1; i < t.n; i++) {
		const d = t.depth[i],
			name = names[t.frame[i]];
		a[d + 1] = step(a[d], name);
		b[d + 1] = step(b[d], ~name);
		if (word(a[d + 1], b[d + 1]) === wanted) return i;
	}
	return -1;
}
/** The deepest node that these names lead to, from the root (whose own name is not among them).
 * @param {Tree} t @param {string[]} names */
export function follow(t, names) {
	let node = 0;
	for (const name of names) {
		let child = node + 1;
		while (child < t.end[node] && t.name(child) !== name) child = t.end[child];
		if (child >= t.end[node]) break;
		node = child;
	}
	return node;
}
