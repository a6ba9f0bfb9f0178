// tier: test
// parts: 3
// tier: live CRESSET_RESIZE=all
/* A window that becomes narrower or wider: what is open looks as if it had been opened at that width, box by box and
 * picture by picture, and nothing sticks out. In report.html and on each screen of the page. Without CRESSET_RESIZE:
 * one screen of each kind, and its widest and narrowest window. */
'use strict';
const assert = require('node:assert');
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { after: atEnd, before, describe, test } = require('node:test');
const { after, drawn, launch, open, serve, shot, slow, wide } = require('./page.js');
const { project, program, tempDir } = require('./picture.js');

const dir = tempDir(),
	at = (name) => path.join(dir, name);
const every = process.env.CRESSET_RESIZE === 'all';
const HEIGHT = 844,
	WAIT_MS = 30000 * slow,
	SETTLES_MS = 400,
	LEAST_NAME_PX = 54,
	/* From each of them all the others are gone to; 756 and 650 leave the Timeline's plots equally wide. */
	WALK = every ? [1280, 390, 756, 650, 1280] : [1280, 390, 1280],
	/* Tables of reports have less room beside the graph, and more below it. */
	WALK_OF_REPORTS = [390, 1280, 910, 390],
	OF_EACH_KIND = /^a report: |graph over time|strips, streams|^Compare$/;
const fixture = (name, ...args) =>
	execFileSync(path.resolve(project, process.env.BUILD || 'build', 'fixture', name), args.map(String));
