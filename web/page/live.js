/* live.js: a picture that follows the clock. The server reports new data over one connection for all tabs of a browser,
 * which otherwise would soon have none left (six per server). The tab that holds the lock has the connection and tells
 * the others; a hidden tab releases the lock, and the browser releases that of a closed tab. If the server has no
 * stream left, the leader polls it. */

import { address } from './server.js';
import { el } from './dom.js';

const POLL_MS = 15000,
	TICK_MS = 1000;

/** The ticks of all tabs. */
class Ticks {
	/** @param {() => string} url of the stream @param {(how: 'live'|'poll') => void} onTick */
	constructor(url, onTick) {
		this.url = url;
		this.onTick = onTick;
		/* With the path: a host may have several servers. */
		this.name = 'cresset-live ' + new URL('.', location.href).href;
		this.channel = new BroadcastChannel(this.name);
		this.channel.onmessage = (e) => this.onTick(e.data === 'poll' ? 'poll' : 'live');
		/** @type {AbortController|null} */
		this.waiting = null;
		this.seen = () => (document.hidden ? this.leave() : this.join());
		document.addEventListener('visibilitychange', this.seen);
		this.seen();
	}
	/** Waits for the lead. */
	join() {
		if (this.waiting) return;
		const waiting = (this.waiting = new AbortController());
		if (!navigator.locks)
			/* locks exist only on https and on this machine: elsewhere each tab leads for itself */
			return this.lead();
		navigator.locks
			.request(
				this.name,
				{ signal: waiting.signal },
				() =>
					new Promise((leave) => {
						waiting.signal.addEventListener('abort', leave);
						waiting.signal.aborted ? leave(undefined) : this.lead();
					})
			)
			.catch(() => {
				/* it was aborted while it waited */
			});
	}
	leave() {
		this.waiting?.abort();
		this.waiting = null;
		this.source?.close();
		this.source = undefined;
		clearInterval(this.poll);
		document.body.dataset.leads = '';
	}
	stop() {
		document.removeEventListener('visibilitychange', this.seen);
		this.leave();
		this.channel.close();
	}
	lead() {
		document.body.dataset.leads = 'stream';
		const source = (this.source = new EventSource(this.url()));
		source.addEventListener('totals', () => this.tell('live'));
		source.addEventListener('error', () => source.readyState === EventSource.CLOSED && this.pollInstead());
	}
	pollInstead() {
		document.body.dataset.leads = 'poll';
		clearInterval(this.poll);
		this.poll = setInterval(() => this.tell('poll'), POLL_MS);
		this.tell('poll');
	}
	/** @param {'live'|'poll'} how */
	tell(how) {
		this.channel.postMessage(how);
		this.onTick(how);
	}
}

export class Live {
	/**
	 * @param {import('./app.js').App} app
	 * @param {{chip: any, areas: HTMLElement[], everyMs: number, isHeld: () => boolean, draw: () => void}} options
	 */
	constructor(app, options) {
		this.options = options;
		this.byHand = this.hovered = this.missed = false;
		this.how = 'live';
		this.drawnAt = Date.now();
		this.off = new AbortController();
		for (const area of options.areas) {
			area.addEventListener('pointerenter', () => this.hover(true), { signal: this.off.signal });
			area.addEventListener('pointerleave', () => this.hover(false), { signal: this.off.signal });
		}
		document.addEventListener('visibilitychange', () => this.again(), { signal: this.off.signal });
		this.timer = setInterval(() => this.say(), TICK_MS);
		this.ticks = new Ticks(
			() => address('api/v1/live', { q: app.state.q }),
			(how) => this.tick(how)
		);
		options.chip.hidden = false;
		this.say();
	}
	stop() {
		this.off.abort();
		this.ticks.stop();
		clearInterval(this.timer);
		clearTimeout(this.later);
		this.options.chip.hidden = true;
	}
	get isPaused() {
		return this.byHand || this.hovered || document.hidden || this.options.isHeld();
	}
	/** @param {boolean} is */
	hover(is) {
		this.hovered = is;
		this.again();
	}
	/** Pauses or continues by hand. */
	turn() {
		this.byHand = !this.byHand;
		this.again();
	}
	/** @param {'live'|'poll'} how */
	tick(how) {
		this.how = how;
		this.missed = true;
		this.again();
	}
	/** Draws a missed update, unless paused; not too often. */
	again() {
		clearTimeout(this.later);
		if (this.missed && !this.isPaused)
			this.later = setTimeout(
				() => {
					this.missed = false;
					this.drawnAt = Date.now();
					this.options.draw();
					this.say();
				},
				Math.max(0, this.drawnAt + this.options.everyMs - Date.now())
			);
		this.say();
	}
	say() {
		const { chip } = this.options,
			behind = Math.round((Date.now() - this.drawnAt) / 1000);
		const text = this.isPaused
			? `❚❚ paused${this.missed ? ` (${behind} s behind)` : ''}`
			: this.how === 'poll'
				? '● every 15 s'
				: '● live';
		if (chip.textContent !== text) chip.replaceChildren(el('span', {}, text));
		chip.setAttribute('aria-pressed', String(!this.byHand));
		chip.title = this.byHand
			? 'Resume (.)'
			: 'Pause (.). Updates also pause while the pointer is over a graph or the graph is zoomed in.';
		document.body.dataset.follows = this.isPaused ? 'paused' : this.how;
	}
}
