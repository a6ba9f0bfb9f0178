/* functions.js: the functions of a tree by value, as `cresset report` counts them: a function is (name, kind, binary,
 * file), recursion counts once in totals. In a difference each has the share of both sides, and the interval of its
 * change. */
import { diffFactor } from '../colours.js';
import { changeOf } from '../interval.js';

/** @typedef {import('../tree.js').Tree} Tree */
/** @typedef {import('../interval.js').Sampled} Sampled */
/**
 * @typedef {{function: string, kind: string, binary: string, file: string, self: number, total: number}} FunctionRow
 */
/**
 * older, newer: percent of the side's total if shares are compared, else values.
 * @typedef {{function: string, kind: string, binary: string, file: string, older: number, newer: number, change:
 * number, low: number|undefined, high: number|undefined, certainty: string}} DiffRow
 */

/** By frame: the number of its function. @param {Tree} t @param {FunctionRow[]} rows */
function functionIds(t, rows) {
	const ids = new Map(),
		f = t.frames;
	return Uint32Array.from({ length: f.count }, (_, i) => {
		const key = [f.nameId[i], f.kind[i], f.mapping[i], f.file[i]].join('\0');
		const id = ids.get(key) ?? rows.length;
		if (id === rows.length) {
			rows.push({
				function: f.name[i],
				kind: f.kind[i],
				binary: f.mapping[i],
				file: f.file[i],
				self: 0,
				total: 0
			});
			ids.set(key, id);
		}
		return id;
	});
}

/** @param {Tree} t @returns {FunctionRow[]} all but the root, by self, then total, then name */
export function functionRows(t) {
	/** @type {FunctionRow[]} */
	const rows = [],
		ids = functionIds(t, rows),
		open = new Uint32Array(rows.length),
		path = [];
	for (let i = 1; i < t.n; i++) {
		for (const depth = t.depth[i]; path.length >= depth;) open[/** @type {number} */ (path.pop())]--;
		const id = ids[t.frame[i]],
			row = rows[id];
		row.self += t.self[i];
		if (!open[id]++) row.total += t.total[i];
		path.push(id);
	}
	return rows
		.filter((r) => r.total)
		.sort((a, b) => b.self - a.self || b.total - a.total || (a.function < b.function ? -1 : 1));
}

/**
 * The self values of each function.
 * @param {Tree} t
 * @param {Uint32Array} ids
 * @param {number} count
 * @param {Float64Array} self
 * @param {Float64Array|undefined} samples
 * @param {Float64Array|undefined} w2
 */
function sums(t, ids, count, self, samples, w2) {
	/** @type {Sampled[]} */
	const out = Array.from({ length: count }, () => ({ sum: 0, squares: 0, n: 0 }));
	for (let i = 1; i < t.n; i++) {
		const s = out[ids[t.frame[i]]],
			n = samples ? samples[i] : 0;
		s.sum += self[i];
		s.n += n;
		s.squares += w2 ? w2[i] : n ? self[i] ** 2 / n : 0;
	}
	return out;
}
/**
 * @param {Tree} t a difference
 * @returns {DiffRow[]} the functions with anything of their own, by how much they changed
 */
export function diffRows(t) {
	/** @type {FunctionRow[]} */
	const rows = [],
		ids = functionIds(t, rows),
		selfB = /** @type {Float64Array} */ (t.selfB),
		totalB = /** @type {Float64Array} */ (t.totalB);
	const a = sums(t, ids, rows.length, t.self, t.samples, t.w2),
		b = sums(t, ids, rows.length, selfB, t.samplesB, t.w2B),
		changes = changeOf(t);
	const isShare = isOfShares(t),
		scaleA = isShare ? 100 / (t.total[0] || 1) : diffFactor(t),
		scaleB = isShare ? 100 / (totalB[0] || 1) : 1;
	return rows
		.map((row, i) => {
			const older = a[i].sum * scaleA,
				newer = b[i].sum * scaleB,
				at = changes?.(a[i], b[i]),
				scale = at?.of === 'share' ? 100 : 1;
			return {
				function: row.function,
				kind: row.kind,
				binary: row.binary,
				file: row.file,
				older,
				newer,
				change: newer - older,
				low: at && at.low * scale,
				high: at && at.high * scale,
				certainty: !at ? 'unknown' : at.low > 0 || at.high < 0 ? 'likely' : 'chance'
			};
		})
		.filter((r) => r.older || r.newer)
		.sort((x, y) => Math.abs(y.change) - Math.abs(x.change) || (x.function < y.function ? -1 : 1));
}
/** @param {Tree} t */
export function isOfShares(t) {
	return t.header.norm !== 'abs' && t.header.norm !== 'rate';
}
