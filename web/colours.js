/* colours.js: the colour of a frame, and the meaning of colours (the same as in src/format/common/palette.c, which
 * paints the SVG).
 *
 * A tree is painted in groups, which the legend lists. The lightness of a group's fill varies by ±6 % with the name,
 * in STEPS steps, so that neighbours differ and the meaning stays. Fills are the same in dark and in light; text on
 * each has a contrast of at least 4.5 : 1. */
import { plain } from './units.js';

export const STEPS = 5;
export const MODES = /** @type {const} */ (['kind', 'wall', 'binary', 'package', 'gpu', 'diff', 'contrast']);
export const MATCH = 0xe600e6;

/** @typedef {import('./tree.js').Tree} Tree */
/** @typedef {typeof MODES[number]} Mode */
/** One line of the legend. self: its share of all self values, -1 if a share makes no sense. fixed: no steps.
 * @typedef {{label: string, rgb: number, self: number, fixed?: boolean, order?: number}} Group */
/** Groups by node if the same frame has several meanings, else by frame; step by frame.
 * @typedef {{mode: Mode, groups: Group[], ofFrame?: Uint8Array, ofNode?: Uint8Array, step: Uint8Array}} Paint */

const ROOT = 0,
	REST = 1,
	UNKNOWN = 2,
	KERNEL_RGB = 0xf0a050;
const ON_CPU_RGB = 0xe5635a,
	OFF_CPU_RGB = 0x6089e6,
	SCHED_RGB = 0x9aa0a8,
	GPU_RGB = 0x6ccfc4;
/** @returns {Group[]} the first groups of every mode but diff */
function common() {
	return [
		{ label: '', rgb: 0xd9dce1, self: 0, fixed: true },
		{ label: 'not drawn', rgb: 0xe4e6ea, self: 0, fixed: true },
		{ label: 'no symbols', rgb: 0xb8bcc2, self: 0 }
	];
}

/* --- kind --- */

/** @type {[label: string, rgb: number, kinds: string][]} */
const KINDS = [
	['native', 0xe5776b, 'native'],
	['C++', 0xecd965, ''],
	['Rust', 0xb98a66, ''],
	['Go', 0x8fd0ee, 'go'],
	['Java, JIT', 0xb5cf5c, 'java jit'],
	['Python', 0xf7b3cb, 'python'],
	['interpreted', 0xcdb8e8, 'js ruby php lua perl erlang interpreted'],
	['kernel', KERNEL_RGB, 'kernel'],
	['off-CPU', OFF_CPU_RGB, ''],
	['waiting for a GPU', GPU_RGB, ''],
	['GPU source', 0xc9f0ea, 'gpu-source'],
	['GPU kernel', GPU_RGB, 'gpu-kernel gpu-function'],
	['GPU instruction', 0x36a294, 'gpu-instruction'],
	['GPU stall', 0x0e6a62, 'gpu-stall'],
	['group, marker', SCHED_RGB, 'marker']
];
/** @type {Map<string, string>} */
const LABEL_OF_KIND = new Map(KINDS.flatMap(([label, , kinds]) => kinds.split(' ').map((kind) => [kind, label])));
const UNNAMED = /^\[unknown\]$|\+0x[0-9a-f]+$/,
	RUST = /^core::|^alloc::|^<.* as |::h[0-9a-f]{16}$/;

/** @param {string} name @param {string} file */
function nativeLabel(name, file) {
	if (UNNAMED.test(name)) return '';
	if (file.endsWith('.rs') || RUST.test(name)) return 'Rust';
	if (file.endsWith('.go')) return 'Go';
	return name.includes('::') ? 'C++' : 'native';
}
/** The word for the kind of a frame; '' if it has no name.
 * @param {string} kind @param {string} name @param {string} file */
export function kindLabel(kind, name, file) {
	if (kind === 'native') return nativeLabel(name, file);
	const state = kind === 'marker' ? stateOf(name) : UNSAID;
	if (state === OFF) return 'off-CPU';
	if (state === GPU) return 'waiting for a GPU';
	return LABEL_OF_KIND.get(kind) ?? '';
}
/** @param {Tree} t @returns {Partial<Paint>} */
function paintKind(t) {
	const groups = common(),
		index = new Map([['', UNKNOWN]]),
		f = t.frames;
	for (const [label, rgb] of KINDS) index.set(label, groups.push({ label, rgb, self: 0 }) - 1);
	const ofFrame = byFrame(t, (i) => index.get(kindLabel(f.kind[i], f.name[i], f.file[i])) ?? UNKNOWN);
	return { groups, ofFrame };
}

