/* The script inside a flame graph or flame chart. The picture is complete without it; this adds zoom, search, keys, a
 * status line, and a layout that follows the window. Frames are <rect data-v=total> in pre-order, the row is the depth,
 * and the <title> is "name\nkind · binary · value · percent". Text is only ever inserted as textContent. In a chart
 * (root with data-chart=height) x is time: frames begin at data-s, in ns, and keep their y; a lane is a rect with
 * data-l, followed by its frames, outermost first; its zoom is a range of time, for all lanes. */
(function () {
	'use strict';
	var SVG = 'http://www.w3.org/2000/svg',
		HTML = 'http://www.w3.org/1999/xhtml',
		ROW = 18,
		PAD = 10;
	var script = document.currentScript,
		root = (script && script.closest('svg.cf')) || document.documentElement;
	var alone = root === document.documentElement; /* not inside a page: address, scrolling and keys are ours */
	function one(css) {
		return root.querySelector(css);
	}
	function attr(name) {
		return root.getAttribute('data-' + name);
	}
	var box = one('.f'),
		labels = one('.t'),
		heading = one('.title'),
		sub = one('.sub'),
		legend = root.querySelectorAll('.legend > g');
	var icicle = attr('icicle') !== null,
		chart = attr('chart'),
		axis = one('.x'),
		unit = attr('unit'),
		light = attr('light');
	var F = [],
		n,
		rows = 0,
		inner,
		charWidth,
		top; /* F: frames {r, name, label, info, x, v, d, up, end, base, hit} */
	var zoom = 0,
		focus = 0,
		hits = [],
		at = -1,
		query = '',
		anyCase = false;
	var title = heading.textContent,
		parts = sub.textContent.split(' · ');

	function el(ns, tag, attrs, into) {
		var e = document.createElementNS(ns, tag);
		for (var k in attrs) e.setAttribute(k, attrs[k]);
		into.appendChild(e);
		return e;
	}
	/* Positions are exact: a child starts where its left sibling ends. */
	function read() {
		var path = [],
			rects = box.querySelectorAll('rect'),
			i,
			y0;
		for (i = 0, n = rects.length; i < n; i++) {
			var r = rects[i],
				t = r.textContent,
				cut = t.lastIndexOf('\n'),
				y = +r.getAttribute('y'),
				lane = r.hasAttribute('data-l');
			y0 = !i || lane ? y : y0;
			var f = (F[i] = {
				r: r,
				name: t.slice(0, cut),
				info: t.slice(cut + 1),
				v: +r.getAttribute('data-v'),
				y: y,
				lane: lane,
				d: Math.round(Math.abs(y - y0) / ROW) + (chart && i ? 1 : 0),
				base: r.getAttribute('class')
			});
			f.label = f.name.replace(/(_\[[kjicoGg]\])+$/, '');
			path.splice(f.d).forEach(close);
			f.up = f.d ? path[f.d - 1] : -1;
			f.x = f.next = chart ? +r.getAttribute('data-s') : f.d ? F[f.up].next : 0;
			if (f.d) F[f.up].next += f.v;
			path.push(i);
			rows = Math.max(rows, f.d + 1);
			r.cf = i;
		}
		path.forEach(close);
		function close(open) {
			F[open].end = i;
		}
	}

	/* --- text --- */
	function percent(part, whole, digits) {
		return (whole ? (100 * part) / whole : 0).toFixed(digits) + ' %';
	}
	function amount(v) {
		var names = unit === 'ns' ? ['ns', 'µs', 'ms', 's'] : unit === 'B' ? ['B', 'kB', 'MB', 'GB', 'TB'] : 0,
			i = 0;
		v *= attr('scale');
		if (!names) return String(v).replace(/\B(?=(\d{3})+$)/g, ',') + ' ' + unit;
		for (; i + 1 < names.length && v >= 999.5; i++) v /= 1000;
		return v.toFixed(!i || v >= 99.95 ? 0 : v >= 9.995 ? 1 : 2) + ' ' + names[i];
	}
	/* The part of s that fits into this many columns of a fixed-width font; East Asian characters take two. */
	function fit(s, columns) {
		var c = 0,
			i = 0,
			chars = Array.from(s.slice(0, 2 * columns + 2));
		for (; i < chars.length && c <= columns; i++) c += /[\u1100-\u115f\u2e80-\uffdc]/.test(chars[i]) ? 2 : 1;
		if (c <= columns) return s;
		return columns < 3 ? '' : chars.slice(0, i - (c > columns + 1 ? 3 : 2)).join('') + '…';
	}
	function describe(i) {
		return (
			F[i].name +
			' · ' +
			F[i].info +
			(chart ? '' : i === zoom ? '' : ' · ' + percent(F[i].v, F[zoom].v, 2) + ' of view')
		);
	}

	/* --- controls --- */
	var holder = el(SVG, 'foreignObject', { width: '100%', height: 60 }, root),
		bar = el(HTML, 'div', { class: 'bar' }, holder);
	var input = el(
		HTML,
		'input',
		{
			type: 'search',
			'aria-label': 'Search frames',
			placeholder: 'Search: text or /regex/',
			spellcheck: 'false',
			autocomplete: 'off'
		},
		bar
	);
	function button(text, tip, fn) {
		var b = el(HTML, 'button', { type: 'button', title: tip, 'aria-label': tip }, bar);
		b.textContent = text;
		b.addEventListener('click', fn);
		return b;
	}
	var caseButton = button('Aa', 'Ignore case (Ctrl-I)', toggleCase);
	var prevButton = button('‹', 'Previous match (N)', function () {
		step(-1);
	});
	var nextButton = button('›', 'Next match (n)', function () {
		step(1);
	});
	var resetButton = button('Reset zoom', 'Reset zoom (0 or Esc)', function () {
		zoomTo(0);
	});
	var result = el(HTML, 'span', { class: 'result', role: 'status' }, bar);
	var line = el(HTML, 'div', { class: 'line' }, bar),
		live = el(HTML, 'div', { class: 'live', 'aria-live': 'polite' }, bar);

	/* --- layout and drawing --- */
	/* Wraps the parts of the subtitle into as many lines as needed; returns where they end. */
	function layoutSub() {
		var lines = [];
		parts.forEach(function (p) {
			var last = lines.length - 1,
				joined = lines[last] + ' · ' + p;
			if (last >= 0 && joined.length * 6.5 < inner) lines[last] = joined;
			else lines.push(p);
		});
		sub.textContent = '';
		lines.forEach(function (text, i) {
			el(SVG, 'tspan', { x: inner / 2 + PAD, y: 44 + 16 * i }, sub).textContent = text;
		});
		return 40 + 16 * lines.length;
	}
	function layoutLegend(y) {
		var x = 0;
		legend.forEach(function (g) {
			var w = g.getBBox().width + 16;
			if (x && x + w > inner) {
				x = 0;
				y += ROW;
			}
			g.setAttribute('transform', 'translate(' + (x + PAD) + ',' + y + ')');
			x += w;
		});
		return legend.length ? y + ROW : y;
	}
	function layout() {
		root.removeAttribute('viewBox');
		root.setAttribute('width', '100%');
		inner = Math.max(260, root.getBoundingClientRect().width - 2 * PAD);
		heading.setAttribute('x', inner / 2 + PAD);
		heading.textContent = fit(title, (inner / 10) | 0);
		top = layoutLegend(layoutSub());
		var y = top + bar.offsetHeight + 4,
			move = 'translate(' + PAD + ',' + y + ')';
		holder.setAttribute('height', bar.offsetHeight);
		box.setAttribute('transform', move);
		labels.setAttribute('transform', move);
		if (chart) axis.setAttribute('transform', move);
		root.setAttribute('height', y + (+chart || rows * ROW) + PAD);
		stick();
		draw();
	}
	/* Controls and status line stay visible when a high picture is scrolled. */
	function stick() {
		holder.setAttribute('y', alone ? Math.max(top, window.pageYOffset) : top);
	}
	function setClass(f, c) {
		if (f.cls !== c) f.r.setAttribute('class', (f.cls = c));
	}
	function place(f, x, w, state, into) {
		var y = chart ? f.y : ROW * (icicle ? f.d : rows - 1 - f.d),
			s = w < 24 ? '' : fit(f.label, ((w - 6) / charWidth) | 0);
		setClass(f, f.base + state + (f.hit ? ' m' : ''));
		f.r.setAttribute('x', x.toFixed(2));
		f.r.setAttribute('y', y);
		f.r.setAttribute('width', Math.max(w > 2 ? w - 0.5 : w * 0.75, f.hit ? 1 : 0.05).toFixed(2));
		if (s)
			el(
				SVG,
				'text',
				{
					x: x + 3,
					y: y + 12.5,
					class: f.lane ? 'l' : f.hit ? '' : state || (light.indexOf(f.base[0]) < 0 ? '' : 'w')
				},
				into
			).textContent = s;
	}
	function draw() {
		var into = document.createDocumentFragment(),
			z = F[zoom],
			px = inner / (z.v || 1);
		F.forEach(function (f, i) {
			var from = Math.max(f.x, z.x),
				to = Math.min(f.x + f.v, z.x + z.v);
			if (chart && to > from) place(f, (from - z.x) * px, (to - from) * px, '', into);
			else if (!chart && i >= zoom && i < z.end) place(f, (f.x - z.x) * px, f.v * px, '', into);
			else if (!chart && i < zoom && f.end > zoom) /* an ancestor */ place(f, 0, inner, ' a', into);
			else setClass(f, f.base + ' h');
		});
		labels.textContent = '';
		labels.appendChild(into);
		resetButton.disabled = !zoom;
		if (chart) drawAxis(z.x, z.v, px);
		ring();
	}
	/* Ticks at 1, 2 or 5 times a power of ten. */
	function drawAxis(from, length, px) {
		var step = Math.pow(10, Math.floor(Math.log10(100 / px))),
			least = 100 / px / step,
			k,
			x;
		step *= least <= 1 ? 1 : least <= 2 ? 2 : least <= 5 ? 5 : 10;
		axis.textContent = '';
		for (k = Math.ceil(from / step); k * step < from + length; k++) {
			x = (k * step - from) * px;
			if (x > inner - 40) break;
			el(SVG, 'line', { x1: x, x2: x, y1: 0, y2: chart }, axis);
			el(SVG, 'text', { x: x + 3, y: 12.5 }, axis).textContent = +((k * step) / 1e9).toPrecision(12) + ' s';
		}
	}
	/* The focus ring is drawn over everything, so that no neighbour covers it. */
	function ring() {
		var r = F[focus].r;
		labels.querySelectorAll('.ring').forEach(function (old) {
			labels.removeChild(old);
		});
		for (var i = 0; i < 2 && document.activeElement === r && inView(focus); i++)
			el(
				SVG,
				'rect',
				{
					class: 'ring',
					x: r.getAttribute('x'),
					y: r.getAttribute('y'),
					width: Math.max(2, r.getAttribute('width')),
					height: ROW - 1
				},
				labels
			);
	}

	/* --- zoom and focus --- */
	function inView(i) {
		if (chart) return F[i].x < F[zoom].x + F[zoom].v && F[i].x + F[i].v > F[zoom].x;
		return (i >= zoom && i < F[zoom].end) || (i < zoom && F[i].end > zoom);
	}
	function show(i) {
		line.textContent = i >= 0 ? describe(i) : zoom ? 'Zoomed to ' + describe(zoom) : '';
	}
	function zoomTo(i) {
		zoom = i;
		if (!inView(focus)) focusOn(i, document.activeElement === F[focus].r);
		draw();
		show(-1);
		live.textContent = i ? line.textContent : 'All frames in view';
		save();
	}
	/* One frame can be reached by Tab; the arrows move it. */
	function focusOn(i, take) {
		F[focus].r.removeAttribute('tabindex');
		focus = i;
		F[i].r.setAttribute('tabindex', 0);
		F[i].r.setAttribute('role', 'button');
		if (take) F[i].r.focus();
	}
	/* The next frame of the same depth in view: a sibling if there is one. */
	function beside(i, by) {
		for (var j = i + by; j >= (chart ? 0 : zoom) && j < (chart ? n : F[zoom].end); j += by)
			if (F[j].d === F[i].d && inView(j)) return j;
		return i;
	}
	function heaviest(i) {
		for (var best = i, j = i + 1; j < F[i].end; j = F[j].end)
			if (inView(j) && (best === i || F[j].v > F[best].v)) best = j;
		return best;
	}
	function announce(i) {
		var up = F[i].up,
			k = 1,
			all = 1;
		if (up >= 0) for (var j = up + 1, all = (k = 0); j < F[up].end; j = F[j].end, all++) k += j <= i;
		ring();
		show(i);
		live.textContent = describe(i) + ', depth ' + F[i].d + ', ' + k + ' of ' + all;
	}

	/* --- search --- */
	function matcher(q) {
		var re = /^\/(.+)\/(i?)$/.exec(q),
			want = anyCase ? q.toLowerCase() : q;
		re = re && new RegExp(re[1], anyCase || re[2] ? 'i' : '');
		return function (s) {
			return re ? re.test(s) : (anyCase ? s.toLowerCase() : s).indexOf(want) >= 0;
		};
	}
	/* The value outside of its drawn callees: its own, and that of callees too narrow to be drawn. */
	function self(i) {
		for (var left = F[i].v, j = i + 1; j < F[i].end; j = F[j].end) left -= F[j].v;
		return Math.max(0, left);
	}
	/* The share counts only outermost matches, so recursion is not counted twice. A bad expression keeps the
	 * previous result. */
	function search(q) {
		var test,
			sum = 0,
			own = 0,
			upto = 0,
			seen = Object.create(null);
		try {
			test = matcher(q);
		} catch (e) {
			input.setAttribute('aria-invalid', 'true');
			result.textContent = 'Bad regex: ' + e.message.replace(/^.*: /, '');
			return;
		}
		input.removeAttribute('aria-invalid');
		query = q;
		hits = [];
		at = -1;
		F.forEach(function (f, i) {
			if (q && seen[f.name] === undefined) seen[f.name] = test(f.name);
			f.hit = q && f.base[0] !== attr('rest') && seen[f.name];
			if (!f.hit) return;
			hits.push(i);
			if (chart && f.d < 2) /* the axis, a thread */ return;
			sum += i < upto ? 0 : f.v;
			own += self(i);
			upto = Math.max(upto, f.end);
		});
		result.textContent = q
			? (chart
					? amount(sum)
					: percent(sum, F[0].v, 1) + ' total (' + amount(sum) + ') · ' + percent(own, F[0].v, 1) + ' self') +
				' · ' +
				hits.length +
				(hits.length === 1 ? ' frame' : ' frames')
			: '';
		prevButton.disabled = nextButton.disabled = !hits.length;
		draw();
		save();
	}
	function step(by) {
		if (!hits.length) return;
		at = (at < 0 && by < 0 ? 0 : at) + by + hits.length;
		at %= hits.length;
		result.textContent = result.textContent.replace(/(frames?)( · .*)?$/, '$1 · ' + (at + 1) + '/' + hits.length);
		zoomTo(hits[at]);
	}
	function toggleCase() {
		anyCase = !anyCase;
		caseButton.setAttribute('aria-pressed', anyCase);
		search(input.value);
	}

	/* --- state in the address: z = hash of the names from the root, s = search, i = ignore case --- */
	function pathHash(i) {
		var h = 2166136261,
			s = '';
		if (chart) /* the same names repeat */ return i.toString(36);
		for (; i > 0; i = F[i].up) s += F[i].name + '\n';
		for (var j = 0; j < s.length; j++) h = Math.imul(h ^ s.charCodeAt(j), 16777619);
		return (h >>> 0).toString(36);
	}
	function save() {
		var h =
			(zoom ? '&z=' + pathHash(zoom) : '') +
			(query ? '&s=' + encodeURIComponent(query) : '') +
			(anyCase ? '&i=1' : '');
		try {
			if (alone && h.slice(1) !== location.hash.slice(1)) history.replaceState(null, '', '#' + h.slice(1));
		} catch (e) {
			/* without an address of its own, the state is not kept */
		}
	}
	function load() {
		var state = {},
			z = 0;
		if (alone)
			location.hash
				.slice(1)
				.split('&')
				.forEach(function (p) {
					try {
						state[p.slice(0, 1)] = decodeURIComponent(p.slice(2));
					} catch (e) {
						/* a % typed by hand */
					}
				});
		while (state.z && z < n && pathHash(z) !== state.z) z++;
		anyCase = state.i !== '1';
		zoom = z % n;
		input.value = state.s || '';
		focusOn(zoom, false);
		toggleCase();
		zoomTo(zoom);
		if (z === n) line.textContent = 'The frame of this link is not in this graph.';
	}

	/* --- events --- */
	/* These return whether they handled the key. */
	function searchKey(k, shift) {
		if (k === 'Enter') step(shift ? -1 : 1);
		else if (k === 'Escape' && input.value) search((input.value = ''));
		else if (k === 'Escape') F[focus].r.focus();
		else return false;
		return true;
	}
	function frameKey(k) {
		var on = document.activeElement === F[focus].r;
		if (on && (k === 'Enter' || k === ' ')) zoomTo(focus);
		else if (on && k.slice(0, 5) === 'Arrow')
			focusOn(
				k === 'ArrowLeft'
					? beside(focus, -1)
					: k === 'ArrowRight'
						? beside(focus, 1)
						: k === (icicle ? 'ArrowDown' : 'ArrowUp')
							? heaviest(focus)
							: Math.max(0, F[focus].up),
				true
			);
		else if (k === '0' || k === 'Escape') zoomTo(0);
		else if (k === 'n' || k === 'N') step(k === 'n' ? 1 : -1);
		else return false;
		return true;
	}
	function key(e) {
		var k = e.key,
			ctrl = e.ctrlKey || e.metaKey,
			typing = e.target === input;
		if (k === 'F3' || (ctrl && k === 'f') || (k === '/' && !ctrl && !typing)) {
			if (typing) /* the second time, the browser's own search opens */ return;
			input.focus();
			input.select();
		} else if (ctrl && k === 'i') toggleCase();
		else if (ctrl || e.altKey || !(typing ? searchKey(k, e.shiftKey) : frameKey(k))) return;
		e.preventDefault();
	}
	function on(where, type, fn) {
		where.addEventListener(type, function (e) {
			var i = e.target.cf;
			if (where !== box || i !== undefined) fn(where === box ? i : e);
		});
	}

	read();
	root.setAttribute('role', 'group');
	charWidth = (function (t) {
		t.textContent = '0000000000';
		return t.getComputedTextLength() / 10 || 6.6;
	})(el(SVG, 'text', {}, labels));
	on(box, 'click', function (i) {
		focusOn(i, true);
		zoomTo(i);
	});
	on(box, 'mouseover', show);
	on(box, 'mouseout', function () {
		show(-1);
	});
	on(box, 'focusin', announce);
	on(box, 'focusout', ring);
	on(input, 'input', function () {
		search(input.value);
	});
	on(alone ? window : root, 'keydown', key);
	on(window, 'resize', layout);
	on(window, 'scroll', stick);
	on(window, 'hashchange', load);
	layout();
	load();
	if (alone && !icicle) window.scrollTo(0, root.getBoundingClientRect().height); /* to the root */
})();
