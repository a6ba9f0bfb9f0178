/* gpu_idle.js: why GPUs were idle, of an answer of /api/v1/gpu-idle: how long, what ended that, and what the processes
 * that use them did meanwhile, against what they did while it was busy. */

import { diffColumns } from './page/diff_columns.js';
import { button, el } from './page/dom.js';
import { Table } from './page/table.js';
import { grouped, plain, share, value } from './units.js';

/** A gap that is chosen: ns, as the answer counts. @typedef {(from: number, to: number) => void} Pick */

const GAPS = 6,
	CLASSES = 12;
const time = (/** @type {number} */ ns) => value(ns, 'nanoseconds');

/** How it is known, and whose it is. @param {any} d a device of the answer @param {any} answer */
function wordsOf(d, answer) {
	const who = d.owners.map((/** @type {any} */ o) => [plain(o.process || ''), o.pid].filter(Boolean).join(' '));
	const owned = {
		ran: 'ran something on it',
		listed: 'has memory there, by its driver',
		called: 'called a library of GPUs'
	};
	return (
		(d.exact
			? `Exact: from the times of kernels and copies${answer.windows ? ', while they were watched' : ''}.`
			: `From readings of the driver every ${time(d.period_ns)}: below ${share(answer.threshold, 1)} is idle, give or ` +
				`take ${time(d.uncertain_ns)}.`) +
		(who.length
			? ` Processes: ${who.join(', ')} (${owned[/** @type {'ran'} */ (d.owned)]}).`
			: ' Nobody is known to use it.') +
		(answer.exact_from_ns && d.exact ? ' Of a part there are no exact times any more; it does not count.' : '')
	);
}
const nameOf = (/** @type {any} */ c) => (c.name ? plain(c.name) : c.over ? 'not known' : 'not over when this ends');

/** @param {any} d */
function classes(d) {
	const cells = (/** @type {string} */ name, /** @type {any[]} */ list) =>
		el('tr', {}, ...list.map((v) => el(name, {}, v)));
	return el(
		'table',
		{ class: 'idle-gaps', 'aria-label': 'Gaps by what ended them' },
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
				title: `choose this gap; ended by ${nameOf(gap)}`
			})
		)
	);
}
/** @param {any} d */
function change(d) {
	if (!d.change) return [el('p', { class: 'dim' }, d.no_change)];
	const host = el('div', { class: 'idle-table' }),
		table = new Table(host, {
			name: `What was different while GPU ${d.gpu} was idle`,
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
			'What its processes did while it was idle, against while it was busy: shares of their time.'
		),
		host
	];
}

/** All of an answer. @param {any} answer @param {Pick} pick @returns {HTMLElement[]} */
export function idleParts(answer, pick) {
	/* Where readings say more, what records say of the part that was watched comes below. */
	const parts = answer.devices.flatMap((/** @type {any} */ d) =>
		d.records ? [d, { ...d.records, of: 'What was watched of ' }] : [d]
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
