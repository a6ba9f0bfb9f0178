/* targets.js: the senders, their cost, losses and refusals, and the binaries without names with remedies. */

import './core.js';
import { clock, grouped, plain, share, value } from '../units.js';
import { button, copy, countDrawn, el } from './dom.js';

/** @typedef {import('./app.js').App} App */

const WINDOW = 900,
	EVERY_MS = 10000,
	BINARIES = 40; /* s looked back; ms; rows */

/** Frames of the last quarter of an hour by binary, and the part of them named only by an address; weighted by
 * samples. */
const UNNAMED = (
	/** @type {string} */ since
) => `WITH s AS (SELECT stack, sum(value) AS v FROM samples WHERE type = 'cpu'${since} GROUP BY stack)
SELECT f.binary, f.mapping, f.build_id, f.kind, sum(s.v) AS n,
 sum(CASE WHEN f.function IS NULL OR f.function GLOB '*+0x*' OR f.function GLOB '0x*' THEN s.v ELSE 0 END) AS unnamed
FROM s JOIN frames f USING (stack) WHERE f.kind <> 'marker'
GROUP BY 1, 2, 3, 4 HAVING unnamed > 0 ORDER BY unnamed DESC LIMIT ${BINARIES}`;

/** The increase of each host's collector losses. A counter that decreases has restarted from 0. */
const LOST = (/** @type {number} */ since) => `SELECT h.value AS host, r.value AS reason, k.value AS kind,
 sum(CASE WHEN p.value < p.was THEN p.value ELSE p.value - p.was END) AS n
FROM (SELECT series, value, lag(value, 1, value) OVER (PARTITION BY series ORDER BY time) AS was
	FROM metrics WHERE name = 'cresset_lost' AND time >= ${since}) p
JOIN labels h ON h.series = p.series AND h.key = 'host' JOIN labels r ON r.series = p.series AND r.key = 'reason'
JOIN labels k ON k.series = p.series AND k.key = 'kind' GROUP BY 1, 2, 3 ORDER BY 1, 4 DESC`;

/**
 * OpenMetrics text as numbers by name; the values of a name's label sets are added.
 * @param {string} text
 * @returns {{[name: string]: number}}
 */
export function readMetrics(text) {
	/** @type {{[name: string]: number}} */
	const sums = {};
	for (const line of text.split('\n').slice(0, 20000)) {
		const m = /^([a-z_]+)(?:\{.*\})? ([-+.\deE]+)$/.exec(line);
		if (m) sums[m[1]] = (sums[m[1]] || 0) + Number(m[2]);
	}
	return sums;
}
/**
 * How a binary gets names: a command to copy, and why.
 * @param {{binary: string|null, mapping: string|null, build_id: string|null, kind: string}} row
 * @returns {{command: string, why: string}}
 */
