// tier: test
/* web/interval.js says what `cresset diff` says of the same stacks. */
import assert from 'node:assert';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { test } from 'node:test';
import { changeInterval, sharesInterval, sumsInterval } from '../../../web/interval.js';
import { Tree } from '../../../web/tree.js';
import { buildTree } from '../../../web/tree_shape.js';

const { program, tempDir } = createRequire(import.meta.url)('../picture.js');
const SIDES = [
	{ grew: 100, shrank: 300, gone: 20, rare: 3, same: 50 },
	{ grew: 250, shrank: 100, fresh: 50, rare: 1, same: 51 }
];

/** What the program says: {function: {low, high}}. */
function said(norm) {
	const dir = tempDir(),
		files = SIDES.map((side, i) => {
			const file = path.join(dir, `${i}.folded`);
			fs.writeFileSync(
				file,
				Object.entries(side)
					.map(([name, value]) => `main;${name} ${value}\n`)
					.join('')
			);
			return file;
		});
	const { rows } = JSON.parse(
		execFileSync(program, ['diff', ...files, '--norm', norm, '--json'], { encoding: 'utf8' })
	);
	return Object.fromEntries(rows.map((row) => [row.function, row.self]));
}
/** The same as a tree of both sides. weight: what each sample weighs; squares: said as a column. */
function diff(norm, weight = 1, squares = false) {
	const names = [...new Set(SIDES.flatMap(Object.keys))],
		base = buildTree(names.map((name) => ({ frames: [{ name: 'main' }, { name }], value: 1 })));
	const of = (side, factor) => Float64Array.from({ length: base.n }, (_, i) => (side[base.name(i)] ?? 0) * factor),
		[a, b] = SIDES;
	return new Tree({ ...base.header, norm }, base.frames, base.depth, base.frame, {
		self: of(a, weight),
		selfB: of(b, weight),
		samples: of(a, 1),
		samplesB: of(b, 1),
		...(squares && { w2: of(a, weight ** 2), w2B: of(b, weight ** 2) })
	});
}
const near = (is, wanted, what) =>
	assert.ok(Math.abs(is - wanted) <= 1e-6 * Math.max(1, Math.abs(wanted)), `${what}: ${is}, not ${wanted}`);

for (const [norm, factor] of [
	['share', 0.01],
	['abs', 1]
])
	test(`intervals of the program, ${norm}`, () => {
		const rows = said(norm),
			t = diff(norm);
		assert.ok(Object.keys(rows).length >= 5);
		for (let i = 2; i < t.n; i++) {
			const { low, high } = changeInterval(t, i),
				row = rows[t.name(i)];
			near(low, row.low * factor, `${t.name(i)} low`);
			near(high, row.high * factor, `${t.name(i)} high`);
		}
	});
test('weights change nothing about shares, and scale sums', () => {
	for (const squares of [false, true]) {
		const share = changeInterval(diff('share', 1e7, squares), 3),
			plain = changeInterval(diff('share'), 3);
		if (!squares) near(share.low, plain.low, 'share');
		assert.ok(Math.abs(share.low - plain.low) < 0.01 && share.of === 'share');
		const sum = changeInterval(diff('abs', 1e7, squares), 3);
		near(sum.low / 1e7, changeInterval(diff('abs'), 3).low, 'sum');
	}
});
test('what cannot be known is not said', () => {
	const t = diff('share');
	t.samplesB = undefined;
	assert.strictEqual(changeInterval(t, 2), undefined);
	assert.strictEqual(changeInterval(buildTree([]), 0), undefined);
	const none = { sum: 0, squares: 0, n: 0 };
	assert.ok(Number.isNaN(sumsInterval(none, none, 0, 0).low));
	assert.ok(Number.isNaN(sharesInterval(none, none, 0, none, none, 0).high));
});
