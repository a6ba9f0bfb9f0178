/* dom.js: buttons of a report; elements are created as in the page. Text from a profile only ever becomes text. */
import { el } from '../page/dom.js';

/** @param {string} words @param {string} hint @param {() => void} run @returns {HTMLButtonElement} */
export function button(words, hint, run) {
	return el('button', { type: 'button', title: hint, onclick: run }, words);
}
