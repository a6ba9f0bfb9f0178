/* hands.js: pointer and keyboard input of the Timeline. */

import { isTyping } from '../dom.js';

/** @typedef {import('../timeline.js').Timeline} Timeline */
/** @typedef {import('../timeline.js').View} View */

const LEAST_PX = 3,
	QUARTER = 0.25,
	TENTH = 0.1;

/** Dragging selects a range, or with Shift one to compare with the selection. @param {Timeline} timeline @param
 * {AbortSignal} signal */
export function listenPointer(timeline, signal) {
	const on = (/** @type {string} */ name, /** @type {(e: any) => void} */ fn) =>
		timeline.plot.addEventListener(name, fn, { signal, passive: false });
	listenDrag(timeline, on);
	on('pointerleave', () => timeline.setCursor(NaN));
	on('dblclick', (e) => {
		const brush = timeline.brush(),
			at = timeline.at(e);
		if (brush && at >= brush[0] && at <= brush[1]) timeline.zoomToBrush();
	});
	on('wheel', (e) => {
		if ((!e.ctrlKey && !e.metaKey) || Number.isNaN(timeline.at(e))) return;
		e.preventDefault();
		timeline.move(e.deltaY > 0 ? 1.25 : 0.8, 0, timeline.at(e));
	});
}

/** @param {Timeline} timeline @param {(name: string, fn: (e: any) => void) => void} on */
function listenDrag(timeline, on) {
	let from = NaN,
		drags = false,
		/** @type {EventTarget|null} */
		under = null;
	/** @returns {[number, number]} */
	const span = (/** @type {PointerEvent} */ e) => {
		const at = timeline.at(e),
			to = Number.isNaN(at) ? /** @type {View} */ (timeline.view).from : at;
		return [Math.min(from, to), Math.max(from, to)];
	};
	on('pointerdown', (e) => {
		from = timeline.at(e);
		under = e.target;
		drags = !e.button && Number.isFinite(from) && !e.target.closest('button, input, .tl-chart');
		if (drags) timeline.plot.setPointerCapture(e.pointerId);
	});
	on('pointermove', (e) => {
		timeline.setCursor(timeline.at(e));
		for (const lanes of [timeline.lanes, timeline.gpu]) lanes.point(e, timeline.cursor);
		if (drags) timeline.drawBrush(span(e), e.shiftKey && !!timeline.brush());
	});
	on('pointercancel', () => {
		drags = false;
		timeline.drawBrush(timeline.brush());
	});
	on('pointerup', (e) => {
		if (drags) take(timeline, span(e), e.shiftKey, under);
		drags = false;
	});
}

/**
 * @param {Timeline} timeline
 * @param {[number, number]} span
 * @param {boolean} isSecond
 * @param {EventTarget|null} under where it began
 */
function take(timeline, [a, b], isSecond, under) {
	const view = /** @type {View} */ (timeline.view),
		brush = timeline.brush();
	if (((b - a) / (view.to - view.from)) * view.width < LEAST_PX) {
		timeline.drawBrush(brush);
		timeline.pickStack(timeline.gpu.spanAt(under, a));
	} else if (isSecond && brush) timeline.compare([a, b]);
	else timeline.pick([a, b]);
}

/** @param {Timeline} timeline @returns {{[key: string]: (e: KeyboardEvent) => void}} */
function keysOf(timeline) {
	return {
		w: () => timeline.move(0.5, 0),
		s: () => timeline.move(2, 0),
		'+': () => timeline.move(0.5, 0),
		'-': () => timeline.move(2, 0),
		a: () => timeline.move(1, -QUARTER),
		d: () => timeline.move(1, QUARTER),
		f: () => timeline.fit(),
		m: () => timeline.mark(),
		h: () => timeline.turnHeat(),
		Escape: () => timeline.pick(null)
	};
}
/**
 * Keys for when nothing inside has the focus.
 * @param {Timeline} timeline
 * @returns {{[key: string]: (e: KeyboardEvent) => void}}
 */
function plotKeysOf(timeline) {
	return {
		ArrowLeft: (e) => (e.shiftKey ? timeline.grow(-1) : timeline.move(1, -TENTH)),
		ArrowRight: (e) => (e.shiftKey ? timeline.grow(1) : timeline.move(1, TENTH)),
		Enter: () => timeline.zoomToBrush()
	};
}

/** @param {Timeline} timeline @param {KeyboardEvent} e */
export function onKey(timeline, e) {
	const inside = e.target instanceof Element && e.target.closest('.tl-chart, .tl-detail, .tl-heat');
	if (isTyping(e) || inside || e.ctrlKey || e.metaKey || e.altKey || !timeline.view) return;
	const onPlot = e.target === timeline.plot || e.target === document.body;
	const keys = { ...keysOf(timeline), ...(onPlot ? plotKeysOf(timeline) : {}) };
	if (!Object.hasOwn(keys, e.key)) return;
	e.preventDefault();
	keys[e.key](e);
}
