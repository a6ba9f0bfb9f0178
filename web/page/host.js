/* host.js: the host while the profile was recorded: CPUs, threads that wait for one, memory, GPUs. */

import { plain, share, value } from '../units.js';
import { el } from './dom.js';
import { conditions, splitSelector } from './selector.js';

/**
 * Each is the sum over the selected hosts, minus `less` if it is set; `of` is the possible maximum. Each GPU is a line
 * of its own. docs/query.md names the metrics.
 * @typedef {{name: string, metric: string, less?: string, of?: string, unit: string, match?: string, by?: string}} Row
 * @type {Row[]}
 */
const HOST = [
	{ name: 'CPU in use', metric: 'system_cpu_busy', of: 'system_cpu_logical_count', unit: '' },
	{ name: 'Runnable threads', metric: 'system_cpu_run_queue', unit: '' },
	{
		name: 'Memory in use',
		metric: 'system_memory_limit',
		less: 'system_memory_available',
		of: 'system_memory_limit',
		unit: 'bytes'
	},
	{ name: 'GPUs busy', metric: 'hw_gpu_utilization', match: 'task="general"', by: 'host,gpu', unit: '%' },
	{
		name: 'GPU memory',
		metric: 'hw_gpu_memory_usage',
		by: 'host,gpu',
		of: 'hw_gpu_memory_limit',
		unit: 'bytes'
	},
	{ name: 'GPU power', metric: 'hw_gpu_power', by: 'host,gpu', unit: 'W' }
];
const STRIP = {
	height: 34,
	steps: 100,
	step: 15,
	gap: 300,
	named: 4
}; /* px, at most, s at least, s bridged at most, in the caption */
let turn = 0;
/** @type {import('./line_graph.js').LineGraph[]} */
const graphs = [];

/** @param {HTMLElement} host @param {import('./app.js').App} app @param {any} range an answer of /api/v1/range */
export async function drawHost(host, app, range) {
	const mine = ++turn,
		has = (/** @type {string|undefined} */ name) => !name || app.metrics.some((t) => t.type === name);
	const shown = HOST.filter((h) => [h.metric, h.less, h.of].every(has));
	/** @type {Map<string, Row>} */
	const asked = new Map(shown.flatMap((h) => [h.metric, h.less, h.of].flatMap((name) => (name ? [[name, h]] : []))));
	/* Only the condition on the host applies here. */
	const match = splitSelector(app.state.q).match,
		kept = conditions(match)
			.filter((c) => c.label === 'host')
			.map((c) => match.slice(c.from, c.to).trim())
			.join(',');
	const step = `${Math.max(STRIP.step, Math.ceil((range.steps * range.step_ns) / 1e9 / STRIP.steps))}s`;
	const answers = await Promise.all(
		[...asked].map(([name, { match: more, by }]) =>
			app.ask('api/v1/metrics', {
				q: `${name}{${[kept, more].filter(Boolean).join()}}`,
				from: app.state.from,
				to: app.state.to,
				step,
				...(by && { by })
			})
		)
	).catch(() => []);
	if (mine !== turn) return;
	/** @type {Groups} */
	const values = Object.fromEntries([...asked.keys()].map((name, i) => [name, answers[i]?.groups || []]));
	const stepMs = (answers[0]?.step_ns || 1e9) / 1e6,
		figures = shown.map((h) => figure(h, values)).filter((f) => f !== null);
	const { LineGraph } = figures.length ? await import('./line_graph.js') : { LineGraph: null };
	if (mine !== turn) return;
	graphs.splice(0).forEach((g) => g.destroy());
	host.hidden = !figures.length;
	host.replaceChildren(...figures.map((f) => f.element));
	for (const { box, lists, max } of figures)
		if (LineGraph) graphs.push(new LineGraph(box, lines(lists, max, stepMs)));
}
/** @typedef {(number|null)[]} List null: not known */
/** @typedef {{[name: string]: {labels: {[key: string]: string}, values: List}[]}} Groups */
/** @param {Row} h @param {Groups} values @param {number} group @returns {List} */
function hostValues(h, values, group) {
	const lesser = h.less && values[h.less][group]?.values;
	return values[h.metric][group].values.map((v, i) => {
		const less = h.less ? lesser && lesser[i] : 0;
		return v === null || less === null || less === undefined || less === '' ? null : v - less;
	});
}
/** "0", or "h1 0" if there are several hosts. @param {Row} h @param {Groups} values */
function deviceNames(h, values) {
	const all = values[h.metric].map((g) => g.labels),
		one = new Set(all.map((l) => l.host)).size < 2;
	return all.map((l) => (one ? l.gpu : `${l.host} ${l.gpu}`));
}
/** @param {Row} h @param {Groups} values */
function figure(h, values) {
	if (h.by) values[h.metric].sort((a, b) => (a.labels.host + a.labels.gpu < b.labels.host + b.labels.gpu ? -1 : 1));
	const lists = values[h.metric].map((_, i) => hostValues(h, values, i)),
		known = lists.map((list) => /** @type {number[]} */ (list.filter((v) => v !== null)));
	if (!known.flat().length) return null;
	const of = h.of ? Math.max(...values[h.of].flatMap((g) => g.values.map((v) => v ?? 0))) : 0;
	const text = (/** @type {number} */ v) =>
		h.unit === 'bytes' ? value(v, h.unit) : h.unit === '%' ? share(v, 1) : `${+v.toPrecision(3)} ${h.unit}`.trim();
	const names = h.by ? deviceNames(h, values) : [];
	const words = known.flatMap((list, i) =>
		list.length
			? `${h.by ? names[i] + ': ' : ''}${text(list.reduce((sum, v) => sum + v, 0) / list.length)} on average, ` +
				`${text(Math.max(...list))} at most`
			: []
	);
	const more = words.length - STRIP.named,
		all =
			words.slice(0, STRIP.named).join('; ') +
			(more > 0 ? `; ${more} more` : '') +
			(of ? `, of ${text(of)}` : '');
	const box = el('div', { class: 'line-graph', 'aria-hidden': 'true' });
	return {
		element: el('figure', {}, el('figcaption', {}, plain(h.name), el('span', {}, plain(all))), box),
		box,
		lists,
		max: Math.max(of, h.unit === '%' ? 1 : 0, ...known.flat(), 1e-9)
	};
}
/**
 * Values are at the middle of their steps.
 * @param {List[]} lists
 * @param {number} max
 * @param {number} step ms
 * @returns {import('./line_graph.js').Lines}
 */
function lines(lists, max, step) {
	return {
		at: lists[0].map((_, i) => (i + 0.5) * step),
		lines: lists,
		colours: lists.map((_, i) => `--g${(6 + i) % 8}`),
		fill: lists.length > 1 ? '10' : '40',
		from: 0,
		to: lists[0].length * step,
		bridge: STRIP.gap * 1e3,
		max,
		height: STRIP.height,
		top: 2,
		lineWidth: 1.5
	};
}
