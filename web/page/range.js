/* range.js: totals over time as stacked areas, and the parts selected in them, by dragging or with the keyboard. */

import { grouped, plain, share, value } from '../units.js';
import { marks, momentText } from './axis.js';
import { button, el, svg } from './dom.js';

const GROUPS = 8,
	HEIGHT = 140,
	AXIS = 18,
	TOP = 4,
	LEAST_PX = 3; /* groups with colours of their own; the last is all others */

/** @typedef {{name: string, values: number[], total: number, label: string|null}} Group */
/** @typedef {{from: number, to: number, side?: 'a'|'b'}} Pick  ms */

/** @param {any} range an answer of /api/v1/range @returns {Group[]} */
export function groupsOf(range) {
	const one = (/** @type {any} */ g) => Object.entries(g.labels);
	const all = range.groups.map((/** @type {any} */ g) => ({
		values: g.values,
		total: g.total,
		label: one(g).length === 1 ? one(g)[0][1] : null,
		name: plain(
			one(g)
				.map(([, v]) => v || '(none)')
				.join(' ') || range.type
		)
	}));
	if (all.length <= GROUPS) return all;
	const rest = all.slice(GROUPS - 1);
	return [
		...all.slice(0, GROUPS - 1),
		{
			name: `${rest.length} others`,
			label: null,
			total: sum(rest.map((/** @type {Group} */ g) => g.total)),
			values: rest[0].values.map((/** @type {number} */ _, /** @type {number} */ s) =>
				sum(rest.map((/** @type {Group} */ g) => g.values[s]))
			)
		}
	];
}
const sum = (/** @type {number[]} */ list) => list.reduce((a, b) => a + b, 0);

/** One group as a path: its steps on top of those below; adds its values to base.
 * @param {number[]} values @param {number[]} base @param {(s: number) => number} x @param {(v: number) => number} y */
function area(values, base, x, y) {
	let top = '',
		bottom = '';
	values.forEach((v, s) => {
		top += `${s ? 'L' : 'M'}${x(s)} ${y(base[s] + v)}H${x(s + 1)}`;
		bottom = `L${x(s + 1)} ${y(base[s])}H${x(s)}` + bottom;
		base[s] += v;
	});
	return top + bottom + 'Z';
}

export class RangeGraph {
	/**
	 * @param {HTMLElement} host
	 * @param {{hasClock: boolean, name: string, pick: (span: [number, number]|null, more: {shift: boolean}) => void,
	 * only?: (label: string) => void}} options
	 */
	constructor(host, options) {
		this.options = options;
		this.picture = svg('svg', {
			class: 'range',
			role: 'application',
			tabindex: '0',
			'aria-roledescription': 'graph over time'
		});
		this.legend = el('ul', { class: 'legend' });
		this.said = el('p', { class: 'unseen', 'aria-live': 'polite' });
		/** @type {any} */
		this.range = null;
		/** @type {Group[]} */
		this.groups = [];
		/** @type {Pick[]} */
		this.picks = [];
		this.first = this.last = this.width = 0;
		this.cursor = this.anchor = -1; /* of the keyboard: steps */
		host.append(this.picture, this.legend, this.said);
		this.listen();
		this.observer = new ResizeObserver(
			() => this.range && this.picture.clientWidth !== this.width && this.draw(this.range, this.picks)
		);
		this.observer.observe(this.picture);
	}
	destroy() {
		this.observer.disconnect();
	}

	/** @param {any} range @param {Pick[]} picks */
	draw(range, picks) {
		this.range = range;
		this.groups = groupsOf(range);
		this.width = this.picture.clientWidth || 1000;
		this.first = range.from_ns / 1e6;
		this.last = this.first + (range.steps * range.step_ns) / 1e6;
		const base = new Array(range.steps).fill(0),
			sums = base.map((_, s) => sum(this.groups.map((g) => g.values[s])));
		this.sums = sums;
		const max = Math.max(...sums, 1),
			x = (/** @type {number} */ s) => +((s * this.width) / range.steps).toFixed(2);
		const y = (/** @type {number} */ v) => +(HEIGHT - AXIS - (v / max) * (HEIGHT - AXIS - TOP)).toFixed(2);
		this.picture.setAttribute('viewBox', `0 0 ${this.width} ${HEIGHT}`);
		this.picture.setAttribute(
			'aria-label',
			`${this.options.name}: ${this.text()}. Arrow keys move, Shift+arrow keys select a range, Enter applies it.`
		);
		this.picture.replaceChildren(
			...this.groups.map((g, i) => svg('path', { class: 'g' + i, d: area(g.values, base, x, y) }))
		);
		this.drawAxis(max);
		this.setPicks(picks);
		this.drawLegend();
		this.setCursor(Math.min(this.cursor, range.steps - 1), true);
	}
	text() {
		const span = this.last - this.first,
			at = (/** @type {number} */ ms) => momentText(ms, Math.min(span, 3600e3), this.options.hasClock);
		return (
			`${at(this.first)} – ${at(this.last)} · ${value(this.range.step_ns, 'nanoseconds')} each · ` +
			`${value(sum(this.groups.map((g) => g.total)), this.range.unit)} in total`
		);
	}
	/** @param {number} max */
	drawAxis(max) {
		this.picture.append(svg('line', { class: 'grid', x1: 0, x2: this.width, y1: TOP, y2: TOP }));
		for (const m of marks(this.first, this.last, this.width, this.options.hasClock))
			this.picture.append(
				svg('line', { class: 'tick', x1: m.x, x2: m.x, y1: HEIGHT - AXIS, y2: HEIGHT - AXIS + 4 }),
				svg('text', { x: m.x, y: HEIGHT - 3, 'text-anchor': 'middle', class: 'time' }, m.text)
			);
		this.picture.append(svg('text', { x: 3, y: TOP + 11 }, value(max, this.range.unit)));
	}
	drawLegend() {
		const named = this.range.groups.length > 1 || Object.keys(this.range.groups[0]?.labels || {}).length;
		this.legend.replaceChildren(
			...(named ? this.groups : []).map((g, i) => {
				const mark = svg('svg', { viewBox: '0 0 10 10', 'aria-hidden': 'true' }),
					text = `${g.name} ${value(g.total, this.range.unit)}`;
				mark.append(svg('rect', { class: 'g' + i, width: 10, height: 10 }));
				const label = g.label;
				return el(
					'li',
					{},
					mark,
					label && this.options.only
						? button(text, () => this.options.only?.(label), { title: 'Show only this' })
						: text
				);
			})
		);
	}
	/** @param {number} ms */
	x(ms) {
		return Math.max(0, Math.min(1, (ms - this.first) / (this.last - this.first))) * this.width;
	}
	/** @param {Pick[]} picks */
	setPicks(picks) {
		this.picks = picks;
		for (const old of this.picture.querySelectorAll('.pick')) old.remove();
		for (const p of picks)
			this.picture.append(
				svg('rect', {
					class: `pick ${p.side || ''}`,
					x: this.x(p.from),
					y: 0,
					height: HEIGHT - AXIS,
					width: Math.max(1, this.x(p.to) - this.x(p.from))
				})
			);
	}

