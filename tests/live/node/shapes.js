// Does work in functions of known structure, for a number of seconds of CPU time in all, with naps between, and states on stdout how much each took:
//     PATH MICROSECONDS
'use strict';

const seconds = Number(process.argv[2] || 3);
let sink = 0;

// The only function that uses much of the CPU.
function burn(n) {
	let x = n | 0;
	for (let i = 0; i < n; i++) x = (Math.imul(x, 1103515245) + 12345) ^ (i >>> 3);
	sink ^= x;
	return x;
}

function inner(n) {
	return burn(n) + 1;
}
function middle(n) {
	return inner(n) + 1;
}
function heavy() {
	return middle(30000);
}
function light() {
	return middle(10000);
}

function deep(n) {
	return n ? deep(n - 1) + 1 : burn(20000);
}
function recurse() {
	return deep(50);
}

class Shape {
	constructor(n) {
		this.n = n;
	}
	area() {
		return burn(this.n);
	}
	get weight() {
		return this.area() + 1;
	}
	static of(n) {
		return new Shape(n).weight;
	}
}
function classes() {
	return Shape.of(20000);
}

function sorts() {
	const all = [5, 3, 8, 1, 9, 2, 7];
	all.sort(function byBurning(a, b) {
		burn(2000);
		return a - b;
	});
	return all[0];
}

const closures = (() => {
	const make = (n) => () => burn(n); // the function returned has no name
	return function closures() {
		return make(20000)();
	};
})();

function* numbers() {
	for (;;) yield burn(20000);
}
const running = numbers();
function generates() {
	return running.next().value;
}

async function step(n) {
	await null;
	return burn(n);
}
async function awaits() {
	return (await step(20000)) + (await step(20000));
}

const cell = new Int32Array(new SharedArrayBuffer(4));
function naps() {
	return Atomics.wait(cell, 0, 0, 10);
}

const phases = { heavy, light, recurse, classes, sorts, closures, generates, awaits };

async function main() {
	const names = Object.keys(phases);
	const spent = () => names.reduce((sum, name) => sum + used[name], 0);
	const used = Object.fromEntries(names.map((name) => [name, 0]));
	while (spent() < 1e6 * seconds) {
		for (const name of names) {
			const before = process.cpuUsage();
			for (let i = 0; i < 20; i++) {
				const done = phases[name]();
				if (done instanceof Promise) await done;
			}
			const after = process.cpuUsage(before);
			used[name] += after.user + after.system;
		}
		naps();
	}
	console.log(`pid ${process.pid}`);
	for (const name of names) console.log(`cpu ${name} ${used[name]}`);
	return sink;
}
main();
