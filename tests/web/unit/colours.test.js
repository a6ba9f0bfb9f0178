// tier: test
/* web/colours.js: the colours and words of the SVG (src/format/common/palette.c), legible, and shares that add up. */
import assert from 'node:assert';
import fs from 'node:fs';
import { test } from 'node:test';
import { MODES, STEPS, fillOf, isDark, kindLabel, legend, modeFor, packageOf, paint } from '../../../web/colours.js';
import { Tree } from '../../../web/tree.js';
import { buildTree } from '../../../web/tree_shape.js';
import { named, randomStacks } from './trees.js';

const C = fs.readFileSync(new URL('../../../src/format/common/palette.c', import.meta.url), 'utf8');
const FRAME_C = fs.readFileSync(new URL('../../../src/profile/frame.c', import.meta.url), 'utf8');
const one = (frame, header) => buildTree([{ frames: [frame], value: 1 }], header);
const hex = (rgb) => '#' + rgb.toString(16).padStart(6, '0');
/** WCAG 2's contrast. */
function contrast(a, b) {
	const light = (rgb) =>
		[16, 8, 0]
			.map((shift) => ((rgb >> shift) & 255) / 255)
			.map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
			.reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0) + 0.05;
	return Math.max(light(a), light(b)) / Math.min(light(a), light(b));
}

