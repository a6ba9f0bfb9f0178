// tier: test
/* The picture that C draws (src/format/common/palette.c) and the page (web/colours.js) paint the same frames in the
 * same colours, and name them alike. */
'use strict';
const assert = require('node:assert');
const { execFileSync, spawn } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { after, before, test } = require('node:test');
const { project, program, tempDir } = require('./picture.js');

const dir = tempDir(),
	servers = [],
	web = (name) => import(path.join(project, 'web', name));
let names, waits;

function serve(file) {
	const server = spawn(program, ['serve', file, '--listen', '127.0.0.1:0'], { stdio: ['ignore', 'pipe', 'inherit'] });
	servers.push(server);
	return new Promise((resolve, reject) => {
		server.stdout.once('data', (text) => resolve(String(text).trim()));
		server.on('exit', (code) => reject(new Error('it ended: ' + code)));
	});
}
/* Names of all kinds, and odd ones of each. */
const FUNCTIONS = [
	'main',
	'std::sort',
	'core::fmt::write',
	'alloc::vec',
	'<T as U>::run',
	'a::h0123456789abcdef',
	'a::h0123456789abcde',
	'[unknown]',
	'lib.so+0x1f3c',
	'lib.so+0x',
	'lib.so+0x1g',
	'x+0x1+0x2',
	'schedule_[k]',
	'Json.parse_[j]',
	'Interpreted_[i]',
	'[blocked: disk I/O]',
	'[off-CPU below 1ms]',
	'[sched-wait]',
	'[waiting for GPU]',
	'[waiting for GPU below 1ms]',
	'-',
	'kernel.cu_[G]',
	'FFMA_[g]',
	'stall',
	'名前の長い関数',
	'\u{1f525}',
	'a<b>&"c\'',
	'x as y',
	'coreutils',
	'A::B::C(int)'
];

before(async () => {
	const lines = FUNCTIONS.map(
		(name, i) => `t${i % 5};main;${name};${FUNCTIONS[(i * 7 + 3) % FUNCTIONS.length]} ${10 + i}\n`
	);
	fs.writeFileSync(path.join(dir, 'names.folded'), lines.join(''));
	execFileSync(path.resolve(project, process.env.BUILD || 'build', 'fixture', 'waits'), [
		path.join(dir, 'waits.cresset')
	]);
	names = await serve(path.join(dir, 'names.folded'));
	waits = await serve(path.join(dir, 'waits.cresset'));
});
after(() => {
	for (const server of servers) {
		server.removeAllListeners('exit');
		server.kill();
	}
});

const unescaped = (text) =>
	text.replace(/&(lt|gt|amp|quot|#39|apos);/g, (_, e) => ({ lt: '<', gt: '>', amp: '&', quot: '"' })[e] ?? "'");

/* By path, the frame's kind in it: the fill. And the words of the legend, each with the fill beside it. */
function read(svg) {
	const fills = new Map(
		[...svg.matchAll(/^\.cf \.(\w+)\{fill:#(\w{6})\}$/gm)].map((m) => [m[1], parseInt(m[2], 16)])
	);
	const open = [],
		nodes = new Map();
	for (const [, cls, y, title] of svg.matchAll(
		/<rect class="(\w+)" x="[^"]*" y="(\d+)"[^>]*><title>([^<]*)<\/title>/g
	)) {
		const [name, info] = unescaped(title).split('\n'),
			depth = y / 18;
		open.length = depth;
		open.push(depth ? info.split(/,| ·/)[0] + ' ' + name.replace(/_\[[a-zG]\]$/, '') : '');
		nodes.set(open.join(';'), fills.get(cls));
	}
	const legend = new Map(
		[...svg.matchAll(/<rect class="(\w+)" width="12" height="12"\/><text[^>]*>([^<]*)/g)].map((m) => [
			m[2].replace(/ [\d.<]+ ?%?[\d. ]*%$/, ''),
			fills.get(m[1])
		])
	);
	return { nodes, legend };
}

async function both(url, q, palette, mode) {
	const { decodeTree } = await web('tree.js'),
		{ fillOf, legend, paint } = await web('colours.js');
	const params = new URLSearchParams({ q, by: 'none' });
	const svg = await (await fetch(`${url}api/v1/flame?${params}&fmt=svg&icicle=1&palette=${palette}`)).text();
	const tree = decodeTree(new Uint8Array(await (await fetch(`${url}api/v1/flame?${params}&fmt=bin`)).arrayBuffer()));
	const painted = paint(tree, mode),
		open = [],
		nodes = new Map(),
		f = tree.frames;
	for (let i = 0; i < tree.n; i++) {
		const frame = tree.frame[i],
			group = painted.ofNode ? painted.ofNode[i] : painted.ofFrame[frame];
		open.length = tree.depth[i];
		open.push(i ? f.kind[frame] + ' ' + f.name[frame].replace(/_\[[a-zG]\]$/, '') : '');
		if (i) nodes.set(open.join(';'), fillOf(painted.groups[group], painted.step[frame]));
	}
	return { c: read(svg), js: { nodes, legend: legend(painted, 99) } };
}
/* One step of a channel: each rounds on its way. */
const isSame = (a, b) => [16, 8, 0].every((shift) => Math.abs(((a >> shift) & 255) - ((b >> shift) & 255)) <= 1);
const hex = (rgb) => '#' + (rgb ?? 0).toString(16).padStart(6, '0');

for (const [palette, mode, isWaits] of [
	['kind', 'kind', false],
	['binary', 'binary', true],
	['wall', 'wall', true],
	['mono', 'contrast', false],
	['kind', 'kind', true]
])
	test(`${palette} is ${mode} of the page${isWaits ? ', of waits' : ''}`, async () => {
		const { c, js } = await both(isWaits ? waits : names, isWaits ? 'wall' : 'samples', palette, mode);
		let compared = 0;
		for (const [where, rgb] of js.nodes) {
			if (!c.nodes.has(where)) continue;
			assert(
				isSame(c.nodes.get(where), rgb),
				`${where}: ${hex(c.nodes.get(where))} in the picture, ${hex(rgb)} in the page`
			);
			compared++;
		}
		assert(compared > js.nodes.size * 0.9, `${compared} of ${js.nodes.size}`);
		for (const line of js.legend)
			assert(c.legend.has(line.label), `${line.label} is not in the picture's legend: ${[...c.legend.keys()]}`);
	});
