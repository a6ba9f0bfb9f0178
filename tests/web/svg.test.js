// tier: test
/* The flame graph picture in a real browser. Every expected number is computed from the folded text here. */
'use strict';
const assert = require('node:assert');
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const { after, before, test } = require('node:test');
const { pathToFileURL } = require('node:url');
const { tempDir, draw, parse, total, matchedPercent, selfPercent, launch } = require('./picture.js');

const FOLDED = `redis;main;loop;read;parse;alloc 190
redis;main;loop;read;parse 60
redis;main;loop;write;alloc 130
redis;main;loop;poll;epoll_wait_[k];schedule_[k] 90
redis;main;recurse;recurse;recurse;Leaf 40
python;main;eval;std::sort;std::sort 120
python;main;eval;eval;read;vfs_read_[k] 77
python;main;eval;eval;eval;名前の長い関数 33
java;Thread::run;Main.main_[j];Json.parse_[j] 260
tiny;t1 1
`;
const HOSTILE = `<script>window.pwned=1</script>;"onload="window.pwned=2" 5
<img src=x onerror=window.pwned=3>;</title></svg><script>window.pwned=4</script> 6
]]><script>window.pwned=5</script>;&lt;script&gt;;javascript:window.pwned=6 7
`;
const stacks = parse(FOLDED);
const dir = tempDir();
let browser, picture;

before(async () => {
	picture = draw(dir, 'flame', FOLDED);
	browser = await launch();
});
after(() => browser.close());

/* Opens a file, runs the test on it, and fails on any error or request on the page. */
async function open(file, options, fn) {
	const context = await browser.newContext({ viewport: { width: 1200, height: 700 }, ...options });
	const page = await context.newPage(),
		trouble = [],
		url = pathToFileURL(file).href + (options.hash || '');
	page.on('pageerror', (e) => trouble.push('error: ' + e.message));
	page.on('console', (m) => trouble.push('console: ' + m.text()));
	page.on('dialog', (d) => trouble.push('dialog: ' + d.message()));
	page.on('request', (r) => r.url().split('#')[0] === url.split('#')[0] || trouble.push('request: ' + r.url()));
	await page.goto(url);
	await fn(page);
	await context.close();
	assert.deepStrictEqual(trouble, []);
}
function picturing(name, options, fn) {
	test(name, () => open(picture, options, fn));
}

/* Every frame as it is on the screen now. */
function frames(page) {
	return page.$$eval('.f rect', (list) =>
		list.map((r) => {
			const b = r.getBoundingClientRect(),
				t = r.textContent,
				cut = t.lastIndexOf('\n');
			return {
				name: t.slice(0, cut),
				info: t.slice(cut + 1),
				value: +r.dataset.v,
				x: b.x,
				y: b.y,
				width: b.width,
				height: b.height,
				classes: r.getAttribute('class').split(' ').slice(1),
				fill: getComputedStyle(r).fill
			};
		})
	);
}
async function frame(page, name, nth = 0) {
	return (await frames(page)).filter((f) => f.name === name)[nth];
}
/* Clicks the nth frame of this name where it is. */
async function click(page, name, nth = 0) {
	const f = await frame(page, name, nth);
	await page.mouse.click(f.x + f.width / 2, f.y + f.height / 2);
}
async function search(page, text) {
	if ((await page.evaluate(() => document.activeElement?.localName)) !== 'input') await page.keyboard.press('/');
	await page.keyboard.press('ControlOrMeta+a');
	await page.keyboard.insertText(text);
}
const text = (page, css) => page.locator(css).textContent();
const hash = (page) => page.evaluate(() => location.hash); /* page.url() comes later */
const matched = (page) => page.$$eval('.f .m', (list) => list.length);
/* Widths have a gap of half a pixel. */
function close(a, b, what) {
	assert.ok(Math.abs(a - b) <= 1.01, `${what}: ${a}, not ${b}`);
}

