/* gpu_idle.js: shows an answer of /api/v1/gpu-idle: how long GPUs were idle, what ended that, and what the processes
 * that use them did meanwhile, compared with their busy time. */

import { diffColumns } from './page/diff_columns.js';
import { button, el } from './page/dom.js';
import { Table } from './page/table.js';
import { grouped, plain, share, value } from './units.js';

/** A chosen gap: ns, as in the answer. @typedef {(from: number, to: number) => void} Pick */

const GAPS = 6,
	CLASSES = 12;
const time = (/** @type {number} */ ns) => value(ns, 'nanoseconds');

/** Where the data come from, and which processes use the GPU. @param {any} d a device of the answer @param {any}
 * answer */
function wordsOf(d, answer) {
	const who = d.owners.map((/** @type {any} */ o) => [plain(o.process || ''), o.pid].filter(Boolean).join(' '));
	const owned = {
		ran: 'ran work on it',
		listed: 'has memory on it, according to the driver',
		called: 'called a GPU library'
	};
	return (
		(d.exact
			? `Exact: from the times of kernels and copies${answer.windows ? ', while they were watched' : ''}.`
			: `From readings of the driver every ${time(d.period_ns)}: below ${share(answer.threshold, 1)} is idle, give or ` +
				`take ${time(d.uncertain_ns)}.`) +
		(who.length
			? ` Processes: ${who.join(', ')} (${owned[/** @type {'ran'} */ (d.owned)]}).`
			: ' No process is known to use it.') +
		(answer.exact_from_ns && d.exact ? ' Part of the range no longer has exact times and does not count.' : '')
	);
}
const nameOf = (/** @type {any} */ c) => (c.name ? plain(c.name) : c.over ? 'unknown' : 'still idle at the end');

/** @param {any} d */
function classes(d) {
	const cells = (/** @type {string} */ name, /** @type {any[]} */ list) =>
		el('tr', {}, ...list.map((v) => el(name, {}, v)));
	return el(
		'table',
		{ class: 'idle-gaps', 'aria-label': 'Idle gaps by the work that ended them' },
		cells('th', ['gaps', 'idle', 'median', 'longest', 'ended by']),
		...d.ended_by
			.slice(0, CLASSES)
			.map((/** @type {any} */ c) =>
				cells('td', [grouped(c.gaps), time(c.total_ns), time(c.median_ns), time(c.longest_ns), nameOf(c)])
			)
	);
}
/** @param {any} d @param {Pick} pick */
function longest(d, pick) {
	return el(
		'div',
		{ class: 'row' },
		el('span', { class: 'dim' }, 'The longest:'),
		...d.longest.slice(0, GAPS).map((/** @type {any} */ gap) =>
			button(time(gap.to_ns - gap.from_ns), () => pick(gap.from_ns, gap.to_ns), {
				title: `Select this gap; ended by ${nameOf(gap)}`
			})
		)
	);
}
/** @param {any} d */
function change(d) {
	if (!d.change) return [el('p', { class: 'dim' }, d.no_change)];
	const host = el('div', { class: 'idle-table' }),
		table = new Table(host, {
			name: `Difference while GPU ${d.gpu} was idle`,
			pick: () => {},
			open: () => {}
		});
	table.sorted = 4;
	table.set(
		d.change.rows.map((/** @type {any} */ r) => ({ ...r, ...r.self })),
		diffColumns(d.change, ['busy', 'idle'])
	);
	return [
		el(
			'p',
			{ class: 'how' },
			'Activity of its processes while it was idle, compared with while it was busy, as shares of their time.'
		),
		host
	];
}

/** All parts of an answer. @param {any} answer @param {Pick} pick @returns {HTMLElement[]} */
export function idleParts(answer, pick) {
	/* If readings cover more, the records of the watched part come below. */
	const parts = answer.devices.flatMap((/** @type {any} */ d) =>
		d.records ? [d, { ...d.records, of: 'Watched part of ' }] : [d]
	);
	return parts.flatMap((/** @type {any} */ d) => [
		el(
			'h2',
			{},
			plain(
				`${d.of || ''}GPU ${d.gpu}${d.host ? ` of ${d.host}` : ''}: idle ${time(d.idle_ns)} ` +
					`(${share(d.idle_ns, d.watched_ns)}) in ${grouped(d.gaps)} gap${d.gaps === 1 ? '' : 's'}`
			)
		),
		el('p', { class: 'how' }, wordsOf(d, answer)),
		...(d.gaps ? [classes(d), longest(d, pick), ...change(d)] : [])
	]);
}
