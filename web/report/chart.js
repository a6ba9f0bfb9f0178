/* chart.js: the activity of one thread over time, as a tree for flame.js, as described in
 * src/format/picture/flame_chart.h: a wait lasts from its start to its end; a sample of a moment stands for its period
 * around it, no further than half the way to the next one, and as far as there if that is at most 3/4 of a period away.
 * Equal frames that touch are one box. Time without samples is a gap. */
import { Tree } from '../tree.js';

/** @typedef {import('./container.js').ReportType} ReportType */
/** @typedef {import('./container.js').Samples} Samples */
/** @typedef {{start: number, end: number, node: number}} Span */

const MAX_BOXES = 500000,
	JITTER = 0.75;

/** The thread's samples, without sums (markers worth less than the time they cover), which have no place in time.
 * @param {ReportType} type @param {Samples} s @param {number} thread */
function placed(type, s, thread) {
	const { tree } = type,
		rows = [];
	for (let i = 0; i < s.n; i++) {
		const isSum = s.length && s.value[i] < s.length[i] && tree.frames.kind[tree.frame[s.node[i]]] === 'marker';
		if (s.thread[i] === thread && !isSum) rows.push(i);
	}
	return rows;
}
/** ns. @param {ReportType} type @param {Samples} s @param {number[]} rows */
function periodOf(type, s, rows) {
	const { info } = type;
	if (info.period && info.period_unit === 'nanoseconds') return info.period;
	const gaps = rows
		.slice(1)
		.map((row, i) => s.time[row] - s.time[rows[i]])
		.sort((a, b) => a - b);
	return gaps.length ? gaps[gaps.length >> 1] : 1;
}
/** @param {Samples} s @param {number[]} rows @param {number} period @returns {Span[]} one after the other */
function spansOf(s, rows, period) {
	const length = (/** @type {number} */ i) => (s.length ? s.length[i] : 0),
		reach = (/** @type {number} */ d) => (d <= JITTER * period ? d : period / 2);
	const spans = rows.map((i) => ({ start: s.time[i], end: s.time[i] + length(i), node: s.node[i] }));
	const moment = rows.map((i) => !length(i));
	let last = -Infinity;
	return spans
		.map((span, k) => {
			if (moment[k]) {
				const at = s.time[rows[k]],
					before = spans[k - 1],
					after = spans[k + 1],
					half = (/** @type {number} */ other) => (moment[other] ? 2 : 1);
				span.start =
					at -
					(before
						? reach(Math.max(0, at - (moment[k - 1] ? s.time[rows[k - 1]] : before.end)) / half(k - 1))
						: period / 2);
				span.end = at + (after ? reach(Math.max(0, after.start - at) / half(k + 1)) : period / 2);
			}
			const cut = { ...span, start: Math.max(span.start, last) };
			last = Math.max(last, span.end);
			return cut;
		})
		.filter((span) => span.end > span.start);
}

/* Boxes in pre-order: a frame comes after its caller, and siblings in the order of time. */
class Boxes {
	/** @param {Tree} tree @param {number} from */
	constructor(tree, from) {
		this.tree = tree;
		this.depth = [0];
		this.frame = [tree.frame[0]];
		this.start = [from];
		this.self = [0];
		/** @type {number[]} */
		this.open = [0];
		this.last = from;
	}
	/** Closes the boxes from a depth on. @param {number} depth */
	close(depth) {
		while (this.open.length > depth) {
			const box = /** @type {number} */ (this.open.pop()),
				width = this.last - this.start[box];
			this.self[box] += width;
			if (this.open.length) this.self[this.open[this.open.length - 1]] -= width;
		}
	}
	/** @param {Span} span */
	add(span) {
		const path = this.tree.path(span.node);
		let same = 1;
		while (
			span.start <= this.last &&
			same < this.open.length &&
			same < path.length &&
			this.frame[this.open[same]] === this.tree.frame[path[same]]
		)
			same++;
		this.close(same);
		for (let d = same; d < path.length; d++) {
			this.open.push(this.depth.length);
			this.depth.push(d);
			this.frame.push(this.tree.frame[path[d]]);
			this.start.push(span.start);
			this.self.push(0);
		}
		this.last = span.end;
		if (this.depth.length > MAX_BOXES) throw new Error('too many samples for one chart: select a shorter range');
	}
}
/** Whether its threads can be drawn in order: its samples have times of their own. @param {ReportType} type */
export function hasOrder(type) {
	return Boolean(type.samples && !type.info.timeline?.window_ns);
}
/**
 * @param {ReportType} type
 * @param {number} thread
 * @param {number} from
 * @param {number} to ns since the origin
 * @returns {Tree}
 */
export function chartTree(type, thread, from, to) {
	const s = /** @type {Samples} */ (type.samples),
		rows = placed(type, s, thread),
		boxes = new Boxes(type.tree, from);
	for (const { start, end, node } of spansOf(s, rows, periodOf(type, s, rows))) {
		if (end > from && start < to) boxes.add({ start: Math.max(start, from), end: Math.min(end, to), node });
	}
	boxes.close(1);
	boxes.last = to;
	boxes.close(0);
	const header = { ...type.tree.header, unit: 'nanoseconds', total: to - from };
	const tree = new Tree(header, type.tree.frames, Uint16Array.from(boxes.depth), Uint32Array.from(boxes.frame), {
		self: Float64Array.from(boxes.self)
	});
	tree.startNs = Float64Array.from(boxes.start);
	return tree;
}
