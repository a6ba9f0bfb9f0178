/* panes.js: what is below the graph over time: flame graph, table, chart, heatmap; one of them, or two side by side. */

import { decodeTree } from '../tree.js';
import { button, el, finest, select } from './dom.js';
import { FlamePane } from './flame_pane.js';
import { addFilter, exactly } from './filters.js';
import { MODES, PANES, defaultOf } from './state.js';
import { Table, columnsOf } from './table.js';
import { address } from './app.js';

/** @typedef {import('./app.js').App} App */

const TITLES = /** @type {{[name: string]: [string, string]}} */ ({
	flame: [
		'Flame graph',
		'Each box is a function, as wide as all it and its callees took; below it is whom it called. Time does ' +
			'not go from left to right.'
	],
	table: ['Table', 'Self is what a function took itself, total is that with all it called.'],
	chart: ['Chart', 'Each line is a thread, time goes from left to right.'],
	heatmap: [
		'Heatmap',
		'Each column is a second, from top to bottom; the darker, the more happened at that moment. Regular ' +
			'stripes are regular work.'
	]
});
const ROWS = 5000; /* of the table */
const COUNT_MS = 150; /* between two letters, at most */
const EVERYTHING = 200000; /* px: what is turned round needs more than what is seen of it */

export class Panes {
	/* what build() makes */
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
			placeholder: 'search: text or /regex/i',
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
			toggle('inv', 'Inverted', 'leaves first: who called what took the time (v)'),
			toggle('flip', 'Flipped', 'the root at the bottom (i)'),
			toggle('rec', 'No recursion', 'a function that calls itself is one box')
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
			button('Copy as CSV', () => this.table.copyCsv().then(() => app.notify('The table is copied as CSV.')), {
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
	/** Opens or closes one; a third takes the place of the first. @param {string} pane */
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
			button('×', () => this.app.setState({ sw: '' }, { push: true }), { 'aria-label': 'back to the whole' })
		);
	}

	/* --- asking --- */

	/** What the flame graph is asked for. */
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
	/** Everything that is open. @param {AbortSignal} signal */
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
		if (bytes) await this.setTree(decodeTree(bytes));
		await this.loadOthers(signal);
	}
	/** @param {any} tree */
	async setTree(tree) {
		const { state } = this.app;
		this.tree = tree;
		this.flame.set(await shaped(tree, state), true);
	}
	/** @param {AbortSignal} [signal] */
	async loadOthers(signal) {
		for (const name of ['chart', 'heatmap']) if (this.names.includes(name)) await this.loadTimes(name, signal);
	}
	/** @param {string} name @param {AbortSignal} [signal] */
	async loadTimes(name, signal) {
		const { draw, leave } = await import('./time_panes.js');
		this.leave = leave;
		await draw(name, /** @type {HTMLElement} */ (this.body(name)), this.app, this.question(), signal);
	}
	/**
	 * What is too narrow in the whole is wide enough in what is zoomed to.
	 * @param {number} node -1: one that is not there, of a link
	 */
	async deeper(node) {
		const { app } = this,
			asked = this.asked + app.state.z;
		if (this.deeperAt === asked || app.state.sw || app.state.rec) return;
		this.deeperAt = asked;
		try {
			const { serverPath } = await import('./deeper.js'),
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
	/** The state changed, but not what is asked. @param {string[]} keys */
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
	 * What is too narrow to be drawn is counted by the server, when nobody has typed for a moment.
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
			const { counted } = await import('./counted.js');
			const count = await counted(this.app, question, text, signal).catch(() => null);
			if (!count || signal.aborted) return;
			this.counted = { key, count: { text, ...count } };
			this.flame.setCount(this.counted.count);
		}, COUNT_MS);
	}

	/* --- doing --- */

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
		import('./menu.js').then((m) => m.frameMenu(this, e));
	}
	export() {
		import('./export.js').then((m) => m.exportMenu(this, this.exports));
	}
	/** The server's answer in another format. @param {string} fmt @param {{[key: string]: any}} [more] */
	download(fmt, more = {}) {
		return address('api/v1/flame', { ...this.question(), fmt, ...more });
	}
	/** Whether the key was ours. @param {KeyboardEvent} e */
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
		import('./menu.js').then((m) => m.act(this, what));
	}
}
/** "/^name$/" → name. @param {string} s */
function wholeName(s) {
	const m = /^\/\^(.*)\$\/$/s.exec(s);
	return m ? m[1].replace(/\\(.)/g, '$1') : '';
}
/** @param {any} tree @param {import('./state.js').State} state @returns {Promise<any[]>} */
async function shaped(tree, state) {
	if (!state.rec && !state.sw) return [tree];
	const shapes = await import('../tree_shape.js');
	const one = state.rec ? shapes.collapseRecursion(tree) : tree;
	if (!state.sw) return [one];
	const both = shapes.sandwich(one, state.sw);
	return both ? [both.callers, both.callees] : [one];
}
