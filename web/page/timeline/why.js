/* why.js: why it was idle, or busy: compares the times within the selection in which a strip is below or above a
 * threshold with the other times: which stacks ran in the former and not in the latter. */

import { button, el, select } from '../dom.js';
import { moment } from '../times.js';
import { amount } from '../../readings.js';
import { value } from '../../units.js';

/** @typedef {import('../app.js').App} App */
/** @typedef {{title: string, unit: string, at: number[], values: (number|null)[]}} Line */
/** @typedef {[number, number][]} Spans */

export const MAX_INTERVALS = 64; /* the server's limit */

/**
 * The times at which a line is below (or at least) a threshold, and those at which it is not; unknown values are
 * neither. Adjacent intervals are merged.
 * @param {Line} line
 * @param {number} threshold
 * @param {boolean} below
 * @param {[number, number]} inside
 * @returns {{those: Spans, others: Spans}}
 */
export function intervals(line, threshold, below, inside) {
	const those = /** @type {Spans} */ ([]),
		others = /** @type {Spans} */ ([]),
		step = line.at.length > 1 ? line.at[1] - line.at[0] : 0;
	line.values.forEach((v, i) => {
		const from = Math.max(inside[0], line.at[i]),
			to = Math.min(inside[1], line.at[i] + step);
		if (v === null || to <= from) return;
		const list = v < threshold === below ? those : others,
			last = list[list.length - 1];
		if (last && last[1] === from) last[1] = to;
		else list.push([from, to]);
	});
	return { those, others };
}
/** The longest ones, if there are too many. @param {Spans} spans */
export function longest(spans) {
	if (spans.length <= MAX_INTERVALS) return spans;
	return [...spans]
		.sort((a, b) => b[1] - b[0] - (a[1] - a[0]))
		.slice(0, MAX_INTERVALS)
		.sort((a, b) => a[0] - b[0]);
}
const length = (/** @type {Spans} */ spans) => spans.reduce((sum, [a, b]) => sum + b - a, 0);
const counted = (/** @type {Spans} */ spans) =>
	`${spans.length} interval${spans.length === 1 ? '' : 's'}, ${value(length(spans), 'milliseconds')}`;

export class Why {
	/**
	 * @param {HTMLElement} host
	 * @param {App} app
	 * @param {{series: () => Line[], brush: () => [number, number], show: (params: any, text: string) => Promise<void>}}
	 * options
	 */
	constructor(host, app, options) {
		this.app = app;
		this.options = options;
		this.host = host;
		this.line = select([], { 'aria-label': 'Metric', onchange: () => this.suggest() });
		this.way = select(
			[
				['below', 'below'],
				['above', 'at least']
			],
			{ 'aria-label': 'Comparison' }
		);
		this.threshold = el('input', { type: 'number', step: 'any', min: 0, 'aria-label': 'Threshold', size: 8 });
		this.unit = el('span', { class: 'dim' });
		host.append(
			el('span', {}, 'Why was'),
			this.line,
			this.way,
			this.threshold,
			this.unit,
			el('span', {}, '?'),
			button('Show what ran', () => this.ask(), {
				title: 'Compare these intervals of the selection with the rest'
			})
		);
		this.host.hidden = true;
	}
	/** GPUs come first if there are any: they are what is asked about most. */
	draw() {
		const lines = this.options.series(),
			old = this.line.value;
		this.host.hidden = !lines.length;
		this.line.replaceChildren(...lines.map((l) => el('option', { value: l.title }, l.title)));
		if (lines.some((l) => l.title === old)) this.line.value = old;
		else this.suggest();
	}
	chosen() {
		return this.options.series().find((l) => l.title === this.line.value);
	}
	/** Half of the maximum. */
	suggest() {
		const line = this.chosen(),
			most = Math.max(0, ...(line?.values || []).map((v) => v || 0));
		this.threshold.value = String(+(most / 2).toPrecision(2));
		this.unit.textContent = line ? (line.unit === 'share' ? '(1: all of it)' : line.unit) : '';
	}
	async ask() {
		const line = this.chosen(),
			below = this.way.value === 'below',
			threshold = Number(this.threshold.value);
		if (!line) return;
		const { those, others } = intervals(line, threshold, below, this.options.brush());
		if (!those.length || !others.length)
			return this.app.notify(
				`${line.title} is ${those.length ? 'always' : 'never'} ${below ? 'below' : 'at least'} ` +
					`${amount(threshold, line.unit)} in the selection.`
			);
		const list = (/** @type {Spans} */ spans) =>
			longest(spans)
				.map(([a, b]) => `${moment(this.app, a)}..${moment(this.app, b)}`)
				.join(',');
		const [from, to] = this.options.brush(),
			at = { afrom: moment(this.app, from), ato: moment(this.app, to) };
		const text =
			`${line.title} ${below ? 'below' : 'at least'} ${amount(threshold, line.unit)}: ` +
			`${counted(those)} (red: more there), compared with ${counted(others)}` +
			(Math.max(those.length, others.length) > MAX_INTERVALS ? `; the ${MAX_INTERVALS} longest of each` : '');
		const { q } = this.app.state;
		await this.options
			.show(
				{
					a: q,
					b: q,
					...at,
					awithin: list(others),
					bfrom: at.afrom,
					bto: at.ato,
					bwithin: list(those),
					norm: 'rate'
				},
				text
			)
			.catch((e) => this.app.notify(e.message));
	}
}