	/* --- selecting --- */

	listen() {
		let from = 0,
			drags = false;
		const at = (/** @type {PointerEvent} */ e) => {
			const box = this.picture.getBoundingClientRect();
			return this.first + Math.max(0, Math.min(1, (e.clientX - box.left) / box.width)) * (this.last - this.first);
		};
		const span = (/** @type {PointerEvent} */ e) =>
			/** @type {[number, number]} */ ([Math.min(from, at(e)), Math.max(from, at(e))]);
		const on = (/** @type {string} */ name, /** @type {(e: any) => void} */ fn) =>
			this.picture.addEventListener(name, fn);
		on('pointerdown', (e) => {
			if (!this.range || e.button) return;
			this.picture.setPointerCapture(e.pointerId);
			from = at(e);
			drags = true;
			this.kept = this.picks;
		});
		on('pointermove', (e) => drags && this.setPicks([{ from: span(e)[0], to: span(e)[1] }]));
		on('pointercancel', () => {
			drags = false;
			this.setPicks(this.kept || []);
		});
		on('pointerup', (e) => {
			if (!drags) return;
			drags = false;
			const [a, b] = span(e),
				isWide = ((b - a) / (this.last - this.first)) * this.width >= LEAST_PX;
			this.setPicks(this.kept || []);
			if (isWide) this.options.pick([a, b], { shift: e.shiftKey });
		});
		on('dblclick', () => this.options.pick(null, { shift: false }));
		on('keydown', (e) => this.key(e));
		on('blur', () => this.setCursor(-1));
	}
	/** @param {KeyboardEvent} e */
	key(e) {
		const to = {
			ArrowLeft: this.cursor - 1,
			ArrowRight: this.cursor + 1,
			Home: 0,
			End: Infinity,
			PageUp: this.cursor - 10,
			PageDown: this.cursor + 10
		}[e.key];
		if (!this.range || (to === undefined && e.key !== 'Enter' && e.key !== 'Escape')) return;
		e.preventDefault();
		e.stopPropagation();
		if (to !== undefined) this.moveCursor(to, e.shiftKey);
		else if (e.key === 'Enter' && this.cursor >= 0) this.options.pick(this.cursorSpan(), { shift: e.shiftKey });
		else if (e.key === 'Escape') this.options.pick(null, { shift: false });
	}
	/** @returns {[number, number]} */
	cursorSpan() {
		const step = this.range.step_ns / 1e6,
			a = Math.min(this.cursor, this.anchor),
			b = Math.max(this.cursor, this.anchor);
		return [this.first + a * step, this.first + (b + 1) * step];
	}
	/** @param {number} to @param {boolean} grows */
	moveCursor(to, grows) {
		this.setCursor(Math.max(0, Math.min(this.range.steps - 1, to)), grows);
		const [from, end] = this.cursorSpan(),
			total = sum(
				(this.sums || []).slice(Math.min(this.cursor, this.anchor), Math.max(this.cursor, this.anchor) + 1)
			);
		const all = sum(this.sums || []);
		this.said.textContent =
			`${momentText(from, 1e3, this.options.hasClock)}, ${value(end - from, 'milliseconds')}: ` +
			`${value(total, this.range.unit)}, ${share(total, all)} of ${grouped(this.range.steps)} steps`;
	}
	/** @param {number} to -1: none @param {boolean} [grows] */
	setCursor(to, grows) {
		this.cursor = to;
		if (!grows || this.anchor < 0) this.anchor = to;
		this.picture.querySelector('.cursor')?.remove();
		if (to < 0) return;
		const [from, end] = this.cursorSpan();
		this.picture.append(
			svg('rect', {
				class: 'cursor',
				x: this.x(from),
				y: 0,
				height: HEIGHT - AXIS,
				width: Math.max(1, this.x(end) - this.x(from))
			})
		);
	}
}
