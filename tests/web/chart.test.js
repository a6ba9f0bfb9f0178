// tier: test
/* Flame charts and heatmaps in a real browser, on the recording whose truth tests/fixture/waits.c says. */
'use strict';
const assert = require('node:assert');
const { execFileSync } = require('node:child_process');
const path = require('node:path');
const { after, before, test } = require('node:test');
const { pathToFileURL } = require('node:url');
const { project, program, tempDir, launch, shot } = require('./picture.js');

const dir = tempDir(),
	waits = path.join(dir, 'waits.cresset');
const SECOND = 1e9,
	WIDTH = 1180;
let browser;

before(async () => {
	execFileSync(path.resolve(project, process.env.BUILD || 'build', 'fixture', 'waits'), [waits]);
	browser = await launch();
});
after(() => browser.close());

function draw(name, command, options) {
	const output = path.join(dir, name + '.svg');
	execFileSync(program, [command, waits, '-o', output, ...options], { stdio: ['ignore', 'ignore', 'inherit'] });
	return output;
}
/* Opens a picture, runs the test on it, and fails on any error or request on the page. */
async function open(file, options, fn) {
	const context = await browser.newContext({ viewport: { width: 1200, height: 800 }, ...options });
	const page = await context.newPage(),
		trouble = [],
		url = pathToFileURL(file).href + (options.hash || '');
	page.on('pageerror', (e) => trouble.push('error: ' + e.message));
	page.on('console', (m) => trouble.push('console: ' + m.text()));
	page.on('request', (r) => r.url().split('#')[0] === url.split('#')[0] || trouble.push('request: ' + r.url()));
	await page.goto(url);
	await fn(page);
	await shot(page, path.basename(file) + (options.colorScheme || ''));
	await context.close();
	assert.deepStrictEqual(trouble, []);
}
/* Every frame that is in view, as it is on the screen now. */
function frames(page) {
	return page.$$eval('.f rect', (list) =>
		list
			.filter((r) => r.getBoundingClientRect().width > 0)
			.map((r) => {
				const b = r.getBoundingClientRect(),
					t = r.textContent,
					cut = t.lastIndexOf('\n');
				return {
					name: t.slice(0, cut),
					info: t.slice(cut + 1),
					start: +r.dataset.s,
					length: +r.dataset.v,
					lane: 'l' in r.dataset,
					x: b.x,
					y: b.y,
					width: b.width,
					height: b.height,
					fill: getComputedStyle(r).fill
				};
			})
	);
}
const text = (page, css) => page.locator(css).textContent();
function close(a, b, what) {
	assert.ok(Math.abs(a - b) <= 1.01, `${what}: ${a}, not ${b}`);
}
async function click(page, f) {
	await page.mouse.click(f.x + f.width / 2, f.y + f.height / 2);
}
const ticks = (page) => page.$$eval('.x text', (list) => list.map((t) => t.textContent));

test('a flame chart has a lane per thread, and each frame is where its time is', async () => {
	await open(draw('chart', 'flame', ['--flamechart']), {}, async (page) => {
		const all = await frames(page),
			lanes = all.filter((f) => f.lane);
		assert.deepStrictEqual(
			lanes.map((f) => f.name),
			['web 100/100', 'worker 100/101', 'db 200/200']
		);
		for (const f of all) {
			close(f.x, 10 + (WIDTH * f.start) / (10 * SECOND), `${f.name} at ${f.start}`);
			if (f.width > 3) close(f.width, (WIDTH * f.length) / (10 * SECOND), `${f.name} at ${f.start}`);
		}
		for (let i = 0; i < lanes.length; i++) {
			const bottom = i + 1 < lanes.length ? lanes[i + 1].y : Infinity;
			const mine = all.filter((f) => f.y > lanes[i].y && f.y < bottom);
			const rows = [...new Set(mine.map((f) => f.y))].sort((a, b) => a - b);
			const names = rows.map((y) => [...new Set(mine.filter((f) => f.y === y).map((f) => f.name))].join('|'));
			assert.deepStrictEqual(
				names,
				[
					['main', 'work|poll', '[sched-wait]|[blocked: poll/epoll]'],
					['start', 'take', '[blocked: futex/lock]|crunch'],
					['main', 'fsync', '[blocked: disk I/O]']
				][i]
			);
		}
		const long = all.find((f) => f.name === '[blocked: futex/lock]');
		assert.deepStrictEqual([long.start, long.length], [0, 8.5 * SECOND]);
		const slept = all.filter((f) => f.name === '[blocked: poll/epoll]');
		assert.deepStrictEqual(
			slept.map((f) => [f.start / SECOND, f.length / SECOND]),
			[...Array(10).keys()].map((s) => [s + 0.5, 0.5])
		);
		assert.deepStrictEqual((await ticks(page)).slice(0, 3), ['0 s', '1 s', '2 s']);
	});
});

