/* Random trees for the tests, and the same questions answered in the plainest way: on stacks, one by one. */
const KINDS = ['native', 'kernel', 'python', 'java', 'go', 'gpu-kernel', 'js', 'marker'];

/** The same numbers for the same seed (Mulberry32). */
export function random(seed) {
	let state = seed;
	return () => {
		state = (state + 0x6d2b79f5) | 0;
		let t = Math.imul(state ^ (state >>> 15), 1 | state);
		t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
		return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
	};
}
/** [{frames, value}] of few names, so that stacks share beginnings and functions call themselves. */
export function randomStacks(seed, n = 400, names = 12) {
	const next = random(seed),
		below = (limit) => Math.floor(next() * limit),
		stacks = [];
	for (let i = 0; i < n; i++) {
		const frames = [];
		for (let depth = 1 + below(14); depth > 0; depth--) {
			const k = below(3) && frames.length ? frames.at(-1).k : below(names);
			frames.push({
				k,
				name: `f${k}${k % 3 ? '' : '::é<b>'}`,
				kind: KINDS[k % KINDS.length],
				mapping: k % 4 ? `/lib/lib${k % 4}.so` : '',
				file: k % 2 ? '' : '/src/a.c',
				line: k,
				inlined: k % 5 === 0
			});
		}
		stacks.push({ frames: frames.map(({ k, ...frame }) => frame), value: 10 + below(1000) });
	}
	return stacks;
}
/** The tree as {path of names: [self, total]}; the root is ''. */
export function paths(t) {
	const out = {},
		open = [];
	for (let i = 0; i < t.n; i++) {
		open.length = t.depth[i];
		open.push(t.name(i));
		const key = open.slice(1).join(';'),
			known = out[key] || [0, 0];
		out[key] = [known[0] + t.self[i], known[1] + t.total[i]];
	}
	return out;
}
/** The same of stacks [{names, value}]. */
export function naivePaths(stacks) {
	const out = {};
	const add = (key, self, total) => {
		out[key] = out[key] || [0, 0];
		out[key][0] += self;
		out[key][1] += total;
	};
	for (const { names, value } of stacks) {
		for (let i = 0; i <= names.length; i++) add(names.slice(0, i).join(';'), i === names.length ? value : 0, value);
	}
	return out;
}
export const named = (stacks) => stacks.map(({ frames, value }) => ({ names: frames.map((f) => f.name), value }));
