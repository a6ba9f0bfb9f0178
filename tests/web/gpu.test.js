// tier: test
// parts: 2
/* What ran on GPUs, on the Timeline in a real browser and in report.html: lanes of streams, who asked for what ran, why
 * a GPU was idle. Of known truth: tests/fixture/gpu.c, and readings of gpu_store.c and host.c. */
'use strict';
const assert = require('node:assert');
const { execFileSync, spawn } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { after, before, test } = require('node:test');
const { launch, open, serious, serve, shot, state, wide } = require('./page.js');
const { project, program, tempDir } = require('./picture.js');

const fixture = (name, ...args) =>
	execFileSync(path.resolve(project, process.env.BUILD || 'build', 'fixture', name), args.map(String));
const cresset = (...args) => execFileSync(program, args, { stdio: ['ignore', 'pipe', 'pipe'] }).toString();
const dir = tempDir(),
	at = (name) => path.join(dir, name);
const SECOND = 1e9,
	MS = 1e6,
	HOST_START = Date.UTC(2026, 10, 21, 10) / 1000;
/* Recent enough for samples to be kept one by one, and so old that only sums are. */
const start = Math.floor(Date.now() / 1000 / 10) * 10 - 1800,
	old = start - 3 * 86400;
const span = (from, to, since = start) =>
	`from=${new Date((since + from) * 1000).toISOString()}&to=${new Date((since + to) * 1000).toISOString()}`;
const LANES = 'q=gpu-time&by=host,gpu,stream,comm,pid';
let browser, gpu, host, both, plain, more;

before(async () => {
	fixture('gpu', at('new.cresset'), 0, start);
	fixture('gpu', at('old.cresset'), 0, old);
	fixture('gpu', at('file.cresset'));
	fixture('host', at('host'));
	fixture('gpu_store', at('both'));
	fixture('gpu', at('more.cresset'), 0, start, 'more');
	cresset('convert', at('more.cresset'), '-o', at('more.html'));
	cresset('convert', at('file.cresset'), '-o', at('gpu.html'));
	[gpu, host, both, plain, more] = await Promise.all([
		serve(['--data', at('store')]),
		serve([at('host')]),
		serve([at('both')]),
		serve([path.join(project, 'tests/golden/folded/simple.txt')]),
		serve([at('more.cresset')])
	]);
	for (const name of ['new', 'old']) {
		const answer = await fetch(`${gpu.url}api/v1/profiles?label=host%3Dh0`, {
			method: 'POST',
			body: fs.readFileSync(at(`${name}.cresset`))
		});
		assert.strictEqual(answer.status, 200, await answer.text());
	}
	browser = await launch();
});
after(async () => {
	await browser?.close();
	for (const server of [gpu, host, both, plain, more]) server?.stop();
});

const ask = (what, of = gpu) => of.get(`api/v1/${what}`);
const sum = (list) => list.reduce((a, b) => a + b, 0);
/* [from, length, state, stack] of a lane, in ms since the answer's beginning. */
function spans(lane) {
	const out = [];
	for (let i = 0, ns = 0; i < lane.spans.length; i += 4) {
		ns += lane.spans[i];
		out.push([ns / MS, lane.spans[i + 1] / MS, lane.spans[i + 2], lane.spans[i + 3]]);
		ns += lane.spans[i + 1];
	}
	return out;
}
const byGpu = (answer) => Object.fromEntries(answer.lanes.map((l) => [l.labels.gpu, l]));

/* --- the server --- */

