/* deeper.js: the path of a node in a tree, as the server understands it: src/profile/tree/tree_path.h. */

const OFFSET = 0xcbf29ce484222325n,
	PRIME = 0x100000001b3n,
	LOW_64 = (1n << 64n) - 1n,
	LOW_48 = (1n << 48n) - 1n;
const encoder = new TextEncoder();

/** @param {import('../tree.js').Tree} t @param {number} frame */
function digits(t, frame) {
	const { name, mapping, file, kind, inlined } = t.frames;
	const text = [name[frame], mapping[frame], file[frame], kind[frame], inlined[frame] ? '1' : '']
		.map((s, i) => (i === 4 && !s ? '' : s + '\0'))
		.join('');
	let h = OFFSET;
	for (const byte of encoder.encode(text)) h = ((h ^ BigInt(byte)) * PRIME) & LOW_64;
	return ((h >> 48n) ^ (h & LOW_48)).toString(16).padStart(12, '0');
}
/** @param {import('../tree.js').Tree} t @param {number} node */
export function serverPath(t, node) {
	let path = '';
	for (let i = node; i > 0; i = t.parent[i]) path = digits(t, t.frame[i]) + path;
	return path;
}
