/* menu.js: actions on a frame. */

import { el, copy } from './dom.js';
import { exactly } from './filters.js';

/** @typedef {import('./panes.js').Panes} Panes */

/** The nodes from the root down. @param {any} tree @param {number} node @returns {number[]} */
function pathTo(tree, node) {
	const path = [];
	for (let i = node; i > 0; i = tree.parent[i]) path.push(i);
	return path.reverse();
}
/** @param {any} tree @param {number} i */
const nameOf = (tree, i) => tree.frames.name[tree.frame[i]];
/** One frame per line, innermost first. @param {any} tree @param {number} node */
export function stackText(tree, node) {
	return (
		pathTo(tree, node)
			.reverse()
			.map((i) => {
				const f = tree.frame[i],
					file = tree.frames.file[f],
					line = tree.frames.line[f];
				return [
					nameOf(tree, i),
					tree.frames.mapping[f] && `(${tree.frames.mapping[f]})`,
					file && file + (line ? `:${line}` : '')
				]
					.filter(Boolean)
					.join('  ');
			})
			.join('\n') + '\n'
	);
}
/** @param {any} tree @param {number} node */
export function stackFolded(tree, node) {
	return (
		pathTo(tree, node)
			.map((i) => nameOf(tree, i).replace(/[;\n]/g, ':'))
			.join(';') + ` ${tree.total[node]}\n`
	);
}

/** @param {Panes} panes @param {any} tree @param {number} node @param {any} flame @returns {[string, () => void][]} */
function entries(panes, tree, node, flame) {
	const name = nameOf(tree, node),
		binary = tree.frames.mapping[tree.frame[node]],
		{ app } = panes;
	const said = (/** @type {string} */ what, /** @type {string} */ text) =>
		copy(text).then(() => app.notify(`${what} copied.`));
	/** @param {any} what @param {any} field @param {string} text */
	const filter = (what, field, text) => panes.filter({ what, field, regex: exactly(text), off: false });
	return /** @type {[string, () => void][]} */ (
		[
			['Zoom', () => flame.zoomTo(node)],
			['Callers and callees', () => panes.open(name)],
			['Copy name', () => said('Name', name)],
			['Copy stack as text', () => said('Stack', stackText(tree, node))],
			['Copy folded stack', () => said('Stack', stackFolded(tree, node))],
			['Focus on function', () => filter('s', 'fn', name)],
			['Exclude stacks with function', () => filter('-s', 'fn', name)],
			['Collapse into caller', () => filter('-x', 'fn', name)],
			binary && [
				`Hide frames of ${binary.split('/').at(-1)}`,
				() => filter('-x', 'bin', binary.split('/').at(-1))
			],
			[app.state.rec ? 'Show recursion' : 'Collapse recursion', () => panes.press('rec')],
			['Hide kernel frames', () => panes.kernel()],
			['Find in the timeline', () => app.go('timeline', { s: `/${exactly(name)}/` })]
		].filter(Boolean)
	);
}
/** @param {Panes} panes @param {{node: number, x: number, y: number, flame: any}} e */
export function frameMenu(panes, e) {
	const { tree } = e.flame;
	if (e.node <= 0) return;
	openMenu(e.x, e.y, nameOf(tree, e.node), entries(panes, tree, e.node, e.flame), () => e.flame.canvas.focus());
}
/** Applies an action to the focused frame, by key. @param {Panes} panes @param {'hide'|'copy'} what */
export function act(panes, what) {
	const { flame } = panes.flame;
	if (!flame || flame.focus <= 0) return;
	const list = entries(panes, flame.tree, flame.focus, flame);
	/** @type {[string, () => void]} */ (
		list.find(([text]) => text === (what === 'hide' ? 'Collapse into caller' : 'Copy stack as text'))
	)[1]();
}

/** A menu at a point: arrows move, Enter chooses, Escape closes. @param {number} x @param {number} y @param {string}
 * name
 * @param {[string, () => void][]} list @param {() => void} back gives the focus back */
export function openMenu(x, y, name, list, back) {
	document.querySelector('.menu')?.remove();
	const close = () => {
		menu.remove();
		removeEventListener('pointerdown', outside, true);
		removeEventListener('resize', close);
		back();
	};
	const items = list.map(([text, fn]) =>
		el(
			'button',
			{
				type: 'button',
				role: 'menuitem',
				tabindex: -1,
				onclick: () => {
					close();
					fn();
				}
			},
			text
		)
	);
	const menu = el(
		'div',
		{
			class: 'menu',
			role: 'menu',
			'aria-label': name,
			onkeydown: (/** @type {KeyboardEvent} */ e) => {
				const at = items.indexOf(document.activeElement),
					to = { ArrowDown: at + 1, ArrowUp: at - 1 + items.length, Home: 0, End: items.length - 1 }[e.key];
				if (to !== undefined) items[to % items.length].focus();
				else if (e.key === 'Escape' || e.key === 'Tab') close();
				else return;
				e.preventDefault();
				e.stopPropagation();
			}
		},
		...items
	);
	const outside = (/** @type {Event} */ e) => menu.contains(/** @type {Node} */ (e.target)) || close();
	document.body.append(menu);
	menu.style.left = `${Math.max(4, Math.min(x, innerWidth - menu.offsetWidth - 8))}px`;
	menu.style.top = `${Math.max(4, Math.min(y, innerHeight - menu.offsetHeight - 8))}px`;
	addEventListener('pointerdown', outside, true);
	addEventListener('resize', close);
	items[0]?.focus();
}
