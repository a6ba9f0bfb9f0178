/* strips.js: metrics of the host, and of GPUs where there are any, as strips over time. What nobody measured has no
 * strip; where a measurement is missing is a gap. */

import { el } from '../dom.js';
import { conditions, splitSelector } from '../selector.js';
import { plain, value } from '../../units.js';

/** @typedef {import('../app.js').App} App */
/** @typedef {import('../timeline.js').View} View */
/**
 * metric: its name. by: labels that make lines. match: conditions. stacked: lines add up. top: so many lines, the
 * others as one. most: the scale's end at least.
 * @typedef {{title: string, metric: string, by: string, match?: string, stacked?: boolean, unit: string, top?:
 * number, most?: number}} Kind
 */
/** @typedef {{kind: Kind, names: string[], at: number[], lines: (number|null)[][]}} Series  ms */

const HEIGHT_PX = 48,
	TOP_PX = 3,
	STEP_PX = 3,
	LINES = 8,
	LEAST_STEP_MS = 10e3;
/** In this order. @type {Kind[]} */
const KINDS = [
	{
		title: 'GPU busy',
		metric: 'hw_gpu_utilization',
		by: 'gpu',
		match: 'task="general"',
		unit: 'share',
		most: 1
	},
	{ title: 'GPU memory', metric: 'hw_gpu_memory_usage', by: 'gpu', unit: 'bytes', stacked: true },
	{ title: 'GPU power', metric: 'hw_gpu_power', by: 'gpu', unit: 'W' },
	{ title: 'GPU temperature', metric: 'hw_gpu_temperature', by: 'gpu', unit: '°C' },
	{ title: 'GPU clock', metric: 'hw_gpu_speed', by: 'gpu', match: 'clock="sm"', unit: 'Hz' },
	{ title: 'PCIe', metric: 'hw_gpu_pcie_throughput', by: 'gpu,direction', unit: 'bytes/s' },
	{ title: 'CPUs busy', metric: 'system_cpu_busy', by: 'cpu', unit: 'CPUs', stacked: true, top: 64 },
	{ title: 'Run queue', metric: 'system_cpu_run_queue', by: '', unit: 'threads' },
	{ title: 'Busiest programs', metric: 'process_cpu_time', by: 'process', unit: 'CPUs', stacked: true, top: LINES },
	{
		title: 'Memory',
		metric: 'system_memory_usage',
		by: 'state',
		match: 'state=~"used|cached|buffers"',
		unit: 'bytes',
		stacked: true
	},
	{ title: 'Pressure', metric: 'system_pressure', by: 'resource', match: 'kind="some"', unit: 'share' },
	{ title: 'Disk', metric: 'system_disk_io', by: 'direction', unit: 'bytes/s' },
	{ title: 'Network', metric: 'system_network_io', by: 'direction', unit: 'bytes/s' }
];

/** @param {number} v @param {string} unit */
export function amount(v, unit) {
	if (unit === 'share') return `${(100 * v).toFixed(v < 0.0995 ? 1 : 0)} %`;
	if (unit.startsWith('bytes')) return value(v, 'bytes') + unit.slice(5);
	return `${+v.toPrecision(3)} ${unit}`;
}
/** Those of the question that say which host. @param {string} q */
export function hostMatch(q) {
	const { match } = splitSelector(q);
	return conditions(match)
		.filter((c) => c.label === 'host')
		.map((c) => match.slice(c.from, c.to).trim());
}
/** @param {Kind} kind @param {any} answer of /api/v1/metrics @returns {Series} */
export function seriesOf(kind, answer) {
	const step = answer.step_ns / 1e6,
		at = Array.from({ length: answer.steps }, (_, i) => answer.from_ns / 1e6 + i * step);
	const all = answer.groups.map((/** @type {any} */ g) => ({
		name: plain(Object.values(g.labels).filter(Boolean).join(' ') || kind.title),
		values: g.values,
		sum: sum(g.values)
	}));
	if (kind.top !== undefined && kind.top < 64)
		all.sort((/** @type {any} */ a, /** @type {any} */ b) => b.sum - a.sum);
	const rest = all.splice(kind.top || LINES);
	if (rest.length)
		all.push({
			name: `${rest.length} others`,
			values: at.map((_, i) => added(rest.map((/** @type {any} */ r) => r.values[i])))
		});
	return {
		kind,
		at,
		names: all.map((/** @type {any} */ g) => g.name),
		lines: all.map((/** @type {any} */ g) => g.values)
	};
}
const sum = (/** @type {(number|null)[]} */ list) => list.reduce((/** @type {number} */ a, b) => a + (b || 0), 0);
/** Of what is known; null: nothing is. @param {(number|null)[]} list */
function added(list) {
	return list.every((v) => v === null) ? null : sum(list);
}
/** All lines together. @param {Series} s @returns {(number|null)[]} */
export function totals(s) {
	return s.at.map((_, i) => added(s.lines.map((l) => l[i])));
}

/** @typedef {import('../line_graph.js').LineGraph} LineGraph */

