/* The page: a type, labels and a range of time are chosen, and totals over time, the flame graph and the table of functions follow. What is
 * chosen is kept behind the # of the address, so that a link shows the same. Everything comes from /api/v1. */

const $ = (id) => document.getElementById(id);
const SVG = 'http://www.w3.org/2000/svg';
const GROUPS = 8; /* with colours of their own; the last is all others */
const HEIGHT = 150, AXIS = 18, TOP = 6;
const KEYS = ['type', 'match', 'by', 'span', 'from', 'to', 'focus'];

const chosen = Object.fromEntries(KEYS.map((k) => [k, '']));
let data, types = [], turn = 0, drawn = null;

/* --- asking --------------------------------------------------------------------------------- */

async function ask(path, params = {}) {
	const given = Object.entries(params).filter(([, v]) => v !== '' && v !== undefined);
	const answer = await fetch(path + (given.length ? '?' + new URLSearchParams(given) : ''));
	const body = await answer.json();
	if (!answer.ok)
		throw new Error([body.error.message, body.error.hint].filter(Boolean).join('\n'));
	return body;
}
const selector = () => chosen.type + '{' + chosen.match + '}';
const regexOf = (name) => '^' + name.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&') + '$';

/* Without a clock, times are since the start. */
const moment = (ms) => data.from === null ? `start+${Math.max(0, ms - data.from_ns / 1e6).toFixed(3)}ms`
	: new Date(Math.round(ms)).toISOString();
function span() {
	if (chosen.from && chosen.to)
		return { from: moment(+chosen.from), to: moment(+chosen.to) };
	if (data.kind === 'store')
		return chosen.span ? { from: `now-${chosen.span}s`, to: 'now' } : { from: 'start', to: 'end' };
	return {};
}
const filters = () => ({ q: selector(), ...span(), focus: chosen.focus && regexOf(chosen.focus) });

/* --- writing -------------------------------------------------------------------------------- */

