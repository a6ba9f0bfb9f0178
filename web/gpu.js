/* gpu.js: the colour of GPU work, by its name. Kernels are teal, in different shades; copies are not; waits run
 * nothing. Dark text is readable on all of them. */

import { hash } from './colours.js';

export const KERNEL = '#6ccfc4';
export const COPY = '#cdb8e8';
export const SYNC = '#9aa0a8';
const SHADES = [KERNEL, '#36a294', '#9fe0d8', '#4fb8ac', '#c9f0ea', '#83c9a7'];

/** @param {string} name */
export function workColour(name) {
	if (name.startsWith('[sync')) return SYNC;
	return /^\[(copy|set)/.test(name) ? COPY : SHADES[hash(name) % SHADES.length];
}
