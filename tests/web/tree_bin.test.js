// tier: test
/* Trees as bytes (src/format/common/tree_bin.h) of cresset serve, read by a separate decoder, against the same trees as
 * JSON; pruned, zoomed, inverted, and two in one. */
'use strict';
const assert = require('node:assert');
const { execFileSync, spawn } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { after, before, test } = require('node:test');
const { project, program, tempDir } = require('./picture.js');

const dir = tempDir(),
	servers = [];
const RANDOM = 'samples',
	WAITS = 'wall';
let random, waits;

function serve(file) {
	const server = spawn(program, ['serve', file, '--listen', '127.0.0.1:0'], { stdio: ['ignore', 'pipe', 'inherit'] });
	servers.push(server);
	return new Promise((resolve, reject) => {
		let said = '';
		server.stdout.on('data', (text) => {
			said += text;
			if (said.endsWith('\n')) resolve(said.trim());
		});
		server.on('exit', () => reject(new Error('it ended: ' + said)));
	});
}

/* Numbers that look random and are the same in every run. */
let state = 7;
function below(n) {
	state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
	return Math.floor((state / 2 ** 32) * n);
}

/* Stacks that share beginnings; one name is no UTF-8, others are odd; values from 1 to beyond 32 bits. */
function randomStacks() {
	const names = [
		'a',
		'b<script>',
		'c\u00e9',
		'\u{1f525}',
		'__GI_poll',
		'x_[k]',
		'y_[j]',
		'operator()(int, char*)',
		'c\xff\xfe'
	];
	const lines = [];
	for (let i = 0; i < 3000; i++) {
		const stack = ['t' + below(3)];
		for (let depth = 1 + below(30); depth > 0; depth--)
			stack.push(below(4) ? names[below(3)] : names[below(names.length)] + below(4));
		const value = below(20) ? 1 + below(9) : 1 + below(5000000000);
		lines.push(Buffer.from(stack.join(';') + ' ' + value + '\n', i % 7 ? 'utf8' : 'latin1'));
	}
	return Buffer.concat(lines);
}

before(async () => {
	fs.writeFileSync(path.join(dir, 'random.folded'), randomStacks());
	execFileSync(path.resolve(project, process.env.BUILD || 'build', 'fixture', 'waits'), [
		path.join(dir, 'waits.cresset')
	]);
	random = await serve(path.join(dir, 'random.folded'));
	waits = await serve(path.join(dir, 'waits.cresset'));
});
after(() => {
	for (const server of servers) {
		server.removeAllListeners('exit');
		server.kill();
	}
});

/* --- a decoder, as plain as can be --- */

function decode(bytes) {
	let at = 0;
	const take = (n) => bytes.subarray(at, (at += n)),
		number = () => {
			for (let v = 0n, shift = 0n; ; shift += 7n) {
				const byte = BigInt(bytes[at++]);
				v |= (byte & 127n) << shift;
				if (byte < 128n) return Number(v);
			}
		};
	const numbers = (n) => Array.from({ length: n }, number);
	assert.strictEqual(take(4).toString(), 'CRT1');
	const header = JSON.parse(take(number()));
	const strict = new TextDecoder('utf-8', { fatal: true });
	const strings = numbers(header.strings).map((length) => strict.decode(take(length)));
	assert.strictEqual(strings[0], '');
	assert.strictEqual(new Set(strings).size, strings.length);
	const [name, file, line, mapping, kind, flags] = Array.from({ length: 6 }, () => numbers(header.frames));
	const frames = name.map((_, i) => ({
		name: strings[name[i]],
		file: strings[file[i]],
		line: line[i],
		mapping: strings[mapping[i]],
		kind: header.kinds[kind[i]],
		inlined: flags[i] === 1
	}));
	const column = {};
	for (const c of header.columns) {
		const length = number(),
			end = at + length;
		column[c] = c.startsWith('w2')
			? Array.from({ length: header.nodes }, () => take(8).readDoubleLE())
			: numbers(header.nodes);
		assert.strictEqual(at, end);
	}
	assert.strictEqual(at, bytes.length);
	return { header, frames, column, nodes: nodesOf(header, frames, column) };
}

/* Nodes with totals, each with its parent. */
function nodesOf(header, frames, column) {
	const nodes = [],
		open = [];
	column.depth.forEach((up, i) => {
		const depth = i ? nodes[i - 1].depth + 1 - up : 0;
		open.length = depth;
		const node = {
			depth,
			frame: frames[column.frame[i]],
			self: column.self[i],
			selfB: column.self_b?.[i] ?? 0,
			n: column.n?.[i],
			nB: column.n_b?.[i],
			parent: open[depth - 1],
			children: []
		};
		node.total = node.self;
		node.totalB = node.selfB;
		node.parent?.children.push(node);
		open.push(node);
		nodes.push(node);
	});
	for (const node of [...nodes].reverse())
		if (node.parent) {
			node.parent.total += node.total;
			node.parent.totalB += node.totalB;
		}
	return nodes;
}

