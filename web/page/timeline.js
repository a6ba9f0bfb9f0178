/* timeline.js: what the machine and its threads did, on one time axis: strips of metrics, lanes of threads, and below
 * them the merged stacks of the selection. All share one cursor and one selection. */

import './core.js';
import { marks, momentText } from './axis.js';
import { button, el, svg } from './dom.js';
import { filterParams } from './filters.js';
import { queryBar } from './query_bar.js';
import { condition, joinSelector, splitSelector } from './selector.js';
import { parseSpan, spanText } from './state.js';
import { firstType, moment } from './times.js';
import { troubleOf } from './trouble.js';
import { value } from '../units.js';
import { Detail } from './timeline/detail.js';
import { listenPointer, onKey } from './timeline/hands.js';
import { Idle } from './timeline/idle.js';
import { STREAMS } from './timeline/lane.js';
import { Lanes, chosenSelector } from './timeline/lanes.js';
import { Strips } from './timeline/strips.js';
import { Why } from './timeline/why.js';

/** @typedef {import('./app.js').App} App */
/**
 * State shared by the parts of the screen.
 * @typedef {object} View
 * @property {number} from  ms
 * @property {number} to
 * @property {number} width  px
 * @property {number} gutter  px of the names on the left
 * @property {{from: string, to: string}} [times]  as the server said them, to the nanosecond
 */

const DIM_MS = 150,
	SLOW_MS = 1000,
	SETTLE_MS = 120,
	AXIS_PX = 22;
const GUTTER_PX = 190,
	NARROW_GUTTER_PX = 96,
	NARROW_PX = 700,
	LEAST_SPAN_MS = 0.01,
	RIGHT_PX = 10,
	MAX_MARKS = 20;
/* Types whose samples ran on a GPU have separate lanes, by these labels. */
const GPU_LANES = { type: /^gpu-time/, by: 'host,gpu,stream,comm,pid' },
	GPU_METRIC = 'hw_gpu_utilization';
/* A store adds up whole windows (10 s), except where single samples are requested. */
const EXACT_MS = 60e3,
	EACH_SAMPLE = 'tid=~".*"';

export class Timeline {
	/** @param {HTMLElement} host @param {App} app */
	constructor(host, app) {
		this.app = app;
		this.host = host;
		/** @type {View|null} */
		this.view = null;
		/** @type {AbortController|null} */
		this.asking = null;
		this.turn = 0;
		this.cursor = NaN;
		app.state.q ||= firstType(app);
		this.wide = 0; /* px of all, as last measured */
		this.whyIdle = new Idle(app, {
			has: this.hasGpu() || app.metrics.some((m) => m.type === GPU_METRIC),
			brush: () => (this.view ? this.brush() : undefined),
			times: () => this.times(),
			pick: (span) => this.pick(span)
		});
		this.build();
		const say = (/** @type {string} */ text) => {
			this.status.textContent = text;
		};
		this.strips = new Strips(this.stripHost, app);
		this.lanes = new Lanes(this.laneHost, app, { say, question: () => this.question() });
		this.gpu = new Lanes(this.gpuHost, app, { say, question: () => this.gpuQuestion(), look: STREAMS });
		this.detail = new Detail(this.detailHost, app);
		this.why = new Why(this.whyHost, app, {
			series: () => this.strips.series(),
			brush: () => this.brushOr(),
			show: (params, text) => this.detail.loadDiff(params, text)
		});
		this.off = new AbortController();
		this.listen();
		this.load();
	}

	/* --- the screen --- */

