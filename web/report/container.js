/* container.js: decodes a report (docs/formats.md, "report.html"): a header, a tree for each type, and its samples in
 * order of time. Everything is checked: damaged bytes throw an Error with a message. */
import { Tree, decodeTree } from '../tree.js';

const REPORT_MAGIC = 'CRC',
	REPORT_VERSION = 1,
	SAMPLE_COLUMNS = 4;

/** @typedef {{name: string, text: string, remedy?: string, n: number, ns?: number, is_sample: boolean}} Loss */
/**
 * @typedef {{command?: string, host?: string, kernel?: string, clock?: string, cpus: number, start?: string,
 * start_ms: number, duration_ns: number, own_cpu_ns: number, own_peak_bytes: number, lost_samples: number, losses:
 * Loss[], notes: string[]}} Meta
 */
/**
 * gpu, stream: not a thread, but the operations in a stream of a GPU.
 * @typedef {{pid: number|null, tid: number|null, name: string|null, process: string|null, gpu?: string|null, stream?:
 * string}} Thread
 */
/**
 * @typedef {{rows: number, bytes: number, window_ns: number, sampled: number, left_out: number, lengths: boolean}}
 * TimelineInfo
 */
/**
 * @typedef {{name: string, sample_type: string, unit: string, scale: number|null, scaled_unit: string|null, period:
 * number, period_unit: string|null, samples: number, total: number, unfiltered: number, truncated: number, nameless:
 * number, tree_bytes: number, timeline?: TimelineInfo, older?: Meta, older_total?: number, older_factor?: number}}
 * TypeInfo
 */
/**
 * @typedef {{version: number, made_by: string, meta: Meta, origin_ns: number, threads: Thread[], shown: number,
 * types: TypeInfo[], gpu?: {start_ns: number, part: string, part_ns: number, metrics: any[], idle: any}}} ReportHeader
 */
/**
 * Rows in order of time, in nanoseconds since the report's origin. length 0: a moment.
 * @typedef {{n: number, time: Float64Array, thread: Float64Array, node: Float64Array, value: Float64Array, length:
 * Float64Array|null}} Samples
 */

/** @param {Uint8Array} bytes */
export async function gunzip(bytes) {
	const stream = new Blob([/** @type {any} */ (bytes)]).stream().pipeThrough(new DecompressionStream('gzip'));
	return new Uint8Array(await new Response(stream).arrayBuffer());
}

class Cursor {
	/** @param {Uint8Array} bytes */
	constructor(bytes) {
		this.bytes = bytes;
		this.at = 0;
	}
	/** @param {number} length */
	take(length) {
		if (!(length >= 0 && length <= this.bytes.length - this.at)) throw new Error('the report is truncated');
		this.at += length;
		return this.bytes.subarray(this.at - length, this.at);
	}
	varint() {
		let value = 0;
		for (let scale = 1; ; scale *= 128) {
			const byte = this.bytes[this.at++];
			if (byte === undefined || scale > 2 ** 63) throw new Error('the report is truncated');
			value += (byte & 127) * scale;
			if (byte < 128) return value;
		}
	}
	/** A column: its size in bytes, then n numbers. @param {number} n */
	column(n) {
		const part = new Cursor(this.take(this.varint())),
			out = new Float64Array(n);
		if (part.bytes.length < n) throw new Error('a column of samples is too short');
		for (let i = 0; i < n; i++) out[i] = part.varint();
		return out;
	}
}

export class ReportType {
	/** @param {TypeInfo} info @param {Uint8Array} tree @param {Uint8Array|null} samples */
	constructor(info, tree, samples) {
		this.info = info;
		this._treeBytes = tree;
		this._sampleBytes = samples;
		/** @type {Tree|null} */
		this._tree = null;
		/** @type {Samples|null} */
		this._samples = null;
	}
	get tree() {
		return (this._tree ||= decodeTree(this._treeBytes));
	}
	/** null: its samples have no times. */
	get samples() {
		if (!this._samples && this._sampleBytes && this.info.timeline)
			this._samples = decodeSamples(this._sampleBytes, this.info.timeline, this.tree.n);
		return this._samples;
	}
	/** Its label: "cpu", or with the sample type if several share a name. */
	get label() {
		return this.info.name;
	}
}

/** @param {Uint8Array} bytes @param {TimelineInfo} info @param {number} nodes @returns {Samples} */
function decodeSamples(bytes, info, nodes) {
	const c = new Cursor(bytes),
		n = info.rows;
	const [time, thread, node, value] = Array.from({ length: SAMPLE_COLUMNS }, () => c.column(n));
	const length = info.lengths ? c.column(n) : null;
	for (let i = 0; i < n; i++) {
		if (i) time[i] += time[i - 1];
		else /* zigzag */ time[0] = time[0] % 2 ? -(time[0] + 1) / 2 : time[0] / 2;
		if (node[i] >= nodes) throw new Error('a sample points outside of its tree');
	}
	return { n, time, thread, node, value, length };
}

