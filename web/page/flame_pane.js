/* flame_pane.js: the flame graph of a tree from the server, with its zoom, search and colours in the address; as a
 * sandwich, the callers of a function above and its callees below. */

import { Flame } from '../flame.js';
import { share, value } from '../units.js';
import { el } from './dom.js';

/** @typedef {import('./app.js').App} App */

const DEEPER_PX = 8; /* px; a wider rest is requested in detail */

export class FlamePane {
	/**
	 * @param {HTMLElement} host
	 * @param {App} app
	 * @param {{menu: (event: any) => void, deeper: (node: number) => void,
	 *   found: (text: string, wrong: string) => void, count: (search: string) => void}} options
	 */
	constructor(host, app, options) {
		this.app = app;
		this.options = options;
		this.host = host;
		/** @type {Flame[]} */
		this.flames = [];
		/** @type {any} */
		this.tree = null;
		this.sets = false;
		this.isPruned = false;
		/** Of all stacks, including those not drawn. @type {{text: string, matched: number, self:
		 * number}|null} */
		this.count = null;
	}
	destroy() {
		this.flames.forEach((f) => f.destroy());
		this.flames = [];
	}
	get flame() {
		return this.flames[0];
	}
	/** @param {any[]} trees one, or callers and callees @param {boolean} keepZoom */
	set(trees, keepZoom) {
		this.sets = true;
		if (this.flames.length !== trees.length) this.build(trees.length);
		this.tree = trees[trees.length - 1];
		this.isPruned = trees.length === 1 && this.tree.frames.kind.includes('rest');
		this.count = null;
		trees.forEach((t, i) => this.flames[i].setTree(t, { keepZoom }));
		this.show();
		this.sets = false;
	}
	/** @param {number} n */
	build(n) {
		this.destroy();
		const names = n === 2 ? ['Callers', 'Callees'] : ['Flame graph'];
		this.host.classList.toggle('sandwich', n === 2);
		this.host.replaceChildren(
			...names.map((name, i) => {
				const box = el('div', { class: 'flame-box' }),
					flame = new Flame(box, {
						minimap: n === 1,
						legend: i === n - 1,
						label:
							`${name}. Arrow keys move between frames, Enter zooms, Escape resets the zoom, Shift+Enter ` +
							`opens the menu.`
					});
				this.flames.push(flame);
				flame.on('menu', (e) => this.options.menu({ ...e, flame }));
				flame.on('mode', ({ mode }) => this.app.setState({ c: mode }));
				if (n === 1) flame.on('zoom', ({ node, path }) => this.zoomed(node, path));
				return box;
			})
		);
		if (n === 2 && !this.flames[0].flipped) this.flames[0].flip();
		if (n === 1) this.flame.on('flip', ({ flipped }) => this.app.setState({ flip: flipped ? '1' : '' }));
	}
	/** @param {number} node @param {string} path */
	zoomed(node, path) {
		if (this.sets) return;
		this.app.setState({ z: node > 0 ? path : '' });
		const { tree, flame } = this,
			scale = flame.width / (tree.total[node] || 1);
		for (let i = node + 1; i < tree.end[node]; i++)
			if (tree.frames.kind[tree.frame[i]] === 'rest' && tree.total[i] * scale > DEEPER_PX)
				return this.options.deeper(node);
	}
	/** Applies the address to the picture. */
	show() {
		const { state } = this.app;
		for (const flame of this.flames) {
			if (state.c !== flame.mode)
				flame.setMode(/** @type {any} */ (state.c === 'diff' && !flame.tree.isDiff ? 'kind' : state.c));
			this.found(
				flame.found.text === state.s && flame.found.nodes.length ? flame.found : flame.setSearch(state.s),
				flame
			);
		}
		if (this.flames.length !== 1) return;
		if (this.flame.flipped !== (state.flip === '1')) this.flame.flip();
		if (state.z && !this.flame.zoomTo(state.z, { animate: false })) this.options.deeper(-1);
		else if (!state.z && this.flame.zoom) this.flame.reset();
	}
	/** Describes the matches of a search; has them counted if not all are drawn. @param {any} found @param {Flame}
	 * flame */
	found(found, flame) {
		const isSearch = found.text && !found.error;
		this.options.found(isSearch ? this.words(found, flame) : '', found.error);
		if (isSearch && this.isPruned && this.count?.text !== found.text) this.options.count(found.text);
	}
	/** "12.3 % total (4.1 s) · 3.9 % self · 214 frames · 3/214" @param {any} found @param {any} flame */
	words(found, { tree, atMatch }) {
		const isCounted = this.count?.text === found.text,
			{ matched, self } = isCounted ? /** @type {any} */ (this.count) : found;
		const least = this.isPruned && !isCounted ? '≥ ' : '';
		return (
			`${least}${share(matched, tree.total[0])} total (${value(matched, tree.header.unit)}) · ` +
			`${least}${share(self, tree.total[0])} self · ${found.frames} frames` +
			(this.isPruned ? ' drawn' : '') +
			(atMatch < 0 ? '' : ` · ${atMatch + 1}/${found.frames}`)
		);
	}
	/** @param {{text: string, matched: number, self: number}} count */
	setCount(count) {
		this.count = count;
		if (this.flame?.found.text === count.text) this.found(this.flame.found, this.flame);
	}
	/** @param {number} by */
	step(by) {
		const { flame } = this;
		if (!flame) return;
		by > 0 ? flame.next() : flame.previous();
		this.found(flame.found, flame);
	}
}