async function get(url, params) {
	const answer = await fetch(url + 'api/v1/flame?' + new URLSearchParams(params));
	assert.strictEqual(answer.status, 200);
	return answer;
}
async function ask(url, params) {
	const answer = await get(url, { ...params, fmt: 'bin' });
	assert.strictEqual(answer.headers.get('content-type'), 'application/vnd.cresset.tree');
	return decode(Buffer.from(await answer.arrayBuffer()));
}
const askJson = async (url, params) => (await get(url, params)).json();

/* --- the same by both ways --- */

const spell = (f) => [f.name, f.mapping, f.file, f.kind, f.inlined ? '1' : ''].join('\0');
const pathOf = (node) => (node.parent ? [...pathOf(node.parent), spell(node.frame)] : []);
const byPath = (nodes, value) => new Map(nodes.map((n) => [pathOf(n).join('\x01'), value(n)]));
const sorted = (map) => [...map].sort();

/* The tree of the JSON answer, rests aside named as it names them. */
function jsonPaths(answer) {
	const open = [],
		out = new Map();
	for (const row of answer.tree) {
		open.length = Math.max(row.depth - 1, 0);
		if (row.depth)
			open.push(
				spell({
					name: row.function,
					mapping: row.binary ?? '',
					file: row.file ?? '',
					kind: row.kind,
					inlined: row.inlined
				})
			);
		out.set(open.join('\x01'), [row.self, row.total]);
	}
	return out;
}

for (const [name, params] of Object.entries({
	everything: {},
	pruned: { px: 300 },
	filtered: { focus: '^a', hide: 'poll' },
	inverted: { inverted: 1 },
	'inverted and pruned': { inverted: 1, px: 50 },
	'with root frames': { by: 'comm' }
}))
	test('bytes and JSON have the same nodes: ' + name, async () => {
		for (const [url, q] of [
			[random, RANDOM],
			[waits, WAITS]
		]) {
			const a = await ask(url, { q, ...params }),
				b = await askJson(url, { q, ...params });
			assert.deepStrictEqual(sorted(byPath(a.nodes, (n) => [n.self, n.total])), sorted(jsonPaths(b)));
			assert.strictEqual(a.nodes[0].total, b.total);
			assert.deepStrictEqual(
				[a.header.total, a.header.unfiltered, a.header.unit, a.header.inverted],
				[b.total, b.unfiltered_total, b.unit, !!params.inverted]
			);
			assert.strictEqual(a.header.nodes, b.tree.length);
			assert.deepStrictEqual(a.header.columns, ['depth', 'frame', 'self']);
		}
	});

test('siblings are in the order of their names, rests last', async () => {
	const { nodes } = await ask(random, { q: RANDOM, px: 300 });
	const bytes = (f) => Buffer.from(f.name),
		isRest = (f) => f.kind === 'rest';
	for (const node of nodes)
		for (const [i, child] of node.children.entries()) {
			const before = node.children[i - 1]?.frame;
			assert(
				!before ||
					(!isRest(before) && (isRest(child.frame) || Buffer.compare(bytes(before), bytes(child.frame)) <= 0))
			);
		}
});

/* --- what is left out --- */

test('what is narrower than half a pixel is a rest, and nothing else', async () => {
	const all = await ask(random, { q: RANDOM }),
		px = 200,
		pruned = await ask(random, { q: RANDOM, px });
	const limit = Math.ceil(all.header.total / 2 / px),
		whole = byPath(all.nodes, (n) => n.total);
	for (const node of pruned.nodes) {
		if (node.frame.kind === 'rest') continue;
		assert.strictEqual(node.total, whole.get(pathOf(node).join('\x01')));
		assert(node.total >= limit);
	}
	const wide = all.nodes.filter((n) => n.total >= limit).length;
	assert.strictEqual(pruned.nodes.filter((n) => n.frame.kind !== 'rest').length, wide);
	assert(wide > 20 && wide < all.nodes.length / 4);
});

/* As src/profile/tree/tree_path.h describes a path. */
function pathDigits(node) {
	if (!node.parent) return '';
	let h = 0xcbf29ce484222325n;
	for (const byte of Buffer.from(spell(node.frame) + '\0'))
		h = BigInt.asUintN(64, (h ^ BigInt(byte)) * 0x100000001b3n);
	return pathDigits(node.parent) + ((h >> 48n) ^ (h & 0xffffffffffffn)).toString(16).padStart(12, '0');
}
const isBelow = (node, top) => !!node && (node === top || isBelow(node.parent, top));
const find = (nodes, like) => nodes.find((n) => pathDigits(n) === pathDigits(like));

