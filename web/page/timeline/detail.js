/* detail.js: the merged stacks of the selected range and lanes: a flame graph and a table; or the differences between
 * two ranges. */

import { Flame } from '../../flame.js';
import { decodeTree } from '../../tree.js';
import { share, value } from '../../units.js';
import { button, el, labelled, select } from '../dom.js';
import { joinSelector, splitSelector } from '../selector.js';
import { Table, columnsOf } from '../table.js';

/** @typedef {import('../app.js').App} App */

const ROWS = 500;
/** Threads have several types: their stacks are shown one type at a time, as units may differ. */
const BESIDE = ['cpu', 'off-cpu', 'sched-wait'];

export class Detail {
	/** @param {HTMLElement} host @param {App} app */
	constructor(host, app) {
		this.app = app;
		this.host = host;
		const flame = el('div', { class: 'tl-flame' }),
			table = el('div', { class: 'tl-table' });
		this.title = el('h2', {}, 'Selection');
		this.text = el('span', { class: 'dim tl-sum', role: 'status' });
		this.types = select([], { 'aria-label': 'Type', onchange: () => this.again() });
		this.typeLabel = labelled('of', this.types);
		this.back = button('Back to selection', () => this.again(), { hidden: true });
		host.append(
			el('div', { class: 'row' }, this.title, this.typeLabel, this.text, this.back),
			(this.empty = el('p', { class: 'empty', hidden: true })),
			flame,
			table
		);
		this.flame = new Flame(flame, {
			label: 'Flame graph of the selection. Arrow keys move between frames, Enter zooms, Escape resets the zoom.'
		});
		this.flame.on('zoom', ({ node }) => this.table.mark(node > 0 ? this.flame.tree.name(node) : ''));
		this.table = new Table(table, {
			name: 'Functions',
			pick: (row) => this.find(row.function),
			open: (row) => this.find(row.function)
		});
		this.tableHost = table;
		this.fillTypes(app.state.q);
	}
	destroy() {
		this.flame.destroy();
		this.table.destroy();
	}
	/** @param {string} q what is asked */
	fillTypes(q) {
		const own = splitSelector(q).type,
			have = this.app.types.map((t) => t.type);
		const list = own === 'cpu' ? BESIDE.filter((t) => have.includes(t)) : [own];
		if (list.join() !== [...this.types.options].map((o) => o.value).join())
			this.types.replaceChildren(...list.map((t) => el('option', { value: t }, t)));
		this.typeLabel.hidden = list.length < 2;
	}
	/** @param {string} name */
	find(name) {
		this.flame.setSearch(name);
		this.flame.next();
		this.table.mark(name);
	}
	/** The query, with the selected type. @param {any} params */
	typed(params) {
		const type = this.types.value;
		return type && !this.typeLabel.hidden
			? { ...params, q: joinSelector(type, splitSelector(params.q).match) }
			: params;
	}
	again() {
		if (this.last)
			this.load(this.last.params, this.last.span, new AbortController().signal).catch((e) =>
				this.app.notify(e.message)
			);
	}
	/** @param {any} params @param {[number, number]} span ms @param {AbortSignal} signal */
	async load(params, span, signal) {
		this.fillTypes(params.q);
		this.last = { params, span };
		const asked = this.typed(params),
			px = Math.max(300, this.host.clientWidth);
		const [bytes, report] = await Promise.all([
			this.app.ask('api/v1/flame', { ...asked, fmt: 'bin', px }, signal),
			this.app.ask('api/v1/top', { ...asked, n: ROWS }, signal)
		]);
		const tree = decodeTree(bytes),
			scaled = report.scale ? ` (${value(report.total * report.scale, report.scaled_unit)})` : '',
			seconds = (span[1] - span[0]) / 1e3;
		const busy =
			report.scaled_unit === 'nanoseconds' || report.unit === 'nanoseconds'
				? (report.total * (report.scale || 1)) / 1e9 / seconds
				: NaN;
		this.title.textContent = this.app.state.stack ? 'Requested by' : 'Selection';
		this.back.hidden = true;
		this.text.textContent =
			`${value(report.total, report.unit)}${scaled} in ${value(seconds, 'seconds')}` +
			(busy > 0 ? ` · ${busy.toPrecision(3)} ${/^gpu/.test(asked.q) ? 'streams' : 'threads'} at a time` : '') +
			(report.total === report.unfiltered_total
				? ''
				: ` · filtered: ${share(report.total, report.unfiltered_total)} of all`);
		this.text.dataset.total = String(report.total);
		this.show(tree);
		this.tableHost.hidden = false;
		this.table.set(report.top, columnsOf(report));
	}
	/** Compares two sets of times. @param {any} params of /api/v1/diff @param {string} text */
	async loadDiff(params, text) {
		const tree = decodeTree(await this.app.ask('api/v1/diff', { ...params, fmt: 'bin' }));
		this.title.textContent = 'Differences';
		this.text.textContent = text;
		delete this.text.dataset.total;
		this.typeLabel.hidden = true;
		this.tableHost.hidden = true;
		this.back.hidden = false;
		this.show(tree);
	}
	/** @param {any} tree */
	show(tree) {
		const isEmpty = !(tree.total[0] > 0) && !(tree.totalB && tree.totalB[0] > 0);
		this.empty.hidden = !isEmpty;
		this.empty.textContent = isEmpty ? 'No data of this type in the selection.' : '';
		this.flame.setTree(tree, { keepZoom: true });
	}
}
