/* export.js: saves the current view as a file. */

import { save } from './dom.js';
import { openMenu } from './menu.js';

/** @type {[name: string, fmt: string, file: string, more?: {[key: string]: any}][]} */
const FILES = [
	['pprof', 'pprof', 'profile.pb.gz'],
	['folded stacks', 'folded', 'profile.folded'],
	['SVG', 'svg', 'profile.svg', { icicle: 1 }],
	['speedscope', 'speedscope', 'profile.speedscope.json'],
	['self-contained HTML', 'html', 'profile.html']
];

/** @param {import('./panes.js').Panes} panes @param {HTMLElement} at */
export function exportMenu(panes, at) {
	const box = at.getBoundingClientRect(),
		{ app } = panes;
	const files = FILES.map(
		([name, fmt, file, more]) =>
			/** @type {[string, () => void]} */ ([
				name,
				async () => {
					try {
						const answer = await app.fetch('api/v1/flame', { ...panes.question(), fmt, ...more });
						save(await answer.blob(), file);
					} catch (e) {
						app.notify(/** @type {Error} */ (e).message);
					}
				}
			])
	);
	const png = /** @type {[string, () => void]} */ (['PNG of this view', () => picture(panes)]);
	openMenu(box.left, box.bottom + 2, 'Export', [...files.slice(0, 3), png, ...files.slice(3)], () => at.focus());
}
/** @param {import('./panes.js').Panes} panes */
function picture(panes) {
	panes.flame.flame?.canvas.toBlob((/** @type {Blob|null} */ blob) => blob && save(blob, 'profile.png'));
}
