/* flame/raster.js: paints rows of nodes into the pixels of a canvas. A row is made once, as a line of pixels, and
 * copied down: its cost is bounded by the pixels, not by the nodes. Nodes narrower than a pixel become part of a grey
 * run, never the colour of a kind. */

/** @typedef {import('./layout.js').Layout} Layout */
/** The view: values x0 … x1 over the width. @typedef {{x0: number, x1: number}} View */
/** Colours as pixels (0xffbbggrr): colours[g * steps + s] is that of group g at step s.
 * @typedef {{colours: Uint32Array, steps: number, ofNode?: Uint8Array, ofFrame?: Uint8Array, step: Uint8Array}} Inks */

/** 0xrrggbb as a pixel. @param {number} rgb */
export function pixel(rgb) {
	return (0xff000000 | ((rgb & 255) << 16) | (rgb & 0xff00) | (rgb >> 16)) >>> 0;
}
/** Halfway between two pixels. @param {number} a @param {number} b */
function half(a, b) {
	return ((((a & 0xfefefe) >>> 1) + ((b & 0xfefefe) >>> 1)) | 0xff000000) >>> 0;
}

export class Raster {
	/** @param {HTMLCanvasElement} canvas */
	constructor(canvas) {
		this.canvas = canvas;
		this.ctx = /** @type {CanvasRenderingContext2D} */ (
			canvas.getContext('2d', { alpha: false, willReadFrequently: true })
		);
		this.image = this.ctx.createImageData(1, 1);
		this.pixels = new Uint32Array(1);
		/* The row in progress. */
		this.line = new Uint32Array(1);
		/* Nodes wide enough for a label, in threes: node, left, right. */
		this.labels = new Float64Array(3 * 64);
		this.nLabels = 0;
		this.width = this.height = 1;
		this.background = this.run = 0;
		/* The pixels that rows cover, in this picture and in the previous one; rows are adjacent. */
		this.lines = this.last = { top: 0, bottom: 1 };
	}
	/** In device pixels. @param {number} width @param {number} height */
	resize(width, height) {
		this.width = this.canvas.width = Math.max(1, width);
		this.height = this.canvas.height = Math.max(1, height);
		this.image = this.ctx.createImageData(this.width, this.height);
		this.pixels = new Uint32Array(this.image.data.buffer);
		this.line = new Uint32Array(this.width);
		this.lines = { top: 0, bottom: this.height };
	}
	/** @param {number} background pixel @param {number} run pixel of what is too narrow */
	begin(background, run) {
		this.last = background === this.background ? this.lines : { top: 0, bottom: this.height };
		this.background = background;
		this.run = run;
		this.nLabels = 0;
		this.lines = { top: this.height, bottom: 0 };
	}
	clearLine() {
		this.line.fill(this.background);
	}
	/** Puts the nodes of one row, order[from … to), onto the line. labelWidth: the least width of a node with a
	 * label, in pixels.
	 * @param {Layout} l @param {Uint32Array} order @param {number} from @param {number} to @param {View} view
	 * @param {Inks} inks
	 * @param {number} labelWidth */
	putNodes(l, order, from, to, view, inks, labelWidth) {
		const { start, width } = l,
			{ frame } = l.tree,
			{ colours, steps, ofNode, ofFrame, step } = inks,
			{ line, background, run } = this;
		const px = this.width / (view.x1 - view.x0),
			end = this.width;
		let k = Math.max(from, l.after(order, from, to, view.x0) - 1);
		while (k < to) {
			const i = order[k],
				a = (start[i] - view.x0) * px,
				w = width[i] * px;
			if (a >= end) break;
			if (w < 1) {
				const p = a < 0 ? 0 : a | 0;
				if (w > 0 && a + w > 0 && line[p] === background) line[p] = run;
				k = this.skip(l, order, k, to, view.x0 + (p + 1) / px);
				continue;
			}
			k++;
			const left = a < 0 ? 0 : Math.round(a),
				right = Math.min(end, Math.round(a + w));
			const group = ofNode ? ofNode[i] : ofFrame ? ofFrame[frame[i]] : 0,
				colour = colours[group * steps + step[frame[i]]];
			this.span(left, right, colour);
			if (right - left >= labelWidth) this.label(i, left, right);
		}
	}
	/** After order[k]: the last node that begins before x (it may be wide), else the next one. It is usually near,
	 * so steps double.
	 * @param {Layout} l @param {Uint32Array} order @param {number} k @param {number} to @param {number} x */
	skip(l, order, k, to, x) {
		const { start } = l;
		let stride = 1,
			low = k;
		for (; k + stride < to && start[order[k + stride]] < x; stride *= 2) low = k + stride;
		for (let high = Math.min(to, k + stride); high - low > 1;) {
			const middle = (low + high) >>> 1;
			if (start[order[middle]] < x) low = middle;
			else high = middle;
		}
		return Math.max(k + 1, low);
	}
	/** @param {number} left @param {number} right @param {number} colour */
	span(left, right, colour) {
		const { line } = this;
		for (let p = left; p < right; p++) line[p] = colour;
		if (right - left > 2) line[right - 1] = half(colour, this.background);
	}
	/** @param {number} node @param {number} left @param {number} right */
	label(node, left, right) {
		if (3 * this.nLabels + 3 > this.labels.length) {
			const more = new Float64Array(2 * this.labels.length);
			more.set(this.labels);
			this.labels = more;
		}
		this.labels.set([node, left, right], 3 * this.nLabels++);
	}
	/** Matches cover everything, at least a pixel wide, so that narrow ones are visible.
	 * @param {Layout} l @param {Uint32Array} order @param {number} from @param {number} to @param {View} view
	 * @param {number} colour */
	putMatches(l, order, from, to, view, colour) {
		const { start, width } = l,
			px = this.width / (view.x1 - view.x0);
		let k = Math.max(from, l.after(order, from, to, view.x0) - 1);
		while (k < to) {
			const i = order[k],
				a = (start[i] - view.x0) * px,
				b = a + width[i] * px;
			if (a >= this.width) break;
			const left = a < 0 ? 0 : b - a < 1 ? a | 0 : Math.round(a);
			if (b > 0 && width[i] > 0) this.span(left, Math.min(this.width, Math.max(left + 1, Math.round(b))), colour);
			k = b - a < 1 ? this.skip(l, order, k, to, view.x0 + (left + 1) / px) : k + 1;
		}
	}
	/** Copies the line to rows of pixels top … bottom - 1, of which the last is the gap to the next row.
	 * @param {number} top @param {number} bottom */
	putLine(top, bottom) {
		const { line, lines, pixels, width } = this,
			to = Math.min(this.height, bottom - 1);
		lines.top = Math.min(lines.top, Math.max(0, top));
		lines.bottom = Math.max(lines.bottom, Math.min(this.height, bottom));
		for (let y = Math.max(0, top); y < to; y++) pixels.set(line, y * width);
		if (bottom < 1 || bottom > this.height) return;
		for (let p = 0, at = (bottom - 1) * width; p < width; p++) pixels[at + p] = half(line[p], this.background);
	}
	/** Pixels that are no longer covered become background; those that were background before are not touched. */
	show() {
		const { width, lines, last } = this,
			top = Math.min(lines.top, last.top),
			bottom = Math.max(lines.bottom, last.bottom);
		this.pixels.fill(this.background, top * width, Math.max(top, lines.top) * width);
		this.pixels.fill(this.background, Math.max(top, lines.bottom) * width, bottom * width);
		this.ctx.putImageData(this.image, 0, 0, 0, top, width, Math.max(0, bottom - top));
	}
}