picturing('every frame of every stack is there, as wide as its share', {}, async (page) => {
	const want = new Map([['', total(stacks)]]);
	for (const s of stacks)
		s.frames.forEach((f, i) => {
			const key = s.frames.slice(0, i + 1).join(';');
			want.set(key, (want.get(key) || 0) + s.value);
		});
	const all = await frames(page);
	assert.strictEqual(all.length, want.size);
	assert.deepStrictEqual(all.map((f) => f.value).sort(), [...want.values()].sort());
	assert.strictEqual(all[0].name, 'all');
	close(all[0].width, 1180, 'width of the root');
	for (const f of all) if (f.value > 2) close(f.width, (1180 * f.value) / total(stacks), f.name);
});

/* Which of red, blue, teal and grey a colour is by far, and lilac. */
function hue(fill) {
	const [r, g, b] = fill.match(/\d+/g).map(Number);
	if (r > 1.8 * g && r > 1.8 * b) return 'red';
	if (b > 1.4 * g && b > 1.8 * r) return 'blue';
	if (g > 1.6 * r && b > 1.6 * r && Math.abs(g - b) < 20) return 'teal';
	return Math.max(r, g, b) - Math.min(r, g, b) < 20 ? 'grey' : r > g && b > g ? 'lilac' : fill;
}

test('a wall profile: red on the CPU, blue off it, grey where it waits for one, teal for a GPU', async () => {
	const wall = draw(
		dir,
		'wall',
		`app;main;work_[c] 280
app;main;read;vfs_read_[k];[blocked: disk I/O]_[o] 250
app;main;read_[c] 50
app;main;lock;[blocked: futex/lock];[woken by: other (7)]_[o] 50
app;main;ready;[sched-wait] 100
app;main;sync;[waiting for GPU] 70
app;main;[off-CPU below 1ms]_[o] 100
idle;[blocked: poll/epoll]_[o] 100
`
	);
	await open(wall, {}, async (page) => {
		const hues = Object.fromEntries((await frames(page)).map((f) => [f.name, hue(f.fill)]));
		assert.deepStrictEqual(hues, {
			all: 'grey',
			app: 'lilac',
			main: 'lilac',
			'work_[c]': 'red',
			read: 'lilac',
			'[on-CPU]_[c]': 'red',
			vfs_read: 'blue',
			'[blocked: disk I/O]_[o]': 'blue',
			lock: 'blue',
			'[blocked: futex/lock]': 'blue',
			'[woken by: other (7)]_[o]': 'blue',
			ready: 'grey',
			'[sched-wait]': 'grey',
			sync: 'teal',
			'[waiting for GPU]': 'teal',
			'[off-CPU below 1ms]_[o]': 'blue',
			idle: 'blue',
			'[blocked: poll/epoll]_[o]': 'blue'
		});
		assert.deepStrictEqual(await page.$$eval('.legend text', (list) => list.map((t) => t.textContent)), [
			'off-CPU 50.0 %',
			'on-CPU 33.0 %',
			'waiting for a CPU 10.0 %',
			'waiting for a GPU 7.0 %',
			'several above it'
		]);
		const legend = await page.$$eval('.legend rect', (list) => list.map((r) => getComputedStyle(r).fill));
		assert.deepStrictEqual(legend.map(hue), ['blue', 'red', 'grey', 'teal', 'lilac']);
		const labels = await page.$$eval('.t text', (list) => list.map((t) => t.textContent));
		assert.ok(labels.includes('work') && labels.includes('[blocked: disk I/O]'), labels.join());
	});
});

picturing('a click zooms, the ancestors stay, a click on one zooms out to it', {}, async (page) => {
	await click(page, 'loop');
	let loop = await frame(page, 'loop'),
		read = await frame(page, 'read', 1),
		main = await frame(page, 'main', 1);
	close(loop.width, 1180, 'zoomed frame');
	close(read.width, (1180 * 250) / 470, 'its child');
	close(main.width, 1180, 'its parent');
	assert.deepStrictEqual(main.classes, ['a']);
	assert.deepStrictEqual(loop.classes, []);
	assert.deepStrictEqual((await frame(page, 'java')).classes, ['h']);
	assert.strictEqual((await frame(page, 'java')).width, 0);
	assert.match(await text(page, '.line'), /^Zoomed to loop · .*470 samples · 46\.95 % of all/);
	await page.mouse.move(read.x + 5, read.y + 5);
	assert.match(await text(page, '.line'), /^read · native · 250 samples · 24\.98 % of all · 53\.19 % of view$/);
	await click(page, 'redis');
	close((await frame(page, 'redis')).width, 1180, 'the ancestor');
	close((await frame(page, 'loop')).width, (1180 * 470) / 510, 'the frame zoomed before');
	await page.getByRole('button', { name: 'Reset zoom' }).click();
	close((await frame(page, 'all')).width, 1180, 'root');
	close((await frame(page, 'java')).width, (1180 * 260) / total(stacks), 'java');
	assert.ok(await page.getByRole('button', { name: 'Reset zoom' }).isDisabled());
});

