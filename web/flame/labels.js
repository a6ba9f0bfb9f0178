/* flame/labels.js: text on frames: as much of a name as fits, dark or white, whichever is readable. */
import { isDark } from '../colours.js';
import { nameOf } from './tip.js';

/** @typedef {import('./layout.js').Layout} Layout */
/** @typedef {import('./raster.js').Raster} Raster */

const FONT = 'ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace',
	PAD = 3,
	HATCH = 6;
const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\u{1f300}-\u{1faff}]/u;

/** The part of a text that fits into this many columns of a fixed-width font; East Asian characters take two. fromEnd:
 * its end instead of its beginning.
 * @param {string} text @param {number} columns @param {boolean} [fromEnd] */
export function fit(text, columns, fromEnd) {
	if (!WIDE.test(text)) {
		if (text.length <= columns) return text;
		return columns < 3 ? '' : fromEnd ? '…' + text.slice(1 - columns) : text.slice(0, columns - 1) + '…';
	}
	const chars = Array.from(text.slice(0, 2 * columns + 2)),
		width = (/** @type {string} */ c) => (WIDE.test(c) ? 2 : 1);
	if (chars.reduce((sum, c) => sum + width(c), 0) <= columns && text.length <= 2 * columns + 2) return text;
	let room = columns - 1,
		i = 0;
	while (i < chars.length && width(chars[i]) <= room) room -= width(chars[i++]);
	return columns < 3 ? '' : chars.slice(0, i).join('') + '…';
}

export class Labels {
	/** @type {Map<number, boolean>} by pixel */
	darkness = new Map();

	/** Draws labels where the raster found enough width.
	 * @param {Raster} raster @param {Layout} l @param {{ratio: number, rowHeight: number, alignEnd: boolean, top:
	 * (row: number) => number}} how */
	draw(raster, l, { ratio, rowHeight, alignEnd, top }) {
		const { ctx, labels, nLabels, pixels, width } = raster,
			{ tree } = l,
			pad = PAD * ratio,
			size = rowHeight > 20 ? 13 : 12;
		ctx.font = `${size * ratio}px ${FONT}`;
		ctx.textBaseline = 'middle';
		const column = ctx.measureText('0').width;
		let isLight;
		for (let k = 0; k < 3 * nLabels; k += 3) {
			const node = labels[k],
				left = labels[k + 1],
				right = labels[k + 2],
				y = top(tree.depth[node]) * ratio;
			const at = Math.max(0, Math.min(raster.height - 1, Math.round(y + 1))) * width + left,
				light = this.isDark(pixels[at]);
			if (isDivider(l, node)) {
				hatch(ctx, left, y, right, y + (rowHeight - 1) * ratio, HATCH * ratio);
				continue;
			}
			if (light !== isLight) ctx.fillStyle = light ? '#fff' : '#111';
			isLight = light;
			ctx.fillText(
				fit(nameOf(l, node), ((right - left - 2 * pad) / column) | 0, alignEnd),
				left + pad,
				y + (rowHeight / 2) * ratio
			);
		}
	}
	/** @param {number} pixel */
	isDark(pixel) {
		let dark = this.darkness.get(pixel);
		if (dark === undefined)
			this.darkness.set(
				pixel,
				(dark = isDark(((pixel & 255) << 16) | (pixel & 0xff00) | ((pixel >>> 16) & 255)))
			);
		return dark;
	}
}

/** The frame between work on the CPU and the GPU work that it started. @param {Layout} l @param {number} node */
function isDivider(l, node) {
	const { frames, frame } = l.tree;
	return frames.name[frame[node]] === '-' && frames.kind[frame[node]] === 'marker';
}
/** @param {CanvasRenderingContext2D} ctx @param {number} left @param {number} top @param {number} right
 * @param {number} bottom @param {number} step */
function hatch(ctx, left, top, right, bottom, step) {
	ctx.save();
	ctx.beginPath();
	ctx.rect(left, top, right - left, bottom - top);
	ctx.clip();
	ctx.beginPath();
	for (let x = left - (bottom - top); x < right; x += step) {
		ctx.moveTo(x, bottom);
		ctx.lineTo(x + bottom - top, top);
	}
	ctx.strokeStyle = '#4a4f58';
	ctx.stroke();
	ctx.restore();
}
