/* flame/minimap.js: the whole graph in a strip, with the view marked. A drag moves the view. */
import { Raster } from './raster.js';

/** @typedef {import('./layout.js').Layout} Layout */
/** @typedef {import('./raster.js').Inks} Inks */
/** @typedef {{x0: number, x1: number, y0: number, y1: number}} Window  values, and shares of the height */

export const MAP_HEIGHT = 40;

export class Minimap {
	/** @param {HTMLElement} box @param {(x: number, y: number) => void} onMove  shares of width and height where the
	 * middle of the view goes */
	constructor(box, onMove) {
		this.box = box;
		this.canvas = document.createElement('canvas');
		this.view = document.createElement('div');
		this.view.className = 'flame-map-view';
		box.append(this.canvas, this.view);
		this.raster = new Raster(this.canvas);
		const to = (/** @type {PointerEvent} */ e) => {
			const r = box.getBoundingClientRect();
			onMove((e.clientX - r.left) / r.width, (e.clientY - r.top) / r.height);
		};
		box.addEventListener('pointerdown', (e) => {
			box.setPointerCapture(e.pointerId);
			to(e);
		});
		box.addEventListener('pointermove', (e) => {
			if (box.hasPointerCapture(e.pointerId)) to(e);
		});
	}
	/** @param {number} width @param {number} ratio  pixels of the device per pixel */
	resize(width, ratio) {
		this.raster.resize(Math.round(width * ratio), Math.round(MAP_HEIGHT * ratio));
		this.canvas.style.width = width + 'px';
		this.canvas.style.height = MAP_HEIGHT + 'px';
	}
	/** @param {Layout} l @param {Inks} inks @param {{order: Uint32Array, first: Uint32Array}} matches
	 * @param {{background: number, run: number, match: number, flipped: boolean}} look */
	draw(l, inks, matches, look) {
		const { raster } = this,
			all = { x0: l.start[0], x1: l.start[0] + l.width[0] || 1 };
		raster.begin(look.background, look.run);
		const shown = Math.min(l.rows, raster.height);
		for (let k = 0; k < shown; k++) {
			const row = Math.floor((k * l.rows) / shown),
				place = look.flipped ? shown - 1 - k : k;
			const top = Math.round((place * raster.height) / shown),
				bottom = Math.round(((place + 1) * raster.height) / shown);
			raster.clearLine();
			raster.putNodes(l, l.order, l.first[row], l.first[row + 1], all, inks, Infinity);
			for (let r = row; r < Math.floor(((k + 1) * l.rows) / shown); r++)
				raster.putMatches(l, matches.order, matches.first[r], matches.first[r + 1], all, look.match);
			raster.putLine(top, bottom + (bottom - top < 4 ? 1 : 0));
		}
		raster.show();
	}
	/** @param {Layout} l @param {Window} w */
	frame(l, w) {
		const all = l.width[0] || 1,
			{ style } = this.view,
			percent = (/** @type {number} */ part) => 100 * Math.max(0, Math.min(1, part)) + '%';
		style.left = percent((w.x0 - l.start[0]) / all);
		style.right = percent(1 - (w.x1 - l.start[0]) / all);
		style.top = percent(w.y0);
		style.bottom = percent(1 - w.y1);
	}
}
