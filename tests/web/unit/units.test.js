// tier: test
/* web/units.js prints numbers as the program does. */
import assert from 'node:assert';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { test } from 'node:test';
import { change, clock, grouped, plain, share, value } from '../../../web/units.js';

const { program, tempDir } = createRequire(import.meta.url)('../picture.js');

test('values, as in the titles of the SVG', () => {
	const values = [
		1, 7, 42, 999, 1000, 1234, 9994, 9996, 12345, 99949, 99951, 999499, 999500, 1234567, 59949999999, 59950000000,
		60000000000, 3599499999999, 3599500000000, 86399999999999, 172800000000000, 123456789012345
	];
	const dir = tempDir(),
		at = (name) => path.join(dir, name);
	fs.writeFileSync(at('x.folded'), values.map((v) => `f${v} ${v}\n`).join(''));
	for (const unit of ['nanoseconds', 'bytes', 'samples']) {
		const stacks = JSON.parse(
			execFileSync(program, ['convert', at('x.folded'), '-o', '-', '--to', 'speedscope'], {
				encoding: 'utf8',
				maxBuffer: 1e8
			})
		);
		stacks.profiles.forEach((p) => {
			p.unit = unit === 'samples' ? 'none' : unit;
		});
		fs.writeFileSync(at('x.speedscope.json'), JSON.stringify(stacks));
		execFileSync(program, ['flame', at('x.speedscope.json'), '-o', at('x.svg'), '--min-width', '0', '--force']);
		const svg = fs.readFileSync(at('x.svg'), 'utf8');
		for (const v of values) {
			const title = new RegExp(`<title>f${v}\\n([^<]*)</title>`).exec(svg);
			assert.ok(title, `f${v} is in the picture`);
			const words = title[1].split(' · ');
			assert.ok(
				words.some((word) => word === value(v, unit) || word === value(v, unit).replace(' samples', ' none')),
				`${value(v, unit)} in ${title[1]}`
			);
		}
	}
});
test('values by hand', () => {
	assert.deepStrictEqual(
		[
			value(0, 'ns'),
			value(999, 'ns'),
			value(999.6, 'ns'),
			value(1234567, 'ns'),
			value(-1234567, 'ns'),
			value(1.5, 'seconds'),
			value(90, 's'),
			value(3, 'megabytes'),
			value(1234, ''),
			value(1234.4, 'samples'),
			value(5, 'count'),
			value(NaN, 'ns'),
			value(Infinity, 'B'),
			value(5, '__proto__')
		],
		[
			'0 ns',
			'999 ns',
			'1.00 µs',
			'1.23 ms',
			'-1.23 ms',
			'1.50 s',
			'1 min 30 s',
			'3.15 MB',
			'1,234',
			'1,234 samples',
			'5',
			'unknown',
			'unknown',
			'5 __proto__'
		]
	);
	assert.deepStrictEqual(
		[change(5, 'ns'), change(-5, 'ns'), change(0, 'ns'), grouped(1234567), grouped(12)],
		['+5 ns', '-5 ns', '0 ns', '1,234,567', '12']
	);
});
test('shares: three digits, and what is nearly nothing is not 0', () => {
	assert.deepStrictEqual(
		[share(1, 3), share(1, 8), share(1, 1), share(0, 5), share(5, 0), share(1, 1e6), share(-1, 8), share(1, 50)],
		['33.3 %', '12.5 %', '100.0 %', '0.00 %', '0.00 %', '0.0001 %', '-12.5 %', '2.00 %']
	);
});
test('clock: as much as tells points of a span apart', () => {
	const ms = new Date(2026, 10, 22, 9, 5, 7, 42).getTime();
	assert.deepStrictEqual(
		[30 * 86400e3, 2 * 86400e3, 7200e3, 600e3, 5e3].map((width) => clock(ms, width)),
		['2026-11-22', '11-22 09:05', '09:05', '09:05:07', '09:05:07.042']
	);
});
test('what cannot be seen, or turns text around, is shown', () => {
	assert.strictEqual(plain('a\u202eb\0c\u200bd\né\u{1f525}'), 'a\ufffdb\ufffdc\ufffdd\ufffdé\u{1f525}');
});
