// tier: test
/* report.html of an answer of a store, in a real browser: why a GPU was idle, with and without a timeline, and what
 * the page says that it does not show. Of known truth: tests/fixture/gpu.c and gpu_store.c. What is in such a file is
 * tests/cli/html_idle.sh. */
'use strict';
const assert = require('node:assert');
const { execFileSync } = require('node:child_process');
const path = require('node:path');
const { after, before, test } = require('node:test');
const { launch, serious, shot, wide } = require('./page.js');
const { project, program, tempDir } = require('./picture.js');

const fixture = (name, ...args) =>
	execFileSync(path.resolve(project, process.env.BUILD || 'build', 'fixture', name), args.map(String));
const cresset = (...args) => execFileSync(program, args, { stdio: ['ignore', 'pipe', 'pipe'] }).toString();
const dir = tempDir(),
	at = (name) => path.join(dir, name);
const RANGE = ['--from', '2026-11-21T10:00:00Z', '--to', '2026-11-21T10:01:40Z'],
	OLD = 1763719200;
let browser;

before(async () => {
	fixture('gpu_store', at('store'));
	cresset('-q', 'query', '--data', at('store'), ...RANGE, 'wall{host="exact"}', '-o', at('exact.html'));
	cresset('-q', 'query', '--data', at('store'), ...RANGE, 'wall', '-o', at('hosts.html'));
	for (const [name, ...more] of [['old', 'more'], ['plain']]) {
		fixture('gpu', at(`${name}.cresset`), 0, OLD, ...more);
		cresset('-q', 'convert', at(`${name}.cresset`), '--data', at(name));
		cresset('-q', 'query', '--data', at(name), '--from', 'start', '--to', 'end', 'wall', '-o', at(`${name}.html`));
	}
	fixture('gpu', at('clockless.cresset'));
	const part = ['--from', 'start+2s', '--to', 'start+4.55s'];
	cresset('-q', 'query', '--data', at('clockless.cresset'), ...part, 'wall', '-o', at('clockless.html'));
	browser = await launch();
});
after(() => browser?.close());

async function report(file, fn, how = {}) {
	const context = await browser.newContext({ viewport: { width: 1280, height: 720 }, ...how }),
		page = await context.newPage(),
		trouble = [];
	page.on('pageerror', (e) => trouble.push('error: ' + e.message));
	page.on('console', (m) => trouble.push('console: ' + m.text()));
	await page.goto('file://' + at(file));
	await page.waitForFunction(() => +document.querySelector('.rp')?.dataset.shown >= 1);
	await fn(page);
	await context.close();
	assert.deepStrictEqual(trouble, []);
}
const panel = (page) => page.innerText('.rp-idle');
const notes = (page) => page.$$eval('.rp-head .rp-note', (list) => list.map((e) => e.textContent));
const chosen = (page) => page.$$eval('.rp-row input[aria-label]', (list) => list.slice(0, 2).map((e) => +e.value));
/* What the command says that the panel names for the chosen part, of the store's first GPU. */
async function told(page, data) {
	const [first] = (await panel(page)).split('\n'),
		[, words] = first.match(
			/^For the whole range; for the selection: cresset (query --gpu-idle --from \S+ --to \S+)$/
		);
	return JSON.parse(cresset('-q', ...words.split(' '), '--json', '--data', at(data))).devices[0];
}

