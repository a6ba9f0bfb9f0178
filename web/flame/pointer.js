/* flame/pointer.js: translates mouse, pen, touch and wheel into a few gestures: hover, click, pan, zoom at a point,
 * menu. */

const CLICK_SLOP_PX = 4,
	LONG_PRESS_MS = 500,
	WHEEL_ZOOM = 0.0025,
	WHEEL_LINE_PX = 18;

/** Points are in the element's pixels. scroll returns whether anything could be scrolled.
 * @typedef {{hover: (x: number, y: number) => void, leave: () => void, click: (x: number, y: number, e: PointerEvent)
 * => void,
 * 	pan: (dx: number, dy: number) => void, zoomAt: (x: number, factor: number) => void, scroll: (dy: number) => boolean,
 * 	settle: () => void, menu: (x: number, y: number) => void}} Gestures */

export class Pointer {
	/** @param {HTMLElement} element @param {Gestures} on */
	constructor(element, on) {
		this.element = element;
		this.on = on;
		/** Where each finger or button is down. @type {Map<number, {x: number, y: number}>} */
		this.down = new Map();
		this.moved = false;
		this.timer = 0;
		const off = (this.off = new AbortController()),
			{ signal } = off;
		/** @type {[string, (e: any) => void][]} */
		const events = [
			['pointerdown', (e) => this.press(e)],
			['pointermove', (e) => this.move(e)],
			['pointerup', (e) => this.release(e)],
			['pointercancel', (e) => this.cancel(e)],
			['pointerleave', () => this.on.leave()],
			['contextmenu', (e) => this.menu(e)],
			['wheel', (e) => this.wheel(e)]
		];
		for (const [type, fn] of events) element.addEventListener(type, fn, { signal, passive: false });
	}
	destroy() {
		clearTimeout(this.timer);
		this.off.abort();
	}
	/** @param {MouseEvent} e */
	point(e) {
		const box = this.element.getBoundingClientRect();
		return { x: e.clientX - box.left, y: e.clientY - box.top };
	}
	/** @param {PointerEvent} e */
	press(e) {
		if (e.pointerType === 'mouse' && e.button !== 0) return;
		const at = this.point(e);
		this.moved = this.down.size > 0;
		this.down.set(e.pointerId, at);
		this.element.setPointerCapture(e.pointerId);
		clearTimeout(this.timer);
		if (e.pointerType !== 'mouse' && this.down.size === 1)
			this.timer = window.setTimeout(() => {
				this.moved = true;
				this.on.menu(at.x, at.y);
			}, LONG_PRESS_MS);
	}
	/** @param {PointerEvent} e */
	move(e) {
		const at = this.point(e),
			before = this.down.get(e.pointerId);
		if (!before) {
			this.on.hover(at.x, at.y);
			return;
		}
		if (!this.moved && Math.hypot(at.x - before.x, at.y - before.y) < CLICK_SLOP_PX) return;
		clearTimeout(this.timer);
		this.moved = true;
		if (this.down.size === 2) this.pinch(e.pointerId, before, at);
		else if (this.down.size === 1) this.on.pan(at.x - before.x, at.y - before.y);
		this.down.set(e.pointerId, at);
	}
	/** @param {number} id @param {{x: number, y: number}} before @param {{x: number, y: number}} at */
	pinch(id, before, at) {
		const other = [...this.down].find(([key]) => key !== id)?.[1] || at;
		const was = Math.max(10, Math.abs(before.x - other.x)),
			is = Math.max(10, Math.abs(at.x - other.x));
		this.on.zoomAt((at.x + other.x) / 2, is / was);
		this.on.pan((at.x - before.x) / 2 - ((is - was) / 2) * Math.sign(at.x - other.x), (at.y - before.y) / 2);
	}
	/** @param {PointerEvent} e */
	release(e) {
		if (!this.down.delete(e.pointerId)) return;
		clearTimeout(this.timer);
		const { x, y } = this.point(e);
		if (!this.moved) this.on.click(x, y, e);
		else if (!this.down.size) this.on.settle();
	}
	/** @param {PointerEvent} e */
	cancel(e) {
		clearTimeout(this.timer);
		this.down.delete(e.pointerId);
		this.on.settle();
	}
	/** @param {MouseEvent} e */
	menu(e) {
		const { x, y } = this.point(e);
		e.preventDefault();
		clearTimeout(this.timer);
		if (!this.down.size) this.on.menu(x, y);
	}
	/** @param {WheelEvent} e */
	wheel(e) {
		const scale = e.deltaMode === 1 ? WHEEL_LINE_PX : e.deltaMode === 2 ? this.element.clientHeight : 1;
		const { x } = this.point(e),
			dx = e.shiftKey && !e.deltaX ? e.deltaY : e.deltaX,
			dy = e.shiftKey ? 0 : e.deltaY;
		if (e.ctrlKey || e.metaKey) this.on.zoomAt(x, Math.exp(-e.deltaY * scale * WHEEL_ZOOM));
		else if (Math.abs(dx) > Math.abs(dy)) this.on.pan(-dx * scale, 0);
		else if (!this.on.scroll(dy * scale)) return; /* the page scrolls */
		e.preventDefault();
		this.on.settle();
	}
}
