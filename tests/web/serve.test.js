/* The page of cresset serve in a real browser, on a recording of known sums. */
'use strict';
const assert = require('node:assert');
const { execFileSync, spawn } = require('node:child_process');
const path = require('node:path');
const { after, before, test } = require('node:test');
const { project, program, tempDir, launch } = require('./picture.js');

const dir = tempDir(), recording = path.join(dir, 'waits.cresset');
let browser, server, url;

/* Starts cresset serve on a port of its own; gives the address that it prints. */
function serve(file) {
	server = spawn(program, ['serve', file, '--listen', '127.0.0.1:0'], { stdio: ['ignore', 'pipe', 'inherit'] });
	return new Promise((resolve, reject) => {
		let said = '';
		server.stdout.on('data', (text) => {
			said += text;
			if (said.endsWith('\n'))
				resolve(said.trim());
		});
		server.on('exit', () => reject(new Error('it ended: ' + said)));
	});
}
before(async () => {
	execFileSync(path.resolve(project, process.env.BUILD || 'build', 'fixture', 'waits'), [recording]);
	url = await serve(recording);
	browser = await launch();
});
after(async () => {
	await browser?.close();
	server?.removeAllListeners('exit');
	server?.kill();
});

/* Opens the page, runs the test on it, and fails on any error, on the page or in what the browser refuses. */
async function paging(name, hash, fn) {
	test(name, async () => {
		const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, timezoneId: 'UTC', locale: 'en-GB' });
		const page = await context.newPage(), trouble = [];
		page.on('pageerror', (e) => trouble.push('error: ' + e.message));
		page.on('console', (m) => trouble.push('console: ' + m.text()));
		page.on('request', (r) => r.url().startsWith(url) || trouble.push('request: ' + r.url()));
		await page.goto(url + hash);
		await drawn(page);
		await fn(page);
		await context.close();
		assert.deepStrictEqual(trouble, []);
	});
}
const drawn = (page, turn = 1) => page.waitForFunction((n) => +document.body.dataset.drawn >= n, turn);
const rows = (page) => page.$$eval('#top tbody tr', (list) => list.map((r) => [...r.cells].map((c) => c.textContent)));
const picture = async (page) => {
	const frame = await (await page.$('#flame')).contentFrame();
	await frame.waitForSelector('.f rect');
	return frame;
};
const ask = async (what) => (await fetch(url + what)).json();

paging('what is there is shown', '', async (page) => {
	assert.deepStrictEqual(await page.$$eval('#type option', (l) => l.map((o) => o.value)), ['wall']);
	assert.match(await page.textContent('#range-text'), /22\.3 s in all/);
	const top = (await ask('api/v1/top?q=wall&n=50')).top;
	assert.deepStrictEqual(await rows(page), top.map((r) => [r.self_percent.toFixed(2), r.total_percent.toFixed(2), r.function, r.binary || '']));
});
paging('the picture in its frame is alive', '', async (page) => {
	const frame = await picture(page);
	await frame.waitForSelector('.bar input'); /* which its script makes */
	const names = await frame.$$eval('.f rect', (l) => l.map((r) => r.textContent.split('\n')[0]));
	assert.ok(names.includes('work') && names.includes('worker'), names.join());
});
paging('… and cannot reach the page', '', async (page) => {
	const frame = await picture(page);
	assert.strictEqual(await frame.evaluate(() => { try { return parent.document.title; } catch (e) { return e.name; } }), 'SecurityError');
	assert.strictEqual(await frame.evaluate(() => self.origin), 'null');
});
paging('dragging chooses a part', '', async (page) => {
	const box = await page.locator('#range').boundingBox();
	await page.mouse.move(box.x + box.width * 0.25, box.y + 40);
	await page.mouse.down();
	await page.mouse.move(box.x + box.width * 0.5, box.y + 60, { steps: 3 });
	await page.mouse.up();
	await drawn(page, 2);
	assert.strictEqual(await page.locator('#range .pick').count(), 1);
	const kept = new URLSearchParams(new URL(page.url()).hash.slice(1)), length = +kept.get('to') - +kept.get('from');
	assert.ok(Math.abs(length - 11000 / 4) < 60, `${length} ms`);
	const moment = (k) => new Date(Math.round(+kept.get(k))).toISOString();
	const top = (await ask(`api/v1/top?q=wall&n=50&from=${moment('from')}&to=${moment('to')}`)).top;
	assert.deepStrictEqual((await rows(page)).map((r) => r[2]), top.map((r) => r.function));
	await page.click('#whole');
	await drawn(page, 3);
	assert.strictEqual(await page.locator('#range .pick').count(), 0);
});
paging('labels tell apart, and one is chosen', '', async (page) => {
	await page.selectOption('#by', 'comm');
	await drawn(page, 2);
	assert.deepStrictEqual(await page.$$eval('#legend button', (l) => l.map((b) => b.textContent.split(' ')[0])), ['worker', 'web', 'db']);
	await page.click('#legend button >> text=db');
	await drawn(page, 3);
	assert.strictEqual(await page.inputValue('#match'), 'comm="db"');
	assert.match(await page.textContent('#range-text'), /2 s in all/);
});
paging('a function is looked for, and given up', '', async (page) => {
	await page.click('#top button >> text=crunch');
	await drawn(page, 2);
	assert.match(await page.textContent('#top-text'), /750 ms of 22\.3 s/);
	await page.click('#focus-text button');
	await drawn(page, 3);
	assert.match(await page.textContent('#top-text'), /22\.3 s of 22\.3 s/);
	await page.goBack();
	await drawn(page, 4);
	assert.match(await page.textContent('#top-text'), /750 ms/);
});
paging('a link shows the same', '#type=wall&match=comm%3D%22web%22', async (page) => {
	assert.strictEqual(await page.inputValue('#match'), 'comm="web"');
	assert.match(await page.textContent('#range-text'), /10 s in all/);
	const links = await page.$$eval('#downloads a', (l) => l.map((a) => a.getAttribute('href')));
	assert.ok(links.every((l) => l.startsWith('/api/v1/flame?q=wall%7Bcomm%3D%22web%22%7D')), links.join());
});
test('what cannot be asked is said', async () => {
	const page = await browser.newPage();
	await page.goto(url + '#type=wall&match=comm%3D');
	await drawn(page);
	assert.match(await page.textContent('#trouble'), /parameter q: .*column/s);
	await page.close();
});
