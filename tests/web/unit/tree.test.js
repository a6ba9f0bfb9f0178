// tier: test
/* web/tree.js: what is written is read again; damaged bytes end in an Error with words, soon. */
import assert from 'node:assert';
import { test } from 'node:test';
import { Layout } from '../../../web/flame/layout.js';
import { Tree, decodeTree, depthsOf, encodeTree } from '../../../web/tree.js';
import { keepOrder } from '../../../web/order.js';
import { buildTree, invert, mergeNodes, sandwich } from '../../../web/tree_shape.js';
import { naivePaths, named, paths, random, randomStacks } from './trees.js';

const HEADER = { type: 'cpu', unit: 'nanoseconds' };
const sample = (seed) => buildTree(randomStacks(seed), HEADER);
const text = (s) => new TextEncoder().encode(s);
const plain = (t) => ({
	depth: [...t.depth],
	frame: [...t.frame],
	self: [...t.self],
	frames: { ...t.frames, nameId: [], inlined: [...t.frames.inlined] }
});

/** A tree by hand: bytes as in src/format/common/tree_bin.h. */
function bytes({
	header = {},
	strings = ['', 'main'],
	frames = [
		[0, 1],
		[0, 0],
		[0, 7],
		[0, 0],
		[1, 0],
		[0, 1]
	],
	columns = { depth: [0, 0], frame: [0, 1], self: [1, 300] },
	magic = 'CRT1',
	tail = []
} = {}) {
	const varint = (v) => (v < 128 ? [v] : [(v % 128) | 128, ...varint(Math.floor(v / 128))]);
	const words = strings.map((s) => [...text(s)]);
	const json = text(
		JSON.stringify({
			version: 1,
			type: 'cpu',
			unit: 'samples',
			total: 301,
			unfiltered: 301,
			nodes: 2,
			frames: 2,
			strings: strings.length,
			kinds: ['native', 'marker', 'rest'],
			columns: Object.keys(columns),
			...header
		})
	);
	const column = (values) => {
		const b = values.flatMap((v) => (typeof v === 'number' ? varint(v) : v));
		return [...varint(b.length), ...b];
	};
	return Uint8Array.from([
		...text(magic),
		...varint(json.length),
		...json,
		...words.flatMap((w) => varint(w.length)),
		...words.flat(),
		...frames.flat().flatMap(varint),
		...Object.values(columns).flatMap(column),
		...tail
	]);
}

