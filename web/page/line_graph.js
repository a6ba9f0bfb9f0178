/* line_graph.js: values over time as lines, or as areas down to zero, drawn by uPlot. It is loaded with the first
 * graph. */

import './core.js';
import UPlot from '../vendor/uplot.js';

/**
 * at: ms. lines: values at those moments; null: unknown, a gap; each line is drawn over those before it. colours: names
 * of CSS variables, #rrggbb each. fill: opacity of areas, 00 … ff; none: no areas. end: of the last value, if each
 * holds until the next one; else they are joined. bridge: ms of a gap that is joined, too.
 * @typedef {{at: number[], lines: (number|null)[][], colours: string[], fill?: string, from: number, to: number, end?:
 * number, bridge?: number, max: number, height: number, top: number, lineWidth: number}} Lines
 */

const HIDDEN = { show: false };

/** Each value twice: at its start and at its end. @param {Lines} lines @returns {UPlot.AlignedData} */
function data({ at, lines, end }) {
	if (end === undefined) return [at, ...lines];
	const ends = [...at.slice(1), end];
	return [at.flatMap((t, i) => [t, ends[i]]), ...lines.map((line) => line.flatMap((v) => [v, v]))];
}

/** @param {Lines} lines @param {string} colour @returns {UPlot.Series} */
function series({ fill, lineWidth, from, to, bridge = 0 }, colour) {
	const ink = (/** @type {UPlot} */ plot) => getComputedStyle(plot.root).getPropertyValue(colour).trim();
	return {
		stroke: ink,
		fill: fill ? (plot) => ink(plot) + fill : undefined,
		width: lineWidth,
		points: HIDDEN,
		gaps: (plot, _line, _first, _last, gaps) =>
			gaps.filter(([a, b]) => ((b - a) / plot.bbox.width) * (to - from) > bridge)
	};
}

/** @param {Lines} lines @param {number} width @returns {UPlot.Options} */
function options(lines, width) {
	return {
		width,
		height: lines.height,
		padding: [lines.top, 0, 0, 0],
		axes: [HIDDEN, HIDDEN],
		legend: HIDDEN,
		cursor: HIDDEN,
		scales: { x: { time: false, range: () => [lines.from, lines.to] }, y: { range: () => [0, lines.max] } },
		series: [{}, ...lines.colours.map((colour) => series(lines, colour))]
	};
}

export class LineGraph {
	/** @param {HTMLElement} host in the page, and empty @param {Lines} lines */
	constructor(host, lines) {
		const { height } = lines,
			plot = new UPlot(options(lines, host.clientWidth), data(lines), host);
		this.plot = plot;
		this.sizes = new ResizeObserver(() => plot.setSize({ width: host.clientWidth, height }));
		this.sizes.observe(host);
	}
	destroy() {
		this.sizes.disconnect();
		this.plot.destroy();
	}
}