function value(v, unit) {
	const steps = unit === 'nanoseconds' ? [[3.6e12, 'h'], [6e10, 'min'], [1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']]
		: unit === 'bytes' ? [[2 ** 40, 'TiB'], [2 ** 30, 'GiB'], [2 ** 20, 'MiB'], [2 ** 10, 'KiB'], [1, 'B']]
			: [[1e9, 'G'], [1e6, 'M'], [1e3, 'k'], [1, '']];
	const [size, name] = steps.find(([s]) => Math.abs(v) >= s) || steps.at(-1);
	return `${+(v / size).toPrecision(3)} ${name}`.trim();
}
function clock(ms, wide) {
	if (data.from === null)
		return `${+((ms - data.from_ns / 1e6) / 1000).toPrecision(4)} s`;
	return wide > 86400e3 ? new Date(ms).toLocaleString() : new Date(ms).toLocaleTimeString();
}
function element(name, attributes = {}, text) {
	const e = document.createElementNS(SVG, name);
	for (const [k, v] of Object.entries(attributes))
		e.setAttribute(k, v);
	if (text !== undefined)
		e.textContent = text;
	return e;
}
function html(name, text, properties = {}) {
	return Object.assign(document.createElement(name), { textContent: text }, properties);
}
function show(id, text) {
	$(id).textContent = text;
	$(id).hidden = !text;
}

/* --- totals over time ----------------------------------------------------------------------- */

function groups(range) {
	const names = range.groups.map((g) => Object.values(g.labels).map((v) => v || '?').join(' ') || range.type);
	const list = range.groups.slice(0, GROUPS - 1).map((g, i) => ({ name: names[i], values: g.values, total: g.total, one: true }));
	const rest = range.groups.slice(GROUPS - 1);
	if (rest.length)
		list.push({ name: rest.length === 1 ? names.at(-1) : `${rest.length} others`, one: rest.length === 1,
			values: rest[0].values.map((_, s) => rest.reduce((sum, g) => sum + g.values[s], 0)),
			total: rest.reduce((sum, g) => sum + g.total, 0) });
	return list;
}
/* One group as a path: its steps on top of those below. */
function area(values, base, x, y) {
	let top = '', bottom = '';
	values.forEach((v, s) => {
		top += `${s ? 'L' : 'M'}${x(s)} ${y(base[s] + v)}H${x(s + 1)}`;
		bottom = `L${x(s + 1)} ${y(base[s])}H${x(s)}` + bottom;
		base[s] += v;
	});
	return top + bottom + 'Z';
}
function drawAxis(svg, width, max, unit, first, last) {
	svg.append(element('line', { class: 'grid', x1: 0, x2: width, y1: TOP, y2: TOP }),
		element('text', { x: 2, y: TOP + 11 }, value(max, unit)));
	for (let i = 0; i <= 4; i++)
		svg.append(element('text', { x: width * i / 4, y: HEIGHT - 4, 'text-anchor': i === 0 ? 'start' : i === 4 ? 'end' : 'middle' },
			clock(first + (last - first) * i / 4, last - first)));
}
function drawRange(range) {
	const svg = $('range'), width = svg.clientWidth || 1000, list = groups(range);
	const first = range.from_ns / 1e6, last = first + range.steps * range.step_ns / 1e6;
	const base = new Array(range.steps).fill(0), sums = base.map((_, s) => list.reduce((sum, g) => sum + g.values[s], 0));
	const max = Math.max(...sums, 1), x = (s) => +(s * width / range.steps).toFixed(2);
	const y = (v) => +(HEIGHT - AXIS - v / max * (HEIGHT - AXIS - TOP)).toFixed(2);
	svg.replaceChildren();
	svg.setAttribute('viewBox', `0 0 ${width} ${HEIGHT}`);
	list.forEach((g, i) => svg.append(element('path', { class: 'g' + i, d: area(g.values, base, x, y) })));
	drawAxis(svg, width, max, range.unit, first, last);
	drawn = { range, first, last, width };
	drawPick(chosen.from && [+chosen.from, +chosen.to]);
	$('range-text').textContent = `${clock(first, Infinity)} – ${clock(last, Infinity)} · ` +
		`${value(range.step_ns, 'nanoseconds')} each · ${value(list.reduce((sum, g) => sum + g.total, 0), range.unit)} in all`;
	drawLegend(list, range.unit);
}
function drawLegend(list, unit) {
	$('legend').replaceChildren(...(chosen.by ? list : []).map((g, i) => {
		const item = document.createElement('li'), mark = element('svg', { viewBox: '0 0 10 10' });
		mark.append(element('rect', { class: 'g' + i, width: 10, height: 10 }));
		const text = `${g.name} ${value(g.total, unit)}`;
		item.append(mark, g.one ? html('button', text, { type: 'button', title: 'only this', onclick: () => only(g.name) }) : text);
		return item;
	}));
}
function drawPick(pick) {
	$('range').querySelector('.pick')?.remove();
	$('whole').hidden = !chosen.from;
	if (!pick || !drawn)
		return;
	const at = (ms) => Math.max(0, Math.min(1, (ms - drawn.first) / (drawn.last - drawn.first))) * drawn.width;
	$('range').append(element('rect', { class: 'pick', x: at(pick[0]), y: 0, height: HEIGHT - AXIS,
		width: Math.max(1, at(pick[1]) - at(pick[0])) }));
}
function only(name) {
	choose({ match: [chosen.match, `${chosen.by}=${JSON.stringify(name)}`].filter(Boolean).join(','), by: '' });
}
/* A part of the axis is chosen by dragging. */
function brush(svg) {
	let from = null;
	const at = (e) => {
		const box = svg.getBoundingClientRect(), share = Math.max(0, Math.min(1, (e.clientX - box.left) / box.width));
		return drawn.first + share * (drawn.last - drawn.first);
	};
	const pick = (e) => [Math.min(from, at(e)), Math.max(from, at(e))];
	svg.addEventListener('pointerdown', (e) => {
		if (!drawn || e.button)
			return;
		svg.setPointerCapture(e.pointerId);
		from = at(e);
	});
	svg.addEventListener('pointermove', (e) => from !== null && drawPick(pick(e)));
	svg.addEventListener('pointercancel', () => { from = null; drawPick(chosen.from && [+chosen.from, +chosen.to]); });
	svg.addEventListener('pointerup', (e) => {
		if (from === null)
			return;
		const [a, b] = pick(e);
		from = null;
		if ((b - a) / (drawn.last - drawn.first) * drawn.width >= 3)
			choose({ from: String(a), to: String(b) });
		else
			drawPick(chosen.from && [+chosen.from, +chosen.to]);
	});
}

/* --- flame graph and functions -------------------------------------------------------------- */

/* A frame that is replaced leaves no entry in the history, as one whose src is set does. */
function drawFlame() {
	const url = (fmt) => '/api/v1/flame?' + new URLSearchParams(Object.entries({ ...filters(), fmt }).filter(([, v]) => v));
	const old = $('flame'), frame = old.cloneNode();
	frame.src = url('svg') + '&icicle=1'; /* the root is in sight */
	old.replaceWith(frame);
	for (const a of document.querySelectorAll('#downloads a')) {
		a.href = url(a.dataset.fmt);
		if (a.dataset.file)
			a.download = a.dataset.file;
		else
			a.target = '_blank';
	}
}
function drawTop(report) {
	show('top-text', `${value(report.total, report.unit)} of ${value(report.unfiltered_total, report.unit)} ` +
		(report.unit === 'nanoseconds' ? '' : report.unit));
	$('top').tBodies[0].replaceChildren(...report.top.map((row) => {
		const line = html('tr', '', { className: row.kind }), name = document.createElement('td');
		name.append(html('button', row.function, { type: 'button', title: 'only stacks with it',
			onclick: () => choose({ focus: row.function }) }));
		line.append(html('td', row.self_percent.toFixed(2), { className: 'n' }),
			html('td', row.total_percent.toFixed(2), { className: 'n' }), name, html('td', row.binary || ''));
		return line;
	}));
}
function drawFocus() {
	const chip = $('focus-text');
	show('focus-text', chosen.focus && `only stacks with ${chosen.focus}`);
	if (chosen.focus)
		chip.append(html('button', '×', { type: 'button', title: 'all stacks', onclick: () => choose({ focus: '' }) }));
}

/* --- all together --------------------------------------------------------------------------- */

async function askRange() {
	$('range-none').hidden = data.has_times;
	$('range').hidden = !data.has_times;
	if (!data.has_times)
		return show('range-none', 'The samples here have no times.');
	const whole = { ...span() };
	if (chosen.from)
		Object.assign(whole, spanWhole());
	const range = await ask('/api/v1/range', { q: selector(), ...whole, by: chosen.by });
	return () => drawRange(range);
}
/* The axis stays when a part of it is chosen. */
function spanWhole() {
	const { from, to } = chosen;
	chosen.from = chosen.to = '';
	const whole = { from: '', to: '', ...span() };
	chosen.from = from;
	chosen.to = to;
	return whole;
}
async function draw() {
	const mine = ++turn;
	show('trouble', '');
	$('range-title').textContent = chosen.type;
	drawFocus();
	try {
		const answers = await Promise.all([askRange(), ask('/api/v1/top', { ...filters(), n: 50 })]);
		if (mine !== turn)
			return; /* something else was chosen meanwhile */
		answers[0]?.();
		drawTop(answers[1]);
		drawFlame();
	} catch (e) {
		if (mine === turn)
			show('trouble', e.message);
	}
	document.body.dataset.drawn = mine;
}
function choose(changes) {
	Object.assign(chosen, changes);
	const kept = KEYS.filter((k) => chosen[k]).map((k) => [k, chosen[k]]);
	history.pushState(null, '', '#' + new URLSearchParams(kept));
	fillIn();
	draw();
}
function readHash() {
	const kept = new URLSearchParams(location.hash.slice(1));
	for (const k of KEYS)
		chosen[k] = kept.get(k) || '';
	chosen.type ||= (types.find((t) => t.type === 'cpu') || types[0])?.type || '';
	if (!kept.has('span') && !location.hash)
		chosen.span = data.kind === 'store' ? '900' : '';
}
function fillIn() {
	$('type').value = chosen.type;
	$('match').value = chosen.match;
	$('by').value = chosen.by;
	$('span').value = chosen.span;
}
async function start() {
	const [status, typeList, labels] = await Promise.all(['status', 'types', 'labels'].map((p) => ask('/api/v1/' + p)));
	data = status.data;
	types = typeList;
	const name = (t) => types.filter((o) => o.type === t.type).length > 1 ? `${t.type}:${t.sample_type}` : t.type;
	types.forEach((t) => { t.type = name({ ...t }); });
	$('type').append(...types.map((t) => html('option', t.type, { value: t.type })));
	$('by').append(...labels.map((l) => html('option', l, { value: l })));
	$('span-label').hidden = data.kind === 'file';
	for (const key of ['type', 'match', 'by', 'span'])
		$(key).addEventListener('change', (e) => choose({ [key]: e.target.value, ...(key === 'span' ? { from: '', to: '' } : {}) }));
	$('whole').addEventListener('click', () => choose({ from: '', to: '' }));
	brush($('range'));
	const again = () => { readHash(); fillIn(); draw(); };
	addEventListener('popstate', again);
	addEventListener('resize', () => drawn && drawRange(drawn.range));
	if (!types.length)
		return show('trouble', 'There is nothing here yet.');
	again();
}
start().catch((e) => show('trouble', e.message));
