// tier: test
/* What we write for speedscope, judged by its schema and by the application itself. */
'use strict';
const assert = require('node:assert');
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const { after, before, test } = require('node:test');
const Ajv = require('ajv');
const { project, program, tempDir, launch } = require('./picture.js');

const release = path.join(__dirname, 'node_modules', 'speedscope', 'dist', 'release');
const schema = new Ajv().compile(JSON.parse(fs.readFileSync(path.join(release, 'file-format-schema.json'))));
const golden = (name) => path.join(project, 'tests', 'golden', name);
const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.json': 'application/json' };

const INPUTS = [
	['folded/simple.txt'],
	['folded/recursion.txt'],
	['folded/async-profiler-sample1.collapsed'],
	['gpu/xpu-perf-gpu_trace.folded'],
	['pprof/parca-fib.pb.gz'],
	['pprof/parca-fgprof.pb.gz'],
	['pprof/parca-profile1.pb.gz'],
	['pprof/parca-labels.pb.gz'],
	['pprof/parca-alloc_objects.pb.gz', '--type', 'alloc_space'],
	['pprof/pprof-go.nomappings.crash.pb.gz'],
	['speedscope/simple.speedscope.json'],
	['speedscope/simple-sampled.speedscope.json']
];
const dir = tempDir();
let browser, server, origin;

/* speedscope from its package, and the files it is to load under /out/. */
function serve(request, response) {
	const name = decodeURIComponent(new URL(request.url, 'http://x').pathname);
	const file = name.startsWith('/out/')
		? path.join(dir, path.basename(name))
		: path.join(release, path.basename(name));
	fs.readFile(file, (error, data) => {
		response.writeHead(error ? 404 : 200, {
			'Content-Type': TYPES[path.extname(file)] || 'application/octet-stream'
		});
		response.end(data);
	});
}

before(async () => {
	browser = await launch();
	server = http.createServer(serve);
	await new Promise((done) => server.listen(0, '127.0.0.1', done));
	origin = `http://127.0.0.1:${server.address().port}`;
});
after(async () => {
	await browser.close();
	server.close();
});

/* Writes a golden file as speedscope's JSON. */
function convert(input, name, options) {
	const output = path.join(dir, name);
	execFileSync(program, ['convert', input, '-o', output, ...options], { stdio: ['ignore', 'ignore', 'inherit'] });
	return JSON.parse(fs.readFileSync(output));
}

/* The stacks of a profile, in order: [{stack, weight}]. Gaps of an evented one are left out. */
function stacksOf(profile) {
	if (profile.type === 'sampled') return profile.samples.map((stack, i) => ({ stack, weight: profile.weights[i] }));
	const list = [],
		open = [];
	let last = profile.startValue;
	for (const { type, frame, at } of profile.events) {
		if (at > last && open.length) list.push({ stack: [...open], weight: at - last });
		last = at;
		if (type === 'O') open.push(frame);
		else assert.strictEqual(open.pop(), frame);
	}
	assert.deepStrictEqual(open, []);
	return list;
}

/* Self and total weight of each function of the first profile: {name: [self, total]}. A function counts once in a
 * stack. */
function weights(file) {
	const sums = {},
		frames = file.shared.frames;
	for (const { stack, weight } of stacksOf(file.profiles[0])) {
		for (const f of new Set(stack)) (sums[frames[f].name] ||= [0, 0])[1] += weight;
		if (stack.length) sums[frames[stack.at(-1)].name][0] += weight;
	}
	return sums;
}

/* The table of the sandwich view: {name: [percent self, percent total]} as speedscope computed them. Rows that are
 * out of sight are not in the page. */
