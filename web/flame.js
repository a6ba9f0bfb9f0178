/* flame.js: a flame graph or flame chart on a canvas.
 *
 *     const flame = new Flame(host, options); flame.setTree(decodeTree(bytes)); flame.on('zoom', …)
 *
 * It fills its host, which sets the height, and knows nothing of the server, the address or the page. The canvas has
 * the size of the visible part. In a merged graph x is value; with order 'time' it is time, and the tree has startNs.
 * The root is on top unless it is flipped. The view is a range of x and a scroll position; percentages "of view" refer
 * to the frame that fills the view. flame.css is its style. */
import { MODES, STEPS, modeFor, paint } from './colours.js';
import { Keys } from './flame/keys.js';
import { Labels } from './flame/labels.js';
import { Layout, follow, nodeOfPath, pathHash, rowsOfSome } from './flame/layout.js';
import { Legend } from './flame/legend.js';
import { MAP_HEIGHT, Minimap } from './flame/minimap.js';
import { Pointer } from './flame/pointer.js';
import { Raster } from './flame/raster.js';
import { nothingFound, search } from './flame/search.js';
import { themed } from './flame/theme.js';
import { Tip, describe, element, sentence } from './flame/tip.js';
import { keepOrder } from './order.js';
import { Tree } from './tree.js';

/** @typedef {import('./colours.js').Mode} Mode */
/** @typedef {import('./flame/search.js').Found} Found */
/** @typedef {import('./flame/raster.js').View} View */
/** order 'time': x is time, and the tree has startNs.
 * @typedef {{order?: 'merged'|'time', minimap?: boolean, legend?: boolean, label?: string, rowHeight?: number}}
 * Options */
/** zoom {node, path}; select {node}; menu {node, x, y} (of the client area); hover {node} (-1: none); mode {mode};
 * search {found}; flip {flipped}
 * @typedef {'zoom'|'select'|'menu'|'hover'|'mode'|'search'|'flip'} EventName */

const ROW = 18,
	ROW_TOUCH = 22,
	LABEL_FROM = 24,
	ANIMATION_MS = 180,
	MOST_ZOOM = 1e12;

export class Flame {
	tree = emptyTree();
	layout = new Layout(this.tree);
	view = { x0: 0, x1: 1 };
	/* The size of the body and the height of the rows above it, in pixels. ratio: device pixels per pixel. */
	width = 0;
	height = 0;
	scroll = 0;
	ratio = 0;
	rowHeight = ROW;
	flipped = false;
	/** Labels show the end of a name, not its beginning. */
	alignEnd = false;
	/* Nodes: the keyboard focus, the one that fills the view, the one under the pointer (or -1). */
	focus = 0;
	zoom = 0;
	hovered = -1;
	found = nothingFound();
	/** The match on display, -1 for none. */
	atMatch = -1;
	matches = rowsOfSome(this.tree, this.found.nodes);
	/** @type {{from: View, fromScroll: number, to: View, toScroll: number, began: number}|undefined} */
	moving = undefined;
	/** The groups shown alone; none: all. @type {Set<number>} */
	shown = new Set();
	/** Chosen by the user. @type {Mode|undefined} */
	chosenMode = undefined;
	paint = paint(this.tree, 'kind');
	look = { background: 0, run: 0, match: 0, flipped: false };
	/** @type {import('./flame/raster.js').Inks} */
	inks = { colours: new Uint32Array(0), steps: STEPS, step: this.paint.step };
	fadedInks = this.inks;
	labels = new Labels();
	mapIsOld = true;
	frameRequest = 0;
	/** @type {Map<string, ((event: any) => void)[]>} */
	listeners = new Map();