class Strip {
	/** @param {HTMLElement} host @param {Series} series */
	constructor(host, series) {
		this.series = series;
		this.now = el('span', { class: 'tl-now' });
		this.box = el('div', { class: 'tl-plot-box', role: 'img' });
		this.row = el(
			'div',
			{ class: 'tl-strip' },
			el('div', { class: 'tl-name' }, el('span', {}, series.kind.title), this.now),
			this.box
		);
		host.append(this.row);
		this.totals = totals(series);
		/** @type {LineGraph|undefined} */
		this.graph = undefined;
	}
	destroy() {
		this.graph?.destroy();
		this.row.remove();
	}
	/**
	 * Lines on top of each other are drawn from the highest down, each over those behind it.
	 * @returns {(number|null)[][]}
	 */
	heights() {
		const { kind, at, lines } = this.series,
			base = at.map(() => /** @type {number|null} */ (null));
		return kind.stacked ? lines.map((l) => l.map((v, i) => (base[i] = added([base[i], v])))).reverse() : lines;
	}
	colours() {
		const list = this.series.names.map((_, i) => `--g${i % LINES}`);
		return this.series.kind.stacked ? list.reverse() : list;
	}
	/** @param {View} view @param {typeof import('../line_graph.js').LineGraph} Graph */
	draw(view, Graph) {
		const { kind, names, at } = this.series,
			max = Math.max(...this.known(), kind.most || 0) || 1;
		const last = at[at.length - 1],
			end = last + (at.length > 1 ? at[1] - at[0] : LEAST_STEP_MS);
		this.graph = new Graph(this.box, {
			at,
			lines: this.heights(),
			colours: this.colours(),
			fill: kind.stacked ? 'ff' : '',
			from: view.from,
			to: view.to,
			end,
			max,
			width: view.width,
			height: HEIGHT_PX,
			top: TOP_PX,
			lineWidth: 1
		});
		this.box.setAttribute(
			'aria-label',
			`${kind.title}: from 0 to ${amount(max, kind.unit)}; ${names.slice(0, LINES).join(', ')}`
		);
		this.max = max;
		this.point(NaN);
	}
	known() {
		const { kind, lines } = this.series;
		return (kind.stacked ? [this.totals] : lines)
			.flat()
			.filter((v) => v !== null)
			.map(Number);
	}
	/** What it is at a moment; else its greatest. @param {number} ms */
	point(ms) {
		const { kind, at, names, lines } = this.series,
			i = Number.isNaN(ms) ? -1 : at.findLastIndex((t) => t <= ms);
		const all = i < 0 ? null : this.totals[i];
		if (i < 0) this.now.textContent = `≤ ${amount(this.max || 0, kind.unit)}`;
		else if (all === null) this.now.textContent = 'not known';
		else
			this.now.textContent =
				kind.stacked || lines.length === 1
					? amount(all, kind.unit)
					: lines
							.map((l, k) => `${names[k]} ${l[i] === null ? '?' : amount(Number(l[i]), kind.unit)}`)
							.join(', ');
		this.now.title = this.now.textContent;
	}
}

export class Strips {
	/** @param {HTMLElement} host @param {App} app */
	constructor(host, app) {
		this.host = host;
		this.app = app;
		/** @type {Strip[]} */
		this.all = [];
	}
	destroy() {
		this.all.forEach((s) => s.destroy());
		this.all = [];
	}
	/** @param {View} view @param {{from: string, to: string}} times @param {AbortSignal} signal */
	async load(view, times, signal) {
		const have = new Set(this.app.metrics.map((m) => m.type)),
			kinds = KINDS.filter((k) => have.has(k.metric)),
			hosts = hostMatch(this.app.state.q);
		const step = Math.max(LEAST_STEP_MS, Math.ceil((view.to - view.from) / (view.width / STEP_PX)));
		const answers = await Promise.all(
			kinds.map((kind) =>
				this.app.ask(
					'api/v1/metrics',
					{
						q: `${kind.metric}{${[...hosts, kind.match].filter(Boolean).join(', ')}}`,
						...times,
						by: kind.by || 'none',
						step: `${step}ms`
					},
					signal
				)
			)
		);
		const series = kinds
			.map((kind, i) => seriesOf(kind, answers[i]))
			.filter((s) => s.lines.some((l) => l.some((v) => v !== null)));
		const Graph = series.length ? (await import('../line_graph.js')).LineGraph : null;
		if (signal.aborted) return;
		this.destroy();
		this.all = series.map((s) => new Strip(this.host, s));
		this.all.forEach((s) => Graph && s.draw(view, Graph));
		this.host.hidden = !series.length;
	}
	/** @param {number} ms */
	point(ms) {
		this.all.forEach((s) => s.point(ms));
	}
	/**
	 * Of which each is one number at a time.
	 * @returns {{title: string, unit: string, at: number[], values: (number|null)[]}[]}
	 */
	series() {
		return this.all.map((s) => ({
			title: s.series.kind.title,
			unit: s.series.kind.unit,
			at: s.series.at,
			values: s.totals
		}));
	}
}