function table(page) {
	return page.$$eval('tr', (rows) =>
		Object.fromEntries(
			rows
				.map((r) => [...r.children].map((c) => c.textContent))
				.filter((c) => c.length === 3 && /%/.test(c[0]))
				.map(([total, self, name]) => [
					name,
					[self, total].map((t) => parseFloat(t.match(/\(?([<>]?[\d.]+)%/)[1].replace(/[<>]/, '')))
				])
		)
	);
}

/* Loads a file, as a user would, and runs the test on the page. */
async function open(name, view, fn) {
	const page = await browser.newPage({ viewport: { width: 1200, height: 900 } }),
		trouble = [];
	page.on('pageerror', (e) => trouble.push('error: ' + e.message));
	page.on('console', (m) => m.type() === 'error' && trouble.push('console: ' + m.text()));
	page.on('dialog', (d) => (trouble.push('dialog: ' + d.message()), d.dismiss()));
	await page.goto(`${origin}/index.html#profileURL=${encodeURIComponent('/out/' + name)}&view=${view}`);
	await page.waitForFunction(() => / - speedscope$/.test(document.title));
	await fn(page);
	await page.close();
	assert.deepStrictEqual(trouble, []);
}

for (const [input, ...options] of INPUTS)
	test(`${input} is valid, speedscope shows it, and what it exports is the same`, async () => {
		const name = path.basename(input) + '.speedscope.json';
		const file = convert(golden(input), name, options);
		assert.ok(schema(file), JSON.stringify(schema.errors));
		const want = weights(file),
			all = stacksOf(file.profiles[0]).reduce((sum, s) => sum + s.weight, 0);
		await open(name, 'sandwich', async (page) => {
			assert.strictEqual(await page.title(), `${file.name} - speedscope`);
			await page.locator('tr', { hasText: '%' }).first().waitFor();
			const shown = await table(page);
			assert.ok(Object.keys(shown).length >= Math.min(Object.keys(want).length, 10), Object.keys(shown).join());
			for (const [f, percents] of Object.entries(shown))
				percents.forEach((p, i) =>
					assert.ok(Math.abs(p - (100 * want[f][i]) / all) <= 0.51, `${f}: ${p} %, not ${want[f]} of ${all}`)
				);
			const [download] = await Promise.all([
				page.waitForEvent('download'),
				page.getByText(/^\W*Export$/).click()
			]);
			await download.saveAs(path.join(dir, 'exported.json')); /* evented, whatever it was */
		});
		const again = convert(path.join(dir, 'exported.json'), 'again.speedscope.json', ['--by', 'none']);
		assert.deepStrictEqual(weights(again), want);
	});

test('threads are profiles in the order of time, the heaviest in front', async () => {
	const evented = (tid, frames) => ({
		type: 'evented',
		name: `<b>web</b> (pid 1, tid ${tid})`,
		unit: 'milliseconds',
		startValue: 0,
		endValue: 10 * frames.length,
		events: frames.flatMap((frame, i) => [
			{ type: 'O', frame, at: 10 * i },
			{ type: 'C', frame, at: 10 * i + 9 }
		])
	});
	const input = path.join(dir, 'threads.json'),
		name = 'threads.speedscope.json';
	fs.writeFileSync(
		input,
		JSON.stringify({
			shared: { frames: [{ name: 'a' }, { name: '</script><script>window.pwned=1</script>' }, { name: 'c' }] },
			profiles: [evented(2, [0]), evented(3, [2, 1, 2])]
		})
	);
	const file = convert(input, name, ['--by', 'none']);
	assert.ok(schema(file), JSON.stringify(schema.errors));
	assert.deepStrictEqual(
		file.profiles.map((p) => p.name),
		['<b>web</b> (pid 1, tid 3)', '<b>web</b> (pid 1, tid 2)']
	);
	/* Each with its length. */
	assert.deepStrictEqual(
		stacksOf(file.profiles[0]).map((s) => [file.shared.frames[s.stack[0]].name, s.weight]),
		[
			['c', 9e6],
			['</script><script>window.pwned=1</script>', 9e6],
			['c', 9e6]
		]
	);
	assert.strictEqual(file.profiles[0].endValue - file.profiles[0].startValue, 30e6);
	await open(name, 'sandwich', async (page) => {
		await page.locator('tr', { hasText: '%' }).first().waitFor();
		assert.match(await page.locator('body').textContent(), /<b>web<\/b> \(pid 1, tid 3\) \(1\/2\)/);
		assert.match(await page.locator('tr', { hasText: 'pwned' }).textContent(), /^9\.00ms \(33%\)/);
		assert.strictEqual(await page.evaluate(() => window.pwned), undefined);
	});
	await open(name, 'time-ordered', async () => {});
});
