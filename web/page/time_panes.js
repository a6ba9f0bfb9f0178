/* time_panes.js: the panes with a time axis: the chart, which the server draws except for a single thread, and the
 * heatmap. */

import { Flame } from '../flame.js';
import { decodeTree } from '../tree.js';
import { value } from '../units.js';
import { momentText } from './axis.js';
import { el, finest, svg } from './dom.js';
import { conditions, splitSelector } from './selector.js';
import { spanText } from './state.js';
import { address } from './server.js';

/** @typedef {import('./app.js').App} App */

const CELL_PX = 8,
	LEVELS = 9;

/**
 * @param {string} name
 * @param {HTMLElement} host
 * @param {App} app
 * @param {{[key: string]: any}} question
 * @param {AbortSignal} [signal]
 */
export async function draw(name, host, app, question, signal) {
	if (!app.status.data.has_times)
		return host.replaceChildren(el('p', { class: 'dim' }, 'These samples have no times.'));
	if (name === 'chart')
		return isOneThread(question.q) ? drawThread(host, app, question, signal) : drawChart(host, question);
	const heat = await app.ask('api/v1/heatmap', question, signal);
	host.replaceChildren(new Heatmap(app, heat).element);
}
/** @param {string} q */
const isOneThread = (q) => conditions(splitSelector(q).match).some((c) => c.label === 'tid' && c.op === '=');
/** The charts on display. @type {WeakMap<HTMLElement, Flame>} */
const charts = new WeakMap();
/** Removes the chart, if there is one. @param {HTMLElement} host */
export function leave(host) {
	charts.get(host)?.destroy();
	charts.delete(host);
}
/**
 * One thread, in the order of time: a gap is time without samples.
 * @param {HTMLElement} host
 * @param {App} app
 * @param {{[key: string]: any}} question
 * @param {AbortSignal} [signal]
 */
async function drawThread(host, app, question, signal) {
	const tree = decodeTree(await app.ask('api/v1/chart', { ...question, fmt: 'bin', px: finest() }, signal));
	let flame = charts.get(host);
	if (!flame) {
		const box = el('div', { class: 'flame-box' });
		host.replaceChildren(box);
		flame = new Flame(box, {
			order: 'time',
			minimap: false,
			label: 'Flame chart. Arrow keys move between frames, Enter zooms, Escape resets the zoom.'
		});
		charts.set(host, flame);
	}
	flame.setTree(tree);
}
/**
 * A separate frame: the picture has its own script, which cannot reach the page.
 * @param {HTMLElement} host
 * @param {{[key: string]: any}} question
 */
function drawChart(host, question) {
	leave(host);
	const src = address('api/v1/chart', question),
		old = host.querySelector('iframe');
	if (old?.getAttribute('src') !== src)
		host.replaceChildren(el('iframe', { title: 'Chart: threads over time', src }));
}

