/* idle.js: why GPUs were idle in the selection. */

import { idleParts } from '../../gpu_idle.js';
import { button, el } from '../dom.js';
import { spanText } from '../state.js';
import { hostMatch } from './strips.js';
import { moment } from '../times.js';

/** @typedef {import('../app.js').App} App */

const ROWS = 200;

/**
 * The parts to show for a range of time.
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
	 * brush: undefined until something is shown.
	 * @param {App} app
	 * @param {{has: boolean, brush: () => [number, number]|null|undefined, times: () => {from: string, to: string},
	 * pick: (span: [number, number]) => void}} options
	 */
	constructor(app, options) {
		this.app = app;
		this.options = options;
		this.turn = 0;
		this.own = ''; /* the gap selected here */
		this.button = button('Why was the GPU idle?', () => app.setState({ idle: app.state.idle ? '' : '1' }), {
			'aria-pressed': 'false',
			hidden: !options.has,
			title: 'Gaps in the selection, the work that ended them, and what the processes did in the meantime'
		});
		this.panel = el('section', { class: 'tl-idle', hidden: true, 'aria-label': 'Why the GPU was idle' });
	}
	/** Shows the selection; while that is one of the gaps listed here, all of them stay. */
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
