/* head.js: facts about the recording: one line, its losses, and the rest on demand. */
import { clock, grouped, plain, share, value } from '../units.js';
import { el } from '../page/dom.js';

/** @typedef {import('./container.js').Report} Report */
/** @typedef {import('./container.js').Meta} Meta */
/** @typedef {import('./container.js').TypeInfo} TypeInfo */

/** @param {Meta} m */
function started(m) {
	return m.start ? `${m.start.slice(0, 19).replace('T', ' ')} UTC (local ${clock(m.start_ms, 3e9)})` : '';
}
/** The sampling rate: a period of CPU time is a rate. @param {TypeInfo} t */
function rate(t) {
	if (!t.period) return '';
	const perSecond = t.period_unit === 'nanoseconds' ? 1e9 / t.period : 0;
	return perSecond && t.unit === 'samples'
		? `${+perSecond.toFixed(2)} Hz`
		: `one per ${value(t.period, t.period_unit || '')}`;
}
/** The title of a report. @param {Report} report */
export function titleOfReport(report) {
	const { meta, types } = report.header,
		older = types[0].older;
	const name = plain(meta.command || meta.host || 'A profile');
	return older ? `${name}: changes` : name;
}
/** @param {Report} report */
function facts(report) {
	const { meta, types, threads, made_by: madeBy } = report.header;
	/** @type {[string, string][]} */
	const list = [
		['command', meta.command || ''],
		['host', meta.host || ''],
		['kernel', meta.kernel || ''],
		['CPUs', meta.cpus ? String(meta.cpus) : ''],
		['clock', meta.clock || ''],
		['started', started(meta)],
		['duration', meta.duration_ns ? value(meta.duration_ns, 'ns') : ''],
		[
			'rates',
			types
				.map((t) => rate(t) && `${t.name} ${rate(t)}`)
				.filter(Boolean)
				.join(' · ')
		],
		['threads', threads.length > 1 ? grouped(threads.length - 1) : ''],
		[
			'recording cost',
			meta.own_cpu_ns
				? `${value(meta.own_cpu_ns, 'ns')} of CPU ` +
					`time${meta.duration_ns ? ` (${share(meta.own_cpu_ns, meta.duration_ns)} of one CPU)` : ''}, ` +
					`${value(meta.own_peak_bytes, 'bytes')} of memory`
				: ''
		],
		['made by', madeBy]
	];
	return list.filter(([, text]) => text);
}
/** Facts that limit the value of the numbers. @param {Report} report @param {TypeInfo} type */
function chips(report, type) {
	const { meta } = report.header,
		lost = meta.lost_samples,
		kept = type.samples;
	const list = [];
	if (lost || meta.clock)
		list.push(
			el('span', { class: lost ? 'rp-chip rp-bad' : 'rp-chip' }, [
				lost ? `${grouped(lost)} lost (${share(lost, lost + kept)})` : 'no losses'
			])
		);
	if (type.truncated)
		list.push(
			el('span', { class: 'rp-chip', title: 'stacks without their root frames' }, [
				`${share(type.truncated, type.total)} truncated`
			])
		);
	if (type.nameless)
		list.push(
			el('span', { class: 'rp-chip', title: 'in code without symbols' }, [
				`${share(type.nameless, 1)} unsymbolized`
			])
		);
	return list;
}
/** @param {Report} report */
function losses(report) {
	const { losses: list } = report.header.meta;
	return list.map((l) => {
		const time = l.ns ? `, ${value(l.ns, 'ns')} in all` : '';
		return el('li', {}, [`${grouped(l.n)}: ${l.text}${time}${l.remedy ? ': ' + l.remedy : ''}`]);
	});
}
/** @param {HTMLElement} host @param {Report} report @param {TypeInfo} type */
export function showHead(host, report, type) {
	const { meta } = report.header,
		sub = [
			meta.host,
			meta.kernel && `Linux ${meta.kernel}`,
			meta.cpus && `${meta.cpus} CPUs`,
			started(meta),
			meta.duration_ns && `${value(meta.duration_ns, 'ns')} recorded`,
			type.older && `compared with ${type.older.start || 'an older profile'}`
		];
	const lost = losses(report);
	host.replaceChildren(
		el('h1', {}, [titleOfReport(report)]),
		el('p', { class: 'rp-dim' }, [
			sub
				.filter(Boolean)
				.map((s) => plain(String(s)))
				.join(' · ')
		]),
		...meta.notes.map((note) => el('p', { class: 'rp-note' }, [plain(note)])),
		el('div', { class: 'rp-row' }, [
			...chips(report, type),
			el('details', {}, [
				el('summary', {}, ['About this recording']),
				el(
					'dl',
					{},
					facts(report).flatMap(([name, text]) => [el('dt', {}, [name]), el('dd', {}, [plain(text)])])
				),
				...(lost.length ? [el('h2', {}, ['Losses']), el('ul', {}, lost)] : [])
			])
		])
	);
}