const SEARCHES = [
	['alloc', (f) => f.includes('alloc')],
	['recurse', (f) => f === 'recurse'] /* three times in one stack */,
	['eval', (f) => f === 'eval'],
	['main', (f) => f.includes('main')] /* a frame and frames above it, and Main.main */,
	['read', (f) => f.includes('read')] /* read below vfs_read; Thread is not read */,
	['/^(read|parse)$/', (f) => /^(read|parse)$/.test(f)],
	['/./', () => true],
	['/thread|LEAF/i', (f) => /thread|leaf/i.test(f)],
	['std::sort', (f) => f === 'std::sort'],
	['名前', (f) => f.includes('名前')],
	['t1', (f) => f.includes('t1')],
	['not there', () => false],
	['a.l', () => false] /* no regular expression without slashes */
];
picturing('what is matched is the share of the stacks that match, whatever overlaps', {}, async (page) => {
	for (const [query, fits] of SEARCHES) {
		await search(page, query);
		const result = await text(page, '.result');
		const n =
			(await frames(page)).filter((f) => f.name !== 'all' && fits(f.name)).length + (query === '/./' ? 1 : 0);
		assert.ok(result.startsWith(`${matchedPercent(stacks, fits)} total (`), `${query}: ${result}`);
		assert.ok(
			result.endsWith(`) · ${selfPercent(stacks, fits)} self · ${n} frame${n === 1 ? '' : 's'}`),
			`${query}: ${result}, not ${n}`
		);
		assert.strictEqual(await matched(page), n);
	}
	await search(page, 'alloc');
	assert.strictEqual((await frame(page, 'alloc')).fill, 'rgb(230, 0, 230)');
	assert.match(await text(page, '.result'), / total \(320 samples\) /);
});

picturing('search does not change what percentages are of', {}, async (page) => {
	await click(page, 'loop');
	await search(page, 'alloc');
	assert.match(
		await text(page, '.result'),
		new RegExp('^' + matchedPercent(stacks, (f) => f === 'alloc') + ' total ')
	);
	assert.match(await text(page, '.line'), /46\.95 % of all/);
});

picturing('a bad regular expression keeps the last result and says so', {}, async (page) => {
	await search(page, 'alloc');
	await search(page, '/al(/');
	assert.match(await text(page, '.result'), /^Bad regex: /);
	assert.strictEqual(await page.locator('.bar input').getAttribute('aria-invalid'), 'true');
	assert.strictEqual(await matched(page), 2);
	await search(page, '/al(l)oc/');
	assert.match(await text(page, '.result'), /^32\.0 % total /);
	assert.strictEqual(await page.locator('.bar input').getAttribute('aria-invalid'), null);
});

picturing('case is ignored on demand', {}, async (page) => {
	await search(page, 'leaf');
	assert.strictEqual(await matched(page), 0);
	await page.keyboard.press('ControlOrMeta+i');
	assert.strictEqual(await matched(page), 1);
	assert.strictEqual(await page.getByRole('button', { name: 'Ignore case' }).getAttribute('aria-pressed'), 'true');
	await search(page, '/^LEAF$/');
	assert.strictEqual(await matched(page), 1);
	await page.keyboard.press('ControlOrMeta+i');
	assert.strictEqual(await matched(page), 0);
});