test('streams have a span for each thing that ran, with who asked for it', async () => {
	const answer = await ask(`lanes?${LANES}&${span(0, 10)}&px=4000`),
		lanes = byGpu(answer);
	assert.strictEqual(answer.exact, true);
	assert.strictEqual(lanes[0].on_ns, 7 * SECOND);
	assert.deepStrictEqual([lanes[1].on_ns, lanes[1].wait_ns], [SECOND, 2 * SECOND]);
	const words = (s) => answer.stacks[s[3]];
	const list = spans(lanes[0]);
	assert.strictEqual(list.length, 200);
	list.forEach((s, i) => {
		const step = 100 * (i >> 1);
		assert.deepStrictEqual(s.slice(0, 3), i % 2 ? [step + 60, 10, 0] : [step, 60, 0]);
		assert.deepStrictEqual(
			[words(s)[0], words(s)[2]],
			[i % 2 ? '[copy host to device]' : 'gemm', ['main', 'train', 'step']]
		);
	});
	assert.deepStrictEqual(
		spans(lanes[1]).map((s) => [...s.slice(0, 3), words(s)[0], words(s)[2]]),
		[
			[0, 1000, 0, 'init', ['main', 'train']],
			[1000, 2000, 2, '[sync stream]', ['main', 'train']]
		]
	);
	/* The same stack as everywhere. */
	const top = await ask(`top?q=gpu-time%7Bstack_id%3D"${words(list[0])[1]}"%7D&${span(0, 10)}`);
	assert.strictEqual(top.total, 6 * SECOND);
});
test('what is narrow, or long ago, is density: nothing is lost', async () => {
	for (const [range, px, exact] of [
		[span(0, 10), 100, true],
		[span(0, 10, old), 1000, false]
	]) {
		const answer = await ask(`lanes?${LANES}&${range}&px=${px}`),
			lane = byGpu(answer)[0];
		assert.strictEqual(answer.exact, exact);
		assert.strictEqual(lane.on_ns, 7 * SECOND);
		let busy = 0;
		for (let i = 0; i < lane.density.length; i += 6) busy += lane.density[i + 1] * lane.density[i + 2];
		assert.ok(Math.abs(busy * answer.part_ns - 7 * SECOND) <= answer.part_ns, `${busy} ${answer.part_ns}`);
		assert.strictEqual(spans(lane).length, 0);
	}
});
test('idle times are those of the command line', async () => {
	const cut = (d) => ({ ...d, host: null, longest: null, change: d.change?.rows.map((r) => [r.function, r.self]) });
	for (const [from, to] of [
		[0, 10],
		[0.5, 2.04],
		[0.58, 0.89]
	]) {
		const answer = await ask(`gpu-idle?${span(from, to)}`),
			told = JSON.parse(
				cresset('-q', 'report', '--gpu-idle', '--json', '--time', `${from}s-${to}s`, at('file.cresset'))
			);
		assert.strictEqual(answer.devices.length, 2);
		assert.deepStrictEqual(answer.devices.map(cut)[0], told.devices.map(cut)[0]);
		assert.ok(answer.devices.every((d) => d.host === 'h0'));
	}
	const whole = (await ask(`gpu-idle?${span(0, 10)}`)).devices[0];
	assert.deepStrictEqual(
		[whole.busy_ns, whole.idle_ns, whole.gaps, whole.exact],
		[7 * SECOND, 3 * SECOND, 100, true]
	);
	/* As numbers of JavaScript moments are exact to 256 ns. */
	assert.ok(Math.abs(whole.longest[0].to_ns - whole.longest[0].from_ns - 30 * MS) <= 512);
});
test('readings say so, and what is asked badly or is not there is refused', async () => {
	const hour = `from=${HOST_START}&to=${HOST_START + 1500}`,
		read = await ask(`gpu-idle?${hour}`, host);
	assert.deepStrictEqual(
		read.devices.map((d) => [d.gpu, d.source, d.exact, d.idle_ns, d.gaps]),
		[
			['0', 'readings', false, 0, 0],
			['1', 'readings', false, 0, 0]
		]
	);
	/* Readings are all of 5 % or more, and less than all of the time. */
	const below = await ask(`gpu-idle?${hour}&threshold=1`, host);
	assert.strictEqual(below.threshold, 1);
	assert.deepStrictEqual(
		below.devices.map((d) => [d.busy_ns, d.idle_ns]),
		read.devices.map((d) => [0, d.watched_ns])
	);
	const status = async (what, of = gpu) => (await fetch(`${of.url}api/v1/${what}`)).status;
	for (const [what, expected, of] of [
		[`gpu-idle?${span(0, 10)}&n=x`, 400],
		[`gpu-idle?${span(0, 10)}&px=3`, 400],
		[`gpu-idle?q=${encodeURIComponent('wall{')}`, 400],
		['gpu-idle?q=heap', 400],
		[`gpu-idle?${span(0, 10)}&threshold=0.5`, 200],
		...['0', '1.01', '-1', '5%', '', 'nan', 'inf'].map((share) => [
			`gpu-idle?${span(0, 10)}&threshold=${encodeURIComponent(share)}`,
			400
		]),
		[`gpu-idle?${span(0, 10)}&fmt=xml`, 400],
		['gpu-idle?from=2&to=1', 400],
		[`gpu-idle?${span(0, 10)}&focus=(`, 400],
		[`gpu-idle?${span(60, 70)}`, 404],
		['gpu-idle', 404, plain],
		['gpu-idle?from=1&to=4000000000', 200],
		[`lanes?${LANES}&${span(0, 10)}&px=99999`, 400],
		['lanes?q=gpu-time%7Bstream%3D"none"%7D&by=stream&' + span(0, 10), 200],
		[`lanes?${LANES}&from=1&to=4000000000`, 200]
	])
		assert.strictEqual(await status(what, of), expected, what);
	assert.deepStrictEqual((await ask(`lanes?q=gpu-time%7Bstream%3D"none"%7D&by=stream&${span(0, 10)}`)).lanes, []);
});

