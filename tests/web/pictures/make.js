/* Pictures of the documentation: `make pictures` writes them again. The timeline shows a recording of known truth
 * (tests/fixture), the others what cresset recorded of a few programs meanwhile (as root; some three minutes). */
'use strict';
const { execFileSync, spawn } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const { drawn, launch, open, serve } = require('../page.js');
const { program, project, tempDir } = require('../picture.js');

const START = Date.UTC(2026, 10, 22, 14) / 1000;
const PART_S = 60; /* of the history: packed well, then packed fast */
const SETTLE_MS = 700; /* the mark of a selection fades in */

const build = path.resolve(project, process.env.BUILD || 'build');
const docs = (name) => path.join(project, 'docs', name);
const iso = (ms) => new Date(ms).toISOString().replace(/\.\d+/, '');

/* Its arguments are in the pictures: names of files are without directories. */
function run(args, cwd) {
	const PATH = `${build}:${process.env.PATH}`;
	execFileSync('cresset', args, { cwd, env: { ...process.env, PATH }, stdio: ['ignore', 'ignore', 'inherit'] });
}
async function shoot(page, name) {
	await drawn(page);
	await sleep(SETTLE_MS);
	await page.screenshot({ path: docs(name) });
	if (page.trouble.length) throw new Error(page.trouble.join('\n'));
}
/* Strips of what GPUs' drivers say, what ran on them, and what threads did, on one clock; a part is selected. */
async function timeline(browser) {
	const file = path.join(tempDir(), 'train.cresset');
	execFileSync(path.join(build, 'fixture', 'gpu'), [file, '0', String(START), 'more']);
	const server = await serve([file]);
	try {
		const at = (s) => new Date((START + s) * 1000).toISOString(),
			sel = `${(START + 2.6) * 1000}-${(START + 3.1) * 1000}`;
		const page = await open(browser, server.url, `timeline?q=wall&from=${at(2)}&to=${at(3.4)}&sel=${sel}`);
		await page.waitForSelector('.tl-sum[data-total]');
		await shoot(page, 'timeline.png');
	} finally {
		server.stop();
	}
}
/* Nine seconds of three programs: one packs JSON, cresset draws a picture, dd copies. */
function flame(dir) {
	const lines = Array.from({ length: 60000 }, (_, i) => `a;b${i % 13};c${i % 179};d${i % 2003};e${i} 1\n`);
	fs.writeFileSync(path.join(dir, 'large.folded'), lines.join(''));
	/* A process group of its own, which ends all of it. */
	fs.writeFileSync(
		path.join(dir, 'three.sh'),
		`./packjson 6 &
		while :; do dd if=/dev/zero of=zeros bs=1M count=64; sleep 0.2; done &
		while :; do cresset flame large.folded -o again.svg; done &
		sleep 9; trap 'exit 0' TERM; kill 0`
	);
	run(['record', '-F', '499', '-o', 'flame.cresset', '--', 'setsid', '-w', 'sh', 'three.sh'], dir);
	const title = ['--title', 'A Go program, cresset itself, and dd'];
	run(['flame', 'flame.cresset', '-o', docs('flame.svg'), '--min-width', '0.6', ...title], dir);
}
/* A page in one file, of a Python program. */
async function report(browser, dir) {
	run(['record', '-F', '199', '-e', 'cpu,off-cpu', '-o', 'report.html', '--', 'python3', 'pack.py', '10'], dir);
	const page = await browser.newPage({ viewport: { width: 1180, height: 680 }, timezoneId: 'UTC', locale: 'en-GB' });
	page.trouble = [];
	await page.goto('file://' + path.join(dir, 'report.html'));
	await page.waitForSelector('.rp[data-shown]');
	await sleep(SETTLE_MS);
	await page.screenshot({ path: docs('report.png') });
}
/* The history of a machine on which a program packed well, and packs fast since: the end of the one and the
 * beginning of the other are selected. */
async function history(browser, dir) {
	const data = path.join(dir, 'data');
	const up = spawn(program, ['up', '--data', data, '-F', '99', '--listen', 'none'], { stdio: 'inherit' });
	const begin = Date.now();
	const others = ['0.2', '0.4'].map((s) =>
		spawn('sh', ['-c', `while :; do python3 pack.py 2; sleep ${s}; done`], { cwd: dir })
	);
	const packs = async (level) => {
		const packing = spawn(path.join(dir, 'packjson'), [level]);
		await sleep(PART_S * 1000);
		packing.kill();
	};
	await packs('9');
	const change = Date.now();
	await packs('1');
	const end = Date.now();
	for (const other of others) other.kill();
	await sleep(12000); /* of batches on their way to the store */
	const ended = new Promise((done) => up.once('exit', done));
	up.kill();
	await ended;
	const server = await serve(['--data', data]);
	try {
		const range = (a, b) => `from=${iso(a)}&to=${iso(b)}`,
			sel = `${change - 30000}-${change + 30000}`;
		await shoot(
			await open(browser, server.url, `explore?q=cpu&by=comm&${range(begin, end)}&sel=${sel}`),
			'explore.png'
		);
		const sides = `${range(change - 50000, change)}&qb=cpu&fromb=${iso(change)}&tob=${iso(change + 50000)}`;
		await shoot(await open(browser, server.url, `compare?q=cpu&${sides}`), 'compare.png');
	} finally {
		server.stop();
	}
}

(async () => {
	const dir = tempDir();
	fs.chmodSync(dir, 0o711); /* the store process is another user */
	execFileSync('go', ['build', '-o', path.join(dir, 'packjson'), path.join(__dirname, 'packjson.go')]);
	fs.copyFileSync(path.join(__dirname, 'pack.py'), path.join(dir, 'pack.py'));
	const browser = await launch();
	try {
		flame(dir);
		await report(browser, dir);
		await history(browser, dir);
		await timeline(browser);
	} finally {
		await browser.close();
	}
})();
