/* strips.js: metrics of the host and of its GPUs, as strips over time. A metric without data has no strip; a missing
 * value is a gap. */

import { el } from '../dom.js';
import { conditions, splitSelector } from '../selector.js';
import { KINDS, LINES, READ_MS, amount, drawnLines, greatest, seriesOf, textAt, totals } from '../../readings.js';

/** @typedef {import('../app.js').App} App */
/** @typedef {import('../timeline.js').View} View */
/** @typedef {import('../../readings.js').Series} Series */

const HEIGHT_PX = 48,
	TOP_PX = 3,
	STEP_PX = 3,
	LEAST_STEP_MS = 10e3;

/** The conditions of the query on the host. @param {string} q */
export function hostMatch(q) {
	const { match } = splitSelector(q);
	return conditions(match)
		.filter((c) => c.label === 'host')
		.map((c) => match.slice(c.from, c.to).trim());
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
	/** @param {View} view @param {typeof import('../line_graph.js').LineGraph} Graph */
	draw(view, Graph) {
		const { kind, names, at } = this.series,
			max = greatest(this.series, this.totals);
		const last = at[at.length - 1],
			end = last + (at.length > 1 ? at[1] - at[0] : LEAST_STEP_MS);
		this.graph = new Graph(this.box, {
			at,
			...drawnLines(this.series),
			fill: kind.stacked ? 'ff' : '',
			from: view.from,
			to: view.to,
			end,
			max,
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
	/** The value at a moment, else the greatest. @param {number} ms */
	point(ms) {
		const { series, totals, max = 0 } = this;
		this.now.textContent = Number.isNaN(ms) ? `≤ ${amount(max, series.kind.unit)}` : textAt(series, totals, ms);
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
		const least = this.app.status.data.kind === 'file' ? READ_MS : LEAST_STEP_MS,
			step = Math.max(least, Math.ceil((view.to - view.from) / (view.width / STEP_PX)));
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
	 * Each as one number per moment.
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