picturing('n and N go through the matches, also those too small to see', {}, async (page) => {
	await search(page, 'read');
	await page.keyboard.press('Enter');
	const first = await text(page, '.line');
	assert.match(first, /^Zoomed to /);
	assert.match(await text(page, '.result'), / · 1\/4$/);
	await page.keyboard.press('Escape'); /* clears the search */
	assert.strictEqual(await matched(page), 0);
	await page.getByRole('button', { name: 'Reset zoom' }).click();
	await search(page, 't1');
	assert.ok((await frame(page, 't1')).classes.includes('m'));
	await page.keyboard.press('Escape');
	await search(page, 'alloc');
	await page.getByRole('button', { name: 'Next match' }).focus();
	const seen = [];
	for (const key of ['n', 'n', 'n', 'N']) {
		await page.keyboard.press(key);
		seen.push((await text(page, '.result')).slice(-3));
	}
	assert.deepStrictEqual(seen, ['1/2', '2/2', '1/2', '2/2']);
	close((await frame(page, 'alloc', 1)).width, 1180, 'the match');
});

picturing("F3 and Ctrl-F search, a second Ctrl-F is the browser's", {}, async (page) => {
	const focused = () => page.evaluate(() => document.activeElement?.localName);
	await page.keyboard.press('F3');
	assert.strictEqual(await focused(), 'input');
	await page.keyboard.press('Escape');
	assert.strictEqual(await focused(), 'rect');
	await page.keyboard.press('ControlOrMeta+f');
	assert.strictEqual(await focused(), 'input');
	const taken = await page.evaluate(
		() =>
			!document.activeElement.dispatchEvent(
				new KeyboardEvent('keydown', { key: 'f', ctrlKey: true, bubbles: true, cancelable: true })
			)
	);
	assert.strictEqual(taken, false);
});

picturing('the keyboard walks through the frames', {}, async (page) => {
	const at = () => page.evaluate(() => document.activeElement.textContent.split('\n')[0]);
	const walk = async (keys) => {
		const names = [];
		for (const k of keys) {
			await page.keyboard.press(k);
			names.push(await at());
		}
		return names;
	};
	await page.locator('.f rect').first().focus();
	/* Root at the bottom: up is to the heaviest child. Siblings are by name: java, python, redis, tiny. */
	assert.deepStrictEqual(
		await walk(['ArrowUp', 'ArrowLeft', 'ArrowLeft', 'ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowUp', 'ArrowUp']),
		['redis', 'python', 'java', 'java', 'python', 'main', 'eval', 'std::sort']
	);
	assert.match(await text(page, '.live'), /^std::sort · .* · 11\.99 % of view, depth 4, 2 of 2$/);
	assert.strictEqual(await page.locator('.ring').count(), 2);
	assert.strictEqual(await page.locator('.f rect[tabindex="0"]').count(), 1);
	assert.deepStrictEqual(await walk(['ArrowDown', 'Enter']), ['eval', 'eval']);
	close((await frame(page, 'eval')).width, 1180, 'zoomed by Enter');
	assert.deepStrictEqual(await walk(['ArrowDown', 'ArrowUp', 'ArrowUp']), ['main', 'eval', 'std::sort']);
	await page.keyboard.press('Escape');
	close((await frame(page, 'all')).width, 1180, 'reset by Escape');
	assert.strictEqual((await frame(page, 'java')).classes.includes('h'), false);
	const order = [];
	for (let i = 0; i < 8; i++) {
		await page.keyboard.press('Tab');
		order.push(await page.evaluate(() => document.activeElement?.localName));
	}
	for (const want of ['input', 'button', 'rect'])
		assert.ok(order.includes(want), `Tab never reached a ${want}: ${order}`);
});