/* Recorded while a program runs on doubles of the libraries: what the scenario alone says is in the lanes. */
test(
	'lanes of what was recorded have each of its nanoseconds',
	{ skip: process.getuid() !== 0 && 'recording needs root' },
	async () => {
		const build = path.resolve(project, process.env.BUILD || 'build'),
			play = [
				'device 0 name "First"\ndevice 1 name "Second"\nwait none\ncopy bytes_per_us 1000',
				'kernel gemm ns 1500000\nkernel softmax ns 333000',
				'play threads 2\nplay launches 200\nplay copy 50 4096000\nplay pace 9000\n'
			];
		fs.writeFileSync(at('play'), play.join('\n'));
		const recorder = spawn(
			program,
			[
				'record',
				'--no-progress',
				'-e',
				'cpu,gpu-time',
				'-o',
				at('played.cresset'),
				'--',
				`${build}/live/gpu_play`
			],
			{
				env: { ...process.env, LD_LIBRARY_PATH: `${build}/doubles`, CRESSET_DOUBLE: at('play') },
				stdio: ['pipe', 'pipe', 'inherit']
			}
		);
		const ended = new Promise((resolve) => recorder.once('exit', resolve));
		for await (const text of recorder.stdout) {
			if (/ready/.test(text)) recorder.stdin.write('watched\ngo\n');
			if (/done/.test(text)) recorder.stdin.end();
		}
		assert.strictEqual(await ended, 0);
		const truth = [0, 0],
			answers = execFileSync('python3', ['tests/unit/gpu_answers.py', at('play'), 'sides'], { cwd: project });
		for (const line of String(answers).trim().split('\n')) {
			const [name, device, , ns] = line.split(' ');
			if (name !== 'calls') truth[+device] += +ns;
		}
		const server = await serve([at('played.cresset')]);
		try {
			const lanes = (await ask(`lanes?${LANES}&px=8192`, server)).lanes;
			assert.deepStrictEqual(
				[0, 1].map((device) => sum(lanes.filter((l) => +l.labels.gpu === device).map((l) => l.on_ns))),
				truth
			);
			await timeline(
				'',
				async (page) => {
					const first = lane(page, 'GPU 0'),
						label = await first.getAttribute('aria-label');
					assert.match(label, /^GPU 0 stream \d+ gpu_play .*: busy \d/);
					await page.click('.tl-gpu .tl-lane:has-text("GPU 0") input');
					await page.waitForFunction(
						(ns) => +document.querySelector('.tl-sum').dataset.total === ns,
						truth[0]
					);
				},
				{ of: server }
			);
		} finally {
			server.stop();
		}
	}
);

/* --- the page --- */

async function timeline(query, fn, how = {}) {
	const page = await open(browser, (how.of || gpu).url, `timeline?${query}`, how);
	await fn(page);
	await page.context().close();
	assert.deepStrictEqual(page.trouble, []);
}
const WALL = `q=wall&${span(0, 2)}`;
const lane = (page, name) => page.locator(`.tl-gpu .tl-lane:has-text("${name}") canvas`);
/* The colour of a lane at a share of its width, below its top, or above its bottom. */
const colourAt = (locator, part, atBottom = false) =>
	locator.evaluate(
		(canvas, [part, atBottom]) => {
			const c = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d');
			c.drawImage(canvas, 0, 0);
			const y = atBottom ? canvas.height - 3 : 3;
			return [...c.getImageData(Math.floor(canvas.width * part), y, 1, 1).data].join();
		},
		[part, atBottom]
	);
const total = (page) => page.$eval('.tl-sum', (e) => +e.dataset.total);
const changed = (page, old) => page.waitForFunction((v) => document.querySelector('.tl-sum').textContent !== v, old);
async function does(page, fn) {
	const before = await page.textContent('.tl-sum');
	await fn();
	await changed(page, before);
}
const pointAt = async (locator, part) => {
	const box = await locator.boundingBox();
	return [box.x + box.width * part, box.y + box.height / 2];
};

test('a box for each thing that ran, in its colour, and what it is under the pointer', () =>
	timeline(WALL, async (page) => {
		const first = lane(page, 'GPU 0 stream 7 train');
		assert.strictEqual(await page.locator('.tl-gpu .tl-lane').count(), 2);
		/* 2 s: kernel to 60 ms, copy to 70 ms, nothing to 100 ms. */
		const [kernel, copy, none, next] = await Promise.all([30, 65, 85, 130].map((ms) => colourAt(first, ms / 2000)));
		assert.strictEqual(kernel, next);
		assert.strictEqual(copy, '205,184,232,255');
		assert.strictEqual(none, '0,0,0,0');
		assert.notStrictEqual(kernel, copy);
		assert.strictEqual(await colourAt(lane(page, 'GPU 1'), 0.75), '154,160,168,255');
		await page.mouse.move(...(await pointAt(first, 530 / 2000)));
		assert.match(
			await page.textContent('.tl-status'),
			/GPU 0 stream 7 train h0 .* busy for 60\.0 ms: gemm, requested by main › train › step$/
		);
		await page.mouse.move(...(await pointAt(first, 565 / 2000)));
		assert.match(
			await page.textContent('.tl-status'),
			/busy for 10\.0 ms: \[copy host to device\], requested by main › train › step$/
		);
		assert.match(await first.getAttribute('aria-label'), /busy 1\.40 s \(100\.0 %\)/);
	}));