export class Report {
	/** @param {ReportHeader} header @param {ReportType[]} types */
	constructor(header, types) {
		this.header = header;
		this.types = types;
	}
	/** The end of all samples with times, in nanoseconds since the origin. */
	get endNs() {
		let end = this.header.origin_ns ? 0 : this.header.meta.duration_ns;
		for (const { samples } of this.types)
			if (samples && samples.n)
				for (let i = samples.n - 1; i >= 0; i--)
					end = Math.max(end, samples.time[i] + (samples.length ? samples.length[i] : 1));
		return end;
	}
	/** Selections are rounded to this: the widest window over which any samples were summed. */
	get windowNs() {
		return Math.max(0, ...this.types.map((t) => t.info.timeline?.window_ns || 0));
	}
}

/** @param {any} h @returns {ReportHeader} */
function checkReportHeader(h) {
	if (
		!h ||
		typeof h !== 'object' ||
		h.version !== REPORT_VERSION ||
		!Array.isArray(h.types) ||
		!Array.isArray(h.threads) ||
		!h.meta
	)
		throw new Error('the header of the report is damaged');
	if (!h.types.length) throw new Error('the report has no samples');
	return h;
}

/** @param {Uint8Array} bytes  unpacked */
export function decodeContainer(bytes) {
	const c = new Cursor(bytes),
		magic = String.fromCharCode(...c.take(Math.min(4, bytes.length)));
	if (!magic.startsWith(REPORT_MAGIC) || magic.length < 4) throw new Error('this is not a cresset report');
	if (magic !== REPORT_MAGIC + REPORT_VERSION)
		throw new Error(
			`this report has version ${JSON.stringify(magic[3])} of the format; this page reads version ${REPORT_VERSION}`
		);
	const header = checkReportHeader(JSON.parse(new TextDecoder().decode(c.take(c.varint()))));
	const types = header.types.map((info) => {
		const tree = c.take(info.tree_bytes),
			samples = info.timeline ? c.take(info.timeline.bytes) : null;
		return new ReportType(info, tree, samples);
	});
	return new Report(header, types);
}

/* --- a range of time --- */

/**
 * The value of a row up to x of its length, as in src/profile/tree/time_range.h.
 * @param {number} value
 * @param {number} length
 * @param {number} x
 */
function worthUpTo(value, length, x) {
	if (x <= 0) return 0;
	if (x >= length) return value;
	const product = value * x;
	return product <= Number.MAX_SAFE_INTEGER
		? Math.floor(product / length)
		: Number((BigInt(value) * BigInt(x)) / BigInt(length));
}
/** @param {Samples} s @param {number} i @param {number} from @param {number} to */
export function valueIn(s, i, from, to) {
	const time = s.time[i],
		length = s.length ? s.length[i] : 0;
	if (!length) return time >= from && time < to ? s.value[i] : 0;
	return time + length <= from || time >= to
		? 0
		: worthUpTo(s.value[i], length, to - time) - worthUpTo(s.value[i], length, from - time);
}

/**
 * The tree of a range of time, of some threads or (null) all. A range from 0 also has what came before the start, as
 * with report --time.
 * @param {ReportType} type
 * @param {number} from
 * @param {number} to
 * @param {Set<number>|null} threads
 */
export function rangeTree(type, from, to, threads) {
	const s = type.samples,
		whole = type.tree,
		self = new Float64Array(whole.n);
	const begin = from > 0 ? from : -Infinity;
	for (let i = 0; s && i < s.n; i++)
		if (!threads || threads.has(s.thread[i])) self[s.node[i]] += valueIn(s, i, begin, to);
	return withoutEmpty(whole, self);
}
/** The nodes with a value. @param {Tree} t @param {Float64Array} self */
function withoutEmpty(t, self) {
	const total = new Tree(t.header, t.frames, t.depth, t.frame, { self }).total;
	/** @type {number[]} */
	const keep = [];
	for (let i = 0; i < t.n; i++) if (i === 0 || total[i] > 0) keep.push(i);
	/** @template {Uint16Array|Uint32Array|Float64Array} T @param {T} from @returns {T} */
	const pick = (from) =>
		/** @type {T} */ (/** @type {any} */ (from.constructor).from(keep, (/** @type {number} */ i) => from[i]));
	return new Tree({ ...t.header, total: total[0] }, t.frames, pick(t.depth), pick(t.frame), { self: pick(self) });
}