/* --- wall: what threads were doing --- */

const UNSAID = 0,
	ON = 1,
	OFF = 2,
	SCHED = 3,
	GPU = 4;
/** @type {[start: string, state: number][]} */
const MARKERS = [
	['[blocked: ', OFF],
	['[off-CPU below ', OFF],
	['[off-CPU]', OFF],
	['[sched-wait]', SCHED],
	['[waiting for GPU', GPU],
	['[on-CPU, not sampled]', ON],
	['[off-CPU, not sampled]', OFF]
];
/** @param {string} name */
function stateOf(name) {
	return MARKERS.find(([start]) => name.startsWith(start))?.[1] ?? UNSAID;
}
/** The state of the self value of each node, from the marker nearest to the leaf. @param {Tree} t */
export function states(t) {
	const f = t.frames,
		unmarked = t.header.type === 'off-cpu' ? OFF : ON;
	const own = Uint8Array.from(f.name, (name, i) => (f.kind[i] === 'marker' ? stateOf(name) : UNSAID));
	const state = new Uint8Array(t.n),
		above = new Uint8Array(t.rows + 1);
	for (let i = 0; i < t.n; i++) {
		const before = above[t.depth[i]],
			mine = own[t.frame[i]];
		above[t.depth[i] + 1] = (t.header.inverted && before) || !mine ? before : mine;
		state[i] = above[t.depth[i] + 1] || unmarked;
	}
	return state;
}
/**
 * By node: the class (1 … n) that has nearly all of the values that end in its subtree, 0 if there are several.
 * @param {Tree} t
 * @param {Uint8Array} of  the class of a node's self value; 0: has none
 * @param {number} n
 * @param {number} most
 */
function prevailing(t, of, n, most) {
	const out = new Uint8Array(t.n),
		sums = new Float64Array((n + 1) * (t.rows + 1));
	for (let i = t.n - 1, below = 0; i >= 0; i--) {
		/* Going backwards, the row below has the sums of the children; they are added to the row of the node
		 * itself. */
		const d = t.depth[i],
			at = (n + 1) * d;
		for (let c = 1; c <= n; c++) {
			const sum = (below > d ? sums[at + n + 1 + c] : 0) + (of[i] === c ? t.self[i] : 0);
			sums[at + n + 1 + c] = 0;
			sums[at + c] += sum;
			if (sum > most * t.total[i]) out[i] = c;
		}
		below = d;
	}
	return out;
}
/** @param {Tree} t @returns {Partial<Paint>} */
function paintWall(t) {
	const groups = common(),
		several = groups.length,
		state = states(t);
	groups.push(
		{ label: 'several above it', rgb: 0xd9c2e0, self: -1, order: 1 },
		{ label: 'on-CPU', rgb: ON_CPU_RGB, self: 0 },
		{ label: 'off-CPU', rgb: OFF_CPU_RGB, self: 0 },
		{ label: 'waiting for a CPU', rgb: SCHED_RGB, self: 0 },
		{ label: 'waiting for a GPU', rgb: GPU_RGB, self: 0 }
	);
	const ofNode = prevailing(t, state, GPU, 0.99);
	for (let i = 0; i < t.n; i++) {
		groups[several + state[i]].self += t.self[i];
		ofNode[i] = t.frames.kind[t.frame[i]] === 'rest' ? REST : several + ofNode[i];
	}
	return { groups, ofNode };
}

/* --- binary, package --- */

const HUES = 24,
	MAX_NAMED = 200;
/** hue 0 … 360; saturation and lightness 0 … 1 @param {number} hue @param {number} saturation
 * @param {number} lightness */
