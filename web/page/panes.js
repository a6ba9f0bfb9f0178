/* panes.js: the panes below the graph over time: flame graph, table, chart, heatmap; one, or two side by side. */

import { decodeTree } from '../tree.js';
import { collapseRecursion, sandwich } from '../tree_shape.js';
import { button, el, finest, select } from './dom.js';
import { FlamePane } from './flame_pane.js';
import { addFilter, exactly } from './filters.js';
import { MODES, PANES, defaultOf } from './state.js';
import { Table, columnsOf } from './table.js';
import { address } from './server.js';

/** @typedef {import('./app.js').App} App */

const TITLES = /** @type {{[name: string]: [string, string]}} */ ({
	flame: [
		'Flame graph',
		'Each box is a function. Its width is the total of the function and its callees, which are below it. The ' +
			'horizontal order is not time.'
	],
	table: ['Table', 'Self is the function alone; total includes its callees.'],
	chart: ['Chart', 'Each row is a thread; time runs from left to right.'],
	heatmap: [
		'Heatmap',
		'Each column is one second, from top to bottom. The darker a cell, the higher its value. Regular ' +
			'stripes show periodic work.'
	]
});
const ROWS = 5000; /* of the table */
const COUNT_MS = 150; /* after the last letter */
const EVERYTHING = 200000; /* px: a rearranged tree needs more than its visible part */

export class Panes {
	/* set by build() */
	/** @type {any} */
	flame;
	/** @type {any} */
	table;
	/** @type {any} */
	search;
	/** @type {any[]} */
	tabs = [];
	/** @type {any[]} */
	toggles = [];
	/** @param {HTMLElement} host @param {App} app @param {() => {[key: string]: any}} question */
	constructor(host, app, question) {
		this.app = app;
		this.question = question;
		this.element = host;
		/** @type {any} */
		this.report = null;
		/** @type {any} */
		this.tree = null;
		this.asked = this.arranged = this.deeperAt = '';
		this.drawn = '';
		/** @type {{key: string, count: {text: string, matched: number, self: number}}|null} */
		this.counted = null;
		/** @type {AbortController|null} */
		this.counter = null;
		/** @type {ReturnType<typeof setTimeout>|undefined} */
		this.counting = undefined;
		/** @type {Map<string, HTMLElement>} */
		this.bodies = new Map();
		this.build();
	}
	build() {
		const { app } = this;
		this.search = el('input', {
			type: 'search',
			placeholder: 'Search: text or /regex/i',
			'aria-label': 'Search functions',
			spellcheck: false,
			oninput: () => app.setState({ s: this.search.value }),
			onkeydown: (/** @type {KeyboardEvent} */ e) => {
				if (e.key === 'Enter') this.flame.step(e.shiftKey ? -1 : 1);
				else if (e.key === 'Escape') this.search.blur();
			}
		});
		this.result = el('p', { class: 'result', role: 'status' });
		this.mode = select(
			MODES.filter((m) => m !== 'diff').map((m) => [
				m,
				m === 'gpu' ? 'GPU stall' : m === 'contrast' ? 'high contrast' : m
			]),
			{ 'aria-label': 'Colours', onchange: () => app.setState({ c: this.mode.value }) }
		);
		const toggle = (/** @type {string} */ key, /** @type {string} */ text, /** @type {string} */ title) =>
			button(text, () => app.setState({ [key]: app.state[key] ? '' : '1' }), { title, 'data-key': key });
		this.toggles = [
			toggle('inv', 'Inverted', 'Leaves first, with their callers (v)'),
			toggle('flip', 'Flipped', 'Root at the bottom (i)'),
			toggle('rec', 'No recursion', 'Merge a function with its recursive calls')
		];
		this.tabs = PANES.map((p) => button(TITLES[p][0], () => this.turn(p), { 'data-pane': p, title: TITLES[p][1] }));
		this.exports = button('Export ▾', () => this.export(), { 'aria-haspopup': 'menu' });
		this.sandwich = el('div', { class: 'crumb', hidden: true });
		this.grid = el('div', { class: 'grid' });
		this.element.append(
			el(
				'div',
				{ class: 'row tools' },
				el('span', { class: 'tabs', role: 'group', 'aria-label': 'Panes' }, ...this.tabs),
				this.search,
				el('span', { class: 'right' }, this.mode, ...this.toggles, this.exports)
			),
			this.result,
			this.sandwich,
			this.grid
		);
		for (const p of PANES)
			this.bodies.set(
				p,
				el(
					'div',
					{ class: `pane ${p}`, role: 'group', 'aria-label': TITLES[p][0] },
					el('p', { class: 'how' }, TITLES[p][1]),
					el('div', { class: 'body' })
				)
			);
		const into = (/** @type {string} */ p) => /** @type {HTMLElement} */ (this.body(p));
		this.flame = new FlamePane(into('flame'), app, {
			menu: (e) => this.menu(e),
			deeper: (node) => this.deeper(node),
			found: (text, wrong) => this.found(text, wrong),
			count: (text) => this.count(text)
		});
		this.table = new Table(into('table'), {
			name: 'Functions',
			pick: (row) => this.mark(row.function),
			open: (row) => this.open(row.function)
		});
		into('table').append(
			button('Copy as CSV', () => this.table.copyCsv().then(() => app.notify('Table copied as CSV.')), {
				class: 'csv'
			})
		);
		this.arrange();
	}
	destroy() {
		clearTimeout(this.counting);
		this.counter?.abort();
		this.flame.destroy();
		this.table.destroy();
		this.leave?.(/** @type {HTMLElement} */ (this.body('chart')));
	}
	/** @param {string} pane */
	body(pane) {
		return this.bodies.get(pane)?.querySelector('.body');
	}
	get names() {
		return (this.app.state.v || defaultOf('v')).split(',');
	}
	/** Opens or closes a pane; a third one replaces the first. @param {string} pane */
	turn(pane) {
		const names = this.names,
			left = names.filter((n) => n !== pane);
		if (left.length < names.length && !left.length) return;
		this.app.setState({ v: (left.length < names.length ? left : [...names, pane].slice(-2)).join(',') });
	}
	arrange() {
		const { state } = this.app,
			{ names } = this;
		if (this.arranged !== state.v) {
			this.grid.replaceChildren(...names.map((n) => /** @type {HTMLElement} */ (this.bodies.get(n))));
			this.grid.classList.toggle('two', names.length === 2);
			this.arranged = state.v;
		}
		this.tabs.forEach((t) => t.setAttribute('aria-pressed', String(names.includes(t.dataset.pane))));
		this.toggles.forEach((t) => t.setAttribute('aria-pressed', String(!!state[t.dataset.key])));
		this.mode.value = state.c;
		if (document.activeElement !== this.search) this.search.value = state.s;
		this.sandwich.hidden = !state.sw;
		this.sandwich.replaceChildren(
			`Callers and callees of ${state.sw} `,
			button('×', () => this.app.setState({ sw: '' }, { push: true }), {
				'aria-label': 'Back to the whole profile'
			})
		);
	}

