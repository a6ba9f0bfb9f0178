// tier: test
/* The Import screen of the page: files of every kind, chosen and dropped anywhere; and what the page hands out as one
 * HTML file. */
'use strict';
const assert = require('node:assert');
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { after: atEnd, before } = require('node:test');
const { project, program, tempDir } = require('./picture.js');
const { launch, paging, serve, serious, shot, wide } = require('./page.js');

const dir = tempDir(),
	at = (name) => path.join(dir, name),
	golden = (name) => path.join(project, 'tests/golden', name),
	CHECKED = { bypassCSP: true };
let browser, server;
before(async () => {
	execFileSync(path.resolve(project, process.env.BUILD || 'build', 'fixture', 'waits'), [at('waits.cresset')]);
	fs.writeFileSync(at('new.folded'), 'main;a 30\nmain;b 40\nmain;c 50\n');
	fs.writeFileSync(at('<img src=x>.folded'), '<script>document.title="owned"</script>;b 4\n');
	server = await serve([at('waits.cresset')]);
	browser = await launch();
});
atEnd(async () => {
	await browser?.close();
	server?.stop();
});
const on = (name, where, fn, options) => paging(() => ({ browser, server }), name, where, fn, options);
const report = (file) =>
	JSON.parse(execFileSync(program, ['report', file, '--json', '--top', '0'], { stdio: ['ignore', 'pipe', 'ignore'] }))
		.total;
const total = (page) => page.$eval('.rp', (e) => +e.dataset.total);
const shown = (page, file) =>
	page.waitForFunction(
		(name) =>
			document.querySelector('.rp-drop [role=status]')?.textContent === name && document.querySelector('.rp'),
		path.basename(file)
	);
/* What a person does with a file of a directory's window. */
async function drop(page, selector, file) {
	const data = await page.evaluateHandle(
		({ bytes, name }) => {
			const transfer = new DataTransfer();
			transfer.items.add(new File([Uint8Array.from(bytes)], name));
			return transfer;
		},
		{ bytes: [...fs.readFileSync(file)], name: path.basename(file) }
	);
	for (const type of ['dragover', 'drop']) await page.dispatchEvent(selector, type, { dataTransfer: data });
}

on('files of every kind have the total that report says', 'import', async (page) => {
	const files = [
		at('waits.cresset'),
		at('new.folded'),
		golden('pprof/parca-fgprof.pb.gz'),
		golden('perf-script/simple.linux-perf.txt'),
		golden('speedscope/simple.speedscope.json'),
		golden('chrome/simple.json')
	];
	for (const file of files) {
		await page.setInputFiles('input[type=file]', file);
		await shown(page, file);
		assert.strictEqual(await total(page), report(file), file);
	}
	assert.strictEqual(await page.title(), 'simple.json · cresset');
	await page.click('#routes a >> text=Status');
	await page.waitForSelector('.card');
	assert.strictEqual(await page.locator('link[href*="report.css"]').count(), 0, 'its style goes with it');
});
on('what cannot be read is said, and the next file is shown', 'import', async (page) => {
	fs.writeFileSync(at('nothing.bin'), Buffer.from([0, 1, 2, 3, 255]));
	await page.setInputFiles('input[type=file]', at('nothing.bin'));
	await page.waitForSelector('.rp-import [role=alert]:not([hidden])');
	assert.match(await page.textContent('.rp-import [role=alert]'), /nothing\.bin cannot be shown: .*format/);
	page.statuses = [415];
	await page.setInputFiles('input[type=file]', at('new.folded'));
	await shown(page, at('new.folded'));
	assert.strictEqual(await page.isVisible('.rp-import [role=alert]'), false);
});
for (const [screen, where] of [
	['Explore', ''],
	['Timeline', 'timeline'],
	['Compare', 'compare'],
	['Status', 'targets'],
	['Import', 'import']
])
	on(`a file that is dropped on ${screen} is shown`, where, async (page) => {
		await drop(page, '#screen', at('new.folded'));
		await page.waitForURL(/\/import/);
		await shown(page, at('new.folded'));
		assert.strictEqual(await total(page), 120);
		await drop(page, '#head', at('<img src=x>.folded'));
		await shown(page, at('<img src=x>.folded'));
		assert.strictEqual(await page.locator('.rp-import img, .rp-import script').count(), 0);
		assert.match(await page.title(), /^<img/);
	});
on("a key does one thing: the page's", 'import', async (page) => {
	await page.setInputFiles('input[type=file]', at('new.folded'));
	await shown(page, at('new.folded'));
	const colour = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor),
		light = await colour();
	await page.keyboard.press('D');
	assert.notStrictEqual(await colour(), light);
	await page.keyboard.press('?');
	await page.waitForSelector('dialog[open]');
	assert.strictEqual(await page.locator('dialog[open]').count(), 1);
});
for (const colorScheme of ['light', 'dark'])
	for (const [width, height] of [
		[1280, 720],
		[390, 844]
	])
		on(
			`nothing is in anybody's way at ${width} px, ${colorScheme}`,
			'import',
			async (page) => {
				assert.deepStrictEqual(await serious(page), []);
				await page.setInputFiles('input[type=file]', at('waits.cresset'));
				await shown(page, at('waits.cresset'));
				assert.deepStrictEqual(await serious(page), []);
				assert.ok((await wide(page)) <= 0, `${await wide(page)} px too wide`);
				await shot(page, `imported-${width}-${colorScheme}`);
			},
			{ ...CHECKED, colorScheme, viewport: { width, height } }
		);
on(
	'what is shared is one file that opens from the disk, with the same total',
	'?q=' + encodeURIComponent('wall{comm="web"}'),
	async (page, { get }) => {
		const { total: want } = await get('api/v1/top?q=' + encodeURIComponent('wall{comm="web"}'));
		await page.click('text=Export');
		const [file] = await Promise.all([
			page.waitForEvent('download'),
			page.click('.menu >> text=self-contained HTML')
		]);
		assert.match(file.suggestedFilename(), /\.html$/);
		await file.saveAs(at('shared.html'));
		const context = await browser.newContext({ offline: true }),
			alone = await context.newPage(),
			said = [];
		alone.on('console', (m) => said.push(m.text()));
		alone.on('pageerror', (e) => said.push(e.message));
		alone.on('request', (r) => /^(file|blob|data):/.test(r.url()) || said.push(r.url()));
		await alone.goto('file://' + at('shared.html'));
		await alone.waitForSelector('.rp[data-shown]');
		assert.strictEqual(await total(alone), want);
		assert.deepStrictEqual(said, []);
		await context.close();
	}
);