test('a click shows who asked for it, and the address keeps that', () =>
	timeline(WALL, async (page) => {
		await does(page, async () => page.mouse.click(...(await pointAt(lane(page, 'GPU 0'), 530 / 2000))));
		const { stack } = await state(page),
			top = await ask(`top?q=gpu-time%7Bstack_id%3D"${stack}"%7D&${span(0, 2)}`);
		assert.strictEqual(await total(page), top.total);
		assert.strictEqual(top.total, 20 * 60 * MS);
		assert.strictEqual(await page.textContent('.tl-detail h2'), 'Requested by');
		assert.deepStrictEqual(
			(await page.$$eval('.tl-detail td.name', (list) => list.map((e) => e.textContent))).sort(),
			['-', 'gemm', 'main', 'step', 'train']
		);
		await page.reload();
		await page.waitForFunction((v) => +document.querySelector('.tl-sum')?.dataset.total === v, top.total);
		/* A part of the time as well; then everything again. */
		const [x, y] = await pointAt(lane(page, 'GPU 0'), 0),
			[end] = await pointAt(lane(page, 'GPU 0'), 0.5);
		await does(page, async () => {
			await page.mouse.move(x, y);
			await page.mouse.down();
			await page.mouse.move(end, y, { steps: 4 });
			await page.mouse.up();
		});
		assert.ok(Math.abs((await total(page)) - top.total / 2) <= 3 * MS, await page.textContent('.tl-sum'));
		await does(page, () => page.keyboard.press('Escape'));
		assert.deepStrictEqual([(await state(page)).stack, (await state(page)).sel], [undefined, undefined]);
		assert.strictEqual(await total(page), 4 * SECOND);
	}));
test('a stream that is chosen is what is merged; zoom and brush are shared', () =>
	timeline(WALL, async (page) => {
		await does(page, () => page.click('.tl-gpu .tl-lane:has-text("GPU 1") input'));
		assert.strictEqual(await total(page), 2 * SECOND);
		await does(page, () => page.click('.tl-gpu .tl-lane:has-text("GPU 0") input'));
		assert.strictEqual(await total(page), 2 * SECOND + 1.4 * SECOND);
		const kernel = await colourAt(lane(page, 'GPU 0'), 830 / 2000);
		await page.mouse.move(...(await pointAt(lane(page, 'GPU 0'), 0)));
		await page.keyboard.down('Control');
		await page.mouse.wheel(0, -100);
		await page.keyboard.up('Control');
		await page.waitForFunction(() => new URL(location.href).searchParams.get('fit'));
		await page.waitForFunction(() => document.querySelector('.tl-sum').textContent.includes('1.60 s'));
		const shown = await page.textContent('.tl-tools .dim');
		assert.match(shown, /\(1\.60 s\)/);
		assert.strictEqual(await colourAt(lane(page, 'GPU 0'), 830 / 1600), kernel);
		assert.strictEqual(await colourAt(lane(page, 'GPU 0'), 885 / 1600), '0,0,0,0');
	}));
test('why a GPU was idle: how long, what ended it, what was different', () =>
	timeline(WALL, async (page) => {
		const panel = async (n) => {
			await page.waitForFunction((n) => +document.querySelector('.tl-idle').dataset.drawn >= n, n);
			return page.innerText('.tl-idle');
		};
		assert.strictEqual(await page.isHidden('.tl-idle'), true);
		await page.click('text=Why was the GPU idle?');
		const text = await panel(1);
		assert.match(text, /GPU 0 of h0: idle 600 ms \(30\.0 %\) in 20 gaps/);
		assert.match(text, /GPU 1 of h0: idle 1\.00 s \(50\.0 %\) in 1 gap\n/);
		assert.match(text, /Exact: from the times of kernels and copies\. Processes: train 700 \(ran work on it\)/);
		const cells = (selector) =>
			page.$$eval(selector, (list) => list.map((r) => [...r.cells].map((c) => c.textContent)));
		assert.deepStrictEqual((await cells('.idle-gaps tr')).slice(1, 3), [
			['19', '570 ms', '30.0 ms', '30.0 ms', 'gemm'],
			['1', '30.0 ms', '30.0 ms', '30.0 ms', 'still idle at the end']
		]);
		const rows = Object.fromEntries(
			(await cells('.tl-idle .virtual >> nth=0 >> tbody tr:not(.spacer)')).map((r) => [r[1], r.slice(2)])
		);
		assert.deepStrictEqual(rows.decode.slice(0, 3), ['0.00 %', '100.0 %', '▲ +100.0 %']);
		assert.strictEqual(rows.decode.at(-1), 'sure');
		assert.strictEqual(rows.decode.at(-2), '82.8 … 100.0 %');
		assert.deepStrictEqual(rows['[blocked: futex/lock]'].slice(0, 2), ['100.0 %', '0.00 %']);
		/* One of its gaps is a part of the time; the panel goes on to show all of them. */
		await does(page, () => page.click('.tl-idle .row button >> nth=0'));
		const [from, to] = (await state(page)).sel.split('-').map(Number);
		assert.deepStrictEqual([Math.round(from - start * 1000) % 100, Math.round(to - from)], [70, 30]);
		assert.strictEqual(await total(page), 60 * MS); /* two threads, not the ten seconds around it */
		assert.match(await page.innerText('.tl-idle'), /idle 600 ms \(30\.0 %\) in 20 gaps/);
		/* A part that is chosen by hand is what it tells of. */
		await page.keyboard.press('Escape');
		await panel(2);
		const [x, y] = await pointAt(lane(page, 'GPU 0'), 0.25),
			[end] = await pointAt(lane(page, 'GPU 0'), 0.75);
		await page.mouse.move(x, y);
		await page.mouse.down();
		await page.mouse.move(end, y, { steps: 4 });
		await page.mouse.up();
		await page.waitForFunction(() => /in 1\d gaps/.test(document.querySelector('.tl-idle').innerText));
		const [a, b] = (await state(page)).sel.split('-').map(Number),
			told = await ask(
				`gpu-idle?from=${new Date(Math.round(a)).toISOString()}&to=${new Date(Math.round(b)).toISOString()}`
			);
		assert.ok((await page.innerText('.tl-idle')).includes(`in ${told.devices[0].gaps} gaps`));
		await page.click('text=Why was the GPU idle?');
		assert.strictEqual(await page.isHidden('.tl-idle'), true);
	}));
