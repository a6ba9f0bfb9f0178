/* gpu_lanes.js: GPU work, stream by stream: a box for each operation that is wide enough, else the busy part of each
 * pixel. */
import { KERNEL, workColour } from '../gpu.js';
import { plain, value } from '../units.js';
import { spread } from './spread.js';

/** @typedef {import('./container.js').Report} Report */
/** @typedef {import('./container.js').Samples} Samples */

const LABEL_FROM_PX = 28,
	CHAR_PX = 6.6,
	ASKERS = 3,
	INK = '#111';

export class GpuLanes {
	/** @param {Report} report */
	constructor(report) {
		const { threads } = report.header;
		this.at = report.types.findIndex((t) => t.info.name === 'gpu-time' && t.samples);
		this.type = this.at < 0 ? null : report.types[this.at];
		this.samples = /** @type {Samples|null} */ (this.type && this.type.samples);
		/** Rows of samples, by lane. @type {Map<number, number[]>} */
		this.rows = new Map();
		threads.forEach((t, lane) => t.stream && this.rows.set(lane, []));
		for (let i = 0; this.samples && i < this.samples.n; i++) this.rows.get(this.samples.thread[i])?.push(i);
		const name = (/** @type {number} */ lane) =>
			`${threads[lane].gpu}.${threads[lane].stream}.${threads[lane].name}`;
		/** By device, then stream. */
		this.lanes = [...this.rows.keys()].sort((a, b) => name(a).localeCompare(name(b), 'en', { numeric: true }));
	}
	/** @param {number} row */
	leaf(row) {
		return this.type && this.samples ? this.type.tree.name(this.samples.node[row]) : '';
	}
	/** A value known only as a sum has no place in time. @param {number} row */
	isSum(row) {
		const s = /** @type {Samples} */ (this.samples);
		return !s.length || s.value[row] < s.length[row];
	}
	/**
	 * @param {CanvasRenderingContext2D} ctx
	 * @param {number} lane
	 * @param {{x: (ns: number) => number, width: number, y: number, height: number}} at
	 */
	draw(ctx, lane, at) {
		const s = /** @type {Samples} */ (this.samples),
			sums = new Float64Array(at.width),
			px = at.x(1) - at.x(0);
		ctx.font = '11px system-ui, sans-serif';
		ctx.textAlign = 'left';
		for (const row of this.rows.get(lane) || []) {
			const a = at.x(s.time[row]),
				b = at.x(s.time[row] + (s.length ? s.length[row] : 0));
			if (b < 0 || a > at.width) continue;
			if (b - a < 1 || this.isSum(row)) spread(sums, a, b, s.value[row] * px);
			else this.box(ctx, row, { left: Math.max(0, a), right: Math.min(at.width, b), ...at });
		}
		ctx.fillStyle = KERNEL;
		sums.forEach((v, x) => {
			const height = Math.min(1, v) * at.height;
			if (v > 0) ctx.fillRect(x, at.y + at.height - height, 1, height);
		});
	}
	/**
	 * @param {CanvasRenderingContext2D} ctx
	 * @param {number} row
	 * @param {{left: number, right: number, y: number, height: number}} at
	 */
	box(ctx, row, { left, right, y, height }) {
		const name = this.leaf(row),
			most = Math.floor((right - left - 6) / CHAR_PX);
		ctx.fillStyle = workColour(name);
		ctx.fillRect(left, y, Math.max(0.5, right - left - 0.5), height);
		if (right - left < LABEL_FROM_PX) return;
		ctx.fillStyle = INK;
		ctx.fillText(name.length > most ? plain(name).slice(0, most - 1) + '…' : plain(name), left + 3, y + height - 4);
	}
	/** The operation in a lane at a moment; -1: none, or unknown. @param {number} lane @param {number} ns */
	rowAt(lane, ns) {
		const s = this.samples;
		if (!s || !s.length) return -1;
		const { time, length } = s;
		return (
			(this.rows.get(lane) || []).find((i) => time[i] <= ns && ns < time[i] + length[i] && !this.isSum(i)) ?? -1
		);
	}
	/** @param {number} row */
	words(row) {
		const { type, samples } = this;
		if (!type || !samples || !samples.length) return '';
		const { tree } = type,
			path = tree.path(samples.node[row]).map((node) => tree.frame[node]),
			dash = path.findLastIndex((frame) => tree.frames.name[frame] === '-');
		/* The groups around it are also markers. */
		const askers = path
			.slice(1, Math.max(1, dash))
			.filter((frame) => tree.frames.kind[frame] !== 'marker')
			.map((frame) => tree.frames.name[frame])
			.slice(-ASKERS);
		return (
			`${plain(this.leaf(row))}, ${value(samples.length[row], 'ns')}` +
			(askers.length ? `, requested by ${plain(askers.join(' › '))}` : '')
		);
	}
}
