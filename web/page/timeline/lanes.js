/* lanes.js: a list of lanes, of threads or of streams. Selected lanes come first. Only the visible rows are created. A
 * thread's row opens into its flame chart. */

import { el } from '../dom.js';
import { joinSelector, splitSelector, condition } from '../selector.js';
import { momentText } from '../axis.js';
import { Chart } from './chart.js';
import { STREAMS, THREADS, drawLane, laneName, laneShares, laneTitle, spanAt, wordsAt } from './lane.js';

/** @typedef {import('../app.js').App} App */
/** @typedef {import('../timeline.js').View} View */
/** @typedef {import('./lane.js').Lane} Lane */
/** @typedef {import('./lane.js').Look} Look */

const ROW_PX = 26,
	CHART_PX = 200,
	MORE = 6,
	MAX_CHOSEN = 32,
	LANES = 100;

/** The id of a lane in the address. @param {Lane} lane @param {string[]} by */
export function laneId(lane, by) {
	return by.map((name) => encodeURIComponent(lane.labels?.[name] || '').replace(/\./g, '%2E')).join('.');
}
/** The ids of the selected lanes. @param {App} app */
function chosenIds(app) {
	return (app.state.lanes || '').split(',').filter(Boolean).slice(0, MAX_CHOSEN);
}
/** @param {string} text */
const escaped = (text) => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');

/**
 * The query of the selected lanes; {} if there are none. Each label is a separate condition; if these match other
 * lanes, too, the screen says so.
 * @param {App} app
 * @param {any} answer of /api/v1/lanes
 * @param {string} q what it answers
 * @returns {{q?: string}}
 */
export function chosenSelector(app, answer, q) {
	const lanes = chosenLanes(app, answer),
		{ type, match } = splitSelector(q);
	if (!lanes.length) return {};
	const by = labelsThatTell(answer.by, lanes),
		list = by.map((name) => {
			const values = [...new Set(lanes.map((l) => l.labels?.[name] || ''))];
			return values.length === 1
				? condition(name, '=', values[0])
				: condition(name, '=~', values.map(escaped).join('|'));
		});
	return { q: joinSelector(type, [match.trim(), ...list].filter(Boolean).join(', ')) };
}
/** On one host, a thread's number is enough. @param {string[]} by @param {Lane[]} lanes */
function labelsThatTell(by, lanes) {
	const has = (/** @type {string} */ name) => by.includes(name) && lanes.every((l) => l.labels?.[name]);
	return has('tid')
		? by.filter((name) => name === 'tid' || (name === 'host' && has('host')) || name === 'comm')
		: by.filter((name) => lanes.some((l) => l.labels?.[name]));
}
/** @param {App} app @param {any} answer @returns {Lane[]} */
function chosenLanes(app, answer) {
	const ids = new Set(chosenIds(app));
	return (answer?.lanes || []).filter((/** @type {Lane} */ l) => ids.has(laneId(l, answer.by)));
}
/** The number of lanes that the same labels match but that are not selected. @param {App} app @param {any} answer */
export function alsoTaken(app, answer) {
	const lanes = chosenLanes(app, answer),
		by = labelsThatTell(answer?.by || [], lanes);
	const sets = by.map((name) => new Set(lanes.map((l) => l.labels?.[name] || '')));
	const taken = lanes.length
		? answer.lanes.filter((/** @type {Lane} */ l) => by.every((name, i) => sets[i].has(l.labels?.[name] || '')))
		: [];
	return taken.length - lanes.length;
}
/* --- the list --------------------------------------------------------------------------------- */

