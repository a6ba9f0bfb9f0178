/* filter_bar.js: filters as chips, each of which can be turned off, moved and removed. */

import { plain } from '../units.js';
import { button, el, labelled, select } from './dom.js';
import { FIELDS, PRESETS, WHAT, addFilter, filterText, formatFilters, parseFilters } from './filters.js';

/** @param {import('./app.js').App} app */
export function filterBar(app) {
	const chips = el('span', { class: 'chips', role: 'list', 'aria-label': 'Filters' });
	const open = button(
		'+ Filter',
		() => {
			form.hidden = !form.hidden;
			open.setAttribute('aria-expanded', String(!form.hidden));
			if (!form.hidden) pattern.focus();
		},
		{ 'aria-expanded': 'false' }
	);
	const what = select(/** @type {[string, string][]} */ (Object.entries(WHAT)), { 'aria-label': 'Action' });
	const field = select(/** @type {[string, string][]} */ (Object.entries(FIELDS)), { 'aria-label': 'Field' });
	const pattern = el('input', {
		placeholder: 'text or regular expression',
		spellcheck: false,
		'aria-label': 'Regular expression'
	});
	const preset = select(
		[['', 'common filters …'], ...PRESETS.map(([name, text]) => /** @type {[string, string]} */ ([text, name]))],
		{
			'aria-label': 'Common filters',
			onchange: () => {
				add(preset.value);
				preset.value = '';
			}
		}
	);
	const form = el(
		'form',
		{
			class: 'filter-form',
			hidden: true,
			onsubmit: (/** @type {Event} */ e) => {
				e.preventDefault();
				if (pattern.value)
					add(`${what.value}.${field.value}~${pattern.value.replace(/%/g, '%25').replace(/;/g, '%3B')}`);
				pattern.value = '';
			}
		},
		what,
		field,
		pattern,
		el('button', {}, 'Add'),
		labelled('Hide', preset)
	);
	const element = el('div', { class: 'filters' }, chips, open, form);

	const list = () => parseFilters(app.state.f) || [];
	/** @param {import('./filters.js').Filter[]} to */
	const set = (to) => app.setState({ f: formatFilters(to) }, { push: true });
	/** @param {string} text */
	function add(text) {
		const more = parseFilters(text);
		if (more?.length) app.setState({ f: addFilter(app.state.f, more) }, { push: true });
	}
	/** @param {number} i @param {number} by */
	function move(i, by) {
		const all = list(),
			[one] = all.splice(i, 1);
		all.splice(Math.max(0, i + by), 0, one);
		set(all);
	}
	function draw() {
		chips.replaceChildren(
			...list().map((f, i) =>
				el(
					'span',
					{ class: `chip filter ${f.off ? 'off' : ''}`, role: 'listitem' },
					button(
						plain(filterText(f)),
						() => set(list().map((g, k) => (k === i ? { ...g, off: !g.off } : g))),
						{
							'aria-pressed': String(!f.off),
							title: 'Turn on or off; arrow keys move it',
							onkeydown: (/** @type {KeyboardEvent} */ e) => {
								if (e.key === 'ArrowLeft' || e.key === 'ArrowRight')
									move(i, e.key === 'ArrowLeft' ? -1 : 1);
							}
						}
					),
					button('×', () => set(list().filter((_, k) => k !== i)), {
						'aria-label': `Remove: ${plain(filterText(f))}`
					})
				)
			)
		);
	}
	return { element, draw };
}
