/* server.js: requests to the server: addresses, the token, and errors. */

/** @typedef {import('./app.js').App} App */

const TOKEN = 'cresset-token';

/** It is forgotten with the tab. @param {string} token */
export const setToken = (token) => sessionStorage.setItem(TOKEN, token);

/** An error that the server reported; `hint` may have several lines. */
export class Refusal extends Error {
	/** @param {number} status @param {{code?: string, message?: string, hint?: string|null}} error */
	constructor(status, error) {
		super(error.message || `the server returned status ${status}`);
		this.status = status;
		this.code = error.code || '';
		this.hint = error.hint || '';
	}
}
/** @param {{[key: string]: any}} params */
function queryOf(params) {
	const given = Object.entries(params).filter(([, v]) => v !== '' && v !== undefined && v !== null);
	return given.length ? '?' + new URLSearchParams(given) : '';
}
/** @param {string} path "api/v1/…", below where the page is @param {{[key: string]: any}} [params] */
export const address = (path, params = {}) => path.replace(/^\//, '') + queryOf(params);

/** @type {App['fetch']} */
export async function fetchAnswer(path, params = {}, signal, file) {
	const token = sessionStorage.getItem(TOKEN);
	const answer = await fetch(address(path, params), {
		signal,
		method: file ? 'POST' : 'GET',
		body: file,
		headers: {
			...(token ? { Authorization: `Bearer ${token}` } : {}),
			...(file ? { 'Content-Type': 'application/octet-stream' } : {})
		}
	});
	if (answer.ok) return answer;
	const body = await answer.json().catch(() => ({}));
	throw new Refusal(answer.status, body.error || {});
}
/** JSON, or the bytes of a tree. @type {App['ask']} */
export async function ask(path, params, signal) {
	const answer = await fetchAnswer(path, params, signal);
	return /json/.test(answer.headers.get('Content-Type') || '')
		? answer.json()
		: new Uint8Array(await answer.arrayBuffer());
}
