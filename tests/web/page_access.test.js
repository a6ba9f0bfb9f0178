// tier: test
// parts: 2
/* The page for everybody: by keyboard, for screen readers, in a narrow window, dark and light; with names that mean
 * harm; on what was really recorded. */
'use strict';
const assert = require('node:assert');
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const { after: atEnd, before, test } = require('node:test');
const { program, tempDir } = require('./picture.js');
const { address, after, launch, open, rows, serious, serve, shot, state, wide } = require('./page.js');

const HOSTILE = [
	'<img src=x onerror=document.title="owned">',
	'</script><script>document.title="owned"</script>',
	'\u202egnp.exe',
	'"><svg onload=alert(1)>',
	'a\u0000b'.replace('\u0000', '\u0001'),
	'{{constructor.constructor("alert(1)")()}}',
	'javascript:alert(1)',
	'__proto__',
	'x'.repeat(3000)
];
const dir = tempDir(),
	recording = path.join(dir, 'real.cresset'),
	evil = path.join(dir, 'evil.folded');
let browser, real, bad;
before(async () => {
	/* Something that is surely seen: the recorder watches a shell that counts. */
	execFileSync(
		program,
		[
			'record',
			'-q',
			'-F',
			'499',
			'-o',
			recording,
			'--',
			'sh',
			'-c',
			'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done'
		],
		{ stdio: ['ignore', 'ignore', 'inherit'] }
	);
	fs.writeFileSync(
		evil,
		HOSTILE.map((n, i) => `main;${n.replace(/;/g, ':')};leaf ${10 * (i + 1)}`).join('\n') + '\n'
	);
	real = await serve([recording]);
	bad = await serve([evil]);
	browser = await launch();
});
atEnd(async () => {
	await browser?.close();
	real?.stop();
	bad?.stop();
});
/* The checker brings a script of its own, which the page would refuse. */
const CHECKED = { bypassCSP: true };

/* The timeline is asked for anew where it is wider. */
async function resize(page, size) {
	const isAsked = page.viewportSize().width !== size.width && (await page.$('.tl-plot'));
	if (isAsked) await after(page, () => page.setViewportSize(size));
	else await page.setViewportSize(size);
}

for (const [name, where] of [
	['explore', '?by=comm&s=main&f=-s.fn~nothing'],
	['compare', 'compare?from=start&to=start%2B100ms&fromb=start%2B100ms&tob=end'],
	['targets', 'targets'],
	['timeline', 'timeline?heat=1']
])
	test(`${name}, light and dark: nothing serious is in anybody's way`, async () => {
		const page = await open(browser, real.url, where, CHECKED),
			size = page.viewportSize();
		for (const colorScheme of ['light', 'dark']) {
			await page.emulateMedia({ colorScheme });
			assert.deepStrictEqual(await serious(page), []);
			await resize(page, { width: 1600, height: 900 });
			await shot(page, `${name}-1600-${colorScheme}`);
			await resize(page, size);
		}
		await page.context().close();
	});
for (const [name, where] of [
	['explore', '?by=comm'],
	['compare', 'compare'],
	['targets', 'targets'],
	['timeline', 'timeline'],
	['import', 'import']
])
	test(`${name}: 390 px wide, nothing sticks out`, async () => {
		const page = await open(browser, real.url, where, {
			viewport: { width: 390, height: 844 },
			colorScheme: 'dark'
		});
		assert.ok((await wide(page)) <= 0, `${await wide(page)} px too wide`);
		const labels = await page.$$eval('.range .time', (l) =>
			l.map((t) => t.getBoundingClientRect()).map((b) => [b.left, b.right])
		);
		labels.forEach(([left], i) => assert.ok(!i || left > labels[i - 1][1], 'labels of the axis overlap'));
		for (const [width, height] of [
			[390, 844],
			[1280, 720]
		])
			for (const colorScheme of ['dark', 'light']) {
				await resize(page, { width, height });
				await page.emulateMedia({ colorScheme });
				await shot(page, `${name}-${width}-${colorScheme}`);
			}
		await page.context().close();
	});
