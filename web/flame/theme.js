/* flame/theme.js: the colours of a paint as pixels, on the current background. */
import { MATCH, STEPS, fillOf } from '../colours.js';
import { pixel } from './raster.js';

/** @typedef {import('./raster.js').Inks} Inks */

const FADED = 0.45,
	RUN = 0.12;

/** "rgb(1, 2, 3)" as 0xrrggbb. @param {string} css @param {number} otherwise where it is transparent */
function toRgb(css, otherwise) {
	const parts = css.match(/[\d.]+/g);
	if (!parts || parts.length < 3 || Number(parts[3] ?? 1) === 0) return otherwise;
	return (Number(parts[0]) << 16) | (Number(parts[1]) << 8) | Number(parts[2]);
}
/** @param {number} from @param {number} to @param {number} part */
function blend(from, to, part) {
	return [16, 8, 0].reduce((rgb, shift) => {
		const a = (from >> shift) & 255,
			b = (to >> shift) & 255;
		return rgb | (Math.round(a + (b - a) * part) << shift);
	}, 0);
}
/** shown: the groups that keep their colour, none for all. faded: the same for frames above the one in view.
 * @param {HTMLElement} root @param {import('../colours.js').Paint} paint @param {Set<number>} shown
 * @param {boolean} flipped */
export function themed(root, paint, shown, flipped) {
	const style = getComputedStyle(root),
		{ groups, ofNode, ofFrame, step } = paint;
	const background = toRgb(style.backgroundColor, 0xffffff),
		run = blend(background, toRgb(style.color, 0x111111), RUN);
	const colours = new Uint32Array(groups.length * STEPS),
		faded = colours.slice();
	for (let i = 0; i < colours.length; i++) {
		const group = (i / STEPS) | 0,
			rgb = shown.size && !shown.has(group) ? run : fillOf(groups[group], i % STEPS);
		colours[i] = pixel(rgb);
		faded[i] = pixel(blend(background, rgb, FADED));
	}
	/** @type {Inks} */
	const inks = { colours, steps: STEPS, ofNode, ofFrame, step };
	return {
		look: { background: pixel(background), run: pixel(run), match: pixel(MATCH), flipped },
		inks,
		fadedInks: { ...inks, colours: faded }
	};
}
