/* tree_shape.js: trees made from trees: inverted, merged from parts, around one function, without recursion, in a given
 * order; and from stacks.
 *
 * All but the last two grow the same way: a node of the new tree stands for a list of places in the old one, and its
 * children are what follows those places, grouped by frame. Siblings are sorted by name, as the server sends them. */
import { Tree, VALUES, depthsOf } from './tree.js';

/** @typedef {import('./tree.js').Value} Value */
/** @typedef {import('./tree.js').Frames} Frames */
/** @typedef {{name: string, file?: string, line?: number, mapping?: string, kind?: string, inlined?: boolean}} Frame */
/** Places: nodes at[k], on the way from (or to) the node of[k]. @typedef {{at: number[], of: number[]}} Places */
/** next: puts the places that follow place k of a list into another one, and returns whether the place's value ends
 * there. values: by node of `of`. weight: of a place. alike: whether this child belongs to the node itself. least:
 * groups of less weight become a rest. keepsRoot: values that end at the old root end at the new one.
 * @typedef {{next: (at: number, of: number, out: Places) => boolean, values: {[v in Value]?: Float64Array},
 * 	weight: Float64Array, alike?: (child: number, node: number) => boolean, least: number,
 * 	keepsRoot: boolean}} Growth */

/** Parts smaller than this share of everything go into a rest. */
const LEAST = 1e-5;

/** Columns that grow. */
class Maker {
	/** @param {Tree} t */
	constructor(t) {
		/** @type {number[]} */
		this.depth = [];
		/** @type {number[]} */
		this.frame = [];
		this.names = VALUES.filter((v) => t[v]);
		/** @type {{[v in Value]?: number[]}} */
		this.values = Object.fromEntries(this.names.map((v) => [v, []]));
		this.frames = copyFrames(t.frames);
		/** @type {Map<string, number>} */
		this.rests = new Map();
	}
	/** @param {number} depth @param {number} frame @param {(v: Value) => number} valueOf */
	put(depth, frame, valueOf) {
		this.depth.push(depth);
		this.frame.push(frame);
		for (const v of this.names)
			/** @type {number[]} */ (this.values[v]).push(valueOf(v));
	}
	/** The frame of a rest. @param {number} n */
	rest(n) {
		const name = `(${n} frame${n === 1 ? '' : 's'})`,
			known = this.rests.get(name);
		if (known !== undefined) return known;
		const id = addFrame(this.frames, { name, kind: 'rest' });
		this.rests.set(name, id);
		return id;
	}
	/** @param {import('./tree.js').Header} header */
	done(header) {
		const values = Object.fromEntries(this.names.map((v) => [v, Float64Array.from(this.values[v] || [])]));
		const depth = depthsOf(this.depth),
			frame = Uint32Array.from(this.frame);
		const t = new Tree({ ...header }, sealFrames(this.frames), depth, frame, values);
		t.header.total = t.total[0];
		return t;
	}
}

/* --- frames --- */

/** @typedef {{name: string[], nameId: number[], file: string[], line: number[], mapping: string[], kind: string[],
 * inlined: number[],
 *	ids: Map<string, number>, nextId: number}} OpenFrames */
/** @returns {OpenFrames} */
function openFrames() {
	return { name: [], nameId: [], file: [], line: [], mapping: [], kind: [], inlined: [], ids: new Map(), nextId: 0 };
}
/** @param {Frames} f @returns {OpenFrames} */
function copyFrames(f) {
	return {
		name: f.name.slice(),
		nameId: Array.from(f.nameId),
		file: f.file.slice(),
		line: Array.from(f.line),
		mapping: f.mapping.slice(),
		kind: f.kind.slice(),
		inlined: Array.from(f.inlined),
		ids: new Map(f.name.map((name, i) => [name, f.nameId[i]])),
		nextId: f.nameId.reduce((most, id) => Math.max(most, id), 0) + 1
	};
}
/** @param {OpenFrames} to @param {Frame} frame */
function addFrame(to, { name, file = '', line = 0, mapping = '', kind = 'native', inlined = false }) {
	let id = to.ids.get(name);
	if (id === undefined) to.ids.set(name, (id = to.nextId++));
	to.nameId.push(id);
	to.file.push(file);
	to.line.push(line);
	to.mapping.push(mapping);
	to.kind.push(kind);
	to.inlined.push(inlined ? 1 : 0);
	return to.name.push(name) - 1;
}
/** @param {OpenFrames} f @returns {Frames} */
function sealFrames(f) {
	return {
		count: f.name.length,
		name: f.name,
		nameId: Uint32Array.from(f.nameId),
		file: f.file,
		line: Float64Array.from(f.line),
		mapping: f.mapping,
		kind: f.kind,
		inlined: Uint8Array.from(f.inlined)
	};
}

/* --- growing --- */

