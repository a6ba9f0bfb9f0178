/* idle.js: why GPUs were idle in what is chosen. */

import { idleParts } from '../../gpu_idle.js';
import { button, el } from '../dom.js';
import { spanText } from '../state.js';
import { hostMatch } from './strips.js';
import { moment } from '../times.js';

/** @typedef {import('../app.js').App} App */

const ROWS = 200;

/**
 * What is shown of a part of the time.
 * @param {App} app
 * @param {{from: string, to: string}} times
 * @param {(span: [number, number]) => void} pick
 */
async function partsOf(app, times, pick) {
	const match = hostMatch(app.state.q).join(', ');
	try {
		const answer = await app.ask('api/v1/gpu-idle', { ...(match ? { q: `{${match}}` } : {}), ...times, n: ROWS });
		return idleParts(answer, (from, to) => pick([from / 1e6, to / 1e6]));
	} catch (e) {
		return [el('p', { class: 'empty' }, /** @type {Error} */ (e).message)];
	}
}

export class Idle {
	/**
	 * brush: undefined before anything is shown.
	 * @param {App} app
	 * @param {{has: boolean, brush: () => [number, number]|null|undefined, times: () => {from: string, to: string},
	 * pick: (span: [number, number]) => void}} options
	 */
	constructor(app, options) {
		this.app = app;
		this.options = options;
		this.turn = 0;
		this.own = ''; /* the gap that was picked here */
		this.button = button('Why was the GPU idle?', () => app.setState({ idle: app.state.idle ? '' : '1' }), {
			'aria-pressed': 'false',
			hidden: !options.has,
			title: 'Gaps of what is chosen, what ended them, and what its processes did meanwhile'
		});
		this.panel = el('section', { class: 'tl-idle', hidden: true, 'aria-label': 'Why the GPU was idle' });
	}
	/** Of what is chosen; where that is one of its own gaps it goes on to show all of them. */
	async draw() {
		const { app, options, panel } = this,
			brush = options.brush(),
			isOn = app.state.idle === '1' && options.has;
		this.button.setAttribute('aria-pressed', String(isOn));
		panel.hidden = !isOn;
		if (!isOn || brush === undefined || (this.own && this.own === app.state.sel)) return;
		this.own = '';
		const mine = ++this.turn,
			times = brush ? { from: moment(app, brush[0]), to: moment(app, brush[1]) } : options.times();
		const parts = await partsOf(app, times, (span) => {
			this.own = spanText(...span);
			options.pick(span);
		});
		if (mine !== this.turn) return;
		panel.replaceChildren(...parts);
		panel.dataset.drawn = String(mine);
	}
}
