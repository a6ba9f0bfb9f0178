/* export.js: exports the current view as files: folded stacks, pprof, SVG, PNG. Names are inserted as text only. */
import { diffFactor, fillOf, isDark, paint } from '../colours.js';
import { Layout } from '../flame/layout.js';
import { plain, share, value } from '../units.js';
import { pprofBytes } from './pprof.js';

/** @typedef {import('../tree.js').Tree} Tree */
/** @typedef {import('../colours.js').Mode} Mode */

const PICTURE_WIDTH = 1200,
	PICTURE_ROW = 18,
	PICTURE_HEAD = 40,
	MIN_WIDTH = 0.1,
	LABEL_WIDTH = 24,
	CHAR = 6.7,
	MAX_RECTS = 60000;

/** Root first, ';' between frames, a blank before the value. @param {Tree} t */
export function foldedText(t) {
	/** @type {string[]} */
	const path = [],
		lines = [],
		names = t.frames.name.map((name) => plain(name || '[unknown]').replaceAll(';', ':'));
	for (let i = 0; i < t.n; i++) {
		path.length = Math.max(0, t.depth[i] - 1);
		if (i) path.push(names[t.frame[i]]);
		const v = t.selfB ? t.selfB[i] : t.self[i];
		if (v > 0 && (i || t.self[0] > 0)) lines.push(`${path.join(';') || '[unknown]'} ${v}\n`);
	}
	return lines.join('');
}

/* --- pictures --- */

