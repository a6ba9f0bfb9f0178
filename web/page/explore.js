/* explore.js: the first screen: a query, totals over time, and panes for a selected part of it. */

import { button, countDrawn, el, isTyping } from './dom.js';
import { facts, whyEmpty } from './facts.js';
import { filterBar } from './filter_bar.js';
import { filterParams } from './filters.js';
import { Panes } from './panes.js';
import { queryBar } from './query_bar.js';
import { RangeGraph } from './range.js';
import { splitSelector, joinSelector, withCondition } from './selector.js';
import { parseSpan, spanText } from './state.js';
import { firstType, moment } from './times.js';
import { troubleOf } from './trouble.js';

/** @typedef {import('./app.js').App} App */

const DIM_MS = 150,
	SLOW_MS = 1000,
	LIVE_MS = 2000; /* until it is dimmed; until it can be cancelled; between two live pictures */
const ASKED = ['q', 'from', 'to', 'by', 'sel', 'f', 'inv', 'sw', 'rec', 'v'];

/** @param {App} app */
export function wholeTimes(app) {
	return { from: app.state.from, to: app.state.to };
}
/** The selected part. @param {App} app */
export function chosenTimes(app) {
	const span = parseSpan(app.state.sel || '');
	return span ? { from: moment(app, span[0]), to: moment(app, span[1]) } : wholeTimes(app);
}

class Explore {
	/* set by build() */
	/** @type {any} */
	bar;
	/** @type {any} */
	graph;
	/** @type {any} */
	panes;
	/** @type {any} */
	filters;
	/** @type {any} of later.js */
	leaks = null;
	/** @param {HTMLElement} host @param {App} app */
	constructor(host, app) {
		this.app = app;
		this.host = host;
		/** @type {AbortController|null} */
		this.asking = null;
		this.turn = 0;
		/** @type {any} */
		this.live = null;
		app.state.q ||= firstType(app);
		this.build();
		this.key = (/** @type {KeyboardEvent} */ e) => this.onKey(e);
		addEventListener('keydown', this.key);
		this.fillIn();
		this.load();
	}
	build() {
		const { app } = this;
		this.bar = queryBar(app, {
			change: (patch) =>
				app.setState({ ...patch, ...('from' in patch || 'to' in patch ? { sel: '' } : {}) }, { push: true })
		});
		this.trouble = el('div', { class: 'trouble', role: 'alert', hidden: true });
		this.title = el('h2');
		this.text = el('span', { class: 'dim' });
		this.liveChip = el('button', { type: 'button', class: 'live', hidden: true, onclick: () => this.live?.turn() });
		this.whole = button('Clear selection', () => this.pick(null), { hidden: true });
		this.before = button('Compare with previous period', () => this.compare(), { hidden: true });
		this.leaking = button('Leaks', () => this.showLeaks(), {
			hidden: true,
			title: 'Stacks with memory in use that grows in this range'
		});
		const steps = el(
			'span',
			{ class: 'steps', role: 'group', 'aria-label': 'Time range' },
			button('◀', () => this.step(-1), { title: 'Earlier', 'aria-label': 'Earlier' }),
			button('▶', () => this.step(1), { title: 'Later', 'aria-label': 'Later' }),
			button('−', () => this.widen(), { title: 'Widen the range', 'aria-label': 'Widen the range' }),
			button('+', () => this.narrow(), { title: 'Zoom to selection', 'aria-label': 'Zoom to selection' })
		);
		const graph = el('div'),
			panes = el('div', { class: 'panes' });
		this.noTimes = el('p', { class: 'dim', hidden: true }, 'These samples have no times.');
		this.hostStrip = el('div', { class: 'host', role: 'group', 'aria-label': 'Host metrics', hidden: true });
		this.rangeSection = el(
			'section',
			{ 'aria-label': 'Totals over time' },
			el(
				'div',
				{ class: 'row' },
				this.title,
				this.text,
				this.liveChip,
				el('span', { class: 'right' }, this.leaking, this.before, this.whole, steps)
			),
			graph,
			this.noTimes,
			this.hostStrip
		);
		this.leaksBox = el('section', { 'aria-label': 'Leaks', hidden: true });
		this.facts = el('div', { class: 'facts' });
		this.filters = filterBar(app);
		this.busy = el(
			'div',
			{ class: 'busy', role: 'status', hidden: true },
			'Loading … ',
			button('Cancel', () => this.cancel())
		);
		this.empty = el('div', { class: 'empty', hidden: true });
		this.host.append(
			this.bar.element,
			this.trouble,
			this.rangeSection,
			this.leaksBox,
			el(
				'section',
				{ 'aria-label': 'Profile' },
				el('div', { class: 'row' }, this.facts, this.filters.element),
				this.empty,
				panes
			),
			this.busy
		);
		this.graph = new RangeGraph(graph, {
			hasClock: app.status.data.from !== null,
			name: 'Totals over time',
			pick: (span, { shift }) => this.pick(span, shift),
			only: (label) => this.only(label)
		});
		this.panes = new Panes(panes, app, () => this.question());
	}
	unmount() {
		removeEventListener('keydown', this.key);
		this.asking?.abort();
		this.live?.stop();
		this.graph.destroy();
		this.panes.destroy();
		this.turn = -1;
	}

