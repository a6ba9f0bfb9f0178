/* host.js: the host while the profile was made: CPUs, threads that want one, memory. */

import { plain, value } from '../units.js';
import { el, svg } from './dom.js';
import { conditions, splitSelector } from './selector.js';

/** Each is the sum over the hosts that are chosen, less another one where there is one; `of` is what there could be. Metrics are named in docs/query.md.
 * @type {{name: string, metric: string, less?: string, of?: string, unit: string}[]} */
const HOST = [
	{ name: 'CPUs busy', metric: 'system_cpu_busy', of: 'system_cpu_logical_count', unit: '' },
	{ name: 'Threads that want a CPU', metric: 'system_cpu_run_queue', unit: '' },
	{ name: 'Memory in use', metric: 'system_memory_limit', less: 'system_memory_available', of: 'system_memory_limit', unit: 'bytes' },
];
const STRIP = { width: 300, height: 34, steps: 100, step: 15, gap: 300 }; /* px, px, at most, s at least, s that are bridged */
let turn = 0;

/** @param {HTMLElement} host @param {import('./app.js').App} app @param {any} range an answer of /api/v1/range */
export async function drawHost(host, app, range) {
	const mine = ++turn, has = (/** @type {string|undefined} */ name) => !name || app.metrics.some((t) => t.type === name);
	const shown = HOST.filter((h) => [h.metric, h.less, h.of].every(has));
	const names = /** @type {string[]} */ ([...new Set(shown.flatMap((h) => [h.metric, h.less, h.of]).filter(Boolean))]);
	/* Of the conditions only that on the host means anything for it. */
	const match = splitSelector(app.state.q).match, kept = conditions(match).filter((c) => c.label === 'host').map((c) => match.slice(c.from, c.to).trim()).join(',');
	const step = `${Math.max(STRIP.step, Math.ceil(range.steps * range.step_ns / 1e9 / STRIP.steps))}s`;
	const answers = await Promise.all(names.map((name) => app.ask('api/v1/metrics', { q: `${name}{${kept}}`, from: app.state.from, to: app.state.to, step })))
		.catch(() => []);
	if (mine !== turn)
		return;
	const values = Object.fromEntries(names.map((name, i) => [name, answers[i]?.groups[0]?.values || []]));
	const figures = shown.map((h) => figure(h, values, (answers[0]?.step_ns || 1e9) / 1e9)).filter((f) => f !== null);
	host.replaceChildren(...figures);
	host.hidden = !figures.length;
}
/** null: not known. @param {{metric: string, less?: string}} h @param {{[name: string]: (number|null)[]}} values @returns {(number|null)[]} */
function hostValues(h, values) {
	return values[h.metric].map((v, i) => {
		const less = h.less ? values[h.less][i] : 0;
		return v === null || less === null || less === undefined ? null : v - less;
	});
}
/** @param {typeof HOST[0]} h @param {{[name: string]: (number|null)[]}} values @param {number} step s */
function figure(h, values, step) {
	const list = hostValues(h, values), known = /** @type {number[]} */ (list.filter((v) => v !== null));
	if (!known.length)
		return null;
	const of = h.of ? Math.max(...values[h.of].map((v) => v ?? 0)) : 0, most = Math.max(...known);
	const average = known.reduce((sum, v) => sum + v, 0) / known.length;
	const text = (/** @type {number} */ v) => h.unit ? value(v, h.unit) : String(+v.toPrecision(3));
	return el('figure', {}, el('figcaption', {}, plain(h.name), el('span', {}, `${text(average)} on average, ${text(most)} at most${of ? `, of ${text(of)}` : ''}`)),
		strip(list, Math.max(of, most, 1e-9), step));
}
/** Pieces of a line, each of steps that are known and not far apart. @param {(number|null)[]} list @param {number} step s */
function pieces(list, step) {
	/** @type {[number, number][][]} */
	const all = [];
	let last = -Infinity;
	list.forEach((v, i) => {
		if (v === null)
			return;
		if ((i - last) * step > STRIP.gap)
			all.push([]);
		all[all.length - 1].push([i, v]);
		last = i;
	});
	return all;
}
/** @param {(number|null)[]} list @param {number} max @param {number} step */
function strip(list, max, step) {
	const picture = svg('svg', { viewBox: `0 0 ${STRIP.width} ${STRIP.height}`, preserveAspectRatio: 'none', 'aria-hidden': 'true' });
	const x = (/** @type {number} */ i) => +((i + 0.5) * STRIP.width / list.length).toFixed(2);
	const y = (/** @type {number} */ v) => +(STRIP.height - v / max * (STRIP.height - 2)).toFixed(2);
	for (const piece of pieces(list, step)) {
		const line = piece.map(([i, v]) => `${x(i)} ${y(v)}`).join('L'), end = piece[piece.length - 1][0];
		picture.append(svg('path', { class: 'fill', d: `M${x(piece[0][0])} ${STRIP.height}L${line}L${x(end)} ${STRIP.height}Z` }), svg('path', { class: 'line', d: 'M' + line }));
	}
	return picture;
}
