/* lanes.js: a strip for each thread: red on the CPU, blue off it, grey where it waited for one; hatched where only
 * sums are known. Those that are chosen come first. Only the rows in sight are made. A row opens into the flame chart
 * of its thread. */

import { el } from '../dom.js';
import { joinSelector, splitSelector, condition } from '../selector.js';
import { plain, share, value } from '../../units.js';
import { momentText } from '../axis.js';

/** @typedef {import('../app.js').App} App */
/** @typedef {import('../timeline.js').View} View */
/**
 * @typedef {{labels?: {[name: string]: string}, count?: number, on_ns: number, off_ns: number, wait_ns: number,
 * density: number[], spans: number[]}} Lane
 */

const ROW_PX = 26,
	LANE_PX = 22,
	CHART_PX = 200,
	MORE = 6,
	LABEL_FROM_PX = 28,
	CHAR_PX = 6.6,
	MAX_CHOSEN = 32,
	LANES = 100;
const STATES = /** @type {('on'|'off'|'wait')[]} */ (['on', 'off', 'wait']),
	INK = '#111';
const FILL = { on: '#e5635a', off: '#6089e6', wait: '#9aa0a8', gpu: '#6ccfc4' };
const TEXTS = { on: 'on the CPU', off: 'blocked', wait: 'waiting for a CPU' };

/** What a lane is called in the address. @param {Lane} lane @param {string[]} by */
export function laneId(lane, by) {
	return by.map((name) => encodeURIComponent(lane.labels?.[name] || '').replace(/\./g, '%2E')).join('.');
}
/** Those that are chosen, by id. @param {App} app */
function chosenIds(app) {
	return (app.state.lanes || '').split(',').filter(Boolean).slice(0, MAX_CHOSEN);
}
/** @param {string} text */
const escaped = (text) => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');

/**
 * The question of the lanes that are chosen; {}: none are. Labels are asked one by one: where that takes in others,
 * it says so.
 * @param {App} app
 * @param {any} answer of /api/v1/lanes
 * @returns {{q?: string}}
 */
