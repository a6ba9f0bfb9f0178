/* query_bar.js: type, labels, by and time of a query. Changes are passed to `change` as a patch {q?, by?, from?,
 * to?}. */

import { button, el, labelled, select } from './dom.js';
import { joinSelector, splitSelector } from './selector.js';

const PRESETS = /** @type {[string, string][]} */ ([
	['now-5m', 'last 5 min'],
	['', 'last 15 min'],
	['now-1h', 'last hour'],
	['now-6h', 'last 6 hours'],
	['now-24h', 'last day'],
	['now-7d', 'last week'],
	['start', 'everything']
]);

/**
 * @param {import('./app.js').App} app
 * @param {{name?: string, withBy?: boolean, change: (patch: {[key: string]: string}) => void}} options
 */
export function queryBar(app, options) {
	const isStore = app.status.data.kind === 'store';
	const type = select(
		app.types.map((t) => [t.type, t.type]),
		{ onchange: submit }
	);
	const match = el('input', {
		placeholder: 'comm="redis-server", host=~"web.*"',
		spellcheck: false,
		autocomplete: 'off',
		role: 'combobox',
		'aria-expanded': 'false',
		'aria-autocomplete': 'list',
		onchange: submit,
		onfocus: complete
	});
	const by = select([['', 'nothing'], ...app.labels.map((l) => /** @type {[string, string]} */ ([l, l]))], {
		onchange: submit
	});
	const time = select(
		[
			...(isStore ? PRESETS : /** @type {[string, string][]} */ ([['', 'everything']])),
			['other', 'custom range …']
		],
		{ onchange: pickTime }
	);
	const from = el('input', { size: 24, placeholder: 'now-1h', onchange: submit, spellcheck: false });
	const to = el('input', { size: 24, placeholder: 'now', onchange: submit, spellcheck: false });
	const between = el('span', { class: 'between', hidden: true }, labelled('From', from), labelled('To', to));
	const wrong = el('pre', { class: 'wrong', role: 'alert', hidden: true });
	const bar = el(
		'form',
		{
			class: 'query',
			role: 'search',
			'aria-label': options.name || 'Query',
			onsubmit: (/** @type {Event} */ e) => {
				e.preventDefault();
				submit();
			}
		},
		labelled('Type', type),
		el('label', { class: 'wide' }, el('span', {}, 'Labels'), el('span', { class: 'combo' }, match)),
		options.withBy !== false && labelled('By', by),
		labelled('Time', time),
		between,
		button('Run', submit, { class: 'ask' }),
		wrong
	);
	let given = { q: '', by: '', from: '', to: '' };

	function submit() {
		const patch = { q: joinSelector(type.value, match.value), by: by.value, ...times() };
		const keys = /** @type {('q'|'by'|'from'|'to')[]} */ (['q', 'by', 'from', 'to']).filter(
			(k) => patch[k] !== given[k]
		);
		if (keys.length) options.change(Object.fromEntries(keys.map((k) => [k, patch[k]])));
	}
	function times() {
		return time.value === 'other'
			? { from: from.value.trim(), to: to.value.trim() }
			: { from: time.value, to: time.value === 'start' ? 'end' : '' };
	}
	function pickTime() {
		between.hidden = time.value !== 'other';
		if (time.value === 'other') from.focus();
		else submit();
	}
	/* Completion is loaded when the user begins to type. */
	async function complete() {
		const { Completion } = await import('./overlays.js');
		match.completion ??= new Completion(app, match, () => type.value, submit);
	}
	function setTimes() {
		const isPreset =
			(!given.to || given.to === 'now' || (given.from === 'start' && given.to === 'end')) &&
			[...time.options].some((o) => o.value === given.from);
		time.value = isPreset ? given.from : 'other';
		from.value = isPreset ? '' : given.from;
		to.value = isPreset ? '' : given.to;
		between.hidden = isPreset;
	}
	/** @param {{q: string, by: string, from: string, to: string}} state */
	function set(state) {
		const parts = splitSelector(state.q);
		given = { ...state };
		type.value = parts.type;
		if (type.selectedIndex < 0 && parts.type) {
			type.append(el('option', { value: parts.type }, parts.type));
			type.value = parts.type;
		}
		match.value = parts.match;
		by.value = state.by;
		setTimes();
	}
	/** Shows what is wrong with the query, at its column. @param {any} e null: nothing */
	function refuse(e) {
		wrong.hidden = !e;
		wrong.textContent = e ? [e.message, e.hint].filter(Boolean).join('\n') : '';
		match.setAttribute('aria-invalid', String(!!e));
		const column = e && /column (\d+)/.exec(e.message);
		if (column && document.activeElement !== match) {
			const at = Math.max(0, +column[1] - type.value.length - 2);
			match.setSelectionRange(at, at);
		}
	}
	return { element: bar, set, refuse, focus: () => match.focus() };
}
