// tier: test
/* web/flame/layout.js and search.js, beside looking at every node. */
import assert from 'node:assert';
import { test } from 'node:test';
import { Layout, follow, nodeOfPath, pathHash, rowsOfSome } from '../../../web/flame/layout.js';
import { matcher, search } from '../../../web/flame/search.js';
import { Tree } from '../../../web/tree.js';
import { buildTree } from '../../../web/tree_shape.js';
import { named, random, randomStacks } from './trees.js';

const t = buildTree(randomStacks(31, 250, 15)),
	l = new Layout(t),
	nodes = Array.from({ length: t.n }, (_, i) => i);
const inRow = (row) => nodes.filter((i) => t.depth[i] === row);

test('rows are sorted, children lie inside of their parents side by side', () => {
	for (let row = 0; row < l.rows; row++) {
		const order = [...l.order.slice(l.first[row], l.first[row + 1])];
		assert.deepStrictEqual(order, inRow(row));
		order.forEach((i, k) => assert.ok(!k || l.start[i] >= l.start[order[k - 1]] + l.width[order[k - 1]]));
	}
	for (const i of nodes.slice(1)) {
		const up = t.parent[i],
			before = nodes.filter((j) => t.parent[j] === up && j < i && j > 0).at(-1);
		assert.strictEqual(l.start[i], before ? l.start[before] + l.width[before] : l.start[up]);
		assert.ok(l.start[i] + l.width[i] <= l.start[up] + l.width[up]);
		assert.strictEqual(l.up(i), up);
	}
	assert.strictEqual(l.up(0), -1);
});
test('what is at a place, beside and below', () => {
	const next = random(3),
		all = l.width[0];
	for (let round = 0; round < 500; round++) {
		const row = Math.floor(next() * (l.rows + 1)),
			x = (next() * 1.2 - 0.1) * all,
			slack = all * next() ** 6;
		const here = inRow(row).filter((i) => l.start[i] <= x && x < l.start[i] + l.width[i]);
		assert.strictEqual(l.at(row, x), here[0] ?? -1);
		const inside = inRow(row).filter((i) => l.start[i] > x - slack && l.start[i] < x + slack),
			{ node } = l.widest(row, x - slack, x + slack);
		const most = Math.max(-1, ...[...inside, ...here].map((i) => l.width[i]));
		assert.strictEqual(
			node < 0 ? -1 : l.width[node],
			here[0] !== undefined && l.width[here[0]] >= 2 * slack ? l.width[here[0]] : most
		);
	}
	for (const i of nodes) {
		const row = inRow(t.depth[i]),
			k = row.indexOf(i),
			children = nodes.filter((j) => j && t.parent[j] === i).map((j) => l.width[j]);
		assert.deepStrictEqual([l.beside(i, -1), l.beside(i, 1)], [row[k - 1] ?? -1, row[k + 1] ?? -1]);
		assert.strictEqual(
			l.heaviest(i) < 0 ? undefined : l.width[l.heaviest(i)],
			children.length ? Math.max(...children) : undefined
		);
	}
});
test('both sides of a diff take room, and so do values below zero', () => {
	const b = t.self.map((v) => v * 3),
		two = new Tree({ ...t.header, norm: 'abs' }, t.frames, t.depth, t.frame, { self: t.self, selfB: b });
	assert.deepStrictEqual(
		[...new Layout(two).width],
		[...t.total].map((v) => 4 * v)
	);
	const share = new Tree({ ...t.header, norm: 'share' }, t.frames, t.depth, t.frame, { self: t.self, selfB: b });
	assert.ok(Math.abs(new Layout(share).width[0] - 6 * t.total[0]) < 1e-6);
	const below = new Tree({ ...t.header, signed: true }, t.frames, t.depth, t.frame, {
		self: t.self.map((v, i) => (i % 2 ? v : -v))
	});
	assert.deepStrictEqual([...new Layout(below).width], [...t.total]);
});
test('hashes of paths find their node', () => {
	const seen = new Set();
	for (const i of nodes) {
		const hash = pathHash(l, i),
			names = t
				.path(i)
				.slice(1)
				.map((node) => t.name(node));
		assert.strictEqual(
			nodeOfPath(l, hash),
			nodes.find(
				(j) =>
					t.depth[j] === t.depth[i] &&
					t
						.path(j)
						.slice(1)
						.every((node, k) => t.name(node) === names[k])
			)
		);
		assert.strictEqual(t.name(follow(t, names)), t.name(i));
		seen.add(hash);
	}
	assert.ok(
		seen.size >
			0.95 *
				new Set(
					nodes.map((i) =>
						t
							.path(i)
							.map((node) => t.name(node))
							.join('\0')
					)
				).size
	);
	assert.strictEqual(nodeOfPath(l, ''), 0);
	assert.strictEqual(nodeOfPath(l, '__proto__'), -1);
});
test('search counts what the stacks have', () => {
	const stacks = named(randomStacks(31, 250, 15)),
		sum = (list) => list.reduce((all, s) => all + s.value, 0);
	for (const [text, is] of [
		['f1', (n) => n.includes('f1')],
		['/^f\\d$/', (n) => /^f\d$/.test(n)],
		['/F1/i', (n) => /F1/i.test(n)],
		['', () => false],
		['/', (n) => n.includes('/')],
		['zzz', () => false]
	]) {
		const found = search(t, text);
		assert.deepStrictEqual(
			[found.matched, found.self],
			[
				sum(stacks.filter((s) => s.names.some(is))),
				sum(stacks.filter((s) => s.names.length && is(s.names.at(-1))))
			]
		);
		assert.deepStrictEqual([...found.nodes], text ? nodes.filter((i) => i && is(t.name(i))) : []);
		const { order, first } = rowsOfSome(t, found.nodes);
		for (let row = 0; row < t.rows; row++)
			assert.deepStrictEqual(
				[...order.slice(first[row], first[row + 1])],
				[...found.nodes].filter((i) => t.depth[i] === row)
			);
	}
	for (const bad of ['/(/', '/[/', '/*/i', '/\\/']) assert.throws(() => matcher(bad), /^Error: bad expression: ./);
	assert.throws(() => search(t, '/(/'), /bad expression/);
});
test('a rest is not found by its words', () => {
	const rest = buildTree([
		{ frames: [{ name: '(3 frames)', kind: 'rest' }], value: 5 },
		{ frames: [{ name: 'frames' }], value: 1 }
	]);
	assert.strictEqual(search(rest, 'frames').matched, 1);
});