test('of what is long ago there is density, and sums are the same', () =>
	timeline(`q=wall&${span(0, 10, old)}`, async (page) => {
		assert.match(await page.textContent('.tl-tools .dim'), /sums of/);
		assert.match(await lane(page, 'GPU 0').getAttribute('aria-label'), /busy 7\.00 s/);
		assert.strictEqual(await colourAt(lane(page, 'GPU 0'), 0.5), '0,0,0,0'); /* 70 % of it */
		assert.notStrictEqual(await colourAt(lane(page, 'GPU 0'), 0.5, true), '0,0,0,0');
	}));
test('strips of GPUs, and readings where there are no records', () =>
	timeline(
		`q=cpu&from=${HOST_START}&to=${HOST_START + 1200}&idle=1`,
		async (page) => {
			const titles = await page.$$eval('.tl-strip .tl-name > span:first-child', (list) =>
				list.map((e) => e.textContent)
			);
			assert.deepStrictEqual(titles.slice(0, 3), ['GPU busy', 'GPU memory', 'GPU power']);
			const [x, y] = await pointAt(page.locator('.tl-strip .tl-plot-box').first(), 0.5);
			await page.mouse.move(x, y);
			const now = await page.$$eval('.tl-now', (list) => list.map((e) => e.textContent));
			assert.deepStrictEqual(now.slice(0, 3), ['0 25 %, 1 75 %', '30.0 GB', '0 300 W, 1 100 W']);
			assert.strictEqual(await page.isHidden('.tl-gpu'), true);
			await page.waitForSelector('.tl-idle[data-drawn]');
			const text = await page.innerText('.tl-idle');
			assert.match(text, /GPU 0 of h0: idle 0 ns \(0\.00 %\) in 0 gaps/);
			assert.match(text, /From readings of the driver every 10\.0 s: below 5\.00 % is idle/);
			/* Samples of that store are no times. The browser may report that response later than the page. */
			for (let i = 0; i < 3000 && !page.trouble.length; i++) await page.waitForTimeout(20);
			assert.ok(page.trouble.every((t) => t.includes('400 (Bad Request)')) && page.trouble.length === 1);
			page.trouble = [];
		},
		{ of: host }
	));