export function remedyFor(row) {
	const path = row.mapping || '',
		name = row.binary || '',
		quoted = `'${path.replace(/'/g, `'\\''`)}'`;
	if (row.kind === 'kernel')
		return { command: 'sudo cresset doctor', why: 'shows why names of the kernel or of a module are hidden' };
	if (/^(node|nodejs)$/.test(name) || row.kind === 'jit')
		return {
			command: 'NODE_OPTIONS=--perf-basic-prof',
			why: 'set this when the program starts, so that JIT code has names'
		};
	if (/^libc\.so|^libc-/.test(name)) return { command: 'sudo apt install libc6-dbg', why: 'on Debian and Ubuntu' };
	if (/^\/(usr|lib|lib64|bin|sbin)\//.test(path))
		return {
			command: `sudo apt install "$(dpkg -S ${quoted} | cut -d: -f1)-dbgsym"`,
			why: 'on Debian and Ubuntu with their debug symbol archive'
		};
	if (row.build_id && path.startsWith('/'))
		return {
			command: `debuginfod-find debuginfo ${/^[0-9a-f]+$/.test(row.build_id) ? row.build_id : ''}`,
			why: 'if a debuginfod server has it; otherwise build it without stripping'
		};
	return { command: 'sudo cresset doctor PID', why: 'shows where the names of a process come from' };
}

class Targets {
	/** @param {HTMLElement} host @param {App} app */
	constructor(host, app) {
		this.app = app;
		this.off = new AbortController();
		this.cards = el('div', { class: 'cards' });
		this.senders = el('section', { 'aria-label': 'Senders' });
		this.names = el('section', { 'aria-label': 'Unsymbolized binaries' });
		host.append(
			el(
				'p',
				{ class: 'how' },
				'Data of this server, its senders and the cost of recording. Counters start with the server.'
			),
			this.cards,
			this.senders,
			this.names
		);
		this.load();
		this.loadNames();
		this.timer = setInterval(() => !document.hidden && this.load(), EVERY_MS);
	}
	unmount() {
		this.off.abort();
		clearInterval(this.timer);
	}
	async load() {
		const { app } = this,
			{ signal } = this.off;
		const text = (/** @type {Response|null} */ r) => (r ? r.text() : '');
		try {
			const [status, ingest, metrics, cost, lost] = await Promise.all([
				app.ask('api/v1/status', {}, signal),
				app.ask('debug/ingest', {}, signal).catch(() => ({ senders: [] })),
				app
					.fetch('metrics', {}, signal)
					.then(text)
					.catch(() => ''),
				this.cost(signal),
				this.lost().catch(() => null)
			]);
			this.cards.replaceChildren(
				dataCard(status),
				costCard(status, readMetrics(metrics), cost),
				lossCard(status, readMetrics(metrics)),
				...(lost?.length ? [card(`Recording losses, last ${WINDOW / 60} minutes`, hostLosses(lost))] : []),
				sandboxCard(status)
			);
			this.drawSenders(ingest.senders);
		} catch (e) {
			if (/** @type {Error} */ (e).name !== 'AbortError')
				this.cards.replaceChildren(
					el(
						'div',
						{ class: 'trouble', role: 'alert' },
						/** @type {Error} */ (e).message,
						' ',
						button('Retry', () => this.load())
					)
				);
		}
		countDrawn();
	}
	/** The cost of our own programs, by host, measured by the samples. @param {AbortSignal} signal */
	async cost(signal) {
		const { app } = this,
			isStore = app.status.data.kind === 'store',
			from = isStore ? `now-${WINDOW}s` : '';
		if (!app.types.some((t) => t.type === 'cpu') || !app.status.data.has_times) return null;
		const question = {
			q: 'cpu{comm=~"cresset.*"}',
			from,
			by: app.labels.includes('host') ? 'host' : '',
			step: '3650d'
		};
		const own = await app.ask('api/v1/range', question, signal).catch(() => null),
			memory = await this.memory(from, signal);
		return own && { own, memory };
	}
	/** @param {string} from @param {AbortSignal} signal */
	async memory(from, signal) {
		if (!this.app.metrics.some((t) => t.type === 'process_memory_usage')) return null;
		return this.app
			.ask(
				'api/v1/metrics',
				{ q: 'process_memory_usage{process=~"cresset.*"}', from, by: 'host', step: '3650d' },
				signal
			)
			.catch(() => null);
	}
	/** The losses that collectors reported; null: there are no reports, as in a file. */
	async lost() {
		return this.app.metrics.some((t) => t.type === 'cresset_lost') ? this.sql(LOST(sinceNs())) : null;
	}
	/** @param {string} query @returns {Promise<{[column: string]: any}[]>} */
	async sql(query) {
		const token = sessionStorage.getItem('cresset-token');
		const answer = await fetch('api/v1/sql', {
			method: 'POST',
			body: query,
			signal: this.off.signal,
			headers: token ? { Authorization: `Bearer ${token}` } : {}
		});
		const body = await answer.json();
		if (!answer.ok) throw new Error(body.error.message);
		return body.rows.map((/** @type {any[]} */ r) =>
			Object.fromEntries(body.columns.map((/** @type {string} */ c, /** @type {number} */ i) => [c, r[i]]))
		);
	}
	async loadNames() {
		const { app } = this,
			isStore = app.status.data.kind === 'store',
			since = isStore ? ` AND time >= ${sinceNs()}` : '';
		try {
			this.drawNames(await this.sql(UNNAMED(since)));
		} catch (e) {
			if (/** @type {Error} */ (e).name !== 'AbortError')
				this.names.replaceChildren(
					el('h2', {}, 'Unsymbolized binaries'),
					el('p', { class: 'dim' }, /** @type {Error} */ (e).message)
				);
		}
		document.body.dataset.named = '1';
	}
	/** @param {any[]} rows */
	drawNames(rows) {
		const line = (/** @type {any} */ r) => {
			const fix = remedyFor(r);
			return el(
				'tr',
				{},
				el('td', { title: plain(r.mapping || '') }, plain(r.binary || '(none)')),
				el('td', { class: 'n' }, share(r.unnamed, r.n)),
				el('td', { class: 'n' }, grouped(r.unnamed)),
				el('td', {}, el('code', {}, (r.build_id || '').slice(0, 16))),
				el(
					'td',
					{},
					el('code', {}, plain(fix.command)),
					' ',
					button('Copy', () => copy(fix.command).then(() => this.app.notify('Command copied.')), {
						'aria-label': `Copy: ${plain(fix.command)}`
					}),
					el('div', { class: 'how' }, fix.why)
				)
			);
		};
		this.names.replaceChildren(
			el('h2', {}, 'Unsymbolized binaries'),
			el(
				'p',
				{ class: 'how' },
				'Frames of CPU samples' +
					(this.app.status.data.kind === 'store' ? ' of the last 15 minutes' : '') +
					' that show an address instead of a name, and how to fix that on their host.'
			),
			rows.length
				? el(
						'div',
						{ class: 'card' },
						el(
							'table',
							{ class: 'wrap' },
							headOf(['binary', 'unsymbolized', 'frames', 'build id', 'fix']),
							el('tbody', {}, ...rows.map(line))
						)
					)
				: el('p', { class: 'good' }, 'All frames are symbolized.')
		);
	}
	/** @param {any[]} list */
	drawSenders(list) {
		const line = (/** @type {any} */ s) => {
			const refused = Object.entries(s.refused || {})
				.map(([code, n]) => `${code}: ${n}`)
				.join(', ');
			return el(
				'tr',
				{},
				el('td', { title: s.agent || '' }, plain(s.host || s.address || '?')),
				el('td', {}, ago(s.last)),
				el('td', { class: 'n' }, grouped(s.batches)),
				el('td', { class: 'n' }, grouped(s.samples)),
				el('td', { class: 'n' }, value(s.bytes, 'bytes')),
				el('td', { class: `n ${s.missing ? 'more' : ''}` }, grouped(s.missing)),
				el('td', { class: 'n' }, grouped(s.rejected)),
				el('td', { class: 'n' }, s.behind_ns === null ? '' : value(s.behind_ns, 'nanoseconds')),
				el('td', { class: 'n' }, share(s.unnamed_frames, s.frames)),
				el(
					'td',
					{ class: refused ? 'more' : '' },
					refused,
					s.last_refusal ? el('div', { class: 'how' }, plain(s.last_refusal)) : null
				)
			);
		};
		this.senders.replaceChildren(
			el('h2', {}, 'Senders'),
			list.length
				? el(
						'div',
						{ class: 'card' },
						el(
							'table',
							{ class: 'wrap' },
							headOf([
								'host',
								'last seen',
								'batches',
								'samples',
								'bytes',
								'missing',
								'rejected',
								'behind',
								'unsymbolized',
								'refused'
							]),
							el('tbody', {}, ...list.map(line))
						)
					)
				: el(
						'p',
						{ class: 'dim' },
						this.app.status.data.kind === 'store'
							? "No sender has connected since this server started. This machine's own data needs no sender."
							: 'This server serves a file and takes no data.'
					)
		);
	}
}
const sinceNs = () => Math.round(Date.now() / 1000 - WINDOW) * 1e9;
/**
 * A line for each host. Lost samples are marked bad; lost details are only listed.
 * @param {{[column: string]: any}[]} rows by host
 * @returns {[string, string, string][]}
 */
export function hostLosses(rows) {
	const hosts = [...new Set(rows.map((r) => r.host))];
	return hosts.map((host) => {
		const lost = rows.filter((r) => r.host === host && r.n > 0),
			isBad = lost.some((r) => r.kind === 'sample');
		const words = lost.map(
			(r) => `${grouped(r.n)} ${r.kind === 'sample' ? 'samples: ' : ''}${plain(r.reason).replaceAll('_', ' ')}`
		);
		return [plain(host), words.join(', ') || 'nothing', isBad ? 'more' : lost.length ? '' : 'good'];
	});
}
/* Columns of numbers, aligned right. */
const NUMBERS = new Set(['batches', 'samples', 'bytes', 'missing', 'rejected', 'behind', 'unsymbolized', 'frames']);
/** @param {string[]} names */
const headOf = (names) =>
	el('thead', {}, el('tr', {}, ...names.map((n) => el('th', { scope: 'col', class: NUMBERS.has(n) ? 'n' : '' }, n))));
/** @param {string|null} time RFC 3339 */
function ago(time) {
	const s = time ? (Date.now() - Date.parse(time)) / 1000 : NaN;
	return Number.isNaN(s) ? 'never' : `${value(Math.max(0, s), 'seconds')} ago`;
}
/** @param {string} title @param {[string, any, string?][]} rows */
function card(title, rows) {
	return el(
		'section',
		{ class: 'card', 'aria-label': title },
		el('h2', {}, title),
		el('dl', {}, ...rows.flatMap(([k, v, cls]) => [el('dt', {}, k), el('dd', { class: cls }, v)]))
	);
}
/** @param {any} status */
function dataCard({ version, uptime_ns, data, kept }) {
	const at = (/** @type {number} */ ns) =>
		data.from === null ? value(ns, 'nanoseconds') : clock(ns / 1e6, 86400e3 * 7);
	return card('Data', [
		['Server', `cresset ${version}, up ${value(uptime_ns, 'nanoseconds')}`],
		['Source', data.kind === 'file' ? 'a file' : 'a store'],
		['Range', data.from_ns || data.to_ns ? `${at(data.from_ns)} to ${at(data.to_ns)}` : 'no data yet'],
		['Series', grouped(data.series)],
		...(kept
			? /** @type {[string, any, string?][]} */ ([
					['Disk', `${value(kept.disk_used_bytes, 'bytes')} of ${value(kept.disk_bytes, 'bytes')}`],
					['Retention', value(kept.retention_ns, 'nanoseconds')],
					[
						'Deleted early',
						kept.short ? 'yes: --disk is too small for the retention' : 'no',
						kept.short ? 'more' : ''
					]
				])
			: [])
	]);
}
/** @param {any} status @param {{[name: string]: number}} m @param {any} cost */
function costCard(status, m, cost) {
	const rows = /** @type {[string, any, string?][]} */ ([
		[
			'CPU of this server',
			m.process_cpu_seconds_total === undefined
				? '?'
				: `${share(m.process_cpu_seconds_total, status.uptime_ns / 1e9)} of a core since its start`
		],
		[
			'Memory of this server',
			m.process_resident_memory_bytes === undefined ? '?' : value(m.process_resident_memory_bytes, 'bytes')
		]
	]);
	for (const g of cost?.own.groups || []) {
		const { own, memory } = cost,
			isStore = status.data.kind === 'store',
			seconds = isStore
				? Math.min(WINDOW, (Date.now() - status.data.from_ns / 1e6) / 1000)
				: (status.data.to_ns - status.data.from_ns) / 1e9;
		const bytes = memory?.groups.find((/** @type {any} */ o) => o.labels.host === g.labels.host)?.values[0];
		rows.push([
			`Recording${g.labels.host ? ' on ' + plain(g.labels.host) : ''}`,
			`${share((g.total * (own.scale || 1)) / 1e9, seconds)} of a core` +
				(bytes ? `, ${value(bytes, 'bytes')}` : '')
		]);
	}
	return card('Cost', rows);
}
/** @param {any} status @param {{[name: string]: number}} m */
function lossCard({ refused, kept, missing }, m) {
	const n = (/** @type {string} */ name) => m[name] || 0,
		lost = /** @type {[string, number][]} */ ([
			['late rows', n('cresset_store_late_rows_total')],
			['corrupt rows and blocks', (kept?.bad_rows || 0) + (kept?.bad_blocks || 0)],
			['rejected samples and points', n('cresset_ingest_rejected_total')],
			['missing batches', n('cresset_ingest_missing_batches')],
			['series merged into [other]', kept?.folded_series || 0],
			['exact rows dropped to save memory', n('cresset_store_hot_dropped_rows_total')]
		]);
	const limits = Object.entries(refused).filter(([, v]) => v);
	return card('Losses and limits', [
		...lost.map(([k, v]) => /** @type {[string, any, string?]} */ ([k, grouped(v), v ? 'more' : 'good'])),
		[
			'refused by limits',
			limits.length ? limits.map(([k, v]) => `${k} ${v}`).join(', ') : 'nothing',
			limits.length ? 'more' : 'good'
		],
		...missing.map((/** @type {any} */ m) => [m.host + ': no ' + m.feature, m.why, 'more'])
	]);
}
/** @param {any} status */
function sandboxCard({ sandbox, limits }) {
	const yes = (/** @type {boolean} */ is) => /** @type {[any, string]} */ (is ? ['yes', 'good'] : ['no', 'more']);
	return card(
		'Sandbox',
		sandbox
			? [
					['no capabilities', ...yes(!sandbox.capabilities)],
					['restricted system calls (seccomp)', ...yes(sandbox.seccomp)],
					[
						'restricted files (Landlock)',
						sandbox.landlock ? `yes, version ${sandbox.landlock}` : 'no: not supported by this kernel',
						sandbox.landlock ? 'good' : 'more'
					],
					['concurrent queries', String(limits.queries)],
					['query timeout', value(limits.query_ns, 'nanoseconds')]
				]
			: [['entered', 'no', 'more']]
	);
}
/** @param {HTMLElement} host @param {App} app */
export const mount = (host, app) => new Targets(host, app);