	/** @param {HTMLElement} host @param {Options} [options] */
	constructor(host, options = {}) {
		const page = buildPage(options);
		this.options = options;
		host.append(page.root);
		this.root = page.root;
		this.body = page.body;
		this.canvas = page.canvas;
		this.hoverBox = page.hoverBox;
		this.focusBox = page.focusBox;
		this.mapBox = page.mapBox;
		this.live = page.live;
		this.raster = new Raster(this.canvas);
		this.tip = new Tip(this.body);
		this.map = new Minimap(this.mapBox, (x, y) => this.centre(x, y));
		this.legend = new Legend(this.root, (groups) => this.isolate(groups));
		this.legend.box.hidden = options.legend === false;
		this.pointer = new Pointer(this.canvas, this.gestures());
		this.keys = new Keys(this);
		this.off = new AbortController();
		this.sizes = new ResizeObserver(() => this.resize());
		this.themes = new MutationObserver(() => this.restyle());
		this.repaint();
		this.watch();
	}
	/** Follows changes of size, resolution and theme. */
	watch() {
		const { signal } = this.off,
			restyle = () => this.restyle();
		this.sizes.observe(this.body);
		this.themes.observe(document.documentElement, { attributes: true });
		for (const query of ['(prefers-color-scheme: dark)', '(pointer: coarse)', '(forced-colors: active)'])
			matchMedia(query).addEventListener('change', restyle, { signal });
		window.addEventListener('resize', () => this.resize(), { signal });
	}
	destroy() {
		cancelAnimationFrame(this.frameRequest);
		this.off.abort();
		this.sizes.disconnect();
		this.themes.disconnect();
		this.pointer.destroy();
		this.root.remove();
	}
	/** @param {EventName} event @param {(event: any) => void} fn @returns {() => void} ends it */
	on(event, fn) {
		const list = this.listeners.get(event) || [];
		this.listeners.set(event, [...list, fn]);
		return () => {
			this.listeners.set(
				event,
				(this.listeners.get(event) || []).filter((other) => other !== fn)
			);
		};
	}
	/** @param {EventName} event @param {object} detail */
	emit(event, detail) {
		for (const fn of this.listeners.get(event) || []) fn(detail);
	}

	/* --- what is shown --- */

	/** keepZoom: the frame in view, the focus and the visible part of it stay, as far as the new tree has them.
	 * keepOrder: frames stay in the order of the previous tree, new ones come last.
	 * @param {Tree} tree @param {{keepZoom?: boolean, keepOrder?: boolean}} [how] */
	setTree(tree, how = {}) {
		const names = how.keepZoom ? this.namesTo(this.zoom) : [],
			focus = how.keepZoom ? this.namesTo(this.focus) : [];
		const before = this.viewOf(this.zoom),
			span = before.x1 - before.x0,
			{ x0, x1 } = this.moving ? this.moving.to : this.view;
		this.tree = how.keepOrder && this.tree.n > 1 ? keepOrder(tree, this.tree) : tree;
		this.layout = new Layout(this.tree);
		this.zoom = follow(this.tree, names);
		this.focus = follow(this.tree, focus);
		this.hovered = -1;
		this.moving = undefined;
		this.tip.hide();
		const now = this.viewOf(this.zoom),
			isSame = how.keepZoom && this.tree.depth[this.zoom] === names.length,
			scale = (now.x1 - now.x0) / span;
		this.view = isSame ? { x0: now.x0 + (x0 - before.x0) * scale, x1: now.x0 + (x1 - before.x0) * scale } : now;
		if (!isSame) this.scroll = 0;
		this.repaint();
		this.setSearch(this.found.text);
		if (names.length && !isSame) this.emit('zoom', { node: this.zoom, path: pathHash(this.layout, this.zoom) });
	}
	/** @param {number} node  the names from below the root down to it */
	namesTo(node) {
		const names = [];
		for (let i = node; i > 0; i = this.layout.up(i)) names.push(this.tree.name(i));
		return names.reverse();
	}
	/** @param {Mode} mode */
	setMode(mode) {
		if (!MODES.includes(mode)) throw new Error(`unknown colour mode "${String(mode).slice(0, 20)}"`);
		this.chosenMode = mode;
		this.repaint();
		this.emit('mode', { mode: this.mode });
	}
	/** The current colour mode: a diff has its own. @returns {Mode} */
	get mode() {
		const { chosenMode, tree } = this;
		if (chosenMode && (chosenMode !== 'diff' || tree.isDiff)) return chosenMode;
		return !tree.isDiff && matchMedia('(prefers-contrast: more)').matches ? 'contrast' : modeFor(tree);
	}
	/** The next mode. */
	cycleMode() {
		const modes = MODES.filter((mode) => mode !== 'diff' || this.tree.isDiff);
		this.setMode(modes[(modes.indexOf(this.mode) + 1) % modes.length]);
	}
	repaint() {
		this.paint = paint(this.tree, this.mode);
		this.legend.set(this.paint);
	}
	/** @param {Set<number>} groups  empty: all */
	isolate(groups) {
		this.shown = groups;
		this.restyle();
	}
	/** Colours as pixels, for this theme. */
	restyle() {
		Object.assign(this, themed(this.root, this.paint, this.shown, this.flipped));
		this.rowHeight = this.options.rowHeight || (matchMedia('(pointer: coarse)').matches ? ROW_TOUCH : ROW);
		this.mapIsOld = true;
		this.resize();
	}
	resize() {
		const ratio = window.devicePixelRatio || 1,
			width = this.body.clientWidth,
			height = this.body.clientHeight;
		if (ratio !== this.ratio || width !== this.width || height !== this.height) {
			this.ratio = ratio;
			this.width = width;
			this.height = height;
			this.raster.resize(Math.round(width * ratio), Math.round(height * ratio));
			this.canvas.style.width = width + 'px';
			this.canvas.style.height = height + 'px';
			this.map.resize(width, ratio);
			this.mapIsOld = true;
		}
		this.scrollTo(this.scroll);
		this.invalidate();
	}
	/** The height needed to show every row. */
	get contentHeight() {
		return (
			this.layout.rows * this.rowHeight + (this.mapBox.hidden ? 0 : MAP_HEIGHT + 4) + this.legend.box.offsetHeight
		);
	}
	flip() {
		this.flipped = !this.flipped;
		this.restyle();
		this.emit('flip', { flipped: this.flipped });
	}