/* Columns are seconds; time within a second runs down. Two cells select a range. */
class Heatmap {
	/** @param {App} app @param {any} heat */
	constructor(app, heat) {
		this.app = app;
		this.heat = heat;
		this.width = heat.columns * CELL_PX;
		this.height = heat.rows * CELL_PX;
		this.picture = svg('svg', {
			class: 'heat',
			viewBox: `0 0 ${this.width} ${this.height}`,
			preserveAspectRatio: 'none',
			tabindex: '0',
			role: 'application',
			'aria-label':
				`Heatmap: ${heat.columns} columns of ${value(heat.column_ns, 'nanoseconds')}. Arrow keys move, ` +
				`Shift selects, Enter applies.`
		});
		for (let level = 1; level <= LEVELS; level++)
			this.picture.append(svg('path', { class: `heat${level}`, d: this.cells(level) }));
		this.mark = svg('rect', { class: 'pick', visibility: 'hidden' });
		this.picture.append(this.mark);
		this.said = el(
			'p',
			{ class: 'how', 'aria-live': 'polite' },
			`From top to bottom ${value(heat.column_ns, 'nanoseconds')}, from left to right ` +
				`${value(heat.columns * heat.column_ns, 'nanoseconds')}; drag to select a range.`
		);
		this.element = el('div', { class: 'heat-box' }, this.picture, this.said);
		this.at = this.anchor = 0;
		this.listen();
	}
	/** @param {number} level 1 … LEVELS */
	cells(level) {
		const { heat } = this;
		let d = '';
		heat.cells.forEach((/** @type {(number|null)[]} */ column, /** @type {number} */ x) =>
			column.forEach((v, y) => {
				if (v && Math.ceil((v / heat.max) * LEVELS) === level)
					d += `M${x * CELL_PX} ${y * CELL_PX}h${CELL_PX}v${CELL_PX}h${-CELL_PX}z`;
			})
		);
		return d;
	}
	/** The time of the first cell, ms. */
	get first() {
		return (this.heat.epoch_ns + this.heat.start_ns) / 1e6;
	}
	/** @param {number} a @param {number} b cells, in the order of time */
	choose(a, b) {
		const { heat, app } = this,
			first = this.first,
			cell = heat.row_ns / 1e6;
		app.setState(
			{ sel: spanText(first + Math.min(a, b) * cell, first + (Math.max(a, b) + 1) * cell) },
			{ push: true }
		);
	}
	show() {
		const { heat } = this,
			from = Math.min(this.at, this.anchor),
			to = Math.max(this.at, this.anchor),
			x = Math.floor(from / heat.rows);
		const one = Math.floor(to / heat.rows) === x,
			set = (/** @type {string} */ k, /** @type {number|string} */ v) => this.mark.setAttribute(k, v);
		set('x', x * CELL_PX);
		set('width', (Math.floor(to / heat.rows) - x + 1) * CELL_PX);
		set('y', (one ? from % heat.rows : 0) * CELL_PX);
		set('height', (one ? to - from + 1 : heat.rows) * CELL_PX);
		set('visibility', 'visible');
		const hasClock = this.app.status.data.from !== null,
			v = heat.cells[x][from % heat.rows];
		this.said.textContent =
			`${momentText(this.first + (from * heat.row_ns) / 1e6, 1, hasClock)}, ` +
			`${value((to - from + 1) * heat.row_ns, 'nanoseconds')}` +
			(from === to ? `: ${v === null ? 'not recorded' : value(v, heat.unit)}` : '');
	}
	/** @param {PointerEvent} e */
	cellAt(e) {
		const { heat } = this,
			box = this.picture.getBoundingClientRect();
		const x = (((e.clientX - box.left) / box.width) * this.width) / CELL_PX,
			y = (((e.clientY - box.top) / box.height) * this.height) / CELL_PX;
		const column = Math.max(0, Math.min(heat.columns - 1, Math.floor(x)));
		return column * heat.rows + Math.max(0, Math.min(heat.rows - 1, Math.floor(y)));
	}
	listen() {
		let drags = false;
		const on = (/** @type {string} */ name, /** @type {(e: any) => void} */ fn) =>
			this.picture.addEventListener(name, fn);
		on('pointerdown', (e) => {
			this.picture.setPointerCapture(e.pointerId);
			drags = true;
			this.at = this.anchor = this.cellAt(e);
			this.show();
		});
		on('pointermove', (e) => {
			if (!drags) return;
			this.at = this.cellAt(e);
			this.show();
		});
		on('pointerup', () => {
			if (drags) this.choose(this.anchor, this.at);
			drags = false;
		});
		on('keydown', (e) => this.key(e));
	}
	/** @param {KeyboardEvent} e */
	key(e) {
		const { heat } = this,
			by = { ArrowLeft: -heat.rows, ArrowRight: heat.rows, ArrowUp: -1, ArrowDown: 1 }[e.key];
		if (by === undefined && e.key !== 'Enter') return;
		e.preventDefault();
		e.stopPropagation();
		if (by === undefined) return this.choose(this.anchor, this.at);
		this.at = Math.max(0, Math.min(heat.rows * heat.columns - 1, this.at + by));
		if (!e.shiftKey) this.anchor = this.at;
		this.show();
	}
}