	build() {
		const { app } = this;
		this.style = el('link', { rel: 'stylesheet', href: new URL('./timeline.css', import.meta.url).href });
		this.bar = queryBar(app, {
			change: (patch) =>
				app.setState({ ...patch, ...('from' in patch || 'to' in patch ? { sel: '' } : {}) }, { push: true })
		});
		this.trouble = el('div', { class: 'trouble', role: 'alert', hidden: true });
		this.text = el('span', { class: 'dim' });
		this.said = el('p', { class: 'unseen', role: 'status', 'aria-live': 'polite' });
		this.status = el('p', { class: 'tl-status dim' });
		this.buildTools();
		this.axis = svg('svg', { class: 'tl-axis', 'aria-hidden': 'true' });
		this.marks = el('div', { class: 'tl-marks' });
		this.band = el('div', { class: 'tl-brush', hidden: true });
		this.line = el('div', { class: 'tl-cursor', hidden: true });
		this.stripHost = el('section', { class: 'tl-strips', 'aria-label': 'The host' });
		this.gpuHost = el('section', { class: 'tl-gpu', 'aria-label': 'GPU', hidden: true });
		this.laneHost = el('section', { class: 'tl-lanes', 'aria-label': 'Threads' });
		this.plot = el(
			'div',
			{
				class: 'tl-plot',
				tabindex: 0,
				role: 'application',
				'aria-roledescription': 'timeline',
				'aria-label':
					'Time. Arrow keys or a and d move, w and s zoom, Shift+arrow keys select a range, Enter zooms to it, f ' +
					'shows everything, m sets a mark, Escape clears the selection.'
			},
			this.axis,
			this.stripHost,
			this.gpuHost,
			this.laneHost,
			this.marks,
			this.band,
			this.line
		);
		this.busy = el(
			'div',
			{ class: 'busy', role: 'status', hidden: true },
			'Loading … ',
			button('cancel', () => this.cancel())
		);
		this.detailHost = el('section', { class: 'tl-detail', 'aria-label': 'Selection' });
		const heat = el('section', { class: 'tl-heat', hidden: true, 'aria-label': 'Heatmap' });
		this.heatHost = heat;
		this.host.append(
			this.style,
			this.bar.element,
			this.trouble,
			this.tools,
			heat,
			this.plot,
			this.status,
			this.whyIdle.panel,
			this.detailHost,
			this.busy,
			this.said
		);
	}
	buildTools() {
		this.whole = button('Fit', () => this.fit(), { title: 'Show the whole range (f)' });
		this.zoomIn = button('Zoom to selection', () => this.zoomToBrush(), {
			title: 'Show only the selection (Enter or double-click)',
			hidden: true
		});
		this.clear = button('Clear selection', () => this.pick(null), { title: 'Escape', hidden: true });
		this.heatButton = button('Heatmap', () => this.turnHeat(), {
			'aria-pressed': 'false',
			title: 'Offset within a second, for each second (h)'
		});
		this.whyHost = el('div', { class: 'tl-why' });
		this.tools = el(
			'div',
			{ class: 'row tl-tools' },
			this.whole,
			this.zoomIn,
			this.clear,
			this.heatButton,
			this.whyIdle.button,
			this.text,
			this.whyHost
		);
	}
	unmount() {
		this.off.abort();
		this.asking?.abort();
		clearTimeout(this.settle);
		this.turn = -1;
		for (const part of [this.strips, this.lanes, this.gpu, this.detail]) part.destroy();
	}

	/* --- requests --- */

