/* interval.js: the 95 % interval of the difference of two sampled values, computed as in src/profile/change/interval.h,
 * which names its sources. */
import { diffFactor } from './colours.js';

/** @typedef {import('./tree.js').Tree} Tree */
/** A sum of samples' values, of their squared weights, and the number of samples. @typedef {{sum: number, squares:
 * number, n: number}} Sampled */
/** @typedef {{low: number, high: number}} Interval */

export const Z95 = 1.959963984540054;

/** @param {number} b @param {Interval} ofB @param {number} a @param {Interval} ofA @returns {Interval} */
function difference(b, ofB, a, ofA) {
	return { low: b - a - Math.hypot(b - ofB.low, ofA.high - a), high: b - a + Math.hypot(ofB.high - b, a - ofA.low) };
}
/** Rao's score for a Poisson mean. @param {number} sum @param {number} weight @param {number} z @returns {Interval} */
function scoreOfSum(sum, weight, z) {
	const n = sum / weight,
		middle = n + (z * z) / 2,
		half = z * Math.sqrt(n + (z * z) / 4);
	return sum >= 0 && weight > 0
		? { low: (middle - half) * weight, high: (middle + half) * weight }
		: { low: NaN, high: NaN };
}
/** Wilson's for a share. @param {number} p @param {number} n @param {number} z @returns {Interval} */
function scoreOfShare(p, n, z) {
	const middle = p + (z * z) / (2 * n),
		scale = 1 + (z * z) / n,
		half = z * Math.sqrt((p * (1 - p)) / n + (z * z) / (4 * n * n));
	return p >= 0 && p <= 1 && n > 0
		? { low: (middle - half) / scale, high: (middle + half) / scale }
		: { low: NaN, high: NaN };
}
/** Of b - a. weightB, weightA: the weight of every sample of that side, 0 if it varies.
 * @param {Sampled} b @param {Sampled} a @param {number} weightB @param {number} weightA @param {number} [z] */
export function sumsInterval(b, a, weightB, weightA, z = Z95) {
	const mean = (b.squares + a.squares) / (b.sum + a.sum),
		varies = weightB === 0 || weightA === 0;
	return difference(
		b.sum,
		scoreOfSum(b.sum, varies ? mean : weightB, z),
		a.sum,
		scoreOfSum(a.sum, varies ? mean : weightA, z)
	);
}
/** @param {Sampled} part @param {Sampled} whole */
function shareVariance(part, whole) {
	const p = part.sum / whole.sum;
	return ((1 - p) ** 2 * part.squares + p * p * (whole.squares - part.squares)) / whole.sum / whole.sum;
}
/** Of partB's share of wholeB minus the share of A. nB, nA: the samples of a whole if all weigh the same, 0 if that
 * varies.
 * @param {Sampled} partB @param {Sampled} wholeB @param {number} nB @param {Sampled} partA @param {Sampled} wholeA
 * @param {number} nA @param {number} [z] */
export function sharesInterval(partB, wholeB, nB, partA, wholeA, nA, z = Z95) {
	const b = partB.sum / wholeB.sum,
		a = partA.sum / wholeA.sum;
	if (nB === 0 || nA === 0) {
		const variance = shareVariance(partB, wholeB) + shareVariance(partA, wholeA),
			scatter = b * (1 - b) + a * (1 - a);
		nB = scatter ? scatter / variance : wholeB.sum ** 2 / wholeB.squares;
		nA = scatter ? nB : wholeA.sum ** 2 / wholeA.squares;
	}
	return difference(b, scoreOfShare(b, nB, z), a, scoreOfShare(a, nA, z));
}

/** @param {Tree} t @param {number} node @param {Float64Array} self @param {Float64Array} samples
 * @param {Float64Array|undefined} w2 @returns {Sampled} */
function below(t, node, self, samples, w2) {
	const s = { sum: 0, squares: 0, n: 0 };
	for (let i = node; i < t.end[node]; i++) {
		s.sum += self[i];
		s.n += samples[i];
		s.squares += w2 ? w2[i] : samples[i] ? self[i] ** 2 / samples[i] : 0;
	}
	return s;
}
/** @typedef {Interval & {of: 'share'|'value'}} Change */
/**
 * For a diff: the function that tells by how much a part changed: of the total, 0 … 1 ('share'), or its value
 * ('value'; side A made comparable). Undefined if the number of samples is unknown.
 * @param {Tree} t
 * @returns {((a: Sampled, b: Sampled) => Change|undefined)|undefined}
 */
export function changeOf(t) {
	if (!t.selfB || !t.samples || !t.samplesB || (t.w2 && !t.w2B)) return undefined;
	const wholeA = below(t, 0, t.self, t.samples, t.w2),
		wholeB = below(t, 0, t.selfB, t.samplesB, t.w2B),
		plain = !t.w2;
	const { norm } = t.header,
		factor = diffFactor(t);
	if (norm !== 'abs' && norm !== 'rate')
		return (a, b) =>
			known({ ...sharesInterval(b, wholeB, plain ? wholeB.n : 0, a, wholeA, plain ? wholeA.n : 0), of: 'share' });
	const weightB = plain ? wholeB.sum / wholeB.n : 0,
		weightA = plain ? (wholeA.sum / wholeA.n) * factor : 0;
	return (a, b) =>
		known({
			...sumsInterval(b, { sum: a.sum * factor, squares: a.squares * factor ** 2, n: a.n }, weightB, weightA),
			of: 'value'
		});
}
/** The same for a node. @param {Tree} t @param {number} node @returns {Change|undefined} */
export function changeInterval(t, node) {
	const { selfB, samples, samplesB } = t,
		change = changeOf(t);
	return (
		change &&
		selfB &&
		samples &&
		samplesB &&
		change(below(t, node, t.self, samples, t.w2), below(t, node, selfB, samplesB, t.w2B))
	);
}
/** @param {Change} change @returns {Change|undefined} */
function known(change) {
	return Number.isFinite(change.low) && Number.isFinite(change.high) ? change : undefined;
}
