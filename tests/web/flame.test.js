// tier: test
// parts: 2
/* The flame graph component alone (web/flame.js) in a real browser: what it draws, says and answers, beside the same
 * counted on stacks one by one. */
'use strict';
const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');
const { after, before, test } = require('node:test');
const { serve } = require('./flame_host.js');
const { launch, shot } = require('./picture.js');

const ROW = 18,
	MAP = 46,
	MAGENTA = '#e600e6';
let browser, site, make, stacks, encode;

before(async () => {
	[browser, site] = [await launch(), await serve()];
	const [trees, shape, tree] = await Promise.all([
		import('./unit/trees.js'),
		import('../../web/tree_shape.js'),
		import('../../web/tree.js')
	]);
	stacks = trees.randomStacks(21, 600, 14);
	make = { ...trees, ...shape, ...tree };
	/* As text: of an array, each number would be wrapped on its way to the page. */
	encode = (t) => Buffer.from(make.encodeTree(t)).toString('base64');
});
after(async () => {
	await browser?.close();
	site?.server.close();
});

/* --- a page with one graph --- */

const HEADER = { type: 'cpu', unit: 'nanoseconds' };
const ms = (list) => list.map(({ frames, value }) => ({ frames, value: value * 1e6 }));
const tree = () => make.buildTree(ms(stacks), HEADER);

async function open(t, { width = 1280, height = 720, options = {}, ...context } = {}) {
	const page = await (
		await browser.newContext({ viewport: { width, height }, reducedMotion: 'reduce', ...context })
	).newPage();
	page.wrong = [];
	page.on('pageerror', (e) => page.wrong.push(String(e)));
	page.on('console', (m) => {
		if (m.type() === 'error') page.wrong.push(m.text());
	});
	await page.goto(site.address);
	await page.evaluate(async (how) => {
		const [{ Flame }, { decodeTree }] = await Promise.all([import('/flame.js'), import('/tree.js')]);
		window.decode = (text) => decodeTree(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)));
		window.flame = new Flame(document.getElementById('host'), how);
		window.events = [];
		for (const name of ['zoom', 'select', 'menu', 'hover', 'mode', 'search', 'flip'])
			flame.on(name, (e) => events.push([name, e.node ?? -1]));
		/* Colours and places, for the tests. */
		window.colourAt = (x, y) => {
			const p =
				flame.raster.pixels[Math.floor(y * flame.ratio) * flame.raster.width + Math.floor(x * flame.ratio)];
			return (
				'#' + [p & 255, (p >> 8) & 255, (p >> 16) & 255].map((v) => v.toString(16).padStart(2, '0')).join('')
			);
		};
		window.placeOf = (node) => {
			const px = flame.width / (flame.view.x1 - flame.view.x0),
				left = (flame.layout.start[node] - flame.view.x0) * px;
			return { left, width: flame.layout.width[node] * px, top: flame.top(flame.tree.depth[node]) };
		};
		window.find = (...names) => {
			for (let i = 0; i < flame.tree.n; i++) if (flame.namesTo(i).join() === names.join()) return i;
			return -1;
		};
	}, options);
	await put(page, t);
	return page;
}
async function put(page, t, how = {}) {
	await page.evaluate(([text, h]) => flame.setTree(decode(text), h), [encode(t), how]);
	await drawn(page);
}
const drawn = (page) =>
	page.evaluate(
		() =>
			new Promise((resolve) => {
				requestAnimationFrame(() => requestAnimationFrame(resolve));
			})
	);
async function close(page) {
	assert.deepStrictEqual(page.wrong, [], 'nothing went wrong in the page');
	await page.context().close();
}
const state = (page) =>
	page.evaluate(() => ({
		zoom: flame.zoom,
		focus: flame.focus,
		view: flame.view,
		scroll: flame.scroll,
		live: flame.live.textContent,
		tip: flame.tip.box.hidden ? '' : flame.tip.box.innerText,
		names: flame.namesTo(flame.zoom)
	}));
