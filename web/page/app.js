/* app.js: the shell of the page: the screen, the state in the address, notices, the theme.
 *
 * A screen is a module that exports mount(host, app) → {unmount(), update?(keys)}. update gets the keys of the state
 * that changed; a screen without it is mounted again when the address changes by itself (back, forward). */

import './core.js';
import { button, copy, el, isTyping } from './dom.js';
import * as explore from './explore.js';
import { ask, fetchAnswer, setToken } from './server.js';
import { formatState, parseState } from './state.js';
import { momentsOf } from './times.js';
import { clock } from '../units.js';

/** @typedef {{type: string, sample_type: string, unit: string, aggregation: string, [more: string]: any}} Type */
/** @typedef {{unmount(): void, update?(keys: string[]): void}} Screen */
/**
 * @typedef {object} App
 * @property {import('./state.js').State} state
 * @property {(patch: {[key: string]: string}, how?: {push?: boolean}) => void} setState
 * @property {(path: string, params?: {[key: string]: any}, signal?: AbortSignal) => Promise<any>} ask
 * @property {(path: string, params?: {[key: string]: any}, signal?: AbortSignal, file?: Blob) => Promise<Response>}
 * fetch  with a file: it is sent
 * @property {(text: string) => void} notify
 * @property {(route: string, patch?: {[key: string]: string}) => void} go
 * @property {Type[]} types  profiles
 * @property {Type[]} metrics
 * @property {string[]} labels
 * @property {any} status
 * @property {File|null} dropped  what the Import screen is to show first
 */

/** @type {{[route: string]: [name: string, load: () => Promise<{mount(host: HTMLElement, app: App): Screen}>]}} */
const SCREENS = {
	explore: ['Explore', async () => explore],
	timeline: ['Timeline', () => import('./timeline.js')],
	compare: ['Compare', () => import('./compare.js')],
	targets: ['Status', () => import('./targets.js')],
	import: ['Import', () => import('../report/import.js')]
};
/* Kept when the user changes the screen. */
const SHARED = ['q', 'from', 'to', 'by', 'f', 'sel'];
const NOTICE_MS = 8000,
	COLLECTOR_MS = 15000,
	THEME = 'cresset-theme';

const $ = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
/** @type {Screen|null} */
let screen = null;
let shown = '',
	turn = 0;

/** The last part of the path; the part before it is where the page is served, whatever a proxy added. */
const route = () =>
	Object.hasOwn(SCREENS, location.pathname.split('/').at(-1) || '')
		? /** @type {string} */ (location.pathname.split('/').at(-1))
		: 'explore';

/* --- notices -------------------------------------------------------------------------------- */

/** @param {string} text */
function notify(text) {
	const line = el('p', { class: 'notice' }, text);
	line.append(button('×', () => line.remove(), { 'aria-label': 'close' }));
	$('notices').append(line);
	setTimeout(() => line.remove(), NOTICE_MS);
}

/* --- state ---------------------------------------------------------------------------------- */

/** @type {App} */
const app = {
	state: {},
	setState,
	ask,
	fetch: fetchAnswer,
	notify,
	go,
	types: [],
	metrics: [],
	labels: [],
	status: null,
	dropped: null
};

/** Takes the address as it is; @returns {string[]} the keys that changed. */
function readAddress() {
	const { state, notices } = parseState(location.search);
	const keys = [...new Set([...Object.keys(app.state), ...Object.keys(state)])].filter(
		(k) => app.state[k] !== state[k]
	);
	app.state = state;
	notices.forEach(notify);
	return keys;
}
/** @type {App['setState']} */
function setState(patch, how = {}) {
	const keys = Object.keys(patch).filter((k) => (app.state[k] ?? '') !== patch[k]);
	if (!keys.length) return;
	Object.assign(app.state, patch);
	const url = location.pathname + formatState(app.state);
	history[how.push ? 'pushState' : 'replaceState'](null, '', url);
	drawRoutes();
	screen?.update?.(keys);
}
/** @param {string} to @param {{[key: string]: string}} [patch] */
function linkTo(to, patch = {}) {
	const kept = Object.fromEntries(SHARED.map((k) => [k, app.state[k] || '']));
	return to + formatState({ ...kept, ...patch });
}
/** @type {App['go']} */
function go(to, patch) {
	history.pushState(null, '', linkTo(to, patch));
	readAddress();
	mount().catch(fail);
}

/* --- screens -------------------------------------------------------------------------------- */

function drawRoutes() {
	const here = route();
	$('routes').replaceChildren(
		...Object.entries(SCREENS).map(([to, [name]]) =>
			el(
				'a',
				{
					href: to === here ? to + formatState(app.state) : linkTo(to),
					'aria-current': to === here ? 'page' : undefined,
					onclick: (/** @type {MouseEvent} */ e) => {
						if (e.button || e.ctrlKey || e.metaKey || e.shiftKey || to === route()) return;
						e.preventDefault();
						go(to);
					}
				},
				name
			)
		)
	);
}
async function mount() {
	const to = route(),
		mine = ++turn;
	screen?.unmount();
	screen = null;
	shown = to;
	drawRoutes();
	document.title = `${SCREENS[to][0]} · cresset`;
	const module = await SCREENS[to][1]();
	if (mine !== turn) return;
	const host = el('div', { class: `screen ${to}` });
	$('screen').replaceChildren(host);
	screen = module.mount(host, app);
}
function moved() {
	const keys = readAddress();
	if (route() !== shown || !screen?.update) mount().catch(fail);
	else if (keys.length) screen.update(keys);
	drawRoutes();
}
/** @param {any} e */
function fail(e) {
	if (e.status === 401) return askToken();
	$('screen').replaceChildren(
		el(
			'div',
			{ class: 'trouble', role: 'alert' },
			el('p', {}, e.message),
			e.hint && el('pre', {}, e.hint),
			button('Retry', () => location.reload())
		)
	);
}
/** For a server that needs a token. It is forgotten with the tab. */
function askToken() {
	const input = el('input', { type: 'password', autocomplete: 'off', size: 40 });
	$('screen').replaceChildren(
		el(
			'form',
			{
				class: 'trouble',
				onsubmit: (/** @type {Event} */ e) => {
					e.preventDefault();
					setToken(input.value.trim());
					start().catch(fail);
				}
			},
			el('label', {}, 'This server needs a token with read access: ', input),
			' ',
			el('button', {}, 'Use token')
		)
	);
	input.focus();
}

