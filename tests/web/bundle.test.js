// tier: test
/* What the build makes of the page's modules: it is served as it was built, and `make ui` makes the same with maps to
 * the sources, for --ui-dir. */
'use strict';
const assert = require('node:assert');
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const { SourceMap } = require('node:module');
const path = require('node:path');
const { after, before, test } = require('node:test');
const { project, tempDir } = require('./picture.js');
const { launch, open, rows, serve } = require('./page.js');

const dir = tempDir(),
	ui = path.join(dir, 'one', 'ui'),
	gen = path.resolve(project, process.env.BUILD || 'build', 'gen'),
	folded = path.join(dir, 'one.folded');
const filesIn = (root) =>
	fs
		.readdirSync(root, { recursive: true })
		.filter((name) => fs.statSync(path.join(root, name)).isFile())
		.sort();
const read = (root, name) => fs.readFileSync(path.join(root, name), 'utf8');
const build = (name) => execFileSync('make', ['-s', 'ui', `BUILD=${path.join(dir, name)}`], { cwd: project });
/* What esbuild puts at the end of a script or a style sheet. */
const MAP = /\n?(?:\/\/|\/\*)# sourceMappingURL=data:application\/json;base64,([\w+/=]+)(?: \*\/)?\n$/;
const mapOf = (name) => JSON.parse(Buffer.from(MAP.exec(read(ui, name))[1], 'base64').toString());
let browser;

before(async () => {
	build('one');
	fs.writeFileSync(folded, 'a;b 1\na;c 2\n');
	browser = await launch();
});
after(() => browser?.close());

test('files are served as they were built', async () => {
	const server = await serve([folded]),
		root = path.join(gen, 'page'),
		names = filesIn(root);
	assert(names.length > 10);
	for (const name of names) assert.strictEqual(await (await fetch(server.url + name)).text(), read(root, name), name);
	assert.strictEqual((await fetch(server.url + 'page/dom.js')).status, 404); /* a part of page/core.js */
	server.stop();
});

test('the licence of uPlot stays', () => {
	assert.match(read(gen, 'page/page/line_graph.js'), /uPlot [\d.]+, \(c\) Leon Sorokin, MIT/);
});

test('pictures can embed their scripts', () => {
	const names = filesIn(path.join(gen, 'pictures'));
	assert(names.includes('svg/flame.js'));
	for (const name of names) {
		const text = read(path.join(gen, 'pictures'), name);
		assert(!text.includes(']]>') && !/<\/(script|style)/i.test(text), name);
	}
});

test('the same sources give the same bytes', () => {
	build('two');
	const again = path.join(dir, 'two', 'ui');
	assert.deepStrictEqual(filesIn(again), filesIn(ui));
	for (const name of filesIn(ui)) assert.strictEqual(read(again, name), read(ui, name), name);
});

test('with maps the page is what is in the program', () => {
	const names = filesIn(ui);
	assert.deepStrictEqual(
		names,
		filesIn(path.join(gen, 'page')).filter((name) => name !== 'report/report.js')
	);
	for (const name of names)
		assert.strictEqual(read(ui, name).replace(MAP, '').trim(), read(path.join(gen, 'page'), name).trim(), name);
});

test('maps name the sources and have their text', () => {
	const seen = new Set();
	for (const name of filesIn(ui).filter((file) => /\.(js|css)$/.test(file))) {
		const { sources, sourcesContent } = mapOf(name);
		assert(sources.length > 0, name);
		sources.forEach((source, i) => {
			const file = path.resolve(ui, path.dirname(name), source);
			assert.strictEqual(sourcesContent[i], fs.readFileSync(file, 'utf8'), file);
			seen.add(path.relative(project, file));
		});
	}
	for (const source of ['web/page/app.js', 'web/flame.js', 'web/flame.css', 'web/report/viewer.js'])
		assert(seen.has(source), source);
	/* A text that stands in one place is found there. */
	const text = read(ui, 'page/app.js').split('\n'),
		line = text.findIndex((one) => one.includes('"cresset-theme"')),
		entry = new SourceMap(mapOf('page/app.js')).findEntry(line, text[line].indexOf('"cresset-theme"'));
	assert.match(entry.originalSource, /web\/page\/app\.js$/);
	assert.match(read(project, 'web/page/app.js').split('\n')[entry.originalLine], /'cresset-theme'/);
});

for (const [name, root] of [
	['the page with maps', ui],
	['the sources as they are', path.join(project, 'web')]
])
	test(`${name}: --ui-dir shows the same`, async () => {
		const server = await serve([folded, '--ui-dir', root]),
			page = await open(browser, server.url, '');
		assert.deepStrictEqual((await rows(page)).map((row) => row[1]).sort(), ['a', 'b', 'c']);
		for (const screen of ['timeline', 'compare', 'targets', 'import', 'explore']) {
			await page.click(`#routes a[href^="${screen}"]`);
			await page.waitForSelector(`.screen.${screen} > *`, { state: 'attached' });
		}
		assert.deepStrictEqual(page.trouble, []);
		await page.context().close();
		server.stop();
	});
