// deep.js FRAMES: works below that many frames of JavaScript, until it is ended.
'use strict';

function leaf(n) {
	let h = 7;
	for (let i = 0; i < n; i++)
		h = (h * 31 + (i ^ (h >>> 3))) | 0;
	return h;
}

function deep(left) {
	return left > 0 ? (deep(left - 1) + 1) | 0 : leaf(100000);
}

// The outermost deep(), the leaf, run(), the module's own function and Node's loader have frames as well.
const frames = Number(process.argv[2]) - 10;
let sink = 0;
(function run() {
	for (;;)
		sink ^= deep(frames);
})();
