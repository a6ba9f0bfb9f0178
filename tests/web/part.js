/* Loaded before a file of tests that runs in parts (tests/run, "parts: N"). With CRESSET_PART=2/3 the file has the
 * second of each three of its tests. The tests of a describe() stay together. */
'use strict';
const runner = require('node:test');

const [part, parts] = (process.env.CRESSET_PART || '1/1').split('/').map(Number);
let seen = 0,
	within = false;

const isHere = () => within || seen++ % parts === part - 1;
const { test, describe } = runner;
runner.test = (...args) => (isHere() ? test(...args) : undefined);
runner.describe = (name, define) => {
	if (!isHere()) return;
	describe(name, () => {
		within = true;
		define();
		within = false;
	});
};
