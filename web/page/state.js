/* state.js: the state of the page, as the query of the address: a link shows the same. Unknown keys are kept. */

import { parseFilters } from './filters.js';

/** @typedef {{[key: string]: string}} State */

const OFFSET = '(?:[+-](?:\\d+(?:\\.\\d+)?(?:[num]?s|m|h|d|w))+)?';
const DATE = '\\d{4}-\\d\\d-\\d\\d(?:[T ]\\d\\d:\\d\\d.*)?';
const TIME = new RegExp(`^(?:(?:now|start|end)${OFFSET}|\\d{1,19}(?:\\.\\d+)?|${DATE})$`);
export const PANES = ['flame', 'table', 'chart', 'heatmap'];
export const MODES = ['kind', 'wall', 'binary', 'package', 'gpu', 'diff', 'contrast'];
export const NORMS = ['share', 'rate', 'abs'];

/** @param {string} v */
const isTime = (v) => (TIME.test(v) ? '' : 'is not a time');
/** @param {string[]} words @returns {(v: string) => string} */
const oneOf = (words) => (v) => (words.includes(v) ? '' : `is not one of ${words.join(', ')}`);
const text = (/** @type {string} */ v) => (v.length <= 4096 ? '' : 'is too long');
/** @param {string} v */
function isPanes(v) {
	const names = v.split(',');
	return names.length <= 2 && names.every((n) => PANES.includes(n)) ? '' : `is not one or two of ${PANES.join(', ')}`;
}
/** @param {string} v */
function isFilters(v) {
	return parseFilters(v) ? '' : 'is not a list of filters';
}
/** Two times in ms, since 1970 or, without a clock, since the start. @param {string} v */
function isSpan(v) {
	const span = parseSpan(v);
	return span && span[1] > span[0] ? '' : 'is not a time range';
}
/** @param {string} v @returns {[number, number]|null} */
export function parseSpan(v) {
	const m = /^(\d{1,16}(?:\.\d{1,6})?)-(\d{1,16}(?:\.\d{1,6})?)$/.exec(v);
	return m && [+m[1], +m[2]];
}
/** @param {number} from @param {number} to */
export function spanText(from, to) {
	const ms = (/** @type {number} */ v) => String(+Math.max(0, v).toFixed(3));
	return `${ms(from)}-${ms(to)}`;
}

const UNITS_MS = { ns: 1e-6, us: 1e-3, ms: 1, s: 1e3, m: 60e3, h: 3600e3, d: 86400e3, w: 7 * 86400e3 };
/**
 * The moment of a time in the address, in ms; NaN if it names none.
 * @param {string} text
 * @param {{now: number, start: number, end: number}} at ms
 */
export function momentOf(text, at) {
	const m = /^(now|start|end)(?:([+-])(.+))?$/.exec(text);
	if (!m)
		return /^\d+(\.\d+)?$/.test(text)
			? Number(text) *
					[1e3, 1, 1e-3, 1e-6][Math.min(3, Math.max(0, Math.ceil((text.split('.')[0].length - 10) / 3)))]
			: Date.parse(text);
	let ms = 0;
	for (const [, n, unit] of (m[3] || '').matchAll(/(\d+(?:\.\d+)?)(ns|us|ms|s|m|h|d|w)/g))
		ms += Number(n) * UNITS_MS[/** @type {'s'} */ (unit)];
	return at[/** @type {'now'} */ (m[1])] + (m[2] === '-' ? -ms : ms);
}

/** The known keys: [default, what is wrong with a value]. @type {{[key: string]: [string, (v: string) => string]}} */
const KEYS = {
	q: ['', text],
	from: ['', isTime],
	to: ['', isTime],
	by: ['', text],
	v: ['flame,table', isPanes],
	c: ['kind', oneOf(MODES)],
	z: ['', text],
	s: ['', text],
	f: ['', isFilters],
	inv: ['', oneOf(['1'])],
	flip: ['', oneOf(['1'])],
	rec: ['', oneOf(['1'])],
	sw: ['', text],
	sel: ['', isSpan],
	stack: ['', (v) => (/^([0-9a-f]{32})?$/.test(v) ? '' : 'is not a stack id')],
	qb: ['', text],
	fromb: ['', isTime],
	tob: ['', isTime],
	norm: ['share', oneOf(NORMS)],
	strict: ['', oneOf(['1'])]
};
const MAX_UNKNOWN = 64;

/** @param {string} key */
export const defaultOf = (key) => (KEYS[key] ? KEYS[key][0] : '');

/** @param {string} query of the address @returns {{state: State, notices: string[]}} */
export function parseState(query) {
	/** @type {State} */
	const state = {};
	const notices = [];
	for (const key of Object.keys(KEYS)) state[key] = KEYS[key][0];
	for (const [key, v] of [...new URLSearchParams(query)].slice(0, MAX_UNKNOWN)) {
		const wrong = v !== '' && Object.hasOwn(KEYS, key) ? KEYS[key][1](v) : '';
		if (wrong) notices.push(`${key}=${v.slice(0, 60)} ${wrong}: ignored`);
		else Object.defineProperty(state, key, { value: v, writable: true, enumerable: true, configurable: true });
	}
	return { state, notices };
}

/** "" or "?q=…". @param {State} state */
export function formatState(state) {
	const kept = Object.entries(state).filter(([key, v]) => v !== '' && v !== defaultOf(key));
	/* These need no escape in a query, and read better as they are. */
	const text = new URLSearchParams(kept)
		.toString()
		.replace(/%7B/g, '{')
		.replace(/%7D/g, '}')
		.replace(/%3D/g, '=')
		.replace(/%2C/g, ',')
		.replace(/%2F/g, '/')
		.replace(/%3A/g, ':')
		.replace(/%3B/g, ';')
		.replace(/%7E/g, '~');
	return text && '?' + text;
}