	/* --- view --- */

	/** @param {number} node */
	viewOf(node) {
		const x0 = this.layout.start[node];
		return { x0, x1: x0 + (this.layout.width[node] || 1) };
	}
	/** target: a node, or the hash of its path. Returns false, and changes nothing, if there is no such frame.
	 * @param {number|string} target @param {{animate?: boolean}} [how] */
	zoomTo(target, how = {}) {
		const node = typeof target === 'string' ? nodeOfPath(this.layout, target) : target;
		if (!(node >= 0 && node < this.tree.n)) return false;
		this.setZoom(node);
		const row = this.tree.depth[node],
			rows = this.height / this.rowHeight,
			above = Math.floor(rows / 3);
		const scroll = row * this.rowHeight < this.height - this.rowHeight * 2 ? 0 : (row - above) * this.rowHeight;
		this.go(this.viewOf(node), scroll, how.animate !== false);
		this.say(node ? 'Zoomed to ' + sentence(this.layout, node, node) : 'All frames in view');
		return true;
	}
	reset() {
		this.zoomTo(0);
	}
	/** @param {number} node */
	setZoom(node) {
		if (node === this.zoom) return;
		this.zoom = node;
		this.emit('zoom', { node, path: pathHash(this.layout, node) });
	}
	/** Moves there, in a few frames. @param {{x0: number, x1: number}} view @param {number} scroll
	 * @param {boolean} animate */
	go(view, scroll, animate) {
		const still = !animate || matchMedia('(prefers-reduced-motion: reduce)').matches;
		this.moving = still
			? undefined
			: { from: this.view, fromScroll: this.scroll, to: view, toScroll: scroll, began: 0 };
		if (still) {
			this.view = view;
			this.scrollTo(scroll);
		}
		this.hover(-1, 0, 0);
		this.invalidate();
	}
	/** @param {number} now ms */
	animate(now) {
		const m = this.moving;
		if (!m) return;
		m.began = m.began || now;
		const part = Math.min(1, (now - m.began) / ANIMATION_MS),
			ease = 1 - (1 - part) ** 3;
		this.view = { x0: m.from.x0 + (m.to.x0 - m.from.x0) * ease, x1: m.from.x1 + (m.to.x1 - m.from.x1) * ease };
		this.scrollTo(m.fromScroll + (m.toScroll - m.fromScroll) * ease);
		if (part < 1) this.invalidate();
		else this.moving = undefined;
	}
	/** @param {number} top  pixels of rows above the view @returns {boolean} whether anything moved */
	scrollTo(top) {
		const most = Math.max(0, this.layout.rows * this.rowHeight - this.height),
			before = this.scroll;
		this.scroll = Math.max(0, Math.min(most, top));
		this.canvas.style.touchAction = most || this.zoom ? 'none' : 'pan-y';
		return this.scroll !== before;
	}
	/** Free pan and zoom; the view stays within the graph. @param {number} x0 @param {number} x1 */
	setView(x0, x1) {
		const { start, width } = this.layout,
			all = width[0] || 1,
			least = all / MOST_ZOOM,
			span = Math.min(all, Math.max(least, x1 - x0));
		const from = Math.max(start[0], Math.min(start[0] + all - span, x0));
		this.moving = undefined;
		this.view = { x0: from, x1: from + span };
		this.invalidate();
	}
	/** @param {number} dx @param {number} dy pixels */
	pan(dx, dy) {
		const { x0, x1 } = this.view,
			by = (dx / this.width) * (x1 - x0);
		this.setView(x0 - by, x1 - by);
		this.scrollTo(this.scroll + (this.flipped ? dy : -dy));
	}
	/** @param {number} x pixels @param {number} factor */
	zoomAt(x, factor) {
		const { x0, x1 } = this.view,
			at = x0 + (x / this.width) * (x1 - x0);
		this.setView(at - (at - x0) / factor, at + (x1 - at) / factor);
	}
	/** After a free move, the frame in view is the deepest one that fills it; in a chain of equal width, the one
	 * nearest to the previous frame in view. */
	settle() {
		const { layout, view } = this,
			{ start, width } = layout,
			slack = (view.x1 - view.x0) * 1e-6;
		const covers = (/** @type {number} */ i) =>
			start[i] <= view.x0 + slack && start[i] + width[i] >= view.x1 - slack;
		let node = this.zoom;
		while (node > 0 && !covers(node)) node = layout.up(node);
		for (let next = node; next >= 0;) {
			next = layout.at(this.tree.depth[node] + 1, (view.x0 + view.x1) / 2);
			if (next < 0 || !covers(next) || width[next] >= width[node]) break;
			node = next;
		}
		this.setZoom(node);
	}
	/** Moves as little as needed to show this node. @param {number} node */
	bringIntoView(node) {
		const { start, width } = this.layout,
			{ x0, x1 } = this.view,
			from = start[node],
			to = from + width[node];
		const row = this.tree.depth[node] * this.rowHeight,
			lowest = row + this.rowHeight - this.height;
		if (to <= x0 || from >= x1) {
			this.setView(from + (to - from) / 2 - (x1 - x0) / 2, from + (to - from) / 2 + (x1 - x0) / 2);
			this.settle();
		}
		if (this.scroll > row || this.scroll < lowest) this.scrollTo(this.scroll > row ? row : lowest);
		this.invalidate();
	}
	/** @param {number} x @param {number} y shares of the whole that become the middle of the view */
	centre(x, y) {
		const half = (this.view.x1 - this.view.x0) / 2,
			at = this.layout.start[0] + x * this.layout.width[0],
			rows = this.layout.rows * this.rowHeight;
		this.setView(at - half, at + half);
		this.scrollTo((this.flipped ? 1 - y : y) * rows - this.height / 2);
		this.settle();
	}

