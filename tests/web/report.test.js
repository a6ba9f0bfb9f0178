// tier: test
// parts: 2
/* report.html: opened from the disk in a real browser that can reach nothing, and compared with what the command line
 * says of the same files. */
'use strict';
const assert = require('node:assert');
const { execFileSync, spawn } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const zlib = require('node:zlib');
const { after, before, test } = require('node:test');
const { project, program, tempDir, launch, shot } = require('./picture.js');

const dir = tempDir(),
	at = (name) => path.join(dir, name);
const HOSTILE = [
	'<img src=x onerror=run()>',
	'</script><script>run()</script>',
	'\u2028run()\u2029',
	'\u202egpj.exe',
	'</noscript><h1>x</h1>',
	'"\'`${run()}',
	'&lt;b&gt;',
	'-->]]>'
];
const AXE = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
let browser;

function cresset(...args) {
	return execFileSync(program, args, { stdio: ['ignore', 'pipe', 'pipe'] }).toString();
}
/* What report says of a file. */
const report = (file, ...args) => JSON.parse(cresset('report', file, '--json', '--top', '0', ...args));

before(async () => {
	execFileSync(path.resolve(project, process.env.BUILD || 'build', 'fixture', 'waits'), [at('waits.cresset')]);
	cresset(
		'convert',
		at('waits.cresset'),
		path.join(project, 'tests/golden/pprof/parca-alloc_objects.pb.gz'),
		'-o',
		at('both.cresset')
	);
	cresset('flame', at('waits.cresset'), '-o', at('waits.html'));
	cresset('flame', at('both.cresset'), '-o', at('both.html'));
	fs.writeFileSync(
		at('hostile.folded'),
		HOSTILE.map((name, i) => `main;${name.replaceAll(';', ':')};leaf${i} ${i + 1}\n`).join('')
	);
	cresset('flame', at('hostile.folded'), '-o', at('hostile.html'), '--title', HOSTILE[1]);
	fs.writeFileSync(at('old.folded'), 'main;a 60\nmain;b 40\n');
	fs.writeFileSync(at('new.folded'), 'main;a 30\nmain;b 40\nmain;c 50\n');
	fs.writeFileSync(at('many.folded'), Array.from({ length: 5000 }, (_, i) => `main;f${i} ${i + 1}\n`).join(''));
	cresset('flame', at('many.folded'), '-o', at('many.html'));
	cresset('flame', at('new.folded'), '--diff', at('old.folded'), '-o', at('diff.html'));
	browser = await launch();
});
after(() => browser?.close());

/* A page of a file, with everything that must not happen as a failure: errors, words on the console (which has what a
 * policy refuses), requests. */
async function opened(file, fn, options = {}) {
	const context = await browser.newContext({
		viewport: { width: 1280, height: 720 },
		timezoneId: 'UTC',
		locale: 'en-GB',
		acceptDownloads: true,
		...options
	});
	const page = await context.newPage(),
		trouble = [];
	await context.route('**', (route) =>
		route.request().url().startsWith('file:') ? route.continue() : route.abort()
	);
	page.on('pageerror', (e) => trouble.push('error: ' + e.message));
	page.on('console', (m) => trouble.push('console: ' + m.text()));
	page.on('request', (r) => /^(file|blob|data):/.test(r.url()) || trouble.push('request: ' + r.url()));
	await page.addInitScript(() => {
		window.run = () => {
			console.log('a name ran');
		};
	});
	await page.goto('file://' + file);
	if (options.javaScriptEnabled !== false) await page.waitForSelector('.rp[data-shown]');
	await fn(page);
	await context.close();
	assert.deepStrictEqual(trouble, []);
}
const viewing = (name, file, fn, options) => test(name, () => opened(at(file), fn, options));
const shown = (page) => page.$eval('.rp', (e) => +e.dataset.shown);
const total = (page) => page.$eval('.rp', (e) => +e.dataset.total);
const functions = (page) =>
	page.$$eval('.rp-table tbody tr:not(.spacer)', (l) => l.map((r) => r.querySelector('.name').textContent));
