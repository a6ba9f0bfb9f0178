/* How much a browser loads, packed: for the first screen, and of everything there is. */
'use strict';
const assert = require('node:assert');
const { spawn } = require('node:child_process');
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const { after, before, test } = require('node:test');
const ts = require('typescript');
const zlib = require('node:zlib');
const { project, program, tempDir } = require('./picture.js');

const FIRST_MAX = 55000,
	ALL_MAX = 120000;
let server, url;

before(async () => {
	const file = path.join(tempDir(), 'one.folded');
	fs.writeFileSync(file, 'a;b 1\n');
	server = spawn(program, ['serve', file, '--listen', '127.0.0.1:0'], { stdio: ['ignore', 'pipe', 'inherit'] });
	url = await new Promise((resolve) => server.stdout.once('data', (text) => resolve(String(text).trim())));
});
after(() => server?.kill());

/* What a browser gets that takes gzip: how long it is, and what it says. */
const files = new Map();
function load(address) {
	if (!files.has(address))
		files.set(
			address,
			new Promise((resolve, reject) =>
				http
					.get(address, { headers: { 'Accept-Encoding': 'gzip' } }, (answer) => {
						const pieces = [];
						answer.on('data', (piece) => pieces.push(piece));
						answer.on('end', () => {
							const packed = Buffer.concat(pieces);
							if (answer.statusCode === 200)
								assert.strictEqual(answer.headers['content-encoding'], 'gzip', address);
							resolve({
								status: answer.statusCode,
								bytes: packed.length,
								text: answer.statusCode === 200 ? String(zlib.gunzipSync(packed)) : ''
							});
						});
					})
					.on('error', reject)
			)
		);
	return files.get(address);
}

/* What a script imports before it runs. */
function imports(text) {
	const source = ts.createSourceFile('x.js', text, ts.ScriptTarget.Latest, false, ts.ScriptKind.JS);
	return source.statements
		.filter((s) => (ts.isImportDeclaration(s) || ts.isExportDeclaration(s)) && s.moduleSpecifier)
		.map((s) => s.moduleSpecifier.text);
}
const links = (text) => [...text.matchAll(/<(?:script|link|img)\b[^>]*?\b(?:src|href)="([^"]+)"/g)].map((m) => m[1]);

async function follow(address, seen) {
	if (seen.has(address)) return;
	const { status, bytes, text } = await load(address);
	assert.strictEqual(status, 200, address);
	seen.set(address, bytes);
	const next = address.endsWith('.js') ? imports(text) : address === url ? links(text) : [];
	for (const one of next) await follow(String(new URL(one, address)), seen);
}

function check(t, name, sizes, max) {
	const sum = [...sizes.values()].reduce((a, b) => a + b, 0);
	t.diagnostic(`${name}: ${sizes.size} files, ${sum} bytes, of ${max}`);
	for (const [address, bytes] of [...sizes].sort((a, b) => b[1] - a[1]))
		t.diagnostic(`${String(bytes).padStart(8)}  ${address.slice(url.length) || 'index.html'}`);
	assert(sum <= max, `${sum} bytes are more than ${max}`);
}

test('the first screen loads no more than it may', async (t) => {
	const seen = new Map();
	await follow(url, seen);
	/* Explore, which app.js asks for at once, is in the same file. */
	assert.strictEqual((await load(url + 'page/explore.js')).status, 404);
	assert.match((await load(url + 'page/app.js')).text, /const \$page\$explore=/);
	assert(seen.size > 3);
	check(t, 'first screen', seen, FIRST_MAX);
});

test('all files together are no larger than they may be', async (t) => {
	const all = new Map(),
		web = path.join(project, 'web');
	for (const name of fs.readdirSync(web, { recursive: true }).sort()) {
		const { status, bytes } = await load(url + name);
		if (status === 200) all.set(url + name, bytes);
	}
	check(t, 'everything', all, ALL_MAX);
});
