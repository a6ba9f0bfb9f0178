/* tools/mkassets: what it strips means the same to TypeScript's parser and when it runs; modules that it joins or
 * packs do what they do apart. */
'use strict';
const assert = require('node:assert');
const { execFileSync, spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { test } = require('node:test');
const vm = require('node:vm');
const ts = require('typescript');
const { project, tempDir } = require('./picture.js');

const dir = tempDir(),
	mkassets = path.resolve(project, process.env.BUILD || 'build', 'tools', 'mkassets');
const write = (name, text) => {
	const file = path.join(dir, name);
	fs.mkdirSync(path.dirname(file), { recursive: true });
	fs.writeFileSync(file, text);
	return file;
};
const strip = (name, text) => execFileSync(mkassets, ['strip', write(name, text)], { encoding: 'utf8' });

/* The leaves of the syntax tree, as text: what the code is, without blanks and comments. */
function leaves(text) {
	const source = ts.createSourceFile('x.js', text, ts.ScriptTarget.Latest, true, ts.ScriptKind.JS),
		out = [];
	assert.deepStrictEqual(
		source.parseDiagnostics.map((d) => d.messageText),
		[]
	);
	const visit = (node) => {
		const kids = node
			.getChildren(source)
			.filter((k) => k.kind < ts.SyntaxKind.FirstJSDocNode || k.kind > ts.SyntaxKind.LastJSDocNode);
		if (kids.length) kids.forEach(visit);
		else out.push(ts.SyntaxKind[node.kind] + ' ' + node.getText(source));
	};
	visit(source);
	return out;
}

test('every script of the page means the same without comments', () => {
	const below = (d, recursive) =>
		fs.readdirSync(path.join(project, d), { recursive }).map((f) => path.join(project, d, f));
	const files = [...below('web', true), ...below('tests/web', false)].filter((f) => f.endsWith('.js'));
	assert(files.length > 5);
	for (const file of files) {
		const text = fs.readFileSync(file, 'utf8'),
			stripped = execFileSync(mkassets, ['strip', file], { encoding: 'utf8' });
		assert.deepStrictEqual(leaves(stripped), leaves(text), file);
		assert(
			stripped.length < text.length || path.dirname(file).endsWith('vendor'),
			file
		); /* what is minified has nothing to lose */
	}
});

/* Each is an expression, or statements that set `it`; what it is must stay. */
const cases = [
	'"a // b"',
	"'/* a */'",
	'`// ${1 /* one */ + 1} /* two */`',
	'`a${`b${"// c"}`}d`',
	'/[/*]\\/\\//.source',
	'/\\/*x/.test("//")',
	'"\\"// a"',
	'8 / 2 / 1 // 3\n',
	'(8) / 2 /* a */ / 1',
	'[8][0] / 2 // "',
	'let i = 8; it = i++ / 2 // 1\n/ 2',
	'if (true) /a\\//.test("a/") ? it = 1 : it = 2',
	'it = ((a) => a / 2 /* / */)(6)',
	'function f() { return /* a\n */ 5 } it = f()',
	'function f() { return /\\/\\// } it = f().source',
	'it = { a: 6 }.a / 2 // b',
	'it = typeof /x/ // y',
	'const o = { return: 8 }; it = o.return / 2 // /',
	'for (const x of /a,b/.source.split(",")) it = x',
	'it = 1\n/* x */\n;[2].forEach((x) => { it = x })',
	'let a = 1 /* b */ - /* c */ - 1; it = a',
	'it = "a\\\n   b // c"',
	'it = `\n\t\tindented // text\n`',
	'it = /a/g // c\n',
	'it = 4 /2/ 1',
	'it = [/[^/]+$/, /\\//].join()',
	'class A { static x = 4; } it = A.x / 2 // z',
	'it = (() => { if (1) { } /x/.exec("x"); return 3 })()',
	'it = 1 <!2 // x',
	'it = "\u2028//"',
	'it = .5/.25//x',
	'label: { it = 1 } /x/.test("x")',
	'it = `${ { a: `}` }.a }` // }',
	'it = 1\nit = it\n+ 1',
	'let a = 1, b = 2; a\n++b; it = [a, b]',
	'it = (() => { return\n5 })()',
	'do it = 1; while (0)\nit += 1',
	'class A { a\n*b() { yield 1 } }\nit = typeof new A().b',
	'it = 5\n.constructor.name',
	'let a = 3; it = a + +a - -a',
	'let a = 3; it = a < !--a',
	'it = [1, 2]\n;[it] = [7]',
	'if (1)\nit = 1\nelse it = 2',
	'for (it = 0; it < 3; it++)\n;',
	'const f = () => { }\nit = f()',
	'it = 8 / /8/.source',
	'it = 1 ? .5 : 2',
	'it = "a" in { a: 1 }',
	'it = typeof "a"',
	'it = ((x) =>\nx)(4)',
	'it = {\na: 1,\nb: 2\n}.b\n',
	'let a = { b: 3 }; it = a\n?.b',
	'it = 3 - .5 * - 2',
	'async function f() { for await (const x of [])\nit = x } it = 2',
	'it = ((x) => x)`a${1}`[1] / 1 // d',
	'it = "//" + /["\'`]/.source + \'/*\'',
	'var a = 4, g = 2; it = a /g/ 1'
];
test('odd scripts give the same without comments', () => {
	const run = (code) => {
		const context = { it: undefined };
		const value = vm.runInNewContext(code, context);
		return JSON.stringify(context.it === undefined ? value : context.it);
	};
	for (const code of cases) {
		const stripped = strip('case.js', code);
		assert.deepStrictEqual(leaves(stripped), leaves(code), code);
		assert.strictEqual(run(stripped), run(code), code);
	}
});

test('licences stay, broken scripts are refused', () => {
	assert.strictEqual(
		strip('a.js', "/*! (c) me, it's mine */\n/* not this */\n  x();\n\n\n  y(); // no\n"),
		"/*! (c) me, it's mine */\nx();y();\n"
	);
	for (const text of ['"a\n"', '/* a', '`a', '`${', 'a = /b\n/', ')', "'", 'f({']) {
		const { status, stderr } = spawnSync(mkassets, ['strip', write('bad.js', text)], { encoding: 'utf8' });
		assert.strictEqual(status, 1, text);
		assert.match(stderr, /bad\.js: a .* (without an end|was not opened)/);
	}
});

test('styles and pages keep what is no comment', () => {
	assert.strictEqual(
		strip(
			'a.css',
			"/* a */\n.x { content: \"/* b */\"; /* c */ color: red }\n\n\t.y::after { content: '\\'/*' } /* d */"
		),
		".x{content:\"/* b */\";color:red}.y::after{content:'\\'/*'}\n"
	);
	assert.strictEqual(
		strip('b.css', "a/**/b{} c /**/ d{} i { background: url(//x/*y) } /*! it's kept */ j{}"),
		"a/**/b{}c d{}i{background:url(//x/*y)}/*! it's kept */ j{}\n"
	);
	assert.strictEqual(
		strip(
			'a.html',
			'<!doctype html>\n<!-- a -->\n<p title="<!-- b -->">\n   x <!-- c\n --> y\n</p>\n' +
				'<pre>\n  <!-- d -->\n</pre>\n<script>\n // e\n</script>\n'
		),
		'<!doctype html>\n<p title="<!-- b -->">\nx y\n</p>\n<pre>\n  <!-- d -->\n</pre>\n<script>\n // e\n</script>\n'
	);
	assert.strictEqual(strip('a.svg', '<svg>\n  <!-- x -->\n</svg>'), '<svg>\n  <!-- x -->\n</svg>');
});

/* --- joining --- */

const bundle = (entry) => spawnSync(mkassets, ['bundle', entry], { encoding: 'utf8' });
const modules = {
	'main.js': `
		import { one, two as zwei, twice } from './lib/numbers.js'; // comment
		import * as all from './lib/numbers.js';
		import Box, { label as name } from './box.js';
		import './effect.js';
		export { renamed } from './box.js';
		const module = 'own names stay', import_ = { import: 1 };
		result.push(one, zwei, twice(21), all.one, Object.keys(all).sort().join(), new Box(5).value);
		result.push(name, module, import_.import);
		export const never = () => import('./late.js');
		result.later = import('./late.js').then((late) => result.push(late.default, late.answer()));`,
	'lib/numbers.js': `
		const hidden = 1;
		export const one = hidden;
		export const two = { a: [2, 3] }.a[0];
		export function twice(x) { return 2 * x; }
		export async function never() { await null; }
		export function* some() { yield 1; }
		export class Empty {}
		result.push('numbers');`,
	'box.js': `
		import { twice } from './lib/numbers.js';
		const hidden = 2, from = 'from';
		export default class Box { constructor(v) { this.value = twice(v) + hidden; } }
		export { from as label, hidden as renamed };
		result.push('box');`,
	'effect.js': `result.push('effect');`,
	'late.js': `
		import { one } from './lib/numbers.js';
		export default one + 1;
		export function answer() { return 42; }
		result.push('late');`
};

test('modules joined do what they do apart', async () => {
	for (const [name, text] of Object.entries(modules)) write('joined/' + name, text);
	write('joined/package.json', '{ "type": "module" }');
	const { status, stdout, stderr } = bundle(path.join(dir, 'joined/main.js'));
	assert.strictEqual(stderr, '');
	assert.strictEqual(status, 0);
	const joined = [];
	vm.runInNewContext(stdout, { result: joined, Promise });
	await joined.later;
	const apart = (globalThis.result = []);
	await import(path.join(dir, 'joined/main.js'));
	await apart.later;
	/* What is asked for later runs at once when it is joined. */
	assert.deepStrictEqual(
		joined.filter((x) => x !== 'late'),
		apart.filter((x) => x !== 'late')
	);
	assert(apart.length > 12);
	assert(!stdout.includes('comment'));
});

test('what cannot be joined is refused', () => {
	for (const [text, word] of [
		['import x from "y";', /path that begins/],
		['import "./none.js";', /there is no/],
		['export let a = 1;', /this kind of export/],
		['export * from "./ok.js";', /this kind of export/],
		['export const a = 1, b = 2;', /one name/],
		['export const { a } = {};', /one name/],
		['export default function () {}', /needs a name/],
		['import { b } from "./ok.js";', /exports no b/],
		['import a from "./ok.js";', /exports no default/],
		['x(import.meta.url);', /import\.meta/],
		['import("./" + a);', /path alone/],
		['import "./cycle.js";', /import each other/],
		['a = `', /without an end/]
	]) {
		write('refused/ok.js', 'export const a = 1;');
		write('refused/cycle.js', 'import "./main.js";');
		const { status, stdout, stderr } = bundle(write('refused/main.js', text));
		assert.strictEqual(status, 1, text);
		assert.strictEqual(stdout, '');
		assert.match(stderr, word);
	}
});

/* --- packing --- */

const pages = {
	'app/main.js': `
		import { name } from '../names.js';
		import { first } from './first.js';
		result.push(name, first.name);
		export const both = () => Promise.all([
			import('./late.js'), import('./other.js'), import('./side/by.js'), import('./first.js')]);`,
	'app/first.js': `import * as names from '../names.js'; export const first = names;`,
	'names.js': `export const name = 'names'; result.push('once');`,
	'shared.js': `
		import { name } from './names.js';
		export default class Shared { who() { return name + ' shared'; } }
		result.push('shared once');`,
	'app/late.js': `
		import Shared from '../shared.js';
		import { deep } from './side/deep.js';
		export const late = [new Shared().who(), deep, import.meta.url.replace(/.*[/]/, '')];
		export default 5;`,
	'app/other.js': `
		import Shared from '../shared.js';
		import { name } from '../names.js';
		export const other = [new Shared().who(), name];
		export const again = () => import('./late.js');`,
	'app/side/deep.js': `export const deep = 'deep';`,
	'app/side/by.js': `export function by() { return import('../other.js'); }`
};
const pack = (web, out, ...groups) =>
	spawnSync(mkassets, ['pack', path.join(dir, web), path.join(dir, out), ...groups], { encoding: 'utf8' });
/* What a page says that was asked for everything. */
async function said(folder) {
	const result = (globalThis.result = []);
	const [late, other, { by }, { first }] = await (await import(path.join(dir, folder, 'app/main.js'))).both();
	result.push(
		late.late,
		late.default,
		other.other,
		(await by()).other === other.other,
		(await other.again()).default,
		Object.keys(first)
	);
	return result;
}

test('a page in packs does what it does apart, in fewer files', async () => {
	for (const [name, text] of Object.entries(pages)) write('page/' + name, text);
	for (const folder of ['page', 'packed', 'grouped']) write(folder + '/package.json', '{ "type": "module" }');
	const files = (folder) =>
		fs
			.readdirSync(path.join(dir, folder), { recursive: true })
			.filter((f) => f.endsWith('.js'))
			.sort();
	const { status, stderr } = pack('page', 'packed', 'app/main.js+app/first.js');
	assert.strictEqual(stderr, '');
	assert.strictEqual(status, 0);
	assert.deepStrictEqual(files('packed'), [
		'app/late.js',
		'app/main.js',
		'app/other.js',
		'app/side/by.js',
		'shared.js'
	]);
	assert.strictEqual(pack('page', 'grouped', 'app/main.js', 'app/late.js+app/other.js').status, 0);
	assert.deepStrictEqual(files('grouped'), ['app/late.js', 'app/main.js', 'app/side/by.js']);
	const apart = await said('page');
	assert.deepStrictEqual(apart, [
		'once',
		'names',
		'names',
		'shared once',
		['names shared', 'deep', 'late.js'],
		5,
		['names shared', 'names'],
		true,
		5,
		['name']
	]);
	assert.deepStrictEqual(await said('packed'), apart);
	assert.deepStrictEqual(await said('grouped'), apart);
});

test('what cannot be packed is refused', () => {
	write('cyclic/main.js', 'import("./a.js"); import("./b.js"); import("./c.js"); import("./d.js");');
	write('cyclic/a.js', 'import "./c.js"; export const a = 1;');
	write('cyclic/b.js', 'export const b = 1;');
	write('cyclic/c.js', 'export const c = 1;');
	write('cyclic/d.js', 'import "./b.js"; export const d = 1;');
	write('lost/main.js', 'import { a } from "./a.js";');
	write('lost/a.js', 'export const a = import.meta.url;');
	write('outside/main.js', 'import "../lost/a.js";');
	for (const [web, groups, word] of [
		['cyclic', ['main.js', 'a.js+b.js', 'c.js+d.js'], /packs import each other/],
		['cyclic', ['main.js', 'e.js'], /e\.js: the page does not ask for it/],
		['lost', ['main.js'], /a\.js: import\.meta is known only/],
		['outside', ['main.js'], /is not below/]
	]) {
		const { status, stderr } = pack(web, 'refused-packs', ...groups);
		assert.strictEqual(status, 1, web);
		assert.match(stderr, word);
	}
});

/* --- short names --- */

/* What every name means to TypeScript: which variable, or the name itself where nothing here declares it. */
function meanings(text) {
	const file = 'x.js',
		source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true, ts.ScriptKind.JS),
		host = {
			getSourceFile: (name) => (name === file ? source : undefined),
			getDefaultLibFileName: () => '',
			writeFile: () => {},
			getCurrentDirectory: () => '',
			getCanonicalFileName: (name) => name,
			useCaseSensitiveFileNames: () => true,
			getNewLine: () => '\n',
			fileExists: (name) => name === file,
			readFile: () => undefined
		};
	const options = { allowJs: true, noLib: true, noResolve: true, target: ts.ScriptTarget.Latest },
		checker = ts.createProgram([file], options, host).getTypeChecker(),
		numbers = new Map(),
		out = [];
	assert.deepStrictEqual(
		source.parseDiagnostics.map((d) => d.messageText),
		[]
	);
	const variable = (node, symbol) => {
		const isHere = symbol?.declarations?.length && symbol.declarations[0].getSourceFile() === source;
		if (!isHere) return out.push('free ' + node.text);
		if (!numbers.has(symbol)) numbers.set(symbol, numbers.size);
		out.push('variable ' + numbers.get(symbol));
	};
	const visit = (node) => {
		const { parent } = node;
		if (ts.isShorthandPropertyAssignment(node)) {
			out.push('key ' + node.name.text);
			variable(node.name, checker.getShorthandAssignmentValueSymbol(node));
			if (node.objectAssignmentInitializer) visit(node.objectAssignmentInitializer);
		} else if (
			ts.isBindingElement(node) &&
			!node.propertyName &&
			!node.dotDotDotToken &&
			ts.isObjectBindingPattern(parent)
		) {
			out.push('key ' + node.name.text);
			variable(node.name, checker.getSymbolAtLocation(node.name));
			if (node.initializer) visit(node.initializer);
		} else if (ts.isIdentifier(node)) {
			const isKey =
				(ts.isPropertyAccessExpression(parent) && parent.name === node) ||
				(ts.isBindingElement(parent) && parent.propertyName === node) ||
				ts.isImportSpecifier(parent) ||
				ts.isExportSpecifier(parent) ||
				((ts.isPropertyAssignment(parent) ||
					ts.isMethodDeclaration(parent) ||
					ts.isAccessor(parent) ||
					ts.isPropertyDeclaration(parent)) &&
					parent.name === node);
			if (isKey) out.push('key ' + node.text);
			else variable(node, checker.getSymbolAtLocation(node));
		} else if (ts.isLiteralExpression(node) || ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node)) {
			out.push('text ' + node.text);
		} else ts.forEachChild(node, visit);
	};
	visit(source);
	return out;
}
test('meanings differ where names do not mean the same', () => {
	const same = (a, b) => assert.deepStrictEqual(meanings(a), meanings(b)),
		other = (a, b) => assert.notDeepStrictEqual(meanings(a), meanings(b));
	same('const one = 1, two = { one }; f(two, g)', 'const a = 1, b = { one: a }; f(b, g)');
	other('const one = 1, two = 2; f(one)', 'const one = 1, two = 2; f(two)');
	other('const one = 1; f(one)', 'const one = 1; f(two)');
	other('f(g)', 'f(h)');
	other('const { one } = o', 'const { two: one } = o');
	other('o.one', 'o.two');
	other('(a) => { let b; return (c) => b + c }', '(a) => { let b; return (b) => b + b }');
});
const names = (text) => execFileSync(mkassets, ['names', write('names.js', text)], { encoding: 'utf8' });

