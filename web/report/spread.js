/* spread.js: sums per pixel. */

/**
 * Adds v, spread evenly from a to b (px), without the part outside; for a moment (a = b), all of it.
 * @param {Float64Array} sums
 * @param {number} a
 * @param {number} b
 * @param {number} v
 */
export function spread(sums, a, b, v) {
	if (b < 0 || a >= sums.length) return;
	const first = Math.max(0, Math.floor(a)),
		last = Math.min(sums.length - 1, Math.max(0, Math.floor(b)));
	if (last <= first && b - a < 1) {
		sums[first] += v;
		return;
	}
	const each = v / (b - a);
	for (let x = first; x <= last; x++) sums[x] += each * Math.max(0, Math.min(b, x + 1) - Math.max(a, x));
}