/* --- tools ---------------------------------------------------------------------------------- */

/** @param {string} theme "", "dark" or "light" */
function setTheme(theme) {
	if (theme) document.documentElement.dataset.theme = theme;
	else delete document.documentElement.dataset.theme;
}
const isDark = () => getComputedStyle(document.documentElement).getPropertyValue('--dark').trim() === '1';
function turnTheme() {
	const theme = isDark() ? 'light' : 'dark';
	localStorage.setItem(THEME, theme);
	setTheme(theme);
	dispatchEvent(new Event('theme'));
}
/** Replaces relative times by absolute ones. */
function pinned() {
	const { state, status } = app,
		kept = { ...state };
	for (const [from, to] of [
		['from', 'to'],
		['fromb', 'tob']
	]) {
		if (status.data.from === null || (from === 'fromb' && !state.qb))
			continue; /* without a clock there is nothing to replace */
		const [start, end] = momentsOf(app, state[from], state[to]);
		if (!Number.isNaN(start)) kept[from] = new Date(Math.floor(start)).toISOString();
		if (!Number.isNaN(end)) kept[to] = new Date(Math.ceil(end)).toISOString();
	}
	return kept;
}
/** @param {boolean} live */
async function copyLink(live) {
	try {
		const state = live ? app.state : pinned();
		await copy(new URL(location.pathname + formatState(state), location.href).href);
		notify(live ? 'Live link copied.' : 'Link copied.');
	} catch (e) {
		notify(/** @type {Error} */ (e).message);
	}
}
function help() {
	import('./overlays.js').then((m) => m.showHelp(route()));
}
function drawTools() {
	$('tools').replaceChildren(
		button('Copy link', () => copyLink(false), { title: 'A link to this view with fixed times' }),
		button('Copy link (live)', () => copyLink(true), { title: 'A link to this view with times relative to now' }),
		button('◐', turnTheme, { 'aria-label': 'Switch theme', title: 'Switch theme (D)' }),
		button('?', help, { 'aria-label': 'Help and shortcuts', title: 'Help and shortcuts (?)' })
	);
}
/** Keys with the same meaning on all screens. @param {KeyboardEvent} e */
function onKey(e) {
	if (e.ctrlKey || e.metaKey || e.altKey || isTyping(e)) return;
	if (e.key === '?') help();
	else if (e.key === 'D') turnTheme();
}
/** A file dropped anywhere is shown on the Import screen. @param {DragEvent} e */
function onDrop(e) {
	const file = e.dataTransfer?.files[0];
	if (!e.dataTransfer?.types.includes('Files')) return;
	e.preventDefault(); /* else the browser would leave the page for it */
	if (e.type !== 'drop' || !file || (shown === 'import' && screen)) return;
	app.dropped = file;
	go('import');
}

/* --- the start ------------------------------------------------------------------------------ */

/** @param {Type} t */
const isMetric = (t) => t.aggregation === 'gauge' || t.aggregation === 'counter';

/** Types that share a name are told apart by their sample type. @param {Type[]} list */
function take(list) {
	const profiles = list.filter((t) => !isMetric(t));
	const names = new Map();
	profiles.forEach((t) => names.set(t.type, (names.get(t.type) || 0) + 1));
	app.types = profiles.map((t) => ({ ...t, type: names.get(t.type) > 1 ? `${t.type}:${t.sample_type}` : t.type }));
	app.metrics = list.filter(isMetric);
}
/** Shows on every screen that the collector does not respond. */
function saySilent() {
	const since = app.status.collector?.silent_since;
	$('silent').hidden = !since;
	$('silent').textContent = since
		? `Not recording since ${clock(Date.parse(since), 2 * 86400e3)}: the collector does not respond.`
		: '';
}
async function watchCollector() {
	if (document.hidden) return;
	const status = await ask('api/v1/status').catch(() => null); /* a screen says what is wrong */
	if (!status) return;
	app.status.collector = status.collector;
	saySilent();
}
async function start() {
	const [status, types, labels] = await Promise.all(['status', 'types', 'labels'].map((p) => ask('api/v1/' + p)));
	app.status = status;
	app.labels = labels;
	take(types);
	readAddress();
	saySilent();
	if (status.collector) setInterval(watchCollector, COLLECTOR_MS);
	await mount();
}
setTheme(localStorage.getItem(THEME) || '');
drawTools();
addEventListener('popstate', moved);
addEventListener('keydown', onKey);
addEventListener('dragover', onDrop);
addEventListener('drop', onDrop);
start().catch(fail);
