/* complete.js: suggestions below the label field: names, operators, and values that the server knows. */

import { el } from './dom.js';
import { completionAt } from './selector.js';

const MOST = 12,
	OPS = ['=', '!=', '=~', '!~'];
let ids = 0;

export class Completion {
	/** @param {import('./app.js').App} app @param {any} input @param {() => string} type @param {() => void} submit */
	constructor(app, input, type, submit) {
		this.app = app;
		this.input = input;
		this.type = type;
		this.submit = submit;
		this.id = `complete-${++ids}`;
		this.list = el('ul', {
			role: 'listbox',
			id: this.id,
			class: 'complete',
			hidden: true,
			'aria-label': 'Suggestions'
		});
		input.after(this.list);
		input.setAttribute('aria-controls', this.id);
		this.at = -1;
		this.turn = 0;
		/** @type {any} */
		this.place = null;
		for (const name of ['input', 'click', 'focus']) input.addEventListener(name, () => this.suggest());
		input.addEventListener('keydown', (/** @type {KeyboardEvent} */ e) => this.key(e));
		input.addEventListener('blur', () => this.close());
		this.suggest();
	}
	/** @param {any} place @returns {Promise<string[]>} */
	async candidates(place) {
		if (place.kind === 'label') return this.app.labels;
		if (place.kind === 'op') return OPS;
		const match = place.before ? `${this.type()}{${place.before}}` : this.type();
		return this.app.ask('api/v1/values', { name: place.label, match });
	}
	async suggest() {
		const mine = ++this.turn,
			place = completionAt(this.input.value, this.input.selectionStart ?? 0);
		const all = await this.candidates(place).catch(() => /** @type {string[]} */ ([]));
		if (mine !== this.turn || document.activeElement !== this.input) return;
		const text = place.text.toLowerCase(),
			found = all.filter((c) => c.toLowerCase().includes(text) && (c !== place.text || place.kind === 'value'));
		found.sort((a, b) => +b.toLowerCase().startsWith(text) - +a.toLowerCase().startsWith(text));
		this.place = place;
		this.show(found.slice(0, MOST));
	}
	/** @param {string[]} found */
	show(found) {
		this.at = -1;
		this.list.replaceChildren(
			...found.map((c, i) =>
				el(
					'li',
					{
						role: 'option',
						id: `${this.id}-${i}`,
						'aria-selected': 'false',
						onpointerdown: (/** @type {Event} */ e) => {
							e.preventDefault();
							this.take(c);
						}
					},
					c || '(none)'
				)
			)
		);
		this.found = found;
		this.list.hidden = !found.length;
		this.input.setAttribute('aria-expanded', String(!!found.length));
		this.input.removeAttribute('aria-activedescendant');
	}
	close() {
		this.turn++;
		this.show([]);
	}
	/** @param {number} to */
	move(to) {
		const n = this.list.children.length;
		this.at = (to + n) % n;
		[...this.list.children].forEach((c, i) => c.setAttribute('aria-selected', String(i === this.at)));
		this.list.children[this.at].scrollIntoView({ block: 'nearest' });
		this.input.setAttribute('aria-activedescendant', `${this.id}-${this.at}`);
	}
	/** @param {KeyboardEvent} e */
	key(e) {
		const open = !this.list.hidden;
		if (open && (e.key === 'ArrowDown' || e.key === 'ArrowUp'))
			this.move(this.at < 0 && e.key === 'ArrowUp' ? -1 : this.at + (e.key === 'ArrowDown' ? 1 : -1));
		else if (open && this.at >= 0 && (e.key === 'Enter' || e.key === 'Tab'))
			this.take(/** @type {string[]} */ (this.found)[this.at]);
		else if (open && e.key === 'Escape') this.close();
		else return;
		e.preventDefault();
		e.stopPropagation();
	}
	/** @param {string} choice */
	take(choice) {
		const { kind, from, to } = this.place,
			old = this.input.value;
		const plain = /^[A-Za-z_]\w*$/.test(choice);
		const text =
			kind === 'value'
				? `"${choice.replace(/[\\"]/g, '\\$&')}"`
				: kind === 'label' && !plain
					? JSON.stringify(choice)
					: choice;
		this.input.value = old.slice(0, from) + text + old.slice(to);
		this.input.setSelectionRange(from + text.length, from + text.length);
		if (kind === 'value') {
			this.close();
			this.submit();
		} else {
			this.suggest();
		}
	}
}
