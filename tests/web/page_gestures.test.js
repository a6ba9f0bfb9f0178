// tier: test
// parts: 2
/* What hands do on Explore, one by one: keys, the menu of a frame, filters, fingers; and what it says when there is
 * nothing, too little, or trouble. Numbers are compared with the API's. */
'use strict';
const assert = require('node:assert');
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { after: atEnd, before } = require('node:test');
const { project, tempDir } = require('./picture.js');
const { after, launch, paging, rows, serve, state } = require('./page.js');

const dir = tempDir(),
	at = (name) => path.join(dir, name);
const servers = {};
let browser;
/* Half of it is one function; the other half are so many that none is as wide as a pixel. */
const NARROW = 5000;
const narrow = () =>
	['main;hot 50000', ...Array.from({ length: NARROW }, (_, i) => `main;kind_${i % 5};tail_${i} 10`)].join('\n') +
	'\n';
before(async () => {
	execFileSync(path.resolve(project, process.env.BUILD || 'build', 'fixture', 'waits'), [at('waits.cresset')]);
	fs.writeFileSync(at('narrow.folded'), narrow());
	fs.writeFileSync(at('mixed.folded'), 'a;b;b;b;c 30\na;b;syscall_[k];vfs_read_[k] 50\na;sys_[k] 20\n');
	fs.mkdirSync(at('empty'), 0o700);
	const golden = path.join(project, 'tests/golden/pprof/parca-alloc_objects.pb.gz');
	const files = { waits: [at('waits.cresset')], narrow: [at('narrow.folded')], mixed: [at('mixed.folded')] };
	Object.assign(files, { types: [golden], empty: ['--data', at('empty')] });
	for (const [name, args] of Object.entries(files)) servers[name] = await serve(args);
	browser = await launch();
});
atEnd(async () => {
	await browser?.close();
	Object.values(servers).forEach((s) => s.stop());
});
const CLIPBOARD = { permissions: ['clipboard-read', 'clipboard-write'] };
const on = (of, name, where, fn, options) => paging(() => ({ browser, server: servers[of] }), name, where, fn, options);
/* Requests that a test handles, by page.reply. */
const TOP = { routed: '**/api/v1/top?**' };
const clipboard = (page) => page.evaluate(() => navigator.clipboard.readText());
const total = (page) => page.textContent('.facts .total');
const names = async (page) => (await rows(page)).map((r) => r[1]).sort();
const top = (get, more = '', q = 'wall') => get(`api/v1/top?q=${q}&n=0${more}`);
const param = (name, value) => `&${name}=${encodeURIComponent(value)}`;
const shownSeconds = async (page) => parseFloat(await total(page));
/* As the page writes it: three digits. */
const seconds = (ns) => +(ns / 1e9).toPrecision(3);
const functions = (answer) => answer.top.map((r) => r.function).sort();

/* Puts the focus on the frame with these names from the root down. */
async function focus(page, ...names) {
	const said = () => page.textContent('.flame-live');
	await page.focus('.flame-body canvas');
	await page.keyboard.press('Home');
	for (const name of names) {
		await page.keyboard.press('ArrowDown');
		for (let i = 0; i < 9; i++) await page.keyboard.press('ArrowLeft');
		for (let i = 0; i < 9 && !(await said()).startsWith(name + ','); i++) await page.keyboard.press('ArrowRight');
		assert.ok((await said()).startsWith(name + ','), `${name}: ${await said()}`);
	}
}
async function menu(page, entry, ...names) {
	await focus(page, ...names);
	await page.keyboard.press('Shift+Enter');
	await page.click(`.menu >> text=/^${entry}/`);
}

/* --- the menu of a frame --- */

