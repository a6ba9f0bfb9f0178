/* readings.js: metrics of a host and of its GPUs as strips over time, on the Timeline and in a report: the list of
 * them, and their values at a moment. */

import { plain, value } from './units.js';

/**
 * metric: its name. by: labels that make lines. match: conditions. stacked: lines add up. top: number of lines, the
 * others are summed into one. most: the least end of the scale.
 * @typedef {{title: string, metric: string, by: string, match?: string, stacked?: boolean, unit: string, top?: number,
 * most?: number}} Kind
 */
/** @typedef {{kind: Kind, names: string[], at: number[], lines: (number|null)[][]}} Series  ms */

export const LINES = 8;
export const READ_MS = 1e3; /* interval of readings in a recording */
/** In this order. @type {Kind[]} */
export const KINDS = [
	{
		title: 'GPU busy',
		metric: 'hw_gpu_utilization',
		by: 'gpu',
		match: 'task="general"',
		unit: 'share',
		most: 1
	},
	{ title: 'GPU memory', metric: 'hw_gpu_memory_usage', by: 'gpu', unit: 'bytes', stacked: true },
	{ title: 'GPU power', metric: 'hw_gpu_power', by: 'gpu', unit: 'W' },
	{ title: 'GPU temperature', metric: 'hw_gpu_temperature', by: 'gpu', unit: '°C' },
	{ title: 'GPU clock', metric: 'hw_gpu_speed', by: 'gpu', match: 'clock="sm"', unit: 'Hz' },
	{ title: 'PCIe', metric: 'hw_gpu_pcie_throughput', by: 'gpu,direction', unit: 'bytes/s' },
	{ title: 'CPU in use', metric: 'system_cpu_busy', by: 'cpu', unit: 'CPUs', stacked: true, top: 64 },
	{ title: 'Run queue', metric: 'system_cpu_run_queue', by: '', unit: 'threads' },
	{ title: 'Top programs', metric: 'process_cpu_time', by: 'process', unit: 'CPUs', stacked: true, top: LINES },
	{
		title: 'Memory',
		metric: 'system_memory_usage',
		by: 'state',
		match: 'state=~"used|cached|buffers"',
		unit: 'bytes',
		stacked: true
	},
	{ title: 'Pressure', metric: 'system_pressure', by: 'resource', match: 'kind="some"', unit: 'share' },
	{ title: 'Disk', metric: 'system_disk_io', by: 'direction', unit: 'bytes/s' },
	{ title: 'Network', metric: 'system_network_io', by: 'direction', unit: 'bytes/s' }
];

/** @param {number} v @param {string} unit */
export function amount(v, unit) {
	if (unit === 'share') return `${(100 * v).toFixed(v < 0.0995 ? 1 : 0)} %`;
	if (unit.startsWith('bytes')) return value(v, 'bytes') + unit.slice(5);
	return `${+v.toPrecision(3)} ${unit}`;
}
/** @param {Kind} kind @param {any} answer of /api/v1/metrics @returns {Series} */
export function seriesOf(kind, answer) {
	const step = answer.step_ns / 1e6,
		at = Array.from({ length: answer.steps }, (_, i) => answer.from_ns / 1e6 + i * step);
	const all = answer.groups.map((/** @type {any} */ g) => ({
		name: plain(Object.values(g.labels).filter(Boolean).join(' ') || kind.title),
		values: step < 2 * READ_MS ? g.values.map(joined) : g.values,
		sum: sum(g.values)
	}));
	if (kind.top !== undefined && kind.top < 64)
		all.sort((/** @type {any} */ a, /** @type {any} */ b) => b.sum - a.sum);
	const rest = all.splice(kind.top || LINES);
	if (rest.length)
		all.push({
			name: `${rest.length} others`,
			values: at.map((_, i) => added(rest.map((/** @type {any} */ r) => r.values[i])))
		});
	return {
		kind,
		at,
		names: all.map((/** @type {any} */ g) => g.name),
		lines: all.map((/** @type {any} */ g) => g.values)
	};
}
/**
 * Readings are not evenly spaced: a step may have none, between two that have one.
 * @param {number|null} v
 * @param {number} i
 * @param {(number|null)[]} values
 */
const joined = (v, i, values) => v ?? (values[i + 1] == null ? null : (values[i - 1] ?? null));
const sum = (/** @type {(number|null)[]} */ list) => list.reduce((/** @type {number} */ a, b) => a + (b || 0), 0);
/** The sum of known values; null if there are none. @param {(number|null)[]} list */
function added(list) {
	return list.every((v) => v === null) ? null : sum(list);
}
/** The sum of all lines. @param {Series} s @returns {(number|null)[]} */
export function totals(s) {
	return s.at.map((_, i) => added(s.lines.map((l) => l[i])));
}

/**
 * The lines to draw: stacked lines from the highest down, each over those behind it. With the names of their colours.
 * @param {Series} s
 * @returns {{lines: (number|null)[][], colours: string[]}}
 */
export function drawnLines({ kind, at, names, lines }) {
	const base = at.map(() => /** @type {number|null} */ (null)),
		colours = names.map((_, i) => `--g${i % LINES}`);
	if (!kind.stacked) return { lines, colours };
	return {
		lines: lines.map((l) => l.map((v, i) => (base[i] = added([base[i], v])))).reverse(),
		colours: colours.reverse()
	};
}
/** The maximum of the scale. @param {Series} s @param {(number|null)[]} all its totals */
export function greatest({ kind, lines }, all) {
	const known = (kind.stacked ? [all] : lines).flat().filter((v) => v !== null);
	return Math.max(...known.map(Number), kind.most || 0) || 1;
}
/** The value at a moment, as text. @param {Series} s @param {(number|null)[]} all its totals @param {number} ms */
export function textAt({ kind, at, names, lines }, all, ms) {
	const i = at.findLastIndex((t) => t <= ms),
		sum = all[i];
	if (sum === undefined || sum === null) return 'no data';
	return kind.stacked || lines.length === 1
		? amount(sum, kind.unit)
		: lines.map((l, k) => `${names[k]} ${l[i] === null ? '?' : amount(Number(l[i]), kind.unit)}`).join(', ');
}
