/* dom.js: elements. Text is always a text node: names come from the recorded programs, and are never markup. */

const SVG = 'http://www.w3.org/2000/svg';

/**
 * Creates an element. `class`, `role`, `for`, `list` and names with a hyphen are attributes, `on…` listeners, all
 * others properties.
 * @param {string} name
 * @param {{[key: string]: any}} [properties]
 * @param {...(Node|string|null|undefined|false|(Node|string)[])} children
 * @returns {any}
 */
export function el(name, properties = {}, ...children) {
	const e = document.createElement(name);
	for (const [key, v] of Object.entries(properties)) {
		if (v === undefined || v === null) continue;
		if (key.startsWith('on')) e.addEventListener(key.slice(2), v);
		else if (key === 'class' || key === 'role' || key === 'for' || key === 'list' || key.includes('-'))
			e.setAttribute(key, v);
		else
			/** @type {any} */ (e)[key] = v;
	}
	e.append(...list(children));
	return e;
}
/** @param {string} name @param {{[key: string]: any}} [attributes] @param {string} [text] @returns {any} */
export function svg(name, attributes = {}, text) {
	const e = document.createElementNS(SVG, name);
	for (const [key, v] of Object.entries(attributes)) e.setAttribute(key, v);
	if (text !== undefined) e.textContent = text;
	return e;
}
/** @param {any[]} children @returns {(Node|string)[]} */
function list(children) {
	return children.flat().filter((c) => c !== null && c !== undefined && c !== false);
}
/** @param {string} text what it does, too @param {() => void} onclick @param {{[key: string]: any}} [more] */
export function button(text, onclick, more = {}) {
	return el('button', { type: 'button', onclick, ...more }, text);
}
/** @param {string} label @param {Element} control */
export function labelled(label, control) {
	return el('label', {}, el('span', {}, label), control);
}
/** @param {[value: string, text: string][]} options @param {{[key: string]: any}} [properties] */
export function select(options, properties = {}) {
	return el('select', properties, ...options.map(([value, text]) => el('option', { value }, text)));
}

/** Copies to the clipboard; if the page may not (no secure context), through a selection. @param {string} text */
export async function copy(text) {
	if (navigator.clipboard && window.isSecureContext) return navigator.clipboard.writeText(text);
	const area = el('textarea', { value: text, class: 'unseen' });
	document.body.append(area);
	area.select();
	document.execCommand('copy');
	area.remove();
}
/** @param {Blob} blob @param {string} name */
export function save(blob, name) {
	const href = URL.createObjectURL(blob),
		a = el('a', { href, download: name });
	document.body.append(a);
	a.click();
	a.remove();
	setTimeout(() => URL.revokeObjectURL(href), 60e3);
}
/** px below which the server leaves out detail: twice what this screen can show, however wide the window is. */
export const finest = () => Math.round(2 * devicePixelRatio * Math.max(screen.width, screen.height));
/** Counts complete drawings in the body's dataset, for programs that wait for the page. */
export function countDrawn() {
	document.body.dataset.drawn = String(Number(document.body.dataset.drawn || 0) + 1);
}
/** Whether a key belongs to an input field. @param {Event} e */
export function isTyping(e) {
	const t = /** @type {HTMLElement} */ (e.target);
	return t instanceof Element && (/^(INPUT|SELECT|TEXTAREA)$/.test(t.tagName) || !!t.closest('dialog'));
}
