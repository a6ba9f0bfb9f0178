/* table.js: functions as a table; only the visible rows are created. */

import { plain, share, value } from '../units.js';
import { copy, el } from './dom.js';

const ROW_PX = 22,
	MORE = 8; /* rows beyond the visible ones */

/**
 * @typedef {{name: string, text: (row: any) => string, by: (row: any) => number|string, right?: boolean, class?:
 * string}} Column
 */
/** @param {any} report an answer of /api/v1/top @returns {Column[]} */
export function columnsOf(report) {
	const unit = /^(nanoseconds|bytes)$/.test(report.unit) ? report.unit : ''; /* counts need no unit */
	const number = (/** @type {string} */ name, /** @type {'self'|'total'} */ key) => [
		{
			name,
			by: (/** @type {any} */ r) => r[key],
			text: (/** @type {any} */ r) => value(r[key], unit),
			right: true,
			class: 'roomy'
		},
		{
			name: name + ' %',
			by: (/** @type {any} */ r) => r[key],
			text: (/** @type {any} */ r) => share(r[key], report.total),
			right: true
		}
	];
	return [
		{ name: 'Kind', by: (r) => r.kind, text: (r) => r.kind, class: 'kind' },
		{ name: 'Function', by: (r) => r.function, text: (r) => plain(r.function), class: 'name' },
		...number('Self', 'self'),
		...number('Total', 'total'),
		{ name: 'Binary', by: (r) => r.binary || '', text: (r) => plain(r.binary || ''), class: 'binary roomy' }
	];
}

export class Table {
	/** @param {HTMLElement} host @param {{pick: (row: any) => void, open: (row: any) => void, name: string}} options */
	constructor(host, options) {
		this.options = options;
		this.body = el('tbody');
		this.head = el('tr');
		this.table = el(
			'table',
			{ class: 'virtual', 'aria-label': options.name },
			el('thead', {}, this.head),
			this.body
		);
		this.box = el(
			'div',
			{ class: 'rows', tabindex: 0, role: 'region', 'aria-label': options.name, onscroll: () => this.draw() },
			this.table
		);
		host.append(this.box);
		/** @type {any[]} */
		this.rows = [];
		/** @type {Column[]} */
		this.columns = [];
		this.sorted = 2;
		this.falls = true;
		this.picked = '';
		this.observer = new ResizeObserver(() => this.draw());
		this.observer.observe(this.box);
	}
	destroy() {
		this.observer.disconnect();
	}
	/** @param {any[]} rows @param {Column[]} columns */
	set(rows, columns) {
		this.rows = rows.slice();
		this.columns = columns;
		this.sort();
	}
	/** Marks a function. @param {string} name */
	mark(name) {
		this.picked = name;
		this.draw();
	}
	sort() {
		const { by } = this.columns[this.sorted],
			way = this.falls ? -1 : 1;
		this.rows.sort((a, b) => {
			const x = by(a),
				y = by(b);
			return x === y ? 0 : x < y ? -way : way;
		});
		this.drawHead();
		this.box.scrollTop = 0;
		this.draw();
	}
	/** @param {number} i the other way round, when it is that one already */
	sortBy(i) {
		this.falls = i === this.sorted ? !this.falls : !!this.columns[i].right;
		this.sorted = i;
		this.sort();
	}
	drawHead() {
		this.head.replaceChildren(
			...this.columns.map((c, i) =>
				el(
					'th',
					{
						class: [c.right && 'n', c.class].filter(Boolean).join(' '),
						scope: 'col',
						'aria-sort': i === this.sorted ? (this.falls ? 'descending' : 'ascending') : 'none'
					},
					el(
						'button',
						{ type: 'button', title: `Sort by ${c.name}`, onclick: () => this.sortBy(i) },
						c.class === 'kind narrow' ? el('span', { class: 'unseen' }, c.name) : c.name,
						i === this.sorted ? (this.falls ? ' ▾' : ' ▴') : ''
					)
				)
			)
		);
		this.table.setAttribute('aria-rowcount', String(this.rows.length + 1));
	}
	draw() {
		const first = Math.max(0, Math.floor(this.box.scrollTop / ROW_PX) - MORE);
		const last = Math.min(this.rows.length, first + Math.ceil((this.box.clientHeight || 400) / ROW_PX) + 2 * MORE);
		const focused = this.body.contains(document.activeElement)
			? document.activeElement?.closest('tr')?.getAttribute('aria-rowindex')
			: null;
		this.body.replaceChildren(
			spacer(first),
			...this.rows.slice(first, last).map((r, i) => this.row(r, first + i)),
			spacer(this.rows.length - last)
		);
		if (focused) this.body.querySelector(`tr[aria-rowindex="${focused}"] button`)?.focus({ preventScroll: true });
	}
	/** @param {any} row @param {number} i */
	row(row, i) {
		const name = row.function;
		const onclick = (/** @type {MouseEvent} */ e) =>
			e.detail === 2
				? this.options.open(row)
				: this.options.pick(row); /* the row may be another element by then */
		return el(
			'tr',
			{ 'aria-rowindex': i + 2, class: `${row.kind} ${name === this.picked ? 'picked' : ''}` },
			...this.columns.map((c) => {
				const text = c.text(row);
				return c.class === 'name'
					? el(
							'td',
							{ class: 'name', title: text },
							el(
								'button',
								{
									type: 'button',
									onclick,
									title: 'Click to highlight it in the graph, double-click for callers and callees'
								},
								text
							)
						)
					: el(
							'td',
							{ class: [c.right && 'n', c.class].filter(Boolean).join(' '), title: text },
							c.class?.startsWith('kind') ? el('i', { class: `dot ${text}` }) : null,
							c.class === 'kind narrow' ? el('span', { class: 'unseen' }, text) : text
						);
			})
		);
	}
	csv() {
		/* Keeps spreadsheets from taking a name for a formula. */
		const text = (/** @type {any} */ v) =>
			typeof v === 'string' ? plain(v).replace(/^[=+\-@]/, "'$&") : String(v);
		const cell = (/** @type {any} */ v) => (/[",\n]/.test(text(v)) ? `"${text(v).replace(/"/g, '""')}"` : text(v));
		const keys = Object.keys(this.rows[0] || {}).filter(
			(k) => typeof this.rows[0][k] !== 'object' || this.rows[0][k] === null
		);
		return (
			[keys, ...this.rows.map((r) => keys.map((k) => r[k] ?? ''))]
				.map((line) => line.map(cell).join(','))
				.join('\n') + '\n'
		);
	}
	copyCsv() {
		return copy(this.csv());
	}
}
/** @param {number} rows */
function spacer(rows) {
	const tr = el('tr', { class: 'spacer', 'aria-hidden': 'true' }),
		td = el('td');
	td.style.height = `${Math.max(0, rows) * ROW_PX}px`;
	tr.append(td);
	return tr;
}
