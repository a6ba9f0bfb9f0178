/* chart.js: the flame chart of one thread: its stacks in the order of time. A gap is time without samples. */

import { Flame } from '../../flame.js';
import { decodeTree } from '../../tree.js';
import { el } from '../dom.js';
import { moment } from '../times.js';

/** @typedef {import('../app.js').App} App */

export class Chart {
	/** @param {HTMLElement} host @param {App} app */
	constructor(host, app) {
		this.app = app;
		this.host = host;
		this.off = new AbortController();
		this.box = el('div', { class: 'tl-chart-box', 'aria-busy': 'true' }); /* until the stacks are loaded */
		host.append(this.box);
		this.flame = new Flame(this.box, {
			order: 'time',
			minimap: false,
			legend: false,
			label: 'Flame chart. Arrow keys move between frames, Enter zooms, Escape resets the zoom.'
		});
	}
	destroy() {
		this.off.abort();
		this.flame.destroy();
		this.host.replaceChildren();
	}
	/** @param {any} question @param {import('../timeline.js').View} view */
	async load(question, view) {
		const times = { from: moment(this.app, view.from), to: moment(this.app, view.to) };
		const bytes = await this.app.ask('api/v1/chart', { ...question, ...times, fmt: 'bin' }, this.off.signal);
		this.flame.setTree(decodeTree(bytes));
		this.box.setAttribute('aria-busy', 'false');
	}
}
