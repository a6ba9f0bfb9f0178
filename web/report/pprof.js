/* pprof.js: a tree as a pprof file (github.com/google/pprof, proto/profile.proto), uncompressed. */

/** @typedef {import('../tree.js').Tree} Tree */

class Message {
	constructor() {
		/** @type {number[]} */
		this.bytes = [];
	}
	/** @param {number} value */
	varint(value) {
		for (; value > 127; value = Math.floor(value / 128)) this.bytes.push((value % 128) | 128);
		this.bytes.push(value);
	}
	/** @param {number} field @param {number} value */
	number(field, value) {
		if (!value) return this;
		this.varint(field << 3);
		this.varint(value);
		return this;
	}
	/** @param {number} field @param {ArrayLike<number>} data */
	data(field, data) {
		this.varint((field << 3) | 2);
		this.varint(data.length);
		for (let i = 0; i < data.length; i++) this.bytes.push(data[i]);
		return this;
	}
	/** @param {number} field @param {number[]} values */
	numbers(field, values) {
		const packed = new Message();
		values.forEach((v) => packed.varint(v));
		return this.data(field, packed.bytes);
	}
}

/* Field numbers of Profile. */
const SAMPLE_TYPE = 1,
	SAMPLE = 2,
	MAPPING = 3,
	LOCATION = 4,
	FUNCTION = 5,
	STRINGS = 6,
	TIME_NS = 9,
	DURATION_NS = 10;

class PprofStrings {
	constructor() {
		this.ids = new Map([['', 0]]);
	}
	/** @param {string} text */
	id(text) {
		const id = this.ids.get(text) ?? this.ids.size;
		this.ids.set(text, id);
		return id;
	}
}

/** @param {Tree} t @param {PprofStrings} strings @param {(field: number, m: Message) => void} put */
function putFrames(t, strings, put) {
	const f = t.frames,
		mappings = new Map();
	for (let i = 0; i < f.count; i++) {
		const binary = f.mapping[i];
		if (binary && !mappings.has(binary)) {
			mappings.set(binary, mappings.size + 1);
			put(MAPPING, new Message().number(1, mappings.size).number(5, strings.id(binary)).number(7, 1));
		}
		const line = new Message().number(1, i + 1).number(2, f.line[i]).bytes,
			name = strings.id(f.name[i] || '[unknown]');
		put(
			LOCATION,
			new Message()
				.number(1, i + 1)
				.number(2, mappings.get(binary) || 0)
				.data(4, line)
		);
		put(
			FUNCTION,
			new Message()
				.number(1, i + 1)
				.number(2, name)
				.number(3, name)
				.number(4, strings.id(f.file[i]))
		);
	}
}
/** @param {Tree} t @param {(field: number, m: Message) => void} put */
function putStacks(t, put) {
	/** @type {number[]} */
	const path = [];
	for (let i = 0; i < t.n; i++) {
		path.length = t.depth[i];
		path.push(t.frame[i] + 1);
		if (t.self[i] > 0) put(SAMPLE, new Message().numbers(1, path.slice(1).reverse()).numbers(2, [t.self[i]]));
	}
}

/**
 * @param {Tree} t
 * @param {{sampleType: string, unit: string, startNs: number, durationNs: number}} about
 * @returns {Uint8Array}
 */
export function pprofBytes(t, about) {
	const strings = new PprofStrings(),
		encoder = new TextEncoder();
	/** @type {Uint8Array[]} */
	const parts = [];
	/** @param {number} field @param {ArrayLike<number>} bytes */
	const putData = (field, bytes) => void parts.push(Uint8Array.from(new Message().data(field, bytes).bytes));
	/** @param {number} field @param {Message} m */
	const put = (field, m) => putData(field, m.bytes);
	put(SAMPLE_TYPE, new Message().number(1, strings.id(about.sampleType)).number(2, strings.id(about.unit)));
	putFrames(t, strings, put);
	putStacks(t, put);
	for (const text of strings.ids.keys()) putData(STRINGS, encoder.encode(text));
	parts.push(
		Uint8Array.from(new Message().number(TIME_NS, about.startNs).number(DURATION_NS, about.durationNs).bytes)
	);
	return joined(parts);
}
/** @param {Uint8Array[]} parts */
function joined(parts) {
	const out = new Uint8Array(parts.reduce((sum, p) => sum + p.length, 0));
	let at = 0;
	for (const part of parts) {
		out.set(part, at);
		at += part.length;
	}
	return out;
}