	/* --- the query --- */

	/** Whether the type is memory in use at moments. */
	isSnapshot() {
		const { type } = splitSelector(this.app.state.q);
		return this.app.types.some((t) => [t.type, t.sample_type].includes(type) && t.aggregation === 'snapshot');
	}
	async showLeaks() {
		const { Leaks } = await import('./later.js');
		this.leaks = new Leaks(this.leaksBox, this.app, () => this.question());
		this.leaks.load();
	}
	/** The query of the panes. */
	question() {
		return { q: this.app.state.q, ...chosenTimes(this.app), ...filterParams(this.app.state.f) };
	}
	/** Whether the end of the range follows the clock. */
	follows() {
		const { state, status } = this.app;
		return (
			status.data.kind === 'store' &&
			!state.sel &&
			(state.to === '' || state.to === 'now') &&
			(state.from === '' || state.from.startsWith('now'))
		);
	}
	/** @param {string[]} keys that changed */
	update(keys) {
		this.fillIn();
		if (keys.some((k) => ASKED.includes(k))) this.load();
		else this.panes.show(keys);
	}
	fillIn() {
		const { state } = this.app;
		state.q ||= firstType(this.app);
		this.bar.set({ q: state.q, by: state.by, from: state.from, to: state.to });
		this.title.textContent = splitSelector(state.q).type;
		this.whole.hidden = this.before.hidden = !state.sel;
		this.leaking.hidden = !this.isSnapshot();
		this.filters.draw();
	}
	cancel() {
		this.asking?.abort();
		this.idle();
	}
	idle() {
		clearTimeout(this.dimming);
		clearTimeout(this.slow);
		this.host.classList.remove('loads');
		this.busy.hidden = true;
	}
	async load() {
		const mine = ++this.turn;
		if (!this.leaksBox.hidden) this.isSnapshot() ? this.leaks.load() : this.leaks.close();
		this.asking?.abort();
		this.asking = new AbortController();
		const { signal } = this.asking;
		this.idle();
		this.dimming = setTimeout(() => this.host.classList.add('loads'), DIM_MS);
		this.slow = setTimeout(() => {
			this.busy.hidden = false;
		}, SLOW_MS);
		try {
			const [range] = await Promise.all([this.askRange(signal), this.panes.load(signal)]);
			if (mine !== this.turn) return;
			this.shown(range);
		} catch (e) {
			if (mine === this.turn && /** @type {Error} */ (e).name !== 'AbortError') this.failed(e);
		}
		if (mine !== this.turn) return;
		this.idle();
		this.follow();
		countDrawn();
	}
	/** @param {AbortSignal} signal */
	async askRange(signal) {
		const { app } = this;
		if (!app.status.data.has_times) return null;
		return app.ask('api/v1/range', { q: app.state.q, ...wholeTimes(app), by: app.state.by }, signal);
	}
	/** @param {any} range */
	shown(range) {
		const { app } = this;
		this.bar.refuse(null);
		this.trouble.hidden = true;
		this.noTimes.hidden = app.status.data.has_times;
		if (range) {
			this.graph.draw(range, this.picks());
			this.text.textContent = this.graph.text();
		}
		const report = this.panes.report,
			why = report && whyEmpty(app, report, range);
		this.facts.replaceChildren(...(report ? facts(report, this.panes.tree, this.app.status.missing) : []));
		this.empty.replaceChildren(...(why || []));
		this.empty.hidden = !why;
		if (app.metrics.length && range) import('./later.js').then((m) => m.drawHost(this.hostStrip, app, range));
	}
	picks() {
		const span = parseSpan(this.app.state.sel || '');
		return span ? [{ from: span[0], to: span[1] }] : [];
	}
	/** @param {any} e */
	failed(e) {
		const isQuestion = /parameter q|selector/.test(e.message);
		this.bar.refuse(isQuestion ? e : null);
		this.trouble.hidden = isQuestion;
		this.trouble.replaceChildren(...troubleOf(this.app, e, () => this.load()));
	}