/* The middle of a node, in the window. */
async function middle(page, node) {
	const { left, width, top } = await page.evaluate((i) => placeOf(i), node);
	return [left + width / 2, MAP + top + ROW / 2];
}
async function clickOn(page, node, options) {
	const [x, y] = await middle(page, node);
	await page.mouse.click(x, y, options);
	await drawn(page);
}
/* The widest node of this depth. */
const widest = (page, depth) =>
	page.evaluate((row) => {
		const { layout } = flame,
			nodes = [...layout.order.slice(layout.first[row], layout.first[row + 1])];
		return nodes.sort((a, b) => layout.width[b] - layout.width[a])[0];
	}, depth);

/* --- drawing --- */

test('every frame is where its value says, in the colour of its kind', async () => {
	const page = await open(tree()),
		all = await page.evaluate(async () => {
			const { fillOf } = await import('/colours.js'),
				out = [];
			for (let i = 0; i < flame.tree.n; i++) {
				const { left, width, top } = placeOf(i),
					frame = flame.tree.frame[i],
					group = flame.paint.groups[flame.paint.ofFrame[frame]];
				if (width >= 4 && top + 18 < flame.height)
					out.push([
						colourAt(left + width / 2, top + 1),
						'#' + fillOf(group, flame.paint.step[frame]).toString(16).padStart(6, '0')
					]);
			}
			return out;
		});
	assert.ok(all.length > 50);
	for (const [is, wanted] of all) assert.strictEqual(is, wanted);
	await close(page);
});
test('leaving out what is not seen changes no pixel', async () => {
	const page = await open(make.buildTree(ms(make.randomStacks(8, 4000, 30)), HEADER)),
		wrong = await page.evaluate(() => {
			const { layout, raster, tree } = flame,
				{ colours, steps, ofFrame, step } = flame.inks,
				bad = [];
			const half = (a, b) => ((((a & 0xfefefe) >>> 1) + ((b & 0xfefefe) >>> 1)) | 0xff000000) >>> 0;
			const paint = (line, i, px, x0) => {
				const a = (layout.start[i] - x0) * px,
					w = layout.width[i] * px,
					end = line.length,
					right = Math.min(end, Math.round(a + w));
				const group = ofFrame[tree.frame[i]],
					colour = colours[group * steps + step[tree.frame[i]]],
					left = Math.max(0, Math.round(a));
				if (a >= end || a + w <= 0) return;
				if (w < 1 && line[Math.max(0, Math.floor(a))] === flame.look.background)
					line[Math.max(0, Math.floor(a))] = flame.look.run;
				if (w >= 1) line.fill(colour, left, right);
				if (w >= 1 && right - left > 2) line[right - 1] = half(colour, flame.look.background);
			};
			for (let view = 0; view < 40; view++) {
				const all = layout.width[0],
					span = all / 10 ** (view / 10),
					x0 = (all - span) * ((view * 0.618) % 1);
				flame.setView(x0, x0 + span);
				flame.draw();
				for (let row = 0; row < layout.rows; row++) {
					const line = new Uint32Array(raster.width).fill(flame.look.background),
						at = row * 18 * raster.width;
					for (let i = 0; i < tree.n; i++)
						if (tree.depth[i] === row)
							paint(line, i, raster.width / (flame.view.x1 - flame.view.x0), flame.view.x0);
					line.forEach((p, x) => {
						if (p !== raster.pixels[at + x]) bad.push([view, row, x]);
					});
				}
			}
			return bad;
		});
	assert.deepStrictEqual(wrong, []);
	await close(page);
});
test('what is narrower than a pixel is a grey run, and never has the colour of a kind', async () => {
	const many = Array.from({ length: 20000 }, (_, i) => ({
		frames: [{ name: 'main' }, { name: `f${i}`, kind: 'kernel' }],
		value: 1
	}));
	const page = await open(make.buildTree(many, HEADER)),
		colours = await page.evaluate(() => [
			...new Set(Array.from({ length: 1280 }, (_, x) => colourAt(x, 2 * 18 + 5)))
		]);
	assert.strictEqual(colours.length, 1);
	assert.strictEqual(
		colours[0],
		await page.evaluate(() => {
			const p = flame.look.run;
			return (
				'#' + [p & 255, (p >> 8) & 255, (p >> 16) & 255].map((v) => v.toString(16).padStart(2, '0')).join('')
			);
		})
	);
	/* … but a match in it is seen, in the graph and in the map. */
	await page.evaluate(() => flame.setSearch('f777'));
	await drawn(page);
	const seen = await page.evaluate(() => Array.from({ length: 1280 }, (_, x) => colourAt(x, 2 * 18 + 5)));
	const hits = many.filter((s) => s.frames[1].name.includes('f777')).length;
	assert.strictEqual(hits, 11);
	assert.ok(seen.filter((c) => c === MAGENTA).length >= 2 && seen.filter((c) => c === MAGENTA).length <= hits);
	assert.ok(await page.evaluate(() => [...flame.map.raster.pixels].some((p) => p === flame.look.match)));
	await page.mouse.move(640, MAP + 2 * ROW + 9);
	assert.match((await state(page)).tip, /the widest of \d+ frames that share this pixel/);
	await close(page);
});
test('twice the pixels, and another size', async () => {
	const page = await open(tree(), { deviceScaleFactor: 2 });
	assert.deepStrictEqual(
		await page.evaluate(() => [flame.ratio, flame.canvas.width, flame.canvas.clientWidth]),
		[2, 2560, 1280]
	);
	await page.setViewportSize({ width: 900, height: 500 });
	await drawn(page);
	assert.deepStrictEqual(
		await page.evaluate(() => [flame.width, flame.canvas.width, flame.raster.width, flame.height < 500]),
		[900, 1800, 1800, true]
	);
	await close(page);
});
test('flipped: the root is at the bottom', async () => {
	const page = await open(tree());
	const before = await page.evaluate(() => [flame.top(0), flame.rowAt(5)]);
	await page.evaluate(() => flame.flip());
	await drawn(page);
	assert.deepStrictEqual(before, [0, 0]);
	assert.deepStrictEqual(
		await page.evaluate(() => [flame.top(0) === flame.height - 18, flame.rowAt(flame.height - 5)]),
		[true, 0]
	);
	const node = await widest(page, 2);
	await clickOn(page, node);
	assert.strictEqual((await state(page)).zoom, node);
	await close(page);
});
test('order of time: frames are where they began, and gaps stay gaps', async () => {
	const t = make.buildTree(
		[
			{ frames: [{ name: 'a' }, { name: 'b' }], value: 100 },
			{ frames: [{ name: 'c' }], value: 300 }
		],
		HEADER
	);
	const page = await open(t, { options: { order: 'time' } });
	await page.evaluate((bytes) => {
		const chart = decode(bytes);
		chart.startNs = Float64Array.of(1000, 1000, 1000, 1600);
		chart.total = Float64Array.of(1000, 100, 100, 300);
		flame.setTree(chart);
	}, encode(t));
	await drawn(page);
	const at = (ns) => page.evaluate((x) => colourAt(((x - 1000) / 1000) * flame.width, 18 + 3), ns);
	const [a, gap, c, end] = [await at(1050), await at(1300), await at(1700), await at(1950)];
	assert.ok(a !== gap && c !== gap && gap === end);
	await close(page);
});

