/* table.js: the functions of a tree, in the same table as on the page; for a difference, with the change of each. */
import { diffColumns } from '../page/diff_columns.js';
import { el } from '../page/dom.js';
import { Table, columnsOf } from '../page/table.js';
import { grouped } from '../units.js';
import { diffRows, functionRows, isOfShares } from './functions.js';

/** @typedef {import('../tree.js').Tree} Tree */

const CHANCE = 0.05;

export class FunctionTable {
	/** @type {((name: string) => boolean)|undefined} */
	test = undefined;
	/** @type {(import('./functions.js').FunctionRow|import('./functions.js').DiffRow)[]} */
	rows = [];
	/** @type {import('../page/table.js').Column[]} */
	columns = [];

	/** @param {HTMLElement} host @param {(name: string) => void} onPick @param {(name: string) => void} onOpen */
	constructor(host, onPick, onOpen) {
		this.table = new Table(host, {
			name: 'Functions',
			pick: (row) => onPick(row.function),
			open: (row) => onOpen(row.function)
		});
		this.words = el('p', { class: 'rp-dim' });
		host.append(this.words);
		this.isDiff = false;
	}
	destroy() {
		this.table.destroy();
	}
	/** @param {Tree} tree */
	setTree(tree) {
		const isDiff = Boolean(tree.totalB),
			unit = tree.header.unit;
		this.columns = isDiff
			? diffColumns({ norm: isOfShares(tree) ? 'share' : 'abs', unit }, ['before', 'now'])
			: columnsOf({ unit, total: tree.total[0] }).map((c) =>
					c.class === 'kind' ? { ...c, class: 'kind narrow' } : c
				);
		this.rows = isDiff ? diffRows(tree) : functionRows(tree);
		if (this.table.columns.length !== this.columns.length)
			this.table.sorted = isDiff ? 4 : 3; /* Δ, Self %: always there */
		this.isDiff = isDiff;
		this.show();
	}
	/** Shows only these names. @param {(name: string) => boolean} test @param {string} text */
	setFilter(test, text) {
		this.test = text ? test : undefined;
		this.show();
	}
	show() {
		const { test } = this,
			rows = test ? this.rows.filter((r) => test(r.function)) : this.rows,
			n = grouped(rows.length);
		this.table.set(rows, this.columns);
		this.words.textContent = this.isDiff
			? `${n} functions with self time. Between: 95 % interval of the change; about ${grouped(
					Math.ceil(CHANCE * rows.length)
				)} would look likely by chance.`
			: `${n} functions. Self is the function alone; total includes its callees.`;
	}
	/** @param {string} name */
	mark(name) {
		this.table.mark(name);
	}
	csv() {
		return this.table.csv();
	}
}