test('a click looks closer in all lanes, Escape goes back, and the address keeps it', async () => {
	const file = draw('chart', 'flame', ['--flamechart']);
	let address;
	await open(file, {}, async (page) => {
		const wait = (await frames(page)).filter((f) => f.name === '[sched-wait]')[3];
		await click(page, wait);
		const near = await frames(page),
			scale = WIDTH / (0.1 * SECOND);
		close(near.find((f) => f.name === '[sched-wait]').width, WIDTH, 'what was clicked');
		assert.strictEqual(near.filter((f) => f.lane).length, 3, 'lanes stay');
		const disk = near.filter((f) => f.name === '[blocked: disk I/O]');
		assert.strictEqual(disk.length, 10);
		disk.forEach((f) => close(f.x, 10 + (f.start - 3.4 * SECOND) * scale, 'a wait of another thread'));
		close(near.find((f) => f.name === '[blocked: futex/lock]').width, WIDTH, 'a wait that is longer than the view');
		assert.strictEqual(
			near.some((f) => f.name === 'poll'),
			false
		);
		assert.match(await text(page, '.line'), /^Zoomed to \[sched-wait\] · marker · 100 ms · --time 3\.4s-3\.5s$/);
		assert.ok((await ticks(page)).includes('3.45 s'), 'ticks of the view');
		address = await page.evaluate(() => location.hash);
		await page.keyboard.press('Escape');
		assert.strictEqual((await frames(page)).filter((f) => f.name === 'poll').length, 10);
	});
	await open(file, { hash: address }, async (page) => {
		assert.match(await text(page, '.line'), /^Zoomed to \[sched-wait\]/);
	});
});

test('search and keys work in a chart', async () => {
	await open(draw('chart', 'flame', ['--flamechart']), {}, async (page) => {
		await page.keyboard.press('/');
		await page.keyboard.insertText('disk');
		assert.match(await text(page, '.result'), /^2\.00 s · 1000 frames$/);
		await page.keyboard.press('ControlOrMeta+a');
		await page.keyboard.insertText('/^(poll|crunch)$/');
		assert.match(await text(page, '.result'), /^5\.75 s · 11 frames$/);
		await page.keyboard.press('ControlOrMeta+a');
		await page.keyboard.insertText('worker');
		assert.match(await text(page, '.result'), /^0 ns · 1 frame$/);
		await page.keyboard.press('Escape');
		const at = () => page.evaluate(() => document.activeElement.textContent.split('\n')[0]);
		const seen = [];
		await page.locator('.f rect').first().focus();
		for (const key of [
			'ArrowDown',
			'ArrowRight',
			'ArrowRight',
			'ArrowLeft',
			'ArrowDown',
			'ArrowDown',
			'ArrowDown',
			'ArrowUp'
		]) {
			await page.keyboard.press(key);
			seen.push(await at());
		}
		assert.deepStrictEqual(seen, [
			'web 100/100',
			'worker 100/101',
			'db 200/200',
			'worker 100/101',
			'start',
			'take',
			'[blocked: futex/lock]',
			'take'
		]);
	});
});

test('what is narrow is a shade that says how much it is, and no search finds it', async () => {
	await open(draw('shades', 'flame', ['--flamechart', '--min-width', '1']), {}, async (page) => {
		const shade = (await frames(page)).filter((f) => f.name.includes('below'));
		assert.deepStrictEqual(
			shade.map((f) => f.name),
			['3,000 frames below 1 px'].concat(shade.slice(1).map((f) => f.name))
		);
		close(shade[0].height, 3 * 18 - 1, 'as high as what it stands for');
		await page.keyboard.press('/');
		await page.keyboard.insertText('below');
		assert.match(await text(page, '.result'), / · 0 frames$/);
	});
});