/* --- zoom --- */

test('a click zooms, an ancestor zooms out, Escape and 0 show everything', async () => {
	const page = await open(tree()),
		node = await widest(page, 4);
	await clickOn(page, node);
	const s = await state(page);
	assert.strictEqual(s.zoom, node);
	assert.deepStrictEqual(s.view, await page.evaluate((i) => flame.viewOf(i), node));
	assert.ok((await page.evaluate(() => events)).some(([name, i]) => name === 'zoom' && i === node));
	assert.match(s.live, /^Zoomed to .*100\.0 % of view, depth 4/);
	const up = await page.evaluate((i) => flame.tree.parent[i], node);
	await page.mouse.click(640, MAP + 3 * ROW + 9);
	await drawn(page);
	assert.strictEqual((await state(page)).zoom, up);
	await page.keyboard.press('Escape');
	assert.strictEqual((await state(page)).zoom, 0);
	await clickOn(page, node);
	await page.keyboard.press('0');
	assert.strictEqual((await state(page)).zoom, 0);
	await close(page);
});
test('a path has a hash that finds it again in another tree', async () => {
	const page = await open(tree()),
		node = await widest(page, 5);
	await clickOn(page, node);
	const wanted = (await state(page)).names,
		hash = await page.evaluate(async () => {
			const { pathHash } = await import('/flame/layout.js');
			return pathHash(flame.layout, flame.zoom);
		});
	assert.match(hash, /^[0-9a-z]{1,7}\.[0-9a-z]{1,7}$/);
	await put(page, make.buildTree(ms([...stacks, { frames: [{ name: 'aaa' }], value: 50000 }]), HEADER));
	assert.strictEqual((await state(page)).zoom, 0);
	assert.strictEqual(await page.evaluate((h) => flame.zoomTo(h), hash), true);
	assert.deepStrictEqual((await state(page)).names, wanted);
	assert.strictEqual(await page.evaluate(() => flame.zoomTo('zzz.zzz')), false);
	assert.deepStrictEqual((await state(page)).names, wanted);
	await close(page);
});
test('a new tree: zoom, focus, view and order stay', async () => {
	const page = await open(tree()),
		node = await widest(page, 3);
	await clickOn(page, node);
	await page.evaluate(() => flame.zoomAt(300, 2));
	const wanted = (await state(page)).names,
		share = (s, t) =>
			[(s.view.x0 - t.x0) / (t.x1 - t.x0), (s.view.x1 - t.x0) / (t.x1 - t.x0)].map((v) => v.toFixed(6));
	const was = share(await state(page), await page.evaluate((i) => flame.viewOf(i), node));
	const siblings = () =>
		page.evaluate(() => {
			const out = [];
			for (let i = 1; i < flame.tree.n; i = flame.tree.end[i]) out.push(flame.tree.name(i));
			return out;
		});
	const order = await siblings();
	await put(page, make.buildTree(ms([{ frames: [{ name: 'aaa' }], value: 9e4 }, ...stacks]), HEADER), {
		keepZoom: true,
		keepOrder: true
	});
	const s = await state(page);
	assert.deepStrictEqual(s.names, wanted);
	assert.deepStrictEqual(share(s, await page.evaluate(() => flame.viewOf(flame.zoom))), was);
	assert.deepStrictEqual(await siblings(), [...order, 'aaa']);
	await put(page, make.buildTree([{ frames: [{ name: wanted[0] }], value: 1 }], HEADER), { keepZoom: true });
	assert.deepStrictEqual((await state(page)).names, wanted.slice(0, 1), 'as far as it has the path');
	await close(page);
});
test('Ctrl and the wheel zoom at the pointer, a drag pans, the wheel scrolls', async () => {
	const deep = Array.from({ length: 80 }, (_, i) => ({ name: 'd' + i }));
	const page = await open(make.buildTree([...ms(stacks), { frames: deep, value: 1e11 }], HEADER));
	const at = (x) => page.evaluate((px) => flame.view.x0 + (px / flame.width) * (flame.view.x1 - flame.view.x0), x);
	const fixed = await at(400);
	await page.mouse.move(400, 300);
	await page.keyboard.down('Control');
	await page.mouse.wheel(0, -400);
	await page.keyboard.up('Control');
	await drawn(page);
	const s = await state(page),
		all = await page.evaluate(() => flame.layout.width[0]);
	assert.ok(Math.abs((s.view.x1 - s.view.x0) / all - Math.exp(-1)) < 1e-6);
	assert.ok(Math.abs((await at(400)) - fixed) < all * 1e-9);
	await page.mouse.move(600, 300);
	await page.mouse.down();
	await page.mouse.move(500, 300, { steps: 4 });
	await page.mouse.up();
	const moved = await state(page);
	assert.ok(
		Math.abs((moved.view.x0 - s.view.x0) / (s.view.x1 - s.view.x0) - 100 / 1280) < 1e-6,
		'what is under the pointer goes with it'
	);
	assert.strictEqual(moved.zoom, 0, 'a drag is no click');
	await page.mouse.wheel(0, 200);
	await drawn(page);
	assert.strictEqual((await state(page)).scroll, 200);
	await page.mouse.wheel(0, 1e6);
	assert.strictEqual((await state(page)).scroll, await page.evaluate(() => flame.layout.rows * 18 - flame.height));
	await close(page);
});
test('the map shows what is in view, and moves it', async () => {
	const page = await open(tree()),
		node = await widest(page, 2);
	await clickOn(page, node);
	const { left, width } = await page.evaluate(() => {
		const box = flame.map.view.getBoundingClientRect();
		return { left: box.left, width: box.width };
	});
	const wanted = await page.evaluate(() =>
		[flame.view.x0, flame.view.x1].map((x) => (x / flame.layout.width[0]) * flame.width)
	);
	assert.ok(Math.abs(left - wanted[0]) < 1 && Math.abs(left + width - wanted[1]) < 1);
	await page.mouse.click(900, 20);
	await drawn(page);
	const [from, to] = await page.evaluate(() =>
		[flame.view.x0, flame.view.x1].map((x) => (x / flame.layout.width[0]) * flame.width)
	);
	assert.ok(Math.abs((from + to) / 2 - 900) < 1 || to > 1279);
	await close(page);
});

