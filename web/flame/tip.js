/* flame/tip.js: the description of a frame: the panel beside the pointer (or docked), and the sentence for screen
 * readers. */
import { diffFactor, kindLabel } from '../colours.js';
import { changeInterval } from '../interval.js';
import { change, grouped, plain, share, value } from '../units.js';

/** @typedef {import('./layout.js').Layout} Layout */

/** @param {string} tag @param {string} className @param {string} [text] */
export function element(tag, className, text) {
	const e = document.createElement(tag);
	e.className = className;
	if (text !== undefined) e.textContent = text;
	return e;
}

/** The lines of the panel: [what, text]. The first is the name.
 * @param {Layout} l @param {number} node @param {number} view  the node that fills the view @param {number} run  how
 * many share the pixel
 * @returns {[string, string][]} */
export function describe(l, node, view, run = 1) {
	const t = l.tree,
		f = t.frames,
		i = t.frame[node],
		unit = t.header.unit;
	/** @type {[string, string][]} */
	const lines = [['', nameOf(l, node)]];
	const put = (/** @type {string} */ what, /** @type {string} */ text) => {
		if (text) lines.push([what, text]);
	};
	put('', run > 1 ? `the widest of ${grouped(run)} frames that share this pixel` : '');
	put('file', f.file[i] && plain(f.file[i]) + (f.line[i] ? ':' + f.line[i] : ''));
	put('binary', plain(f.mapping[i]));
	const inlined = f.inlined[i] ? ', inlined' : '';
	put('kind', f.kind[i] && (kindLabel(f.kind[i], f.name[i], f.file[i]) || 'no symbols') + inlined);
	if (t.isDiff) describeSides(l, node, put);
	else {
		put('total', sum(t.total[node], unit, t.total[view], t.total[0]));
		put('self', sum(t.self[node], unit, t.total[view], t.total[0]));
		put('samples', t.samples && !t.startNs ? grouped(samplesBelow(l, node)) : '');
	}
	return lines;
}
/** @param {number} v @param {string} unit @param {number} view @param {number} all */
function sum(v, unit, view, all) {
	return `${value(v, unit)} · ${share(v, view)} of view · ${share(v, all)} of all`;
}
/** @param {Layout} l @param {number} node @param {(what: string, text: string) => void} put */
function describeSides(l, node, put) {
	const t = l.tree,
		unit = t.header.unit,
		a = t.total[node],
		b = t.totalB ? t.totalB[node] : 0,
		allB = t.totalB ? t.totalB[0] : 0;
	const factor = diffFactor(t);
	put('A', `${value(a, unit)} · ${share(a, t.total[0])}`);
	put('B', `${value(b, unit)} · ${share(b, allB)}`);
	const interval = changeInterval(t, node),
		by = b - a * factor;
	if (interval?.of === 'value' || t.header.norm === 'abs' || t.header.norm === 'rate') {
		put('Δ', `${change(by, unit)} ${direction(by)}`);
		put('95 %', interval ? `${change(interval.low, unit)} … ${change(interval.high, unit)}${doubt(interval)}` : '');
		return;
	}
	const points = (t.totalB?.[0] ? b / t.totalB[0] : 0) - (t.total[0] ? a / t.total[0] : 0);
	put('Δ', `${signed(points)} points ${direction(points)}`);
	put('95 %', interval ? `${signed(interval.low)} … ${signed(interval.high)}${doubt(interval)}` : '');
}
/** @param {number} by */
function direction(by) {
	return by > 0 ? '▲ more' : by < 0 ? '▼ less' : 'the same';
}
/** @param {{low: number, high: number}} interval */
function doubt({ low, high }) {
	return low <= 0 && high >= 0 ? ', may be chance' : '';
}
/** A part as percent with its sign. @param {number} part */
function signed(part) {
	return (part > 0 ? '+' : '') + (100 * part).toFixed(2);
}
/** @param {Layout} l @param {number} node */
function samplesBelow(l, node) {
	const { samples, end } = l.tree;
	let n = 0;
	for (let i = node; samples && i < end[node]; i++) n += samples[i];
	return n;
}
/** @param {Layout} l @param {number} node */
export function nameOf(l, node) {
	return plain(l.tree.name(node)) || 'all';
}
/** "memcpy, kernel, 3.2 % of view, depth 7, 2 of 5" @param {Layout} l @param {number} node @param {number} view */
export function sentence(l, node, view) {
	const t = l.tree,
		f = t.frames,
		i = t.frame[node],
		up = l.up(node);
	let place = 1,
		among = 1;
	if (up >= 0)
		for (let child = up + 1, k = (among = 0); child < t.end[up]; child = t.end[child]) {
			among++;
			k++;
			place = child === node ? k : place;
		}
	const kind = kindLabel(f.kind[i], f.name[i], f.file[i]);
	return [
		nameOf(l, node),
		node ? kind : '',
		share(l.width[node], l.width[view]) + ' of view',
		`depth ${t.depth[node]}`,
		`${place} of ${among}`
	]
		.filter(Boolean)
		.join(', ');
}

export class Tip {
	/** @param {HTMLElement} host */
	constructor(host) {
		this.box = element('div', 'flame-tip');
		this.box.hidden = true;
		this.docked = false;
		host.append(this.box);
	}
	/** @param {[string, string][]} lines @param {number} x @param {number} y  in the host's pixels */
	show(lines, x, y) {
		this.box.replaceChildren(
			...lines.map(([what, text], i) => {
				const line = element('div', i ? 'flame-tip-line' : 'flame-tip-name');
				if (what) line.append(element('span', 'flame-tip-what', what), ' ');
				line.append(text);
				return line;
			})
		);
		this.box.hidden = false;
		if (!this.docked) this.place(x, y);
	}
	/** Beside the pointer, inside the host. @param {number} x @param {number} y */
	place(x, y) {
		const { box } = this,
			host = /** @type {HTMLElement} */ (box.parentElement),
			width = box.offsetWidth,
			height = box.offsetHeight;
		const left = x + 14 + width > host.clientWidth ? x - 14 - width : x + 14;
		const top = y + 18 + height > host.clientHeight ? y - 10 - height : y + 18;
		box.style.left = Math.max(0, Math.min(left, host.clientWidth - width)) + 'px';
		box.style.top = Math.max(0, top) + 'px';
	}
	hide() {
		this.box.hidden = !this.docked;
	}
	dock() {
		this.docked = !this.docked;
		this.box.classList.toggle('flame-docked', this.docked);
		this.box.style.left = this.box.style.top = '';
		this.hide();
	}
}
