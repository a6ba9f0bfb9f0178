/* strips.js: the time axis of a report: a strip with the total over time, one for each GPU metric, each thread and each
 * stream, and a selection over all of them. Every number comes from the samples and readings; without them nothing is
 * drawn. */
import { states } from '../colours.js';
import { grouped, plain, value } from '../units.js';
import { el } from '../page/dom.js';
import { GpuLanes } from './gpu_lanes.js';
import { Metrics } from './metrics.js';
import { spread } from './spread.js';

/** @typedef {import('./container.js').Report} Report */
/** @typedef {import('./container.js').ReportType} ReportType */
/** @typedef {{from: number, to: number}} Brush  nanoseconds since the origin */

const LANE = 22,
	TOP = 48,
	METRIC = 34,
	AXIS = 18,
	LANES_SHOWN = 4,
	STREAMS_SHOWN = 8,
	ZOOM = 0.8,
	MAX_LANES = 1000,
	DRAG_PX = 3,
	BAR = 4;

/** Seconds without noise: 1.25. @param {number} ns */
function seconds(ns) {
	return String(+(ns / 1e9).toFixed(9));
}

export class Strips {
	/**
	 * @param {HTMLElement} host
	 * @param {Report} report
	 * @param {(brush: Brush|null, threads: Set<number>|null) => void} onChange
	 * @param {(node: number) => void} onWork GPU work was clicked: a node of its type's tree
	 */
	constructor(host, report, onChange, onWork) {
		this.report = report;
		this.onChange = onChange;
		this.onWork = onWork;
		this.end = report.endNs;
		this.gpu = new GpuLanes(report);
		this.metrics = new Metrics(report);
		/** Where the lanes begin. */
		this.top = TOP + METRIC * this.metrics.strips.length;
		this.now = this.metrics.strips.map((_, i) => el('span', { class: 'rp-dim' }, this.metrics.words(i, NaN)));
		/** The visible range. @type {Brush} */
		this.view = { from: 0, to: this.end };
		/** @type {Brush|null} */
		this.brush = null;
		/** @type {Set<number>|null} */
		this.threads = null;
		/** @type {number[]} */
		this.lanes = [];
		/** The visible ones. @type {number[]} */
		this.streams = [];
		this.isOfGpu = false;
		this.all = false;
		/** @type {HTMLCanvasElement} */
		this.canvas = el('canvas', { tabIndex: 0, role: 'img' });
		this.names = el('div', { class: 'rp-lanes' });
		this.from = this.field('from, s');
		this.to = this.field('to, s');
		this.whole = el('button', { type: 'button', hidden: true, onclick: () => this.choose(null) }, ['whole range']);
		this.zoomIn = el('button', { type: 'button', hidden: true, onclick: () => this.look(this.brush) }, [
			'zoom to selection'
		]);
		this.zoomOut = el('button', { type: 'button', hidden: true, onclick: () => this.look(null) }, ['zoom out']);
		this.hint = el('p', { class: 'rp-dim rp-hint', hidden: !this.gpu.lanes.length });
		this.more = el('button', { type: 'button', onclick: () => this.showAll() });
		this.note = el('span', { class: 'rp-dim' });
		this.legend = el('div', { class: 'rp-legend' });
		this.body = el('div', { class: 'rp-strips' }, [this.names, el('div', { class: 'rp-canvas' }, [this.canvas])]);
		this.bar = el('div', { class: 'rp-row' }, [
			el('h2', {}, ['Time']),
			el('label', {}, ['from ', this.from]),
			el('label', {}, ['to ', this.to]),
			this.whole,
			this.zoomIn,
			this.zoomOut,
			this.note,
			this.more
		]);
		host.append(this.bar, this.body, this.legend, this.hint);
		this.canvas.onpointermove = (e) => this.point(e);
		this.canvas.onpointerleave = () => this.showNow(NaN);
		this.canvas.addEventListener('wheel', (e) => this.wheel(e), { passive: false });
		this.canvas.onpointerdown = (e) => this.drag(e);
		this.canvas.onkeydown = (e) => this.key(e);
		this.canvas.ondblclick = () => this.choose(null);
		this.watch = new ResizeObserver(() => this.draw());
		this.watch.observe(this.body);
	}
	/** @param {string} words */
	field(words) {
		return el('input', {
			type: 'text',
			inputMode: 'decimal',
			size: 9,
			'aria-label': words,
			onchange: () => this.typed()
		});
	}
	destroy() {
		this.watch.disconnect();
	}