/* --- search --- */

test(
	'search: total, self and frames are those of the stacks; a match below another one does not count ' + 'twice',
	async () => {
		const page = await open(tree()),
			named = make.named(stacks);
		for (const [text, is] of [
			['f1', (n) => n.includes('f1')],
			['/^f[37]/', (n) => /^f[37]/.test(n)],
			['/É/i', (n) => /É/i.test(n)],
			['no such', () => false],
			['<b>', (n) => n.includes('<b>')]
		]) {
			const found = await page.evaluate((q) => {
				const { matched, self, frames, error } = flame.setSearch(q);
				return { matched, self, frames, error, n: flame.found.nodes.length };
			}, text);
			const sum = (list) => list.reduce((all, s) => all + s.value, 0) * 1e6,
				matched = sum(named.filter((s) => s.names.some(is)));
			const prefixes = new Set(
				named
					.flatMap((s) => s.names.map((_, i) => s.names.slice(0, i + 1)))
					.filter((p) => is(p.at(-1)))
					.map((p) => p.join('\0'))
			);
			assert.deepStrictEqual(
				{ ...found, n: found.frames },
				{
					matched,
					self: sum(named.filter((s) => is(s.names.at(-1)))),
					frames: found.n,
					error: '',
					n: prefixes.size
				},
				text
			);
		}
		await close(page);
	}
);
test('a bad expression says so and leaves what was found', async () => {
	const page = await open(tree());
	const good = await page.evaluate(() => flame.setSearch('f1').matched);
	assert.deepStrictEqual(
		await page.evaluate(() => {
			const { error, matched } = flame.setSearch('/(/');
			return [error, matched, flame.found.matched, flame.found.text];
		}),
		['bad expression: Unterminated group', good, good, 'f1']
	);
	await close(page);
});
test('next and previous match go round', async () => {
	const page = await open(tree()),
		seen = await page.evaluate(() => {
			flame.setSearch('f2');
			const n = flame.found.nodes.length,
				out = [flame.previous() === n - 1, flame.next() === 0];
			for (let i = 1; i < n; i++) flame.next();
			return [
				...out,
				flame.atMatch === n - 1,
				flame.next() === 0,
				flame.zoom === flame.found.nodes[0],
				flame.focus === flame.found.nodes[0]
			];
		});
	assert.deepStrictEqual(seen, [true, true, true, true, true, true]);
	await page.evaluate(() => flame.setSearch('nothing has this'));
	assert.strictEqual(await page.evaluate(() => flame.next()), -1);
	await close(page);
});