for (const colorScheme of ['light', 'dark'])
	test(`a chart follows the window in ${colorScheme} mode`, async () => {
		await open(
			draw('chart', 'flame', ['--flamechart', '--time', '2s-3.5s', '--palette', 'wall']),
			{ colorScheme },
			async (page) => {
				for (const width of [1200, 1700, 360]) {
					await page.setViewportSize({ width, height: 600 });
					await page.waitForFunction(
						(w) => Math.abs(document.querySelector('.f rect').getBoundingClientRect().width - w) < 1,
						width - 20
					);
					const out = (await frames(page)).filter((f) => f.x < 9 || f.x + f.width > width - 9);
					assert.deepStrictEqual(out, []);
					for (const t of await page.$$eval('.x text', (list) =>
						list.map((e) => e.getBoundingClientRect().right)
					))
						assert.ok(t <= width, `a tick ends at ${t}`);
				}
				await page.setViewportSize({ width: 1200, height: 600 });
			}
		);
	});

/* --- heatmaps --- */

const cellAt = (page, column, row) =>
	page.evaluate(
		([c, r]) => {
			const m = document.documentElement.getScreenCTM(),
				d = document.documentElement.dataset;
			const p = new DOMPoint(+d.left + (c + 0.5) * d.width, +d.top + (r + 0.5) * d.height).matrixTransform(m);
			return [p.x, p.y];
		},
		[column, row]
	);

for (const colorScheme of ['light', 'dark'])
	test(`a heatmap says what is in its cells in ${colorScheme} mode`, async () => {
		await open(draw('heat', 'report', ['--heatmap', '--focus', 'work']), { colorScheme }, async (page) => {
			const cells = await page.$$eval('[data-i]', (list) =>
				list.map((r) => ({
					i: +r.dataset.i,
					v: +r.dataset.v,
					title: r.textContent,
					fill: getComputedStyle(r).fill
				}))
			);
			assert.strictEqual(cells.length, 250, 'the first half of ten seconds');
			assert.ok(cells.every((c) => c.i % 50 < 25 && c.v === 2e7));
			assert.strictEqual(cells.find((c) => c.i === 7 * 50 + 3).title, '20.0 ms\n--time 7.06s-7.08s');
			const empty = await page.$eval('.cells .s0', (r) => getComputedStyle(r).fill);
			const ground = await page.$eval('.bg', (r) => getComputedStyle(r).fill);
			assert.strictEqual(
				new Set([empty, ground, cells[0].fill]).size,
				3,
				'empty, full and no cell at all differ'
			);
			await page.mouse.move(...(await cellAt(page, 7, 3)));
			assert.match(await text(page, '.line'), /^--time 7\.06s-7\.08s {2}· {2}20\.0 ms/);
			await page.mouse.move(...(await cellAt(page, 7, 40)));
			assert.match(await text(page, '.line'), /^--time 7\.8s-7\.82s {2}· {2}0 ns/);
		});
	});

test('two clicks in a heatmap, or two Enters, pick a range', async () => {
	await open(draw('heat', 'report', ['--heatmap', '--focus', 'work']), {}, async (page) => {
		await page.mouse.click(...(await cellAt(page, 8, 10)));
		await page.mouse.click(...(await cellAt(page, 6, 49))); /* backwards */
		assert.strictEqual(await text(page, '.line'), '--time 6.98s-8.22s  ·  720 ms');
		assert.strictEqual(await page.locator('.picked rect').count(), 3);
		await page.mouse.move(...(await cellAt(page, 2, 2)));
		assert.strictEqual(await text(page, '.line'), '--time 6.98s-8.22s  ·  720 ms', 'it stays');
		await page.keyboard.press('Escape');
		assert.match(await text(page, '.line'), /^--time 2\.04s-2\.06s/);
		for (const key of ['Enter', 'ArrowRight', 'ArrowDown', 'Enter']) await page.keyboard.press(key);
		assert.match(await text(page, '.line'), /^--time 2\.04s-3\.08s {2}· {2}540 ms$/);
	});
});

test('a heatmap of a part begins and ends where the part does', async () => {
	await open(draw('heat-part', 'report', ['--heatmap', '--time', '3.5s-5.25s']), {}, async (page) => {
		await page.mouse.move(...(await cellAt(page, 2, 12)));
		assert.match(await text(page, '.line'), /^--time 5\.24s-5\.25s/);
		const before = await text(page, '.line');
		await page.mouse.move(...(await cellAt(page, 2, 14))); /* behind the end */
		assert.strictEqual(await text(page, '.line'), before);
	});
});
