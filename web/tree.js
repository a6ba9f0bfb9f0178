/* tree.js: a flame tree in typed arrays, and its wire format (src/format/common/tree_bin.h).
 *
 * Nodes are in pre-order: node 0 is the root, the subtree of i is i … end[i] - 1. Names are in a table of frames that
 * nodes share. Totals are derived. All input is checked: damaged bytes throw an Error with a message, after work
 * proportional to their number. */

export const MEDIA_TYPE = 'application/vnd.cresset.tree';
/* The columns of doubles: their names on the wire and here. */
const COLUMNS = { self: 'self', self_b: 'selfB', n: 'samples', n_b: 'samplesB', w2: 'w2', w2_b: 'w2B' };
const FIXED = ['w2', 'w2_b']; /* 8 bytes each; the others are varints */
export const VALUES = /** @type {Value[]} */ (Object.values(COLUMNS));
const MAGIC = 'CRT',
	VERSION = 1,
	MAX_DEPTH = 1 << 20,
	MAX_HEADER = 1 << 20,
	MAX_KINDS = 256;

/** @typedef {'self'|'selfB'|'samples'|'samplesB'|'w2'|'w2B'} Value */
/** Depths: two bytes each, except in the rare tree that is deeper.
 * @typedef {Uint16Array|Uint32Array} Depths */
/** @typedef {{version: number, type: string, unit: string, total: number, unfiltered: number, total_b?: number,
 * unfiltered_b?: number, norm?: string, signed?: boolean, inverted?: boolean, from_ns?: number, to_ns?: number,
 * [more: string]: any}} Header */
/** Data that nodes share, by frame id; 0 is the root's. nameId is equal if names are.
 * @typedef {{count: number, name: string[], nameId: Uint32Array, file: string[], line: Float64Array, mapping: string[],
 * kind: string[],
 * 	inlined: Uint8Array}} Frames */

export class Tree {
	/**
	 * @param {Header} header
	 * @param {Frames} frames
	 * @param {Depths} depth
	 * @param {Uint32Array} frame
	 * @param {{[column in Value]?: Float64Array}} values  self at least
	 */
	constructor(header, frames, depth, frame, values) {
		this.header = header;
		this.frames = frames;
		this.n = depth.length;
		this.depth = depth;
		this.frame = frame;
		this.self = /** @type {Float64Array} */ (values.self);
		this.selfB = values.selfB;
		this.samples = values.samples;
		this.samplesB = values.samplesB;
		this.w2 = values.w2;
		this.w2B = values.w2B;
		this.end = new Uint32Array(this.n);
		this.total = this.self.slice();
		this.totalB = this.selfB && this.selfB.slice();
		/** Only in a chart ordered by time: the start of each node. @type {Float64Array|undefined} */
		this.startNs = undefined;
		/** @type {Uint32Array|undefined} */
		this._parent = undefined;
		this.rows = closeNodes(this);
	}

	/** Made on first use: a picture does not need it. */
	get parent() {
		if (!this._parent) {
			const open = new Uint32Array(this.rows + 1),
				parent = (this._parent = new Uint32Array(this.n));
			for (let i = 0; i < this.n; i++) {
				open[this.depth[i] + 1] = i;
				parent[i] = open[this.depth[i]];
			}
		}
		return this._parent;
	}
	get isDiff() {
		return this.selfB !== undefined;
	}
	/** @param {number} node */
	name(node) {
		return this.frames.name[this.frame[node]];
	}
	/** The nodes from the root to this one. @param {number} node */
	path(node) {
		const path = [];
		for (let i = node; i > 0; i = this.parent[i]) path.push(i);
		path.push(0);
		return path.reverse();
	}
}

/** @param {ArrayLike<number>} depth */
function deepest(depth) {
	let most = 0;
	for (let i = 0; i < depth.length; i++) if (depth[i] > most) most = depth[i];
	return most;
}
/** @param {ArrayLike<number>} depth @returns {Depths} */
export function depthsOf(depth) {
	return deepest(depth) < 1 << 16 ? Uint16Array.from(depth) : Uint32Array.from(depth);
}

/** Ends and totals: a node closes when the next one is not deeper. Returns the number of rows.
 * @param {Tree} t */