	/* --- display --- */

	/** @param {ReportType} type */
	setType(type) {
		this.type = type;
		const hasStreams = (/** @type {ReportType} */ t) => !!t.samples?.thread.some((lane) => this.gpu.rows.has(lane));
		this.isOfGpu = hasStreams(type);
		/* With a GPU type, threads are drawn from the samples of another type. */
		this.laneType = this.isOfGpu ? this.report.types.find((t) => t.samples && !hasStreams(t)) : type;
		const s = this.laneType?.samples,
			sums = new Map();
		for (let i = 0; s && i < s.n; i++) sums.set(s.thread[i], (sums.get(s.thread[i]) || 0) + s.value[i]);
		this.sums = sums;
		this.lanes = [...sums.keys()]
			.filter((t) => !this.gpu.rows.has(t))
			.sort((a, b) => sums.get(b) - sums.get(a))
			.slice(0, MAX_LANES);
		const kept = [...(this.threads || [])].filter((t) => this.gpu.rows.has(t) === this.isOfGpu);
		this.threads = kept.length ? new Set(kept) : null;
		this.update();
	}
	/** @param {number} thread */
	nameOf(thread) {
		const t = this.report.header.threads[thread];
		const id = t?.tid ?? t?.pid;
		if (t?.stream) return plain(['GPU', t.gpu, 'stream', t.stream, t.name].filter(Boolean).join(' '));
		return !t || !thread
			? 'other threads'
			: plain(t.name || t.process || 'thread') + (id === null || id === undefined ? '' : ` ${id}`);
	}
	showAll() {
		this.all = !this.all;
		this.update();
	}
	update() {
		const shown = this.lanes.slice(0, this.all ? MAX_LANES : LANES_SHOWN),
			hidden = this.lanes.length - shown.length;
		this.shown = shown;
		this.streams = this.gpu.lanes.slice(0, this.all ? MAX_LANES : STREAMS_SHOWN);
		const others = hidden + this.gpu.lanes.length - this.streams.length;
		this.more.hidden = this.lanes.length <= LANES_SHOWN && this.gpu.lanes.length <= STREAMS_SHOWN;
		this.more.textContent = this.all
			? 'fewer lanes'
			: `${grouped(others)} more ${others > hidden ? 'lanes' : 'threads'}`;
		this.names.replaceChildren(
			el('div', { class: 'rp-lane rp-all' }, [this.isOfGpu ? 'all streams' : 'all threads']),
			...this.now.map((now, i) =>
				el('div', { class: 'rp-metric', title: this.metrics.label(i) }, this.metrics.title(i), now)
			),
			...[...this.streams, ...shown].map((t) => this.laneName(t))
		);
		this.whole.hidden = this.zoomIn.hidden = !this.brush;
		this.zoomOut.hidden = !this.view.from && this.view.to === this.end;
		this.from.value = seconds(this.brush ? this.brush.from : 0);
		this.to.value = seconds(this.brush ? this.brush.to : this.end);
		this.from.removeAttribute('aria-invalid');
		this.to.removeAttribute('aria-invalid');
		this.note.textContent = this.words();
		this.draw();
	}
	words() {
		const info = this.type?.info.timeline,
			windowNs = this.report.windowNs;
		const parts = [
			this.brush ? value(this.brush.to - this.brush.from, 'ns') : 'Drag to select a range and see what ran in it.'
		];
		if (windowNs)
			parts.push(
				`times are exact to ${value(windowNs, 'ns')}: ${grouped(info?.sampled || 0)} samples were aggregated ` +
					`in buckets`
			);
		if (info?.left_out) parts.push(`${grouped(info.left_out)} samples have times that cannot be shown`);
		return parts.join(' · ');
	}
	/** @param {number} thread */
	laneName(thread) {
		const name = this.nameOf(thread),
			chosen = this.threads?.has(thread) || false;
		return el(
			'button',
			{
				type: 'button',
				class: 'rp-lane',
				title: `Show only ${name}`,
				'aria-pressed': chosen,
				disabled: this.gpu.rows.has(thread) !== this.isOfGpu,
				onclick: () => this.toggle(thread)
			},
			[name]
		);
	}
	/** @param {number} thread */
	toggle(thread) {
		const threads = new Set(this.threads || []);
		if (!threads.delete(thread)) threads.add(thread);
		this.threads = threads.size ? threads : null;
		this.changed();
	}

