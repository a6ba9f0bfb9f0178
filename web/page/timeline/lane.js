/* lane.js: one lane: a thread, red on the CPU, blue off it, grey while it waits for one, teal for a GPU; or a stream of
 * a GPU, with a box for each operation. Hatched if only sums are known. */

import { COPY, KERNEL, SYNC, workColour } from '../../gpu.js';
import { plain, share, value } from '../../units.js';

/** @typedef {import('../timeline.js').View} View */
/**
 * @typedef {{labels?: {[name: string]: string}, count?: number, on_ns: number, off_ns: number, wait_ns: number,
 * gpu_wait_ns: number, density: number[], spans: number[]}} Lane
 */

const LANE_PX = 22,
	LABEL_FROM_PX = 28,
	CHAR_PX = 6.6;
/** As /api/v1/lanes counts them. @typedef {'on'|'off'|'wait'|'gpu_wait'} State */
const STATES = /** @type {State[]} */ (['on', 'off', 'wait', 'gpu_wait']),
	RUN = 2 + STATES.length,
	INK = '#111';
/**
 * texts, fill: of states. colour: of a span. legend: the meaning of colours.
 * @typedef {{texts: {[state: string]: string}, fill: {[state: string]: string}, colour: (leaf: string, state: number)
 * => string, legend: [colour: string, text: string][], none: string}} Look
 */
const FILL = { on: '#e5635a', off: '#6089e6', wait: SYNC, gpu_wait: KERNEL },
	TEXTS = { on: 'on the CPU', off: 'blocked', wait: 'waiting for a CPU', gpu_wait: 'waiting for a GPU' };
/** @type {Look} */
export const THREADS = {
	texts: TEXTS,
	fill: FILL,
	colour: (_, state) => FILL[STATES[state]],
	legend: STATES.map((s) => [FILL[s], TEXTS[s]]),
	none: 'threads'
};
/** @type {Look} */
export const STREAMS = {
	texts: { on: 'busy', wait: 'waits' },
	fill: { on: KERNEL, off: COPY, wait: SYNC },
	colour: workColour,
	legend: [
		[KERNEL, 'kernel'],
		[COPY, 'copy'],
		[SYNC, 'synchronization']
	],
	none: 'streams'
};

/** @param {Lane} lane */
export function laneName(lane) {
	const l = lane.labels;
	if (!l) return `${lane.count} others`;
	if (l.gpu) return plain(['GPU', l.gpu, l.stream && `stream ${l.stream}`, l.comm, l.host].filter(Boolean).join(' '));
	const name = l.comm || l.process || Object.values(l).filter(Boolean).join(' ') || 'all';
	return plain(l.tid ? `${name} ${l.tid}` : name);
}
/** @param {Lane} lane @param {Look} look */
export function laneTitle(lane, look) {
	return lane.labels
		? plain(
				Object.entries(lane.labels)
					.filter(([, v]) => v)
					.map(([k, v]) => `${k} ${v}`)
					.join(', ')
			)
		: `${look.none} without a separate lane`;
}
/** "on 40 %, …" of the known time. @param {Lane} lane @param {Look} look */
export function laneShares(lane, look) {
	const parts = STATES.map((state) => ({ state, ns: lane[`${state}_ns`] })),
		all = parts.reduce((sum, { ns }) => sum + ns, 0);
	return parts
		.filter(({ ns }) => ns > 0)
		.map(({ state, ns }) => `${look.texts[state]} ${value(ns, 'nanoseconds')} (${share(ns, all)})`)
		.join(', ');
}

/** Runs of equal buckets, with a part for each state. @param {number[]} density */
function* runsOf(density) {
	for (let i = 0, bucket = 0; i + RUN <= density.length; i += RUN) {
		bucket += density[i];
		yield { bucket, n: density[i + 1], parts: density.slice(i + 2, i + RUN) };
		bucket += density[i + 1];
	}
}
/** [from, to, state, stack]: ns since the answer's beginning. @param {number[]} spans */
function* spansOf(spans) {
	for (let i = 0, at = 0; i + 4 <= spans.length; i += 4) {
		at += spans[i];
		yield { from: at, to: at + spans[i + 1], state: spans[i + 2], stack: spans[i + 3] };
		at += spans[i + 1];
	}
}

/** Lines over values that are known only as a sum. @param {CanvasRenderingContext2D} c */
function hatch(c) {
	const tile = new OffscreenCanvas(6, 6),
		t = /** @type {OffscreenCanvasRenderingContext2D} */ (tile.getContext('2d'));
	t.strokeStyle = 'rgba(255, 255, 255, .45)';
	for (const x of [-6, 0, 6]) {
		t.moveTo(x, 6);
		t.lineTo(x + 6, 0);
	}
	t.stroke();
	return /** @type {CanvasPattern} */ (c.createPattern(tile, 'repeat'));
}
/** Draws a lane. Its times may differ from those on display: a zoom stretches it until the server has answered.
 * @param {HTMLCanvasElement} canvas @param {Lane} lane @param {any} answer @param {View} view @param {Look} look
 * @param {string} stack whose boxes are marked */
