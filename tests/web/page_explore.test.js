// tier: test
// parts: 3
/* Explore, on a recording of known sums (tests/fixture/waits.c): what is shown is what the API says. */
'use strict';
const assert = require('node:assert');
const { execFileSync } = require('node:child_process');
const path = require('node:path');
const { after: atEnd, before } = require('node:test');
const { project, tempDir } = require('./picture.js');
const { address, after, drag, launch, paging, rows, serve, state } = require('./page.js');

const recording = path.join(tempDir(), 'waits.cresset');
let browser, server;
before(async () => {
	execFileSync(path.resolve(project, process.env.BUILD || 'build', 'fixture', 'waits'), [recording]);
	server = await serve([recording]);
	browser = await launch();
});
atEnd(async () => {
	await browser?.close();
	server?.stop();
});
const on = (name, where, fn, options) => paging(() => ({ browser, server }), name, where, fn, options);
const total = (page) => page.textContent('.facts .total');
const span = async (page) => (await state(page)).sel.split('-').map((ms) => new Date(Math.round(+ms)).toISOString());
const names = (list) => list.map((r) => r[1]);
const nameSet = (list) => [...list].sort();

on('what is there is shown', '', async (page, { get }) => {
	assert.deepStrictEqual(await page.$$eval('.query select >> nth=0', (l) => [...l[0].options].map((o) => o.value)), [
		'wall'
	]);
	assert.match(await page.textContent('.row .dim'), /22\.2 s in total|22\.3 s in total/);
	const { top } = await get('api/v1/top?q=wall&n=0'),
		shown = await rows(page);
	assert.deepStrictEqual(nameSet(names(shown)), nameSet(top.map((r) => r.function)));
	const work = shown.find((r) => r[1] === 'work');
	assert.deepStrictEqual([work[0], work[2], work[3], work[6]], ['native', '4.00 s', '18.0 %', 'demo']);
});
on('the flame graph has the totals of the API', '', async (page, { url }) => {
	const bytes = new Uint8Array(await (await fetch(url + 'api/v1/flame?q=wall&fmt=bin')).arrayBuffer());
	const { decodeTree } = await import('../../web/tree.js'),
		tree = decodeTree(bytes);
	assert.strictEqual(tree.header.total, 22250000000);
	assert.match(await page.textContent('.facts'), new RegExp(`${tree.n} nodes`));
	await page.focus('.flame-body canvas');
	await page.keyboard.press('ArrowDown');
	assert.match(await page.textContent('.flame-live'), /main/);
});
on('dragging chooses a part, and totals are those of the API', '', async (page, { get }) => {
	await after(page, () => drag(page, '.range', 0.25, 0.5));
	const [from, to] = await span(page),
		{ top, total: sum } = await get(`api/v1/top?q=wall&n=0&from=${from}&to=${to}`);
	assert.ok(sum > 0 && sum < 22250000000);
	assert.strictEqual(parseFloat(await total(page)), +(sum / 1e9).toFixed(2));
	assert.deepStrictEqual(nameSet(names(await rows(page))), nameSet(top.map((r) => r.function)));
	assert.strictEqual(await page.locator('.range .pick').count(), 1);
	await after(page, () => page.goBack());
	assert.match(await total(page), /22\.[23] s/);
	await after(page, () => page.goForward());
	await after(page, () => page.click('text=Clear selection'));
	assert.strictEqual(await page.locator('.range .pick').count(), 0);
});
on('a part is chosen by keyboard alone', '', async (page, { get }) => {
	await page.focus('.range');
	for (const key of ['Home', ...Array(9).fill('ArrowRight'), ...Array(20).fill('Shift+ArrowRight')])
		await page.keyboard.press(key);
	await after(page, () => page.keyboard.press('Enter'));
	const [from, to] = (await state(page)).sel.split('-').map(Number),
		range = await get('api/v1/range?q=wall'),
		step = range.step_ns / 1e6;
	assert.ok(Math.abs((to - from) / step - 21) < 0.01, `${(to - from) / step} steps`);
	assert.ok(Math.abs((from - range.from_ns / 1e6) / step - 9) < 0.01);
	await page.focus('.range');
	await after(page, () => page.keyboard.press('Escape'));
	assert.strictEqual((await state(page)).sel, undefined);
});
on('labels tell apart, one is chosen, and it is completed', '', async (page) => {
	await after(page, () => page.selectOption('.query label:has-text("By") select', 'comm'));
	assert.deepStrictEqual(await page.$$eval('.legend button', (l) => l.map((b) => b.textContent.split(' ')[0])), [
		'worker',
		'web',
		'db'
	]);
	await after(page, () => page.click('.legend button >> text=db'));
	assert.strictEqual(await page.inputValue('.combo input'), 'comm="db"');
	assert.match(await total(page), /^2\.00 s/);
	await page.fill('.combo input', '');
	await page.click('.combo input');
	await page.keyboard.type('com');
	await page.waitForSelector('.complete li >> text=comm');
	await page.keyboard.press('ArrowDown');
	await page.keyboard.press('Enter');
	await page.keyboard.type('="w');
	await page.waitForFunction(
		() => [...document.querySelectorAll('.complete li')].map((l) => l.textContent).join() === 'web,worker'
	);
	await page.keyboard.press('ArrowDown');
	await after(page, () => page.keyboard.press('Enter'));
	assert.strictEqual((await state(page)).q, 'wall{comm="web"}');
	assert.match(await total(page), /^10\.0 s/);
});
on('a search says how much it found; matches are stepped through', '?s=work', async (page, { get }) => {
	const { top, total: all } = await get('api/v1/top?q=wall&n=0'),
		work = top.find((r) => r.function === 'work');
	assert.match(
		await page.textContent('.result'),
		new RegExp(
			`^${((100 * work.total) / all).toFixed(1)} % total \\(5\\.00 s\\) · ` +
				`${((100 * work.self) / all).toFixed(1)} % self · 1 frames`
		)
	);
	await page.fill('input[type=search]', '/a/');
	await page.waitForFunction(() => /\/2|frames/.test(document.querySelector('.result').textContent));
	const text = await page.textContent('.result'),
		frames = +/(\d+) frames/.exec(text)[1];
	await page.press('input[type=search]', 'Enter');
	assert.match(await page.textContent('.result'), new RegExp(`1/${frames}$`));
	await page.press('input[type=search]', 'Shift+Enter');
	assert.match(await page.textContent('.result'), new RegExp(`${frames}/${frames}$`));
	await page.fill('input[type=search]', '/(/');
	assert.match(await page.textContent('.result.bad'), /bad expression/);
	assert.strictEqual((await state(page)).s, '/(/');
});
on("filters are the server's; both bases stay in sight", '?f=s.fn~main;-x.kind~marker', async (page, { get }) => {
	const answer = await get('api/v1/top?q=wall&n=0&focus=main&hide=kind%3Amarker');
	assert.match(
		await page.textContent('.facts .filtered'),
		new RegExp(`filtered: ${((100 * answer.total) / answer.unfiltered_total).toFixed(1)} % of all`)
	);
	assert.deepStrictEqual(nameSet(names(await rows(page))), nameSet(answer.top.map((r) => r.function)));
	await after(page, () => page.click('.chip.filter button >> text=hide frames'));
	assert.strictEqual((await state(page)).f, 's.fn~main;!-x.kind~marker');
	await after(page, () => page.click('[aria-label^="Remove: only stacks"]'));
	assert.match(await total(page), /22\.[23] s/);
	await page.click('text=+ Filter');
	await page.selectOption('.filter-form select >> nth=0', '-s');
	await page.fill('.filter-form input', 'poll');
	await after(page, () => page.press('.filter-form input', 'Enter'));
	assert.strictEqual((await get('api/v1/top?q=wall&n=0&ignore=poll')).total, 17250000000);
	assert.match(await total(page), /^17\.[23] s/);
});
on('several patterns: of focus all must match', '?f=s.fn~main;s.fn~fsync', async (page, { get }) => {
	assert.match(await total(page), /^2\.00 s/);
	assert.strictEqual((await get('api/v1/top?q=wall&n=1&focus=main%0Afsync')).total, 2000000000);
	assert.strictEqual((await get('api/v1/top?q=wall&n=1&focus=take%0Afsync')).total, 0);
	assert.strictEqual((await get('api/v1/top?q=wall&n=1&ignore=take%0Afsync')).total, 10000000000);
});
on('filters that leave nothing say so', '?f=s.fn~nobody', async (page) => {
	assert.match(await page.textContent('.empty'), /exclude all of 22\.[23] s/);
	await after(page, () => page.click('text=Remove the last filter'));
	assert.strictEqual(await page.isVisible('.empty'), false);
});
on('twice on a row: who calls it, and whom it calls', '', async (page) => {
	await after(page, () => page.dblclick('.virtual button:text-is("work")'));
	assert.strictEqual((await state(page)).sw, 'work');
	assert.strictEqual(await page.locator('.flame-box').count(), 2);
	await after(page, () => page.click('[aria-label="Back to the whole profile"]'));
	assert.strictEqual(await page.locator('.flame-box').count(), 1);
});
on('once: it is marked in the graph', '', async (page) => {
	await page.click('.virtual button >> text=crunch');
	await page.waitForFunction(() => /3\.37 % total/.test(document.querySelector('.result').textContent));
	assert.strictEqual((await state(page)).s, '/^crunch$/');
	assert.strictEqual(await page.locator('tr.picked').count(), 1);
});
on('the table is sorted by what is clicked', '', async (page) => {
	const sorted = async (name) => {
		await page.click(`th button >> text=/^${name}/`);
		return names(await rows(page));
	};
	const up = await sorted('Function'),
		down = await sorted('Function');
	assert.deepStrictEqual(up, [...up].sort());
	assert.deepStrictEqual(down, [...up].reverse());
	assert.strictEqual(await page.getAttribute('th.name', 'aria-sort'), 'descending');
});
on('a menu for a frame: only stacks with it, zoom, copy', '', async (page) => {
	const menu = async () => {
		await page.focus('.flame-body canvas');
		for (const key of ['Home', 'ArrowDown', 'ArrowDown', 'Shift+Enter']) await page.keyboard.press(key);
		await page.waitForSelector('.menu');
	};
	await menu();
	await page.keyboard.press('Escape');
	assert.strictEqual(await page.locator('.menu').count(), 0);
	await menu();
	await page.click('.menu >> text=Zoom');
	await page.waitForFunction(() => new URLSearchParams(location.search).has('z'));
	const link = await address(page);
	await page.reload();
	await page.waitForFunction(() => document.body.dataset.drawn);
	assert.strictEqual(await address(page), link, 'the zoom is in the link');
	await menu();
	await after(page, () => page.click('.menu >> text=Focus on function'));
	assert.match((await state(page)).f, /^s\.fn~\^.*\$$/);
});
on('inverted: leaves first', '?inv=1', async (page) => {
	await page.focus('.flame-body canvas');
	await page.keyboard.press('ArrowDown');
	assert.match(await page.textContent('.flame-live'), /blocked: futex/);
});
on('exports are what the server writes', '', async (page, { url }) => {
	const download = async (name) => {
		await page.click('text=Export');
		const [file] = await Promise.all([page.waitForEvent('download'), page.click(`.menu >> text=/^${name}$/`)]);
		return require('node:fs').readFileSync(await file.path());
	};
	assert.deepStrictEqual(
		await download('folded stacks'),
		Buffer.from(await (await fetch(url + 'api/v1/flame?q=wall&fmt=folded')).arrayBuffer())
	);
	assert.strictEqual((await download('pprof')).readUInt16BE(0), 0x1f8b);
	assert.strictEqual((await download('PNG of this view')).toString('latin1', 1, 4), 'PNG');
	assert.match((await download('SVG')).toString(), /<svg/);
	assert.match((await download('speedscope')).toString(), /speedscope/);
});
on('a heatmap: a part is chosen by its cells', '?v=heatmap', async (page, { get }) => {
	const heat = await get('api/v1/heatmap?q=wall');
	await page.focus('.heat');
	for (const key of ['ArrowRight', 'ArrowRight', 'Shift+ArrowDown', 'Shift+ArrowDown'])
		await page.keyboard.press(key);
	await after(page, () => page.keyboard.press('Enter'));
	const [from, to] = (await state(page)).sel.split('-').map(Number),
		zero = (heat.epoch_ns + heat.start_ns) / 1e6;
	assert.deepStrictEqual(
		[Math.round(from - zero), Math.round(to - from)],
		[(2 * heat.column_ns) / 1e6, (3 * heat.row_ns) / 1e6]
	);
});
on('a chart has its own frame, which cannot reach the page', '?v=chart', async (page) => {
	const frame = await (await page.waitForSelector('.pane.chart iframe')).contentFrame();
	await frame.waitForSelector('svg');
	assert.strictEqual(
		await frame.evaluate(() => {
			try {
				return parent.document.title;
			} catch (e) {
				return e.name;
			}
		}),
		'SecurityError'
	);
});
on(
	'the chart of one thread is drawn by the page',
	'?v=chart&q=' + encodeURIComponent('wall{tid="101"}'),
	async (page, { url }) => {
		await page.waitForSelector('.pane.chart .flame-body canvas');
		assert.strictEqual(await page.locator('.pane.chart iframe').count(), 0);
		const { decodeTree } = await import('../../web/tree.js');
		const tree = decodeTree(
			new Uint8Array(
				await (
					await fetch(url + 'api/v1/chart?fmt=bin&q=' + encodeURIComponent('wall{tid="101"}'))
				).arrayBuffer()
			)
		);
		await page.focus('.pane.chart .flame-body canvas');
		const said = [];
		for (let i = 0; i < 3; i++) {
			await page.keyboard.press('ArrowDown');
			said.push(await page.textContent('.pane.chart .flame-live'));
		}
		assert.match(said.join(' | '), new RegExp(tree.name(1)));
		await page.fill('.combo input', '');
		await after(page, () => page.press('.combo input', 'Enter'));
		await page.waitForSelector('.pane.chart iframe');
		assert.strictEqual(await page.locator('.pane.chart canvas').count(), 0);
	}
);
on('panes: two at most, and one at least', '', async (page) => {
	await after(page, () => page.keyboard.press('4'));
	assert.strictEqual((await state(page)).v, 'table,heatmap');
	await after(page, () => page.click('[data-pane=table]'));
	assert.strictEqual((await state(page)).v, 'heatmap');
	await page.click('[data-pane=heatmap]');
	assert.strictEqual((await state(page)).v, 'heatmap');
});
on('compare with the previous period: one gesture', '', async (page, { get }) => {
	await after(page, () => drag(page, '.range', 0.5, 0.75, ['Shift']));
	await page.waitForURL(/\/compare\?/);
	await page.waitForFunction(() => /per second/.test(document.querySelector('.verdict')?.textContent || ''));
	const s = await state(page),
		{ from, to, fromb, tob } = s;
	assert.strictEqual(to, fromb);
	assert.ok(Math.abs(Date.parse(to) - Date.parse(from) - (Date.parse(tob) - Date.parse(fromb))) <= 1);
	const answer = await get(
		'api/v1/diff?' +
			new URLSearchParams({ a: 'wall', afrom: from, ato: to, bfrom: fromb, bto: tob, norm: 'share', n: 0 })
	);
	const shown = await rows(page);
	assert.deepStrictEqual(nameSet(names(shown)), nameSet(answer.rows.map((r) => r.function)));
	const first = answer.rows[0],
		row = shown.find((r) => r[1] === first.function);
	assert.deepStrictEqual(
		[row[2], row[3], row[7]],
		[first.self.older, first.self.newer]
			.map((v) => `${v.toFixed(v < 9.995 ? 2 : 1)} %`)
			.concat(first.self.certainty)
	);
	await after(page, () => page.click('text=Swap A and B'));
	assert.deepStrictEqual([(await state(page)).from, (await state(page)).fromb], [fromb, from]);
	await page.click('text=Open A');
	await page.waitForURL(/\/explore\?/);
	await page.waitForSelector('.facts .total');
	assert.strictEqual((await state(page)).from, fromb);
});
on(
	'compare: dragging sets the side that is chosen',
	'compare?q=wall&from=start&to=start%2B2s&fromb=start%2B4s&tob=end',
	async (page, { get }) => {
		assert.strictEqual(await page.locator('.range .pick').count(), 2);
		/* Each where its times are, not where the graph's steps are. */
		const [a, b] = await page.$$eval('.range .pick', (l) =>
			l.map((r) => [+r.getAttribute('x'), +r.getAttribute('width')])
		);
		const width = await page.$eval('.range', (r) => r.viewBox.baseVal.width);
		const second = a[1] / 2;
		assert.ok(Math.abs(b[0] - a[0] - 4 * second) < 1, `${a} ${b} of ${width}`);
		const { from_ns: first, to_ns: last } = (await get('api/v1/status')).data;
		assert.ok(Math.abs(b[1] - ((last - first) / 1e9 - 4) * second) < 2, `${a} ${b} of ${width}`);
		await page.click('[data-side=a]');
		await after(page, () => drag(page, '.range', 0.1, 0.3));
		assert.strictEqual((await state(page)).fromb, 'start+4s');
		assert.ok(Date.parse((await state(page)).from) < Date.parse((await state(page)).to));
		await after(page, () => page.selectOption('label:has-text("Compare") select', 'abs'));
		assert.strictEqual((await state(page)).norm, 'abs');
		const asked = page.waitForRequest((r) => /api\/v1\/diff\?.*strict=1/.test(r.url()));
		await after(page, () => page.selectOption('label:has-text("Same function") select', '1'));
		assert.strictEqual((await state(page)).strict, '1');
		await asked;
	}
);
on(
	'compare: a side without samples is said',
	'compare?q=wall%7Bcomm%3D%22none%22%7D&from=start&to=end&qb=wall&fromb=start&tob=end',
	async (page, { get }) => {
		const { total: sum } = await get('api/v1/top?q=wall&n=0&from=start&to=end');
		assert.ok(
			(await page.textContent('.verdict')).startsWith(
				`A nothing, B ${(sum / 1e9).toFixed(1)} s in 10.0 s: a side without samples`
			)
		);
		assert.ok((await rows(page)).every((r) => r[6] === 'unknown'));
		assert.strictEqual(await page.isVisible('.trouble'), false);
	}
);
on('what cannot be asked is said, at its column', '?q=wall%7Bcomm%3D%7D', async (page) => {
	assert.match(await page.textContent('.wrong'), /column 11: a value in quotes is missing[^]*\^/);
	assert.strictEqual(await page.getAttribute('.combo input', 'aria-invalid'), 'true');
	page.statuses = [400];
	await page.fill('.combo input', 'comm="db"');
	await after(page, () => page.press('.combo input', 'Enter'));
	assert.strictEqual(await page.isVisible('.wrong'), false);
});
on('a bad value in a link is left out and said', '?v=nothing&by=comm&later=1', async (page) => {
	assert.match(await page.textContent('#notices'), /v=nothing/);
	assert.strictEqual(await page.locator('.pane').count(), 2);
	await after(page, () => page.selectOption('.query label:has-text("By") select', ''));
	assert.strictEqual((await state(page)).later, '1', 'what is not known is kept');
});
on('help says the keys, and nothing is loaded before it is used', '', async (page) => {
	const loaded = () =>
		page.evaluate(() => performance.getEntriesByType('resource').map((r) => r.name.split('/').at(-1)));
	const first = await loaded();
	for (const name of [
		'help.js',
		'menu.js',
		'export.js',
		'compare.js',
		'targets.js',
		'timeline.js',
		'live.js',
		'complete.js',
		'time_panes.js',
		'host.js',
		'line_graph.js'
	])
		assert.ok(!first.includes(name), name);
	await page.keyboard.press('?');
	await page.waitForSelector('dialog[open]');
	assert.match(await page.textContent('dialog'), /next match/);
	await page.keyboard.press('Escape');
	await page.waitForSelector('dialog', { state: 'detached' });
});
on('the first picture takes 55 kB at most', '', async (page) => {
	const sizes = await page.evaluate(() =>
		performance
			.getEntriesByType('resource')
			.concat(performance.getEntriesByType('navigation'))
			.filter((r) => !r.name.includes('/api/'))
			.map((r) => [r.name.split('/').at(-1), r.encodedBodySize])
	);
	const sum = sizes.reduce((n, [, size]) => n + size, 0);
	assert.ok(sum > 10000 && sum <= 55000, `${sum}: ${sizes.join(' ')}`);
});