	/* --- drawing --- */

	invalidate() {
		if (!this.frameRequest)
			this.frameRequest = requestAnimationFrame((now) => {
				this.frameRequest = 0;
				this.animate(now);
				this.draw();
			});
	}
	/** Where a row begins, in pixels of the body. @param {number} row */
	top(row) {
		const y = row * this.rowHeight - this.scroll;
		return this.flipped ? Math.max(this.height, 0) - y - this.rowHeight : y;
	}
	/** @param {number} y pixels */
	rowAt(y) {
		return Math.floor(((this.flipped ? this.height - y : y) + this.scroll) / this.rowHeight);
	}
	draw() {
		const { raster, layout, look } = this,
			last = Math.min(layout.rows - 1, this.rowAt(this.flipped ? 0 : this.height));
		raster.begin(look.background, look.run);
		for (let row = Math.max(0, this.rowAt(this.flipped ? this.height : 0)); row <= last; row++) this.drawRow(row);
		raster.show();
		this.labels.draw(raster, layout, {
			ratio: this.ratio,
			rowHeight: this.rowHeight,
			alignEnd: this.alignEnd,
			top: (row) => this.top(row)
		});
		this.placeRings();
		this.drawMap();
	}
	/** @param {number} row */
	drawRow(row) {
		const { raster, layout, view, matches, ratio } = this,
			y = this.top(row);
		const zoomed = this.options.order !== 'time' && row < this.tree.depth[this.zoom];
		const top = Math.round(y * ratio),
			bottom = Math.round((y + this.rowHeight) * ratio);
		const { first } = layout;
		raster.clearLine();
		raster.putNodes(
			layout,
			layout.order,
			first[row],
			first[row + 1],
			view,
			zoomed ? this.fadedInks : this.inks,
			LABEL_FROM * this.ratio
		);
		raster.putMatches(layout, matches.order, matches.first[row], matches.first[row + 1], view, this.look.match);
		raster.putLine(top, bottom);
	}
	drawMap() {
		if (this.mapBox.hidden) return;
		if (this.mapIsOld) this.map.draw(this.layout, this.inks, this.matches, this.look);
		this.mapIsOld = false;
		const rows = this.layout.rows * this.rowHeight,
			y0 = this.scroll / rows,
			y1 = (this.scroll + this.height) / rows;
		this.map.frame(this.layout, { ...this.view, y0: this.flipped ? 1 - y1 : y0, y1: this.flipped ? 1 - y0 : y1 });
	}
	placeRings() {
		this.ring(this.hoverBox, this.hovered);
		this.ring(this.focusBox, document.activeElement === this.canvas ? this.focus : -1);
	}
	/** @param {HTMLElement} box @param {number} node */
	ring(box, node) {
		const px = this.width / (this.view.x1 - this.view.x0),
			{ start, width } = this.layout;
		const left = node < 0 ? 0 : Math.max(0, (start[node] - this.view.x0) * px);
		const right = node < 0 ? 0 : Math.min(this.width, (start[node] + width[node] - this.view.x0) * px);
		box.hidden = node < 0 || right < 0 || left > this.width;
		box.style.transform = `translate(${left}px,${node < 0 ? 0 : this.top(this.tree.depth[node])}px)`;
		box.style.width = Math.max(2, right - left) + 'px';
		box.style.height = this.rowHeight + 'px';
	}

