/* diff_columns.js: the columns of a table of differences: both sides, the change, and its 95 % interval. */

import { plain, value } from '../units.js';

/**
 * @param {{norm: string, unit: string, rows?: any[]}} table an answer of /api/v1/diff
 * @param {string[]} [sides]
 * @returns {import('./table.js').Column[]}
 */
export function diffColumns(table, sides = ['A', 'B']) {
	const isShare = table.norm === 'share',
		unit = isShare ? '' : table.unit;
	/* Three digits, as everywhere. */
	const digits = (/** @type {number} */ v) => v.toFixed(Math.abs(v) < 9.995 ? 2 : 1);
	const text = (/** @type {number} */ v) =>
		isShare ? digits(v) + ' %' : value(v, /^(nanoseconds|bytes)$/.test(unit) ? unit : '');
	const isLoose = (/** @type {any} */ r) => Boolean(r.match) && r.match !== 'exact';
	const signed = (/** @type {number} */ v) => (v > 0 ? `▲ +${text(v)}` : v < 0 ? `▼ ${text(v)}` : text(v));
	const number = (
		/** @type {string} */ name,
		/** @type {string} */ key,
		/** @type {(v: number) => string} */ as
	) => ({
		name,
		right: true,
		class: 'each',
		by: (/** @type {any} */ r) => r[key],
		text: (/** @type {any} */ r) => as(r[key])
	});
	return [
		{ name: 'Kind', by: (r) => r.kind, text: (r) => r.kind, class: 'kind narrow' },
		{ name: 'Function', by: (r) => r.function, text: (r) => plain(r.function), class: 'name' },
		number(sides[0], 'older', text),
		number(sides[1], 'newer', text),
		{
			...number('Δ', 'change', signed),
			class: 'change',
			by: (r) => Math.abs(r.change),
			text: (r) => signed(r.change)
		},
		{
			name: 'Δ %',
			right: true,
			class: 'percent',
			by: (r) => (r.older ? (r.newer - r.older) / r.older : Infinity),
			text: (r) => (r.older ? `${((100 * (r.newer - r.older)) / r.older).toFixed(0)} %` : 'new')
		},
		{
			name: 'between',
			right: true,
			class: 'wide',
			by: (r) => r.low ?? -Infinity,
			text: (r) =>
				r.low === undefined
					? ''
					: r.low === null
						? 'unknown'
						: `${isShare ? digits(r.low) : text(r.low)} … ${text(r.high)}`
		},
		{ name: 'certainty', by: (r) => r.certainty, text: (r) => r.certainty },
		...(table.rows?.some(isLoose)
			? [{ name: '≈', by: isLoose, text: (/** @type {any} */ r) => (isLoose(r) ? '≈' : '') }]
			: [])
	];
}
