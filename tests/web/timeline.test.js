// tier: test
// parts: 2
/* The Timeline screen in a real browser, on a store of known truth (tests/fixture/threads.c) and on a recording
 * (tests/fixture/waits.c). */
'use strict';
const assert = require('node:assert');
const { execFileSync, spawn } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { after, before, test } = require('node:test');
const { address, columns } = require('./page.js');
const { project, program, tempDir, launch, shot } = require('./picture.js');

const fixture = (name, ...args) =>
	execFileSync(path.resolve(project, process.env.BUILD || 'build', 'fixture', name), args);
const dir = tempDir(),
	store = path.join(dir, 'store'),
	recording = path.join(dir, 'waits.cresset');
/* Recent enough for samples to be kept one by one. */
const start = Math.floor(Date.now() / 1000 / 10) * 10 - 1800;
const servers = [],
	LENGTH = 600,
	IDLE = 240,
	IDLE_END = 420;
let browser, url, ofFile;

/* Starts cresset serve on a port of its own; gives the address that it prints. */
function serve(...args) {
	const server = spawn(program, ['serve', ...args, '--listen', '127.0.0.1:0'], {
		stdio: ['ignore', 'pipe', 'inherit']
	});
	servers.push(server);
	return new Promise((resolve, reject) => {
		server.stdout.once('data', (text) => resolve(String(text).trim()));
		server.once('exit', () => reject(new Error('the server ended')));
	});
}
before(async () => {
	fixture('threads', store, String(start));
	fixture('waits', recording);
	[url, ofFile] = await Promise.all([serve('--data', store), serve(recording)]);
	browser = await launch();
});
after(async () => {
	await browser?.close();
	for (const server of servers) {
		server.removeAllListeners('exit');
		server.kill();
	}
});

const at = (s) => new Date((start + s) * 1000).toISOString();
const span = `from=${at(0)}&to=${at(LENGTH)}`;
const ask = async (what, of = url) => (await fetch(of + 'api/v1/' + what)).json();
const drawn = (page, turn = 1) => page.waitForFunction((n) => +document.body.dataset.drawn >= n, turn);
const state = async (page, key) => new URL(await address(page)).searchParams.get(key);
const total = (page) => page.$eval('.tl-sum', (e) => +e.dataset.total);
/** What the detail shows, once it is another than before. */
const changed = (page, old) => page.waitForFunction((v) => document.querySelector('.tl-sum').textContent !== v, old);
const sums = (page) => page.textContent('.tl-sum');
/* The middle of the plots is at moment `s` of the store's ten minutes. */
async function xOf(page, s, from = 0, to = LENGTH) {
	const box = await page.locator('.tl-lane canvas').first().boundingBox();
	return { x: box.x + (box.width * (s - from)) / (to - from), y: box.y + box.height / 2 };
}
async function drag(page, from, to) {
	const a = await xOf(page, from),
		b = await xOf(page, to);
	await page.mouse.move(a.x, a.y);
	await page.mouse.down();
	await page.mouse.move(b.x, b.y, { steps: 4 });
	await page.mouse.up();
}

/* Opens the screen, runs the test, and fails on any error, on the page or in what the browser refuses. */
function paging(name, query, fn, how = {}) {
	test(name, async () => {
		const context = await browser.newContext({
			viewport: { width: 1280, height: 720 },
			timezoneId: 'UTC',
			locale: 'en-GB',
			...how
		});
		const page = await context.newPage(),
			trouble = [],
			of = how.of ? how.of() : url;
		page.on('pageerror', (e) => trouble.push('error: ' + e.message));
		page.on('console', (m) => trouble.push('console: ' + m.text()));
		page.on('request', (r) => r.url().startsWith(of) || trouble.push('request: ' + r.url()));
		await page.goto(`${of}timeline?${query}`);
		await drawn(page);
		await fn(page);
		await context.close();
		assert.deepStrictEqual(trouble, []);
	});
}

