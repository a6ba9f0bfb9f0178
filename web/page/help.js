/* help.js: the keys, and how to read each screen. */

import { button, el } from './dom.js';

/** @type {{[route: string]: string}} */
const SCREENS = {
	explore:
		'Select a type and labels, drag over a part of the graph, and the panes below show what ran in it. ' +
		'Shift+drag compares the selection with the previous period of the same length.',
	timeline:
		'All rows share one time axis: the machine at the top, threads below. Drag to select a range and see ' +
		'what ran in it.',
	compare:
		'Two selections, A before and B after. Red is more in B, blue is less. With shares, each side counts as 100 %.',
	targets: 'Senders, the cost of recording, losses, and unsymbolized binaries.',
	import: 'Drop a file of any supported format. It is shown but not stored.'
};
/** @type {[group: string, keys: [keys: string, what: string][]][]} */
const KEYS = [
	[
		'Everywhere',
		[
			['?', 'show this help'],
			['D', 'switch theme'],
			['Tab', 'next control'],
			['Esc', 'close, or go back']
		]
	],
	[
		'Explore',
		[
			['/', 'search; Enter goes to the next match'],
			['n N', 'next, previous match'],
			['0', 'reset zoom'],
			['1 2 3 4', 'panes: flame graph, table, chart, heatmap'],
			['t', 'table'],
			['c', 'next colour scheme'],
			['i', 'root at the bottom'],
			['v', 'leaves first'],
			['k', 'hide or show the kernel'],
			['x', 'hide the focused function'],
			['y', 'copy the focused stack'],
			['e', 'export'],
			['g', 'group by'],
			['[ ]', 'previous, next type'],
			['.', 'pause, resume'],
			['d', 'details panel']
		]
	],
	[
		'Timeline',
		[
			['a d', 'move left, right'],
			['w s', 'zoom in, out'],
			['f', 'show the whole range'],
			['Shift ← →', 'select a range'],
			['Enter', 'zoom to selection'],
			['m', 'mark the time under the cursor'],
			['h', 'heatmap'],
			['click on a GPU box', 'the stack that requested it'],
			['Esc', 'clear selection']
		]
	],
	[
		'Graph over time',
		[
			['← →', 'move'],
			['Shift ← →', 'select a range'],
			['Enter', 'apply the selection'],
			['Shift Enter', 'compare with previous period'],
			['Esc', 'whole range']
		]
	],
	[
		'Flame graph',
		[
			['← → ↑ ↓', 'sibling, parent, heaviest child'],
			['Enter', 'zoom in'],
			['Shift Enter', 'menu'],
			['+ −', 'zoom in, out'],
			['Esc 0', 'reset zoom']
		]
	]
];
const READING = [
	'The width of a box is the total of a function: its own samples and those of its callees below ' +
		'it. The order from left to right has no meaning.',
	'Percentages are shares of the current view and of everything. A search does not change them; a filter ' +
		'shows how much is left.',
	'Grey boxes named “(… frames)” stand for frames too narrow to draw. Zoom in to see them.',
	'“[blocked: …]”, “[sched-wait]” and “[waiting for GPU]” at the end of a stack are time in which the ' +
		'thread waited, and the reason.'
];

/** @param {string} route */
export function showHelp(route) {
	document.querySelector('dialog.help')?.remove();
	const close = () => dialog.close();
	const dialog = el(
		'dialog',
		{ class: 'help', 'aria-label': 'Help', onclose: () => dialog.remove() },
		el('p', {}, SCREENS[route]),
		...(route === 'explore' || route === 'compare'
			? [el('h3', {}, 'How to read a flame graph'), el('ul', {}, ...READING.map((t) => el('li', {}, t)))]
			: []),
		...KEYS.flatMap(([group, keys]) => [
			el('h3', {}, group),
			el(
				'div',
				{ class: 'keys' },
				...keys.map(([k, what]) => el('p', {}, ...k.split(' ').map((one) => el('kbd', {}, one)), ' ', what))
			)
		]),
		el('p', {}, button('Close', close))
	);
	document.body.append(dialog);
	dialog.showModal();
}
