/* idle.js: why GPUs were idle: how long, what ended that, and what the processes that use them did meanwhile, against
 * what they did while it was busy. */

import { grouped, plain, share, value } from '../../units.js';
import { diffColumns } from '../diff_columns.js';
import { button, el } from '../dom.js';
import { spanText } from '../state.js';
import { hostMatch } from './strips.js';
import { Table } from '../table.js';
import { moment } from '../times.js';

/** @typedef {import('../app.js').App} App */

const ROWS = 200,
	GAPS = 6,
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
		{ class: 'tl-gaps', 'aria-label': 'Gaps by what ended them' },
		cells('th', ['gaps', 'idle', 'median', 'longest', 'ended by']),
		...d.ended_by
			.slice(0, CLASSES)
			.map((/** @type {any} */ c) =>
				cells('td', [grouped(c.gaps), time(c.total_ns), time(c.median_ns), time(c.longest_ns), nameOf(c)])
			)
	);
}
/** @param {any} d @param {(span: [number, number]) => void} pick */
function longest(d, pick) {
	return el(
		'div',
		{ class: 'row' },
		el('span', { class: 'dim' }, 'The longest:'),
		...d.longest.slice(0, GAPS).map((/** @type {any} */ gap) =>
			button(time(gap.to_ns - gap.from_ns), () => pick([gap.from_ns / 1e6, gap.to_ns / 1e6]), {
				title: `choose this gap; ended by ${nameOf(gap)}`
			})
		)
	);
}
/** @param {any} d */
function change(d) {
	if (!d.change) return [el('p', { class: 'dim' }, d.no_change)];
	const host = el('div', { class: 'tl-table' }),
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

/**
 * What is shown of a part of the time.
 * @param {App} app
 * @param {{from: string, to: string}} times
 * @param {(span: [number, number]) => void} pick
 */
async function partsOf(app, times, pick) {
	const match = hostMatch(app.state.q).join(', ');
	try {
		const answer = await app.ask('api/v1/gpu-idle', { ...(match ? { q: `{${match}}` } : {}), ...times, n: ROWS });
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
	} catch (e) {
		return [el('p', { class: 'empty' }, /** @type {Error} */ (e).message)];
	}
}

export class Idle {
	/**
	 * brush: undefined before anything is shown.
	 * @param {App} app
	 * @param {{has: boolean, brush: () => [number, number]|null|undefined, times: () => {from: string, to: string},
	 * pick: (span: [number, number]) => void}} options
	 */
	constructor(app, options) {
		this.app = app;
		this.options = options;
		this.turn = 0;
		this.own = ''; /* the gap that was picked here */
		this.button = button('Why was the GPU idle?', () => app.setState({ idle: app.state.idle ? '' : '1' }), {
			'aria-pressed': 'false',
			hidden: !options.has,
			title: 'Gaps of what is chosen, what ended them, and what its processes did meanwhile'
		});
		this.panel = el('section', { class: 'tl-idle', hidden: true, 'aria-label': 'Why the GPU was idle' });
	}
	/** Of what is chosen; where that is one of its own gaps it goes on to show all of them. */
	async draw() {
		const { app, options, panel } = this,
			brush = options.brush(),
			isOn = app.state.idle === '1' && options.has;
		this.button.setAttribute('aria-pressed', String(isOn));
		panel.hidden = !isOn;
		if (!isOn || brush === undefined || (this.own && this.own === app.state.sel)) return;
		this.own = '';
		const mine = ++this.turn,
			times = brush ? { from: moment(app, brush[0]), to: moment(app, brush[1]) } : options.times();
		const parts = await partsOf(app, times, (span) => {
			this.own = spanText(...span);
			options.pick(span);
		});
		if (mine !== this.turn) return;
		panel.replaceChildren(...parts);
		panel.dataset.drawn = String(mine);
	}
}