export class Lanes {
	/**
	 * @param {HTMLElement} host
	 * @param {App} app
	 * @param {{say: (text: string) => void, question: () => any, look?: Look}} options
	 */
	constructor(host, app, options) {
		this.look = options.look || THREADS;
		this.app = app;
		this.options = options;
		/** @type {any} */
		this.answer = null;
		/** @type {View|null} */
		this.view = null;
		/** @type {Lane[]} */
		this.order = [];
		this.why = ''; /* there are none */
		/** @type {Set<string>} */
		this.open = new Set();
		/**
		 * @type {Map<string, {element: HTMLElement, canvas: HTMLCanvasElement, box: HTMLInputElement, lane: Lane, chart:
		 * any}>}
		 */
		this.rows = new Map();
		this.legend = el(
			'ul',
			{ class: 'legend tl-legend' },
			...this.look.legend.map(([colour, text]) => {
				const dot = el('i', { class: 'tl-dot' });
				dot.style.backgroundColor = colour;
				return el('li', {}, dot, text);
			})
		);
		this.head = el(
			'div',
			{ class: 'row' },
			el('h2', {}, host.getAttribute('aria-label') || ''),
			(this.note = el('span', { class: 'dim' })),
			this.legend
		);
		this.list = el('div', { class: 'tl-list', role: 'list' });
		this.scroller = el('div', { class: 'tl-scroll', onscroll: () => this.drawRows() }, this.list);
		host.append(this.head, this.scroller);
	}
	destroy() {
		this.rows.forEach((r) => r.chart?.destroy());
		this.rows.clear();
	}
	/** @param {{from: string, to: string, px: number}} times @param {AbortSignal} signal */
	async ask(times, signal) {
		const { by } = this.app.state;
		this.why = '';
		this.answer = await this.app.ask(
			'api/v1/lanes',
			{ ...(by ? { by } : {}), lanes: LANES, ...this.options.question(), ...times },
			signal
		);
		return this.answer;
	}
	/** There are none, and why. @param {string} why @param {any} times */
	none(why, times) {
		this.why = why;
		return (this.answer = {
			exact: true,
			part_ns: 1,
			resolution_ns: 1,
			lanes: [],
			others: null,
			stacks: [],
			by: [],
			types: [],
			...times
		});
	}
	/** @param {View} view */
	draw(view) {
		if (!this.answer) return;
		const isNew = this.drawn !== this.answer;
		this.view = view;
		this.drawn = this.answer;
		if (isNew) this.sort();
		this.rows.forEach((r) => this.drawOne(r.canvas, r.lane));
		this.drawRows();
	}
	/** @param {HTMLCanvasElement} canvas @param {Lane} lane */
	drawOne(canvas, lane) {
		if (this.view) drawLane(canvas, lane, this.answer, this.view, this.look, this.app.state.stack);
	}
	/** Selected lanes first; streams by name. */
	sort() {
		const { answer, app } = this,
			ids = chosenIds(app),
			rank = (/** @type {Lane} */ l) => (ids.includes(laneId(l, answer.by)) ? 0 : 1),
			name = (/** @type {Lane} */ l) => (this.look === STREAMS ? laneId(l, answer.by) : '');
		this.order = [...answer.lanes].sort(
			(a, b) => rank(a) - rank(b) || name(a).localeCompare(name(b), 'en', { numeric: true })
		);
		if (answer.others) this.order.push(answer.others);
		for (const row of this.rows.values()) {
			row.chart?.destroy();
			row.element.remove();
		}
		this.rows.clear();
		const n = answer.lanes.length,
			also = alsoTaken(app, answer);
		this.note.textContent =
			this.why ||
			`${n} lane${n === 1 ? '' : 's'} by ${answer.by.join(', ') || 'nothing'} of ${answer.types.join(' and ')}` +
				(answer.others ? `; ${answer.others.count} more are merged into the last one` : '') +
				(also > 0 ? `; the selection includes ${also} more with the same names` : '');
		this.legend.classList.toggle('coarse', !answer.exact);
	}
	drawChosen() {
		if (!this.answer) return;
		this.sort();
		this.drawRows();
	}
	/** @param {Lane} lane */
	height(lane) {
		return ROW_PX + (this.open.has(laneId(lane, this.answer.by)) ? CHART_PX : 0);
	}
	drawRows() {
		this.list.style.height = `${this.order.reduce((sum, lane) => sum + this.height(lane), 0)}px`;
		const top = this.scroller.scrollTop - MORE * ROW_PX,
			bottom = this.scroller.scrollTop + this.scroller.clientHeight + MORE * ROW_PX,
			seen = new Set();
		let y = 0;
		for (const lane of this.order) {
			const height = this.height(lane),
				id = laneId(lane, this.answer.by) + (lane.labels ? '' : 'others');
			if (y + height >= top && y <= bottom) {
				seen.add(id);
				(this.rows.get(id) || this.make(id, lane)).element.style.top = `${y}px`;
			}
			y += height;
		}
		for (const [id, row] of this.rows)
			if (!seen.has(id) && !row.element.contains(document.activeElement)) {
				row.chart?.destroy();
				row.element.remove();
				this.rows.delete(id);
			}
	}
	/** @param {string} id @param {Lane} lane */
	make(id, lane) {
		const name = laneName(lane),
			canvas = el('canvas', { role: 'img', 'aria-label': `${name}: ${laneShares(lane, this.look)}` }),
			chart = el('div', { class: 'tl-chart', hidden: true });
		const box = el('input', {
			type: 'checkbox',
			'aria-label': `show only ${name} and other checked lanes`,
			checked: chosenIds(this.app).includes(id),
			onchange: () => this.choose(id)
		});
		const more = el(
			'button',
			{
				type: 'button',
				class: 'tl-more',
				'aria-expanded': String(this.open.has(id)),
				'aria-label': `flame chart of ${name}`,
				onclick: () => this.turn(id)
			},
			this.open.has(id) ? '▾' : '▸'
		);
		const canOpen = lane.labels?.tid,
			element = el(
				'div',
				{
					class: 'tl-lane',
					role: 'listitem',
					'aria-setsize': this.order.length,
					'aria-posinset': this.order.indexOf(lane) + 1
				},
				el(
					'div',
					{ class: 'tl-name', title: `${laneTitle(lane, this.look)}: ${laneShares(lane, this.look)}` },
					lane.labels ? box : null,
					canOpen ? more : this.look === STREAMS ? null : el('span', { class: 'tl-more' }),
					el('span', { class: 'tl-who' }, name)
				),
				canvas,
				chart
			);
		const row = { element, canvas, box, lane, chart: /** @type {any} */ (null) };
		this.rows.set(id, row);
		this.list.append(element);
		this.drawOne(canvas, lane);
		if (this.open.has(id) && canOpen) this.openChart(row, chart);
		return row;
	}
	/** @param {string} id */
	choose(id) {
		const ids = chosenIds(this.app),
			kept = ids.includes(id) ? ids.filter((other) => other !== id) : [...ids, id];
		this.app.setState({ lanes: kept.join(',') }, { push: true });
	}
	/** @param {string} id */
	turn(id) {
		this.open.has(id) ? this.open.delete(id) : this.open.add(id);
		const row = this.rows.get(id),
			hadFocus = row?.element.contains(document.activeElement);
		row?.chart?.destroy();
		row?.element.remove();
		this.rows.delete(id);
		this.drawRows();
		if (hadFocus)
			/** @type {HTMLElement|null|undefined} */ (this.rows.get(id)?.element.querySelector('button'))?.focus();
	}
	/** @param {any} row @param {HTMLElement} host */
	async openChart(row, host) {
		host.hidden = false;
		row.chart = new Chart(host, this.app);
		const { q } = splitOf(this.options.question().q, row.lane);
		const view = /** @type {View} */ (this.view);
		await row.chart
			.load({ ...this.options.question(), q, px: view.width }, view)
			.catch(
				(/** @type {Error} */ e) =>
					e.name === 'AbortError' || host.replaceChildren(el('p', { class: 'dim' }, e.message))
			);
	}
	/** @param {EventTarget|null} target @param {number} ms */
	rowAt(target, ms) {
		return Number.isFinite(ms) ? [...this.rows.values()].find((r) => r.canvas === target) : undefined;
	}
	/** The span that was clicked on. @param {EventTarget|null} target @param {number} ms */
	spanAt(target, ms) {
		const row = this.rowAt(target, ms);
		return row ? spanAt(row.lane, this.answer, ms) : null;
	}
	/** Describes what is under the pointer. @param {PointerEvent} e @param {number} ms */
	point(e, ms) {
		const row = this.rowAt(e.target, ms);
		if (!row) return;
		const span = (this.answer.buckets * this.answer.bucket_ns) / 1e6;
		this.options.say(
			`${laneName(row.lane)} · ${momentText(ms, Math.min(span, 1e3), this.app.status.data.from !== null)} · ` +
				`${wordsAt(row.lane, this.answer, ms, this.look)}`
		);
	}
}
/** The query of one thread. @param {string} q @param {Lane} lane */
function splitOf(q, lane) {
	const { type, match } = splitSelector(q),
		labels = lane.labels || {};
	const more = ['host', 'pid', 'tid']
		.filter((name) => labels[name])
		.map((name) => condition(name, '=', labels[name]));
	return { q: joinSelector(type, [match.trim(), ...more].filter(Boolean).join(', ')) };
}