	/* --- zoom and pointer --- */

	/** @param {Brush|null} part null: all of it */
	look(part) {
		const from = Math.max(0, part?.from || 0);
		this.view = { from, to: Math.max(from + 1, Math.min(this.end, part?.to ?? this.end)) };
		this.update();
	}
	/** @param {WheelEvent} e */
	wheel(e) {
		if (!e.ctrlKey && !e.metaKey) return;
		e.preventDefault();
		const at = this.momentAt(e),
			factor = e.deltaY > 0 ? 1 / ZOOM : ZOOM;
		this.look({ from: at - (at - this.view.from) * factor, to: at + (this.view.to - at) * factor });
	}
	/** @param {MouseEvent} e ns */
	momentAt(e) {
		const box = this.canvas.getBoundingClientRect(),
			{ from, to } = this.view;
		return from + Math.min(1, Math.max(0, (e.clientX - box.left) / box.width)) * (to - from);
	}
	/** The GPU operation under the pointer; -1: none. @param {MouseEvent} e */
	workAt(e) {
		const y = e.clientY - this.canvas.getBoundingClientRect().top - this.top,
			lane = this.streams[Math.floor(y / LANE)];
		return y < 0 || lane === undefined ? -1 : this.gpu.rowAt(lane, this.momentAt(e));
	}
	/** @param {PointerEvent} e */
	point(e) {
		const row = this.workAt(e);
		this.hint.textContent = row < 0 ? '' : this.gpu.words(row);
		this.showNow(this.momentAt(e));
	}
	/** @param {number} ns NaN: at none */
	showNow(ns) {
		this.now.forEach((now, i) => {
			now.textContent = now.title = this.metrics.words(i, ns);
		});
	}

	/* --- the selection --- */

	/** @param {Brush|null} brush */
	choose(brush) {
		const w = this.report.windowNs || 1;
		if (brush) {
			const from = Math.max(0, Math.round(brush.from / w) * w),
				to = Math.min(Math.ceil(this.end / w) * w, Math.round(brush.to / w) * w);
			brush = { from, to: Math.max(to, from + w) };
		}
		this.brush = brush;
		this.changed();
	}
	changed() {
		this.update();
		this.onChange(this.brush, this.threads);
	}
	typed() {
		const from = Number(this.from.value),
			to = Number(this.to.value);
		const ok = from >= 0 && to > from && this.to.value.trim() !== '';
		for (const field of [this.from, this.to]) field.toggleAttribute('aria-invalid', !ok);
		if (ok) this.choose({ from: Math.round(from * 1e9), to: Math.round(to * 1e9) });
	}
	/** @param {PointerEvent} e */
	drag(e) {
		const at = (/** @type {PointerEvent} */ m) => this.momentAt(m),
			start = at(e),
			startX = e.clientX;
		this.canvas.setPointerCapture(e.pointerId);
		this.canvas.onpointermove = (m) => {
			this.live =
				Math.abs(m.clientX - startX) < DRAG_PX
					? null
					: { from: Math.min(start, at(m)), to: Math.max(start, at(m)) };
			this.draw();
		};
		this.canvas.onpointerup = this.canvas.onpointercancel = () => {
			this.canvas.onpointermove = (m) => this.point(m);
			this.canvas.onpointerup = this.canvas.onpointercancel = null;
			const live = this.live,
				row = this.workAt(e);
			this.live = null;
			if (live) this.choose(live);
			else if (row >= 0 && this.gpu.samples) this.onWork(this.gpu.samples.node[row]);
		};
	}
	/** @param {KeyboardEvent} e */
	key(e) {
		const step = (this.view.to - this.view.from) / 100,
			now = this.brush || { from: 0, to: this.end },
			by = e.key === 'ArrowLeft' ? -step : e.key === 'ArrowRight' ? step : 0;
		if (e.key === 'Escape' && this.brush) this.choose(null);
		else if (!by) return;
		else if (e.shiftKey || !this.brush)
			this.choose({
				from: now.from,
				to: Math.min(this.end, Math.max(now.from + step, now.to + (this.brush ? by : by < 0 ? by : 0)))
			});
		else
			this.choose({
				from: Math.max(0, Math.min(now.from + by, this.end - step)),
				to: Math.min(this.end, Math.max(now.to + by, step))
			});
		e.preventDefault();
		e.stopPropagation();
	}

