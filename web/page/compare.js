/* compare.js: compares two selections, A (before) and B (after), as a flame graph and as a table. */

import './core.js';
import { value } from '../units.js';
import { decodeTree } from '../tree.js';
import { Flame } from '../flame.js';
import { diffColumns } from './diff_columns.js';
import { button, copy, countDrawn, el, finest, labelled, select } from './dom.js';
import { filterBar } from './filter_bar.js';
import { filterParams } from './filters.js';
import { queryBar } from './query_bar.js';
import { RangeGraph } from './range.js';
import { NORMS } from './state.js';
import { Table } from './table.js';
import { firstType, moment, momentsOf } from './times.js';
import { troubleOf } from './trouble.js';

/** @typedef {import('./app.js').App} App */

const ROWS = 2000;
const NORM_TEXT = { share: 'shares (each side is 100 %)', rate: 'rates (per second)', abs: 'absolute values' };
const NORM_HOW = {
	share: 'Each side counts as 100 %: the graph shows shifts between functions, not more or less work.',
	rate: 'Values are divided by the duration of their side.',
	abs: 'Values are not scaled: a longer side has more of everything.'
};
/** @type {[string, string][]} */
const SAME = [
	['', 'in any build'],
	['1', 'same file and binary']
];
const SIDES = /** @type {['a', 'b']} */ (['a', 'b']);
const KEYS = { a: { q: 'q', from: 'from', to: 'to' }, b: { q: 'qb', from: 'fromb', to: 'tob' } };