test('lanes of known threads have known shares', async () => {
	const lanes = await ask(`lanes?q=cpu&${span}&px=600`);
	assert.deepStrictEqual(lanes.types, ['cpu', 'off-cpu']);
	assert.strictEqual(lanes.exact, true);
	const byName = Object.fromEntries(lanes.lanes.map((l) => [l.labels.comm, l]));
	assert.deepStrictEqual(Object.keys(byName), ['spin', 'sleeper', 'late']);
	assert.strictEqual(byName.spin.on_ns, (LENGTH - (IDLE_END - IDLE)) * 1e9);
	assert.strictEqual(byName.sleeper.off_ns, LENGTH * 0.9e9);
	assert.strictEqual(byName.sleeper.on_ns, LENGTH * 0.1e9);
	assert.strictEqual(byName.late.on_ns, (IDLE_END - IDLE) * 0.2e9);
	/* One span from the start to the pause, one from there to the end. */
	assert.deepStrictEqual(
		byName.spin.spans.map((v) => v / 1e9).filter((_, i) => i % 4 < 2),
		[0, IDLE, IDLE_END - IDLE, LENGTH - IDLE_END]
	);
});
test('a bucket counts what is in it', async () => {
	const lanes = await ask(`lanes?q=cpu&${span}&px=600&by=comm`);
	for (const lane of lanes.lanes) {
		const sum = [0, 0, 0];
		for (let i = 0; i < lane.density.length; i += 6)
			for (let k = 0; k < 3; k++) sum[k] += lane.density[i + 1] * lane.density[i + 2 + k] * lanes.part_ns;
		[lane.on_ns, lane.off_ns, lane.wait_ns].forEach((ns, k) =>
			assert.ok(Math.abs(ns - sum[k]) <= lanes.part_ns, `${lane.labels.comm} ${k}: ${ns} ${sum[k]}`)
		);
	}
});
test('a flame chart is of one thread, and has its times', async () => {
	const { decodeTree } = await import(path.join(project, 'web', 'tree.js'));
	const bytes = await (await fetch(`${url}api/v1/chart?q=cpu%7Btid%3D%22501%22%7D&${span}&fmt=bin`)).arrayBuffer(),
		t = decodeTree(new Uint8Array(bytes));
	const spins = [...Array(t.n).keys()]
		.filter((i) => t.name(i) === 'spin')
		.map((i) => [t.startNs[i] / 1e9, t.total[i] / 1e9]);
	assert.deepStrictEqual(spins, [
		[0, IDLE],
		[IDLE_END, LENGTH - IDLE_END]
	]);
	assert.strictEqual(t.self[0] / 1e9, IDLE_END - IDLE);
	assert.strictEqual(t.total[0] / 1e9, LENGTH);
	assert.match((await ask(`chart?q=cpu&${span}&fmt=bin`)).error.message, /has one thread, but there are 3/);
});
test('parts of a range are those parts', async () => {
	const part = (a, b) => `${at(a)}..${at(b)}`,
		q = `q=cpu&${span}`;
	const whole = await ask(`top?${q}`),
		busy = await ask(`top?${q}&within=${part(0, IDLE)},${part(IDLE_END, LENGTH)}`),
		idle = await ask(`top?${q}&within=${part(IDLE, IDLE_END)}`);
	assert.strictEqual(busy.total + idle.total, whole.total);
	assert.deepStrictEqual(idle.top.map((r) => [r.function, r.self]).sort(), [
		['main', 0],
		['tidy', 360],
		['wake', 180]
	]);
	assert.strictEqual(
		busy.top.some((r) => r.function === 'tidy'),
		false
	);
	for (const [bad, why] of [
		['x', /is not a range of time/],
		[part(10, 5), /ends before it starts/],
		[`${part(0, 10)},${part(5, 20)}`, /must not overlap/],
		[
			Array(65)
				.fill(0)
				.map((_, i) => part(2 * i, 2 * i + 1))
				.join(),
			/more than 64/
		]
	])
		assert.match((await ask(`top?${q}&within=${bad}`)).error.message, why);
	assert.match((await ask(`range?${q}&within=${part(0, 5)}`)).error.message, /unknown parameter 'within'/);
});