test('dark and light by hand, and kept', async () => {
	const page = await open(browser, real.url, ''),
		colour = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
	const light = await colour();
	await page.keyboard.press('D');
	const dark = await colour();
	assert.notStrictEqual(dark, light);
	await page.reload();
	assert.strictEqual(await colour(), dark);
	assert.strictEqual(new URL(await address(page)).search.includes('theme'), false);
	await page.context().close();
});
test('by keyboard alone: ask, choose, search, filter, compare', async () => {
	const page = await open(browser, real.url, '');
	const tabTo = async (test) => {
		for (let i = 0; i < 80; i++) {
			await page.keyboard.press('Tab');
			if (await page.evaluate(test)) return;
		}
		assert.fail('not reached: ' + test);
	};
	await tabTo('document.activeElement.classList.contains("range")');
	/* The second half: on a busy machine, shorter ranges may have no samples. */
	await page.keyboard.press('Home');
	for (let i = 0; i < 10; i++) await page.keyboard.press('PageDown');
	await page.keyboard.press('Shift+End');
	await after(page, () => page.keyboard.press('Enter'));
	assert.ok((await state(page)).sel);
	await page.keyboard.press('/');
	await page.keyboard.type('main');
	await page.keyboard.press('Escape');
	assert.strictEqual((await state(page)).s, 'main');
	await tabTo('document.activeElement.tagName === "CANVAS"');
	await page.keyboard.press('ArrowDown');
	await page.keyboard.press('Shift+Enter');
	await page.waitForSelector('.menu');
	await after(page, async () => {
		for (let i = 0; i < 5; i++) await page.keyboard.press('ArrowDown');
		await page.keyboard.press('Enter');
	});
	assert.match((await state(page)).f, /^s\.fn~/);
	await page.focus('h1 ~ nav a >> nth=0');
	await tabTo('document.activeElement.textContent === "Compare with previous period"');
	await page.keyboard.press('Enter');
	await page.waitForURL(/compare/);
	await page.waitForFunction(() => /per second/.test(document.querySelector('.verdict')?.textContent || ''));
	await page.context().close();
});
test("numbers of a real recording are the API's", async () => {
	const page = await open(browser, real.url, ''),
		{ top, total } = await real.get('api/v1/top?q=cpu&n=5000');
	assert.ok(total > 50, `${total} samples`);
	const shown = await rows(page),
		best = shown.find((r) => r[1] === top[0].function);
	assert.strictEqual(best[2], String(top[0].self).replace(/\B(?=(\d{3})+$)/g, ','));
	assert.match(
		await page.textContent('.facts .total'),
		new RegExp(`^${String(total).replace(/\B(?=(\d{3})+$)/g, ',')} samples`)
	);
	await page.context().close();
});
test('names that mean harm stay names', async () => {
	const page = await open(browser, bad.url, '');
	const shown = await rows(page);
	assert.ok(
		shown.some((r) => r[1] === HOSTILE[0]),
		'as it is'
	);
	assert.ok(!shown.some((r) => /[\u202e\u0001]/.test(r[1])), 'what turns text around is shown as a mark');
	for (const name of [HOSTILE[0], HOSTILE[3], '__proto__']) {
		await page.click(`.virtual button:text-is(${JSON.stringify(name)})`);
		await page.waitForFunction(() => /frames/.test(document.querySelector('.result').textContent));
	}
	await page.focus('.flame-body canvas');
	for (const key of ['Home', 'ArrowDown', 'ArrowDown', 'Shift+Enter']) await page.keyboard.press(key);
	await after(page, () => page.click('.menu >> text=Focus on function'));
	assert.match(await page.textContent('.facts'), /filtered/);
	assert.strictEqual(await page.title(), 'Explore · cresset');
	assert.strictEqual(await page.locator('main img, main script, main svg[onload]').count(), 0);
	assert.deepStrictEqual(page.trouble, []);
	await page.context().close();
});
test('the policy of the page allows nothing but its own files', async () => {
	const answer = await fetch(real.url + 'explore'),
		policy = answer.headers.get('content-security-policy');
	assert.match(policy, /default-src 'none'/);
	assert.match(policy, /script-src 'self'(;|$)/);
	assert.ok(!/unsafe|\*|data:/.test(policy), policy);
});
/* A proxy that has us below a path of its own. */
function below(prefix, url) {
	const { hostname, port, host } = new URL(url);
	const proxy = http.createServer((q, s) => {
		if (!q.url.startsWith(prefix)) return s.writeHead(404).end();
		const ask = http.request(
			{
				hostname,
				port,
				path: q.url.slice(prefix.length - 1),
				method: q.method,
				headers: { ...q.headers, host, ...(q.headers.origin ? { origin: 'http://' + host } : {}) }
			},
			(a) => {
				s.writeHead(a.statusCode, a.headers);
				a.pipe(s);
			}
		);
		return q.pipe(ask);
	});
	return new Promise((resolve) =>
		proxy.listen(0, '127.0.0.1', () =>
			resolve({
				url: `http://127.0.0.1:${proxy.address().port}${prefix}`,
				stop: () => {
					proxy.closeAllConnections();
					proxy.close();
				}
			})
		)
	);
}
test('below a path of a proxy', async () => {
	const proxy = await below('/tools/cresset/', real.url),
		page = await open(browser, proxy.url, 'explore?by=comm');
	await page.click('#routes a >> text=Status');
	await page.waitForSelector('.card');
	assert.strictEqual(new URL(await address(page)).pathname, '/tools/cresset/targets');
	await page.reload();
	await page.waitForSelector('.card');
	await page.goBack();
	await page.waitForSelector('.facts .total');
	assert.deepStrictEqual(page.trouble, []);
	await page.context().close();
	proxy.stop();
});
test('a collector that does not answer is said on every screen', async () => {
	const page = await open(browser, real.url, '', { routed: '**/api/v1/status' });
	page.reply = async (route) => {
		const answer = await route.fetch();
		await route.fulfill({
			response: answer,
			json: { ...(await answer.json()), collector: { silent_since: '2026-11-28T23:23:00Z' } }
		});
	};
	assert.strictEqual(await page.isVisible('#silent'), false);
	await page.reload();
	await page.waitForSelector('#silent', { state: 'visible' });
	assert.match(await page.innerText('#silent'), /^Not recording since .*: the collector does not respond\.$/);
	await page.context().close();
});