const cresset = (...args) => execFileSync(program, ['-q', ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
/* Recent enough for samples to be kept one by one. */
const START = Math.floor(Date.now() / 1000 / 10) * 10 - 1800;
/* More of them than a window shows. */
const THREADS = 60,
	/* So many that most are narrower than a pixel. */
	FUNCTIONS = 4000;
const WINDOW = { viewport: { width: 1280, height: HEIGHT } };
const narrow = { width: 390, height: HEIGHT };
let browser, waits, gpu, host, many, fine, alone;

before(async () => {
	fixture('waits', at('waits.cresset'));
	fixture('gpu', at('gpu.cresset'), 0, START, 'more');
	fixture('host', at('host'));
	fs.writeFileSync(
		at('many.perf'),
		Array.from(
			{ length: THREADS * 4 },
			(_, i) =>
				`t${i % THREADS} 1/${100 + (i % THREADS)} [000] ${(10 + i / 100).toFixed(6)}: 10000000 cpu-clock:\n` +
				`\t 55d0 f${i % THREADS} (/bin/demo)\n\t 55d1 main (/bin/demo)\n\n`
		).join('')
	);
	cresset('convert', at('many.perf'), '-o', at('many.cresset'));
	fs.writeFileSync(at('old.folded'), 'main;a 60\nmain;b 40\n');
	fs.writeFileSync(at('new.folded'), 'main;a 30\nmain;b 40\nmain;c 50\n');
	cresset('convert', at('waits.cresset'), '-o', at('waits.html'));
	cresset('convert', at('gpu.cresset'), '-o', at('gpu.html'));
	cresset('flame', at('new.folded'), '--diff', at('old.folded'), '-o', at('diff.html'));
	fs.writeFileSync(
		at('fine.folded'),
		Array.from({ length: FUNCTIONS }, (_, i) => `main;f${i};g ${1 + (i % 7)}\n`).join('')
	);
	/* What one server refuses is on Targets: nobody else asks that one. */
	[waits, gpu, host, many, fine, alone] = await Promise.all([
		serve([at('waits.cresset')]),
		serve([at('gpu.cresset')]),
		serve(['--data', at('host')]),
		serve([at('many.cresset')]),
		serve([at('fine.folded')]),
		serve([at('waits.cresset')])
	]);
	browser = await launch();
});
atEnd(async () => {
	await browser?.close();
	for (const server of [waits, gpu, host, many, fine, alone]) server?.stop();
});

/* --- what is open --- */

const HERE = { timezoneId: 'UTC', locale: 'en-GB' };
/* The screen is larger than the window, and stays. */
const onScreen = (options) => (options.viewport ? { screen: { width: 1920, height: 1080 }, ...options } : options);
/* A report, as its file. */
const report = (name, does) => async (options) => {
	const page = await (await browser.newContext({ ...HERE, ...onScreen(options) })).newPage();
	page.trouble = [];
	page.on('pageerror', (e) => page.trouble.push('error: ' + e.stack));
	await page.goto('file://' + at(name));
	await page.waitForSelector('.rp[data-shown]');
	await does?.(page);
	return page;
};
/* A screen of the page. */
const screen = (server, where, does) => async (options) => {
	const page = await open(browser, server().url, where, onScreen(options));
	await does?.(page);
	return page;
};
async function orderAndCallers(page) {
	await page.click('.rp-lane >> text=/^worker/');
	await page.click('text=flame chart');
	await page.fill('input[aria-label="from, s"]', '2');
	await page.press('input[aria-label="from, s"]', 'Enter');
	await page.dblclick('.rp-table td button >> text=crunch');
	await page.waitForSelector('.rp-half canvas');
}
const why = (page) => page.click('text=Why was the GPU idle?');
async function imported(page) {
	await page.setInputFiles('input[type=file]', at('gpu.cresset'));
	await page.waitForSelector('.rp[data-shown]');
	await why(page);
}
const SCREENS = {
	'a report: a thread in order of time, callers and callees': report('waits.html', orderAndCallers),
	'a report of a difference': report('diff.html'),
	'a report with strips of GPUs and why they were idle': report('gpu.html', why),
	'Explore: graph over time, flame graph, table': screen(() => waits, '?by=comm'),
	'Explore: the host meanwhile': screen(
		() => host,
		'?from=start&to=end',
		(page) => page.waitForSelector('.host canvas')
	),
	'Explore: one thread in order of time, heatmap': screen(
		() => waits,
		`?v=chart,heatmap&q=${encodeURIComponent('wall{tid="101"}')}`
	),
	'Explore: what is narrower than a pixel': screen(() => fine, '?v=flame'),
	'Explore: callers of what is narrower than a pixel': screen(() => fine, '?v=flame&sw=f17'),
	'Compare: what is narrower than a pixel': screen(() => fine, 'compare'),
	Compare: screen(() => waits, 'compare?from=start&to=start%2B5s&fromb=start%2B5s&tob=end'),
	'Timeline: strips, streams, threads, why GPUs were idle': screen(
		() => gpu,
		`timeline?idle=1&heat=1&sel=${START * 1000 + 2000}-${START * 1000 + 3500}`,
		(page) => page.waitForSelector('.tl-idle[data-drawn]')
	),
	'Timeline: a thread in order of time': screen(
		() => waits,
		'timeline',
		async (page) => {
			await page.click('.tl-more[aria-expanded] >> nth=0');
			await page.waitForSelector('.tl-chart-box[aria-busy=false]');
			assert.strictEqual(await page.locator('.tl-lane').count(), 3, 'those below it are there');
		}
	),
	'Timeline: of many threads': screen(
		() => many,
		'timeline',
		(page) => page.waitForSelector('.tl-lane canvas')
	),
	Targets: screen(
		() => alone,
		'targets',
		(page) => page.waitForSelector('body[data-named]')
	),
	Import: screen(() => waits, 'import', imported)
};

/* --- what it looks like --- */

/* Every box that is seen, where it is; what headings say, and what is in pictures. */
function layout(page) {
	return page.evaluate(() => {
		const picture = (canvas) => {
			let hash = 0;
			for (const c of canvas.toDataURL()) hash = (Math.imul(hash, 31) + c.charCodeAt(0)) | 0;
			return `${canvas.width} × ${canvas.height}: ${hash}`;
		};
		return [...document.body.querySelectorAll('*')]
			.filter((e) => e.checkVisibility() && e.getClientRects().length && !e.closest('#notices'))
			.map((e) => {
				const b = e.getBoundingClientRect(),
					box = [b.left + scrollX, b.top + scrollY, b.width, b.height].map(Math.round).join(' '),
					says = e.matches('th, svg text') ? e.textContent : e.matches('canvas') ? picture(e) : '';
				return `${e.tagName.toLowerCase()} ${e.getAttribute('class') || ''}: ${box} ${says} ${e.getAttribute('d') || ''}`;
			})
			.sort();
	});
}
/* What it looks like once nothing moves any more. */
async function settled(page) {
	for (let before = [], now; ; before = now) {
		now = await layout(page);
		if (now.join() === before.join()) return now;
		await page.waitForTimeout(100);
	}
}
/* Waits until it looks like that, or says what does not. */
async function looksLike(page, want, what) {
	const end = Date.now() + WAIT_MS;
	let got = await layout(page);
	while (got.join('\n') !== want.join('\n') && Date.now() < end) {
		await page.waitForTimeout(50);
		got = await layout(page);
	}
	const only = (list, other) => list.filter((line) => !other.includes(line)).slice(0, 6);
	assert.deepStrictEqual(only(got, want), only(want, got), what);
	assert.deepStrictEqual(got, want, what);
}
/* Names of functions can be read, and nothing is wider than the window. */
async function fits(page, what) {
	assert.strictEqual(await page.locator('.trouble:visible, .empty:visible').count(), 0, `${what}: it is there`);
	assert.ok((await wide(page)) <= 0, `${what}: ${await wide(page)} px too wide`);
	const names = await page.$$eval('.virtual th.name', (l) =>
		l.filter((e) => e.checkVisibility()).map((e) => e.getBoundingClientRect().toJSON())
	);
	const width = await page.evaluate(() => innerWidth);
	for (const { left, right } of names)
		assert.ok(
			right - left >= LEAST_NAME_PX && left >= 0 && left + LEAST_NAME_PX <= width,
			`${what}: names from ${left} to ${right} px`
		);
	const out = await page.$$eval('body *', (l) =>
		l
			.filter((e) => {
				/* In a box that scrolls or cuts it off, its parts may go on. */
				for (let up = e.parentElement; up; up = up.parentElement)
					if (up !== document.body && getComputedStyle(up).overflowX !== 'visible') return false;
				const { left, right, width } = e.getBoundingClientRect();
				return width > 1 && e.checkVisibility() && (left < 0 || right > innerWidth + 0.5);
			})
			.map((e) => `${e.tagName}.${e.className}`)
	);
	assert.deepStrictEqual(out, [], what);
}
async function close(page) {
	await page.context().close();
	assert.deepStrictEqual(page.trouble, []);
}

const screens = Object.entries(SCREENS).filter(([name]) => every || OF_EACH_KIND.test(name));
for (const [name, opened] of screens)
	describe(name, () => {
		const fresh = new Map();
		/* What it looks like when it is opened at that width. */
		async function atWidth(width) {
			if (!fresh.has(width)) {
				const page = await opened({ viewport: { width, height: HEIGHT } });
				fresh.set(width, await settled(page));
				await fits(page, `opened at ${width}`);
				await close(page);
			}
			return fresh.get(width);
		}
		for (const [first, ...widths] of every && name.startsWith('a report') ? [WALK, WALK_OF_REPORTS] : [WALK])
			test(`from ${first} to ${widths.join(', ')} px`, async () => {
				const page = await opened({ viewport: { width: first, height: HEIGHT } });
				let was = first;
				for (const width of widths) {
					const want = await atWidth(width);
					await page.setViewportSize({ width, height: HEIGHT });
					await looksLike(page, want, `${was} to ${width}`);
					await fits(page, `${was} to ${width}`);
					was = width;
				}
				await shot(page, `resize-${name.replace(/\W+/g, '-')}-${was}`, { fullPage: true });
				if (first === WALK[0] && OF_EACH_KIND.test(name)) await dark(page);
				await close(page);
			});
		/* Dark, once it is narrow. */
		async function dark(page) {
			const wanted = await opened({ viewport: narrow, colorScheme: 'dark' }),
				want = await settled(wanted);
			await close(wanted);
			await page.setViewportSize(narrow);
			await page.emulateMedia({ colorScheme: 'dark' });
			await looksLike(page, want, 'dark and narrow');
			await fits(page, 'dark and narrow');
		}
	});

/* --- other changes of the window --- */

/* Goes from one window to another, and compares with what is opened there. */
async function changes(opened, from, to, change, what) {
	const wanted = await opened(to);
	const want = await settled(wanted);
	await close(wanted);
	const page = await opened(from);
	await change(page);
	await looksLike(page, want, what);
	await fits(page, what);
	await close(page);
}
for (const [name, opened] of screens.filter(([name]) => every || /^a report: |strips, streams/.test(name))) {
	test(`${name}: on a screen of twice as many pixels`, async () => {
		const page = await opened({ viewport: null }),
			devtools = await page.context().newCDPSession(page);
		for (const deviceScaleFactor of [1, 2]) {
			/* So wide that the page itself stays as wide. */
			const size = { width: 1900 + deviceScaleFactor, height: HEIGHT };
			await devtools.send('Emulation.setDeviceMetricsOverride', { ...size, deviceScaleFactor, mobile: false });
			await page.waitForFunction((n) => {
				const all = [...document.querySelectorAll('canvas')].filter((c) => c.checkVisibility());
				return devicePixelRatio === n && all.every((c) => Math.abs(c.width - c.clientWidth * n) < 2);
			}, deviceScaleFactor);
			await page.waitForTimeout(
				SETTLES_MS
			); /* what follows the other width is not in the way of what comes next */
		}
		await close(page);
	});
	test(`${name}: a higher window`, () =>
		changes(
			opened,
			{ viewport: { width: 1280, height: 300 } },
			{ viewport: { width: 1280, height: 1500 } },
			(page) => page.setViewportSize({ width: 1280, height: 1500 }),
			'higher'
		));
}

/* --- what was going on meanwhile --- */

test('the Timeline follows at once, whatever the server takes to answer', async () => {
	const page = await SCREENS['Timeline: strips, streams, threads, why GPUs were idle']({
		...WINDOW,
		routed: '**/api/v1/lanes*'
	});
	let asked = 0;
	page.reply = () => asked++; /* without a response */
	await page.setViewportSize(narrow);
	const plots = () =>
		page.$$eval('.tl-lane > canvas, .tl-strip canvas, .tl-plot', (l) =>
			l.map((e) => [e.className, e.clientWidth, e.width / devicePixelRatio])
		);
	await page.waitForFunction(() => document.querySelector('.tl-lane > canvas').width < 390);
	const [plot, ...pictures] = (await plots()).map(([name, ...sizes]) => ({ name, sizes }));
	assert.strictEqual(plot.name, 'tl-plot');
	assert.ok(pictures.length > 5);
	const width = plot.sizes[0] - 96 - 10;
	for (const { name, sizes } of pictures) assert.deepStrictEqual(sizes, [width, width], name);
	await fits(page, 'not answered yet');
	await shot(page, 'resize-not-answered');
	const deadline = Date.now() + WAIT_MS;
	while (!asked && Date.now() < deadline) await page.waitForTimeout(20);
	assert.ok(asked, 'and it asks for what fits in there');
	await close(page);
});
test('a window that changes while the Timeline is loaded', async () => {
	const opened = SCREENS['Timeline: a thread in order of time'],
		wanted = await opened({ viewport: narrow });
	const want = await settled(wanted);
	await close(wanted);
	const context = await browser.newContext(onScreen({ ...HERE, ...WINDOW }));
	let go;
	const held = new Promise((resolve) => {
		go = resolve;
	});
	await context.route('**/api/v1/lanes*', async (route) => {
		await held;
		await route.continue().catch(() => {}); /* nobody waits for it any more */
	});
	const page = await context.newPage();
	page.trouble = [];
	page.on('pageerror', (e) => page.trouble.push('error: ' + e.stack));
	await page.goto(waits.url + 'timeline');
	await page.waitForSelector('.tl-plot');
	await page.setViewportSize(narrow);
	await page.waitForTimeout(300);
	go();
	await drawn(page);
	await page.click('.tl-more[aria-expanded] >> nth=0');
	await page.waitForSelector('.tl-chart-box[aria-busy=false]');
	await looksLike(page, want, 'changed while it was loaded');
	await close(page);
});
test('menus and tips do not stay where there is no window any more', async () => {
	const right = async (page, selector, part) => {
		const box = await page.locator(selector).first().boundingBox();
		return [box.x + box.width * part, box.y + 27];
	};
	for (const [opened, menu] of [
		[SCREENS['a report of a difference'], '.rp-float'],
		[SCREENS['Explore: graph over time, flame graph, table'], '.menu']
	]) {
		const page = await opened(WINDOW),
			frame = await right(page, '.flame-body canvas', 0.9);
		await page.mouse.move(...frame);
		await page.waitForSelector('.flame-tip:visible');
		await page.setViewportSize({ width: 900, height: HEIGHT });
		await page.waitForSelector('.flame-tip', { state: 'hidden' });
		await page.setViewportSize(WINDOW.viewport);
		await page.evaluate(() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r))));
		await page.mouse.click(...frame, { button: 'right' });
		await page.waitForSelector(menu + ':visible');
		await page.setViewportSize(narrow);
		await page.waitForSelector(menu, { state: 'hidden' });
		await fits(page, 'without the menu');
		await close(page);
	}
});
test('the part that the keyboard is at stays marked', async () => {
	const page = await SCREENS['Explore: graph over time, flame graph, table'](WINDOW);
	await page.focus('.range');
	await page.keyboard.press('Home');
	await page.keyboard.press('Shift+PageDown');
	const share = () =>
		page.evaluate(() => {
			const mark = document.querySelector('.range .cursor'),
				all = document.querySelector('.range').viewBox.baseVal.width;
			return mark && all === document.querySelector('.range').clientWidth && mark.width.baseVal.value / all;
		});
	const before = await share();
	assert.ok(before > 0 && before < 1, String(before));
	await page.setViewportSize(narrow);
	await page.waitForFunction(() => document.querySelector('.range').viewBox.baseVal.width < 390);
	assert.ok(Math.abs((await share()) - before) < 0.001);
	await after(page, () => page.keyboard.press('Enter'));
	assert.match(new URL(await page.evaluate(() => location.href)).searchParams.get('sel'), /^\d+-\d+/);
	await close(page);
});
for (const name of ['a report of a difference', 'Explore: graph over time, flame graph, table'])
	test(`${name}: by keyboard, without motion, dark, once it is narrow`, async () => {
		const keys = async (page) => {
			await page.focus('.flame-body canvas');
			for (const key of ['Home', 'ArrowDown', 'ArrowDown', 'Enter']) await page.keyboard.press(key);
		};
		const how = { colorScheme: 'dark', reducedMotion: 'reduce' },
			wanted = await SCREENS[name]({ ...how, viewport: narrow });
		await keys(wanted);
		const want = await settled(wanted);
		await close(wanted);
		const page = await SCREENS[name]({ ...how, ...WINDOW });
		await page.setViewportSize(narrow);
		await keys(page);
		await looksLike(page, want, name);
		await close(page);
	});
