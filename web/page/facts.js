/* facts.js: what a picture is made of, what is missing from it, and why it is empty. */

import { grouped, share, value } from '../units.js';
import { button, el } from './dom.js';
import { formatFilters, parseFilters } from './filters.js';
import { momentText } from './axis.js';

/** @typedef {import('./app.js').App} App */

const NAMELESS = /^\[unknown|\+0x[0-9a-f]+$|^0x[0-9a-f]+$/;

/** The self time in the table of functions whose name is an address; leaves of gpu-stall are places in code.
 * @param {any} report */
function nameless(report) {
	if (/^gpu-stall/.test(report.type)) return 0;
	return report.top.reduce(
		(/** @type {number} */ sum, /** @type {any} */ r) => sum + (NAMELESS.test(r.function) ? r.self : 0),
		0
	);
}
/** @param {any} report an answer of /api/v1/top @param {any} tree @param {any[]} missing @returns {Node[]} */
export function facts(report, tree, missing) {
	const meta = report.meta || {},
		lost = meta.lost_samples || 0,
		all = report.unfiltered_total,
		list = /** @type {any[]} */ ([]);
	const hasSamples = report.samples && report.unit !== 'samples';
	const scaled = report.scale ? ` (${value(report.total * report.scale, report.scaled_unit)})` : '';
	const chip = (/** @type {string} */ text, /** @type {{[key: string]: string}} */ more = {}) =>
		list.push(el(more.href ? 'a' : 'span', { class: 'chip', ...more }, text));
	chip(`${value(report.total, report.unit)}${scaled}${hasSamples ? ` · ${grouped(report.samples)} samples` : ''}`, {
		class: 'chip total'
	});
	if (report.total !== all) chip(`filtered: ${share(report.total, all)} of all`, { class: 'chip filtered' });
	if (report.truncated)
		chip(`truncated ${share(report.truncated, all)}`, {
			title: 'Stacks without their root frames'
		});
	const unnamed = nameless(report);
	if (unnamed)
		chip(`unsymbolized ${share(unnamed, report.total)}`, {
			href: 'targets',
			title: 'Functions without symbols: affected binaries and fixes'
		});
	if (missing.length)
		chip('not recorded: ' + [...new Set(missing.map((m) => m.feature))].join(', '), { href: 'targets' });
	if (lost)
		chip(
			`showing ${share(report.samples, report.samples + lost)} of samples: ` +
				`${grouped(lost)} lost (${Object.entries(meta.losses || {})
					.map(([why, n]) => `${why.replace(/_/g, ' ')} ${grouped(/** @type {number} */ (n))}`)
					.join(', ')})`,
			{ class: 'chip bad', role: 'status' }
		);
	if (tree) list.push(el('span', { class: 'dim' }, `${grouped(tree.n)} nodes`));
	return list;
}

/** null: it is not empty. @param {App} app @param {any} report @param {any} range @returns {Node[]|null} */
export function whyEmpty(app, report, range) {
	const { data } = app.status,
		filters = parseFilters(app.state.f) || [];
	if (report.total > 0) return null;
	if (report.unfiltered_total > 0)
		return [
			el('p', {}, `The filters exclude all of ${value(report.unfiltered_total, report.unit)}.`),
			button('Remove the last filter', () =>
				app.setState({ f: formatFilters(filters.slice(0, -1)) }, { push: true })
			)
		];
	const at = (/** @type {number} */ ns) => momentText(ns / 1e6, 86400e3 * 2, data.from !== null);
	const text = data.from_ns
		? `No data in this time range. Data is available from ${at(data.from_ns)} to ${at(data.to_ns)}.`
		: 'No data matches this query.';
	return [
		el('p', {}, range && range.groups.length ? 'No data in the selection.' : text),
		button('Show all data', () => {
			const isStore = data.kind === 'store';
			app.setState({ from: isStore ? 'start' : '', to: isStore ? 'end' : '', sel: '' }, { push: true });
		})
	];
}