test('records and readings of several hosts, on one axis', () =>
	timeline(
		`q=wall&from=${HOST_START}&to=${HOST_START + 100}&idle=1`,
		async (page) => {
			await page.waitForSelector('.tl-idle[data-drawn]');
			const text = await page.innerText('.tl-idle');
			assert.match(text, /GPU 0 of exact: idle 40\.0 s \(40\.0 %\) in 100 gaps\s+Exact: /);
			assert.match(
				text,
				/GPU 0 of read: idle 30\.0 s \(30\.0 %\) in 10 gaps\s+From readings of the driver every 1\.00 s/
			);
			assert.match(text, /below 5\.00 % is idle, give or take 19\.0 s\. Processes: train \(has memory on it/);
			assert.match(
				text,
				/GPU 1 of read: idle 1 min 40 s \(100\.0 %\) in 1 gap\s.*No process is known to use it/s
			);
			assert.deepStrictEqual(await page.$$eval('.tl-gpu .tl-who', (list) => list.map((e) => e.textContent)), [
				'GPU 0 stream 7 serve exact'
			]);
			/* The same moment, at the same place: strips, streams, threads. */
			const boxes = await Promise.all(
				['.tl-strip .tl-plot-box', '.tl-gpu canvas', '.tl-lanes canvas'].map((selector) =>
					page.locator(selector).first().boundingBox()
				)
			);
			assert.deepStrictEqual(
				boxes.map((b) => Math.round(b.x)),
				Array(3).fill(Math.round(boxes[0].x))
			);
			await page.mouse.move(boxes[1].x + boxes[1].width / 2, boxes[1].y + 5);
			const [line] = await page.$$eval('.tl-cursor', (list) => list.map((e) => e.getBoundingClientRect().x));
			assert.ok(Math.abs(line - boxes[1].x - boxes[1].width / 2) < 2);
			assert.notStrictEqual(await page.textContent('.tl-now'), 'no data');
			/* Of one host, asked by its label. */
			await page.fill('.query input', 'host="exact"');
			await page.keyboard.press('Enter');
			await page.waitForFunction(() => !document.querySelector('.tl-idle').innerText.includes('of read'));
			assert.match(await page.innerText('.tl-idle'), /GPU 0 of exact: idle 40\.0 s/);
		},
		{ of: both }
	));
/* The colours of a lane at these moments of two seconds, halfway up. */
const colours = (locator, list) =>
	Promise.all(
		list.map((ms) =>
			locator.evaluate((canvas, part) => {
				const c = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d');
				c.drawImage(canvas, 0, 0);
				const at = [Math.floor(canvas.width * part), canvas.height - 3];
				return [...c.getImageData(...at, 1, 1).data].slice(0, 3).join();
			}, ms / 2000)
		)
	);
test('a thread that waits for a GPU is teal, and said to', () =>
	timeline(
		`q=wall&${span(0, 2)}`,
		async (page) => {
			const serve = page.locator('.tl-lanes .tl-lane:has-text("serve 900") canvas');
			/* Waits for a GPU, is blocked, waits for a CPU, runs. */
			assert.deepStrictEqual(await colours(serve, [530, 565, 575, 590]), [
				'108,207,196',
				'96,137,230',
				'154,160,168',
				'229,99,90'
			]);
			assert.match(await serve.getAttribute('aria-label'), /waiting for a GPU 1\.20 s \(60\.0 %\)/);
			await page.mouse.move(...(await pointAt(serve, 530 / 2000)));
			assert.match(
				await page.textContent('.tl-status'),
				/serve 900 .* waiting for a GPU for 60\.0 ms: \[waiting for GPU\]$/
			);
			assert.deepStrictEqual(
				await page.$$eval('.tl-lanes .tl-legend li', (list) => list.map((e) => e.textContent)),
				['on the CPU', 'blocked', 'waiting for a CPU', 'waiting for a GPU']
			);
			/* What the recording read beside its samples, on the same axis. */
			const titles = await page.$$eval('.tl-strip .tl-name > span:first-child', (list) =>
				list.map((e) => e.textContent)
			);
			assert.deepStrictEqual(titles, ['GPU busy', 'GPU memory', 'GPU power']);
			assert.deepStrictEqual(await page.$$eval('.tl-now', (list) => list.map((e) => e.textContent)), [
				'0 70 %, 1 100 %',
				'28.0 GB',
				'0 100 W, 1 60 W'
			]);
		},
		{ of: more }
	));
test('without GPUs there is neither', () =>
	timeline(
		'',
		async (page) => {
			assert.strictEqual(await page.isHidden('.tl-gpu'), true);
			assert.strictEqual(await page.isHidden('text=Why was the GPU idle?'), true);
		},
		{ of: plain }
	));
for (const [name, how] of [
	['1280', { viewport: { width: 1280, height: 720 } }],
	['1600-dark', { viewport: { width: 1600, height: 900 }, colorScheme: 'dark' }],
	['390', { viewport: { width: 390, height: 844 } }],
	['390-dark', { viewport: { width: 390, height: 844 }, colorScheme: 'dark' }]
])
	test(`pictures, and what is in anybody's way: ${name}`, () =>
		timeline(
			`${WALL}&idle=1`,
			async (page) => {
				await page.waitForSelector('.tl-idle[data-drawn]');
				await shot(page, `gpu-${name}`, { fullPage: true });
				assert.ok((await wide(page)) <= 0);
				assert.deepStrictEqual(await serious(page), []);
			},
			{ bypassCSP: true, ...how }
		));

/* --- report.html --- */

async function report(fn, how = {}) {
	const context = await browser.newContext({ viewport: { width: 1280, height: 720 }, ...how }),
		page = await context.newPage(),
		trouble = [];
	page.on('pageerror', (e) => trouble.push('error: ' + e.message));
	page.on('console', (m) => trouble.push('console: ' + m.text()));
	await page.goto('file://' + at(how.file || 'gpu.html'));
	await page.waitForSelector('.rp-strips canvas');
	await page.waitForFunction(() => +document.querySelector('.rp').dataset.shown >= 1);
	await fn(page);
	await context.close();
	assert.deepStrictEqual(trouble, []);
}
const ofReport = (page) => page.$eval('.rp', (e) => +e.dataset.total);
/* A moment (ms of 10 s) in a row of the strips: 0 the first stream. */
async function inReport(page, ms, row, of = [0, 10000]) {
	const box = await page.locator('.rp-strips canvas').boundingBox();
	return [box.x + (box.width * (ms - of[0])) / (of[1] - of[0]), box.y + 48 + 22 * row + 11];
}
test('a report has the lanes, says what ran, and who asked for it', () =>
	report(async (page) => {
		assert.deepStrictEqual(await page.$$eval('.rp-lane', (list) => list.map((e) => e.textContent)), [
			'all threads',
			'GPU 0 stream 7 train',
			'GPU 1 stream 7 train',
			'train 700',
			'other 800'
		]);
		await page.mouse.move(...(await inReport(page, 500, 1)));
		assert.strictEqual(await page.textContent('.rp-hint'), 'init, 1.00 s, requested by main › train');
		await page.mouse.move(...(await inReport(page, 5000, 1)));
		assert.strictEqual(await page.textContent('.rp-hint'), '');
		/* A part of the time: the whole of it, then closer. */
		await page.fill('input[aria-label="to, s"]', '1');
		await page.keyboard.press('Enter');
		await page.click('text=zoom to selection');
		await page.mouse.move(...(await inReport(page, 565, 0, [0, 1000])));
		assert.strictEqual(
			await page.textContent('.rp-hint'),
			'[copy host to device], 10.0 ms, requested by main › train › step'
		);
		await page.mouse.click(...(await inReport(page, 530, 0, [0, 1000])));
		await page.waitForFunction(() =>
			document.querySelector('[role=tab][aria-selected=true]').textContent.startsWith('gpu-time')
		);
		const told = JSON.parse(
			cresset('report', at('file.cresset'), '--json', '--type', 'gpu-time', '--time', '0s-1s')
		);
		assert.strictEqual(await ofReport(page), told.total);
		assert.strictEqual(told.total, 1.7 * SECOND);
		/* One stream of them. */
		await page.click('.rp-lane >> text=/^GPU 0/');
		await page.waitForFunction((v) => +document.querySelector('.rp').dataset.total === v, 0.7 * SECOND);
		assert.strictEqual(await page.isDisabled('.rp-lane >> text=/^train/'), true);
		/* Streams say nothing of what threads did: the other type is whole again. */
		await page.click('[role=tab] >> text=wall');
		await page.waitForFunction((v) => +document.querySelector('.rp').dataset.total === v, 2 * SECOND);
		await page.click('text=zoom out');
		await page.mouse.move(...(await inReport(page, 2500, 1)));
		assert.strictEqual(await page.textContent('.rp-hint'), '[sync stream], 2.00 s, requested by main › train');
	}));
test('a report is closer around the pointer after the wheel', () =>
	report(async (page) => {
		const [x, y] = await inReport(page, 5000, 0);
		await page.mouse.move(x, y);
		await page.keyboard.down('Control');
		for (let i = 0; i < 12; i++) await page.mouse.wheel(0, -100);
		await page.keyboard.up('Control');
		const length = 10000 * 0.8 ** 12;
		await page.mouse.move(...(await inReport(page, 5030, 0, [5000 - length / 2, 5000 + length / 2])));
		assert.strictEqual(await page.textContent('.rp-hint'), 'gemm, 60.0 ms, requested by main › train › step');
		await page.mouse.move(...(await inReport(page, 5085, 0, [5000 - length / 2, 5000 + length / 2])));
		assert.strictEqual(await page.textContent('.rp-hint'), '');
		await shot(page, 'gpu-report');
	}));
/* The colour of a report's row at a moment of its ten seconds, with its alpha. */
const rowColour = (page, ms, y) =>
	page.locator('.rp-strips canvas').evaluate(
		(canvas, [part, y]) => {
			const ratio = canvas.width / canvas.clientWidth;
			const c = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d');
			c.drawImage(canvas, 0, 0);
			return [...c.getImageData(Math.floor(canvas.width * part), Math.floor(y * ratio), 1, 1).data];
		},
		[ms / 10000, y]
	);
const METRICS = 3,
	METRIC = 34;
test('a report has strips of its GPUs on the same clock, and waits for a GPU in teal', () =>
	report(
		async (page) => {
			assert.deepStrictEqual(
				await page.$$eval('.rp-metric', (list) =>
					list.map((e) => [e.firstChild.textContent, e.lastChild.textContent])
				),
				[
					['GPU busy', '≤ 100 %'],
					['GPU memory', '≤ 28.0 GB'],
					['GPU power', '≤ 190 W']
				]
			);
			const now = async (ms) => {
				await page.mouse.move(...(await inReport(page, ms, 0)));
				return page.$$eval('.rp-metric span', (list) => list.map((e) => e.textContent));
			};
			assert.deepStrictEqual(await now(2500), ['0 70 %, 1 100 %', '28.0 GB', '0 120 W, 1 70 W']);
			assert.deepStrictEqual(await now(3500), ['0 70 %, 1 0.0 %', '28.0 GB', '0 130 W, 1 75 W']);
			/* Memory of both, on top of each other: 20 of 28 GB from below. */
			const memory = (share) => rowColour(page, 5000, 48 + METRIC * 2 - 2 - share * (METRIC - 5));
			assert.deepStrictEqual((await memory(0.6)).slice(0, 3), [59, 120, 196]);
			assert.deepStrictEqual((await memory(0.9)).slice(0, 3), [224, 123, 57]);
			/* Lanes: two streams, then train, serve; closer, so that each wait has its pixels. */
			await page.fill('input[aria-label="to, s"]', '1');
			await page.keyboard.press('Enter');
			await page.click('text=zoom to selection');
			const y = 48 + METRIC * METRICS + 22 * 3 + 11,
				of = async (ms) => (await rowColour(page, ms * 10, y)).slice(0, 3);
			/* What is not opaque is kept multiplied by how opaque it is, in whole numbers. */
			const near = (got, want) =>
				assert.ok(
					got.every((v, i) => Math.abs(v - want[i]) <= 2),
					`${got} ${want}`
				);
			near(await of(530), [108, 207, 196]);
			near(await of(565), [79, 127, 224]);
			near(await of(575), [154, 160, 168]);
			assert.deepStrictEqual(await page.$$eval('.rp-legend span', (list) => list.map((e) => e.textContent)), [
				'on the CPU',
				'blocked',
				'waiting for a CPU',
				'waiting for a GPU'
			]);
			assert.match(
				await page.getAttribute('.rp-strips canvas', 'aria-label'),
				/2 streams of GPUs, GPU busy, GPU memory, GPU power\./
			);
		},
		{ file: 'more.html' }
	));
test('a report says why a GPU was idle, as the command line does', () =>
	report(
		async (page) => {
			assert.strictEqual(await page.isHidden('.rp-idle'), true);
			await page.click('text=Why was the GPU idle?');
			const text = await page.innerText('.rp-idle'),
				told = JSON.parse(cresset('-q', 'report', '--gpu-idle', '--json', at('more.cresset'))).devices[0];
			assert.match(text, /GPU 0: idle 3\.00 s \(30\.0 %\) in 100 gaps/);
			assert.match(text, /GPU 1: idle 9\.00 s \(90\.0 %\) in 1 gap\n/);
			assert.deepStrictEqual([told.idle_ns, told.gaps], [3 * SECOND, 100]);
			const cells = await page.$$eval('.idle-gaps tr', (list) =>
				list.map((r) => [...r.cells].map((c) => c.textContent))
			);
			assert.deepStrictEqual(cells.slice(1, 3), [
				['99', '2.97 s', '30.0 ms', '30.0 ms', 'gemm'],
				['1', '30.0 ms', '30.0 ms', '30.0 ms', 'still idle at the end']
			]);
			const rows = Object.fromEntries(
				(
					await page.$$eval('.rp-idle .virtual >> nth=0 >> tbody tr:not(.spacer)', (list) =>
						list.map((r) => [...r.cells].map((c) => c.textContent))
					)
				).map((r) => [r[1], r.slice(2)])
			);
			assert.deepStrictEqual(rows.decode.slice(0, 3), ['0.00 %', '100.0 %', '▲ +100.0 %']);
			assert.match(text, /^For the whole range\n/);
			/* One of its gaps is the part that is chosen; the panel stays what it is, and says of what. */
			await page.click('.rp-idle .row button >> nth=0');
			const [from, to] = await page.$$eval('.rp-row input[aria-label]', (list) =>
				list.slice(0, 2).map((e) => +e.value)
			);
			assert.deepStrictEqual([Math.round(from * 1000) % 100, Math.round((to - from) * 1000)], [70, 30]);
			const [first, ...rest] = (await page.innerText('.rp-idle')).split('\n');
			assert.deepStrictEqual(rest, text.split('\n').slice(1));
			/* What it says of the part can be done. */
			const [, words] = first.match(
					/^For the whole range; for the selection: cresset (report --gpu-idle --time \S+)$/
				),
				[part] = JSON.parse(cresset('-q', ...words.split(' '), '--json', at('more.cresset'))).devices;
			assert.deepStrictEqual([part.idle_ns, part.watched_ns], [30e6, 30e6]);
			await page.click('button:text-is("whole range")');
			assert.strictEqual(await page.innerText('.rp-idle'), text);
			await page.click('text=Why was the GPU idle?');
			assert.strictEqual(await page.isHidden('.rp-idle'), true);
		},
		{ file: 'more.html' }
	));
test('a report without readings has no strips of them', () =>
	report(async (page) => {
		assert.strictEqual(await page.locator('.rp-metric').count(), 0);
		assert.strictEqual(await page.locator('text=Why was the GPU idle?').count(), 1);
	}));
for (const [name, how] of [
	['1600-dark', { viewport: { width: 1600, height: 900 }, colorScheme: 'dark' }],
	['390', { viewport: { width: 390, height: 844 } }]
])
	test(`pictures of a report with strips: ${name}`, () =>
		report(
			async (page) => {
				await page.click('text=Why was the GPU idle?');
				await shot(page, `gpu-report-strips-${name}`, { fullPage: true });
				assert.ok((await wide(page)) <= 0);
			},
			{ ...how, file: 'more.html' }
		));
for (const [name, how] of [
	['1600-dark', { viewport: { width: 1600, height: 900 }, colorScheme: 'dark' }],
	['390', { viewport: { width: 390, height: 844 } }]
])
	test(`pictures of a report: ${name}`, () =>
		report(async (page) => {
			await page.click('[role=tab] >> text=gpu-time');
			await shot(page, `gpu-report-${name}`);
			assert.ok((await wide(page)) <= 0);
		}, how));
