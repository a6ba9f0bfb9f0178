/* flame/legend.js: the meaning of the colours, and each one's share of all self values. A click shows one group alone;
 * with Ctrl or Shift it adds one. */
import { fillOf, legend } from '../colours.js';
import { share } from '../units.js';
import { element } from './tip.js';

/** @typedef {import('../colours.js').Paint} Paint */

export class Legend {
	/** @param {HTMLElement} host @param {(groups: Set<number>) => void} onChange  empty: all are shown */
	constructor(host, onChange) {
		this.box = element('div', 'flame-legend');
		this.box.setAttribute('role', 'group');
		this.box.setAttribute('aria-label', 'Colours; choose one to see it alone');
		/** @type {Set<string>} labels, so that a choice outlives a new tree */
		this.chosen = new Set();
		this.onChange = onChange;
		/** @type {ReturnType<typeof legend>} */
		this.lines = [];
		host.append(this.box);
	}
	/** @param {Paint} paint */
	set(paint) {
		this.lines = legend(paint);
		const labels = new Set(this.lines.map((line) => line.label));
		this.chosen = new Set([...this.chosen].filter((label) => labels.has(label)));
		this.box.replaceChildren(...this.lines.map((line) => this.button(line, paint)));
		this.tell();
	}
	/** @param {ReturnType<typeof legend>[number]} line @param {Paint} paint */
	button(line, paint) {
		const button = element('button', 'flame-group'),
			swatch = element('span', 'flame-swatch');
		button.setAttribute('type', 'button');
		const group = paint.groups[line.groups.length === 1 ? line.groups[0] : -1];
		swatch.style.backgroundColor = '#' + (group ? fillOf(group, 2) : line.rgb).toString(16).padStart(6, '0');
		button.append(swatch, line.label + (line.self >= 0 ? ' ' + share(line.self, 1) : ''));
		button.addEventListener('click', (e) => this.choose(line.label, e.ctrlKey || e.metaKey || e.shiftKey));
		return button;
	}
	/** @param {string} label @param {boolean} more */
	choose(label, more) {
		const only = this.chosen.size === 1 && this.chosen.has(label);
		if (!more) {
			this.chosen.clear();
			if (!only) this.chosen.add(label);
		} else if (!this.chosen.delete(label)) this.chosen.add(label);
		this.tell();
	}
	tell() {
		this.lines.forEach((line, i) =>
			this.box.children[i].setAttribute('aria-pressed', String(this.chosen.has(line.label)))
		);
		this.onChange(new Set(this.lines.filter((line) => this.chosen.has(line.label)).flatMap((line) => line.groups)));
	}
}
