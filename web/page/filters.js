/* filters.js: filters of stacks and frames, in the form of the address ("s.fn~futex;-x.bin~libc") and in that of the
 * server. */

/** what: "s" only stacks with it, "-s" only stacks without, "-x" frames are dropped; off: kept, but not applied.
 * @typedef {{what: 's'|'-s'|'-x', field: 'fn'|'bin'|'file'|'kind', regex: string, off: boolean}} Filter */

export const WHAT = { s: 'only stacks with', '-s': 'no stacks with', '-x': 'hide frames' };
export const FIELDS = { fn: 'function', bin: 'binary', file: 'file', kind: 'kind' };
const PARAMS = { s: 'focus', '-s': 'ignore', '-x': 'hide' };
const PREFIX = { fn: '', bin: 'binary:', file: 'file:', kind: 'kind:' };
const MAX = 24,
	LONGEST = 400; /* filters; characters of a name */

/** @type {[name: string, text: string][]} what is often in the way */
export const PRESETS = [
	['the kernel', '-x.kind~^kernel$'],
	['libc and the loader', '-x.bin~^(libc|libpthread|libm|ld-linux|ld-musl)[-.]'],
	['Python internals', '-x.fn~^(_?Py[A-Z_]|pyeval|_PyEval)'],
	['Go runtime', '-x.fn~^runtime[./]'],
	['JVM and V8 internals', '-x.bin~^(libjvm|node$|libnode|libv8)'],
	['Rust runtime', '-x.fn~^(std::rt|core::ops::function|std::sys|std::panicking)'],
	['CUDA internals', '-x.bin~^lib(cuda|cudart|cupti|nvidia)'],
	['waiting stacks', '-s.fn~^\\[(blocked|sched-wait|waits)'],
	['truncated stacks', '-s.fn~^\\[truncated']
];

/** null: it is not a list of filters. @param {string} text @returns {Filter[]|null} */
export function parseFilters(text) {
	const list = text
		.split(';')
		.filter(Boolean)
		.map((part) => {
			const m = /^(!?)(s|-s|-x)\.(fn|bin|file|kind)~(.+)$/s.exec(part.replace(/%3B/gi, ';').replace(/%25/g, '%'));
			return m && /** @type {Filter} */ ({ off: !!m[1], what: m[2], field: m[3], regex: m[4] });
		});
	return list.length > MAX || list.includes(null) ? null : /** @type {Filter[]} */ (list);
}
/** @param {Filter[]} list */
export function formatFilters(list) {
	return list
		.map((f) => `${f.off ? '!' : ''}${f.what}.${f.field}~${f.regex.replace(/%/g, '%25').replace(/;/g, '%3B')}`)
		.join(';');
}
/**
 * Each parameter has one pattern per line: all of `focus` must match, any of the others.
 * @param {string} text of the address
 */
export function filterParams(text) {
	/** @type {{[param: string]: string}} */
	const params = {};
	for (const f of parseFilters(text) || [])
		if (!f.off) {
			const name = PARAMS[f.what],
				pattern = PREFIX[f.field] + f.regex;
			params[name] = params[name] ? `${params[name]}\n${pattern}` : pattern;
		}
	return params;
}
/** A POSIX pattern that matches only this text; for a very long text, all that begin like it. @param {string} text */
export function exactly(text) {
	return `^${text.slice(0, LONGEST).replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}${text.length > LONGEST ? '' : '$'}`;
}
/** @param {Filter} f */
export function filterText(f) {
	return `${WHAT[f.what]} ${f.field === 'fn' ? '' : FIELDS[f.field] + ' '}${f.regex}`;
}
/** @param {string} text @param {Filter|Filter[]} more */
export function addFilter(text, more) {
	const list = parseFilters(text) || [],
		alike = (/** @type {Filter} */ f) => formatFilters([{ ...f, off: false }]),
		have = new Set(list.map(alike));
	return formatFilters([...list, ...[more].flat().filter((f) => !have.has(alike(f)))]);
}
