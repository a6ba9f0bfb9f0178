// tier: test
// parts: 2
/* Following, with two tabs of one browser: one stream for both, also after the tab that has it was closed; asking now
 * and then where there is none. */
'use strict';
const assert = require('node:assert');
const path = require('node:path');
const { after: atEnd, before, beforeEach, test } = require('node:test');
const { tempDir } = require('./picture.js');
const { launch, open, serve } = require('./page.js');

const dir = path.join(tempDir(), 'store');
let browser, server;
async function push(n) {
	const now = (Date.now() * 1000000) / 1e9;
	const answer = await fetch(`${server.url}api/v1/profiles?type=cpu&label=host=h&from=${now - 1}&to=${now}`, {
		method: 'POST',
		body: `main;step_${n} 7\n`
	});
	assert.strictEqual(answer.status, 200, await answer.text());
}
before(async () => {
	server = await serve(['--data', dir]);
	await push(0);
	browser = await launch();
});
atEnd(async () => {
	await browser?.close();
	server?.stop();
});
const has = (page, name) =>
	page.waitForFunction((text) => document.querySelector('.virtual')?.textContent.includes(text), name);
const leads = (page) => page.evaluate(() => document.body.dataset.leads || '');
const waits = (page, how) => page.waitForFunction((want) => document.body.dataset.follows === want, how);
const streams = async () =>
	Number(/cresset_http_live_streams (\d+)/.exec(await (await fetch(server.url + 'metrics')).text())[1]);
/* The server sees that a tab has gone when it next looks. */
async function streamsAre(n) {
	let now = await streams();
	for (let i = 0; i < 1200 && now !== n; i++) {
		await new Promise((resolve) => {
			setTimeout(resolve, 50);
		});
		now = await streams();
	}
	assert.strictEqual(now, n);
}
beforeEach(() => streamsAre(0)); // of the test before it

test('two tabs have one stream, and both follow; the other takes over', async () => {
	const context = await browser.newContext({ viewport: { width: 1280, height: 720 } });
	const one = await open(browser, server.url, '', { context });
	await one.waitForFunction(() => document.body.dataset.leads === 'stream');
	const two = await open(browser, server.url, '', { context });
	await waits(one, 'live');
	await waits(two, 'live');
	assert.deepStrictEqual([await leads(one), await leads(two), await streams()], ['stream', '', 1]);
	await push(1);
	await Promise.all([has(one, 'step_1'), has(two, 'step_1')]);
	await one.close();
	await two.waitForFunction(() => document.body.dataset.leads === 'stream');
	await push(2);
	await has(two, 'step_2');
	await streamsAre(1);
	await two.click('.live');
	await waits(two, 'paused');
	await push(3);
	await two.waitForFunction(() => /paused \(\d+ s behind\)/.test(document.querySelector('.live').textContent));
	await two.keyboard.press('.');
	await has(two, 'step_3');
	await two.hover('.pane.table');
	await waits(two, 'paused');
	await two.hover('h1');
	await waits(two, 'live');
	assert.deepStrictEqual([...one.trouble, ...two.trouble], []);
	await context.close();
});
test('a link has times, a live link has none', async () => {
	const context = await browser.newContext({ permissions: ['clipboard-read', 'clipboard-write'] }),
		page = await open(browser, server.url, '?from=now-1h', { context });
	const copied = async (name) => {
		await page.click(`button:text-is("${name}")`);
		await page.waitForSelector('.notice');
		await page.click('.notice button');
		return new URL(await page.evaluate(() => navigator.clipboard.readText())).searchParams;
	};
	const pinned = await copied('Copy link'),
		live = await copied('Copy link (live)');
	assert.ok(Math.abs(Date.parse(pinned.get('to')) - Date.parse(pinned.get('from')) - 3600e3) <= 1000, String(pinned));
	assert.ok(Math.abs(Date.parse(pinned.get('to')) - Date.now()) < 60e3);
	assert.deepStrictEqual([live.get('from'), live.get('to')], ['now-1h', null]);
	await context.close();
});
test('another screen lets go of the stream', async () => {
	const page = await open(browser, server.url, '');
	await page.waitForFunction(() => document.body.dataset.leads === 'stream');
	await page.click('#routes a >> text=Status');
	await page.waitForFunction(() => document.body.dataset.leads === '');
	await page.context().close();
});
test('a hidden tab lets go of the stream, and comes back to it', async () => {
	const page = await open(browser, server.url, '');
	const hide = (is) =>
		page.evaluate((hidden) => {
			Object.defineProperty(document, 'hidden', { configurable: true, get: () => hidden });
			document.dispatchEvent(new Event('visibilitychange'));
		}, is);
	await page.waitForFunction(() => document.body.dataset.leads === 'stream');
	await streamsAre(1);
	await hide(true);
	await waits(page, 'paused');
	assert.strictEqual(await leads(page), '');
	await streamsAre(0);
	await push(4);
	await hide(false);
	await page.waitForFunction(() => document.body.dataset.leads === 'stream');
	await streamsAre(1);
	await push(5);
	await has(page, 'step_5');
	assert.deepStrictEqual(page.trouble, []);
	await page.context().close();
});
test('a time that does not end now is not followed', async () => {
	const page = await open(browser, server.url, '?from=start&to=end');
	assert.strictEqual(await page.isVisible('.live'), false);
	await page.context().close();
});
test('where the server has no stream left, it is asked now and then', async () => {
	const context = await browser.newContext();
	await context.route('**/api/v1/live**', (route) => route.fulfill({ status: 429, body: '{}' }));
	const page = await open(browser, server.url, '', { context });
	await page.waitForFunction(() => document.body.dataset.leads === 'poll');
	assert.match(await page.textContent('.live'), /every 15 s|paused/);
	await context.close();
});
