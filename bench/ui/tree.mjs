/* bench/ui/tree.mjs: trees to measure with, always the same ones: n nodes, at most 36 deep, a few heavy branches and
 * many light ones, 8000 names. */
import { Tree } from '../../web/tree.js';

const NAMES = 8000,
	DEEPEST = 36,
	PARTS = 14,
	KINDS = ['native', 'native', 'native', 'kernel', 'python', 'java', 'go', 'gpu-kernel', 'js'];

/** Mulberry32. */
function random(seed) {
	let state = seed;
	return () => {
		state = (state + 0x6d2b79f5) | 0;
		let t = Math.imul(state ^ (state >>> 15), 1 | state);
		t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
		return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
	};
}
function makeFrames(next) {
	const f = {
		count: NAMES,
		name: [''],
		file: [''],
		mapping: [''],
		kind: ['marker'],
		line: new Float64Array(NAMES),
		inlined: new Uint8Array(NAMES),
		nameId: Uint32Array.from({ length: NAMES }, (_, i) => i)
	};
	for (let i = 1; i < NAMES; i++) {
		f.name.push(
			`namespace_${i % 97}::function_${i.toString(36)}`.padEnd(12 + Math.floor(next() * 50), '_of_something')
		);
		f.file.push(`/src/part_${i % 211}.c`);
		f.mapping.push(`/usr/lib/lib${i % 61}.so`);
		f.kind.push(KINDS[i % KINDS.length]);
	}
	return f;
}
/** Siblings share what their parent has: each takes a part of what is left, so a few are heavy. n nodes, as near as it
 * goes. */
export function makeTree(n, seed = 1) {
	const next = random(seed),
		frames = makeFrames(next),
		depth = [0],
		frame = [0],
		self = [0];
	const open = [{ depth: 0, budget: n - 1, value: n * 2e6 }];
	while (open.length) {
		const at = open.pop();
		if (at.node) {
			depth.push(at.depth);
			frame.push(1 + Math.floor(next() ** 2 * (NAMES - 1)));
			self.push(Math.floor(at.budget < 1 || at.depth >= DEEPEST ? at.value : at.value * 0.1));
		}
		if (at.depth >= DEEPEST) continue;
		let budget = at.budget,
			value = at.value * 0.9;
		for (let k = 0; k < PARTS && budget >= 1; k++) {
			const part = k === PARTS - 1 ? 1 : 0.05 + next() * 0.6,
				nodes = Math.max(1, Math.floor(budget * part));
			open.push({ node: true, depth: at.depth + 1, budget: nodes - 1, value: value * part });
			budget -= nodes;
			value -= value * part;
		}
	}
	return new Tree(
		{ version: 1, type: 'cpu', unit: 'nanoseconds', total: 0, unfiltered: 0 },
		frames,
		Uint16Array.from(depth),
		Uint32Array.from(frame),
		{ self: Float64Array.from(self) }
	);
}
/** Every pixel is taken: rows of equally wide nodes. */
export function makeDense(columns, rows) {
	const frames = makeFrames(random(2)),
		depth = [0],
		frame = [0],
		self = [0];
	for (let column = 0; column < columns; column++)
		for (let row = 1; row <= rows; row++) {
			depth.push(row);
			frame.push(1 + ((column * 31 + row * 17) % (NAMES - 1)));
			self.push(row === rows ? 1 : 0);
		}
	return new Tree(
		{ version: 1, type: 'cpu', unit: 'samples', total: 0, unfiltered: 0 },
		frames,
		Uint16Array.from(depth),
		Uint32Array.from(frame),
		{ self: Float64Array.from(self) }
	);
}
