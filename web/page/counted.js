/* counted.js: counts search matches in all stacks, including those too narrow to draw; the server counts them. */

import { matcher } from '../flame/search.js';

/** @typedef {{matched: number, self: number}} Count */

/**
 * The same search as a pattern for the server; '' if it cannot be expressed.
 * @param {string} text
 */
export function serverPattern(text) {
	const [, expression, flag] = /^\/(.+)\/(i?)$/s.exec(text) || [];
	if (expression === undefined) return text.replace(/[\\^$.|?*+()[\]{}]/g, '\\$&');
	if (!flag) return expression;
	/* Any case: within brackets and after a backslash a letter means more than itself. */
	return /[[\\]/.test(expression)
		? ''
		: expression.replace(/[a-z]/gi, (c) => `[${c.toLowerCase()}${c.toUpperCase()}]`);
}

/**
 * @param {import('./app.js').App} app
 * @param {{[key: string]: any}} question what is shown
 * @param {string} text @param {AbortSignal} signal
 * @returns {Promise<Count|null>} null: the server does not take such expressions
 */
export async function counted(app, question, text, signal) {
	const pattern = serverPattern(text);
	if (!pattern || pattern.includes('\n')) return null;
	const focus = [question.focus, pattern].filter(Boolean).join('\n');
	try {
		const { total, top } = await app.ask('api/v1/top', { ...question, focus, n: 0 }, signal),
			is = matcher(text);
		return {
			matched: total,
			self: top.reduce(
				(/** @type {number} */ sum, /** @type {any} */ r) => sum + (is(r.function) ? r.self : 0),
				0
			)
		};
	} catch (e) {
		if (/** @type {any} */ (e).status === 400) return null;
		throw e;
	}
}
