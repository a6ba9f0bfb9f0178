/* Pictures for the tests: made by the real program from folded text, opened in a real browser. */
'use strict';
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { chromium } = require('playwright-core');

const project = path.join(__dirname, '..', '..');
const program = path.resolve(project, process.env.BUILD || 'build', 'cresset');
/* Chromium without what draws windows: for a page it takes a quarter of the CPU time of the whole browser. */
const SHELL = '/usr/bin/chromium-headless-shell';
const CHROMIUM = process.env.CHROMIUM || (fs.existsSync(SHELL) ? SHELL : '/usr/bin/chromium');
const CHROMIUM_ARGS = [
	'--headless',
	'--no-sandbox',
	'--disable-gpu',
	'--disable-quic',
	'--no-first-run',
	'--disable-background-networking',
	'--disable-component-update',
	'--disable-sync'
];

/* A new directory that goes when the tests are over. */
function tempDir() {
	const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'cresset-web-'));
	process.on('exit', () => fs.rmSync(dir, { recursive: true, force: true }));
	return dir;
}

/* Draws folded text (lines "a;b 12"); returns the path of the SVG. */
function draw(dir, name, folded, options = []) {
	const input = path.join(dir, name + '.folded'),
		output = path.join(dir, name + '.svg');
	fs.writeFileSync(input, folded);
	execFileSync(program, ['flame', input, '-o', output, ...options], { stdio: ['ignore', 'ignore', 'inherit'] });
	return output;
}

/* [{frames: [...], value}] of folded text. The kind suffixes go: they are not part of the names in the picture. */
function parse(folded) {
	return folded
		.trim()
		.split('\n')
		.map((line) => {
			const blank = line.lastIndexOf(' ');
			const frames = line
				.slice(0, blank)
				.split(';')
				.map((f) => f.replace(/_\[[kjiGg]\]$/, ''));
			return { frames, value: +line.slice(blank + 1) };
		});
}

function total(stacks) {
	return stacks.reduce((sum, s) => sum + s.value, 0);
}

/* The share of all stacks with a frame that passes the test, and of those that end in one: what a search must say. */
function matchedPercent(stacks, test) {
	return ((100 * total(stacks.filter((s) => s.frames.some(test)))) / total(stacks)).toFixed(1) + ' %';
}
function selfPercent(stacks, test) {
	return ((100 * total(stacks.filter((s) => test(s.frames.at(-1))))) / total(stacks)).toFixed(1) + ' %';
}

/* How many times slower than a quiet machine this one is: tests/run has measured it. */
const slow = Number(process.env.CRESSET_SLOW || 1);
const LIMIT_MS = 30000 * slow;

/* A browser whose pages wait as long as this machine may need. */
async function launch() {
	const browser = await chromium.launch({ executablePath: CHROMIUM, args: CHROMIUM_ARGS, timeout: LIMIT_MS }),
		newContext = browser.newContext.bind(browser);
	browser.newContext = async (options) => {
		const context = await newContext(options);
		context.setDefaultTimeout(LIMIT_MS);
		return context;
	};
	return browser;
}

/* Pictures to look at, in the build directory, with CRESSET_SHOTS=1; they are not compared. */
const SHOTS = path.resolve(project, process.env.BUILD || 'build', 'shots');
async function shot(page, name, options = {}) {
	if (!process.env.CRESSET_SHOTS) return;
	fs.mkdirSync(SHOTS, { recursive: true });
	await page.screenshot({ path: path.join(SHOTS, name + '.png'), ...options });
}

module.exports = { project, program, tempDir, draw, parse, total, matchedPercent, selfPercent, launch, shot, slow };
