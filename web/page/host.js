/* host.js: the host while the profile was made: CPUs, threads that want one, memory. */

import { plain, value } from '../units.js';
import { el } from './dom.js';
import { conditions, splitSelector } from './selector.js';

/**
 * Each is the sum over the hosts that are chosen, less another one where there is one; `of` is what there could be.
 * Metrics are named in docs/query.md.
 * @type {{name: string, metric: string, less?: string, of?: string, unit: string}[]}
 */
const HOST = [
	{ name: 'CPUs busy', metric: 'system_cpu_busy', of: 'system_cpu_logical_count', unit: '' },
	{ name: 'Threads that want a CPU', metric: 'system_cpu_run_queue', unit: '' },
	{
		name: 'Memory in use',
		metric: 'system_memory_limit',
		less: 'system_memory_available',
		of: 'system_memory_limit',
		unit: 'bytes'
	}
];
const STRIP = { height: 34, steps: 100, step: 15, gap: 300 }; /* px, at most, s at least, s that are bridged */
let turn = 0;
/** @type {import('./line_graph.js').LineGraph[]} */
const graphs = [];

/** @param {HTMLElement} host @param {import('./app.js').App} app @param {any} range an answer of /api/v1/range */
export async function drawHost(host, app, range) {
	const mine = ++turn,
		has = (/** @type {string|undefined} */ name) => !name || app.metrics.some((t) => t.type === name);
	const shown = HOST.filter((h) => [h.metric, h.less, h.of].every(has));
	const names = /** @type {string[]} */ ([
		...new Set(shown.flatMap((h) => [h.metric, h.less, h.of]).filter(Boolean))
	]);
	/* Of the conditions only that on the host means anything for it. */
	const match = splitSelector(app.state.q).match,
		kept = conditions(match)
			.filter((c) => c.label === 'host')
			.map((c) => match.slice(c.from, c.to).trim())
			.join(',');
	const step = `${Math.max(STRIP.step, Math.ceil((range.steps * range.step_ns) / 1e9 / STRIP.steps))}s`;
	const answers = await Promise.all(
		names.map((name) =>
			app.ask('api/v1/metrics', { q: `${name}{${kept}}`, from: app.state.from, to: app.state.to, step })
		)
	).catch(() => []);
	if (mine !== turn) return;
	const values = Object.fromEntries(names.map((name, i) => [name, answers[i]?.groups[0]?.values || []]));
	const stepMs = (answers[0]?.step_ns || 1e9) / 1e6,
		figures = shown.map((h) => figure(h, values)).filter((f) => f !== null);
	const { LineGraph } = figures.length ? await import('./line_graph.js') : { LineGraph: null };
	if (mine !== turn) return;
	graphs.splice(0).forEach((g) => g.destroy());
	host.hidden = !figures.length;
	host.replaceChildren(...figures.map((f) => f.element));
	for (const { box, list, max } of figures) if (LineGraph) graphs.push(new LineGraph(box, lines(list, max, stepMs)));
}
/**
 * null: not known.
 * @param {{metric: string, less?: string}} h
 * @param {{[name: string]: (number|null)[]}} values
 * @returns {(number|null)[]}
 */
function hostValues(h, values) {
	return values[h.metric].map((v, i) => {
		const less = h.less ? values[h.less][i] : 0;
		return v === null || less === null || less === undefined ? null : v - less;
	});
}
/** @param {typeof HOST[0]} h @param {{[name: string]: (number|null)[]}} values */
function figure(h, values) {
	const list = hostValues(h, values),
		known = /** @type {number[]} */ (list.filter((v) => v !== null));
	if (!known.length) return null;
	const of = h.of ? Math.max(...values[h.of].map((v) => v ?? 0)) : 0,
		most = Math.max(...known);
	const average = known.reduce((sum, v) => sum + v, 0) / known.length;
	const text = (/** @type {number} */ v) => (h.unit ? value(v, h.unit) : String(+v.toPrecision(3)));
	const words = el('span', {}, `${text(average)} on average, ${text(most)} at most${of ? `, of ${text(of)}` : ''}`);
	const box = el('div', { class: 'line-graph', 'aria-hidden': 'true' });
	return {
		element: el('figure', {}, el('figcaption', {}, plain(h.name), words), box),
		box,
		list,
		max: Math.max(of, most, 1e-9)
	};
}
/**
 * Values stand in the middle of their steps.
 * @param {(number|null)[]} list
 * @param {number} max
 * @param {number} step ms
 * @returns {import('./line_graph.js').Lines}
 */
function lines(list, max, step) {
	return {
		at: list.map((_, i) => (i + 0.5) * step),
		lines: [list],
		colours: ['--g6'],
		fill: '40',
		from: 0,
		to: list.length * step,
		bridge: STRIP.gap * 1e3,
		max,
		height: STRIP.height,
		top: 2,
		lineWidth: 1.5
	};
}