test('kinds have the colours and words of the SVG', () => {
	const rows = [...C.matchAll(/\[KIND_\w+ - PALETTE_OWN\] = \{ (0x[0-9a-f]+|RGB_KERNEL), "([^"]+)"/g)];
	const kernel = /RGB_KERNEL = (0x[0-9a-f]+)/.exec(C)[1],
		{ groups } = paint(one({ name: 'x' }), 'kind');
	assert.ok(rows.length >= 14);
	for (const [, rgb, label] of rows)
		assert.strictEqual(
			hex(groups.find((g) => g.label === label)?.rgb ?? 0),
			hex(Number(rgb === 'RGB_KERNEL' ? kernel : rgb)),
			label
		);
	for (const [, rgb, label] of C.matchAll(/\[STATE_\w+\] = \{ (0x[0-9a-f]+), "([^"]+)" \}/g))
		assert.strictEqual(
			hex(paint(one({ name: 'x' }), 'wall').groups.find((g) => g.label === label)?.rgb ?? 0),
			hex(Number(rgb)),
			label
		);
});
test('every kind of the program has words', () => {
	const kinds = [...FRAME_C.matchAll(/\[FRAME_\w+\] = \{ "([a-z-]+)"/g)].map(([, kind]) => kind);
	assert.ok(kinds.length >= 20);
	for (const kind of kinds.filter((k) => k !== 'rest')) assert.ok(kindLabel(kind, 'name', ''), kind);
});
test('native code: its language by names and files', () => {
	for (const [name, file, label] of [
		['memcpy', '', 'native'],
		['std::sort', '', 'C++'],
		['core::fmt::write', '', 'Rust'],
		['<a as b>::c', '', 'Rust'],
		['a::b::h0123456789abcdef', '', 'Rust'],
		['main.main', '/x/main.go', 'Go'],
		['x', 'lib.rs', 'Rust'],
		['[unknown]', '', ''],
		['libc.so.6+0x1f3c', '', ''],
		['operator+', '', 'native']
	])
		assert.strictEqual(kindLabel('native', name, file), label, name);
	assert.strictEqual(kindLabel('marker', '[blocked: futex/lock]', ''), 'off-CPU');
	assert.strictEqual(kindLabel('marker', '[waiting for GPU]', ''), 'waiting for a GPU');
});
test('text on every fill has a contrast of 4.5', () => {
	const t = buildTree(randomStacks(1));
	for (const mode of MODES)
		for (const group of paint(t, mode).groups)
			for (let step = 0; step < STEPS; step++) {
				const fill = fillOf(group, step);
				assert.ok(
					contrast(fill, isDark(fill) ? 0xffffff : 0x111111) >= 4.5,
					`${mode}, ${group.label}, ${hex(fill)}`
				);
			}
});
test('shares of the legend add up, in every mode', () => {
	for (const mode of MODES.filter((m) => m !== 'diff')) {
		const t = buildTree(randomStacks(2)),
			lines = legend(paint(t, mode));
		const sum = lines.reduce((all, line) => all + Math.max(0, line.self), 0);
		assert.ok(Math.abs(sum - 1) < 1e-9, `${mode}: ${sum}`);
		assert.ok(lines.length && lines.length <= 12 && lines.every((line) => line.label));
	}
	const stacks = randomStacks(3),
		all = stacks.reduce((sum, s) => sum + s.value, 0),
		lines = legend(paint(buildTree(stacks), 'binary'));
	for (const line of lines.filter((l) => l.label.startsWith('lib'))) {
		const mine = stacks.filter(
			({ frames }) => frames.at(-1).kind !== 'kernel' && frames.at(-1).mapping.endsWith('/' + line.label)
		);
		assert.ok(Math.abs(line.self - mine.reduce((sum, s) => sum + s.value, 0) / all) < 1e-9, line.label);
	}
});
test('many binaries: the heaviest by name, the others as one line that holds them all', () => {
	const stacks = Array.from({ length: 300 }, (_, i) => ({
		frames: [{ name: 'f', mapping: `/lib/l${i}.so` }],
		value: 1000 - i
	}));
	const p = paint(buildTree(stacks), 'binary'),
		lines = legend(p);
	assert.strictEqual(lines[0].label, 'l0.so');
	assert.match(lines.at(-1).label, /^\d+ others$/);
	assert.ok(Math.abs(lines.reduce((sum, line) => sum + line.self, 0) - 1) < 1e-9);
});
test('wall: by the marker nearest to the leaf, and what is nearly all of a subtree', () => {
	const at = (names, value) => ({
		frames: names.map((name) => ({ name, kind: name.startsWith('[') ? 'marker' : 'native' })),
		value
	});
	const t = buildTree(
		[
			at(['main', 'work'], 400),
			at(['main', 'wait', '[blocked: poll]'], 300),
			at(['main', 'wait', '[sched-wait]'], 100),
			at(['main', 'sync', '[waiting for GPU]'], 200)
		],
		{ type: 'wall' }
	);
	const p = paint(t, 'wall'),
		label = (name) => p.groups[p.ofNode[Array.from({ length: t.n }, (_, i) => t.name(i)).indexOf(name)]].label;
	assert.deepStrictEqual(['main', 'work', 'wait', '[blocked: poll]', '[sched-wait]', 'sync'].map(label), [
		'several above it',
		'on-CPU',
		'several above it',
		'off-CPU',
		'waiting for a CPU',
		'waiting for a GPU'
	]);
	const share = Object.fromEntries(p.groups.map((g) => [g.label, g.self]));
	assert.deepStrictEqual(
		['on-CPU', 'off-CPU', 'waiting for a CPU', 'waiting for a GPU'].map((l) => share[l]),
		[0.4, 0.3, 0.1, 0.2]
	);
	assert.strictEqual(modeFor(t), 'wall');
});
test('wall on random trees, beside counting every stack', () => {
	const marked = randomStacks(9).map(({ frames, value }, i) => ({
		frames: i % 3 ? frames : [...frames, { name: i % 2 ? '[off-CPU] x' : '[sched-wait]', kind: 'marker' }],
		value
	}));
	const t = buildTree(marked, { type: 'wall' }),
		p = paint(t, 'wall'),
		state = (names) =>
			names.at(-1).startsWith('[o') ? 'off-CPU' : names.at(-1).startsWith('[s') ? 'waiting for a CPU' : 'on-CPU';
	for (let i = 1; i < t.n; i++) {
		const path = t
				.path(i)
				.slice(1)
				.map((node) => t.name(node)),
			sums = {};
		let all = 0;
		for (const { names, value } of named(marked))
			if (path.every((name, k) => names[k] === name)) {
				sums[state(names)] = (sums[state(names)] || 0) + value;
				all += value;
			}
		const wanted = Object.keys(sums).find((s) => sums[s] > 0.99 * all) || 'several above it';
		if (t.total[i] === all)
			/* frames of one name may differ in kind */
			assert.strictEqual(p.groups[p.ofNode[i]].label, wanted, path.join(';'));
	}
});
test('GPU: what instructions waited for', () => {
	const gpu = (reason, value) => ({
		frames: [
			{ name: 'main' },
			{ name: 'k', kind: 'gpu-kernel' },
			{ name: 'LDG', kind: 'gpu-instruction' },
			{ name: reason, kind: 'gpu-stall' }
		],
		value
	});
	const t = buildTree([
			gpu('long_scoreboard', 70),
			gpu('barrier', 20),
			gpu('what is this', 10),
			{ frames: [{ name: 'bare', kind: 'gpu-kernel' }], value: 1 }
		]),
		p = paint(t, 'gpu');
	const label = (name) => p.groups[p.ofNode[Array.from({ length: t.n }, (_, i) => t.name(i)).indexOf(name)]].label;
	assert.deepStrictEqual(['main', 'k', 'LDG', 'long_scoreboard', 'barrier', 'what is this', 'bare'].map(label), [
		'no stall reason',
		'memory',
		'memory',
		'memory',
		'barrier, synchronization',
		'other stall',
		'no stall reason'
	]);
});
test('packages', () => {
	for (const [kind, name, file, mapping, wanted] of [
		['go', 'net/http.(*conn).serve', '', '', 'net/http'],
		['go', 'runtime.mallocgc', '', '', 'runtime'],
		['native', 'std::vector<a::b>::push_back(int)', '', '/l/x.so', 'std'],
		['native', '<alloc::vec::Vec<T> as core::ops::Drop>::drop', '', '', 'alloc'],
		['java', 'java.util.HashMap.get', '', '', 'java.util'],
		['java', 'Ljava/util/HashMap.get', '', '', 'java.util'],
		['kernel', 'do_x', '', '[kernel]', '[kernel]'],
		['python', 'f', '/usr/lib/python3/dist-packages/numpy/core/x.py', '', 'numpy'],
		['python', 'f', '/srv/app/views.py', '', 'app'],
		['native', 'memcpy', '', '/lib/libc.so.6', 'libc.so.6'],
		['marker', '[off-CPU]', '', '', '']
	])
		assert.strictEqual(packageOf(kind, name, file, mapping), wanted, name);
});
test('diff: more is red, less is blue, what was not there is yellow, by how much it is beside the greatest', () => {
	const base = buildTree(['a', 'b', 'c', 'd', 'e'].map((name) => ({ frames: [{ name }], value: 1 })));
	const t = new Tree({ ...base.header, norm: 'abs' }, base.frames, base.depth, base.frame, {
			self: Float64Array.of(0, 100, 100, 0, 50, 90),
			selfB: Float64Array.of(0, 0, 200, 10, 50, 110)
		}),
		p = paint(t, 'diff');
	const colours = ['a', 'b', 'c', 'd', 'e'].map((_, i) => hex(fillOf(p.groups[p.ofNode[i + 1]], 0)));
	assert.deepStrictEqual(colours.slice(0, 4), ['#6089e6', '#e05a50', '#f2dc5d', '#d4d6da']);
	assert.ok(colours[4] !== colours[1] && colours[4] !== colours[3]);
	assert.deepStrictEqual(
		legend(p).map((line) => line.label),
		['more ▲', 'less ▼', 'new', 'same']
	);
	assert.strictEqual(legend(p)[0].groups.length, 3);
	assert.strictEqual(modeFor(t), 'diff');
});