	/** The query of all parts, without times. */
	question() {
		return { q: this.app.state.q, ...filterParams(this.app.state.f || '') };
	}
	gpuQuestion() {
		const type = this.app.types.find((t) => GPU_LANES.type.test(t.type));
		return { q: joinSelector(type?.type || '', splitSelector(this.app.state.q).match), by: GPU_LANES.by };
	}
	hasGpu() {
		return this.app.types.some((t) => GPU_LANES.type.test(t.type));
	}
	/** The times on display, for queries. */
	times() {
		const { view, app } = this;
		return view
			? view.times || { from: moment(app, view.from), to: moment(app, view.to) }
			: { from: app.state.from, to: app.state.to };
	}
	/** @param {string[]} keys that changed */
	update(keys) {
		if (keys.some((k) => ['q', 'from', 'to', 'f', 'by'].includes(k))) this.load();
		else if (keys.some((k) => ['sel', 'lanes', 'stack'].includes(k)))
			this.chosen().catch((e) => /** @type {any} */ (e).name === 'AbortError' || this.failed(e));
		if (keys.includes('heat')) this.drawHeat();
		if (['idle', 'sel'].some((k) => keys.includes(k))) this.whyIdle.draw();
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
	begin() {
		this.asking?.abort();
		this.asking = new AbortController();
		this.idle();
		this.dimming = setTimeout(() => this.host.classList.add('loads'), DIM_MS);
		this.slow = setTimeout(() => {
			this.busy.hidden = false;
		}, SLOW_MS);
		return this.asking.signal;
	}
	async load() {
		const mine = ++this.turn,
			{ state } = this.app;
		state.q ||= firstType(this.app);
		this.bar?.set({ q: state.q, by: state.by, from: state.from, to: state.to });
		const signal = this.begin();
		try {
			await this.loadAll(signal);
			this.trouble.hidden = true;
		} catch (e) {
			if (/** @type {any} */ (e).name !== 'AbortError') this.failed(e);
		}
		if (mine !== this.turn) return;
		this.idle();
		document.body.dataset.drawn = String(mine);
	}
	/** The lanes determine the times; the other parts are queried for the same ones. @param {AbortSignal}
	 * signal */
	async loadAll(signal) {
		const { app } = this,
			{ from, to } = app.state,
			px = this.measure().width;
		if (!app.status.data.has_times)
			throw Object.assign(new Error('These samples have no times.'), { hint: 'Explore shows them.' });
		const answer = await this.lanes
			.ask({ from, to, px }, signal)
			.catch((e) => this.onlyTimes(e, { from, to, px }, signal));
		this.view = {
			from: answer.from_ns / 1e6,
			to: answer.to_ns / 1e6,
			...this.measure(),
			times: answer.from && { from: answer.from, to: answer.to }
		};
		this.drawAxis();
		this.lanes.draw(this.view);
		this.text.textContent = this.words(answer);
		await Promise.all([
			this.strips.load(this.view, this.times(), signal),
			this.loadGpu(signal).then(() => this.chosen(signal))
		]);
		this.why.draw();
		this.drawHeat();
		this.whyIdle.draw();
	}
	/**
	 * Values that are no time have no lanes; the other parts are shown.
	 * @param {any} e
	 * @param {{from: string, to: string, px: number}} times
	 * @param {AbortSignal} signal
	 * @returns {Promise<any>}
	 */
	async onlyTimes(e, times, signal) {
		if (e.status !== 400 || !/^lanes show time/.test(e.message)) throw e;
		const range = await this.app.ask(
				'api/v1/range',
				{ q: this.app.state.q, from: times.from, to: times.to },
				signal
			),
			length = range.steps * range.step_ns;
		return this.lanes.none(`${e.message}. ${e.hint || ''}`, {
			from_ns: range.from_ns,
			to_ns: range.from_ns + length,
			bucket_ns: length,
			buckets: 1
		});
	}
	/** @param {AbortSignal} signal */
	async loadGpu(signal) {
		this.gpuHost.hidden = !this.hasGpu();
		if (!this.hasGpu() || !this.view) return;
		await this.gpu.ask({ ...this.times(), px: this.view.width }, signal);
		this.gpu.draw(this.view);
	}
	/** @param {any} answer of /api/v1/lanes */
	words(answer) {
		const { view, app } = this,
			span = view ? view.to - view.from : 0,
			hasClock = app.status.data.from !== null;
		const at = (/** @type {number} */ ms) => momentText(ms, Math.min(span, 3600e3), hasClock);
		const how = answer.exact
			? 'exact times'
			: `sums of ${value(answer.resolution_ns, 'nanoseconds')} each` +
				(answer.ids_missing ? ', without threads: lanes are names' : '');
		return view ? `${at(view.from)} – ${at(view.to)} (${value(span, 'milliseconds')}) · ${how}` : '';
	}
	/** @param {any} e */
	failed(e) {
		const isQuestion = /parameter q|selector/.test(e.message);
		this.bar?.refuse(isQuestion ? e : null);
		this.trouble.hidden = isQuestion;
		this.trouble.replaceChildren(...troubleOf(this.app, e, () => this.load()));
	}

	/* --- selection --- */

	/** @returns {[number, number]|null} ms */
	brush() {
		return parseSpan(this.app.state.sel || '');
	}
	/** The selection, else everything on display. @returns {[number, number]} */
	brushOr() {
		return this.brush() || [this.view?.from || 0, this.view?.to || 0];
	}
	/** @param {AbortSignal} [signal] */
	async chosen(signal) {
		const span = this.brush(),
			{ view, app } = this;
		this.zoomIn.hidden = !span;
		this.clear.hidden = !span && !app.state.stack;
		this.drawBrush(span);
		this.lanes.drawChosen();
		this.gpu.drawChosen();
		if (!view) return;
		const [from, to] = this.brushOr(),
			whole = !span;
		const times = whole ? this.times() : { from: moment(app, from), to: moment(app, to) };
		const asked = { ...this.question(), ...times, ...this.chosenQuestion() };
		if (this.lanes.answer?.exact && to - from < EXACT_MS) {
			const { type, match } = splitSelector(asked.q);
			asked.q = joinSelector(type, [match.trim(), EACH_SAMPLE].filter(Boolean).join(', '));
		}
		await this.detail.load(asked, [from, to], signal || this.begin());
		this.idle();
	}
	/** The requester of the box that was clicked, else the selected streams or threads. */
	chosenQuestion() {
		const { app } = this,
			{ q } = this.gpuQuestion(),
			{ type, match } = splitSelector(q),
			{ stack } = app.state;
		if (stack && type)
			return {
				q: joinSelector(type, [match.trim(), condition('stack_id', '=', stack)].filter(Boolean).join(', '))
			};
		const streams = chosenSelector(app, this.gpu.answer, q);
		return streams.q ? streams : chosenSelector(app, this.lanes.answer, app.state.q);
	}
	/** @param {{id: string, leaf: string}|null} span */
	pickStack(span) {
		if (!span) return;
		this.app.setState({ stack: span.id }, { push: true });
		this.said.textContent = `requester of ${span.leaf}`;
	}
	/** @param {[number, number]|null} span */
	pick(span) {
		this.app.setState(
			{ sel: span ? spanText(span[0], span[1]) : '', ...(span ? {} : { stack: '' }) },
			{ push: true }
		);
		this.said.textContent = span ? `selected: ${value(span[1] - span[0], 'milliseconds')}` : 'selection cleared';
	}
	/** With a second range: compares it with the first. @param {[number, number]} span */
	compare(span) {
		const first = this.brush(),
			{ app } = this,
			at = (/** @type {number} */ ms) => moment(app, ms);
		if (!first) return this.pick(span);
		const q = this.chosenQuestion().q || app.state.q;
		app.go('compare', {
			q,
			from: at(first[0]),
			to: at(first[1]),
			qb: q,
			fromb: at(span[0]),
			tob: at(span[1]),
			sel: ''
		});
	}
	zoomToBrush() {
		const span = this.brush();
		if (!span) return;
		this.app.setState(
			{
				from: moment(this.app, span[0]),
				to: moment(this.app, span[1]),
				sel: '',
				fit: this.app.state.fit || this.asked()
			},
			{ push: true }
		);
	}
	/** The times that were set before any zoom. */
	asked() {
		return `${this.app.state.from || ''}..${this.app.state.to || ''}`;
	}
	fit() {
		const { data } = this.app.status,
			[from, to] = (this.app.state.fit || '..').split('..');
		this.app.setState({ from, to, sel: '', fit: '' }, { push: true });
		if (data.kind !== 'store' && !from && !to) this.app.setState({ from: '', to: '' });
	}
	/**
	 * Scales the times on display by a factor around a moment, or moves them by a share of their length.
	 * @param {number} factor
	 * @param {number} by
	 * @param {number} [around]
	 */
	move(factor, by, around) {
		const { view } = this;
		if (!view) return;
		const span = view.to - view.from,
			middle = around ?? (view.from + view.to) / 2,
			least = Math.max(span * factor, LEAST_SPAN_MS);
		const from = middle - ((middle - view.from) * least) / span + by * span;
		this.view = { ...view, from: Math.max(0, from), to: Math.max(0, from) + least, times: undefined };
		this.redraw(this.view);
		clearTimeout(this.settle);
		const fit = this.app.state.fit || this.asked();
		this.settle = setTimeout(() => this.app.setState({ ...this.times(), fit }), SETTLE_MS);
	}
	mark() {
		const { app } = this,
			at = Number.isFinite(this.cursor) ? this.cursor : this.brush()?.[0];
		if (at === undefined) return;
		const list = (app.state.marks || '')
			.split(',')
			.filter(Boolean)
			.slice(1 - MAX_MARKS);
		app.setState({ marks: [...list, at.toFixed(3)].join(',') });
		this.drawMarks();
		this.said.textContent = 'marked';
	}

	/* --- drawing --- */

	/** The widths of the plots and of their names. */
	measure() {
		this.wide = this.plot.clientWidth;
		const all = this.wide || 1000,
			gutter = all < NARROW_PX ? NARROW_GUTTER_PX : GUTTER_PX,
			width = Math.max(50, all - gutter - RIGHT_PX);
		this.plot.style = `--gutter: ${gutter}px; --width: ${width}px`;
		return { gutter, width };
	}
	/** Draws everything at its current place, from data already loaded. @param {View} view */
	redraw(view) {
		this.drawAxis();
		this.lanes.draw(view);
		this.gpu.draw(view);
		this.drawBrush(this.brush());
		this.setCursor(this.cursor);
	}
	/** @param {number} ms @returns {number} px from the left edge of all */
	x(ms) {
		const v = /** @type {View} */ (this.view);
		return v.gutter + Math.max(0, Math.min(1, (ms - v.from) / (v.to - v.from))) * v.width;
	}
	drawAxis() {
		const view = /** @type {View} */ (this.view),
			hasClock = this.app.status.data.from !== null;
		this.axis.setAttribute('viewBox', `0 0 ${view.gutter + view.width + RIGHT_PX} ${AXIS_PX}`);
		this.axis.replaceChildren(
			...marks(view.from, view.to, view.width, hasClock).flatMap((m) => [
				svg('line', {
					class: 'tick',
					x1: m.x + view.gutter,
					x2: m.x + view.gutter,
					y1: AXIS_PX - 5,
					y2: AXIS_PX
				}),
				svg('text', { x: m.x + view.gutter, y: AXIS_PX - 8, 'text-anchor': 'middle', class: 'time' }, m.text)
			])
		);
		this.drawMarks();
	}
	drawMarks() {
		const list = (this.app.state.marks || '')
			.split(',')
			.filter(Boolean)
			.map(Number)
			.filter((v) => Number.isFinite(v))
			.slice(0, MAX_MARKS);
		const { view } = this;
		this.marks.replaceChildren(
			...list
				.filter((ms) => view && ms >= view.from && ms <= view.to)
				.map((ms) => {
					const line = el('div', { class: 'tl-mark' });
					line.style.left = `${this.x(ms)}px`;
					return line;
				})
		);
	}
	/** @param {[number, number]|null} span @param {boolean} [second] */
	drawBrush(span, second) {
		const { view } = this;
		this.band.hidden = !span || !view || span[1] < view.from || span[0] > view.to;
		this.band.classList.toggle('second', !!second);
		if (!span || this.band.hidden) return;
		const left = this.x(span[0]);
		this.band.style.left = `${left}px`;
		this.band.style.width = `${Math.max(1, this.x(span[1]) - left)}px`;
	}
	/** @param {number} ms NaN: none */
	setCursor(ms) {
		this.cursor = ms;
		this.line.hidden = !Number.isFinite(ms) || !this.view;
		if (!this.line.hidden) this.line.style.left = `${this.x(ms)}px`;
		this.strips.point(ms);
	}
	turnHeat() {
		this.app.setState({ heat: this.app.state.heat ? '' : '1' });
	}
	async drawHeat() {
		const isOn = this.app.state.heat === '1';
		this.heatButton.setAttribute('aria-pressed', String(isOn));
		this.heatHost.hidden = !isOn;
		if (!isOn || !this.view) return;
		const { draw } = await import('./later.js');
		await draw('heatmap', this.heatHost, this.app, { ...this.question(), ...this.times() }).catch(
			(/** @type {Error} */ e) => this.app.notify(e.message)
		);
	}

	/* --- input --- */

	listen() {
		const { signal } = this.off;
		listenPointer(this, signal);
		addEventListener('keydown', (e) => onKey(this, e), { signal });
		this.sizes = new ResizeObserver(() => this.resize());
		this.sizes.observe(this.plot);
		/* The window may become higher, or move to a screen with more pixels. */
		addEventListener('resize', () => this.view && this.redraw(this.view), { signal });
		signal.addEventListener('abort', () => this.sizes?.disconnect());
	}
	/** Redraws loaded data at once; data for the new width are requested when it stays. */
	resize() {
		if (this.plot.clientWidth === this.wide) return;
		const size = this.measure();
		if (this.view) this.redraw((this.view = { ...this.view, ...size }));
		clearTimeout(this.settle);
		this.settle = setTimeout(() => this.load(), SETTLE_MS);
	}
	/** The moment under the pointer; NaN if it is over the names. @param {PointerEvent|MouseEvent|WheelEvent} e */
	at(e) {
		const { view } = this,
			x = e.clientX - this.plot.getBoundingClientRect().left - (view?.gutter || 0);
		return !view || x < 0 ? NaN : view.from + Math.min(1, x / view.width) * (view.to - view.from);
	}
	/** Shift and arrows: extends the selection, starting in the middle of the view. @param {number} way */
	grow(way) {
		const view = /** @type {View} */ (this.view),
			step = (view.to - view.from) / 50,
			brush = this.brush();
		const middle = Number.isFinite(this.cursor) ? this.cursor : (view.from + view.to) / 2,
			[from, to] = brush || [middle, middle];
		const end = Math.max(view.from, Math.min(view.to, to + way * step));
		this.app.setState({ sel: spanText(Math.min(from, end), Math.max(from, end)) });
		this.said.textContent = `selected: ${value(Math.abs(end - from), 'milliseconds')}`;
	}
}

/** @param {HTMLElement} host @param {App} app */
export function mount(host, app) {
	const timeline = new Timeline(host, app);
	return { unmount: () => timeline.unmount(), update: (/** @type {string[]} */ keys) => timeline.update(keys) };
}
