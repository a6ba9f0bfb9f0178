/* units.js: numbers with their units, as the command line prints them (src/base/str.c, src/format/common/value.c):
 * three digits, "12.3 ms", "1.50 GB", "1,234 samples". */

/** @type {{[unit: string]: [base: string, scale: number]}} */
const UNITS = {
	nanoseconds: ['ns', 1],
	ns: ['ns', 1],
	microseconds: ['ns', 1e3],
	us: ['ns', 1e3],
	milliseconds: ['ns', 1e6],
	ms: ['ns', 1e6],
	seconds: ['ns', 1e9],
	s: ['ns', 1e9],
	bytes: ['B', 1],
	B: ['B', 1],
	kilobytes: ['B', 1024],
	megabytes: ['B', 1048576]
};
const BYTES = ['B', 'kB', 'MB', 'GB', 'TB', 'PB', 'EB'],
	TIMES = ['ns', 'µs', 'ms', 's'];

/** @param {number} v @param {string[]} names each 1000 times the one before */
function scaled(v, names) {
	let i = 0;
	for (; i + 1 < names.length && v >= 999.5; i++) v /= 1000;
	return v.toFixed(i === 0 || v >= 99.95 ? 0 : v >= 9.995 ? 1 : 2) + ' ' + names[i];
}
/** @param {number} v @param {string} big @param {number} of @param {string} small */
function pair(v, big, of, small) {
	return `${Math.floor(v / of)} ${big} ${v % of} ${small}`;
}
/** @param {number} ns */
function duration(ns) {
	const s = Math.round(ns / 1e9),
		minutes = Math.round(ns / 60e9);
	if (ns < 59.95e9) return scaled(ns, TIMES);
	if (s < 3600) return pair(s, 'min', 60, 's');
	return minutes < 24 * 60 ? pair(minutes, 'h', 60, 'min') : pair(Math.round(ns / 3600e9), 'd', 24, 'h');
}
/** "1,234,567"; a fraction is rounded. @param {number} v */
export function grouped(v) {
	return String(Math.round(v)).replace(/\B(?=(\d{3})+$)/g, ',');
}
/** "12.3 ms", "-1.50 MB", "1,234 samples". @param {number} v @param {string} unit */
export function value(v, unit) {
	const [base, scale] = Object.hasOwn(UNITS, unit) ? UNITS[unit] : [unit, 1],
		size = Math.abs(v) * scale,
		sign = v < 0 ? '-' : '';
	if (!Number.isFinite(size)) return 'unknown';
	if (base === 'ns') return sign + duration(size);
	if (base === 'B') return sign + scaled(size, BYTES);
	return sign + grouped(size) + (base && base !== 'count' ? ' ' + plain(base) : '');
}
/** "+1.2 ms": a change. @param {number} v @param {string} unit */
export function change(v, unit) {
	return (v > 0 ? '+' : '') + value(v, unit);
}
/** "12.3 %"; a tiny share does not become 0. @param {number} part @param {number} whole */
export function share(part, whole) {
	const percent = whole ? (100 * part) / whole : 0,
		size = Math.abs(percent);
	return (size > 0 && size < 0.01 ? percent.toPrecision(1) : percent.toFixed(size < 9.995 ? 2 : 1)) + ' %';
}
/** The time of day, with enough digits to tell the points of a span apart. @param {number} ms since 1970
 * @param {number} width ms of the span */
export function clock(ms, width) {
	const d = new Date(ms),
		two = (/** @type {number} */ v) => String(v).padStart(2, '0');
	const day = `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}`,
		time = `${two(d.getHours())}:${two(d.getMinutes())}`;
	if (width > 14 * 86400e3) return day;
	if (width > 86400e3) return `${day.slice(5)} ${time}`;
	if (width > 3600e3) return time;
	const seconds = `${time}:${two(d.getSeconds())}`;
	return width > 10e3 ? seconds : `${seconds}.${String(d.getMilliseconds()).padStart(3, '0')}`;
}

/* Characters that are invisible, or reverse the text around them. */
// eslint-disable-next-line no-control-regex
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
/** A name that is safe to show: names come from the recorded programs. @param {string} text */
export function plain(text) {
	return text.replace(HIDDEN, '\ufffd');
}