	/* --- requests --- */

	/** The query of the flame graph. */
	treeQuestion() {
		const { state } = this.app,
			question = this.question();
		return {
			...question,
			fmt: 'bin',
			px: state.sw || state.rec ? EVERYTHING : finest(),
			inverted: state.inv && !state.sw ? 1 : '',
			focus: [question.focus, state.sw && exactly(state.sw)].filter(Boolean).join('\n')
		};
	}
	/** Loads all open panes. @param {AbortSignal} signal */
	async load(signal) {
		this.arrange();
		const asked = JSON.stringify(this.question()),
			{ names, app } = this;
		const wants = { tree: names.includes('flame') || !this.tree, top: asked !== this.asked || !this.report };
		const [report, bytes] = await Promise.all([
			app.ask('api/v1/top', { ...this.question(), n: ROWS }, signal),
			wants.tree ? app.ask('api/v1/flame', this.treeQuestion(), signal) : null
		]);
		this.report = report;
		this.asked = asked;
		this.table.set(report.top, columnsOf(report));
		if (bytes) this.setTree(decodeTree(bytes));
		await this.loadOthers(signal);
	}
	/** @param {any} tree */
	setTree(tree) {
		const { state } = this.app;
		this.tree = tree;
		this.flame.set(shaped(tree, state), true);
	}
	/** @param {AbortSignal} [signal] */
	async loadOthers(signal) {
		for (const name of ['chart', 'heatmap']) if (this.names.includes(name)) await this.loadTimes(name, signal);
	}
	/** @param {string} name @param {AbortSignal} [signal] */
	async loadTimes(name, signal) {
		const { draw, leave } = await import('./later.js');
		this.leave = leave;
		await draw(name, /** @type {HTMLElement} */ (this.body(name)), this.app, this.question(), signal);
	}
	/**
	 * Loads more detail: frames that are too narrow in the whole are wide enough in the zoomed part.
	 * @param {number} node -1: a node from a link that is not in the tree
	 */
	async deeper(node) {
		const { app } = this,
			asked = this.asked + app.state.z;
		if (this.deeperAt === asked || app.state.sw || app.state.rec) return;
		this.deeperAt = asked;
		try {
			const { serverPath } = await import('./later.js'),
				question = this.treeQuestion();
			const more = node < 0 ? { px: EVERYTHING } : { zoom: serverPath(this.tree, node) };
			const bytes = await app.ask('api/v1/flame', { ...question, ...more });
			if (this.asked + app.state.z !== asked) return;
			this.tree = decodeTree(bytes);
			this.flame.set([this.tree], true);
		} catch (e) {
			app.notify(/** @type {Error} */ (e).message);
		}
	}
	/** The state changed, but not the query. @param {string[]} keys */
	show(keys) {
		this.arrange();
		if (keys.some((k) => ['c', 's', 'z', 'flip'].includes(k))) this.flame.show();
		if (keys.includes('s')) this.table.mark(wholeName(this.app.state.s));
	}
	/** @param {string} text @param {string} wrong */
	found(text, wrong) {
		this.result.textContent = wrong || text;
		this.result.classList.toggle('bad', !!wrong);
		this.search.setAttribute('aria-invalid', String(!!wrong));
	}

