/* The script inside a heatmap. The picture is complete without it, titles included; this adds a line that describes the
 * cell under the pointer, and a range selected with two clicks, in the form of --time. Cells are <rect
 * data-i=column*rows+row data-v=value>; cells without a value are absent. Times are whole ns and exact in a double:
 * 2^53 of them are 104 days. */
(function () {
	'use strict';
	var SVG = 'http://www.w3.org/2000/svg',
		script = document.currentScript;
	var root = (script && script.closest('svg.cf')) || document.documentElement;
	function one(css) {
		return root.querySelector(css);
	}
	function number(name) {
		return +root.getAttribute('data-' + name);
	}
	var start = number('start'),
		rowNs = number('row'),
		from = number('from'),
		to = number('to'),
		columns = number('columns'),
		rows = number('rows'),
		left = number('left'),
		top = number('top'),
		width = number('width'),
		height = number('height'),
		unit = root.getAttribute('data-unit'),
		cells = one('.cells'),
		picked = one('.picked'),
		line = one('.line');
	var values = {},
		at = Math.floor((from - start) / rowNs),
		first = -1,
		last = -1;

	cells.querySelectorAll('[data-i]').forEach(function (r) {
		values[r.getAttribute('data-i')] = +r.getAttribute('data-v');
	});

	function seconds(ns) {
		var s = Math.floor(ns / 1e9),
			rest = String(ns % 1e9)
				.padStart(9, '0')
				.replace(/0+$/, '');
		return s + (rest ? '.' + rest : '') + 's';
	}
	function amount(v) {
		var names = unit === 'ns' ? ['ns', 'µs', 'ms', 's'] : unit === 'B' ? ['B', 'kB', 'MB', 'GB', 'TB'] : 0,
			i = 0;
		v *= number('scale');
		if (!names) return String(v).replace(/\B(?=(\d{3})+$)/g, ',') + ' ' + unit;
		for (; i + 1 < names.length && v >= 999.5; i++) v /= 1000;
		return v.toFixed(!i || v >= 99.95 ? 0 : v >= 9.995 ? 1 : 2) + ' ' + names[i];
	}
	/* The time of cells a to b, within the range shown. */
	function range(a, b) {
		return [Math.max(from, start + a * rowNs), Math.min(to, start + (b + 1) * rowNs)];
	}
	function describe(a, b) {
		var r = range(a, b),
			sum = 0;
		for (var i = a; i <= b; i++) sum += values[i] || 0;
		return '--time ' + seconds(r[0]) + '-' + seconds(r[1]) + '  ·  ' + amount(sum);
	}
	function lo() {
		return Math.min(first, last);
	}
	function hi() {
		return Math.max(first, last);
	}
	/* A rectangle for each column of the range, or for the one cell. */
	function mark(a, b) {
		picked.textContent = '';
		for (var c = Math.floor(a / rows); a >= 0 && c <= Math.floor(b / rows); c++) {
			var y0 = Math.max(a - c * rows, 0),
				y1 = Math.min(b - c * rows, rows - 1),
				r = document.createElementNS(SVG, 'rect');
			var box = { x: left + c * width, y: top + y0 * height, width: width, height: (y1 - y0 + 1) * height };
			for (var k in box) r.setAttribute(k, box[k]);
			picked.appendChild(r);
		}
	}
	function show() {
		if (first < 0) {
			mark(at, at);
			line.textContent = describe(at, at) + '  ·  click to start a range';
		} else if (last < 0) {
			mark(Math.min(first, at), Math.max(first, at));
			line.textContent = describe(Math.min(first, at), Math.max(first, at)) + '  ·  click to end the range';
		} else {
			mark(lo(), hi());
			line.textContent = describe(lo(), hi());
		}
	}
	function move(i) {
		var r = range(i, i);
		if (i < 0 || i >= columns * rows || r[0] >= r[1]) return;
		at = i;
		show();
	}
	/* The first click begins a range, the second ends it, the third clears it. */
	function pick() {
		if (first < 0) first = at;
		else if (last < 0) last = at;
		else first = last = -1;
		show();
	}
	function clear() {
		first = last = -1;
		show();
	}
	function cellUnder(e) {
		var p = new DOMPoint(e.clientX, e.clientY).matrixTransform(root.getScreenCTM().inverse());
		var c = Math.floor((p.x - left) / width),
			r = Math.floor((p.y - top) / height);
		return c < 0 || c >= columns || r < 0 || r >= rows ? -1 : c * rows + r;
	}
	var KEYS = { ArrowUp: -1, ArrowDown: 1, ArrowLeft: -rows, ArrowRight: rows };
	cells.setAttribute('tabindex', 0);
	cells.setAttribute('role', 'application');
	cells.setAttribute('aria-label', 'Cells: arrow keys move, Enter sets the ends of a range, Escape clears it');
	line.setAttribute('role', 'status');
	cells.addEventListener('mousemove', function (e) {
		move(cellUnder(e));
	});
	cells.addEventListener('click', pick);
	cells.addEventListener('focus', show);
	cells.addEventListener('keydown', function (e) {
		if (KEYS[e.key]) move(at + KEYS[e.key]);
		else if (e.key === 'Enter' || e.key === ' ') pick();
		else if (e.key === 'Escape') clear();
		else return;
		e.preventDefault();
	});
	line.textContent = 'Point at a cell; click two cells to select a range for --time.';
})();