on('waits', 'menu: no stacks with it, and it alone hidden', '', async (page, { get }) => {
	await after(page, () => menu(page, 'Exclude stacks with', 'main', 'poll'));
	assert.strictEqual((await state(page)).f, '-s.fn~^poll$');
	assert.strictEqual(await shownSeconds(page), seconds((await top(get, param('ignore', '^poll$'))).total));
	await after(page, () => page.goBack());
	assert.strictEqual(await page.locator('.chip.filter').count(), 0);
	await after(page, () => menu(page, 'Collapse into caller', 'main', 'poll'));
	const answer = await top(get, param('hide', '^poll$'));
	assert.strictEqual(await shownSeconds(page), seconds(answer.total));
	assert.deepStrictEqual(await names(page), functions(answer));
	assert.ok(!functions(answer).includes('poll'));
});
on('waits', 'menu: without the frames of a binary', '', async (page, { get }) => {
	await after(page, () => menu(page, 'Hide frames of demo', 'main'));
	const answer = await top(get, param('hide', 'binary:^demo$'));
	assert.deepStrictEqual(await names(page), functions(answer));
	assert.ok(functions(answer).length > 0 && functions(answer).every((name) => name.startsWith('[')));
});
on('mixed', 'menu: without the kernel, and without recursion', '?q=samples', async (page, { get }) => {
	await after(page, () => menu(page, 'Hide kernel frames', 'a'));
	const answer = await top(get, param('hide', 'kind:^kernel$'), 'samples');
	assert.deepStrictEqual(await names(page), functions(answer));
	assert.deepStrictEqual(functions(answer), ['a', 'b', 'c']);
	await after(page, () => page.keyboard.press('k'));
	assert.strictEqual((await names(page)).length, 6);
	await after(page, () => menu(page, 'Collapse recursion', 'a'));
	await focus(page, 'a', 'b', 'c');
	assert.match(await page.textContent('.flame-live'), /30\.0 %.*depth 3/);
});
on(
	'waits',
	'menu: what is copied',
	'',
	async (page) => {
		const copied = async (entry) => {
			await menu(page, entry, 'main', 'work');
			await page.click('.notice button');
			return clipboard(page);
		};
		assert.strictEqual(await copied('Copy name'), 'work');
		assert.strictEqual(await copied('Copy stack as text'), 'work  (demo)\nmain  (demo)\n');
		assert.strictEqual(await copied('Copy folded stack'), 'main;work 5000000000\n');
	},
	CLIPBOARD
);
on('waits', 'menu: callers and callees, and the timeline', '', async (page) => {
	await after(page, () => menu(page, 'Callers and callees', 'main', 'work'));
	assert.strictEqual((await state(page)).sw, 'work');
	await after(page, () => page.goBack());
	assert.strictEqual(await page.locator('.flame-box').count(), 1);
	await menu(page, 'Find in the timeline', 'main', 'work');
	await page.waitForURL(/\/timeline\?/);
	await page.waitForSelector('.tl-sum');
	assert.strictEqual((await state(page)).s, '/^work$/');
});

/* --- keys --- */

on('waits', 'keys: flip, invert, colours, panes', '', async (page, { get }) => {
	const { total: sum } = await top(get);
	await page.keyboard.press('i');
	assert.strictEqual((await state(page)).flip, '1');
	await page.keyboard.press('i');
	assert.strictEqual((await state(page)).flip, undefined);
	await after(page, () => page.keyboard.press('v'));
	assert.strictEqual((await state(page)).inv, '1');
	assert.strictEqual(await shownSeconds(page), seconds(sum));
	await page.focus('.flame-body canvas');
	for (const key of ['Home', 'ArrowDown']) await page.keyboard.press(key);
	assert.match(await page.textContent('.flame-live'), /^\[blocked: futex\/lock\],.*42\.7 %/);
	const before = await page.innerText('.flame-legend');
	await page.keyboard.press('c');
	await page.waitForFunction((text) => document.querySelector('.flame-legend').innerText !== text, before);
	assert.ok((await state(page)).c);
	await page.keyboard.press('t');
	await page.waitForFunction(() => !document.querySelector('.pane.table'));
	await page.keyboard.press('2');
	await page.waitForSelector('.pane.table');
});
on(
	'waits',
	'keys: hide, copy, export, details, group',
	'',
	async (page, { get }) => {
		await focus(page, 'main', 'poll');
		await page.keyboard.press('y');
		await page.click('.notice button');
		assert.strictEqual(await clipboard(page), 'poll  (demo)\nmain  (demo)\n');
		await page.keyboard.press('d');
		await page.waitForSelector('.flame-dock, .flame-tip.docked, [class*=dock]');
		await focus(page, 'main', 'poll');
		await after(page, () => page.keyboard.press('x'));
		assert.strictEqual((await state(page)).f, '-x.fn~^poll$');
		assert.deepStrictEqual(await names(page), functions(await top(get, param('hide', '^poll$'))));
		await page.keyboard.press('e');
		await page.waitForSelector('.menu >> text=pprof');
		await page.keyboard.press('Escape');
		await page.keyboard.press('g');
		assert.strictEqual(
			await page.evaluate(() => document.activeElement.closest('label')?.textContent.slice(0, 2)),
			'By'
		);
	},
	CLIPBOARD
);
on('types', 'keys: the next type, and the one before', '', async (page, { get }) => {
	const types = await page.$$eval('.query select >> nth=0', (l) => [...l[0].options].map((o) => o.value));
	assert.ok(types.length > 1, String(types));
	const first = (await state(page)).q || types[0];
	await after(page, () => page.keyboard.press(']'));
	const next = types[(types.indexOf(first) + 1) % types.length];
	assert.strictEqual((await state(page)).q, next);
	const { total: sum, unit } = await top(get, '', next);
	assert.ok((await total(page)).length > 0 && sum > 0, unit);
	await after(page, () => page.keyboard.press('['));
	assert.strictEqual((await state(page)).q || first, first);
});

