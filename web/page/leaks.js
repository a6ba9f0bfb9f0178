/* leaks.js: stacks with memory in use that grows, as the server finds them: in a range, of memory of some age. */

import { plain, share, value } from '../units.js';
import { button, el, select } from './dom.js';
import { addFilter, exactly } from './filters.js';

/** @typedef {import('./app.js').App} App */

const AGES = /** @type {[string, string][]} */ ([
	['0', 'any age'],
	['1m', 'older than 1 min'],
	['10m', 'older than 10 min'],
	['1h', 'older than 1 h']
]);
const ALLOCATORS = new Set([
	'malloc',
	'calloc',
	'realloc',
	'reallocarray',
	'memalign',
	'aligned_alloc',
	'posix_memalign',
	'valloc',
	'pvalloc',
	'operator new',
	'operator new[]'
]);
/** @param {string} name */
const isAllocator = (name) => ALLOCATORS.has(name) || name.startsWith('runtime.');

/** The innermost function that is not an allocator. @param {string[]} stack */
export function siteOf(stack) {
	for (let i = stack.length - 1; i >= 0; i--) if (!isAllocator(stack[i])) return stack[i];
	return stack[stack.length - 1] || '';
}
/** @param {any} leak @param {string} unit */
const interval = (leak, unit) => `${value(leak.per_hour_low, unit)} to ${value(leak.per_hour_high, unit)}`;

export class Leaks {
	/** @param {HTMLElement} host @param {App} app @param {() => {[key: string]: any}} query */
	constructor(host, app, query) {
		this.app = app;
		this.query = query;
		this.older = select(AGES, { 'aria-label': 'Age of the memory', onchange: () => this.load() });
		this.older.value = '10m';
		this.text = el('p', { class: 'dim', role: 'status' });
		this.body = el('div');
		this.asked = 0;
		host.replaceChildren(
			el(
				'div',
				{ class: 'row' },
				el('h3', {}, 'Leaks'),
				this.older,
				el(
					'span',
					{ class: 'right' },
					button('Close', () => this.close())
				)
			),
			this.text,
			this.body
		);
		host.hidden = false;
		this.host = host;
	}
	close() {
		this.asked++;
		this.host.hidden = true;
		this.host.replaceChildren();
	}
	async load() {
		const mine = ++this.asked;
		this.text.textContent = 'Loading …';
		try {
			const { leaks, unit } = await this.app.ask('api/v1/leaks', { ...this.query(), older: this.older.value });
			if (mine === this.asked) this.draw(leaks, unit);
		} catch (e) {
			if (mine !== this.asked) return;
			this.body.replaceChildren();
			this.text.textContent = [/** @type {any} */ (e).message, /** @type {any} */ (e).hint]
				.filter(Boolean)
				.join('. ');
		}
	}
	/** @param {any[]} leaks @param {string} unit */
	draw(leaks, unit) {
		this.text.textContent = leaks.length
			? 'Memory in use that grows, also in the second half of the range.'
			: 'No stack has memory in use that grows.';
		this.body.replaceChildren(...(leaks.length ? [this.table(leaks, unit)] : []));
	}
	/** @param {any[]} leaks @param {string} unit */
	table(leaks, unit) {
		const names = ['Function', 'Growth an hour', '95 %', 'In use', 'Survives', 'Process'],
			isNumber = (/** @type {number} */ i) => i > 0 && i < names.length - 1;
		return el(
			'table',
			{ 'aria-label': 'Leaks' },
			el(
				'thead',
				{},
				el('tr', {}, ...names.map((n, i) => el('th', { scope: 'col', class: isNumber(i) ? 'n' : '' }, n)))
			),
			el('tbody', {}, ...leaks.map((l) => this.row(l, unit)))
		);
	}
	/** @param {any} leak @param {string} unit */
	row(leak, unit) {
		const site = siteOf(leak.stack);
		return el(
			'tr',
			{},
			el(
				'td',
				{},
				button(plain(site), () => this.only(site), {
					title: leak.stack.slice().reverse().map(plain).join('\n')
				})
			),
			el('td', { class: 'n' }, value(leak.per_hour, unit)),
			el('td', { class: 'n' }, interval(leak, unit)),
			el('td', { class: 'n' }, value(leak.last, unit)),
			el('td', { class: 'n' }, leak.survives === null ? '' : share(leak.survives, 1)),
			el('td', {}, plain(leak.process))
		);
	}
	/** Only the stacks with this function. @param {string} name */
	only(name) {
		const { app } = this;
		const filter = /** @type {import('./filters.js').Filter} */ ({
			what: 's',
			field: 'fn',
			regex: exactly(name),
			off: false
		});
		app.setState({ f: addFilter(app.state.f, filter) }, { push: true });
	}
}
