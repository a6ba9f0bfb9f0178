/* metrics.js: readings of GPU drivers, as strips on the clock of a report's samples: the same strips as on the
 * Timeline. */
import { KINDS, amount, drawnLines, greatest, seriesOf, textAt, totals } from '../readings.js';

/** @typedef {import('./container.js').Report} Report */
/** @typedef {import('../readings.js').Kind} Kind */
/** @typedef {import('../readings.js').Series} Series */
/** @typedef {{series: Series, all: (number|null)[], max: number}} Strip */

const TOP = 3;

/**
 * The part of an answer, which has all labels apart, that one kind of strip shows.
 * @param {Kind} kind
 * @param {any} answer of /api/v1/metrics
 */
function partOf(kind, answer) {
	const [, key, want] = kind.match?.match(/^(\w+)="(.*)"$/) || [],
		by = kind.by.split(',');
	return {
		...answer,
		groups: answer.groups
			.filter((/** @type {any} */ g) => !key || g.labels[key] === want)
			.map((/** @type {any} */ g) => ({
				labels: Object.fromEntries(by.map((name) => [name, g.labels[name]])),
				values: g.values
			}))
	};
}

export class Metrics {
	/** @param {Report} report */
	constructor(report) {
		const { gpu, origin_ns } = report.header;
		this.startMs = gpu ? (gpu.start_ns + origin_ns) / 1e6 : 0;
		/** @type {Strip[]} */
		this.strips = KINDS.flatMap((kind) => {
			const answer = gpu?.metrics.find((m) => m.metric === kind.metric),
				series = answer ? seriesOf(kind, partOf(kind, answer)) : null;
			if (!series || !series.lines.flat().some((v) => v !== null)) return [];
			const all = totals(series);
			return [{ series, all, max: greatest(series, all) }];
		});
	}
	/** @param {number} i @param {number} ns NaN: its greatest */
	words(i, ns) {
		const { series, all, max } = this.strips[i];
		return Number.isNaN(ns) ? `≤ ${amount(max, series.kind.unit)}` : textAt(series, all, this.startMs + ns / 1e6);
	}
	/** @param {number} i */
	title(i) {
		return this.strips[i].series.kind.title;
	}
	/** The lines, and their greatest value as text. @param {number} i */
	label(i) {
		return `${this.title(i)}: ${this.strips[i].series.names.join(', ')}; ${this.words(i, NaN)}`;
	}
	/**
	 * Each value holds until the next one; an unknown value is a gap.
	 * @param {CanvasRenderingContext2D} ctx
	 * @param {number} i
	 * @param {{x: (ns: number) => number, y: number, height: number, ink: CSSStyleDeclaration}} at
	 */
	draw(ctx, i, { x, y, height, ink }) {
		const { series, max } = this.strips[i],
			{ lines, colours } = drawnLines(series),
			step = series.at.length > 1 ? series.at[1] - series.at[0] : 1e3;
		lines.forEach((line, k) => {
			ctx.fillStyle = ink.getPropertyValue(colours[k]);
			let before = NaN;
			line.forEach((v, n) => {
				const left = Math.round(x((series.at[n] - this.startMs) * 1e6)),
					right = Math.round(x((series.at[n] + step - this.startMs) * 1e6)),
					top = v === null ? NaN : y + height - (v / max) * (height - TOP);
				if (v !== null && series.kind.stacked) ctx.fillRect(left, top, right - left, y + height - top);
				else if (v !== null) {
					ctx.fillRect(left, top - 1, right - left, 1.5);
					if (top !== before && !Number.isNaN(before))
						ctx.fillRect(left - 0.5, Math.min(top, before) - 1, 1, Math.abs(top - before) + 1);
				}
				before = top;
			});
		});
	}
}
