/* trouble.js: messages in place of a picture, with remedies. */

import { plain } from '../units.js';
import { button, copy, el } from './dom.js';

const RECORDED = ['cpu', 'off-cpu', 'sched-wait', 'lock'],
	MOST = 8; /* types that are offered */

/** @param {import('./app.js').App} app @param {string} type that is not here @returns {Node[]} */
function nothingOf(app, type) {
	if (!app.types.length)
		return [
			el(
				'p',
				{},
				'No data yet. Data of `cresset up` arrives every ten seconds, data of other senders immediately.'
			),
			button('Reload', () => location.reload())
		];
	const how = RECORDED.includes(type) ? ` \`cresset up -e ${type}\` records it.` : '';
	const others = app.types.slice(0, MOST).map((t) => t.type);
	return [
		el('p', {}, plain(`No data of type ${type}.${how}`)),
		...others.map((t) => button(plain(t), () => app.setState({ q: t, sel: '' }, { push: true })))
	];
}

/** @param {import('./app.js').App} app @param {any} e @param {() => void} again @returns {(Node|string)[]} */
export function troubleOf(app, e, again) {
	const [, type] = /^no type '([^']+)'/.exec(e.message) || [];
	if (type) return nothingOf(app, type);
	const details = `${e.message}\n${e.hint || ''}\n${e.status || ''} ${e.code || ''}\n${location.href}`;
	return [
		el('p', {}, e.message),
		e.hint ? el('pre', {}, e.hint) : '',
		button('Retry', again),
		button('Copy details', () => copy(details).then(() => app.notify('Details copied.')))
	];
}