/** @returns {Places} */
function places() {
	return { at: [], of: [] };
}
/** @param {Places} list @param {number} at @param {number} of */
function add(list, at, of) {
	list.at.push(at);
	list.of.push(of);
}
/** Places by the frame they are at, in the order of the frames' names. @param {Tree} t @param {Places} list */
function byFrame(t, list) {
	/** @type {Map<number, Places>} */
	const groups = new Map(),
		{ name } = t.frames;
	list.at.forEach((at, k) => {
		let group = groups.get(t.frame[at]);
		if (!group) groups.set(t.frame[at], (group = places()));
		add(group, at, list.of[k]);
	});
	return [...groups].sort(([a], [b]) => (name[a] < name[b] ? -1 : name[a] > name[b] ? 1 : a - b));
}
/** Children that belong to the node itself are added to its places. @param {Tree} t @param {Places} list @param
 * {Growth} g */
function absorb(t, list, g) {
	if (!g.alike) return;
	for (let k = 0; k < list.at.length; k++)
		for (let node = list.at[k], child = node + 1; child < t.end[node]; child = t.end[child])
			if (g.alike(child, node)) add(list, child, child);
}
/** Grows a tree from these places; root: the frame of all of them, or 0 for a root above them.
 * @param {Tree} t @param {Places} seeds @param {number} root @param {Growth} g @param {object} header */
function grow(t, seeds, root, g, header) {
	const make = new Maker(t);
	/** @type {{depth: number, frame: number, list: Places, isRest: boolean}[]} */
	const todo = [];
	/** @param {number} depth @param {number} frame @param {Places} list @param {boolean} isTop */
	const node = (depth, frame, list, isTop) => {
		const out = isTop ? list : places();
		/** @type {number[]} */
		const ends = [];
		if (!isTop) absorb(t, list, g);
		for (let k = 0; !isTop && k < list.at.length; k++)
			if (g.next(list.at[k], list.of[k], out)) ends.push(list.of[k]);
		if (isTop && g.keepsRoot) ends.push(0);
		make.put(depth, frame, (v) => ends.reduce((sum, of) => sum + (g.values[v]?.[of] ?? 0), 0));
		for (const child of childrenOf(t, out, depth + 1, g, make).reverse()) todo.push(child);
	};
	node(0, root, seeds, root === 0);
	for (let next = todo.pop(); next; next = todo.pop()) {
		const { depth, frame, list } = next;
		if (next.isRest) make.put(depth, frame, (v) => list.of.reduce((sum, of) => sum + (g.values[v]?.[of] ?? 0), 0));
		else node(depth, frame, list, false);
	}
	return make.done({ ...t.header, ...header });
}
/** The groups that are large enough, and one for the others. @param {Tree} t @param {Places} out @param {number} depth
 * @param {Growth} g @param {Maker} make */
function childrenOf(t, out, depth, g, make) {
	const children = [],
		rest = places();
	let small = 0;
	for (const [frame, list] of byFrame(t, out)) {
		if (list.of.reduce((sum, of) => sum + g.weight[of], 0) >= g.least) {
			children.push({ depth, frame, list, isRest: false });
			continue;
		}
		small++;
		list.of.forEach((of, k) => add(rest, list.at[k], of));
	}
	if (small) children.push({ depth, frame: make.rest(small), list: rest, isRest: true });
	return children;
}
/** The value of a node, on both sides together. @param {Tree} t */
function weights(t) {
	const { total, totalB } = t;
	return totalB ? total.map((v, i) => v + totalB[i]) : total;
}
/** The columns of a tree. @param {Tree} t @returns {{[v in Value]?: Float64Array}} */
function columns(t) {
	return Object.fromEntries(VALUES.filter((v) => t[v]).map((v) => [v, t[v]]));
}
/** The same, summed over the subtrees of these nodes; 0 elsewhere. @param {Tree} t @param {number[]} nodes @returns
 * {{[v in Value]?: Float64Array}} */
function columnsBelow(t, nodes) {
	return Object.fromEntries(
		Object.entries(columns(t)).map(([v, own]) => {
			const sums = new Float64Array(t.n);
			for (const node of nodes)
				for (let i = node; i < t.end[node]; i++) sums[node] += /** @type {Float64Array} */ (own)[i];
			return [v, sums];
		})
	);
}

/* --- shapes --- */

/** Removes nodes that are below another one of them. @param {Tree} t @param {ArrayLike<number>} nodes in pre-order */
function outermost(t, nodes) {
	let upto = 0;
	return Array.from(nodes).filter((node) => {
		if (node < upto) return false;
		upto = t.end[node];
		return true;
	});
}
/** @param {Tree} t @param {number[]} nodes @param {number} root @param {object} header @param {Growth['alike']}
 * [alike] */