	/* --- drawing --- */

	draw() {
		const width = Math.floor(this.canvas.parentElement?.clientWidth || 0),
			lanes = this.shown || [],
			{ streams } = this,
			height = this.top + LANE * (streams.length + lanes.length) + AXIS;
		if (!width || !this.type) return;
		const ratio = Math.min(3, devicePixelRatio || 1),
			ctx = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext('2d'));
		this.canvas.width = width * ratio;
		this.canvas.height = height * ratio;
		this.canvas.style.height = `${height}px`;
		ctx.scale(ratio, ratio);
		const ink = getComputedStyle(this.canvas),
			columns = this.columns(width);
		this.drawTop(ctx, columns[0], ink);
		const scale = width / (this.view.to - this.view.from),
			x = (/** @type {number} */ ns) => (ns - this.view.from) * scale;
		this.metrics.strips.forEach((_, i) => {
			const y = TOP + METRIC * i;
			ctx.fillStyle = ink.getPropertyValue('--line');
			ctx.fillRect(0, y, width, 0.5);
			this.metrics.draw(ctx, i, { x, y, height: METRIC - 2, ink });
		});
		streams.forEach((lane, i) =>
			this.gpu.draw(ctx, lane, { x, width, y: this.top + LANE * i + 3, height: LANE - 7 })
		);
		lanes.forEach((_, lane) => {
			const first = 1 + STATES.length * lane;
			this.drawLane(
				ctx,
				columns.slice(first, first + STATES.length),
				this.top + LANE * (streams.length + lane),
				ink
			);
		});
		this.showLegend(ink);
		this.drawAxis(ctx, width, height, ink);
		this.drawBrush(ctx, width, height - AXIS, ink);
		this.canvas.setAttribute('aria-label', this.label());
	}
	/** The meaning of the threads' colours, for those in use. @param {CSSStyleDeclaration} ink */
	showLegend(ink) {
		const s = this.laneType?.samples,
			of = s && this.lanes.length && this.laneType ? statesOf(this.laneType.tree) : [],
			seen = new Set(s?.node.map((node) => of[node]));
		this.legend.replaceChildren(
			...STATES.flatMap((name, i) => {
				const dot = el('i');
				dot.style.backgroundColor = ink.getPropertyValue(name);
				return seen.has(i) ? [el('span', {}, dot, WORDS[i])] : [];
			})
		);
	}
	label() {
		const what =
			`${this.type?.info.name} over ${value(this.end, 'ns')}, ${this.lanes.length} threads` +
			(this.gpu.lanes.length ? `, ${this.gpu.lanes.length} streams of GPUs` : '') +
			this.metrics.strips.map((_, i) => `, ${this.metrics.title(i)}`).join('');
		return (
			`${what}. Arrow keys move the selection, Shift+arrow keys widen it, Escape clears it.` +
			(this.brush ? ` Selected: ${this.from.value} s to ${this.to.value} s.` : '')
		);
	}
	/**
	 * Sums per pixel: first of all threads, then for each lane one per state. Values that cover time are spread
	 * over it.
	 * @param {number} width
	 */
	columns(width) {
		const { type, laneType } = this,
			{ from, to } = this.view,
			row = new Map((this.shown || []).map((t, i) => [t, 1 + STATES.length * i])),
			state = laneType ? statesOf(laneType.tree) : [];
		const out = Array.from({ length: STATES.length * row.size + 1 }, () => new Float64Array(width)),
			scale = width / (to - from);
		for (const t of new Set([type, laneType])) {
			const s = t?.samples;
			for (let i = 0; s && i < s.n; i++) {
				const a = (s.time[i] - from) * scale,
					b = a + (s.length ? s.length[i] : 0) * scale,
					lane = t === laneType ? row.get(s.thread[i]) : undefined;
				if (t === type) spread(out[0], a, b, s.value[i]);
				if (lane !== undefined) spread(out[lane + state[s.node[i]]], a, b, s.value[i]);
			}
		}
		return out;
	}
	/** @param {CanvasRenderingContext2D} ctx @param {Float64Array} columns @param {CSSStyleDeclaration} ink */
	drawTop(ctx, columns, ink) {
		const sums = new Float64Array(Math.ceil(columns.length / BAR));
		columns.forEach((v, x) => {
			sums[(x / BAR) | 0] += v;
		});
		const most = sums.reduce((m, v) => Math.max(m, v), 0) || 1;
		ctx.fillStyle = ink.getPropertyValue('--rp-strip');
		sums.forEach((v, bar) => {
			const height = ((TOP - 8) * v) / most;
			ctx.fillRect(bar * BAR, TOP - 2 - height, BAR - 1, height);
		});
	}
	/**
	 * Each pixel has the colour of its largest part.
	 * @param {CanvasRenderingContext2D} ctx
	 * @param {Float64Array[]} parts by state
	 * @param {number} y
	 * @param {CSSStyleDeclaration} ink
	 */
	drawLane(ctx, parts, y, ink) {
		const [work] = parts,
			most = parts.flatMap((part) => [...part]).reduce((m, v) => Math.max(m, v), 0) || 1;
		const colours = STATES.map((name) => ink.getPropertyValue(name));
		ctx.fillStyle = ink.getPropertyValue('--line');
		ctx.fillRect(0, y + LANE - 1, work.length, 0.5);
		work.forEach((_, x) => {
			const at = parts.map((part) => part[x]),
				more = Math.max(...at);
			ctx.fillStyle = colours[at.indexOf(more)];
			ctx.globalAlpha = 0.35 + (0.65 * more) / most;
			if (more > 0) ctx.fillRect(x, y + 3, 1, LANE - 7);
		});
		ctx.globalAlpha = 1;
	}
	/**
	 * @param {CanvasRenderingContext2D} ctx
	 * @param {number} width
	 * @param {number} height
	 * @param {CSSStyleDeclaration} ink
	 */
	drawAxis(ctx, width, height, ink) {
		const ticks = Math.max(1, Math.floor(width / 110)),
			{ from, to } = this.view;
		ctx.fillStyle = ink.getPropertyValue('--dim');
		ctx.font = '12px system-ui, sans-serif';
		for (let i = 0; i <= ticks; i++) {
			ctx.textAlign = i === 0 ? 'left' : i === ticks ? 'right' : 'center';
			ctx.fillText(value(from + ((to - from) * i) / ticks, 'ns'), (width * i) / ticks, height - 4);
		}
	}
	/**
	 * @param {CanvasRenderingContext2D} ctx
	 * @param {number} width
	 * @param {number} height
	 * @param {CSSStyleDeclaration} ink
	 */
	drawBrush(ctx, width, height, ink) {
		const brush = this.live || this.brush;
		if (!brush || (brush.from <= this.view.from && brush.to >= this.view.to)) return;
		const scale = width / (this.view.to - this.view.from),
			x = (brush.from - this.view.from) * scale,
			w = Math.max(1, (brush.to - brush.from) * scale);
		ctx.fillStyle = ink.getPropertyValue('--rp-pick');
		ctx.fillRect(x, 0, w, height);
		ctx.fillStyle = ink.getPropertyValue('--accent');
		ctx.fillRect(x, 0, 1, height);
		ctx.fillRect(x + w - 1, 0, 1, height);
	}
}

/** In the order of the states in colours.js, which count from 1. */
const STATES = ['--rp-on', '--rp-off', '--rp-wait', '--rp-gpu'],
	WORDS = ['on the CPU', 'blocked', 'waiting for a CPU', 'waiting for a GPU'];
/** The state for types that have only one kind of wait. @type {{[type: string]: number}} */
const OF_TYPE = { 'sched-wait': 2, 'gpu-wait': 3 };
/** By node: the state of a thread whose stack ends there. @param {import('../tree.js').Tree} t */
function statesOf(t) {
	const own = OF_TYPE[t.header.type];
	return states(t).map((state) => own ?? state - 1);
}