for (const more of [{}, { inverted: 1 }, { by: 'comm' }])
	test('a zoom shows the node as it is in the whole tree: ' + JSON.stringify(more), async () => {
		const px = 100,
			q = RANDOM,
			all = await ask(random, { q, ...more }),
			pruned = await ask(random, { q, px, ...more });
		const small = Math.ceil(all.header.total / 2 / px),
			tops = all.nodes.filter((n) => n.parent && n.children.length > 2);
		for (const top of [tops[0], tops[5], tops[tops.length >> 1], tops.at(-1)]) {
			const zoomed = await ask(random, { q, px, zoom: pathDigits(top), ...more }),
				limit = Math.ceil(top.total / 2 / px);
			const want = all.nodes.filter((n) =>
				isBelow(n, top) ? n === top || n.total >= limit : n.total >= small || isBelow(top, n)
			);
			const got = zoomed.nodes.filter((n) => n.frame.kind !== 'rest');
			assert.deepStrictEqual(sorted(byPath(got, (n) => n.total)), sorted(byPath(want, (n) => n.total)));
			assert.strictEqual(find(zoomed.nodes, top).total, top.total);
			assert.strictEqual(zoomed.nodes[0].total, pruned.nodes[0].total);
		}
	});

test('a path that is not there changes nothing', async () => {
	const plain = await ask(random, { q: RANDOM, px: 100 }),
		zoomed = await ask(random, { q: RANDOM, px: 100, zoom: '0123456789ab' });
	assert.deepStrictEqual(
		sorted(
			byPath(
				zoomed.nodes.filter((n) => n.frame.kind !== 'rest'),
				(n) => n.total
			)
		),
		sorted(
			byPath(
				plain.nodes.filter((n) => n.frame.kind !== 'rest'),
				(n) => n.total
			)
		)
	);
});

test('what cannot be asked is said', async () => {
	for (const [query, word] of [
		['px=10&zoom=12', /zoom: a path has 12 hex digits/],
		['px=10&zoom=0123456789AB', /hex digits/],
		['zoom=0123456789ab', /zoom needs px/],
		['px=10000001', /px/],
		['inverted=yes', /inverted/]
	]) {
		const answer = await fetch(`${random}api/v1/flame?q=${RANDOM}&fmt=bin&${query}`);
		assert.strictEqual(answer.status, 400);
		assert.match((await answer.json()).error.message, word);
	}
});

/* --- two in one --- */

async function askDiff(params) {
	const answer = await fetch(
		waits +
			'api/v1/diff?' +
			new URLSearchParams({ fmt: 'bin', a: WAITS, ato: 'start+2s', bfrom: 'start+1s', bto: 'end', ...params })
	);
	assert.strictEqual(answer.status, 200);
	return decode(Buffer.from(await answer.arrayBuffer()));
}

test('a difference has both sides, A before B', async () => {
	const both = await askDiff({}),
		a = await ask(waits, { q: WAITS, to: 'start+2s' }),
		b = await ask(waits, { q: WAITS, from: 'start+1s' });
	const only = (value, total) => sorted(byPath(both.nodes.filter(total), value));
	assert.deepStrictEqual(
		only(
			(n) => [n.self, n.total],
			(n) => n.total
		),
		sorted(byPath(a.nodes, (n) => [n.self, n.total]))
	);
	assert.deepStrictEqual(
		only(
			(n) => [n.selfB, n.totalB],
			(n) => n.totalB
		),
		sorted(byPath(b.nodes, (n) => [n.self, n.total]))
	);
	assert.deepStrictEqual([both.header.total, both.header.total_b], [a.header.total, b.header.total]);
	assert.notStrictEqual(a.header.total, b.header.total);
	assert.deepStrictEqual(
		[both.header.unfiltered, both.header.unfiltered_b],
		[a.header.unfiltered, b.header.unfiltered]
	);
	assert.strictEqual(both.header.norm, 'share');
	assert.deepStrictEqual([both.header.seconds, both.header.seconds_b], [3, 9]); // it begins a second before its start
});

test('a difference keeps what is wide on either side, and its sums', async () => {
	const px = 4,
		all = await askDiff({}),
		pruned = await askDiff({ px });
	const limit = Math.ceil(all.header.total / 2 / px),
		limitB = Math.ceil(all.header.total_b / 2 / px);
	const want = all.nodes.filter((n) => n.total >= limit || n.totalB >= limitB),
		got = pruned.nodes.filter((n) => n.frame.kind !== 'rest');
	assert.deepStrictEqual(
		sorted(byPath(got, (n) => [n.total, n.totalB])),
		sorted(byPath(want, (n) => [n.total, n.totalB]))
	);
	assert(want.length < all.nodes.length);
	assert.deepStrictEqual([pruned.nodes[0].total, pruned.nodes[0].totalB], [all.nodes[0].total, all.nodes[0].totalB]);
	for (const c of ['n', 'n_b', 'w2', 'w2_b'])
		if (all.column[c]) {
			const sum = (t) => t.column[c].reduce((x, y) => x + y, 0);
			assert(Math.abs(sum(all) - sum(pruned)) <= 1e-6 * Math.abs(sum(all)));
		}
	assert(all.column.n);
});