test('bytes by hand', () => {
	const t = decodeTree(bytes());
	assert.deepStrictEqual([...t.total], [301, 300]);
	assert.deepStrictEqual([...t.self], [1, 300]);
	assert.deepStrictEqual([...t.end], [2, 2]);
	assert.deepStrictEqual([...t.parent], [0, 0]);
	assert.deepStrictEqual(
		[t.name(1), t.frames.line[1], t.frames.kind[1], t.frames.inlined[1], t.frames.kind[0]],
		['main', 7, 'native', 1, 'marker']
	);
});
test('columns of a diff, squares, signs; columns of a later version are passed over', () => {
	const doubles = [[...new Uint8Array(Float64Array.of(2.5, -0.125).buffer)]];
	const t = decodeTree(
		bytes({
			header: { columns: ['depth', 'frame', 'self', 'what', 'self_b', 'n', 'w2', 'n_b', 'w2_b'] },
			columns: {
				depth: [0, 0],
				frame: [0, 1],
				self: [1, 300],
				what: [1, 2, 3],
				self_b: [0, 2 ** 40],
				n: [0, 3],
				w2: doubles,
				n_b: [9, 9],
				w2_b: doubles
			}
		})
	);
	assert.deepStrictEqual(
		[[...t.selfB], [...t.totalB], [...t.samples], [...t.w2], [...t.samplesB], [...t.w2B]],
		[
			[0, 2 ** 40],
			[2 ** 40, 2 ** 40],
			[0, 3],
			[2.5, -0.125],
			[9, 9],
			[2.5, -0.125]
		]
	);
	assert.ok(t.isDiff);
	const signed = decodeTree(bytes({ header: { signed: true } }));
	assert.deepStrictEqual([...signed.self], [-1, 150]);
});
test('decode of encode is the same tree', () => {
	for (let seed = 1; seed <= 8; seed++) {
		const t = sample(seed),
			again = decodeTree(encodeTree(t));
		assert.deepStrictEqual(plain(again), plain(t));
		assert.deepStrictEqual(paths(again), naivePaths(named(randomStacks(seed))));
		assert.strictEqual(again.header.total, t.total[0]);
		assert.deepStrictEqual(encodeTree(again), encodeTree(t));
	}
});
test('… with every column, numbers up to 2^53, and odd names', () => {
	const next = random(5),
		n = 200,
		many = () => Float64Array.from({ length: n }, () => Math.floor(2 ** (53 * next())));
	const t = sample(2),
		names = ['', 'a\0b', '\u{1f525}', '<img src=x onerror=alert(1)>', '\ud800', 'x'.repeat(5000)];
	names.forEach((name, i) => {
		t.frames.name[i] = name;
	});
	for (const signed of [false, true]) {
		const values = {
			self: many(),
			selfB: many(),
			samples: many(),
			samplesB: many(),
			w2: many().map(Math.sqrt),
			w2B: many().map((v) => -v / 3)
		};
		if (signed) values.self = values.self.map((v) => (-v / 2) | 0);
		const made = new Tree({ ...t.header, signed }, t.frames, t.depth.slice(0, n), t.frame.slice(0, n), values),
			again = decodeTree(encodeTree(made));
		for (const [name, column] of Object.entries(values)) assert.deepStrictEqual(again[name], column, name);
		assert.deepStrictEqual(
			again.frames.name,
			made.frames.name.map((name) => name.toWellFormed?.() ?? name.replace('\ud800', '\ufffd'))
		);
	}
});
test('parents, ends and totals are those of the stacks', () => {
	for (let seed = 1; seed <= 4; seed++) {
		const t = sample(seed),
			total = [...t.self];
		for (let i = t.n - 1; i > 0; i--) {
			const parent = t.parent[i];
			assert.ok(parent < i && i < t.end[parent] && t.depth[parent] === t.depth[i] - 1);
			total[parent] += total[i];
			assert.ok(t.end[i] > i && (t.end[i] === t.n || t.depth[t.end[i]] <= t.depth[i]));
		}
		assert.deepStrictEqual([...t.total], total);
		assert.deepStrictEqual(t.path(t.n - 1)[0], 0);
	}
});

/* --- hostile --- */