function rgbOfHue(hue, saturation, lightness) {
	const chroma = saturation * Math.min(lightness, 1 - lightness);
	return [0, 8, 4].reduce((rgb, offset) => {
		const k = (hue / 30 + offset) % 12,
			ramp = Math.max(-1, Math.min(k - 3, 9 - k, 1));
		return (rgb << 8) | Math.round(255 * (lightness - chroma * ramp));
	}, 0);
}
/** @param {string} text */
export function hash(text) {
	let h = 2166136261;
	for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 16777619);
	return (h ^ (h >>> 15)) >>> 0;
}
/** A group for each of the heaviest words, by hue, and one for the others.
 * @param {Tree} t @param {(frame: number) => string} wordOf  '' where there is none @param {string} others */
function paintWords(t, wordOf, others) {
	const groups = common(),
		f = t.frames,
		self = new Map(),
		words = Array.from(f.name, (_, i) => wordOf(i)),
		sums = selfOfFrames(t);
	words.forEach((word, i) => self.set(word, (self.get(word) || 0) + sums[i]));
	self.delete('');
	const heavy = [...self.keys()].sort((a, b) => self.get(b) - self.get(a)).slice(0, MAX_NAMED),
		index = new Map();
	for (const word of heavy)
		index.set(
			word,
			groups.push({
				label: plain(word),
				rgb: word === '[kernel]' ? KERNEL_RGB : rgbOfHue(((hash(word) % HUES) * 360) / HUES, 0.6, 0.74),
				self: 0
			}) - 1
		);
	const rest = groups.push({ label: others, rgb: SCHED_RGB, self: 0, order: 1 }) - 1;
	const ofFrame = byFrame(t, (i) => (words[i] ? (index.get(words[i]) ?? rest) : UNKNOWN));
	return { groups, ofFrame };
}
/** @param {Tree} t @returns {Partial<Paint>} */
function paintBinary(t) {
	const f = t.frames;
	const painted = paintWords(
		t,
		(i) => (f.kind[i] === 'kernel' ? '[kernel]' : f.mapping[i].replace(/^.*\//, '')),
		'other binaries'
	);
	painted.groups[UNKNOWN].label = 'no binary';
	return painted;
}
/** What a function belongs to: a package, namespace, module or, if its name does not tell, its binary. Signatures and
 * template arguments are ignored. @param {string} kind @param {string} name @param {string} file
 * @param {string} mapping */
export function packageOf(kind, name, file, mapping) {
	const bare = name.replace(/^<+/, '').replace(/[(<].*$/, ''),
		last = bare.lastIndexOf('/');
	if (kind === 'kernel') return '[kernel]';
	if (kind === 'marker' || kind === 'rest') return '';
	if (kind === 'go' || file.endsWith('.go')) return bare.slice(0, last + 1) + bare.slice(last + 1).split('.')[0];
	if (bare.includes('::')) return bare.replace(/^.*\s/, '').split('::')[0];
	if ((kind === 'java' || kind === 'jit') && bare.includes('.'))
		return bare.replace(/^L/, '').replaceAll('/', '.').split('.').slice(0, -2).slice(0, 3).join('.');
	if ((kind === 'python' || kind === 'js' || kind === 'ruby') && file) return directoryOf(file);
	return mapping.replace(/^.*\//, '');
}
/** The package that a source file lies in. @param {string} file */
function directoryOf(file) {
	const inside =
		/.*\/(?:site-packages|dist-packages|node_modules|gems)\/([^/]+)/.exec(file) ||
		/\/python3[^/]*\/([^/]+)/.exec(file);
	return inside ? inside[1] : file.replace(/\/[^/]*$/, '').replace(/^.*\//, '') || file;
}
/** @param {Tree} t @returns {Partial<Paint>} */
function paintPackage(t) {
	const f = t.frames;
	return paintWords(t, (i) => packageOf(f.kind[i], f.name[i], f.file[i], f.mapping[i]), 'other packages');
}

/* --- GPU: what instructions waited for --- */

/** @type {[label: string, rgb: number, test: RegExp][]} */
const STALLS = [
	['memory', 0x6089e6, /long_scoreboard|lg_throttle|drain|tex|sbid|send|memory|local|global|dist_acc/],
	['shared memory, short latency', 0x8fd0ee, /short_scoreboard|mio|shared/],
	['barrier, synchronization', 0xf7b3cb, /barrier|membar|sync|sleeping/],
	['dependency, pipe', 0xecd965, /wait|math|pipe|dispatch|exec|imc|constant/],
	['branch, instruction fetch', 0xf0a050, /branch|no_inst|inst_fetch|fetch|control/],
	['at work', 0xe5635a, /selected|active|issued/],
	['other stall', 0xcdb8e8, /./]
];
/** @param {Tree} t @returns {Partial<Paint>} */
function paintGpu(t) {
	const groups = common(),
		first = groups.length,
		f = t.frames;
	groups[UNKNOWN] = { label: 'no stall reason', rgb: 0xb8bcc2, self: 0 };
	groups.push({ label: 'several', rgb: 0xc9f0ea, self: -1, order: 1 });
	for (const [label, rgb] of STALLS) groups.push({ label, rgb, self: 0 });
	const none = STALLS.length + 1,
		classes = Uint8Array.from(f.name, (name, i) =>
			f.kind[i] === 'gpu-stall' ? 1 + STALLS.findIndex(([, , test]) => test.test(name.toLowerCase())) : none
		);
	const of = Uint8Array.from(t.frame, (frame) => classes[frame]),
		ofNode = prevailing(t, of, none, 0.5);
	for (let i = 0; i < t.n; i++) {
		const kind = f.kind[t.frame[i]],
			isNone = !kind.startsWith('gpu') || ofNode[i] === none;
		groups[of[i] === none ? UNKNOWN : first + of[i]].self += t.self[i];
		ofNode[i] = kind === 'rest' ? REST : isNone ? UNKNOWN : first + ofNode[i];
	}
	return { groups, ofNode };
}

/* --- diff --- */

/** The factor that makes side A comparable with side B. @param {Tree} t */
export function diffFactor(t) {
	const { norm, seconds, seconds_b: secondsB } = t.header,
		totalB = t.totalB ? t.totalB[0] : 0;
	if (norm === 'rate' && seconds > 0 && secondsB > 0) return secondsB / seconds;
	return norm === 'abs' || !(t.total[0] > 0 && totalB > 0) ? 1 : totalB / t.total[0];
}
/** 0 … 3: the size of a change relative to the greatest one. @param {number} change @param {number} max */
function level(change, max) {
	return change * 2 > max ? 3 : change * 8 > max ? 2 : change * 50 > max ? 1 : 0;
}
/** @param {number} a @param {number} b @param {number} part */
function mix(a, b, part) {
	return [16, 8, 0].reduce((rgb, shift) => {
		const from = (a >> shift) & 255,
			to = (b >> shift) & 255;
		return rgb | (Math.round(from + (to - from) * part) << shift);
	}, 0);
}
/** @param {Tree} t @returns {Partial<Paint>} */
function paintDiff(t) {
	const grey = 0xd4d6da,
		factor = diffFactor(t),
		b = t.totalB || t.total,
		ofNode = new Uint8Array(t.n);
	/** @type {Group[]} */
	const groups = [{ label: 'same', rgb: grey, self: -1, fixed: true, order: 4 }];
	for (let i = 1; i <= 3; i++)
		groups.push(
			{ label: i === 3 ? 'more ▲' : '', rgb: mix(grey, 0xe05a50, i / 3), self: -1, fixed: true, order: 1 },
			{ label: i === 3 ? 'less ▼' : '', rgb: mix(grey, OFF_CPU_RGB, i / 3), self: -1, fixed: true, order: 2 }
		);
	groups.push({ label: 'new', rgb: 0xf2dc5d, self: -1, fixed: true, order: 3 });
	let max = 0;
	for (let i = 1; i < t.n; i++) max = Math.max(max, Math.abs(b[i] - t.total[i] * factor));
	for (let i = 1; i < t.n; i++) {
		const change = b[i] - t.total[i] * factor,
			l = max ? level(Math.abs(change), max) : 0;
		ofNode[i] = !t.total[i] && b[i] ? 7 : l ? 2 * l - (change > 0 ? 1 : 0) : 0;
	}
	return { groups, ofNode };
}

/* --- high contrast --- */

/** Greys by domain, for print and for eyes that need contrast. @param {Tree} t @returns {Partial<Paint>} */
function paintContrast(t) {
	const groups = common().map((g) => ({ ...g, rgb: 0xffffff })),
		f = t.frames,
		first = groups.length;
	groups[REST].rgb = 0xe4e6ea;
	[
		['user', 0xffffff],
		['kernel', 0xc4c7cc],
		['off-CPU', 0x4a505a],
		['GPU', 0x8a909a]
	].forEach(([label, rgb]) => groups.push({ label: String(label), rgb: Number(rgb), self: 0, fixed: true }));
	const ofFrame = byFrame(t, (i) => {
		const label = kindLabel(f.kind[i], f.name[i], f.file[i]);
		return first + (label === 'kernel' ? 1 : label === 'off-CPU' ? 2 : label.startsWith('GPU') ? 3 : 0);
	});
	return { groups, ofFrame };
}

/* --- --- */

/** @param {Tree} t */
export function selfOfFrames(t) {
	const self = new Float64Array(t.frames.count);
	for (let i = 0; i < t.n; i++) self[t.frame[i]] += t.self[i];
	return self;
}
/** @param {Tree} t @param {(frame: number) => number} groupOf */
function byFrame(t, groupOf) {
	const of = Uint8Array.from(t.frames.kind, (kind, i) => (kind === 'rest' ? REST : groupOf(i)));
	of[0] = ROOT;
	return of;
}
const PAINTERS = {
	kind: paintKind,
	wall: paintWall,
	binary: paintBinary,
	package: paintPackage,
	gpu: paintGpu,
	diff: paintDiff,
	contrast: paintContrast
};

/** Paints the tree. @param {Tree} t @param {Mode} mode @returns {Paint} */
export function paint(t, mode) {
	const { groups = [], ofFrame, ofNode } = PAINTERS[mode](t),
		f = t.frames;
	if (ofFrame)
		selfOfFrames(t).forEach((self, i) => {
			groups[ofFrame[i]].self += self;
		});
	const all = t.total[0] || 1;
	for (const group of groups) group.self = group.self < 0 ? -1 : group.self / all;
	return { mode, groups, ofFrame, ofNode, step: Uint8Array.from(f.name, (name) => hash(name) % STEPS) };
}
/** The best first mode for a tree. @param {Tree} t @returns {Mode} */
export function modeFor(t) {
	if (t.isDiff) return 'diff';
	return t.header.type === 'wall' || t.header.type === 'off-cpu' ? 'wall' : 'kind';
}
/** The fill of a group at a step. @param {Group} group @param {number} step */
export function fillOf(group, step) {
	if (group.fixed) return group.rgb;
	const part = (step / (STEPS - 1) - 0.5) * 0.12;
	return part < 0 ? mix(group.rgb, 0, -part) : mix(group.rgb, 0xffffff, part);
}
/** Whether white is easier to read on this than #111 (WCAG's contrast). @param {number} rgb */
export function isDark(rgb) {
	const [r, g, b] = [16, 8, 0].map((shift) => {
		const c = ((rgb >> shift) & 255) / 255;
		return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
	});
	const light = 0.2126 * r + 0.7152 * g + 0.0722 * b;
	return 1.05 / (light + 0.05) > (light + 0.05) / 0.0556;
}
/** The lines of the legend, heaviest first: groups with a share and, after them, those that need words. At most `most`;
 * the rest is one line without a group of its own. @param {Paint} p @param {number} [most] @returns {{groups:
 * number[], label: string, rgb: number, self: number}[]} */
export function legend(p, most = 12) {
	const shown = p.groups
		.map((group, i) => ({
			groups: [i],
			label: group.label,
			rgb: group.rgb,
			self: group.self,
			order: group.order ?? 0
		}))
		.filter((line) => line.label && line.self !== 0);
	shown.sort((a, b) => a.order - b.order || b.self - a.self);
	if (p.mode === 'diff')
		/* the weaker steps belong to the strong ones */
		for (const line of shown)
			line.groups =
				line.groups[0] > 4 && line.groups[0] < 7
					? [line.groups[0] - 4, line.groups[0] - 2, line.groups[0]]
					: line.groups;
	if (shown.length <= most) return shown;
	const others = shown.splice(most - 1);
	return [
		...shown,
		{
			groups: others.flatMap((line) => line.groups),
			label: `${others.length} others`,
			rgb: 0xd9dce1,
			self: others.reduce((sum, line) => sum + Math.max(0, line.self), 0)
		}
	];
}