export function chosenSelector(app, answer) {
	const lanes = chosenLanes(app, answer),
		{ type, match } = splitSelector(app.state.q);
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
/** A thread's number says it all on its host. @param {string[]} by @param {Lane[]} lanes */
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
/** How many lanes the same labels take in that are not chosen. @param {App} app @param {any} answer */
export function alsoTaken(app, answer) {
	const lanes = chosenLanes(app, answer),
		by = labelsThatTell(answer?.by || [], lanes);
	const sets = by.map((name) => new Set(lanes.map((l) => l.labels?.[name] || '')));
	const taken = lanes.length
		? answer.lanes.filter((/** @type {Lane} */ l) => by.every((name, i) => sets[i].has(l.labels?.[name] || '')))
		: [];
	return taken.length - lanes.length;
}
/** @param {Lane} lane */
export function laneName(lane) {
	const l = lane.labels;
	if (!l) return `${lane.count} others`;
	const name = l.comm || l.process || Object.values(l).filter(Boolean).join(' ') || 'all';
	return plain(l.tid ? `${name} ${l.tid}` : name);
}
/** @param {Lane} lane */
function laneTitle(lane) {
	return lane.labels
		? plain(
				Object.entries(lane.labels)
					.filter(([, v]) => v)
					.map(([k, v]) => `${k} ${v}`)
					.join(', ')
			)
		: 'threads without a lane of their own';
}
/** "on 40 %, …" of the time that is known. @param {Lane} lane */
export function laneShares(lane) {
	const parts = /** @type {['on'|'off'|'wait', number][]} */ ([
			['on', lane.on_ns],
			['off', lane.off_ns],
			['wait', lane.wait_ns]
		]),
		all = lane.on_ns + lane.off_ns + lane.wait_ns;
	return parts
		.filter(([, ns]) => ns > 0)
		.map(([state, ns]) => `${TEXTS[state]} ${value(ns, 'nanoseconds')} (${share(ns, all)})`)
		.join(', ');
}

/** Runs of buckets that are alike: [bucket, n, on, off, wait]. @param {number[]} density */
export function* runsOf(density) {
	for (let i = 0, bucket = 0; i + 5 <= density.length; i += 5) {
		bucket += density[i];
		yield { bucket, n: density[i + 1], parts: [density[i + 2], density[i + 3], density[i + 4]] };
		bucket += density[i + 1];
	}
}
/** [from, to, state, stack]: ns since the answer's beginning. @param {number[]} spans */
export function* spansOf(spans) {
	for (let i = 0, at = 0; i + 4 <= spans.length; i += 4) {
		at += spans[i];
		yield { from: at, to: at + spans[i + 1], state: spans[i + 2], stack: spans[i + 3] };
		at += spans[i + 1];
	}
}

/* --- a lane ---------------------------------------------------------------------------------- */

/** Lines over what is only known as a sum. @param {CanvasRenderingContext2D} c */
function hatch(c) {
	const tile = new OffscreenCanvas(6, 6),
		t = /** @type {OffscreenCanvasRenderingContext2D} */ (tile.getContext('2d'));
	t.strokeStyle = 'rgba(255, 255, 255, .45)';
	for (const x of [-6, 0, 6]) {
		t.moveTo(x, 6);
		t.lineTo(x + 6, 0);
	}
	t.stroke();
	return /** @type {CanvasPattern} */ (c.createPattern(tile, 'repeat'));
}
/** Draws a lane, whose times need not be those that are shown: a zoom stretches it until the server has answered.
 * @param {HTMLCanvasElement} canvas @param {Lane} lane @param {any} answer @param {View} view */
export function drawLane(canvas, lane, answer, view) {
	const ratio = devicePixelRatio || 1,
		c = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
	canvas.width = view.width * ratio;
	canvas.height = LANE_PX * ratio;
	canvas.style.width = `${view.width}px`;
	c.scale(ratio, ratio);
	const x = (/** @type {number} */ ns) =>
		(((answer.from_ns + ns) / 1e6 - view.from) / (view.to - view.from)) * view.width;
	drawDensity(c, lane, answer, x);
	drawSpans(c, lane, answer, x, view);
}
/**
 * From below: on the CPU, waiting for one, off it.
 * @param {CanvasRenderingContext2D} c
 * @param {Lane} lane
 * @param {any} answer
 * @param {(ns: number) => number} x
 */
function drawDensity(c, lane, answer, x) {
	const full = answer.bucket_ns / answer.part_ns,
		runs = [...runsOf(lane.density)],
		most = Math.max(full, ...runs.map((r) => r.parts[0] + r.parts[2]));
	const lines = answer.exact ? null : hatch(c);
	for (const { bucket, n, parts } of runs) {
		const left = x(bucket * answer.bucket_ns),
			width = x((bucket + n) * answer.bucket_ns) - left;
		let y = LANE_PX;
		for (const [state, part] of /** @type {['on'|'wait'|'off', number][]} */ ([
			['on', parts[0]],
			['wait', parts[2]],
			['off', Math.min(parts[1], most - parts[0] - parts[2])]
		])) {
			const height = (Math.max(0, part) / most) * LANE_PX;
			c.fillStyle = FILL[state];
			c.fillRect(left, (y -= height), width, height);
		}
		if (lines) {
			c.fillStyle = lines;
			c.fillRect(left, y, width, LANE_PX - y);
		}
	}
}
/**
 * @param {CanvasRenderingContext2D} c
 * @param {Lane} lane
 * @param {any} answer
 * @param {(ns: number) => number} x
 * @param {View} view
 */
function drawSpans(c, lane, answer, x, view) {
	c.font = '11px system-ui, sans-serif';
	c.textBaseline = 'middle';
	for (const s of spansOf(lane.spans)) {
		const left = Math.max(0, x(s.from)),
			right = Math.min(view.width, x(s.to)),
			leaf = answer.stacks[s.stack][0];
		if (right <= left) continue;
		c.fillStyle = /gpu|cuda.*sync/i.test(leaf) && s.state === 1 ? FILL.gpu : FILL[STATES[s.state]];
		c.fillRect(left, 0, Math.max(0.5, right - left - 0.5), LANE_PX);
		if (right - left < LABEL_FROM_PX) continue;
		c.fillStyle = INK;
		c.fillText(cut(plain(leaf), Math.floor((right - left - 6) / CHAR_PX)), left + 3, LANE_PX / 2);
	}
}
/** @param {string} text @param {number} n */
const cut = (text, n) => (text.length <= n ? text : n < 2 ? '' : text.slice(0, n - 1) + '…');

/** What a lane did at a moment. @param {Lane} lane @param {any} answer @param {number} ms */
function wordsAt(lane, answer, ms) {
	const ns = ms * 1e6 - answer.from_ns;
	for (const s of spansOf(lane.spans))
		if (ns >= s.from && ns < s.to)
			return `${TEXTS[STATES[s.state]]} for ${value(s.to - s.from, 'nanoseconds')}: ${plain(answer.stacks[s.stack][0])}`;
	const at = ns / answer.bucket_ns;
	for (const { bucket, n, parts } of runsOf(lane.density))
		if (at >= bucket && at < bucket + n)
			return (
				`of ${value(answer.bucket_ns, 'nanoseconds')}: ` +
				STATES.map((state, i) =>
					parts[i] ? `${TEXTS[state]} ${value(parts[i] * answer.part_ns, 'nanoseconds')}` : ''
				)
					.filter(Boolean)
					.join(', ')
			);
	return 'not seen';
}

/* --- all of them ------------------------------------------------------------------------------ */

export class Lanes {
	/** @param {HTMLElement} host @param {App} app @param {{say: (text: string) => void, question: () => any}} options */
	constructor(host, app, options) {
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
			...STATES.map((s) => el('li', {}, el('i', { class: `tl-dot ${s}` }), TEXTS[s]))
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
		this.rows.forEach((r) => drawLane(r.canvas, r.lane, this.answer, view));
		this.drawRows();
	}
	/** Those that are chosen first. */
	sort() {
		const { answer, app } = this,
			ids = chosenIds(app),
			rank = (/** @type {Lane} */ l) => (ids.includes(laneId(l, answer.by)) ? 0 : 1);
		this.order = [...answer.lanes].sort((a, b) => rank(a) - rank(b));
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
				(answer.others ? `; ${answer.others.count} more are together in the last one` : '') +
				(also > 0 ? `; what is chosen takes in ${also} more of the same names` : '');
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
		const top = this.scroller.scrollTop - MORE * ROW_PX,
			bottom = this.scroller.scrollTop + this.scroller.clientHeight + MORE * ROW_PX,
			seen = new Set();
		let y = 0;
		for (const lane of this.order) {
			const height = this.height(lane),
				id = laneId(lane, this.answer.by) + (lane.labels ? '' : 'others');
			if (y + height >= top && y <= bottom) {
				seen.add(id);
				this.place(this.rows.get(id) || this.make(id, lane), y);
			}
			y += height;
		}
		this.list.style.height = `${y}px`;
		for (const [id, row] of this.rows)
			if (!seen.has(id) && !row.element.contains(document.activeElement)) {
				row.chart?.destroy();
				row.element.remove();
				this.rows.delete(id);
			}
	}
	/** @param {{element: HTMLElement}} row @param {number} y */
	place(row, y) {
		row.element.style.top = `${y}px`;
	}
	/** @param {string} id @param {Lane} lane */
	make(id, lane) {
		const name = laneName(lane),
			canvas = el('canvas', { role: 'img', 'aria-label': `${name}: ${laneShares(lane)}` }),
			chart = el('div', { class: 'tl-chart', hidden: true });
		const box = el('input', {
			type: 'checkbox',
			'aria-label': `only ${name}, and others that are chosen`,
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
					{ class: 'tl-name', title: `${laneTitle(lane)}: ${laneShares(lane)}` },
					lane.labels ? box : null,
					canOpen ? more : el('span', { class: 'tl-more' }),
					el('span', { class: 'tl-who' }, name)
				),
				canvas,
				chart
			);
		const row = { element, canvas, box, lane, chart: /** @type {any} */ (null) };
		this.rows.set(id, row);
		this.list.append(element);
		if (this.view) drawLane(canvas, lane, this.answer, this.view);
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
		const { Chart } = await import('./chart.js');
		if (![...this.rows.values()].includes(row)) return; /* it has gone meanwhile */
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
	/** What is under the pointer, in words. @param {PointerEvent} e @param {number} ms */
	point(e, ms) {
		const row = Number.isFinite(ms) && [...this.rows.values()].find((r) => r.canvas === e.target);
		if (!row) return;
		const span = (this.answer.buckets * this.answer.bucket_ns) / 1e6;
		this.options.say(
			`${laneName(row.lane)} · ${momentText(ms, Math.min(span, 1e3), this.app.status.data.from !== null)} · ` +
				`${wordsAt(row.lane, this.answer, ms)}`
		);
	}
}
/** The question of one thread. @param {string} q @param {Lane} lane */
function splitOf(q, lane) {
	const { type, match } = splitSelector(q),
		labels = lane.labels || {};
	const more = ['host', 'pid', 'tid']
		.filter((name) => labels[name])
		.map((name) => condition(name, '=', labels[name]));
	return { q: joinSelector(type, [match.trim(), ...more].filter(Boolean).join(', ')) };
}