/* --- filters --- */

on('mixed', 'filters: a common one; they are moved by arrows', '?q=samples', async (page, { get }) => {
	await page.click('text=+ Filter');
	await after(page, () => page.selectOption('[aria-label="Common filters"]', { label: 'the kernel' }));
	assert.strictEqual((await state(page)).f, '-x.kind~^kernel$');
	const answer = await top(get, param('hide', 'kind:^kernel$'), 'samples');
	assert.deepStrictEqual(await names(page), functions(answer));
	await page.fill('.filter-form input', '^c$');
	await after(page, () => page.press('.filter-form input', 'Enter'));
	assert.strictEqual((await state(page)).f, '-x.kind~^kernel$;s.fn~^c$');
	assert.strictEqual(parseFloat(await total(page)), 30);
	await after(page, () => page.press('.chip.filter >> nth=0 >> button >> nth=0', 'ArrowRight'));
	assert.strictEqual((await state(page)).f, 's.fn~^c$;-x.kind~^kernel$');
	assert.strictEqual(parseFloat(await total(page)), 30);
});

/* --- what is too narrow to be drawn --- */

on('narrow', 'a search counts what is too narrow to be drawn', '?q=samples&s=tail_', async (page, { get }) => {
	const answer = await get('api/v1/top?q=samples&n=0&focus=tail_');
	assert.strictEqual(answer.total, NARROW * 10);
	await page.waitForFunction(() => /^[^≥]*% total/.test(document.querySelector('.result').textContent));
	assert.strictEqual(
		await page.textContent('.result'),
		'50.0 % total (50,000 samples) · 50.0 % self · 0 frames drawn'
	);
	/* In any case; and of what the server does not know, what is drawn. */
	await page.fill('input[type=search]', '/TAIL_1.$/i');
	await page.waitForFunction(() => /^0\.10 %/.test(document.querySelector('.result').textContent));
	await page.fill('input[type=search]', '/(?<!x)hot/');
	await page.waitForFunction(() => /^≥ 50\.0 %/.test(document.querySelector('.result').textContent));
	page.statuses = [400];
});
on('narrow', 'who calls what is too narrow to be drawn', '?q=samples&sw=tail_17', async (page, { get }) => {
	const answer = await get('api/v1/top?q=samples&n=0&focus=%5Etail_17%24');
	assert.strictEqual(answer.total, 10);
	assert.strictEqual(await page.locator('.flame-box').count(), 2);
	await page.focus('.flame-body canvas >> nth=0');
	for (const key of ['Home', 'ArrowUp']) await page.keyboard.press(key);
	assert.match(await page.textContent('.flame-live >> nth=0'), /^kind_2, native, 100\.0 % of view/);
	assert.match(await total(page), /^100,?000 samples/);
});

/* --- fingers --- */

/* Where frames are on the screen: the row of a depth. */
const spot = async (page, share, depth) => {
	const box = await page.locator('.flame-body canvas').boundingBox(),
		row = 22;
	return { x: box.x + box.width * share, y: box.y + row * (depth + 0.5) };
};
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
on(
	'waits',
	'fingers: a tap zooms, a long press is the menu',
	'?v=flame',
	async (page) => {
		await page.locator('.flame-body canvas').scrollIntoViewIfNeeded();
		const p = await spot(page, 0.2, 1);
		await page.touchscreen.tap(p.x, p.y);
		await page.waitForFunction(() => new URLSearchParams(location.search).has('z'));
		const touch = await page.context().newCDPSession(page);
		await touch.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: [p] });
		await page.waitForSelector('.menu');
		await touch.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] });
		assert.match(await page.getAttribute('.menu', 'aria-label'), /main|start/);
	},
	PHONE
);
on(
	'waits',
	'fingers: a part of the time is chosen',
	'',
	async (page, { get }) => {
		const box = await page.locator('.range').boundingBox(),
			touch = await page.context().newCDPSession(page);
		const point = (share) => [{ x: box.x + box.width * share, y: box.y + 40 }];
		await after(page, async () => {
			await touch.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: point(0.25) });
			for (const share of [0.3, 0.4, 0.5])
				await touch.send('Input.dispatchTouchEvent', { type: 'touchMove', touchPoints: point(share) });
			await touch.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] });
		});
		const [from, to] = (await state(page)).sel.split('-').map((ms) => new Date(Math.round(+ms)).toISOString());
		const { total: sum } = await top(get, `&from=${from}&to=${to}`);
		const range = await get('api/v1/range?q=wall'),
			length = (range.steps * range.step_ns) / 1e6;
		assert.ok(
			Math.abs((Date.parse(to) - Date.parse(from)) / length - 0.25) < 0.02,
			`${from} to ${to} of ${length} ms`
		);
		assert.strictEqual(await shownSeconds(page), seconds(sum));
	},
	PHONE
);

