/* times.js: shared by all screens: the default type, and conversions of times. */

import { momentOf } from './state.js';

/** @typedef {import('./app.js').App} App */

/** The default type. @param {App} app */
export const firstType = (app) => (app.types.find((t) => t.type === 'cpu') || app.types[0])?.type || 'cpu';
/**
 * A moment in the server's form; at the ends of the data it is rounded outwards, so that nothing is left out.
 * @param {App} app
 * @param {number} ms
 */
export function moment(app, ms) {
	const { from, from_ns, to_ns } = app.status.data,
		round = ms >= to_ns / 1e6 ? Math.ceil : ms <= from_ns / 1e6 ? Math.floor : Math.round;
	return from === null ? `start+${Math.max(0, ms - from_ns / 1e6).toFixed(3)}ms` : new Date(round(ms)).toISOString();
}

/**
 * The current meaning of two times in the address; NaN: they name none.
 * @param {App} app
 * @param {string} from
 * @param {string} to
 * @returns {[number, number]} ms
 */
export function momentsOf(app, from, to) {
	const { data } = app.status,
		isStore = data.kind === 'store',
		at = { now: Date.now(), start: data.from_ns / 1e6, end: data.to_ns / 1e6 };
	return [momentOf(from || (isStore ? 'now-15m' : 'start'), at), momentOf(to || (isStore ? 'now' : 'end'), at)];
}