test('names of variables get short, and all of the page mean what they meant', () => {
	const groups = String(fs.readFileSync(path.join(project, 'Makefile')))
		.replace(/\\\n/g, ' ')
		.match(/^PAGE_PACKS := (.*)$/m)[1]
		.trim()
		.split(/\s+/);
	const web = path.join(project, 'web'),
		[long, short] = ['long', 'short'].map((d) => path.join(dir, d));
	execFileSync(mkassets, ['pack-as-named', web, long, ...groups]);
	execFileSync(mkassets, ['pack', web, short, ...groups]);
	const files = fs.readdirSync(long, { recursive: true }).filter((f) => f.endsWith('.js'));
	assert(files.length > 5);
	const sizes = [];
	for (const file of files) {
		const [a, b] = [long, short].map((d) => fs.readFileSync(path.join(d, file), 'utf8'));
		assert.deepStrictEqual(meanings(b), meanings(a), file);
		sizes.push([a.length, b.length]);
	}
	const [before, now] = [0, 1].map((i) => sizes.reduce((sum, pair) => sum + pair[i], 0));
	assert(now < 0.9 * before, `${before} ${now}`);
	const entry = path.join(web, 'report', 'main.js'),
		bundle = (what) => execFileSync(mkassets, [what, entry], { encoding: 'utf8' });
	assert.deepStrictEqual(meanings(bundle('bundle')), meanings(bundle('bundle-as-named')));
});

