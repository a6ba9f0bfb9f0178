/* main.js: starts a report.html: finds the data in the page, and shows them. */
import { decodeContainer, gunzip } from './container.js';
import { el } from '../page/dom.js';
import { Viewer } from './viewer.js';

/** @param {string} text  base64 */
function bytesOf(text) {
	const binary = atob(text),
		bytes = new Uint8Array(binary.length);
	for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
	return bytes;
}
async function start() {
	const host = /** @type {HTMLElement} */ (document.getElementById('report')),
		data = /** @type {HTMLElement} */ (document.getElementById('data'));
	try {
		new Viewer(host, decodeContainer(await gunzip(bytesOf(data.textContent || ''))));
	} catch (e) {
		host.replaceChildren(
			el('p', { role: 'alert' }, [`This report cannot be shown: ${/** @type {Error} */ (e).message}`])
		);
	}
}
start();