	/* --- pointing --- */

	/** @param {number} x @param {number} y  pixels of the canvas */
	hit(x, y) {
		const unit = (this.view.x1 - this.view.x0) / this.width,
			at = this.view.x0 + x * unit;
		return this.layout.widest(this.rowAt(y), at - unit, at + unit);
	}
	/** @returns {import('./flame/pointer.js').Gestures} */
	gestures() {
		return {
			hover: (x, y) => {
				const { node, count } = this.hit(x, y);
				this.hover(node, x, y, count);
			},
			leave: () => this.hover(-1, 0, 0),
			click: (x, y) => {
				const { node } = this.hit(x, y);
				if (node >= 0) this.select(node, true);
			},
			pan: (dx, dy) => this.pan(dx, dy),
			zoomAt: (x, factor) => this.zoomAt(x, factor),
			scroll: (dy) => {
				const moved = this.scrollTo(this.scroll + (this.flipped ? -dy : dy));
				this.invalidate();
				return moved;
			},
			settle: () => this.settle(),
			menu: (x, y) => this.menu(this.hit(x, y).node, x, y)
		};
	}
	/** @param {number} node @param {number} x @param {number} y @param {number} [count] */
	hover(node, x, y, count = 1) {
		const isNew = node !== this.hovered;
		this.hovered = node;
		if (node >= 0 || this.tip.docked)
			/* when docked, it is never empty */
			this.tip.show(describe(this.layout, node < 0 ? this.focus : node, this.zoom, count), x, y);
		else this.tip.hide();
		this.ring(this.hoverBox, node);
		if (isNew) this.emit('hover', { node });
	}
	/** @param {number} node @param {boolean} zoom */
	select(node, zoom) {
		this.focus = node;
		this.emit('select', { node });
		if (zoom) this.zoomTo(node);
		else this.invalidate();
	}
	/** Shows the end of names instead of their beginning, or the other way round. */
	toggleAlign() {
		this.alignEnd = !this.alignEnd;
		this.invalidate();
	}
	/** @param {number} node @param {number} x @param {number} y  pixels of the canvas */
	menu(node, x, y) {
		const box = this.canvas.getBoundingClientRect();
		if (node < 0) return;
		this.focus = node;
		this.hover(-1, 0, 0);
		this.invalidate();
		this.emit('menu', { node, x: box.left + x, y: box.top + y });
	}
	/** Keeps the description of frames at the side, or shows it beside the pointer. */
	dock() {
		this.tip.dock();
		this.hover(-1, 0, 0);
	}
	/** @param {string} text */
	say(text) {
		this.live.textContent = text;
	}