function closeNodes(t) {
	const { n, depth, end, total, totalB } = t,
		rows = deepest(depth) + 1,
		open = new Uint32Array(rows);
	let top = -1;
	for (let i = 0; i < n; i++) {
		for (const d = depth[i]; top >= d; top--) close(open[top], i, top ? open[top - 1] : -1);
		open[++top] = i;
	}
	for (; top >= 0; top--) close(open[top], n, top ? open[top - 1] : -1);
	return rows;

	/** @param {number} node @param {number} upto @param {number} parent */
	function close(node, upto, parent) {
		end[node] = upto;
		if (parent < 0) return;
		total[parent] += total[node];
		if (totalB) totalB[parent] += totalB[node];
	}
}

/* --- reading --- */

class Reader {
	/** @param {Uint8Array} bytes */
	constructor(bytes) {
		this.bytes = bytes;
		this.at = 0;
		this.end = bytes.length;
	}
	/** @param {number} length @param {string} what */
	take(length, what) {
		if (!(length <= this.end - this.at)) throw new Error(`the tree ends in the middle of ${what}`);
		this.at += length;
		return this.bytes.subarray(this.at - length, this.at);
	}
	/** @param {string} what */
	number(what) {
		const value = new Float64Array(1);
		this.numbers(value, what);
		return value[0];
	}
	/** Fills out with varints below this limit.
	 * @template {Float64Array|Uint32Array} T @param {T} out @param {string} what @param {number} [limit] @returns {T} */
	numbers(out, what, limit = Infinity) {
		const bytes = this.bytes;
		let at = this.at;
		if (out.length > this.end - at) throw new Error(`the tree ends in the middle of ${what}`);
		for (let i = 0; i < out.length; i++) {
			let byte = bytes[at++],
				value = byte & 127;
			for (let scale = 128; byte > 127; scale *= 128) {
				if (scale > 2 ** 63) throw new Error(`a number of ${what} is too long`);
				byte = bytes[at++];
				value += (byte & 127) * scale;
			}
			if (!(value < limit)) throw new Error(`number ${i} of ${what} points outside of its table`);
			out[i] = value;
		}
		if (at > this.end) throw new Error(`the tree ends in the middle of ${what}`);
		this.at = at;
		return out;
	}
}

/** @param {any} value @param {string} what @param {number} limit */
function count(value, what, limit) {
	if (!Number.isInteger(value) || value < 0 || value > limit)
		throw new Error(`the header says ${String(value).slice(0, 30)} ${what}, which is invalid`);
	return /** @type {number} */ (value);
}

/** @param {Reader} r */
function readHeader(r) {
	const magic = String.fromCharCode(...r.take(Math.min(4, r.end), 'its magic'));
	if (!magic.startsWith(MAGIC) || magic.length < 4) throw new Error('this is not a tree of cresset');
	if (magic !== MAGIC + VERSION)
		throw new Error(
			`this tree has version ${JSON.stringify(magic[3])} of the format; this page reads version ` +
				`${VERSION}. Reload it`
		);
	const length = r.number('the header');
	if (length > MAX_HEADER) throw new Error('the header is too long');
	const text = new TextDecoder().decode(r.take(length, 'the header'));
	let header;
	try {
		header = JSON.parse(text);
	} catch (e) {
		throw new Error('the header is not JSON');
	}
	return checkHeader(header, r.end - r.at);
}
/** @param {any} h @param {number} left  bytes that follow */
function checkHeader(h, left) {
	/** @param {any} list */
	const isWords = (list) => Array.isArray(list) && list.every((word) => typeof word === 'string');
	if (!h || typeof h !== 'object' || h.version !== VERSION)
		throw new Error(`the header is not of version ${VERSION}`);
	count(h.nodes, 'nodes', left);
	count(h.frames, 'frames', left);
	count(h.strings, 'strings', left);
	if (!h.nodes || !h.frames || !h.strings) throw new Error('the tree has no root');
	if (!isWords(h.kinds) || !h.kinds.length || h.kinds.length > MAX_KINDS)
		throw new Error('the header has no frame kinds');
	if (!isWords(h.columns) || new Set(h.columns).size !== h.columns.length)
		throw new Error('the header has no columns');
	for (const name of ['depth', 'frame', 'self'])
		if (!h.columns.includes(name)) throw new Error(`the tree has no column "${name}"`);
	for (const name of ['type', 'unit']) if (typeof h[name] !== 'string') throw new Error(`the header has no ${name}`);
	return h;
}

