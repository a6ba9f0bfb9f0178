/* viewer.js: a report as a page: facts about it, its types, the time axis, the graph, the table, callers and callees,
 * search and export. It is the same in report.html and in the page's Import screen, and sends no requests. */
import { MODES } from '../colours.js';
import { Flame } from '../flame.js';
import { matcher } from '../flame/search.js';
import { idleParts } from '../gpu_idle.js';
import { invert, sandwich } from '../tree_shape.js';
import { grouped, plain, share, value } from '../units.js';
import { chartTree, hasOrder } from './chart.js';
import { rangeTree } from './container.js';
import { el } from '../page/dom.js';
import { button } from './dom.js';
import { EXPORTS, saveBlob } from './export.js';
import { showHead, titleOfReport } from './head.js';
import { Strips } from './strips.js';
import { FunctionTable } from './table.js';

/** @typedef {import('./container.js').Report} Report */
/** @typedef {import('../tree.js').Tree} Tree */
/** @typedef {import('./strips.js').Brush} Brush */

/** @type {[key: string, words: string][]} */
const KEYS = [
	['/', 'search'],
	['n N', 'next and previous match'],
	['0 Esc', 'reset the view'],
	['i', 'root at the bottom'],
	['v', 'leaves first, with their callers'],
	['o', 'flame chart of one thread'],
	['c', 'next colour scheme'],
	['t', 'graph, table or both'],
	['[ ]', 'previous and next type'],
	['e', 'export'],
	['D', 'switch theme'],
	['arrows, Enter', 'in the graph: move between frames, zoom in'],
	['?', 'this help']
];
const PANES = ['both', 'graph', 'table'];

/** The node at the end of a path; -1 if there is none. @param {Tree} t @param {string[]} names */
function nodeOf(t, names) {
	let depth = 1;
	for (let i = 1; i < t.n && t.depth[i] >= depth; i++)
		if (t.depth[i] === depth && t.name(i) === names[depth - 1] && depth++ === names.length) return i;
	return -1;
}

export class Viewer {
	/** @type {Brush|null} */
	brush = null;
	/** @type {Set<number>|null} */
	threads = null;
	/** @type {Flame[]} */
	halves = [];
	/** @type {Tree|undefined} */
	upright = undefined;
	/** Of the chosen thread, made on first use. @type {Flame|undefined} */
	chart = undefined;
	/** @type {any} */
	orderTitle = undefined;
	inOrder = false;
	head = el('header', { class: 'rp-head' });
	tabs = el('div', { role: 'tablist', 'aria-label': 'Types', class: 'rp-tabs' });
	when = el('section', { 'aria-label': 'Time' });
	idle = el('section', { 'aria-label': 'Why was the GPU idle?', class: 'rp-idle', hidden: true });
	idleButton = button(
		'Why was the GPU idle?',
		'gaps, the work that ended them, and what the processes did in the meantime',
		() => this.toggleIdle()
	);
	idleOf = el('p', { class: 'how' });
	total = el('strong');
	input = el('input', {
		type: 'search',
		placeholder: 'search: text or /regex/',
		spellcheck: false,
		'aria-label': 'Search functions',
		oninput: () => this.typed(),
		onkeydown: (/** @type {KeyboardEvent} */ e) => {
			if (e.key === 'Enter') this.flame.next();
		}
	});
	foundText = el('span', { role: 'status', class: 'rp-dim rp-found' });
	colours = el('select', { onchange: () => this.flame.setMode(/** @type {any} */ (this.colours.value)) });
	invertButton = button('inverted', 'leaves first, with their callers (v)', () => this.invert());
	paneButton = button('', 'graph, table or both (t)', () => this.nextPanes());
	exportBox = el('details', { class: 'rp-menu-box' }, [
		el('summary', { title: 'export this view (e)' }, ['Export']),
		el('div', { class: 'rp-menu' }, [
			...Object.entries(EXPORTS).map(([ending, { words }]) =>
				button(words, `.${ending}`, () => this.exportAs(ending))
			),
			button('table, CSV', '.csv', () => this.exportAs('csv'))
		])
	]);
	graphBox = el('div', { class: 'rp-graph' });
	tableBox = el('div', { class: 'rp-table' });
	menu = el('div', { class: 'rp-menu rp-float', role: 'menu', hidden: true });
	around = el('section', { 'aria-label': 'Callers and callees', hidden: true });
	help = el('dialog', { class: 'rp-help', 'aria-label': 'Keys' }, [
		el('h2', {}, ['Keys']),
		el(
			'dl',
			{},
			KEYS.flatMap(([key, words]) => [el('dt', {}, [key]), el('dd', {}, [words])])
		),
		el('p', {}, [
			'Each box is a function, as wide as its share of the total. With the root at the top, its callees are ' +
				'below it. Click a box to zoom in.'
		]),
		button('Close', 'Escape', () => this.help.close())
	]);
	order = el('section', { 'aria-label': 'Flame chart', hidden: true });
	orderButton = button('flame chart', 'what the selected thread did over time (o)', () => this.toggleOrder());
	noteBox = el('p', { role: 'status', class: 'rp-note', hidden: true });
	panesBox = el('div', { class: 'rp-panes' }, [this.tableBox, this.graphBox]);
	root = el('div', { class: 'rp' });

