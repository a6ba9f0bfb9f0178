// tier: test
/* web/tree_shape.js, beside the same done on stacks one by one. */
import assert from 'node:assert';
import { test } from 'node:test';
import { Tree } from '../../../web/tree.js';
import { buildTree, collapseRecursion, invert, mergeNodes, sandwich } from '../../../web/tree_shape.js';
import { keepOrder } from '../../../web/order.js';
import { naivePaths, named, paths, random, randomStacks } from './trees.js';

const SEEDS = Array.from({ length: 5 }, (_, i) => i + 1);
const checked = (t) => {
	assert.strictEqual(t.header.total, t.total[0]);
	return paths(t);
};
/** Rests aside: they have their own test. */
const roomy = (seed) => randomStacks(seed, 200);

test('a tree of stacks', () => {
	for (const seed of SEEDS)
		assert.deepStrictEqual(checked(buildTree(randomStacks(seed))), naivePaths(named(randomStacks(seed))));
	const t = buildTree([
		{ frames: [{ name: 'b' }], value: 1 },
		{ frames: [{ name: 'a', kind: 'kernel' }], value: 2 },
		{ frames: [{ name: 'a' }], value: 3 }
	]);
	assert.deepStrictEqual(
		[t.n, t.name(1), t.name(2), t.name(3)],
		[4, 'a', 'a', 'b'],
		'other kinds are other frames; siblings come by name'
	);
	assert.strictEqual(buildTree([]).n, 1);
});
test('inverted: every stack the other way round', () => {
	for (const seed of SEEDS) {
		const stacks = named(roomy(seed)),
			t = invert(buildTree(roomy(seed)));
		assert.deepStrictEqual(
			checked(t),
			naivePaths(stacks.map(({ names, value }) => ({ names: names.slice().reverse(), value })))
		);
		assert.strictEqual(t.header.inverted, true);
	}
});
test('inverted twice is as before, with all columns', () => {
	const t = withSides(buildTree(roomy(3)), 7),
		again = invert(invert(t));
	assert.deepStrictEqual(checked(again), paths(t));
	assert.deepStrictEqual(sideB(again), sideB(t));
	assert.strictEqual(sum(again.w2), sum(t.w2));
});
test('what is too little becomes a rest, and sums stay', () => {
	const stacks = [{ frames: [{ name: 'main' }, { name: 'hot' }], value: 1e9 }];
	for (let i = 0; i < 50; i++) stacks.push({ frames: [{ name: 'main' }, { name: 'cold' + i }], value: 1 });
	const t = invert(buildTree(stacks)),
		rest = [...t.frame].findIndex((f) => t.frames.kind[f] === 'rest');
	assert.deepStrictEqual([t.total[0], t.n, t.name(rest), t.self[rest]], [1e9 + 50, 4, '(50 frames)', 50]);
});
test('sandwich: totals are those of a search', () => {
	for (const seed of SEEDS) {
		const stacks = named(roomy(seed)),
			t = buildTree(roomy(seed));
		for (const name of ['f1', 'f2', 'f0::é<b>']) {
			const with_ = stacks.filter((s) => s.names.includes(name));
			const { callers, callees } = sandwich(t, name),
				below = [],
				above = [];
			for (const { names, value } of with_) {
				below.push({ names: names.slice(names.indexOf(name) + 1), value });
				above.push({ names: names.slice(0, names.indexOf(name)).reverse(), value });
			}
			assert.deepStrictEqual(checked(callees), naivePaths(below));
			assert.deepStrictEqual(checked(callers), naivePaths(above));
			assert.deepStrictEqual([callers.name(0), callees.name(0)], [name, name]);
		}
	}
	assert.strictEqual(sandwich(buildTree(roomy(1)), 'nothing'), undefined);
});
test('subtrees as one', () => {
	for (const seed of SEEDS) {
		const t = buildTree(roomy(seed)),
			nodes = [];
		for (let i = 1; i < t.n; i++) if (t.name(i) === 'f1' || t.name(i) === 'f2') nodes.push(i);
		const stacks = named(roomy(seed)).flatMap(({ names, value }) => {
			const first = names.findIndex((name) => name === 'f1' || name === 'f2');
			return first < 0 ? [] : [{ names: names.slice(first), value }];
		});
		assert.deepStrictEqual(checked(mergeNodes(t, nodes)), naivePaths(stacks));
	}
});
test('recursion becomes one frame', () => {
	for (const seed of SEEDS) {
		const stacks = named(roomy(seed)).map(({ names, value }) => ({
			names: names.filter((name, i) => name !== names[i - 1]),
			value
		}));
		assert.deepStrictEqual(checked(collapseRecursion(buildTree(roomy(seed)))), naivePaths(stacks));
	}
	const t = collapseRecursion(
		buildTree([
			{ frames: [], value: 5 },
			{ frames: [{ name: 'a' }, { name: 'a' }], value: 1 }
		])
	);
	assert.deepStrictEqual([[...t.self], t.total[0]], [[5, 1], 6]);
});
test('order is kept: what was there stays where it was, what is new comes last', () => {
	for (const seed of SEEDS) {
		const all = randomStacks(seed),
			before = shuffled(buildTree(all.slice(0, 300)), seed),
			next = buildTree(all.slice(100)),
			kept = keepOrder(next, before);
		assert.deepStrictEqual(checked(kept), paths(next));
		const rank = new Map(Object.keys(paths(before)).map((path, i) => [path, i]));
		for (let i = 0; i < kept.n; i++) {
			let last = -1,
				isNew = false;
			for (let child = i + 1; child < kept.end[i]; child = kept.end[child]) {
				const place = rank.get(
					kept
						.path(child)
						.slice(1)
						.map((node) => kept.name(node))
						.join(';')
				);
				assert.ok(place === undefined || (!isNew && place > last), 'known ones first, in their order');
				isNew = place === undefined;
				last = place ?? last;
			}
		}
	}
});

/** Siblings in another order. */
function shuffled(t, seed) {
	const next = random(seed),
		order = [];
	const visit = (node) => {
		const children = [];
		order.push(node);
		for (let child = node + 1; child < t.end[node]; child = t.end[child]) children.push([next(), child]);
		children.sort(([a], [b]) => a - b).forEach(([, child]) => visit(child));
	};
	visit(0);
	return new Tree(
		t.header,
		t.frames,
		Uint16Array.from(order, (i) => t.depth[i]),
		Uint32Array.from(order, (i) => t.frame[i]),
		{ self: Float64Array.from(order, (i) => t.self[i]) }
	);
}
function withSides(t, seed) {
	const next = random(seed),
		many = () => Float64Array.from({ length: t.n }, (_, i) => (t.self[i] ? Math.floor(next() * 1000) : 0));
	return new Tree(t.header, t.frames, t.depth, t.frame, {
		self: t.self,
		selfB: many(),
		w2: many(),
		w2B: many(),
		samples: many(),
		samplesB: many()
	});
}
const sideB = (t) => paths({ ...t, n: t.n, self: t.selfB, total: t.totalB, name: (i) => t.name(i) });
const sum = (values) => values.reduce((a, b) => a + b, 0);