/** @typedef {{x: number, y: number, width: number, fill: string, dark: boolean, label: string, title: string}} Box */
/** @param {Tree} t @param {Mode} mode @param {number} zoom  the node that is as wide as the picture */
function boxes(t, mode, zoom) {
	const layout = new Layout(t),
		p = paint(t, mode),
		of = p.ofNode,
		all = layout.width[zoom] || 1,
		from = layout.start[zoom];
	/** @type {Box[]} */
	const list = [];
	for (let i = zoom; i < t.end[zoom] && list.length < MAX_RECTS; i++) {
		const width = (layout.width[i] / all) * PICTURE_WIDTH,
			frame = t.frame[i];
		if (width < MIN_WIDTH) continue;
		const rgb = fillOf(p.groups[of ? of[i] : /** @type {Uint8Array} */ (p.ofFrame)[frame]], p.step[frame]),
			name = plain(t.name(i)) || 'all';
		list.push({
			x: ((layout.start[i] - from) / all) * PICTURE_WIDTH,
			y: (t.depth[i] - t.depth[zoom]) * PICTURE_ROW,
			width,
			fill: '#' + rgb.toString(16).padStart(6, '0'),
			dark: isDark(rgb),
			label: fitted(name, width),
			title: titleOf(t, i, name)
		});
	}
	return list;
}
/** @param {string} name @param {number} width */
function fitted(name, width) {
	const room = Math.floor((width - 6) / CHAR);
	return width < LABEL_WIDTH || room < 2 ? '' : name.length <= room ? name : name.slice(0, room - 1) + '…';
}
/** @param {Tree} t @param {number} i @param {string} name */
function titleOf(t, i, name) {
	const unit = t.header.unit,
		now = t.totalB || t.total;
	const text = `${name}\n${value(now[i], unit)} · ${share(now[i], now[0])} of all`;
	if (!t.totalB) return text;
	const before = t.total[i] * diffFactor(t);
	return `${text} · ${before ? share(now[i] - before, before) + ' change' : 'new'}`;
}
/** XML cannot contain control characters; plain() removed them. @param {string} text */
function xml(text) {
	return text
		.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`)
		.replace(/[\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])/g, '\ufffd')
		.replace(/(^|[^\ud800-\udbff])[\udc00-\udfff]/g, '$1\ufffd');
}
/** @param {Box[]} list */
function heightOf(list) {
	return PICTURE_HEAD + list.reduce((most, b) => Math.max(most, b.y + PICTURE_ROW), 0);
}
/** @param {Tree} t @param {Mode} mode @param {number} zoom @param {string} heading */
export function svgText(t, mode, zoom, heading) {
	const list = boxes(t, mode, zoom),
		height = heightOf(list);
	const out = [
		`<?xml version="1.0" encoding="UTF-8"?>\n<svg xmlns="http://www.w3.org/2000/svg" role="img" ` +
			`width="${PICTURE_WIDTH}" ` +
			`height="${height}" viewBox="0 0 ${PICTURE_WIDTH} ${height}" font-family="monospace" font-size="11">\n` +
			`<title>${xml(heading)}</title>\n<rect width="100%" height="100%" fill="#fff"/>\n` +
			`<text x="8" y="25" font-family="sans-serif" font-size="15">${xml(heading)}</text>\n`
	];
	for (const b of list) {
		const x = b.x.toFixed(2),
			y = b.y + PICTURE_HEAD,
			width = Math.max(0.05, b.width - Math.min(0.5, b.width / 4)).toFixed(2);
		out.push(
			`<g><title>${xml(b.title)}</title><rect x="${x}" y="${y}" width="${width}" height="${PICTURE_ROW - 1}" ` +
				`fill="${b.fill}"/>`
		);
		if (b.label)
			out.push(
				`<text x="${(b.x + 3).toFixed(1)}" y="${y + 12.5}" fill="${b.dark ? '#fff' : '#111'}">${xml(b.label)}</text>`
			);
		out.push('</g>\n');
	}
	return out.join('') + '</svg>\n';
}
/** @param {Tree} t @param {Mode} mode @param {number} zoom @param {string} heading @returns {Promise<Blob>} */
export function pngBlob(t, mode, zoom, heading) {
	const list = boxes(t, mode, zoom),
		scale = 2,
		canvas = document.createElement('canvas');
	canvas.width = PICTURE_WIDTH * scale;
	canvas.height = Math.min(heightOf(list) * scale, 32000);
	const ctx = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'));
	ctx.scale(scale, scale);
	ctx.fillStyle = '#fff';
	ctx.fillRect(0, 0, canvas.width, canvas.height);
	ctx.fillStyle = '#111';
	ctx.font = '15px sans-serif';
	ctx.fillText(heading, 8, 25);
	ctx.font = '11px monospace';
	for (const b of list) {
		ctx.fillStyle = b.fill;
		ctx.fillRect(b.x, b.y + PICTURE_HEAD, Math.max(0.05, b.width - Math.min(0.5, b.width / 4)), PICTURE_ROW - 1);
		ctx.fillStyle = b.dark ? '#fff' : '#111';
		if (b.label) ctx.fillText(b.label, b.x + 3, b.y + PICTURE_HEAD + 12.5);
	}
	return new Promise((resolve, reject) =>
		canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error('the image is too large'))), 'image/png')
	);
}

/* --- files --- */

/** @param {Uint8Array} bytes */
async function gzip(bytes) {
	const stream = new Blob([/** @type {any} */ (bytes)]).stream().pipeThrough(new CompressionStream('gzip'));
	return new Response(stream).blob();
}
/**
 * @typedef {{mode: Mode, zoom: number, heading: string, sampleType: string, unit: string, startNs: number,
 * durationNs: number}} ExportView
 */
/** By ending. @type {{[ending: string]: {words: string, make: (t: Tree, view: ExportView) => Promise<Blob>|Blob}}} */
export const EXPORTS = {
	svg: {
		words: 'SVG image',
		make: (t, v) => new Blob([svgText(t, v.mode, v.zoom, v.heading)], { type: 'image/svg+xml' })
	},
	png: { words: 'PNG image', make: (t, v) => pngBlob(t, v.mode, v.zoom, v.heading) },
	'pb.gz': { words: 'pprof', make: (t, v) => gzip(pprofBytes(t, v)) },
	folded: { words: 'folded stacks', make: (t) => new Blob([foldedText(t)], { type: 'text/plain' }) }
};
/** @param {Blob} blob @param {string} name */
export function saveBlob(blob, name) {
	const link = document.createElement('a'),
		url = URL.createObjectURL(blob);
	link.href = url;
	link.download = name;
	link.click();
	setTimeout(() => URL.revokeObjectURL(url), 60000);
}