	/**
	 * @param {HTMLElement} host
	 * @param {Report} report
	 * @param {boolean} [isGuest]  the page around it has a theme, help and a heading of its own
	 */
	constructor(host, report, isGuest = false) {
		this.report = report;
		this.isGuest = isGuest;
		this.at = Math.min(report.header.shown || 0, report.types.length - 1);
		this.inverted = false;
		this.panes = 'both';
		/** @type {Tree} */
		this.tree = report.types[0].tree;
		this.build(host);
		this.flame = new Flame(this.graphBox, { label: 'Flame graph' });
		this.flame.on('menu', ({ node, x, y }) => this.openMenu(node, x, y));
		this.flame.on('mode', ({ mode }) => {
			this.colours.value = mode;
		});
		this.flame.on('search', ({ found }) => this.showFound(found));
		this.table = new FunctionTable(
			this.tableBox,
			(name) => this.search(name),
			(name) => this.openSandwich(name)
		);
		if (report.types.some((t) => t.samples))
			this.strips = new Strips(
				this.when,
				report,
				(brush, threads) => this.setRange(brush, threads),
				(node) => this.showWork(node)
			);
		if (report.header.gpu?.idle) (this.strips?.bar || this.when).append(this.idleButton);
		this.off = new AbortController();
		const redraw = () => {
				this.closeMenu();
				this.strips?.draw();
			},
			{ signal } = this.off;
		document.addEventListener('keydown', (e) => this.key(e), { signal });
		document.addEventListener(
			'pointerdown',
			(e) => this.menu.contains(/** @type {Node} */ (e.target)) || this.closeMenu(),
			{ signal }
		);
		/* The window may move to a screen with more pixels. */
		for (const what of ['theme', 'resize']) addEventListener(what, redraw, { signal });
		matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw, { signal });
		this.showType(this.at);
		this.showPanes();
	}
	destroy() {
		this.off.abort();
		this.flame.destroy();
		this.chart?.destroy();
		this.table.destroy();
		this.strips?.destroy();
		this.root.remove();
	}

	/* --- the page --- */

	/** @param {HTMLElement} host */
	build(host) {
		const bar = el('div', { class: 'rp-row rp-bar' }, [
			this.total,
			this.input,
			button('◀', 'previous match (N)', () => this.flame.previous()),
			button('▶', 'next match (n)', () => this.flame.next()),
			this.foundText,
			el('span', { class: 'rp-gap' }),
			el('label', {}, ['colours ', this.colours]),
			this.orderButton,
			this.invertButton,
			button('flip', 'root at the bottom or at the top (i)', () => this.flame.flip()),
			button('reset', 'reset the view (0)', () => this.flame.reset()),
			this.paneButton,
			this.exportBox,
			...(this.isGuest
				? []
				: [
						button('◐', 'switch theme (D)', () => this.theme()),
						button('?', 'keys', () => this.help.showModal())
					])
		]);
		this.root.append(
			this.head,
			this.tabs,
			this.when,
			this.idle,
			el('section', { 'aria-label': 'Where', id: 'rp-panel', role: 'tabpanel' }, [
				bar,
				this.noteBox,
				this.order,
				this.panesBox
			]),
			this.around,
			this.menu,
			this.help
		);
		host.replaceChildren(this.root);
	}
	showTabs() {
		const unit = (/** @type {import('./container.js').TypeInfo} */ t) => value(t.total, t.unit);
		const tabs = this.report.types.map(({ info, label }, i) =>
			el(
				'button',
				{
					type: 'button',
					role: 'tab',
					'aria-selected': i === this.at,
					'aria-controls': 'rp-panel',
					tabIndex: i === this.at ? 0 : -1,
					onclick: () => this.showType(i)
				},
				[
					this.report.types.filter((t) => t.label === label).length > 1
						? `${plain(label)}:${plain(info.sample_type)}`
						: plain(label),
					el('span', { class: 'rp-dim' }, [' ' + unit(info)])
				]
			)
		);
		this.tabs.replaceChildren(...tabs);
		this.tabs.onkeydown = (/** @type {KeyboardEvent} */ e) => {
			const by = e.key === 'ArrowRight' ? 1 : e.key === 'ArrowLeft' ? -1 : 0;
			if (!by) return;
			this.showType((this.at + by + tabs.length) % tabs.length);
			/** @type {HTMLElement} */ (this.tabs.children[this.at]).focus();
		};
	}

	/* --- display --- */

	get type() {
		return this.report.types[this.at];
	}
	/** @param {number} at */
	showType(at) {
		this.at = at;
		this.closeAround();
		this.showTabs();
		showHead(this.head, this.report, this.type.info);
		if (!this.isGuest) document.title = titleOfReport(this.report);
		this.when.hidden = this.strips ? !this.type.samples : !this.when.firstChild;
		this.strips?.setType(this.type);
		this.threads = this.strips?.threads || null;
		this.refresh(false);
		const modes = MODES.filter((mode) => mode !== 'diff' || this.tree.isDiff);
		this.colours.replaceChildren(...modes.map((mode) => el('option', { value: mode }, [mode])));
		this.colours.value = this.flame.mode;
	}
	/** Shows the requester of GPU work. @param {number} node of the tree of that type */
	showWork(node) {
		const { gpu } = /** @type {Strips} */ (this.strips),
			whole = this.report.types[gpu.at].tree,
			names = whole
				.path(node)
				.slice(1)
				.map((i) => whole.name(i));
		this.inverted = false;
		this.showType(gpu.at);
		this.flame.zoomTo(Math.max(0, nodeOf(this.tree, names)));
	}
	/** @param {Brush|null} brush @param {Set<number>|null} threads */
	setRange(brush, threads) {
		this.brush = brush;
		this.threads = threads;
		this.refresh(true);
	}
	/** @param {boolean} keepZoom */
	refresh(keepZoom) {
		const { type, brush, threads } = this,
			part = type.samples && (brush || threads);
		const upright = part
			? rangeTree(type, brush ? brush.from : 0, brush ? brush.to : Infinity, threads)
			: type.tree;
		this.tree = this.inverted ? invert(upright) : upright;
		this.upright = upright;
		this.flame.setTree(this.tree, { keepZoom });
		this.table.setTree(upright);
		this.invertButton.setAttribute('aria-pressed', String(this.inverted));
		this.showTotal();
		this.showOrder();
		this.showIdle();
		this.root.dataset.shown = String(+(this.root.dataset.shown || 0) + 1);
	}
	showTotal() {
		const { info } = this.type,
			now = this.upright?.totalB || this.upright?.total || [0],
			whole = info.total;
		const words = [value(now[0], info.unit)];
		if (info.scale && info.scaled_unit) words.push(`≈ ${value(now[0] * info.scale, info.scaled_unit)}`);
		if (this.brush || this.threads) words.push(`(${share(now[0], whole)} of all)`);
		if (info.older_total !== undefined) words.push(`(before: ${value(info.older_total, info.unit)})`);
		this.total.textContent = words.join(' ');
		this.root.dataset.total = String(now[0]);
		this.noteBox.hidden = now[0] > 0;
		this.noteBox.textContent =
			this.brush || this.threads
				? 'No samples in the selection. Select another range, or the whole range.'
				: 'No samples of this type.';
	}
	toggleIdle() {
		const { gpu, origin_ns } = this.report.header,
			start = gpu ? gpu.start_ns + origin_ns : 0;
		this.idle.hidden = !this.idle.hidden;
		if (!this.idle.firstChild)
			this.idle.append(
				this.idleOf,
				...idleParts(gpu?.idle, (from, to) => this.strips?.choose({ from: from - start, to: to - start }))
			);
		this.showIdle();
	}
	/** The reasons for idle GPUs are for the whole range: the file has no gaps and intervals of parts. */
	showIdle() {
		const { brush } = this,
			{ gpu, origin_ns } = this.report.header,
			s = (/** @type {number} */ ns) => String(+((ns + origin_ns + (gpu?.part_ns || 0)) / 1e9).toFixed(6));
		this.idleButton.setAttribute('aria-pressed', String(!this.idle.hidden));
		this.idleOf.textContent =
			'For the whole range' +
			(brush && gpu
				? '; for the selection: ' + gpu.part.replace('A', s(brush.from)).replace('B', s(brush.to))
				: '');
	}
	/** The selected thread if it is the only one, else -1. */
	get thread() {
		return this.threads?.size === 1 && hasOrder(this.type) ? [...this.threads][0] : -1;
	}
	toggleOrder() {
		this.inOrder = !this.inOrder;
		this.showOrder();
	}
	/** One thread, from left to right. */
	showOrder() {
		const { brush, thread, strips } = this,
			end = strips ? strips.end : 0;
		this.orderButton.hidden = thread < 0;
		this.orderButton.setAttribute('aria-pressed', String(Boolean(this.inOrder)));
		this.order.hidden = thread < 0 || !this.inOrder;
		if (this.order.hidden || !strips) return;
		const name = plain(strips.nameOf(thread)),
			part = brush || { from: 0, to: end };
		if (!this.chart) {
			const box = el('div', { class: 'rp-half' });
			this.orderTitle = el('h2');
			this.order.append(this.orderTitle, box);
			this.chart = new Flame(box, { order: 'time', legend: false, label: 'Flame chart' });
		}
		this.orderTitle.textContent = `${name} from ${value(part.from, 'ns')} to ${value(part.to, 'ns')}`;
		try {
			this.chart.setTree(chartTree(this.type, thread, part.from, part.to));
		} catch (e) {
			this.orderTitle.textContent = `${name}: ${/** @type {Error} */ (e).message}`;
		}
	}
	invert() {
		this.inverted = !this.inverted;
		this.refresh(false);
	}
	nextPanes() {
		this.panes = PANES[(PANES.indexOf(this.panes) + 1) % PANES.length];
		this.showPanes();
	}
	showPanes() {
		this.paneButton.textContent = this.panes === 'both' ? 'graph and table' : this.panes;
		this.panesBox.dataset.panes = this.panes;
		this.graphBox.hidden = this.panes === 'table';
		this.tableBox.hidden = this.panes === 'graph';
	}
	theme() {
		const root = document.documentElement,
			dark = root.dataset.theme
				? root.dataset.theme === 'dark'
				: matchMedia('(prefers-color-scheme: dark)').matches;
		root.dataset.theme = dark ? 'light' : 'dark';
		this.strips?.draw();
	}

	/* --- search --- */

	/** Highlights matches everywhere. @param {string} text */
	search(text) {
		if (this.input.value !== text) this.input.value = text;
		const found = this.flame.setSearch(text);
		this.chart?.setSearch(text);
		this.table.mark(text);
		if (found.error) this.showFound(found);
		return found;
	}
	/** The table lists only functions that match the typed text. */
	typed() {
		const text = this.input.value;
		if (!this.search(text).error) this.table.setFilter(text ? matcher(text) : () => true, text);
	}
	/** @param {import('../flame/search.js').Found} found */
	showFound(found) {
		const { unit } = this.tree.header,
			now = this.tree.totalB ? this.tree.totalB[0] : this.tree.total[0];
		const matched = this.tree.totalB ? found.matchedB : found.matched,
			self = this.tree.totalB ? found.selfB : found.self;
		this.input.toggleAttribute('aria-invalid', Boolean(found.error));
		this.foundText.textContent =
			found.error ||
			(found.text
				? `${share(matched, now)} (${value(matched, unit)}) · ${share(self, now)} self · ` +
					`${grouped(found.frames)} frames`
				: '');
	}

	/* --- a frame's menu, callers and callees --- */

	/** @param {number} node @param {number} x @param {number} y */
	openMenu(node, x, y) {
		const name = this.tree.name(node),
			stack = this.tree
				.path(node)
				.slice(1)
				.map((i) => this.tree.name(i));
		/** @type {[string, () => void][]} */
		const items = [
			['Zoom', () => this.flame.zoomTo(node)],
			['Callers and callees', () => this.openSandwich(name)],
			['Search for this name', () => this.search(name)],
			['Copy name', () => void navigator.clipboard?.writeText(plain(name))],
			['Copy stack', () => void navigator.clipboard?.writeText(stack.map(plain).join('\n'))]
		];
		this.menu.replaceChildren(
			...items.map(([words, run]) =>
				el(
					'button',
					{
						type: 'button',
						role: 'menuitem',
						onclick: () => {
							this.closeMenu();
							run();
						}
					},
					[words]
				)
			)
		);
		this.menu.hidden = false;
		this.menu.style.left = `${Math.max(4, Math.min(x, innerWidth - this.menu.offsetWidth - 8))}px`;
		this.menu.style.top = `${Math.max(4, Math.min(y, innerHeight - this.menu.offsetHeight - 8))}px`;
		/** @type {HTMLElement} */ (this.menu.firstChild).focus();
	}
	closeMenu() {
		this.menu.hidden = true;
	}
	/** @param {string} name */
	openSandwich(name) {
		if (!this.upright) return;
		const around = sandwich(this.upright, name),
			above = el('div', { class: 'rp-half' }),
			below = el('div', { class: 'rp-half' });
		this.closeAround();
		if (!around) return;
		this.around.replaceChildren(
			el('div', { class: 'rp-row' }, [
				el('h2', {}, [`Callers and callees of ${plain(name)}`]),
				button('close', 'Escape', () => this.closeAround())
			]),
			el('h3', {}, ['callers']),
			above,
			el('h3', {}, ['callees']),
			below
		);
		this.around.hidden = false;
		this.halves = [
			new Flame(above, { minimap: false, label: 'Callers' }),
			new Flame(below, { minimap: false, legend: false, label: 'Callees' })
		];
		this.halves[0].setTree(around.callers);
		this.halves[0].flip();
		this.halves[1].setTree(around.callees);
		this.around.scrollIntoView({ block: 'nearest' });
	}
	closeAround() {
		this.halves.forEach((f) => f.destroy());
		this.halves = [];
		this.around.hidden = true;
		this.around.replaceChildren();
	}

	/* --- export, keys --- */

	/** @param {string} ending */
	async exportAs(ending) {
		const { info } = this.type,
			{ meta } = this.report.header,
			title = `${titleOfReport(this.report)} · ${info.name} · ${this.total.textContent}`;
		const view = {
			mode: this.flame.mode,
			zoom: this.flame.zoom,
			heading: plain(title).slice(0, 150),
			sampleType: info.sample_type || info.name,
			unit: this.tree.header.unit,
			startNs: meta.start_ms * 1e6,
			durationNs: this.brush ? this.brush.to - this.brush.from : meta.duration_ns
		};
		const picture = ending === 'svg' || ending === 'png',
			tree = picture ? this.tree : this.upright || this.tree;
		const name = (info.name || 'profile').replace(/[^\w.-]+/g, '-');
		this.exportBox.open = false;
		try {
			saveBlob(
				ending === 'csv'
					? new Blob([this.table.csv()], { type: 'text/csv' })
					: await EXPORTS[ending].make(tree, view),
				`${name}.${ending}`
			);
		} catch (e) {
			this.noteBox.textContent = `Export failed: ${/** @type {Error} */ (e).message}`;
			this.noteBox.hidden = false;
		}
	}
	/** @param {KeyboardEvent} e */
	key(e) {
		const at = /** @type {HTMLElement} */ (e.target),
			typing = /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName);
		if (e.defaultPrevented || e.altKey || e.metaKey || (e.ctrlKey && e.key !== 'f') || this.help.open) return;
		if (e.key === 'Escape') this.escape(typing);
		else if ((typing && !e.ctrlKey) || !this.command(e.ctrlKey ? 'ctrl-f' : e.key)) return;
		e.preventDefault();
	}
	/** @param {boolean} typing */
	escape(typing) {
		if (!this.menu.hidden) this.closeMenu();
		else if (this.exportBox.open) this.exportBox.open = false;
		else if (typing) {
			this.input.value = '';
			this.typed();
		} else if (!this.around.hidden) this.closeAround();
		else this.flame.reset();
	}
	/** @param {string} key */
	command(key) {
		const types = this.report.types.length,
			find = () => {
				this.input.focus();
				this.input.select();
			};
		/** @type {{[key: string]: () => void}} */
		const commands = {
			'/': find,
			'ctrl-f': find,
			n: () => void this.flame.next(),
			N: () => void this.flame.previous(),
			0: () => this.flame.reset(),
			i: () => this.flame.flip(),
			v: () => this.invert(),
			o: () => this.thread < 0 || this.toggleOrder(),
			c: () => this.flame.cycleMode(),
			t: () => this.nextPanes(),
			D: () => this.theme(),
			'?': () => this.help.showModal(),
			'[': () => this.showType((this.at + types - 1) % types),
			']': () => this.showType((this.at + 1) % types),
			e: () => {
				this.exportBox.open = !this.exportBox.open;
				/** @type {HTMLElement} */ (
					this.exportBox.querySelector(this.exportBox.open ? 'button' : 'summary')
				).focus();
			}
		};
		if (!Object.hasOwn(commands, key) || (this.isGuest && 'D?'.includes(key))) return false;
		commands[key]();
		return true;
	}
}
