/* axis.js: marks of a time axis that do not overlap. */

import { clock } from '../units.js';

const STEPS_MS = [
	1,
	2,
	5,
	10,
	20,
	50,
	100,
	200,
	500,
	1e3,
	2e3,
	5e3,
	10e3,
	15e3,
	30e3,
	60e3,
	120e3,
	300e3,
	600e3,
	900e3,
	1800e3,
	3600e3,
	7200e3,
	10800e3,
	21600e3,
	43200e3,
	86400e3,
	2 * 86400e3,
	7 * 86400e3,
	14 * 86400e3,
	30 * 86400e3
];
export const CHAR_PX = 6.6; /* of the axis' 11 px */
export const GAP_PX = 18; /* between two labels */

/**
 * The text for a moment on an axis of this width.
 * @param {number} ms
 * @param {number} span ms
 * @param {boolean} hasClock
 */
export function momentText(ms, span, hasClock) {
	if (hasClock) return clock(ms, span);
	const digits = span > 20e3 ? 0 : span > 2e3 ? 1 : 3;
	return `${(ms / 1000).toFixed(digits)} s`;
}
/**
 * Marks at round times, as many as fit.
 * @param {number} first
 * @param {number} last ms
 * @param {number} width px
 * @param {boolean} hasClock
 * @returns {{at: number, x: number, text: string}[]}
 */
export function marks(first, last, width, hasClock) {
	const span = last - first,
		x = (/** @type {number} */ at) => ((at - first) / span) * width;
	if (!(span > 0) || !(width > 0)) return [];
	const label = momentText(last, span, hasClock).length * CHAR_PX,
		most = Math.max(1, Math.floor(width / (label + GAP_PX)));
	const step = STEPS_MS.find((s) => span / s <= most) || Math.ceil(span / most / 86400e3) * 86400e3;
	const zone = hasClock ? new Date(first).getTimezoneOffset() * 60e3 : 0,
		list = [];
	for (let at = Math.ceil((first - zone) / step) * step + zone; at <= last; at += step)
		if (x(at) >= label / 2 && x(at) <= width - label / 2)
			list.push({ at, x: x(at), text: momentText(at, span, hasClock) });
	return list;
}
