// tier: test
/* How much a browser loads, compressed: for the first screen, of everything that the page has, and for a report. */
'use strict';
const assert = require('node:assert');
const { spawn } = require('node:child_process');
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const { after, before, test } = require('node:test');
const { project, program, launch, tempDir } = require('./picture.js');
const { open } = require('./page.js');

const FIRST_MAX = 120000,
	ALL_MAX = 200000,
	REPORT_MAX = 60000,
	FIRST_FILES = 5;
const REPORT = 'report/report.js';
let server, url;

before(async () => {
	const file = path.join(tempDir(), 'one.folded');
	fs.writeFileSync(file, 'a;b 1\n');
	server = spawn(program, ['serve', file, '--listen', '127.0.0.1:0'], { stdio: ['ignore', 'pipe', 'inherit'] });
	url = await new Promise((resolve) => server.stdout.once('data', (text) => resolve(String(text).trim())));
});
after(() => server?.kill());

/* The size of a file as a browser gets it that takes gzip. */
function weigh(name) {
	return new Promise((resolve, reject) =>
		http
			.get(url + name, { headers: { 'Accept-Encoding': 'gzip' } }, (answer) => {
				let bytes = 0;
				assert.strictEqual(answer.statusCode, 200, name);
				assert.strictEqual(answer.headers['content-encoding'], 'gzip', name);
				answer.on('data', (piece) => (bytes += piece.length));
				answer.on('end', () => resolve(bytes));
			})
			.on('error', reject)
	);
}
/* Names the files with their sizes, and checks their sum. */
async function check(t, what, names, max) {
	const sizes = await Promise.all(names.map(async (name) => [await weigh(name), name || 'index.html'])),
		sum = sizes.reduce((total, [bytes]) => total + bytes, 0);
	t.diagnostic(`${what}: ${names.length} files, ${sum} bytes, of ${max}`);
	for (const [bytes, name] of sizes.sort((a, b) => b[0] - a[0]))
		t.diagnostic(`${String(bytes).padStart(8)}  ${name}`);
	assert(sum <= max, `${sum} bytes are more than ${max}`);
}
/* The files that are built into the program. */
const built = () => {
	const dir = path.resolve(project, process.env.BUILD || 'build', 'gen', 'page');
	return fs.readdirSync(dir, { recursive: true }).filter((name) => fs.statSync(path.join(dir, name)).isFile());
};

test('the first screen loads no more than it may', async (t) => {
	const browser = await launch(),
		page = await open(browser, url, ''),
		names = await page.evaluate(() =>
			performance.getEntriesByType('resource').map((r) => r.name.slice(document.baseURI.length))
		);
	assert.deepStrictEqual(page.trouble, []);
	await browser.close();
	const files = ['', ...new Set(names.filter((name) => !name.startsWith('api/')))];
	assert.strictEqual(files.length, FIRST_FILES, files.join());
	await check(t, 'first screen', files, FIRST_MAX);
});

test('all files together are no larger than they may be', async (t) => {
	const names = built().filter((name) => name !== REPORT);
	assert(names.includes('page/core.js') && names.includes('page/app.js'));
	await check(t, 'everything', names, ALL_MAX);
});

test('the script of a report is no larger than it may be', async (t) => {
	await check(t, 'report', [REPORT], REPORT_MAX);
});
