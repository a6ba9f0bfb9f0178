/* help.js: the keys, and how each screen is read. */

import { button, el } from './dom.js';

/** @type {{[route: string]: string}} */
const SCREENS = {
	explore:
		'Choose a type and labels, drag over a part of the graph, and the panes below show what ran in it. Shift ' +
		'and drag compares it with as long a time before.',
	timeline: 'All rows share one axis of time: the machine on top, threads below. Drag to see what ran in a part.',
	compare:
		'Two selections, A before and B after. Red is more in B, blue is less; with “share” each side counts as 100 %.',
	targets: 'Who sends, what that costs, what was lost, and which binaries have no names.',
	import: 'Drop a file of any format that cresset reads. It is shown and not kept.'
};
/** @type {[group: string, keys: [keys: string, what: string][]][]} */
const KEYS = [
	[
		'Everywhere',
		[
			['?', 'this help'],
			['D', 'dark or light'],
			['Tab', 'from one control to the next'],
			['Esc', 'closes, goes back out']
		]
	],
	[
		'Explore',
		[
			['/', 'search; Enter is the next match'],
			['n N', 'next, previous match'],
			['0', 'zoom out'],
			['1 2 3 4', 'panes: flame graph, table, chart, heatmap'],
			['t', 'table'],
			['c', 'next colours'],
			['i', 'root at the bottom'],
			['v', 'leaves first'],
			['k', 'without the kernel, and with it'],
			['x', 'hide the function in focus'],
			['y', 'copy the stack in focus'],
			['e', 'export'],
			['g', 'group by'],
			['[ ]', 'previous, next type'],
			['.', 'pause, go on'],
			['d', 'details at the side']
		]
	],
	[
		'Timeline',
		[
			['a d', 'earlier, later'],
			['w s', 'closer, further'],
			['f', 'everything that was asked for'],
			['Shift ← →', 'choose a part'],
			['Enter', 'zoom to it'],
			['m', 'mark the moment under the cursor'],
			['h', 'heatmap'],
			['click on a box of a GPU', 'who asked for it'],
			['Esc', 'choose nothing']
		]
	],
	[
		'Graph over time',
		[
			['← →', 'move'],
			['Shift ← →', 'choose a part'],
			['Enter', 'take it'],
			['Shift Enter', 'compare it with before'],
			['Esc', 'the whole']
		]
	],
	[
		'Flame graph',
		[
			['← → ↑ ↓', 'beside, parent, heaviest child'],
			['Enter', 'zoom'],
			['Shift Enter', 'menu'],
			['+ −', 'wider, narrower'],
			['Esc 0', 'everything']
		]
	]
];
const READING = [
	'Width is how much a function took with all it called; what is below it is what it called. The order from ' +
		'left to right has no meaning.',
	'Percentages are of what is in view, and of everything. A search changes none of them; a filter says how ' +
		'much is left.',
	'Grey boxes named “(… frames)” stand for what is too narrow to draw: zoom in, and they come.',
	'“[blocked: …]”, “[sched-wait]” and “[waiting for GPU]” at the end of a stack are time in which it ' +
		'waited, and for what.'
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
