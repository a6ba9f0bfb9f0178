// tier: test
/* GPUs as a whole, on doubles of the libraries: cresset up sees a program in Python that trains, and what the scenario
 * alone says is in the API and on the page: readings, streams, the way from train() to the kernel and its stalls, and
 * why the GPU was idle. */
'use strict';
const assert = require('node:assert');
const { spawn, spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { after, before, test } = require('node:test');
const { launch, open, rows, shot } = require('./page.js');
const { parse, program, project, tempDir } = require('./picture.js');

const build = path.resolve(project, process.env.BUILD || 'build');
const KERNEL = '_Z5saxpyPfPKffi',
	KERNEL_NS = 5e6,
	CALLS = { train: 40, infer: 20 },
	DECODE_MS = 30,
	WATTS = 350,
	BUSY = 0.35,
	SAXPY = 'saxpy(float*, float const*, float, int)';
/* Samples of each run of the kernel, by what stands in the source below it (tests/golden/gpu/lines.sm_90.cubin.txt). */
const INLINED = 'deep::outer(float);bend(float);float scale<3>(float)',
	STALLS = {
		[`tmp;cresset-gpu;lib;scale.cuh;${SAXPY};${INLINED};HFMA2;memory (long scoreboard);0x100`]: 6,
		[`tmp;cresset-gpu;lines.cu;${SAXPY};deep::heavy(float, int);ISETP;fixed latency (wait);0x2a0`]: 3
	};
const SCENARIO = `nvml driver "550.54.15"
device 0 name "First" uuid GPU-a memory 80000000000
metric 0 gpu ${100 * BUSY}
metric 0 memory 12
metric 0 used 3000000000
metric 0 power_mw ${1000 * WATTS}
module ${path.join(project, 'tests/golden/gpu/lines.sm_90.cubin')} ${KERNEL}
kernel ${KERNEL} ns ${KERNEL_NS}
kernel warm_up ns 1000
stall ${KERNEL} 0x100 long_scoreboard 6 2
stall ${KERNEL} 672 wait 3
`;

/* Of the python3 that is there: frames of its functions are seen from 3.11 on. */
const has = spawnSync('python3', ['-c', 'import ctypes, sys; sys.exit(sys.version_info < (3, 11))']).status === 0;
const skip =
	(process.getuid() !== 0 && 'recording needs root') || (!has && 'no Python from 3.11 on with ctypes is here');

const dir = tempDir(),
	at = (name) => path.join(dir, name),
	at_in = (attempt, name) => path.join(dir, `${attempt}-${name}`);
/* Others on this machine may train as well. */
let name = `gw${process.pid}`;
let up, url, browser, range, said, pid, warmUps;
let begun, done, middle; /* of train() and infer(); Unix time in s; middle: place in the range, 0 to 1 */
const pause = (ms) =>
	new Promise((resolve) => {
		setTimeout(resolve, ms);
	});
const ask = async (what) => {
	const answer = await fetch(`${url}api/v1/${what}`);
	assert.strictEqual(answer.status, 200, what);
	return answer;
};
const asked = (type, more = '', when = range) => `q=${encodeURIComponent(`${type}{process="${name}"${more}}`)}&${when}`;
const folded = async (type) => parse(await (await ask(`flame?fmt=folded&${asked(type)}`)).text());
const sum = (list) => list.reduce((a, b) => a + b, 0);

async function begin(env) {
	said = '';
	up = spawn(
		program,
		['up', '-v', '--interval', '1s', '--freq', '499', '--data', at('data'), '--listen', '127.0.0.1:0'].concat([
			'--gpu=2',
			'--gpu-budget',
			'100',
			'--max-rate',
			'1000000'
		]),
		{ env, stdio: ['ignore', 'ignore', 'pipe'] }
	);
	up.stderr.on('data', (text) => (said += text));
	/* Output may arrive in pieces: wait for the whole line. */
	for (let i = 0; i < 1200 && !/http:\/\/\S+\n/.test(said); i++) await pause(50);
	url = /http:\/\/\S+/.exec(said)?.[0];
	assert.ok(url, said);
}
async function train(env, from, attempt) {
	const seen = at_in(attempt, 'seen');
	name = `gw${process.pid}-${attempt}`;
	fs.copyFileSync(path.join(project, 'tests/live/gpu_train.py'), at('train.py'));
	const renamed = `import ctypes; ctypes.CDLL(None).prctl(15, b"${name}", 0, 0, 0)`;
	const python = spawn(
		'python3',
		[
			'-c',
			`import sys; ${renamed}; sys.argv = sys.argv[1:]; exec(compile(open(sys.argv[0]).read(), "train.py", "exec"))`
		].concat([at('train.py'), CALLS.train, KERNEL, 'wait', DECODE_MS, seen].map(String)),
		{
			env: { ...env, CUDA_INJECTION64_PATH: `${build}/libcresset-cuda.so` },
			stdio: ['ignore', 'pipe', 'inherit']
		}
	);
	pid = python.pid;
	let output = '';
	python.stdout.on('data', (text) => (output += text));
	const ended = new Promise((resolve) => python.once('close', resolve));
	const until = async (type, arrived) => {
		const all = `q=${encodeURIComponent(`${type}{process="${name}"}`)}&from=${from}&to=${from + 3600}`;
		for (let i = 0; i < 480; i++) {
			const answer = await fetch(`${url}api/v1/flame?fmt=folded&${all}`);
			if (answer.status === 200 && arrived(await answer.text())) return;
			await pause(250);
		}
	};
	/* Until its first kernel has arrived: then the GPU is recorded. */
	await until('gpu-time', (text) => text.includes('warm_up'));
	fs.writeFileSync(seen, '');
	/* Until all of it is there, while the program lives: names are read from its memory. What is not then fails below. */
	const wanted = sum(Object.values(CALLS)) * sum(Object.values(STALLS));
	await until('gpu-stall', (text) => sum(parse(text).map((s) => s.value)) >= wanted);
	fs.writeFileSync(`${seen}.end`, '');
	assert.strictEqual(await ended, 0);
	[warmUps, begun, done] = output.split(' ').map(Number);
}

/* Where the collector does not get a CPU in time, stacks of launches are lost, and their time is given to others by an
 * estimate; or the stack was lost on its way. Both are marked. */
async function isEstimated(from) {
	const of = `q=${encodeURIComponent(`gpu-time{process="${name}"}`)}&by=estimated_from&from=${from}&to=${from + 3600}`;
	const { groups } = await (await ask(`range?${of}&step=1h`)).json();
	return groups.some((g) => g.labels.estimated_from);
}
const isLost = async (from) => {
	const all = `q=${encodeURIComponent(`gpu-time{process="${name}"}`)}&from=${from}&to=${from + 3600}`;
	return (await (await ask(`flame?fmt=folded&${all}`)).text()).includes('[truncated: lost]');
};

before(async () => {
	if (skip) return;
	fs.chmodSync(dir, 0o755); /* the store process is nobody */
	fs.writeFileSync(at('scenario'), SCENARIO);
	const env = { ...process.env, LD_LIBRARY_PATH: `${build}/doubles`, CRESSET_DOUBLE: at('scenario') };
	delete env.CUDA_INJECTION64_PATH;
	await begin(env);
	/* Whole windows of the store, which trees are sums of. */
	let from;
	for (let attempt = 0; attempt < 6; attempt++) {
		from = 10 * Math.floor(Date.now() / 10000);
		await train(env, from, attempt);
		if (!(await isEstimated(from)) && !(await isLost(from))) break;
		await pause(10000 - (Date.now() % 10000)); /* another run is in other windows */
	}
	const to = 10 * Math.ceil(Date.now() / 10000);
	range = `from=${from}&to=${to}`;
	middle = ((begun + done) / 2 - from) / (to - from);
	/* One agent at a time reads a program's ring, whoever is first. Programs of other tests may be another's. */
	assert.ok(!new RegExp(`process ${pid}: .*another agent`).test(said), said);
	browser = await launch();
});
after(async () => {
	await browser?.close();
	if (!up) return;
	up.kill();
	await new Promise((resolve) => up.once('exit', resolve));
});

/* The function of the program that a stack is of. */
const caller = (frames) => frames[frames.indexOf('main') + 1];

test('GPU time runs from train() through cudaLaunchKernel into the kernel, each ns', { skip }, async () => {
	const of = {};
	for (const { frames, value } of await folded('gpu-time')) {
		if (frames.at(-1) === 'warm_up') continue; /* as the window opens there may be no stack yet */
		const dash = frames.indexOf('-');
		assert.strictEqual(frames[dash - 1], 'cudaLaunchKernel', frames.join(';'));
		assert.strictEqual(frames[frames.indexOf('main') + 2], 'step');
		const key = `${caller(frames)} ${frames.slice(dash + 1)}`;
		of[key] = (of[key] || 0) + value;
	}
	/* Folded text is in µs. */
	assert.deepStrictEqual(of, {
		[`train ${SAXPY}`]: (CALLS.train * KERNEL_NS) / 1000,
		[`infer ${SAXPY}`]: (CALLS.infer * KERNEL_NS) / 1000
	});
});
test(
	'stalls: from train() through the source to the instruction and why it waited, each sample',
	{ skip },
	async () => {
		const of = {},
			want = {};
		for (const { frames, value } of await folded('gpu-stall')) {
			const dash = frames.indexOf('-');
			assert.strictEqual(frames[dash - 1], 'cudaLaunchKernel', frames.join(';'));
			const key = `${caller(frames)}: ${frames.slice(dash + 1).join(';')}`;
			of[key] = (of[key] || 0) + value;
		}
		for (const [who, times] of Object.entries(CALLS))
			for (const [below, samples] of Object.entries(STALLS)) want[`${who}: ${below}`] = times * samples;
		assert.deepStrictEqual(of, want);
	}
);
test('a stream has a box for each run, as long as it took', { skip }, async () => {
	/* In a longer range a run is less than a pixel. */
	const ran = `from=${Math.floor(begun)}&to=${Math.ceil(done)}`,
		answer = await (await ask(`lanes?${asked('gpu-time', '', ran)}&by=gpu,stream&px=8192`)).json();
	assert.strictEqual(answer.exact, true);
	assert.strictEqual(answer.lanes.length, 1);
	const [lane] = answer.lanes,
		boxes = [];
	for (let i = 0; i < lane.spans.length; i += 4)
		if (/^saxpy/.test(answer.stacks[lane.spans[i + 3]]?.[0])) boxes.push(lane.spans[i + 1]);
	assert.deepStrictEqual(boxes, Array(sum(Object.values(CALLS))).fill(KERNEL_NS));
	assert.strictEqual(lane.labels.gpu, '0');
});
test('why it was idle: train() decodes', { skip }, async () => {
	const { devices } = await (
		await ask(`gpu-idle?${range}&n=0&q=${encodeURIComponent(`cpu{process="${name}"}`)}`)
	).json();
	/* Each GPU is there once: where readings are of most of the range, they have the records. */
	assert.strictEqual(devices.length, 1);
	const exact = devices.map((d) => d.records || d);
	assert.deepStrictEqual(
		exact.map((d) => [d.gpu, d.source, d.exact, d.owned, d.owners.map((o) => o.process)]),
		[['0', 'records', true, 'ran', [name]]]
	);
	/* But for what ran before, a µs each time, of which not all need be watched. */
	const [d] = exact,
		before = d.busy_ns - sum(Object.values(CALLS)) * KERNEL_NS;
	assert.ok(before >= 0 && before <= 1000 * warmUps, `${before} ns of ${warmUps} times`);
	assert.strictEqual(d.busy_ns + d.idle_ns, d.watched_ns);
	/* All of decode() is while nothing runs; so is its time, but for the sampling: n samples are off by their root. */
	const row = d.change.rows.find((r) => r.function === 'decode'),
		expected = (CALLS.train * DECODE_MS * 499) / 1000;
	assert.ok(row.older_total <= 0.02 * expected, `${row.older_total} while busy`);
	assert.ok(Math.abs(row.newer_total - expected) < 0.15 * expected, `${row.newer_total}, not ${expected}`);
	assert.ok(row.newer_total > 0.5 * d.change.newer.samples);
	/* The longest may be the one at the end of the range: the program waits until its names are read. */
	assert.match(d.ended_by.find((e) => e.over)?.name ?? '', /^saxpy/);
});

async function timeline(fn) {
	const page = await open(browser, url, `timeline?q=cpu&${range}&idle=1`, { viewport: { width: 1280, height: 900 } });
	await fn(page);
	await page.context().close();
	assert.deepStrictEqual(page.trouble, []);
}
test('the Timeline has readings, the stream, and the reason', { skip }, () =>
	timeline(async (page) => {
		await page.waitForSelector('.tl-idle[data-drawn]');
		const titles = await page.$$eval('.tl-strip .tl-name > span:first-child', (l) => l.map((e) => e.textContent));
		assert.deepStrictEqual(titles.slice(0, 3), ['GPU busy', 'GPU memory', 'GPU power']);
		const box = await page.locator('.tl-strip .tl-plot-box').first().boundingBox();
		await page.mouse.move(box.x + box.width * middle, box.y + 5);
		const now = await page.$$eval('.tl-now', (list) => list.slice(0, 3).map((e) => e.textContent));
		assert.deepStrictEqual(now, [`${100 * BUSY} %`, '3.00 GB', `${WATTS} W`]);
		const lane = page.locator(`.tl-gpu .tl-lane:has-text("${name}") canvas`);
		assert.match(await lane.getAttribute('aria-label'), /^GPU 0 stream \d+ .*busy 300 ms/);
		assert.match(await page.innerText('.tl-idle'), new RegExp(`Exact: .*${name}.*decode`, 's'));
		await shot(page, 'gpu-whole', { fullPage: true });
	})
);
/* What the keyboard says of each box on the way down: those of the widest. */
async function down(page) {
	const said = [];
	await page.focus('.flame-body canvas');
	await page.keyboard.press('Home');
	for (let i = 0; i < 60; i++) {
		const now = await page.textContent('.flame-live');
		if (now === said.at(-1)) break;
		said.push(now);
		await page.keyboard.press('ArrowDown');
	}
	return said;
}
for (const [type, way, total] of [
	['gpu-time', [SAXPY], '200 ms'],
	['gpu-stall', Object.keys(STALLS)[0].split(';'), `${CALLS.train * sum(Object.values(STALLS))}`]
])
	test(`the flame graph of ${type}: from train() down`, { skip }, async () => {
		const of = `${asked(type)}&f=${encodeURIComponent('s.fn~^train$')}`,
			page = await open(browser, url, `explore?${of}`, { viewport: { width: 1280, height: 1500 } });
		await page.waitForSelector('.flame-body canvas');
		const said = await down(page),
			from = said.findIndex((text) => /^train\b/.test(text));
		const cells = (await rows(page)).find((row) => row[1] === 'cudaLaunchKernel');
		assert.ok(cells?.includes(total), `${cells}`);
		assert.ok(from > 0, said.join('\n'));
		const names = said.slice(from),
			launch = names.findIndex((text) => text.startsWith('cudaLaunchKernel'));
		assert.ok(names[1].startsWith('step'), said.join('\n'));
		for (const [i, text] of ['cudaLaunchKernel', '-', ...way].entries())
			assert.ok(names[launch + i].startsWith(text), `${names[launch + i]}, not ${text}`);
		assert.strictEqual(names.length, launch + 2 + way.length);
		await shot(page, `gpu-whole-${type}`);
		await page.context().close();
		assert.deepStrictEqual(page.trouble, []);
	});
