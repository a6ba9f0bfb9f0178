/* The page of cresset in a real browser: a server for a test, and pages on which any error fails it. */
'use strict';
const assert = require('node:assert');
const { spawn } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { test } = require('node:test');
const { project, program, launch, shot, slow } = require('./picture.js');

const AXE = require.resolve('axe-core/axe.min.js');
const SIZE = { width: 1280, height: 720 };

/* Starts cresset serve; gives its address and what ends it. */
async function serve(args) {
	const server = spawn(program, ['serve', ...args, '--listen', '127.0.0.1:0'], {
		stdio: ['ignore', 'pipe', 'inherit']
	});
	const url = await new Promise((resolve, reject) => {
		server.stdout.once('data', (text) => resolve(String(text).trim()));
		server.once('exit', () => reject(new Error('the server ended')));
	});
	server.removeAllListeners('exit');
	return { url, stop: () => server.kill(), pid: server.pid, get: async (what) => (await fetch(url + what)).json() };
}
/* A page that notes what goes wrong: errors, what the browser refuses or cannot load, requests to anywhere else. */
async function open(browser, url, where, options = {}) {
	const context =
		options.context ||
		(await browser.newContext({ viewport: SIZE, timezoneId: 'UTC', locale: 'en-GB', ...options }));
	const page = await context.newPage();
	page.trouble = [];
	page.on('pageerror', (e) => page.trouble.push('error: ' + e.stack));
	page.on('console', (m) => page.trouble.push('console: ' + m.text()));
	page.on(
		'request',
		(r) => r.url().startsWith(url) || r.url().startsWith('blob:') || page.trouble.push('request: ' + r.url())
	);
	page.asking = new Set();
	page.on('request', (r) => page.asking.add(r.url()));
	for (const end of ['requestfinished', 'requestfailed']) page.on(end, (r) => page.asking.delete(r.url()));
	/* From the first request on: a handler that is added to a loaded page may miss the next request, as one that is
	 * removed may still get it (github.com/microsoft/playwright/issues/41802). */
	if (options.routed)
		await page.route(options.routed, (route) => (page.reply ? page.reply(route) : route.continue()));
	await page.goto(url + where);
	await drawn(page);
	await painted(page);
	return page;
}
/* As often as it was drawn so far, or more. */
const turns = (page) => page.evaluate(() => +(document.body.dataset.drawn || 0));
const drawn = (page, turn = 1) => page.waitForFunction((n) => +(document.body.dataset.drawn || 0) >= n, turn);
/* A browser may drop keys that come before the first picture of a page. */
const painted = (page) =>
	page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
/* Does something, and waits until what it asks for is drawn. */
async function after(page, fn) {
	const turn = await turns(page);
	await fn();
	await drawn(page, turn + 1);
}
/* Of a page whose test fails: the address, what went wrong, which requests have no answer yet. */
async function whatIsThere(page) {
	const { url, text } = await page
		.evaluate(() => ({ url: location.href, text: document.body.innerText.slice(0, 600) }))
		.catch((e) => ({ url: String(e), text: '' }));
	return `\n--- ${url}\n${[...page.trouble, ...[...page.asking].map((u) => 'no answer: ' + u), text].join('\n')}\n---`;
}
/* The browser reports each response with an error status, often later than the page does: a test that causes some
 * gives their statuses, as page.statuses = [400]. */
const REPORT = 'console: Failed to load resource: the server responded with a status of ';
const isExpected = (page, text) => (page.statuses || []).some((n) => text.startsWith(`${REPORT}${n} `));
/* A test on a page of its own. target(): {browser, server} once they are there. */
function paging(target, name, where, fn, options) {
	test(name, async () => {
		const { browser, server } = target(),
			page = await open(browser, server.url, where, options);
		try {
			await fn(page, server);
		} catch (e) {
			e.message += await whatIsThere(page);
			throw e;
		}
		await page.context().close();
		assert.deepStrictEqual(
			page.trouble.filter((t) => !isExpected(page, t)),
			[]
		);
	});
}
/* As the page has it now; page.url() comes later. */
const address = (page) => page.evaluate(() => location.href);
const state = async (page) => Object.fromEntries(new URL(await address(page)).searchParams);
const rows = (page) =>
	page.$$eval('.virtual tbody tr:not(.spacer)', (list) => list.map((r) => [...r.cells].map((c) => c.textContent)));
async function drag(page, selector, from, to, keys = []) {
	const box = await page.locator(selector).boundingBox();
	for (const key of keys) await page.keyboard.down(key);
	await page.mouse.move(box.x + box.width * from, box.y + 40);
	await page.mouse.down();
	await page.mouse.move(box.x + box.width * to, box.y + 50, { steps: 4 });
	await page.mouse.up();
	for (const key of keys) await page.keyboard.up(key);
}
/* What an automatic checker finds that is in anybody's way; the page must be open with bypassCSP, for the checker's
 * own script. */
async function serious(page) {
	const violations = await page.evaluate(
		async ([source, tags]) => {
			if (!window.axe) (0, eval)(source);
			/* What is fine is not described: that takes longer than to find it. */
			const { violations } = await window.axe.run(document, { runOnly: tags, resultTypes: ['violations'] });
			return violations;
		},
		[fs.readFileSync(AXE, 'utf8'), ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa']]
	);
	return violations
		.filter((v) => ['serious', 'critical'].includes(v.impact))
		.map(
			(v) =>
				`${v.id}: ${v.nodes
					.slice(0, 3)
					.map((n) => n.target + ' ' + n.failureSummary.slice(0, 200))
					.join(' | ')}`
		);
}
/* How many pixels of each column of a canvas are drawn, from left to right. */
const columns = (locator) =>
	locator.evaluate((canvas) => {
		const { width, height } = canvas,
			copy = new OffscreenCanvas(width, height).getContext('2d', { willReadFrequently: true });
		copy.drawImage(canvas, 0, 0);
		const { data } = copy.getImageData(0, 0, width, height);
		return Array.from(
			{ length: width },
			(_, x) => Array.from({ length: height }, (_, y) => data[4 * (y * width + x) + 3] > 0).filter(Boolean).length
		);
	});
const wide = (page) => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

module.exports = {
	serve,
	open,
	address,
	drawn,
	after,
	columns,
	paging,
	state,
	rows,
	drag,
	serious,
	shot,
	slow,
	turns,
	wide,
	launch
};