async function change(page, fn) {
	const before = await shown(page);
	await fn();
	await page.waitForFunction((n) => +document.querySelector('.rp').dataset.shown > n, before);
}
async function exported(page, words) {
	await page.click('.rp-menu-box summary');
	const [download] = await Promise.all([
		page.waitForEvent('download'),
		page.click(`.rp-menu-box button >> text=${words}`)
	]);
	return fs.readFileSync(await download.path());
}
/* Chooses a part by its times in seconds. */
async function choose(page, from, to) {
	await page.fill('input[aria-label="from, s"]', from);
	await page.fill('input[aria-label="to, s"]', to);
	await change(page, () => page.press('input[aria-label="to, s"]', 'Enter'));
}

viewing('every type is there, with the total that report says', 'both.html', async (page) => {
	const tabs = await page.$$eval('[role=tab]', (l) => l.length),
		sums = [];
	for (let i = 0; i < tabs; i++) {
		await page.click(`[role=tab] >> nth=${i}`);
		sums.push(await total(page));
	}
	const types = ['wall', 'alloc_objects', 'alloc_space', 'inuse_objects', 'inuse_space'];
	const want = types
		.map((type) => {
			try {
				return report(at('both.cresset'), '--type', type).total;
			} catch {
				return null;
			}
		})
		.filter((v) => v !== null);
	assert.deepStrictEqual(
		sums.slice().sort((a, b) => a - b),
		want.sort((a, b) => a - b)
	);
	assert.ok(sums.length >= 2, sums.join());
});
viewing(
	'the table is that of report',
	'waits.html',
	async (page) => {
		const want = report(at('waits.cresset')).top;
		const rows = await functions(page),
			names = rows.filter(
				(n) => !['web', 'worker', 'db'].includes(n)
			); /* threads are frames of the picture only */
		assert.deepStrictEqual(names.slice().sort(), want.map((r) => r.function).sort());
		assert.deepStrictEqual(
			names.slice(0, 6),
			want.slice(0, 6).map((r) => r.function)
		);
	},
	{ viewport: { width: 1280, height: 2400 } }
); /* all of its rows are in sight */
viewing('of a long table the rows in sight are made', 'many.html', async (page) => {
	const names = await functions(page),
		count = () => page.locator('.rp-table tbody tr').count();
	assert.ok(names.includes('f4999') && !names.includes('f0') && (await count()) < 100, await count());
	await page.$eval('.rp-table .rows', (e) => {
		e.scrollTop = e.scrollHeight;
	});
	await page.waitForSelector('.rp-table td.name >> text=/^f0$/');
	assert.ok((await count()) < 100);
	await page.click('.rp-table th button >> text=Function');
	assert.strictEqual((await functions(page))[0], 'f0');
	assert.strictEqual(await page.$eval('.rp-table table', (e) => e.getAttribute('aria-rowcount')), '5002');
	assert.strictEqual((await exported(page, 'CSV')).toString().trim().split('\n').length, 5002);
});
viewing('a part of the time has the numbers of report --time', 'waits.html', async (page) => {
	for (const [from, to] of [
		['2', '3.5'],
		['0', '1'],
		['0.123456789', '7.5'],
		['9.99', '10']
	]) {
		await choose(page, from, to);
		const want = report(at('waits.cresset'), '--time', `${from}s-${to}s`);
		assert.strictEqual(await total(page), want.total, `${from} to ${to}`);
		assert.strictEqual((await functions(page))[0], want.top[0].function);
	}
	await change(page, () => page.click('text=whole range'));
	assert.strictEqual(await total(page), report(at('waits.cresset')).total);
});
viewing('dragging chooses the part under it', 'waits.html', async (page) => {
	const box = await page.locator('.rp-canvas canvas').boundingBox();
	await change(page, async () => {
		await page.mouse.move(box.x + box.width * 0.25, box.y + 20);
		await page.mouse.down();
		await page.mouse.move(box.x + box.width * 0.5, box.y + 30, { steps: 4 });
		await page.mouse.up();
	});
	const [from, to] = await page.$$eval('input[inputmode=decimal]', (l) => l.map((i) => i.value));
	assert.ok(Math.abs(to - from - 2.5) < 0.3, `${from} to ${to}`);
	assert.strictEqual(await total(page), report(at('waits.cresset'), '--time', `${from}s-${to}s`).total);
	await page.focus('.rp-canvas canvas');
	await change(page, () => page.keyboard.press('ArrowRight'));
	await change(page, () => page.keyboard.press('Escape'));
	assert.strictEqual(await total(page), report(at('waits.cresset')).total);
});
viewing('a thread alone has what report says of it', 'waits.html', async (page) => {
	await change(page, () => page.click('.rp-lane >> text=/^worker/'));
	assert.strictEqual(await total(page), report(at('waits.cresset'), '--match', '{comm="worker"}').total);
	await choose(page, '2', '3');
	assert.strictEqual(
		await total(page),
		report(at('waits.cresset'), '--match', '{comm="worker"}', '--time', '2s-3s').total
	);
});
viewing('a thread in the order of time', 'waits.html', async (page) => {
	const button = page.locator('button >> text=flame chart'),
		chart = page.locator('section[aria-label="Flame chart"]');
	assert.ok(!(await button.isVisible()));
	await change(page, () => page.click('.rp-lane >> text=/^worker/'));
	await button.click();
	assert.match(await chart.locator('h2').textContent(), /^worker.* from 0 .* to 10(\.0*)? s/);
	assert.ok((await chart.locator('.flame-body canvas').first().boundingBox()).height > 100);
	await choose(page, '2', '3');
	assert.match(await chart.locator('h2').textContent(), /2(\.0*)? s to 3(\.0*)? s/);
	await shot(page, 'report-order', { fullPage: true });
	await button.focus();
	await page.keyboard.press('o');
	assert.ok(!(await chart.isVisible()));
});
for (const [name, file] of [
	['a report', 'both.html'],
	['a difference', 'diff.html']
])
	viewing(`axe finds nothing in ${name}, light and dark`, file, async (page) => {
		await page.evaluate(AXE);
		for (const colorScheme of ['light', 'dark']) {
			await page.emulateMedia({ colorScheme });
			const found = await page.evaluate(() =>
				window.axe.run(document, {
					runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'],
					resultTypes: ['violations']
				})
			);
			assert.ok(found.passes.length > 10);
			assert.deepStrictEqual(
				found.violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.html.slice(0, 200)).join(' | ')}`),
				[]
			);
		}
	});
viewing('printed, there are the head, the graph and the table, and no buttons', 'waits.html', async (page) => {
	await page.emulateMedia({ media: 'print' });
	assert.ok(
		(await page.isVisible('.rp-head h1')) &&
			(await page.isVisible('.rp-graph .flame-body canvas')) &&
			(await page.isVisible('.rp-table table'))
	);
	assert.ok(!(await page.isVisible('.rp-bar button')) && !(await page.isVisible('.rp-bar input')));
	assert.ok(await page.$eval('.rp-table .rows', (e) => e.scrollHeight <= e.clientHeight + 1), 'no row is cut off');
	await page.setViewportSize({ width: 700, height: 500 });
	assert.ok(await page.$eval('.rp-table .rows', (e) => e.scrollHeight <= e.clientHeight + 1), 'nor on small paper');
});
viewing('search says what matched', 'waits.html', async (page) => {
	await page.keyboard.press('/');
	await page.keyboard.type('crunch');
	const row = report(at('waits.cresset')).top.find((r) => r.function === 'crunch');
	assert.match(await page.textContent('.rp-bar [role=status]'), new RegExp(`^${row.total_percent.toFixed(2)} %`));
	assert.deepStrictEqual(await functions(page), ['crunch']);
	await page.fill('input[type=search]', '/[/');
	assert.match(await page.textContent('.rp-bar [role=status]'), /bad expression/);
});
viewing('callers and callees, and stacks turned round', 'waits.html', async (page) => {
	await page.dblclick('.rp-table td button >> text=crunch');
	assert.strictEqual((await page.locator('.rp-half canvas').count()) >= 2, true);
	await page.keyboard.press('Escape');
	await page.keyboard.press('Escape');
	assert.strictEqual(await page.locator('.rp-half').count(), 0);
	const all = await total(page);
	await change(page, () => page.click('text=inverted'));
	assert.strictEqual(await total(page), all);
});
viewing('exports: folded, SVG, PNG, CSV', 'waits.html', async (page) => {
	const folded = (await exported(page, 'folded')).toString().trim().split('\n');
	assert.strictEqual(
		folded.reduce((sum, l) => sum + +l.slice(l.lastIndexOf(' ') + 1), 0),
		report(at('waits.cresset')).total
	);
	fs.writeFileSync(at('x.svg'), await exported(page, 'SVG'));
	execFileSync('xmllint', ['--noout', at('x.svg')]);
	assert.match(fs.readFileSync(at('x.svg'), 'utf8'), /crunch/);
	const png = await exported(page, 'PNG');
	assert.strictEqual(png.subarray(1, 4).toString(), 'PNG');
	assert.strictEqual(png.readUInt32BE(16), 2400);
	assert.ok(png.length > 3000);
	assert.match((await exported(page, 'CSV')).toString(), /^function,kind,binary,file,self,total\n/);
});
viewing('exports: pprof, read by cresset and by go', 'waits.html', async (page) => {
	fs.writeFileSync(at('x.pb.gz'), await exported(page, 'pprof'));
	const want = report(at('waits.cresset')),
		got = report(at('x.pb.gz'));
	assert.strictEqual(got.total, want.total);
	const sums = (r) =>
		r.top
			.filter((f) => !['web', 'worker', 'db'].includes(f.function))
			.map((f) => [f.function, f.self, f.total].join())
			.sort();
	assert.deepStrictEqual(sums(got), sums(want));
	const top = execFileSync('go', ['tool', 'pprof', '-top', '-unit=ns', at('x.pb.gz')], {
		stdio: ['ignore', 'pipe', 'pipe'],
		env: { ...process.env, PPROF_TMPDIR: dir }
	}).toString();
	assert.match(top, new RegExp(`${want.total}ns total`));
	assert.match(top, /crunch/);
});
viewing('names do nothing', 'hostile.html', async (page) => {
	const names = (await functions(page)).join('\n');
	assert.ok(names.includes('<img src=x onerror=run()>') && names.includes('</script><script>run()</script>'), names);
	assert.ok(!/[\u2028\u2029\u202e]/.test(names), 'what is hidden is shown as such');
	assert.strictEqual(await page.locator('.rp img, .rp script, h1 > *').count(), 0);
	for (let i = 0; i < names.split('\n').length; i++) await page.locator('.rp-table td.name button').nth(i).click();
	await page.fill('input[type=search]', '');
	fs.writeFileSync(at('h.svg'), await exported(page, 'SVG'));
	execFileSync('xmllint', ['--noout', at('h.svg')]);
	assert.doesNotMatch(fs.readFileSync(at('h.svg'), 'utf8'), /<img|<script/);
});
viewing(
	'without scripts there is the table, and names are text',
	'hostile.html',
	async (page) => {
		const text = await page.textContent('noscript table');
		assert.ok(text.includes('<img src=x onerror=run()>') && text.includes('</noscript><h1>x</h1>'), text);
		assert.strictEqual(await page.locator('noscript img, noscript script').count(), 0);
		assert.strictEqual(await page.locator('h1').count(), 1);
		assert.strictEqual(await page.locator('noscript tbody tr').count(), HOSTILE.length * 2 + 1);
	},
	{ javaScriptEnabled: false }
);
viewing('a difference', 'diff.html', async (page) => {
	assert.strictEqual(await total(page), 120);
	assert.match(await page.textContent('.rp-bar strong'), /before: 100 samples/);
	const want = JSON.parse(cresset('diff', at('old.folded'), at('new.folded'), '--json')).rows.filter(
		(r) => r.self.older || r.self.newer
	);
	const rows = await page.$$eval('.rp-table tbody tr:not(.spacer)', (l) =>
		l.map((r) => [...r.cells].slice(1).map((c) => c.textContent))
	);
	const digits = (v) => v.toFixed(Math.abs(v) < 9.995 ? 2 : 1),
		percent = (v) => digits(v) + ' %',
		signed = (v) => (v > 0 ? `▲ +${percent(v)}` : v < 0 ? `▼ ${percent(v)}` : percent(v));
	assert.deepStrictEqual(
		rows.map((r) => [r[0], r[1], r[2], r[3], r[5], r[6]]),
		want.map((r) => [
			r.function,
			percent(r.self.older),
			percent(r.self.newer),
			signed(r.self.change),
			`${digits(r.self.low)} … ${percent(r.self.high)}`,
			r.self.certainty === 'sure' ? 'likely' : r.self.certainty
		])
	);
	assert.strictEqual(await page.inputValue('select'), 'diff');
});
viewing('by keyboard alone', 'both.html', async (page) => {
	await page.keyboard.press('Tab');
	while (!(await page.evaluate(() => document.activeElement?.getAttribute('role') === 'tab')))
		await page.keyboard.press('Tab');
	const first = await page.textContent('[role=tab][aria-selected=true]');
	await page.keyboard.press('ArrowRight');
	assert.notStrictEqual(await page.textContent('[role=tab][aria-selected=true]'), first);
	await page.keyboard.press('[');
	assert.strictEqual(await page.textContent('[role=tab][aria-selected=true]'), first);
	await page.keyboard.press('?');
	assert.ok(await page.isVisible('dialog'));
	await page.keyboard.press('Escape');
	await page.keyboard.press('e');
	assert.strictEqual(await page.evaluate(() => document.activeElement?.textContent), 'SVG image');
	await page.keyboard.press('Escape');
	await page.keyboard.press('D');
	assert.strictEqual(await page.$eval('html', (e) => e.dataset.theme), 'dark');
});
for (const [width, height] of [
	[1280, 720],
	[1600, 900],
	[390, 844]
])
	viewing(
		`nothing is cut off at ${width} × ${height}, light and dark`,
		'waits.html',
		async (page) => {
			for (const colorScheme of ['light', 'dark']) {
				await page.emulateMedia({ colorScheme });
				assert.ok(
					await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
					'no scrolling sideways'
				);
				const boxes = await page.$$eval('.rp-bar > *, .rp-tabs > *', (l) =>
					l.filter((e) => e.offsetWidth).map((e) => e.getBoundingClientRect().right)
				);
				assert.ok(
					boxes.every((right) => right <= width),
					boxes.join()
				);
				const background = await page.$eval('body', (e) => getComputedStyle(e).backgroundColor);
				assert.strictEqual(background, colorScheme === 'dark' ? 'rgb(22, 24, 28)' : 'rgb(255, 255, 255)');
				await axisInk(page);
				await shot(page, `report-${width}-${colorScheme}`);
			}
		},
		{ viewport: { width, height } }
	);

/* Once there is text in the colour that dim text has now, where the axis is. */
const axisInk = (page) =>
	page.waitForFunction(() => {
		const canvas = document.querySelector('.rp-canvas canvas'),
			{ width, height } = canvas,
			copy = new OffscreenCanvas(width, height).getContext('2d', { willReadFrequently: true });
		copy.fillStyle = getComputedStyle(canvas).getPropertyValue('--dim');
		copy.fillRect(0, 0, 1, 1);
		const want = copy.getImageData(0, 0, 1, 1).data;
		copy.clearRect(0, 0, width, height);
		copy.drawImage(canvas, 0, 0);
		const { data } = copy.getImageData(0, height - 16, width, 16);
		for (let i = 0; i < data.length; i += 4)
			if (data[i + 3] > 200 && [0, 1, 2].every((k) => Math.abs(data[i + k] - want[k]) < 12)) return true;
		return false;
	});

test('what is damaged is said', async () => {
	const html = fs.readFileSync(at('waits.html'), 'utf8'),
		data = /id="data">([^<]*)</.exec(html)[1],
		plain = zlib.gunzipSync(Buffer.from(data, 'base64'));
	const cases = [
		plain.subarray(0, plain.length - 100),
		Buffer.concat([Buffer.from('CRC9'), plain.subarray(4)]),
		Buffer.from('hello')
	];
	const load = (name) => import(path.join(project, 'web', 'report', name)),
		{ decodeContainer, rangeTree } = await load('container.js'),
		{ chartTree } = await load('chart.js');
	for (let i = 0; i < 400; i++) {
		const bytes = Buffer.from(plain);
		bytes[(i * 7919 + 5) % bytes.length] ^= 1 << (i % 8);
		try {
			const [type] = decodeContainer(bytes).types;
			if (type.samples) {
				rangeTree(type, 0, 1e9, null);
				chartTree(type, 1, 0, 1e9);
			}
		} catch (e) {
			assert.ok(
				e.constructor === Error || e instanceof SyntaxError,
				`byte ${(i * 7919 + 5) % bytes.length}: ${e.stack}`
			);
		}
	}
	const context = await browser.newContext(),
		page = await context.newPage();
	for (const [i, bytes] of cases.entries()) {
		fs.writeFileSync(at('bad.html'), html.replace(data, zlib.gzipSync(bytes).toString('base64')));
		await page.goto('file://' + at('bad.html'));
		await page.waitForSelector('.rp[data-shown], [role=alert]');
		assert.match(await page.textContent('[role=alert]'), /cannot be shown: (the|this|a) /, String(i));
	}
	await context.close();
});

/* --- beside a server --- */

/* Starts cresset serve on a port of its own; gives the address that it prints. */
function serve(file) {
	const server = spawn(program, ['serve', file, '--listen', '127.0.0.1:0'], { stdio: ['ignore', 'pipe', 'inherit'] });
	const url = new Promise((resolve, reject) => {
		let said = '';
		server.stdout.on('data', (text) => {
			said += text;
			if (said.endsWith('\n')) resolve(said.trim());
		});
		server.on('exit', () => reject(new Error('it ended: ' + said)));
	});
	return {
		url,
		end: () => {
			server.removeAllListeners('exit');
			server.kill();
		}
	};
}
/* Boxes of the flame chart of a thread: what each is, from when, and how long. */
async function orderAsTheServer(url) {
	const load = (name) => import(path.join(project, 'web', name)),
		[{ decodeContainer }, { chartTree }, { decodeTree }] = await Promise.all(
			['report/container.js', 'report/chart.js', 'tree.js'].map(load)
		);
	const { types, header } = decodeContainer(
		zlib.gunzipSync(Buffer.from(/id="data">([^<]*)</.exec(fs.readFileSync(at('waits.html'), 'utf8'))[1], 'base64'))
	);
	for (const comm of ['web', 'worker']) {
		/* of db's stacks the server leaves frames out that are too thin */
		const q = encodeURIComponent(`wall{comm="${comm}"}`),
			bytes = await (await fetch(`${url}api/v1/chart?q=${q}&fmt=bin`)).arrayBuffer();
		const theirs = decodeTree(new Uint8Array(bytes)),
			from = types[0].samples.time[0]; /* a wait had begun before the recording */
		const thread = header.threads.findIndex((t) => t.name === comm),
			mine = chartTree(types[0], thread, from, header.meta.duration_ns);
		const boxes = (t, from) =>
			[...Array(t.n).keys()]
				.slice(1)
				.map((i) => [t.name(i), t.startNs[i] - from, t.total[i]])
				.filter(([name]) => name !== comm);
		assert.ok(theirs.n > 1, comm);
		assert.deepStrictEqual(boxes(mine, from), boxes(theirs, theirs.startNs[0]), comm);
	}
}
test('a thread in the order of time is as the server draws it, and a page that the server makes opens', async (t) => {
	const server = serve(at('waits.cresset'));
	t.after(server.end);
	const url = await server.url;
	await orderAsTheServer(url);
	const context = await browser.newContext();
	const shared = await context.newPage(),
		said = [];
	shared.on('console', (m) => said.push(m.text()));
	await shared.goto(url + 'api/v1/flame?q=wall&fmt=html');
	await shared.waitForSelector('.rp[data-shown]');
	assert.strictEqual(await total(shared), report(at('waits.cresset')).total);
	assert.strictEqual(await shared.evaluate(() => self.origin), 'null');
	assert.deepStrictEqual(said, []);
	await context.close();
});