export function drawLane(canvas, lane, answer, view, look, stack) {
	const ratio = devicePixelRatio || 1,
		c = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
	canvas.width = view.width * ratio;
	canvas.height = LANE_PX * ratio;
	c.scale(ratio, ratio);
	const x = (/** @type {number} */ ns) =>
		(((answer.from_ns + ns) / 1e6 - view.from) / (view.to - view.from)) * view.width;
	drawDensity(c, lane, answer, x, look);
	drawSpans(c, lane, answer, x, view, look, stack);
}
/**
 * From below: on the CPU, waiting for one, waiting for a GPU, off it.
 * @param {CanvasRenderingContext2D} c
 * @param {Lane} lane
 * @param {any} answer
 * @param {(ns: number) => number} x
 * @param {Look} look
 */
function drawDensity(c, lane, answer, x, look) {
	const full = answer.bucket_ns / answer.part_ns,
		runs = [...runsOf(lane.density)],
		most = Math.max(full, ...runs.map(({ parts: [on, , wait, gpu] }) => on + wait + gpu));
	const lines = answer.exact ? null : hatch(c);
	for (const {
		bucket,
		n,
		parts: [on, off, wait, gpu]
	} of runs) {
		const left = x(bucket * answer.bucket_ns),
			width = x((bucket + n) * answer.bucket_ns) - left;
		let y = LANE_PX;
		for (const [state, part] of /** @type {[State, number][]} */ ([
			['on', on],
			['wait', wait],
			['gpu_wait', gpu],
			['off', Math.min(off, most - on - wait - gpu)]
		])) {
			const height = (Math.max(0, part) / most) * LANE_PX;
			c.fillStyle = look.fill[state];
			c.fillRect(left, (y -= height), width, height);
		}
		if (lines) {
			c.fillStyle = lines;
			c.fillRect(left, y, width, LANE_PX - y);
		}
	}
}
/**
 * @param {CanvasRenderingContext2D} c
 * @param {Lane} lane
 * @param {any} answer
 * @param {(ns: number) => number} x
 * @param {View} view
 * @param {Look} look
 * @param {string} stack
 */
function drawSpans(c, lane, answer, x, view, look, stack) {
	c.font = '11px system-ui, sans-serif';
	c.textBaseline = 'middle';
	for (const s of spansOf(lane.spans)) {
		const left = Math.max(0, x(s.from)),
			right = Math.min(view.width, x(s.to)),
			[leaf, id] = answer.stacks[s.stack];
		if (right <= left) continue;
		c.fillStyle = look.colour(leaf, s.state);
		c.fillRect(left, 0, Math.max(0.5, right - left - 0.5), LANE_PX);
		if (id === stack) {
			c.fillStyle = INK;
			c.fillRect(left, LANE_PX - 3, right - left - 0.5, 3);
		}
		if (right - left < LABEL_FROM_PX) continue;
		c.fillStyle = INK;
		c.fillText(cut(plain(leaf), Math.floor((right - left - 6) / CHAR_PX)), left + 3, LANE_PX / 2);
	}
}
/** @param {string} text @param {number} n */
const cut = (text, n) => (text.length <= n ? text : n < 2 ? '' : text.slice(0, n - 1) + '…');

/** The span at a moment: its length and its stack. @param {Lane} lane @param {any} answer @param {number} ms */
export function spanAt(lane, answer, ms) {
	const ns = ms * 1e6 - answer.from_ns;
	for (const s of spansOf(lane.spans))
		if (ns >= s.from && ns < s.to) {
			const [leaf, id, askers] = answer.stacks[s.stack];
			return {
				state: s.state,
				ns: s.to - s.from,
				leaf: plain(leaf),
				id,
				askers: plain((askers || []).join(' › '))
			};
		}
	return null;
}
/** What a lane did at a moment. @param {Lane} lane @param {any} answer @param {number} ms @param {Look} look */
export function wordsAt(lane, answer, ms, look) {
	const ns = ms * 1e6 - answer.from_ns,
		span = spanAt(lane, answer, ms);
	if (span)
		return (
			`${look.texts[STATES[span.state]]} for ${value(span.ns, 'nanoseconds')}: ${span.leaf}` +
			(span.askers ? `, requested by ${span.askers}` : '')
		);
	const at = ns / answer.bucket_ns;
	for (const { bucket, n, parts } of runsOf(lane.density))
		if (at >= bucket && at < bucket + n)
			return (
				`of ${value(answer.bucket_ns, 'nanoseconds')}: ` +
				STATES.map((state, i) =>
					parts[i] ? `${look.texts[state]} ${value(parts[i] * answer.part_ns, 'nanoseconds')}` : ''
				)
					.filter(Boolean)
					.join(', ')
			);
	return 'not seen';
}