	/* --- search --- */

	/** Text or /regex/ (/regex/i: any case). A bad expression keeps the previous matches; its error says why.
	 * @param {string} text @returns {Found} */
	setSearch(text) {
		try {
			this.found = search(this.tree, text);
		} catch (e) {
			return { ...this.found, error: String(/** @type {Error} */ (e).message) };
		}
		this.matches = rowsOfSome(this.tree, this.found.nodes);
		this.atMatch = -1;
		this.mapIsOld = true;
		this.invalidate();
		this.emit('search', { found: this.found });
		return this.found;
	}
	/** The index of the match on display; -1 if there is none. */
	next() {
		return this.step(1);
	}
	previous() {
		return this.step(-1);
	}
	/** @param {number} by */
	step(by) {
		const { nodes } = this.found,
			from = this.atMatch < 0 && by < 0 ? 0 : this.atMatch;
		if (!nodes.length) return -1;
		this.atMatch = (from + by + nodes.length) % nodes.length;
		this.select(nodes[this.atMatch], true);
		return this.atMatch;
	}
}

/** @param {Options} options */
function buildPage(options) {
	const root = element('div', 'flame'),
		mapBox = element('div', 'flame-map'),
		body = element('div', 'flame-body');
	const canvas = document.createElement('canvas'),
		hoverBox = element('div', 'flame-hover'),
		focusBox = element('div', 'flame-focus');
	const live = element('div', 'flame-live');
	live.setAttribute('aria-live', 'polite');
	mapBox.setAttribute('aria-hidden', 'true');
	mapBox.hidden = options.minimap === false;
	canvas.tabIndex = 0;
	canvas.setAttribute('role', 'application');
	canvas.setAttribute(
		'aria-label',
		options.label || 'Flame graph. Arrow keys move between frames, Enter zooms, Escape resets the zoom.'
	);
	hoverBox.hidden = focusBox.hidden = true;
	body.append(canvas, hoverBox, focusBox);
	root.append(mapBox, body, live);
	return { root, mapBox, body, canvas, hoverBox, focusBox, live };
}
/** @returns {Tree} */
function emptyTree() {
	const frames = {
		count: 1,
		name: [''],
		nameId: new Uint32Array(1),
		file: [''],
		line: new Float64Array(1),
		mapping: [''],
		kind: ['marker'],
		inlined: new Uint8Array(1)
	};
	const header = { version: 1, type: '', unit: '', total: 0, unfiltered: 0 };
	return new Tree(header, frames, new Uint16Array(1), new Uint32Array(1), { self: new Float64Array(1) });
}