function downwards(t, nodes, root, header, alike) {
	return grow(
		t,
		{ at: nodes, of: nodes.slice() },
		root,
		{
			next: (at, _, out) => {
				for (let child = at + 1; child < t.end[at]; child = t.end[child])
					if (!alike || !alike(child, at)) add(out, child, child);
				return true;
			},
			values: columns(t),
			weight: weights(t),
			alike,
			least: -Infinity,
			keepsRoot: alike !== undefined
		},
		header
	);
}
/** @param {Tree} t @param {number[]} nodes @param {{[v in Value]?: Float64Array}} values @param {number} root */
function upwards(t, nodes, values, root) {
	const { self = t.self, selfB } = values,
		weight = selfB ? self.map((v, i) => v + selfB[i]) : self,
		{ parent } = t;
	return grow(
		t,
		{ at: nodes, of: nodes.slice() },
		root,
		{
			next: (at, of, out) => {
				if (parent[at] > 0) add(out, parent[at], of);
				return parent[at] === 0;
			},
			values,
			weight,
			least: LEAST * weights(t)[0],
			keepsRoot: true
		},
		{ inverted: !t.header.inverted }
	);
}
/** The subtrees of these nodes as one tree, below a root. @param {Tree} t @param {ArrayLike<number>} nodes in
 * pre-order */
export function mergeNodes(t, nodes) {
	return downwards(t, outermost(t, nodes), 0, {});
}
/** From the leaves to the root; parts below 1/100 000 of everything go into rests. @param {Tree} t */
export function invert(t) {
	const nodes = [];
	for (let i = 1; i < t.n; i++) if (t.self[i] || t.selfB?.[i]) nodes.push(i);
	return upwards(t, nodes, columns(t), 0);
}
/** The callers and the callees of a function: two trees with it as the root. Calls below itself do not count again, so
 * both totals are those of a search. Undefined if there is no such function. @param {Tree} t @param {string} name */
export function sandwich(t, name) {
	const nodes = [];
	for (let i = 1; i < t.n; i++) if (t.name(i) === name && t.frames.kind[t.frame[i]] !== 'rest') nodes.push(i);
	const outer = outermost(t, nodes);
	if (!outer.length) return undefined;
	const root = t.frame[outer[0]];
	return { callers: upwards(t, outer, columnsBelow(t, outer), root), callees: downwards(t, outer, root, {}) };
}
/** Frames of functions that call themselves directly are merged. @param {Tree} t */
export function collapseRecursion(t) {
	const { nameId, mapping, kind } = t.frames;
	const alike = (/** @type {number} */ child, /** @type {number} */ node) => {
		const a = t.frame[child],
			b = t.frame[node];
		return node > 0 && (a === b || (nameId[a] === nameId[b] && mapping[a] === mapping[b] && kind[a] === kind[b]));
	};
	const tops = [];
	for (let i = 1; i < t.n; i = t.end[i]) tops.push(i);
	return downwards(t, tops, 0, {}, alike);
}

/* --- stacks --- */

/** @typedef {{frame: number, self: number, children: Map<number, Branch>}} Branch */
/** A tree of stacks, the outermost frame first; identical frames are one.
 * @param {{frames: Frame[], value: number}[]} stacks @param {Partial<import('./tree.js').Header>} [header] */
export function buildTree(stacks, header = {}) {
	const frames = openFrames(),
		ids = new Map();
	addFrame(frames, { name: '', kind: 'marker' });
	const idOf = (/** @type {Frame} */ f) => {
		const key = [f.name, f.file, f.line, f.mapping, f.kind, f.inlined].join('\0'),
			known = ids.get(key);
		if (known === undefined) ids.set(key, addFrame(frames, f));
		return known ?? frames.name.length - 1;
	};
	/** @type {Branch} */
	const root = { frame: 0, self: 0, children: new Map() };
	for (const { frames: path, value } of stacks) {
		let branch = root;
		for (const f of path) {
			const id = idOf(f),
				next = branch.children.get(id) || { frame: id, self: 0, children: new Map() };
			branch.children.set(id, next);
			branch = next;
		}
		branch.self += value;
	}
	return flatten(root, sealFrames(frames), { version: 1, type: '', unit: '', total: 0, unfiltered: 0, ...header });
}
/** @param {Branch} root @param {Frames} frames @param {import('./tree.js').Header} header */
function flatten(root, frames, header) {
	/** @type {{branch: Branch, depth: number}[]} */
	const todo = [{ branch: root, depth: 0 }],
		depths = [],
		ids = [],
		self = [],
		{ name } = frames;
	for (let next = todo.pop(); next; next = todo.pop()) {
		const { branch, depth } = next,
			children = [...branch.children.values()];
		depths.push(depth);
		ids.push(branch.frame);
		self.push(branch.self);
		children.sort((a, b) =>
			name[a.frame] < name[b.frame] ? 1 : name[a.frame] > name[b.frame] ? -1 : b.frame - a.frame
		);
		for (const child of children) todo.push({ branch: child, depth: depth + 1 });
	}
	const t = new Tree(header, frames, depthsOf(depths), Uint32Array.from(ids), { self: Float64Array.from(self) });
	t.header.total = t.total[0];
	t.header.unfiltered = t.header.unfiltered || t.total[0];
	return t;
}
