// tier: test
/* The strip of host metrics on the page of cresset serve, on a store of known truth (tests/fixture/host.c). */
'use strict';
const assert = require('node:assert');
const { execFileSync } = require('node:child_process');
const path = require('node:path');
const { after: atEnd, before } = require('node:test');
const { project, tempDir } = require('./picture.js');
const { columns, launch, paging, serve } = require('./page.js');

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
const on = (name, where, fn) =>
	paging(
		() => ({ browser, server }),
		name,
		where,
		async (page) => {
			await page.waitForSelector('.host figure');
			await fn(page);
		}
	);
const captions = (page) =>
	page.$$eval('.host figcaption', (l) => l.map((c) => [...c.childNodes].map((n) => n.textContent)));

on('all hosts are added up', ALL, async (page) => {
	assert.deepStrictEqual(await captions(page), [
		['CPU in use', '1.5 on average, 2 at most, of 8'],
		['Runnable threads', '4 on average, 4 at most'],
		['Memory in use', '3.22 GB on average, 3.22 GB at most, of 17.2 GB'],
		['GPUs busy', '0: 25.0 % on average, 25.0 % at most; 1: 75.0 % on average, 75.0 % at most'],
		['GPU memory', '0: 10.0 GB on average, 10.0 GB at most; 1: 20.0 GB on average, 20.0 GB at most, of 80.0 GB'],
		['GPU power', '0: 300 W on average, 300 W at most; 1: 300 W on average, 500 W at most']
	]);
});
on('one host of them', ALL + '&q=' + encodeURIComponent('cpu{comm="",host="h0"}'), async (page) => {
	assert.deepStrictEqual(
		(await captions(page)).map((c) => c[1]),
		[
			'1.5 on average, 2 at most, of 4',
			'3 on average, 3 at most',
			'2.15 GB on average, 2.15 GB at most, of 8.59 GB',
			'0: 25.0 % on average, 25.0 % at most; 1: 75.0 % on average, 75.0 % at most',
			'0: 10.0 GB on average, 10.0 GB at most; 1: 20.0 GB on average, 20.0 GB at most, of 80.0 GB',
			'0: 300 W on average, 300 W at most; 1: 300 W on average, 500 W at most'
		]
	);
});
const graph = (page, which) => page.locator('.line-graph canvas').nth(which);
on('what is not known is not drawn', ALL, async (page) => {
	const list = await columns(graph(page, 0)),
		drawn = list
			.map((n, x) => [n, (x + 0.5) / list.length])
			.filter(([n]) => n)
			.map(([, x]) => x);
	const inside = (x) => (x < 25 / 60 ? 0 : x > 35 / 60 ? 1 : -1),
		parts = [0, 1].map((part) => drawn.filter((x) => inside(x) === part));
	assert.strictEqual(parts[0].length + parts[1].length, drawn.length, String(drawn));
	[
		[0, 25 / 60],
		[35 / 60, 1]
	].forEach(([from, to], i) => {
		const ends = [parts[i][0], parts[i].at(-1)];
		assert.ok(Math.abs(ends[0] - from) < 0.02 && Math.abs(ends[1] - to) < 0.02, String(ends));
	});
});
on('a line is as high as its values', ALL, async (page) => {
	/* 4 threads want a CPU, all the time, of at most 4: the area is as high as the picture, but for 2 px. */
	const list = await columns(graph(page, 1)),
		middle = list[Math.round(list.length / 4)];
	assert.ok(Math.abs(middle - 32) <= 1, String(middle));
	/* 3.22 GB of 17.2 GB. */
	const memory = await columns(graph(page, 2)),
		share = 3.22 / 17.2;
	assert.ok(Math.abs(memory[Math.round(memory.length / 4)] - 32 * share) <= 2, String(memory));
});
on('each GPU is a line of its own', ALL, async (page) => {
	/* 75 % of what can be: so high is the highest of the two lines, all the time. */
	const busy = await columns(graph(page, 3));
	assert.ok(Math.abs(busy[Math.round(busy.length / 4)] - 32 * 0.75) <= 2, String(busy));
	/* 300 W are the higher of the two in the first half, 500 W in the second. */
	const power = await columns(graph(page, 5)),
		at = (part) => power[Math.round(power.length * part)];
	assert.ok(Math.abs(at(0.25) - 32 * 0.6) <= 2, String(power));
	assert.ok(Math.abs(at(0.75) - 32) <= 2, String(power));
});
on('a host without GPUs has no strips of them', ALL + '&q=' + encodeURIComponent('cpu{host="h1"}'), async (page) => {
	assert.deepStrictEqual(
		(await captions(page)).map((c) => c[0]),
		['CPU in use', 'Runnable threads', 'Memory in use']
	);
});
on('lines follow the window', ALL, async (page) => {
	const wide = (await columns(graph(page, 0))).length;
	await page.setViewportSize({ width: 900, height: 720 });
	await page.waitForFunction((w) => document.querySelector('.line-graph canvas').width !== w, wide);
	assert.strictEqual((await columns(graph(page, 0))).length, await page.$eval('.line-graph', (e) => e.clientWidth));
});
on('metrics are no profiles to choose', ALL, async (page) => {
	assert.deepStrictEqual(await page.$$eval('.query select >> nth=0', (l) => [...l[0].options].map((o) => o.value)), [
		'cpu'
	]);
});
