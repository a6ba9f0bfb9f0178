// tier: test
/* Leaks, on a store of eight heap profiles: the stack that grows is listed as the API has it, and its function is
 * chosen. */
'use strict';
const assert = require('node:assert');
const { execFileSync } = require('node:child_process');
const path = require('node:path');
const { after: atEnd, before } = require('node:test');
const { project, tempDir } = require('./picture.js');
const { after, launch, paging, serve, state } = require('./page.js');

const store = path.join(tempDir(), 'heaps');
const range = 'from=2026-11-30T10:00:00Z&to=2026-11-30T10:10:00Z';
let browser, server;
before(async () => {
	execFileSync(
		'bash',
		['-c', '. tests/cli/lib.sh && . tests/cli/lib_serve.sh && heap_profiles "$1"', 'bash', store],
		{
			cwd: project
		}
	);
	server = await serve([store]);
	browser = await launch();
});
atEnd(async () => {
	await browser?.close();
	server?.stop();
});
const on = (name, where, fn, options) => paging(() => ({ browser, server }), name, where, fn, options);
const cells = (page) =>
	page.$$eval('[aria-label=Leaks] tbody tr', (l) => l.map((r) => [...r.children].map((c) => c.textContent)));
const shown = (page) =>
	page.waitForFunction(() => {
		const text = document.querySelector('section[aria-label=Leaks] .dim')?.textContent;
		return text && !/Loading/.test(text);
	});

on('the stack that grows', `?q=inuse_space&${range}`, async (page, { get }) => {
	await page.click('button:text-is("Leaks")');
	await shown(page);
	const { leaks } = await get(`api/v1/leaks?q=inuse_space&${range}`);
	assert.strictEqual(leaks.length, 1);
	assert.deepStrictEqual(await cells(page), [['prog+0xfff', '9.95 GB', '9.51 GB to 10.4 GB', '1.24 GB', '', 'prog']]);
	await after(page, () => page.click('[aria-label=Leaks] tbody button'));
	assert.match((await state(page)).f, /prog/);
	assert.match(await page.textContent('.facts'), /filtered/);
});
on('it follows the range, and closes', `?q=inuse_space&${range}`, async (page) => {
	await page.click('button:text-is("Leaks")');
	await shown(page);
	await page.selectOption('[aria-label="Age of the memory"]', '1h');
	await shown(page);
	assert.strictEqual((await cells(page)).length, 1); /* no age is known */
	await page.click('section[aria-label=Leaks] button:text-is("Close")');
	assert.strictEqual(await page.locator('section[aria-label=Leaks]').isVisible(), false);
	await page.click('button:text-is("Leaks")');
	await shown(page);
	await after(page, () => page.keyboard.press('[')); /* to a type without snapshots */
	await page.waitForFunction(() => document.querySelector('section[aria-label=Leaks]').hidden);
});
on('blocks instead of bytes', `?q=inuse_objects&${range}`, async (page) => {
	await page.click('button:text-is("Leaks")');
	await shown(page);
	assert.deepStrictEqual(
		(await cells(page)).map((c) => c[1]),
		['18,981']
	);
});
on('other types have no leaks', `?q=alloc_space&${range}`, async (page) => {
	assert.strictEqual(await page.locator('button:text-is("Leaks")').isVisible(), false);
});