picturing('zoom and search are in the address and come back', {}, async (page) => {
	await click(page, 'loop');
	await search(page, '/Alloc|;&=#%/');
	await page.keyboard.press('ControlOrMeta+i');
	const before = [await frames(page), await text(page, '.result'), await hash(page)];
	assert.match(before[2], /^#z=[0-9a-z]+&s=%2FAlloc.*&i=1$/);
	await page.reload();
	const again = [await frames(page), await text(page, '.result'), await hash(page)];
	assert.deepStrictEqual(again, before);
	assert.strictEqual(await page.$eval('input', (e) => e.value), '/Alloc|;&=#%/');
	await page.keyboard.press('Escape');
	assert.strictEqual((await frame(page, 'java')).classes.includes('h'), false);
	assert.doesNotMatch(await hash(page), /z=/);
});

picturing('every frame has an address of its own', {}, async (page) => {
	const addresses = await page.evaluate(() =>
		[...document.querySelectorAll('.f rect')].map((r) => {
			r.dispatchEvent(new MouseEvent('click', { bubbles: true }));
			return location.hash;
		})
	);
	assert.strictEqual(new Set(addresses).size, addresses.length);
	assert.strictEqual(addresses[0], ''); /* the root is no zoom */
});

test('an address finds the frame again in another picture of the same program', async () => {
	let address;
	await open(picture, {}, async (page) => {
		await click(page, 'loop');
		address = await hash(page);
	});
	const other = draw(dir, 'other', FOLDED.replace(/^java.*\n/m, '').replaceAll('190', '19'), ['--icicle']);
	await open(other, { hash: address, viewport: { width: 800, height: 600 } }, async (page) => {
		assert.match(await text(page, '.line'), /^Zoomed to loop /);
		close((await frame(page, 'loop')).width, 780, 'the zoomed frame');
	});
	const without = draw(dir, 'without', 'a;b 1\n');
	await open(without, { hash: address }, async (page) => {
		assert.match(await text(page, '.line'), /not in this graph/);
		close((await frame(page, 'b')).width, 1180, 'all is shown');
	});
	await open(picture, { hash: '#z=%&s=%E0%A4%A&i=7&&=' }, async (page) => {
		close((await frame(page, 'all')).width, 1180, 'a broken address is ignored');
	});
});

/* WCAG contrast of two colours "rgb(r, g, b)". */
function contrast(a, b) {
	const light = (c) =>
		c
			.map((v) => v / 255)
			.map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
			.reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0) + 0.05;
	const x = light(a),
		y = light(b);
	return Math.max(x, y) / Math.min(x, y);
}
const rgb = (s) =>
	s
		.match(/[\d.]+/g)
		.map(Number)
		.slice(0, 3);

for (const colorScheme of ['light', 'dark'])
	picturing(
		`text is legible in ${colorScheme} mode, also on faded and matching frames`,
		{ colorScheme },
		async (page) => {
			await search(page, 'loop');
			await click(page, 'read', 1);
			const colours = await page.evaluate(() => {
				const style = (e) => getComputedStyle(e),
					of = (css) => style(document.querySelector(css));
				const under = (t) =>
					[...document.querySelectorAll('.f rect')].find(
						(r) =>
							!r.getAttribute('class').includes('h') &&
							Math.abs(r.getBoundingClientRect().y - t.getBoundingClientRect().y) < 9 &&
							t.getBoundingClientRect().x >= r.getBoundingClientRect().x - 1 &&
							t.getBoundingClientRect().x <= r.getBoundingClientRect().right
					);
				return {
					page: of('.bg').fill,
					texts: [of('.title').fill, of('.sub').fill, of('.legend text').fill, of('.line').color],
					labels: [...document.querySelectorAll('.t text')].map((t) => ({
						name: t.textContent,
						fill: style(t).fill,
						under: style(under(t)).fill,
						opacity: +style(under(t)).fillOpacity
					}))
				};
			});
			const ground = rgb(colours.page);
			assert.ok(colorScheme === 'dark' ? ground[0] < 50 : ground[0] > 240, `the page is ${ground}`);
			for (const t of colours.texts) assert.ok(contrast(rgb(t), ground) >= 4.5, `${t} on the page`);
			assert.ok(colours.labels.length >= 6);
			for (const l of colours.labels) {
				const under = rgb(l.under).map((v, i) => v * l.opacity + ground[i] * (1 - l.opacity));
				assert.ok(contrast(rgb(l.fill), under) >= 4.5, `${l.name}: ${contrast(rgb(l.fill), under)}`);
			}
		}
	);

test('names are text, whatever they look like', async () => {
	const hostile = draw(dir, 'hostile', HOSTILE, ['--title', '</title><script>window.pwned=7</script>']);
	await open(hostile, {}, async (page) => {
		for (const f of await frames(page)) {
			await click(page, f.name);
			await page.keyboard.press('0');
		}
		await search(page, 'script');
		await page.keyboard.press('Enter');
		await page.reload();
		assert.strictEqual(await page.evaluate(() => window.pwned), undefined);
		assert.strictEqual(await page.locator('script').count(), 1);
		assert.strictEqual(await page.locator('img').count(), 0);
		const names = (await frames(page)).map((f) => f.name);
		for (const s of parse(HOSTILE)) for (const f of s.frames.filter(Boolean)) assert.ok(names.includes(f), f);
		assert.strictEqual(await text(page, '.title'), '</title><script>window.pwned=7</script>');
	});
});