class Compare {
	/* set by build() */
	/** @type {{a: any, b: any}|any} */
	bars;
	/** @type {any} */
	graph;
	/** @type {any} */
	flame;
	/** @type {any} */
	table;
	/** @type {any} */
	norm;
	/** @type {any} */
	same;
	/** @type {any} */
	trouble;
	/** @type {any} */
	verdict;
	/** @type {any} */
	how;
	/** @type {any} */
	filters;
	/** @type {any} */
	dragging;
	/** @param {HTMLElement} host @param {App} app */
	constructor(host, app) {
		this.app = app;
		this.host = host;
		this.turn = 0;
		/** @type {'a'|'b'} the side whose time is dragged */
		this.side = 'b';
		app.state.q ||= firstType(app);
		app.state.qb ||= app.state.q;
		this.build();
		this.load();
	}
	build() {
		const { app } = this;
		this.bars = { a: this.bar('a'), b: this.bar('b') };
		const drag = el(
			'span',
			{ role: 'group', 'aria-label': 'Dragging sets' },
			...SIDES.map((s) =>
				button(s.toUpperCase(), () => this.sets(s), { 'data-side': s, 'aria-pressed': String(s === this.side) })
			)
		);
		this.dragging = drag;
		this.norm = select(
			NORMS.map((n) => [n, NORM_TEXT[/** @type {'share'} */ (n)]]),
			{ onchange: () => app.setState({ norm: this.norm.value }, { push: true }) }
		);
		this.same = select(SAME, { onchange: () => app.setState({ strict: this.same.value }, { push: true }) });
		this.trouble = el('div', { class: 'trouble', role: 'alert', hidden: true });
		this.verdict = el('p', { class: 'verdict', role: 'status' });
		this.how = el('span', { class: 'how' });
		this.filters = filterBar(app);
		const graph = el('div'),
			flameHost = el('div', { class: 'body' }),
			tableHost = el('div', { class: 'body' });
		this.host.append(
			el(
				'div',
				{ class: 'sides' },
				...SIDES.map((s) =>
					el(
						'div',
						{ class: `side ${s}` },
						el(
							'div',
							{ class: 'row' },
							el('h2', {}, s === 'a' ? 'A · before' : 'B · after'),
							button(`Open ${s.toUpperCase()}`, () => this.open(s))
						),
						this.bars[s].element
					)
				)
			),
			this.trouble,
			el(
				'section',
				{ 'aria-label': 'Totals over time' },
				el(
					'div',
					{ class: 'row' },
					'Dragging sets ',
					drag,
					el(
						'span',
						{ class: 'right' },
						button('Swap A and B', () => this.swap()),
						labelled('Compare', this.norm),
						labelled('Same function', this.same)
					)
				),
				graph
			),
			el(
				'section',
				{ 'aria-label': 'Differences' },
				this.verdict,
				el('div', { class: 'row' }, this.filters.element, this.how),
				el(
					'div',
					{ class: 'grid two even' },
					el(
						'div',
						{ class: 'pane flame', role: 'group', 'aria-label': 'Difference' },
						el(
							'p',
							{ class: 'how' },
							'Widths show A and B together. Red ▲ is more in B, blue ▼ is less, yellow is new.'
						),
						flameHost
					),
					el(
						'div',
						{ class: 'pane table', role: 'group', 'aria-label': 'Functions' },
						el(
							'p',
							{ class: 'how' },
							'Self of each function in A and B, and the 95 % interval of its change. ' +
								'≈ is the same function of another build.'
						),
						tableHost
					)
				)
			)
		);
		this.graph = new RangeGraph(graph, {
			hasClock: app.status.data.from !== null,
			name: 'Totals over time',
			pick: (span) => span && this.pick(span)
		});
		this.flame = new Flame(flameHost, {
			label: 'Difference of A and B as a flame graph. Arrow keys move, Enter zooms, Escape resets the zoom.'
		});
		this.flame.setMode('diff');
		this.table = new Table(tableHost, { name: 'Functions', pick: (r) => this.mark(r), open: (r) => this.mark(r) });
		tableHost.append(
			button('Copy as CSV', () => copy(this.csv || '').then(() => app.notify('Table copied as CSV.')), {
				class: 'csv'
			})
		);
	}
	/** @param {'a'|'b'} side */
	bar(side) {
		const keys = KEYS[side];
		return queryBar(this.app, {
			name: `Side ${side.toUpperCase()}`,
			withBy: false,
			change: (patch) =>
				this.app.setState(
					Object.fromEntries(Object.entries(patch).map(([k, v]) => [keys[/** @type {'q'} */ (k)] || k, v])),
					{ push: true }
				)
		});
	}
	unmount() {
		this.turn = -1;
		this.graph.destroy();
		this.flame.destroy();
		this.table.destroy();
	}
	/** @param {string[]} keys */
	update(keys) {
		if (keys.some((k) => !['s', 'z', 'c', 'v'].includes(k))) this.load();
	}
	/** @param {'a'|'b'} side */
	question(side) {
		const { state } = this.app,
			k = KEYS[side];
		return { q: state[k.q] || state.q, from: state[k.from], to: state[k.to] };
	}
	async load() {
		const { app } = this,
			mine = ++this.turn,
			{ state } = app,
			a = this.question('a'),
			b = this.question('b');
		this.bars.a.set({ by: '', ...a });
		this.bars.b.set({ by: '', ...b });
		this.norm.value = state.norm;
		this.same.value = state.strict;
		this.how.textContent = NORM_HOW[/** @type {'share'} */ (state.norm)];
		this.filters.draw();
		const params = {
			a: a.q,
			afrom: a.from,
			ato: a.to,
			b: b.q,
			bfrom: b.from,
			bto: b.to,
			norm: state.norm,
			strict: state.strict,
			...filterParams(state.f)
		};
		this.host.classList.add('loads');
		try {
			const [table, bytes] = await Promise.all([
				app.ask('api/v1/diff', { ...params, n: ROWS }),
				app.ask('api/v1/diff', { ...params, fmt: 'bin', px: finest() }),
				this.drawRange()
			]);
			if (mine === this.turn) this.draw(table, bytes);
		} catch (e) {
			if (mine === this.turn) this.failed(e);
		}
		this.host.classList.remove('loads');
		countDrawn();
	}
	/** @param {any} e */
	failed(e) {
		const side = /parameter a\b/.test(e.message) ? 'a' : /parameter b\b/.test(e.message) ? 'b' : '';
		SIDES.forEach((s) => this.bars[s].refuse(s === side ? e : null));
		this.trouble.hidden = !!side;
		this.trouble.replaceChildren(...troubleOf(this.app, e, () => this.load()));
	}
	/** @param {any} table @param {Uint8Array} bytes */
	draw(table, bytes) {
		SIDES.forEach((s) => this.bars[s].refuse(null));
		this.trouble.hidden = true;
		this.flame.setTree(decodeTree(bytes));
		const rows = table.rows.map((/** @type {any} */ r) => ({ ...r, ...r.self, self: undefined, total: undefined }));
		this.table.set(rows, diffColumns(table));
		this.csv =
			[
				'function,kind,binary,older,newer,change,low,high,certainty,match',
				...table.rows.map((/** @type {any} */ r) =>
					[
						r.function,
						r.kind,
						r.binary || '',
						r.self.older,
						r.self.newer,
						r.self.change,
						r.self.low,
						r.self.high,
						r.self.certainty,
						r.match
					]
						.map((v) => (/[",\n]/.test(String(v)) ? `"${String(v).replace(/"/g, '""')}"` : v))
						.join(',')
				)
			].join('\n') + '\n';
		this.verdict.textContent = verdict(table);
	}
	/** One graph over both sides, with their time ranges marked. */
	async drawRange() {
		const { app } = this,
			data = app.status.data;
		if (!data.has_times) return;
		const picks = SIDES.map((side) => {
			const { from, to } = this.question(side),
				[start, end] = momentsOf(app, from, to);
			return {
				from: Number.isNaN(start) ? data.from_ns / 1e6 : start,
				to: Number.isNaN(end) ? data.to_ns / 1e6 : end,
				side
			};
		});
		const from = Math.min(...picks.map((p) => p.from)),
			to = Math.max(...picks.map((p) => p.to)),
			margin = (to - from) * 0.15;
		const first = Math.max(from - margin, data.from_ns / 1e6),
			last = Math.min(to + margin, Math.max(to, data.to_ns / 1e6));
		const range = await app.ask('api/v1/range', {
			q: this.question('b').q,
			from: moment(app, first),
			to: moment(app, Math.max(last, first + 1))
		});
		this.graph.draw(range, picks);
	}
	/** @param {'a'|'b'} side */
	sets(side) {
		this.side = side;
		for (const b of this.dragging.children) b.setAttribute('aria-pressed', String(b.dataset.side === side));
	}
	/** @param {[number, number]} span */
	pick(span) {
		const k = KEYS[this.side];
		this.app.setState({ [k.from]: moment(this.app, span[0]), [k.to]: moment(this.app, span[1]) }, { push: true });
	}
	swap() {
		const { state } = this.app;
		this.app.setState(
			{ q: state.qb || state.q, from: state.fromb, to: state.tob, qb: state.q, fromb: state.from, tob: state.to },
			{ push: true }
		);
	}
	/** @param {'a'|'b'} side */
	open(side) {
		this.app.go('explore', { ...this.question(side), sel: '' });
	}
	/** @param {any} row */
	mark(row) {
		const text = `/^${row.function.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')}$/`;
		this.flame.setSearch(this.flame.found.text === text ? '' : text);
		this.table.mark(this.flame.found.text ? row.function : '');
	}
}
/** @param {any} table */
function verdict(table) {
	const { whole, older, newer } = table,
		text = (/** @type {number} */ v) => value(v, whole.unit);
	const side = (/** @type {any} */ s) =>
		s.total ? `${value(s.total, s.unit)} in ${value(s.duration_ns, 'nanoseconds')}` : 'nothing';
	if (!older.total || !newer.total)
		return (
			`A ${side(older)}, B ${side(newer)}: a side without samples cannot be compared. Select ` +
			`another time range.`
		);
	return (
		`A ${side(older)}, B ${side(newer)}: ` +
		`per second ${text(whole.older)} → ${text(whole.newer)}` +
		(whole.certainty === 'chance' ? ', which may be due to chance.' : ` (${whole.certainty}).`)
	);
}
/** @param {HTMLElement} host @param {App} app */
export const mount = (host, app) => new Compare(host, app);