/* Statements that set `it`; with short names it is the same. */
const named = [
	'const first = 1, { second, third: [fourth = first + 1] } = { second: 2, third: [] }; it = [first, second, fourth]',
	'const value = 3, o = { value, other: value, value2() { return value } }; it = [o.value, o.other, o.value2()]',
	'function sum(a, { b = a, ...rest }, ...[c]) { return a + b + c + rest.d } it = sum(1, { d: 4 }, 3)',
	'class Thing { #own = 1; name = 2; static made = 3; constructor(name) { this.other = name; } get both() { return ' +
		'this.#own + this.other } *each(n) { yield n; yield this.name } } it = [new Thing(5).both, ' +
		'...new Thing(1).each(7), ' +
		'Thing.made]',
	'const long = 2; { const long = 3; it = long } it += long',
	'const f = (long) => ({ long, again: long * 2 }), g = async (x) => x; it = f(4).again + f(1).long + typeof g',
	'let a = 1, b = 2; const swap = (a) => `${a}${`${b + a}`}`; [a, b] = [b, a]; it = swap("x") + a + b',
	'try { throw { message: "m" } } catch ({ message }) { it = message }',
	'const get = 1, set = 2, of = [3], as = 4; for (const from of of) it = { get, set, of, from, as }',
	'let n = 0; for (let i = 0, to = 3; i < to; i++) n += i; it = n ? n : -n',
	'const obj = { delete: 1, "quoted": 2, [`computed${1}`]: 3, async: 4, get got() { return 5 } }; it = { ...obj }.got',
	'const Math2 = Math, isNaN2 = isNaN; it = [Math2.max(1, 2), isNaN2(NaN), ((Math) => Math)(7)]',
	'var late = typeof later; function later() { return arguments.length } it = late + later(1, 2)',
	'const many = [' +
		Array.from({ length: 80 }, (_, i) => `(name${i}, other${i}) => name${i} - other${i}`) +
		']; it = ' +
		'many.map((f, i) => f(i, 2)).join()',
	'function all(' +
		Array.from({ length: 200 }, (_, i) => `name${i}`) +
		') { return ' +
		Array.from({ length: 200 }, (_, i) => `name${i}`).join('+"-"+') +
		' } it = all(...Array(200).keys())'
];
test('what has short names does the same', () => {
	for (const code of named) {
		const [a, b] = [code, names(code)].map((text) => {
			const context = vm.createContext({});
			vm.runInContext(text, context);
			return JSON.stringify(context.it);
		});
		assert(a !== undefined, code);
		assert.strictEqual(b, a, code);
	}
	const short = names(
		'const something = 1; function more(another) { return another + something + window.something }'
	);
	assert(!/another|const something/.test(short) && /window\.something/.test(short), short);
	for (const broken of ['const {', 'class', '(a', 'const a = `${', '{ a, ', 'const', 'let [', 'function', ') =>'])
		spawnSync(mkassets, ['names', write('broken.js', broken)], { stdio: 'ignore' }).status === null &&
			assert.fail(`ended by a signal: ${broken}`);
});