paging('strips and lanes are there, under one axis', `q=cpu&${span}`, async (page) => {
	assert.deepStrictEqual(
		await page.$$eval('.tl-strip .tl-name span:first-child', (l) => l.map((e) => e.textContent)),
		['CPU in use', 'Run queue']
	);
	assert.deepStrictEqual(await page.$$eval('.tl-who', (l) => l.map((e) => e.textContent)), [
		'spin 501',
		'sleeper 502',
		'late 503'
	]);
	const lefts = await page.$$eval('.tl-lane canvas, .tl-strip canvas', (l) =>
		l.map((e) => Math.round(e.getBoundingClientRect().left))
	);
	assert.strictEqual(new Set(lefts).size, 1, lefts.join());
	const label = await page.getAttribute('.tl-lane:nth-child(2) canvas', 'aria-label');
	assert.match(label, /sleeper 502: on the CPU 1 min 0 s \(10\.0 %\), blocked 9 min 0 s \(90\.0 %\)/);
	assert.strictEqual(await total(page), (await ask(`top?q=cpu&${span}&n=5`)).total);
});
paging('strips are as high as their values', `q=cpu&${span}`, async (page) => {
	/* 45 px are a CPU; in minutes 4 to 7 it is busy for a fifth of the time. */
	const list = await columns(page.locator('.tl-strip canvas').first()),
		at = (s) => list[Math.round((s / LENGTH) * list.length)];
	for (const [s, px] of [
		[60, 45],
		[IDLE - 30, 45],
		[IDLE + 30, 9],
		[IDLE_END - 30, 9],
		[IDLE_END + 30, 45]
	])
		assert.ok(Math.abs(at(s) - px) <= 1, `${s} s: ${at(s)} px`);
	await page.hover('.tl-plot', {
		position: await page.$eval(
			'.tl-lane canvas',
			(c, share) => ({ x: c.offsetLeft + c.clientWidth * share, y: 40 }),
			(IDLE + 60) / LENGTH
		)
	});
	assert.deepStrictEqual(await page.$$eval('.tl-now', (l) => l.map((e) => e.textContent)), ['0.2 CPUs', '1 threads']);
});
paging('what is brushed is what the API says', `q=cpu&${span}`, async (page) => {
	const old = await sums(page);
	await drag(page, 200, 400);
	await changed(page, old);
	const [from, to] = (await state(page, 'sel')).split('-').map(Number),
		time = (ms) => new Date(Math.round(ms)).toISOString();
	assert.ok(Math.abs((to - from) / 1000 - 200) < 2, `${to - from} ms`);
	const top = await ask(`top?q=cpu&from=${time(from)}&to=${time(to)}&n=500`);
	assert.strictEqual(await total(page), top.total);
	/* And of one lane: the checkbox of `late`. */
	const brushed = await sums(page);
	await page.click('.tl-lane:has-text("late") input');
	await changed(page, brushed);
	assert.strictEqual(
		await total(page),
		(await ask(`top?q=cpu%7Btid%3D%22503%22%7D&from=${time(from)}&to=${time(to)}`)).total
	);
	assert.strictEqual((await page.$$eval('.tl-who', (l) => l.map((e) => e.textContent)))[0], 'late 503');
	/* A link shows the same. */
	const again = await page.context().newPage();
	await again.goto(await address(page));
	await drawn(again);
	assert.strictEqual(await total(again), await total(page));
	assert.strictEqual(await again.isChecked('.tl-lane:has-text("late") input'), true);
});
paging('a double click zooms to what is brushed, f shows everything', `q=cpu&${span}`, async (page) => {
	await drag(page, 240, 420);
	await page.waitForSelector('.tl-brush:not([hidden])');
	const middle = await xOf(page, 330);
	await page.mouse.dblclick(middle.x, middle.y);
	await drawn(page, 2);
	assert.strictEqual(await state(page, 'sel'), null);
	assert.ok(Math.abs(Date.parse(await state(page, 'from')) / 1000 - start - IDLE) < 2);
	assert.deepStrictEqual((await page.$$eval('.tl-who', (l) => l.map((e) => e.textContent))).slice(0, 2), [
		'late 503',
		'sleeper 502'
	]);
	await page.keyboard.press('f');
	await drawn(page, 3);
	assert.strictEqual(await state(page, 'from'), at(0));
});
paging('the keyboard alone does', `q=cpu&${span}`, async (page) => {
	await page.focus('.tl-plot');
	await page.keyboard.press('Shift+ArrowRight');
	await page.keyboard.press('Shift+ArrowRight');
	const [from, to] = (await state(page, 'sel')).split('-').map(Number);
	assert.ok(Math.abs(to - from - 24000) < 100, `${to - from}`);
	await page.keyboard.press('Enter');
	await drawn(page, 2);
	assert.ok(Math.abs(Date.parse(await state(page, 'to')) - Date.parse(await state(page, 'from')) - 24000) < 100);
	await page.keyboard.press('s');
	await drawn(page, 3);
	assert.ok(Math.abs(Date.parse(await state(page, 'to')) - Date.parse(await state(page, 'from')) - 48000) < 200);
	await page.keyboard.press('m');
	await page.keyboard.press('Escape');
	assert.strictEqual(await state(page, 'sel'), null);
});
paging('a thread opens into its flame chart', `q=cpu&${span}`, async (page) => {
	await page.click('.tl-lane:has-text("spin") .tl-more');
	await page.waitForSelector('.tl-chart [aria-busy=false] .flame-body canvas');
	assert.strictEqual(await page.getAttribute('.tl-lane:has-text("spin") .tl-more', 'aria-expanded'), 'true');
	/* main, as long as it was seen: but for the pause, ten minutes. */
	await page.focus('.tl-chart .flame-body canvas');
	for (const key of ['Home', 'ArrowDown', 'ArrowDown']) await page.keyboard.press(key);
	assert.match(await page.textContent('.tl-chart .flame-live'), /^spin,.* 40\.0 % of view/);
});
paging('Shift and dragging: what is chosen against another part', `q=cpu&${span}`, async (page) => {
	const old = await sums(page);
	await drag(page, 60, 180);
	await changed(page, old);
	await page.keyboard.down('Shift');
	await drag(page, 300, 420);
	await page.keyboard.up('Shift');
	await page.waitForURL(/\/compare\?/);
	await page.waitForFunction(() => /per second/.test(document.querySelector('.verdict')?.textContent || ''));
	const { searchParams } = new URL(await address(page));
	const second = (key) => Date.parse(searchParams.get(key)) / 1000 - start;
	[60, 180, 300, 420].forEach((want, i) =>
		assert.ok(Math.abs(second(['from', 'to', 'fromb', 'tob'][i]) - want) < 1, String(searchParams))
	);
	const get = (key) => encodeURIComponent(searchParams.get(key));
	const times = `afrom=${get('from')}&ato=${get('to')}&bfrom=${get('fromb')}&bto=${get('tob')}`;
	const answer = await ask(`diff?a=cpu&${times}&norm=share&n=0`);
	const shown = await page.$$eval('.virtual tbody tr:not(.spacer)', (l) =>
		l.map((r) => [...r.cells].slice(1, 4).map((c) => c.textContent))
	);
	const percent = (v) => `${v.toFixed(v < 9.995 ? 2 : 1)} %`;
	assert.deepStrictEqual(
		shown.sort(),
		answer.rows.map((r) => [r.function, percent(r.self.older), percent(r.self.newer)]).sort()
	);
});
paging('keys and the wheel move and zoom', `q=cpu&${span}`, async (page) => {
	const near = async (want) => {
		for (const [i, key] of ['from', 'to'].entries()) {
			const time = await state(page, key);
			assert.ok(Math.abs(Date.parse(time) / 1000 - start - want[i]) < 0.5, `${time}: ${want}`);
		}
	};
	await page.keyboard.press('w');
	await drawn(page, 2);
	await near([150, 450]);
	await page.keyboard.press('d');
	await drawn(page, 3);
	await near([225, 525]);
	await page.keyboard.press('a');
	await drawn(page, 4);
	await near([150, 450]);
	/* What is under the pointer stays there. */
	const { x, y } = await xOf(page, 225, 150, 450);
	await page.mouse.move(x, y);
	await page.keyboard.down('Control');
	await page.mouse.wheel(0, -100);
	await page.keyboard.up('Control');
	await drawn(page, 5);
	await near([225 - 0.8 * 75, 225 + 0.8 * 225]);
	await page.keyboard.press('m');
	assert.ok(Math.abs(+(await state(page, 'marks')) / 1000 - start - 225) < 1, await state(page, 'marks'));
	assert.strictEqual(await page.locator('.tl-mark').count(), 1);
});
paging('why was the CPU idle: what ran then', `q=cpu&${span}`, async (page) => {
	assert.strictEqual(await page.inputValue('.tl-why input'), '0.5');
	await page.click('.tl-why button');
	await page.waitForFunction(() => /CPU in use below/.test(document.querySelector('.tl-sum').textContent));
	assert.match(
		await sums(page),
		/CPU in use below 0\.5 CPUs: 1 interval, 3 min 0 s .* compared with 2 intervals, 7 min/
	);
	const answer = await ask(
		`diff?a=cpu&norm=rate&afrom=${at(0)}&ato=${at(LENGTH)}&awithin=${at(0)}..${at(IDLE)},${at(IDLE_END)}..${at(LENGTH)}` +
			`&bfrom=${at(0)}&bto=${at(LENGTH)}&bwithin=${at(IDLE)}..${at(IDLE_END)}&n=50`
	);
	const selfs = Object.fromEntries(answer.rows.map((r) => [r.function, [r.older_self, r.newer_self]]));
	assert.deepStrictEqual(
		[selfs.tidy, selfs.spin, selfs.wake],
		[
			[0, 360],
			[4200, 0],
			[420, 180]
		]
	);
	assert.deepStrictEqual(
		[answer.older.duration_ns, answer.newer.duration_ns],
		[(LENGTH - (IDLE_END - IDLE)) * 1e9, (IDLE_END - IDLE) * 1e9]
	);
	await page.click('text=Back to selection');
	await page.waitForFunction(() => document.querySelector('.tl-sum').dataset.total);
});
paging('the heatmap chooses, too', `q=cpu&${span}&heat=1`, async (page) => {
	await page.waitForSelector('.tl-heat .heat');
	assert.strictEqual(await page.getAttribute('.tl-tools [aria-pressed]', 'aria-pressed'), 'true');
	const heat = await ask(`heatmap?q=cpu&${span}`),
		old = await sums(page);
	await page.focus('.tl-heat .heat');
	for (const key of ['ArrowRight', 'ArrowRight', 'Shift+ArrowRight']) await page.keyboard.press(key);
	await page.keyboard.press('Enter');
	await changed(page, old);
	const [from, to] = (await state(page, 'sel')).split('-').map(Number),
		zero = (heat.epoch_ns + heat.start_ns) / 1e6;
	assert.deepStrictEqual(
		[Math.round(from - zero), Math.round(to - from)],
		[(2 * heat.column_ns) / 1e6, (heat.column_ns + heat.row_ns) / 1e6]
	);
	const time = (ms) => new Date(Math.round(ms)).toISOString();
	/* Of each sample's own time, not of the windows around it. */
	const each = encodeURIComponent('cpu{tid=~".*"}'),
		told = await ask(`top?q=${each}&from=${time(from)}&to=${time(to)}`);
	assert.ok(told.total > 0);
	assert.strictEqual(await total(page), told.total);
});
paging(
	'fingers choose a part, too',
	`q=cpu&${span}`,
	async (page) => {
		const touch = await page.context().newCDPSession(page),
			old = await sums(page);
		const point = async (s) => {
			const { x, y } = await xOf(page, s);
			return [{ x, y }];
		};
		await touch.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: await point(120) });
		for (const s of [150, 200, 300])
			await touch.send('Input.dispatchTouchEvent', { type: 'touchMove', touchPoints: await point(s) });
		await touch.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] });
		await changed(page, old);
		const [from, to] = (await state(page, 'sel')).split('-').map(Number),
			time = (ms) => new Date(Math.round(ms)).toISOString();
		assert.ok(
			Math.abs(from / 1000 - start - 120) < 3 && Math.abs(to / 1000 - start - 300) < 3,
			await state(page, 'sel')
		);
		/* Of each sample's own time, not of the windows around it. */
		const each = encodeURIComponent('cpu{tid=~".*"}'),
			told = await ask(`top?q=${each}&from=${time(from)}&to=${time(to)}`);
		assert.ok(told.total > 0);
		assert.strictEqual(await total(page), told.total);
	},
	{ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }
);
paging(
	'a recording has lanes, too',
	'q=wall',
	async (page) => {
		assert.deepStrictEqual(await page.$$eval('.tl-who', (l) => l.map((e) => e.textContent)), [
			'web 100',
			'worker 101',
			'db 200'
		]);
		assert.strictEqual(await page.locator('.tl-strip').count(), 0);
		const top = await ask('top?q=wall', ofFile);
		assert.strictEqual(await total(page), top.total);
	},
	{ of: () => ofFile }
);

for (const [width, height] of [
	[1280, 720],
	[1600, 900],
	[390, 844]
])
	for (const colorScheme of ['light', 'dark'])
		paging(
			`nothing is cut off at ${width} × ${height}, ${colorScheme}`,
			`q=cpu&${span}&sel=${(start + 200) * 1000}-${(start + 400) * 1000}`,
			async (page) => {
				const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
				assert.ok(over <= 0, `${over} px too wide`);
				assert.ok(
					await page.$$eval('.tl-tools button:not([hidden])', (l) =>
						l.every((b) => b.scrollWidth <= b.clientWidth + 1)
					)
				);
				await shot(page, `threads-${width}-${colorScheme}`, { fullPage: true });
			},
			{ viewport: { width, height }, colorScheme }
		);