/** @param {Reader} r @param {number} n */
function readStrings(r, n) {
	const lengths = r.numbers(new Float64Array(n), 'the strings'),
		decoder = new TextDecoder(),
		strings = new Array(n);
	let sum = 0;
	for (const length of lengths) sum += length;
	const bytes = r.take(sum, 'the strings'),
		all = decoder.decode(bytes);
	const plain = all.length === sum; /* one byte per character: slices instead of decoding each string */
	for (let i = 0, at = 0; i < n; at += lengths[i++])
		strings[i] = plain ? all.slice(at, at + lengths[i]) : decoder.decode(bytes.subarray(at, at + lengths[i]));
	return /** @type {string[]} */ (strings);
}
/** @param {Reader} r @param {Header} h @param {string[]} strings @returns {Frames} */
function readFrames(r, h, strings) {
	const n = h.frames;
	/** @param {string} what @param {number} limit */
	const column = (what, limit) => r.numbers(new Float64Array(n), `the ${what} of frames`, limit);
	/** @param {string} what @param {string[]} table */
	const words = (what, table) => Array.from(column(what, table.length), (id) => table[id]);
	const nameId = Uint32Array.from(column('name', strings.length));
	const name = Array.from(nameId, (id) => strings[id]);
	const file = words('file', strings),
		line = column('line', Infinity);
	const mapping = words('mapping', strings),
		kind = words('kind', h.kinds);
	return {
		count: n,
		name,
		nameId,
		file,
		line,
		mapping,
		kind,
		inlined: Uint8Array.from(column('flags', Infinity), (f) => f & 1)
	};
}
/** @param {Reader} r @param {number} n */
function readDepths(r, n) {
	const depth = r.numbers(new Float64Array(n), 'the column depth'); /* levels up, at first */
	depth[0] = 0;
	for (let i = 1; i < n; i++) {
		const d = (depth[i] = depth[i - 1] + 1 - depth[i]);
		if (d < 1) throw new Error(`node ${i} has no parent`);
		if (d > MAX_DEPTH) throw new Error(`the tree is deeper than ${MAX_DEPTH} levels`);
	}
	return depthsOf(depth);
}
/** The sums of a signed tree are zigzag: 0, -1, 1, -2 …
 * @param {Reader} r @param {number} n @param {string} name @param {boolean} isSigned */
function readValues(r, n, name, isSigned) {
	const values = FIXED.includes(name)
		? readDoubles(r, n, name)
		: r.numbers(new Float64Array(n), `the column ${name}`);
	if (isSigned && name.startsWith('self'))
		for (let i = 0; i < n; i++) values[i] = values[i] % 2 ? -(values[i] + 1) / 2 : values[i] / 2;
	return values;
}
/** @param {Reader} r @param {number} n @param {string} what */
function readDoubles(r, n, what) {
	const bytes = r.take(8 * n, what),
		view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length),
		out = new Float64Array(n);
	for (let i = 0; i < n; i++) out[i] = view.getFloat64(8 * i, true);
	return out;
}

/** @param {Uint8Array} bytes @returns {Tree} */
export function decodeTree(bytes) {
	const r = new Reader(bytes),
		h = readHeader(r),
		n = h.nodes;
	const frames = readFrames(r, h, readStrings(r, h.strings));
	let depth = /** @type {Depths} */ (new Uint16Array(0)),
		frame = new Uint32Array(0);
	/** @type {{[column in Value]?: Float64Array}} */
	const values = {};
	/** @type {Float64Array|undefined} */
	let startNs;
	for (const name of h.columns) {
		const what = `the column ${name}`.slice(0, 40),
			column = new Reader(r.take(r.number(what), what));
		const value = /** @type {{[name: string]: Value|undefined}} */ (COLUMNS)[name];
		if (name === 'depth') depth = readDepths(column, n);
		else if (name === 'frame') frame = column.numbers(new Uint32Array(n), what, frames.count);
		else if (name === 'start') startNs = added(column.numbers(new Float64Array(n), what));
		else if (value) values[value] = readValues(column, n, name, h.signed === true);
		else column.at = column.end; /* of a later version */
		if (column.at !== column.end) throw new Error(`${what} is longer than the number of nodes`);
	}
	return Object.assign(new Tree(h, frames, depth, frame, values), { startNs });
}
/** Each number is stored as the difference from the previous one. @param {Float64Array} list */
function added(list) {
	for (let i = 1; i < list.length; i++) list[i] += list[i - 1];
	return list;
}

