// tier: test
/* Colours of what ran on a GPU: kernels are told from copies and from what waits, and text can be read on each. */
import assert from 'node:assert';
import { test } from 'node:test';
import { COPY, SYNC, workColour } from '../../../web/gpu.js';

/* WCAG 2: of #111 on a colour. */
function contrast(colour) {
	const light = (hex) =>
		[1, 3, 5]
			.map((at) => parseInt(hex.slice(at, at + 2), 16) / 255)
			.map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
			.reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
	return (light(colour) + 0.05) / (light('#111111') + 0.05);
}

test('what ran has a colour by its name', () => {
	for (const name of ['[copy host to device]', '[copy]', '[set]']) assert.strictEqual(workColour(name), COPY);
	for (const name of ['[sync]', '[sync stream]']) assert.strictEqual(workColour(name), SYNC);
	const kernels = Array.from({ length: 200 }, (_, i) => workColour(`kernel${i}`)),
		shades = new Set([...kernels, workColour('[graph]'), workColour('')]);
	assert.ok(shades.size > 4, [...shades].join());
	assert.ok(!shades.has(COPY) && !shades.has(SYNC));
	assert.strictEqual(workColour('kernel7'), kernels[7]);
	for (const colour of [...shades, COPY, SYNC]) assert.ok(contrast(colour) >= 4.5, `${colour} ${contrast(colour)}`);
});
