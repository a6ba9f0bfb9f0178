// tier: test
/* What the page keeps in its address, and how it takes selectors, filters and axes apart. */
import assert from 'node:assert';
import { test } from 'node:test';
import { CHAR_PX, marks } from '../../../web/page/axis.js';
import { addFilter, exactly, filterParams, formatFilters, parseFilters, PRESETS } from '../../../web/page/filters.js';
import {
	completionAt,
	condition,
	conditions,
	joinSelector,
	splitSelector,
	withCondition
} from '../../../web/page/selector.js';
import { formatState, momentOf, parseSpan, parseState, spanText } from '../../../web/page/state.js';
import { hostLosses, readMetrics, remedyFor } from '../../../web/page/targets.js';
import { random } from './trees.js';

test('a state is the same after the way through an address', () => {
	const kept = {
		q: 'cpu{comm=~"a b+c&d=#%é"}',
		from: 'now-1h30m',
		to: '2026-11-22T08:29:23.178Z',
		by: 'host',
		v: 'table',
		c: 'binary',
		z: 'a1',
		s: '/x|y;/i',
		f: '-x.kind~^kernel$;!s.fn~a%3Bb',
		inv: '1',
		sw: 'std::map<int, int>',
		sel: '1795336163178.5-1795336169190',
		norm: 'abs',
		of_another_version: 'x&y'
	};
	const { state, notices } = parseState(formatState(kept));
	assert.deepStrictEqual(notices, []);
	for (const [k, v] of Object.entries(kept)) assert.strictEqual(state[k], v, k);
	assert.strictEqual(formatState(parseState('').state), '', 'defaults are not written');
});
test('bad values are left out and said, and nothing else is', () => {
	const bad = {
		from: 'yesterday',
		sel: '20-10',
		v: 'flame,table,chart',
		c: 'plaid',
		f: 's.fn',
		inv: '2',
		norm: 'x',
		to: 'now-',
		stack: 'x'
	};
	const { state, notices } = parseState(
		'?' + new URLSearchParams({ ...bad, q: 'cpu', __proto__: 'x', constructor: 'y' })
	);
	assert.strictEqual(notices.length, Object.keys(bad).length);
	assert.deepStrictEqual(
		[state.from, state.sel, state.v, state.c, state.f, state.q],
		['', '', 'flame,table', 'kind', '', 'cpu']
	);
	assert.strictEqual({}.polluted, undefined);
});
test('parts of time', () => {
	assert.deepStrictEqual(parseSpan(spanText(1795336163178.1234, 1795336163179)), [1795336163178.123, 1795336163179]);
	assert.deepStrictEqual(parseSpan('1-x'), null);
});
test('moments that times of the address mean', () => {
	const at = { now: 1.8e12, start: 1.7e12, end: 1.75e12 };
	for (const [text, ms] of [
		['now', 1.8e12],
		['now-1h30m', 1.8e12 - 5400e3],
		['start+1.5s', 1.7e12 + 1500],
		['end-2d', 1.75e12 - 172800e3],
		['1795336163', 1795336163000],
		['1795336163178', 1795336163178],
		['1795336163178123456', 1795336163178.1235],
		['2026-11-22T08:29:23Z', Date.UTC(2026, 10, 22, 8, 29, 23)]
	])
		assert.ok(Math.abs(momentOf(text, at) - ms) < 1e-3, `${text}: ${momentOf(text, at)}`);
	assert.ok(Number.isNaN(momentOf('', at)));
});
test('filters there and back, and as the server takes them', () => {
	const list = [
		{ what: 's', field: 'fn', regex: 'a;b%~c', off: false },
		{ what: '-x', field: 'bin', regex: 'libc', off: true },
		{ what: '-s', field: 'kind', regex: 'kernel', off: false },
		{ what: 's', field: 'file', regex: '\\.py$', off: false }
	];
	assert.deepStrictEqual(parseFilters(formatFilters(list)), list);
	assert.deepStrictEqual(filterParams(formatFilters(list)), { focus: 'a;b%~c\nfile:\\.py$', ignore: 'kind:kernel' });
	assert.strictEqual(addFilter(addFilter('', list), list), formatFilters(list), 'each once');
	for (const [name, text] of PRESETS)
		assert.ok(
			parseFilters(text)?.every((f) => new RegExp(f.regex)),
			name
		);
	assert.strictEqual(parseFilters('x.fn~a'), null);
	assert.ok(new RegExp(exactly('operator()(int*)[abi:x]{1}|^$.+?\\')).test('operator()(int*)[abi:x]{1}|^$.+?\\'));
});
test('selectors are taken apart and put together', () => {
	assert.deepStrictEqual(splitSelector('cpu{comm="a}b"}'), { type: 'cpu', match: 'comm="a}b"' });
	assert.deepStrictEqual(splitSelector(' cpu '), { type: 'cpu', match: '' });
	assert.strictEqual(joinSelector('cpu', ' '), 'cpu');
	assert.deepStrictEqual(
		conditions('a="x,\\"y", "service.name"=~\'b\', c!=`d`').map((c) => [c.label, c.op, c.value]),
		[
			['a', '=', 'x,"y'],
			['service.name', '=~', 'b'],
			['c', '!=', 'd']
		]
	);
	assert.strictEqual(withCondition('a="x",b!="y"', 'a', 'q"\\'), 'b!="y", a="q\\"\\\\"');
	assert.strictEqual(condition('service.name', '=', 'x'), '"service.name"="x"');
	for (const value of ['', '"', '\\', 'a,b', 'ü', '}'])
		assert.deepStrictEqual(
			conditions(condition('l', '=', value)).map((c) => c.value),
			[value]
		);
});
test('what is completed at the caret', () => {
	const at = (text) => completionAt(text.replace('|', ''), text.indexOf('|'));
	const parts = (text) => {
		const c = at(text);
		return [c.kind, c.text, c.label, c.before];
	};
	assert.deepStrictEqual(parts('|'), ['label', '', '', '']);
	assert.deepStrictEqual(parts('co|'), ['label', 'co', '', '']);
	assert.deepStrictEqual(parts('comm |'), ['op', '', 'comm', '']);
	assert.deepStrictEqual(parts('comm="re|"'), ['value', 're', 'comm', '']);
	assert.deepStrictEqual(parts('host="a", comm=~"|'), ['value', '', 'comm', 'host="a"']);
	assert.deepStrictEqual(parts('host="a", |'), ['label', '', '', 'host="a"']);
	const c = at('comm="re|dis", x="y"');
	assert.strictEqual('comm="redis", x="y"'.slice(c.from, c.to), '"redis"');
});
test('marks of an axis never overlap and never leave it, whatever its width', () => {
	const r = random(7);
	for (let i = 0; i < 3000; i++) {
		const first = 1.7e12 + r() * 1e11,
			last = first + 10 ** (r() * 12),
			width = 60 + r() * 1800,
			list = marks(first, last, width, i % 3 > 0);
		for (const [k, m] of list.entries()) {
			const half = (m.text.length * CHAR_PX) / 2;
			assert.ok(m.x - half >= -1e-6 && m.x + half <= width + 1e-6, `${m.text} at ${m.x} of ${width}`);
			assert.ok(
				!k || list[k - 1].x + (list[k - 1].text.length * CHAR_PX) / 2 < m.x - half,
				`${list[k - 1]?.text} ${m.text}`
			);
		}
	}
	assert.ok(marks(0, 10000, 800, false).length >= 5);
	assert.deepStrictEqual(marks(5, 5, 800, true), []);
});
test('metrics are added up by name', () => {
	assert.deepStrictEqual(
		readMetrics('# TYPE a counter\na_total{tenant=""} 1\na_total{tenant="x} 9"} 2.5e1\nb 3\nbad line\n'),
		{ a_total: 26, b: 3 }
	);
});
test('each binary without names has a command, and a path cannot leave its quotes', () => {
	const row = (more) => remedyFor({ binary: 'x', mapping: '', build_id: null, kind: 'native', ...more }).command;
	assert.match(row({ kind: 'kernel' }), /doctor/);
	assert.match(row({ binary: 'libc.so.6', mapping: '/lib/libc.so.6' }), /libc6-dbg/);
	assert.strictEqual(
		row({ mapping: "/usr/bin/a'; rm -rf /; '" }),
		`sudo apt install "$(dpkg -S '/usr/bin/a'\\''; rm -rf /; '\\''' | cut -d: -f1)-dbgsym"`
	);
	assert.strictEqual(row({ mapping: '/opt/x', build_id: '$(reboot)' }).includes('reboot'), false);
});
test('what collectors lost, by host: lost samples are bad, lost details are said', () => {
	const row = (host, reason, kind, n) => ({ host, reason, kind, n });
	assert.deepStrictEqual(
		hostLosses([
			row('a', 'ring_full', 'sample', 1200),
			row('a', 'object_gone', 'detail', 2),
			row('b', 'ring_full', 'sample', 0),
			row('c', 'object_gone', 'detail', 1),
			row('c', 'ring_full', 'sample', 0)
		]),
		[
			['a', '1,200 samples: ring full, 2 object gone', 'more'],
			['b', 'nothing', 'good'],
			['c', '1 object gone', '']
		]
	);
	assert.deepStrictEqual(hostLosses([]), []);
});