/* --- words --- */

test('the tooltip: name, place, kind, and shares of the view and of all', async () => {
	const page = await open(tree()),
		up = await widest(page, 1),
		node = await page.evaluate((i) => flame.layout.heaviest(i), up);
	await clickOn(page, up);
	await page.mouse.move(...(await middle(page, node)));
	const { tip } = await state(page),
		named = make.named(stacks),
		names = await page.evaluate((i) => flame.namesTo(i), node);
	const total = (depth) =>
		named
			.filter((s) => names.slice(0, depth).every((n, i) => s.names[i] === n))
			.reduce((sum, s) => sum + s.value, 0);
	const frame = stacks.flatMap((s) => s.frames).find((f) => f.name === names[1]),
		percent = (a, b) => ((100 * a) / b).toPrecision(3) + ' %';
	assert.ok(tip.startsWith(names[1]));
	assert.ok(tip.includes(`${percent(total(2), total(1))} of view · ${percent(total(2), total(0))} of all`), tip);
	for (const word of [frame.mapping, frame.file && `${frame.file}:${frame.line}`, frame.inlined ? 'inlined' : ''])
		assert.ok(tip.includes(word), `${word} in ${tip}`);
	await page.keyboard.press('d');
	assert.ok((await state(page)).tip.startsWith(names[0]), 'docked, it says what has the focus');
	await page.mouse.move(...(await middle(page, node)));
	assert.ok((await state(page)).tip.startsWith(names[1]), '… or is pointed at');
	await page.mouse.move(640, 5);
	await page.keyboard.press('d');
	assert.strictEqual((await state(page)).tip, '');
	await close(page);
});
test('a diff: both sides, the change, and how sure it is', async () => {
	const frames = (name) => [{ name: 'main' }, { name }],
		t = make.buildTree(
			[
				{ frames: frames('grew'), value: 100 },
				{ frames: frames('shrank'), value: 300 },
				{ frames: frames('new'), value: 0 }
			],
			{ type: 'cpu', unit: 'samples' }
		);
	t.selfB = Float64Array.from({ length: t.n }, (_, i) => ({ grew: 250, shrank: 100, new: 50 })[t.name(i)] ?? 0);
	t.samples = t.self;
	t.samplesB = t.selfB;
	const page = await open(t),
		at = (name) => page.evaluate((n) => find('main', n), name);
	assert.strictEqual(await page.evaluate(() => flame.mode), 'diff');
	await page.mouse.move(...(await middle(page, await at('grew'))));
	const { tip } = await state(page);
	for (const words of [
		'A 100 samples · 25.0 %',
		'B 250 samples · 62.5 %',
		'Δ +37.50 points ▲ more',
		'95 % +30.91 … +43.59'
	])
		assert.ok(tip.replace(/\s+/g, ' ').includes(words), `${words} in ${tip}`);
	const colour = async (name) =>
		page.evaluate((i) => colourAt(placeOf(i).left + 30, placeOf(i).top + 1), await at(name));
	assert.deepStrictEqual(
		[await colour('grew'), await colour('shrank'), await colour('new')],
		['#e05a50', '#6089e6', '#f2dc5d']
	);
	assert.match(await page.innerText('.flame-legend'), /more ▲[^]*less ▼[^]*new/);
	await close(page);
});
test('hostile names stay text, and what turns text around is shown', async () => {
	const evil = [
		'<img src=x onerror="window.hacked=1">',
		'</script><script>window.hacked=1</script>',
		'a\u202egnp.exe',
		'b\0\n\u0007',
		'__proto__',
		'constructor',
		'x'.repeat(100000),
		'日本語の関数名がここにあります',
		'\ud800'
	];
	const page = await open(
		make.buildTree(
			evil.map((name, i) => ({ frames: [{ name, file: name, mapping: name }], value: 100 + i })),
			HEADER
		)
	);
	for (let i = 1; i <= evil.length; i++) {
		await page.mouse.move(...(await middle(page, i)));
		await drawn(page);
		await clickOn(page, i);
		const { tip, live } = await state(page),
			name = await page.evaluate((node) => flame.tree.name(node), i);
		for (const text of [live])
			assert.ok(
				text.includes(
					[...name]
						.slice(0, 1)
						.join('')
						.replace(/[\u0000-\u001f]/, '\ufffd')
				)
			);
		assert.ok(!/[\u0000-\u0009\u000b-\u001f\u202e]/.test(tip + live));
		await page.keyboard.press('Escape');
	}
	for (const mode of ['binary', 'package', 'wall', 'gpu', 'contrast', 'kind'])
		await page.evaluate((m) => flame.setMode(m), mode);
	await page.evaluate(() => flame.setSearch('/<img|proto/'));
	assert.deepStrictEqual(
		await page.evaluate(() => [window.hacked, document.querySelectorAll('img, script').length, flame.found.frames]),
		[undefined, 0, 2]
	);
	await close(page);
});
test('the legend: shares of self time, and one group alone', async () => {
	const page = await open(tree()),
		named = stacks.map((s) => ({ kind: s.frames.at(-1).kind, value: s.value }));
	const lines = (await page.innerText('.flame-legend'))
		.split('\n')
		.map((line) => line.trim())
		.filter(Boolean);
	const kernel = named.filter((s) => s.kind === 'kernel').reduce((sum, s) => sum + s.value, 0),
		all = named.reduce((sum, s) => sum + s.value, 0);
	assert.ok(
		lines.some((line) => line === `kernel ${((100 * kernel) / all).toPrecision(3)} %`),
		lines.join()
	);
	const sum = lines.reduce((s, line) => s + Number(/([\d.]+) %$/.exec(line)[1]), 0);
	assert.ok(Math.abs(sum - 100) < 0.1, String(sum));
	const shown = () =>
		page.evaluate(() => {
			let [run, other] = [0, 0];
			for (let i = 1; i < flame.tree.n; i++) {
				const { left, width, top } = placeOf(i);
				if (width > 5 && top + 18 < flame.height && flame.tree.frames.kind[flame.tree.frame[i]] !== 'kernel')
					colourAt(left + 2, top + 1) === '#e4e4e4' ||
					flame.raster.pixels[Math.floor(top + 1) * flame.raster.width + Math.floor(left + 2)] ===
						flame.look.run
						? run++
						: other++;
			}
			return [run > 0, other > 0];
		});
	await page.click('.flame-legend button:has-text("kernel")');
	await drawn(page);
	assert.strictEqual(await page.getAttribute('.flame-legend button:has-text("kernel")', 'aria-pressed'), 'true');
	assert.deepStrictEqual(await shown(), [true, false]);
	await page.click('.flame-legend button:has-text("kernel")');
	await drawn(page);
	assert.deepStrictEqual(await shown(), [false, true]);
	await close(page);
});