/* --- nothing, too little, trouble --- */

on(
	'waits',
	'nothing: a time without data',
	'?from=2001-01-01T00:00:00Z&to=2001-01-02T00:00:00Z',
	async (page, { get }) => {
		assert.match(await page.textContent('.empty'), /No data in this time range\. Data is available from /);
		await after(page, () => page.click('text=Show all data'));
		assert.strictEqual(await shownSeconds(page), seconds((await top(get)).total));
		assert.strictEqual(await page.isVisible('.empty'), false);
	}
);
on('empty', 'nothing: no data at all; then there is', '', async (page, { url }) => {
	assert.match(await page.textContent('.trouble'), /No data yet/);
	const now = Date.now() / 1000,
		push = `api/v1/profiles?type=cpu&label=host=h&from=${now - 1}&to=${now}`;
	const answer = await fetch(url + push, { method: 'POST', body: 'main;step 7\n' });
	assert.strictEqual(answer.status, 200);
	await page.click('text=Reload');
	await page.waitForFunction(() => document.querySelector('.virtual')?.textContent.includes('step'));
	assert.match(await total(page), /^7 samples/);
	page.statuses = [400];
});
on('waits', 'nothing: a type that nobody recorded', '?q=off-cpu', async (page, { get }) => {
	assert.match(await page.textContent('.trouble'), /No data of type off-cpu\..*cresset up -e off-cpu/);
	await after(page, () => page.click('.trouble button >> text=wall'));
	assert.strictEqual(await shownSeconds(page), seconds((await top(get)).total));
	assert.strictEqual(await page.isVisible('.trouble'), false);
	page.statuses = [400];
});
on(
	'waits',
	'too little: lost samples are said',
	'',
	async (page) => {
		page.reply = async (route) => {
			const answer = await route.fetch(),
				body = await answer.json();
			body.samples = 962;
			body.meta = { ...body.meta, lost_samples: 38, losses: { ring_full: 30, queue_full: 8 } };
			await route.fulfill({ response: answer, json: body });
		};
		await after(page, () => page.keyboard.press('v'));
		assert.strictEqual(
			await page.textContent('.facts .bad'),
			'showing 96.2 % of samples: 38 lost (ring full 30, queue full 8)'
		);
	},
	TOP
);
on(
	'waits',
	'trouble: what went wrong is said, can be copied, and tried again',
	'',
	async (page, { get }) => {
		const error = { error: { code: 'EIO', message: 'the disk is gone', hint: 'plug it in' } };
		page.reply = (route) => route.fulfill({ status: 500, json: error });
		await page.keyboard.press('v');
		await page.waitForSelector('.trouble:visible');
		assert.match(await page.textContent('.trouble'), /the disk is gone.*plug it in/);
		await page.click('text=Copy details');
		await page.waitForSelector('.notice');
		assert.match(await clipboard(page), /the disk is gone\nplug it in\n500 EIO\nhttp/);
		page.reply = null;
		await after(page, () => page.click('text=Retry'));
		assert.strictEqual(await page.isVisible('.trouble'), false);
		assert.strictEqual(await shownSeconds(page), seconds((await top(get)).total));
		page.statuses = [500];
	},
	{ ...CLIPBOARD, ...TOP }
);
on(
	'waits',
	'loading: what was there stays, dimmed; it can be cancelled',
	'',
	async (page) => {
		let go;
		const gate = new Promise((resolve) => {
			go = resolve;
		});
		page.reply = async (route) => {
			await gate;
			await route.abort().catch(() => {});
		};
		const old = await names(page);
		await page.keyboard.press('v');
		await page.waitForSelector('.loads');
		assert.deepStrictEqual(await names(page), old);
		await page.click('.busy button:visible');
		assert.strictEqual(await page.locator('.loads').count(), 0);
		assert.strictEqual(await page.isVisible('.busy'), false);
		assert.strictEqual(await page.isVisible('.trouble'), false);
		assert.deepStrictEqual(await names(page), old);
		go();
	},
	TOP
);