/* Nothing sticks out of the window, labels stay inside their frames, legend and controls do not overlap. */
async function checkLayout(page, width) {
	const bad = await page.evaluate((width) => {
		const out = [],
			boxes = (css) => [...document.querySelectorAll(css)].map((e) => [e, e.getBoundingClientRect()]);
		const rects = boxes('.f rect').filter(([, b]) => b.width > 0);
		for (const [e, b] of [
			...boxes('.title'),
			...boxes('.sub tspan'),
			...boxes('.legend > g'),
			...boxes('.bar > *'),
			...rects
		])
			if (b.left < -0.5 || b.right > width + 0.5) out.push(`${e.textContent} from ${b.left} to ${b.right}`);
		for (const [e, b] of boxes('.t text'))
			if (!rects.some(([, r]) => b.left >= r.left && b.right <= r.right + 1 && Math.abs(b.top - r.top) < 6))
				out.push(`label ${e.textContent} is outside of its frame`);
		const parts = [...boxes('.title'), ...boxes('.sub tspan'), ...boxes('.legend > g'), ...boxes('.bar')];
		parts.forEach(([e, b], i) =>
			parts.slice(i + 1).forEach(([f, c]) => {
				if (b.left < c.right - 1 && c.left < b.right - 1 && b.top < c.bottom - 1.5 && c.top < b.bottom - 1.5)
					out.push(`${e.textContent} overlaps ${f.textContent}`);
			})
		);
		return out;
	}, width);
	assert.deepStrictEqual(bad, []);
}

picturing('the layout follows the window', {}, async (page) => {
	for (const width of [1200, 1700, 700, 360, 320]) {
		await page.setViewportSize({ width, height: 600 });
		await page.waitForFunction(
			(w) => Math.abs(document.querySelector('.f rect').getBoundingClientRect().width - w) < 1,
			width - 20
		);
		await checkLayout(page, width);
	}
	await click(page, 'loop');
	close((await frame(page, 'loop')).width, 300, 'zoomed in a narrow window');
	await checkLayout(page, 320);
});

test('a high picture starts at its root, and the controls stay in sight', async () => {
	const deep = 'a;'.repeat(120) + 'end 10\n';
	await open(draw(dir, 'deep', deep), { viewport: { width: 800, height: 500 } }, async (page) => {
		const root = await frame(page, 'all');
		assert.ok(root.y > 0 && root.y < 500, `root at ${root.y}`);
		const bar = await page.locator('.bar').boundingBox();
		assert.ok(bar.y >= 0 && bar.y < 5, `controls at ${bar.y}`);
		const widths = new Set((await frames(page)).map((f) => Math.round(f.width)));
		assert.strictEqual(widths.size, 1);
	});
	await open(draw(dir, 'icicle', deep, ['--icicle']), { viewport: { width: 800, height: 500 } }, async (page) => {
		const root = await frame(page, 'all');
		assert.ok(root.y > 0 && root.y < 200, `root at ${root.y}`);
		await page.locator('.f rect').first().focus();
		await page.keyboard.press('ArrowDown'); /* the way it looks: down is to the child */
		assert.strictEqual(await page.evaluate(() => document.activeElement.textContent.split('\n')[0]), 'a');
	});
});

test('pruned frames keep their place and are found by nothing', async () => {
	const many = Array.from({ length: 3000 }, (_, i) => `main;f${i} ${i === 7 ? 3000 : 1}`).join('\n') + '\n';
	await open(draw(dir, 'pruned', many, ['--min-width', '1']), {}, async (page) => {
		const all = await frames(page),
			rest = all.find((f) => f.name.includes('below'));
		assert.strictEqual(all.length, 4);
		assert.strictEqual(rest.name, '2,999 frames below 1 px');
		assert.strictEqual(rest.value, 2999);
		await search(page, 'frames below');
		assert.strictEqual(await matched(page), 0);
		await search(page, '/./');
		assert.strictEqual(await matched(page), 3);
		assert.match(await text(page, '.result'), /^100\.0 % total /);
	});
});