/* --- without a mouse --- */

test('by keyboard alone, and said aloud', async () => {
	const page = await open(tree());
	await page.keyboard.press('Tab');
	assert.deepStrictEqual(
		await page.evaluate(() => [
			document.activeElement.getAttribute('role'),
			document.activeElement.tabIndex,
			document.activeElement.getAttribute('aria-label').slice(0, 11),
			flame.live.getAttribute('aria-live')
		]),
		['application', 0, 'Flame graph', 'polite']
	);
	assert.match((await state(page)).live, /^all, 100\.0 % of view, depth 0, 1 of 1$/);
	await page.keyboard.press('ArrowDown');
	const first = await state(page);
	assert.strictEqual(first.focus, await widest(page, 1));
	assert.match(first.live, /, depth 1, \d+ of \d+$/);
	assert.ok(await page.isVisible('.flame-focus'));
	await page.keyboard.press('ArrowDown');
	await page.keyboard.press('ArrowRight');
	const second = await state(page);
	assert.notStrictEqual(second.focus, first.focus);
	await page.keyboard.press('Enter');
	assert.strictEqual((await state(page)).zoom, second.focus);
	await page.keyboard.press('ArrowUp');
	await page.keyboard.press('Escape');
	assert.strictEqual((await state(page)).zoom, 0);
	await page.keyboard.press('Home');
	assert.strictEqual((await state(page)).focus, 0);
	await page.keyboard.press('Shift+Enter');
	assert.deepStrictEqual((await page.evaluate(() => events)).at(-1), ['menu', 0]);
	const modes = [];
	for (let i = 0; i < 6; i++) {
		await page.keyboard.press('c');
		modes.push(await page.evaluate(() => flame.mode));
	}
	assert.deepStrictEqual(modes, ['wall', 'binary', 'package', 'gpu', 'contrast', 'kind']);
	await close(page);
});
test('fingers: a long press is the menu, two of them zoom, a tap is a click', async () => {
	const page = await open(tree(), { hasTouch: true, isMobile: true, width: 390, height: 844 }),
		session = await page.context().newCDPSession(page);
	assert.strictEqual(await page.evaluate(() => flame.rowHeight), 22);
	const touch = (type, points) =>
		session.send('Input.dispatchTouchEvent', { type, touchPoints: points.map(([x, y], id) => ({ x, y, id })) });
	await touch('touchStart', [[150, MAP + 33]]);
	await page.waitForFunction(() => events.some(([name]) => name === 'menu'));
	await touch('touchEnd', []);
	assert.strictEqual((await state(page)).zoom, 0, 'a long press is no click');
	await page.evaluate(() => flame.setView(0, flame.layout.width[0]));
	await page.evaluate(() => {
		flame.canvas.style.touchAction = 'none';
	});
	const span = () => page.evaluate(() => (flame.view.x1 - flame.view.x0) / flame.layout.width[0]);
	await touch('touchStart', [
		[150, 300],
		[250, 300]
	]);
	await touch('touchMove', [
		[100, 300],
		[250, 300]
	]);
	await touch('touchMove', [
		[100, 300],
		[300, 300]
	]);
	await touch('touchEnd', []);
	assert.ok(Math.abs((await span()) - 0.5) < 0.02, String(await span()));
	await page.evaluate(() => flame.reset());
	await page.touchscreen.tap(150, MAP + 33);
	await drawn(page);
	assert.strictEqual((await state(page)).names.length, 1);
	await close(page);
});

/* --- pictures --- */

test('pictures, light and dark, wide and narrow', async () => {
	const wide = await make.buildTree(ms(make.randomStacks(5, 3000, 40)), HEADER);
	for (const [width, height] of [
		[1280, 720],
		[1600, 900],
		[390, 844]
	])
		for (const colorScheme of ['light', 'dark']) {
			const page = await open(wide, { width, height, colorScheme }),
				node = await widest(page, 3);
			await page.evaluate(() => flame.setSearch('f7'));
			await page.mouse.move(...(await middle(page, node)));
			await drawn(page);
			await shot(page, `flame-${width}-${colorScheme}`);
			const fits = await page.evaluate(() => [
				document.documentElement.scrollWidth <= innerWidth,
				flame.legend.box.getBoundingClientRect().bottom <= innerHeight
			]);
			assert.deepStrictEqual(fits, [true, true], 'nothing is clipped');
			await close(page);
		}
});