	/**
	 * The server counts frames that are too narrow to draw, after a pause in typing.
	 * @param {string} text
	 */
	count(text) {
		const question = this.question(),
			key = JSON.stringify([question, text]);
		if (this.counted?.key === key) return this.flame.setCount(this.counted.count);
		clearTimeout(this.counting);
		this.counter?.abort();
		const { signal } = (this.counter = new AbortController());
		this.counting = setTimeout(async () => {
			const { counted } = await import('./later.js');
			const count = await counted(this.app, question, text, signal).catch(() => null);
			if (!count || signal.aborted) return;
			this.counted = { key, count: { text, ...count } };
			this.flame.setCount(this.counted.count);
		}, COUNT_MS);
	}

	/* --- actions --- */

	/** @param {string} name */
	mark(name) {
		const s = `/${exactly(name).replace(/\//g, '\\/')}/`;
		this.app.setState({ s: this.app.state.s === s ? '' : s });
	}
	/** @param {string} name */
	open(name) {
		this.app.setState(
			{ sw: name, z: '', s: '', v: this.names.includes('flame') ? this.app.state.v : 'flame,table' },
			{ push: true }
		);
	}
	/** @param {import('./filters.js').Filter} filter */
	filter(filter) {
		this.app.setState({ f: addFilter(this.app.state.f, filter), z: '' }, { push: true });
	}
	/** @param {any} e of a flame graph */
	menu(e) {
		import('./overlays.js').then((m) => m.frameMenu(this, e));
	}
	export() {
		import('./overlays.js').then((m) => m.exportMenu(this, this.exports));
	}
	/** The server's answer in another format. @param {string} fmt @param {{[key: string]: any}} [more] */
	download(fmt, more = {}) {
		return address('api/v1/flame', { ...this.question(), fmt, ...more });
	}
	/** Whether the key was handled. @param {KeyboardEvent} e */
	key(e) {
		const pane = PANES[Number(e.key) - 1];
		/** @type {{[key: string]: () => void}} */
		const keys = {
			'/': () => this.search.select(),
			f: () => this.search.select(),
			n: () => this.flame.step(1),
			N: () => this.flame.step(-1),
			0: () => this.app.setState({ z: '' }),
			i: () => this.press('flip'),
			v: () => this.press('inv'),
			t: () => this.turn('table'),
			e: () => this.export(),
			c: () => this.flame.flame?.cycleMode(),
			d: () => this.flame.flame?.tip.dock(),
			k: () => this.kernel(),
			x: () => this.act('hide'),
			y: () => this.act('copy')
		};
		if (pane) this.turn(pane);
		else if (keys[e.key] && (e.key !== 'f' || e.ctrlKey)) keys[e.key]();
		else return false;
		return true;
	}
	/** @param {string} key */
	press(key) {
		this.toggles.find((t) => t.dataset.key === key)?.click();
	}
	kernel() {
		const text = '-x.kind~^kernel$',
			has = this.app.state.f.split(';').includes(text);
		this.app.setState(
			{
				f: has
					? this.app.state.f
							.split(';')
							.filter((f) => f !== text)
							.join(';')
					: [this.app.state.f, text].filter(Boolean).join(';')
			},
			{ push: true }
		);
	}
	/** @param {'hide'|'copy'} what of the frame with the focus */
	act(what) {
		import('./overlays.js').then((m) => m.act(this, what));
	}
}
/** "/^name$/" → name. @param {string} s */
function wholeName(s) {
	const m = /^\/\^(.*)\$\/$/s.exec(s);
	return m ? m[1].replace(/\\(.)/g, '$1') : '';
}
/** @param {any} tree @param {import('./state.js').State} state @returns {any[]} */
function shaped(tree, state) {
	if (!state.rec && !state.sw) return [tree];
	const one = state.rec ? collapseRecursion(tree) : tree;
	if (!state.sw) return [one];
	const both = sandwich(one, state.sw);
	return both ? [both.callers, both.callees] : [one];
}