test('a match is never too narrow to see', async () => {
	await open(draw(dir, 'sliver', 'main;wide 9000\nmain;sliver 1\n'), {}, async (page) => {
		assert.ok((await frame(page, 'sliver')).width < 0.2);
		await search(page, 'sliver');
		assert.ok((await frame(page, 'sliver')).width >= 1);
	});
});

test('it works inside a page, several at once, and leaves the page alone', async () => {
	const svg = fs.readFileSync(picture, 'utf8').replace(/^<\?xml.*\n/, '');
	const page =
		`<!DOCTYPE html><meta charset="utf-8"><title>t</title><body style="margin:0"><p class="title">x</p>` +
		`<div id="one" style="width:500px">${svg}</div><div id="two" style="width:700px">${svg}</div>`;
	const server = http.createServer((_, response) => {
		response.writeHead(200, {
			'content-type': 'text/html',
			'content-security-policy': "connect-src 'none'; img-src data:"
		});
		response.end(page);
	});
	await new Promise((done) => server.listen(0, '127.0.0.1', done));
	const context = await browser.newContext(),
		tab = await context.newPage(),
		errors = [];
	tab.on('pageerror', (e) => errors.push(e.message));
	const url = `http://127.0.0.1:${server.address().port}/`;
	await tab.goto(url);
	const width = (id, name) =>
		tab.$$eval(
			`#${id} .f rect`,
			(list, name) => list.find((r) => r.textContent.startsWith(name + '\n')).getBoundingClientRect().width,
			name
		);
	close(await width('one', 'all'), 480, 'first root');
	close(await width('two', 'all'), 680, 'second root');
	await tab.locator('#one .f rect', { hasText: 'loop' }).click();
	close(await width('one', 'loop'), 480, 'zoomed');
	close(await width('two', 'loop'), (680 * 470) / total(stacks), 'not zoomed');
	assert.strictEqual(await tab.evaluate(() => location.href), url);
	await tab.keyboard.press('/');
	assert.strictEqual(await tab.evaluate(() => document.activeElement.closest('div[id]').id), 'one');
	assert.strictEqual(await tab.locator('p.title').evaluate((e) => getComputedStyle(e).fontSize), '16px');
	await context.close();
	server.close();
	assert.deepStrictEqual(errors, []);
});

test('it is a picture without its script, too', async () => {
	const page = path.join(dir, 'img.html');
	fs.writeFileSync(page, `<!DOCTYPE html><body style="margin:0"><img src="flame.svg">`);
	const context = await browser.newContext({ viewport: { width: 1200, height: 400 } }),
		tab = await context.newPage();
	await tab.goto(pathToFileURL(page).href);
	const size = await tab.locator('img').evaluate((i) => [i.naturalWidth, i.naturalHeight]);
	assert.strictEqual(size[0], 1200);
	assert.ok(size[1] > 150 && size[1] < 400, String(size));
	await context.close();
	const silent = await browser.newContext({ javaScriptEnabled: false }),
		still = await silent.newPage();
	await still.goto(pathToFileURL(picture).href);
	assert.ok((await still.locator('.t text', { hasText: 'loop' }).count()) > 0);
	assert.strictEqual(await still.locator('svg.cf').first().getAttribute('role'), 'img');
	await silent.close();
});

test('20,000 rectangles can be used', async () => {
	const lines = [];
	for (let i = 0; i < 9900; i++) lines.push(`main;g${i % 100};f${i};leaf${i} ${1 + (i % 3)}`);
	await open(draw(dir, 'large', lines.join('\n') + '\n', ['--min-width', '0.01']), {}, async (page) => {
		assert.strictEqual(await page.locator('.f rect').count(), 2 + 100 + 2 * 9900);
		const ms = await page.evaluate(() => {
			const from = performance.now(),
				r = document.querySelectorAll('.f rect')[2];
			r.dispatchEvent(new MouseEvent('click', { bubbles: true }));
			r.getBoundingClientRect();
			return performance.now() - from;
		});
		assert.ok(ms < 3000, `a zoom takes ${ms} ms`); /* 0.2 s on an idle machine of two cores */
	});
});