/** An Error with words, in a bounded time. */
function refuses(input, words) {
	const began = performance.now();
	assert.throws(
		() => decodeTree(input),
		(e) =>
			e instanceof Error && e.constructor === Error && e.message.length > 10 && (!words || words.test(e.message)),
		words
	);
	assert.ok(performance.now() - began < 1000, 'soon');
}
test('every truncation', () => {
	const good = bytes({ columns: { depth: [0, 0], frame: [0, 1], self: [1, 300], w2: new Array(16).fill(0) } });
	for (let length = 0; length < good.length; length++) refuses(good.subarray(0, length));
	const large = encodeTree(sample(3));
	for (let length = 0; length < large.length; length += 37) refuses(large.subarray(0, length));
});
test('flipped bytes: a tree that holds together, or an Error with words', () => {
	const next = random(11),
		good = encodeTree(sample(4));
	let read = 0;
	for (let round = 0; round < 3000; round++) {
		const bad = good.slice();
		for (let k = 1 + Math.floor(next() * 3); k > 0; k--)
			bad[Math.floor(next() * (round % 2 ? bad.length : 700))] ^= 1 << Math.floor(next() * 8);
		const began = performance.now();
		try {
			const t = decodeTree(bad);
			read++;
			assert.ok(
				t.frame.every(
					(f) =>
						f < t.frames.count &&
						typeof t.frames.name[f] === 'string' &&
						typeof t.frames.kind[f] === 'string'
				)
			);
			assert.ok(t.depth.every((d, i) => (i ? d >= 1 && d <= t.depth[i - 1] + 1 : d === 0)));
		} catch (e) {
			assert.ok(e.constructor === Error && e.message.length > 10, String(e.stack));
		}
		assert.ok(performance.now() - began < 500);
	}
	assert.ok(read > 100, 'many damages are inside of names and values');
});
test('counts that cannot be', () => {
	for (const key of ['nodes', 'frames', 'strings'])
		for (const count of [0, -1, 1.5, 4e9, 1e300, null, '2', [2], {}]) refuses(bytes({ header: { [key]: count } }));
	refuses(bytes({ header: { nodes: 3 } }), /column depth/);
	refuses(bytes({ header: { nodes: 1 } }), /longer than the number of nodes/);
});
test('numbers that cannot be', () => {
	refuses(bytes({ columns: { depth: [0, 1], frame: [0, 1], self: [1, 1] } }), /node 1 has no parent/);
	refuses(bytes({ columns: { depth: [0, 0], frame: [0, 2], self: [1, 1] } }), /outside/);
	refuses(bytes({ columns: { depth: [0, 0], frame: [0, 2 ** 32 + 1], self: [1, 1] } }), /outside/);
	refuses(
		bytes({
			columns: {
				depth: [0, 0],
				frame: [0, 1],
				self: [1, [255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1]]
			}
		}),
		/too long/
	);
	refuses(
		bytes({
			frames: [
				[0, 9],
				[0, 0],
				[0, 7],
				[0, 0],
				[1, 0],
				[0, 1]
			]
		}),
		/name of frames/
	);
	refuses(
		bytes({
			frames: [
				[0, 1],
				[0, 0],
				[0, 7],
				[0, 0],
				[1, 3],
				[0, 1]
			]
		}),
		/kind of frames/
	);
});
test('headers that cannot be', () => {
	refuses(new Uint8Array(0), /middle|not a tree/);
	refuses(text('<!doctype html>'), /not a tree/);
	refuses(bytes({ magic: 'CRT2' }), /version "2"/);
	for (const header of [
		{ version: 2 },
		{ kinds: [] },
		{ kinds: [1, 2] },
		{ kinds: 'native' },
		{ columns: ['depth', 'frame'] },
		{ columns: null },
		{ columns: ['depth', 'frame', 'self', 'self'] },
		{ type: 5 },
		{ unit: null }
	])
		refuses(bytes({ header }));
	refuses(Uint8Array.from([...text('CRT1'), 4, ...text('null')]), /version/);
	refuses(Uint8Array.from([...text('CRT1'), 4, ...text('{"a"')]), /JSON/);
	refuses(Uint8Array.from([...text('CRT1'), 255, 255, 255, 127, ...text('{')]), /header/);
});
/** One stack, every level of which is worth 1. */
function chain(levels) {
	return new Tree(
		{ version: 1, type: '', unit: '', total: 0, unfiltered: 0 },
		sample(1).frames,
		depthsOf(Uint32Array.from({ length: levels + 1 }, (_, i) => i)),
		new Uint32Array(levels + 1),
		{ self: new Float64Array(levels + 1).fill(1) }
	);
}
test('trees deeper than two bytes tell: depths do not wrap; the others have two bytes each', () => {
	for (const levels of [65534, 65535, 65536, 70000, 1 << 20]) {
		const t = decodeTree(encodeTree(chain(levels)));
		assert.strictEqual(t.depth.BYTES_PER_ELEMENT, levels > 65535 ? 4 : 2);
		assert.deepStrictEqual(
			[t.rows, t.total[0], t.total[levels], t.depth[levels], t.parent[levels]],
			[levels + 1, levels + 1, 1, levels, levels - 1]
		);
		assert.strictEqual(new Layout(t).at(levels, 0.5), levels);
	}
	refuses(encodeTree(chain((1 << 20) + 1)), /deeper than 1048576 levels/);
});
test('… in each of their shapes', () => {
	const levels = 70000,
		frames = Array.from({ length: levels }, (_, i) => ({ name: i === levels - 1 ? 'leaf' : `f${i % 7}` }));
	const t = buildTree([{ frames, value: 3 }], HEADER),
		up = invert(t),
		{ callers, callees } = sandwich(t, 'leaf');
	for (const shape of [t, up, mergeNodes(t, [1]), keepOrder(t, t)])
		assert.deepStrictEqual([shape.rows, shape.total[shape.n - 1]], [levels + 1, 3]);
	assert.strictEqual(up.name(1), 'leaf');
	assert.deepStrictEqual([callers.rows, callees.rows], [levels, 1]);
});
test('siblings by the hundred thousand', () => {
	const wide = buildTree(
		Array.from({ length: 150e3 }, (_, i) => ({ frames: [{ name: `f${i}` }], value: 1 })),
		HEADER
	);
	assert.strictEqual(
		mergeNodes(
			wide,
			Array.from({ length: wide.n - 1 }, (_, i) => i + 1)
		).n,
		wide.n
	);
});