/* --- writing --- */

class Writer {
	constructor() {
		this.bytes = new Uint8Array(1 << 12);
		this.at = 0;
	}
	/** @param {number} more */
	room(more) {
		if (this.at + more <= this.bytes.length) return;
		const bytes = new Uint8Array(Math.max(2 * this.bytes.length, this.at + more));
		bytes.set(this.bytes.subarray(0, this.at));
		this.bytes = bytes;
	}
	/** @param {number} value */
	number(value) {
		this.room(10);
		for (; value > 127; value = Math.floor(value / 128)) this.bytes[this.at++] = (value % 128) | 128;
		this.bytes[this.at++] = value;
	}
	/** @param {ArrayLike<number>} values */
	numbers(values) {
		for (let i = 0; i < values.length; i++) this.number(values[i]);
	}
	/** @param {Uint8Array} bytes */
	put(bytes) {
		this.room(bytes.length);
		this.bytes.set(bytes, this.at);
		this.at += bytes.length;
	}
	get done() {
		return this.bytes.subarray(0, this.at);
	}
}

/** @param {(string)[]} words @param {Map<string, number>} ids */
function idsOf(words, ids) {
	return words.map((word) => {
		const id = ids.get(word) ?? ids.size;
		ids.set(word, id);
		return id;
	});
}
/** @param {Tree} t @param {string} name  of a column on the wire */
function columnBytes(t, name) {
	const w = new Writer(),
		values = t[/** @type {Value} */ (/** @type {any} */ (COLUMNS)[name])];
	if (name === 'depth') t.depth.forEach((d, i) => w.number(i ? t.depth[i - 1] + 1 - d : 0));
	else if (name === 'frame') w.numbers(t.frame);
	else if (name === 'start') t.startNs?.forEach((ns, i, all) => w.number(i ? ns - all[i - 1] : ns));
	else if (values && FIXED.includes(name)) {
		const view = new DataView(new ArrayBuffer(8 * t.n));
		values.forEach((v, i) => view.setFloat64(8 * i, v, true));
		w.put(new Uint8Array(view.buffer));
	} else
		for (const v of values || [])
			w.number(!t.header.signed || !name.startsWith('self') ? v : v < 0 ? -2 * v - 1 : 2 * v);
	return w.done;
}

/** @param {Tree} t @returns {Uint8Array} */
export function encodeTree(t) {
	const f = t.frames,
		strings = new Map([['', 0]]),
		kinds = new Map([['rest', 0]]),
		w = new Writer(),
		encoder = new TextEncoder();
	const table = [
		idsOf(f.name, strings),
		idsOf(f.file, strings),
		f.line,
		idsOf(f.mapping, strings),
		idsOf(f.kind, kinds),
		f.inlined
	];
	const columns = ['depth', 'frame'];
	for (const [name, value] of Object.entries(COLUMNS)) if (t[/** @type {Value} */ (value)]) columns.push(name);
	if (t.startNs) columns.push('start');
	const header = {
		...t.header,
		version: VERSION,
		total: t.total[0],
		nodes: t.n,
		frames: f.count,
		strings: strings.size,
		kinds: [...kinds.keys()],
		columns
	};
	const json = encoder.encode(JSON.stringify(header)),
		texts = Array.from(strings.keys(), (s) => encoder.encode(s));
	w.put(encoder.encode(MAGIC + VERSION));
	w.number(json.length);
	w.put(json);
	texts.forEach((s) => w.number(s.length));
	texts.forEach((s) => w.put(s));
	table.forEach((column) => w.numbers(column));
	for (const name of columns) {
		const bytes = columnBytes(t, name);
		w.number(bytes.length);
		w.put(bytes);
	}
	return w.done.slice();
}
