/* flame/keys.js: keyboard control of the graph. The arrows move a focus frame, which is announced; Enter zooms to
 * it. */
import { sentence } from './tip.js';

/** @typedef {import('../flame.js').Flame} Flame */

const PAN_PART = 0.2,
	ZOOM_STEP = 1.5;

export class Keys {
	/** @param {Flame} flame */
	constructor(flame) {
		const { canvas } = flame;
		this.flame = flame;
		canvas.addEventListener('keydown', (e) => {
			if (!e.altKey && !e.ctrlKey && !e.metaKey && this.press(e.key, e.shiftKey)) e.preventDefault();
		});
		canvas.addEventListener('focus', () => this.moveTo(flame.focus));
		canvas.addEventListener('blur', () => flame.placeRings());
	}
	/** Whether the key was handled. @param {string} key @param {boolean} shift */
	press(key, shift) {
		const { flame } = this;
		if (key.startsWith('Arrow')) this.moveTo(this.target(key));
		else if (key === 'Home') this.moveTo(0);
		else if (key === 'ContextMenu' || (shift && (key === 'F10' || key === 'Enter'))) this.menu();
		else if (key === 'Enter' || key === ' ') flame.select(flame.focus, true);
		else if (key === 'Escape' || key === '0') flame.reset();
		else return this.command(key);
		return true;
	}
	/** @param {string} key */
	command(key) {
		const { flame } = this,
			{ x0, x1 } = flame.view,
			by = (x1 - x0) * PAN_PART;
		/** @type {{[key: string]: () => void}} */
		const commands = {
			n: () => {
				flame.next();
			},
			N: () => {
				flame.previous();
			},
			i: () => flame.flip(),
			c: () => flame.cycleMode(),
			d: () => flame.dock(),
			'+': () => flame.zoomAt(flame.width / 2, ZOOM_STEP),
			'-': () => flame.zoomAt(flame.width / 2, 1 / ZOOM_STEP),
			'[': () => flame.setView(x0 - by, x1 - by),
			']': () => flame.setView(x0 + by, x1 + by)
		};
		if (!Object.hasOwn(commands, key)) return false;
		commands[key]();
		return true;
	}
	/** The node that an arrow leads to; the current one if there is none. @param {string} key */
	target(key) {
		const { layout, focus, flipped } = this.flame,
			down = flipped ? 'ArrowUp' : 'ArrowDown';
		const to =
			key === 'ArrowLeft'
				? layout.beside(focus, -1)
				: key === 'ArrowRight'
					? layout.beside(focus, 1)
					: key === down
						? layout.heaviest(focus)
						: layout.up(focus);
		return to < 0 ? focus : to;
	}
	/** @param {number} node */
	moveTo(node) {
		const { flame } = this;
		flame.focus = node;
		flame.bringIntoView(node);
		flame.hover(-1, 0, 0);
		flame.say(sentence(flame.layout, node, flame.zoom));
		flame.emit('select', { node });
	}
	menu() {
		const { flame } = this,
			{ view, layout, focus } = flame,
			px = flame.width / (view.x1 - view.x0);
		const x = Math.max(0, Math.min(flame.width, (layout.start[focus] - view.x0) * px)) + 8;
		flame.menu(focus, x, flame.top(flame.tree.depth[focus]) + flame.rowHeight);
	}
}