	/* --- times --- */

	/** @param {[number, number]|null} span @param {boolean} [compares] */
	pick(span, compares) {
		this.app.setState({ sel: span ? spanText(span[0], span[1]) : '' }, { push: true });
		if (span && compares) this.compare();
	}
	/** Compares the selection with the preceding range of the same length. */
	compare() {
		const span = parseSpan(this.app.state.sel || '');
		if (!span) return;
		const at = (/** @type {number} */ ms) => moment(this.app, ms),
			length = span[1] - span[0];
		this.app.go('compare', {
			from: at(span[0] - length),
			to: at(span[0]),
			qb: this.app.state.q,
			fromb: at(span[0]),
			tob: at(span[1]),
			sel: ''
		});
	}
	/** Moves the selection by its length, or else the whole range by half its length. @param {number} way */
	step(way) {
		const span = parseSpan(this.app.state.sel || ''),
			{ first, last } = this.graph;
		const [from, to] = span || [first, last],
			by = (way * (to - from)) / (span ? 1 : 2);
		if (span && from + by >= first - 1 && to + by <= last + 1)
			this.app.setState({ sel: spanText(from + by, to + by) });
		else if (last > first) this.setTimes(from + by, to + by);
	}
	widen() {
		const { first, last } = this.graph,
			half = (last - first) / 2;
		if (last > first) this.setTimes(first - half, last + half);
	}
	narrow() {
		const span = parseSpan(this.app.state.sel || '');
		if (span) this.setTimes(span[0], span[1]);
	}
	/** @param {number} from @param {number} to ms */
	setTimes(from, to) {
		this.app.setState({ from: moment(this.app, from), to: moment(this.app, to), sel: '' }, { push: true });
	}
	/** @param {string} label value of the one label that tells groups apart */
	only(label) {
		const { type, match } = splitSelector(this.app.state.q);
		this.app.setState(
			{ q: joinSelector(type, withCondition(match, this.app.state.by, label)), by: '' },
			{ push: true }
		);
	}

	/* --- following --- */

	async follow() {
		if (!this.follows()) {
			this.live?.stop();
			this.live = null;
			this.liveChip.hidden = true;
			return;
		}
		if (this.live) return;
		this.live = { stop() {}, turn() {} }; /* while loading */
		const { Live } = await import('./later.js');
		if (this.turn < 0 || !this.live) return;
		this.live = new Live(this.app, {
			chip: this.liveChip,
			areas: [this.panes.element],
			everyMs: LIVE_MS,
			isHeld: () => !!this.app.state.z,
			draw: () => this.load()
		});
	}
	/** @param {KeyboardEvent} e */
	onKey(e) {
		if (isTyping(e) || (e.ctrlKey && e.key !== 'f') || e.metaKey || e.altKey) return;
		if (e.key === '.') this.live?.turn();
		else if (e.key === 'g') this.bar.element.querySelectorAll('select')[1]?.focus();
		else if (e.key === '[' || e.key === ']') this.nextType(e.key === ']' ? 1 : -1);
		else if (!this.panes.key(e)) return;
		e.preventDefault();
	}
	/** @param {number} by */
	nextType(by) {
		const { type, match } = splitSelector(this.app.state.q),
			names = this.app.types.map((t) => t.type);
		const to = names[(names.indexOf(type) + by + names.length) % names.length];
		this.app.setState({ q: joinSelector(to, match) }, { push: true });
	}
}
/** @param {HTMLElement} host @param {App} app */
export const mount = (host, app) => new Explore(host, app);