test('a page of a store tells why its GPU was idle; a gap is a part of its timeline', () =>
	report('exact.html', async (page) => {
		assert.deepStrictEqual(await notes(page), []);
		assert.ok(
			(await page.$$eval('.rp-lane', (list) => list.map((e) => e.textContent))).includes('GPU 0 stream 7 serve')
		);
		await page.click('text=Why was the GPU idle?');
		const text = await panel(page);
		assert.match(text, /^For the whole range\n/);
		assert.match(text, /GPU 0 of exact: idle 40\.0 s \(40\.0 %\) in 100 gaps\n+Exact: .*Processes: serve 700/);
		const rows = await page.$$eval('.rp-idle .virtual >> nth=0 >> tbody tr:not(.spacer)', (list) =>
			list.map((r) => [...r.cells].map((c) => c.textContent))
		);
		assert.deepStrictEqual(
			rows.map((r) => [r[1], ...r.slice(2, 4)]).filter(([name]) => name !== 'main'),
			[
				['wait', '0.00 %', '100.0 %'],
				['work', '100.0 %', '0.00 %']
			].sort((a, b) => rows.findIndex((r) => r[1] === a[0]) - rows.findIndex((r) => r[1] === b[0]))
		);
		await page.click('.rp-idle .row button >> nth=0');
		const [from, to] = await chosen(page);
		assert.ok(Math.abs((from % 1) - 0.6) < 1e-6 && Math.abs(to - from - 0.4) < 1e-6, `${from} ${to}`);
		/* Nothing but waits is in it. */
		const total = await page.$eval('.rp', (e) => +e.dataset.total);
		assert.strictEqual(total, 4 * 100e6);
		/* A part with work in it, by hand. */
		await page.fill('input[aria-label="from, s"]', '3.25');
		await page.fill('input[aria-label="to, s"]', '5.1');
		await page.keyboard.press('Enter');
		const of = await told(page, 'store');
		assert.deepStrictEqual([of.watched_ns, of.idle_ns, of.gaps], [1.85e9, 0.8e9, 2]);
	}));
test('of several hosts it tells each', () =>
	report('hosts.html', async (page) => {
		await page.click('text=Why was the GPU idle?');
		assert.deepStrictEqual(await page.$$eval('.rp-idle h2', (list) => list.map((e) => e.textContent)), [
			'GPU 0 of exact: idle 40.0 s (40.0 %) in 100 gaps',
			'GPU 0 of read: idle 30.0 s (30.0 %) in 10 gaps',
			'GPU 1 of read: idle 1 min 40 s (100.0 %) in 1 gap'
		]);
	}));
test('of a recording that knows no clock a part counts from its start', () =>
	report('clockless.html', async (page) => {
		await page.click('text=Why was the GPU idle?');
		await page.click('.rp-idle .row button >> nth=0');
		const [from, to] = await chosen(page);
		assert.deepStrictEqual([from, to], [0.07, 0.1]);
		await page.fill('input[aria-label="from, s"]', '0.5');
		await page.fill('input[aria-label="to, s"]', '1');
		await page.keyboard.press('Enter');
		const of = await told(page, 'clockless.cresset');
		assert.deepStrictEqual([of.watched_ns, of.idle_ns, of.gaps], [0.5e9, 0.15e9, 5]);
	}));
test('without a timeline it says why, and tells idle times of readings', () =>
	report('old.html', async (page) => {
		assert.deepStrictEqual(await notes(page), [
			'exact times exist for the last hours only: the page has no timeline; select a shorter or later range'
		]);
		assert.strictEqual(await page.locator('.rp-strips').count(), 0);
		assert.strictEqual(await page.locator('.rp-head .rp-note').isVisible(), true);
		await page.click('text=Why was the GPU idle?');
		const text = await panel(page);
		assert.match(text, /GPU 1: idle .*From readings of the driver every 1\.00 s/s);
		/* There is nothing to choose a part of. */
		await page.click('.rp-idle .row button >> nth=0');
		assert.strictEqual(await panel(page), text);
		await page.click('text=Why was the GPU idle?');
		assert.strictEqual(await page.isHidden('.rp-idle'), true);
	}));
test('without anything that tells idle times it says that, too', () =>
	report('plain.html', async (page) => {
		assert.strictEqual(await page.locator('text=Why was the GPU idle?').count(), 0);
		const list = await notes(page);
		assert.strictEqual(list.length, 2);
		assert.match(list[1], /^GPU work is known as sums over time only: the page does not show why GPUs were idle/);
	}));
for (const [name, how] of [
	['1280', {}],
	['1600-dark', { viewport: { width: 1600, height: 900 }, colorScheme: 'dark' }],
	['390', { viewport: { width: 390, height: 844 } }]
])
	for (const file of ['exact', 'old', 'plain'])
		test(`pictures of pages of a store, and what is in anybody's way: ${file} ${name}`, () =>
			report(
				`${file}.html`,
				async (page) => {
					if (file !== 'plain') await page.click('text=Why was the GPU idle?');
					await shot(page, `report-store-${file}-${name}`, { fullPage: true });
					assert.ok((await wide(page)) <= 0);
					assert.deepStrictEqual(await serious(page), []);
				},
				{ bypassCSP: true, ...how }
			));
