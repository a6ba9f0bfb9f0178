/* The strip of host metrics on the page of cresset serve, on a store of known truth (tests/fixture/host.c). */
'use strict';
const assert = require('node:assert');
const { execFileSync } = require('node:child_process');
const path = require('node:path');
const { after: atEnd, before } = require('node:test');
const { project, tempDir } = require('./picture.js');
const { launch, paging, serve } = require('./page.js');

const dir = path.join(tempDir(), 'store');
let browser, server;
before(async () => {
	execFileSync(path.resolve(project, process.env.BUILD || 'build', 'fixture', 'host'), [dir]);
	server = await serve(['--data', dir]);
	browser = await launch();
});
atEnd(async () => {
	await browser?.close();
	server?.stop();
});
const ALL = '?from=start&to=end';
const on = (name, where, fn) => paging(() => ({ browser, server }), name, where, async (page) => {
	await page.waitForSelector('.host figure');
	await fn(page);
});
const captions = (page) => page.$$eval('.host figcaption', (l) => l.map((c) => [...c.childNodes].map((n) => n.textContent)));

on('all hosts are added up', ALL, async (page) => {
	assert.deepStrictEqual(await captions(page), [
		['CPUs busy', '1.5 on average, 2 at most, of 8'],
		['Threads that want a CPU', '4 on average, 4 at most'],
		['Memory in use', '3.22 GB on average, 3.22 GB at most, of 17.2 GB'],
	]);
});
on('one host of them', ALL + '&q=' + encodeURIComponent('cpu{comm="",host="h0"}'), async (page) => {
	assert.deepStrictEqual((await captions(page)).map((c) => c[1]),
		['1.5 on average, 2 at most, of 4', '3 on average, 3 at most', '2.15 GB on average, 2.15 GB at most, of 8.59 GB']);
});
on('what is not known is not drawn', ALL, async (page) => {
	const svg = page.locator('.host svg').first();
	assert.strictEqual(await svg.locator('path.line').count(), 2);
	const ends = await svg.locator('path.line').evaluateAll((l) => l.map((p) => { const b = p.getBBox(); return [b.x / 300, (b.x + b.width) / 300]; }));
	[[0, 25 / 60], [35 / 60, 1]].forEach((want, i) => want.forEach((w, k) => assert.ok(Math.abs(ends[i][k] - w) < 0.02, `${ends}`)));
});
on('metrics are no profiles to choose', ALL, async (page) => {
	assert.deepStrictEqual(await page.$$eval('.query select >> nth=0', (l) => [...l[0].options].map((o) => o.value)), ['cpu']);
});
