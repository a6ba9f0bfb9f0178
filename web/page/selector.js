/* selector.js: splits selectors for the query bar: "cpu{comm="x",host=~"web.*"}". */

/** @param {string} q @returns {{type: string, match: string}} */
export function splitSelector(q) {
	const m = /^([^{]*)(?:\{(.*)\})?\s*$/s.exec(q.trim());
	return m ? { type: m[1].trim(), match: m[2] || '' } : { type: '', match: '' };
}
/** @param {string} type @param {string} match */
export const joinSelector = (type, match) => (match.trim() ? `${type}{${match.trim()}}` : type);
/**
 * One condition, with the value as a string in the selector's syntax.
 * @param {string} label
 * @param {string} op
 * @param {string} value
 */
export function condition(label, op, value) {
	const name = /^[A-Za-z_][A-Za-z0-9_]*$/.test(label) ? label : JSON.stringify(label);
	return `${name}${op}"${value.replace(/[\\"]/g, '\\$&').replace(/\n/g, '\\n')}"`;
}
/**
 * Adds a condition, in place of an earlier = on the same label.
 * @param {string} match
 * @param {string} label
 * @param {string} value
 */
export function withCondition(match, label, value) {
	const kept = conditions(match)
		.filter((c) => c.label !== label || c.op !== '=')
		.map((c) => match.slice(c.from, c.to).trim());
	return [...kept, condition(label, '=', value)].join(', ');
}

/* A condition up to a comma or the end of the text: name, operator, and a value in one of three kinds of quotes. */
const CONDITION =
	/\s*("(?:[^"\\]|\\.)*"|[A-Za-z_][\w.]*)\s*(=~|!~|!=|=)\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`)\s*(,|$)/y;

/**
 * @param {string} match
 * @returns {{label: string, op: string, value: string, from: number, to: number}[]} whole ones, as far as there are
 */
export function conditions(match) {
	const list = [];
	CONDITION.lastIndex = 0;
	for (let from = 0, m; from < match.length && (m = CONDITION.exec(match)); from = CONDITION.lastIndex)
		list.push({
			label: unquote(m[1]),
			op: m[2],
			value: unquote(m[3]),
			from,
			to: CONDITION.lastIndex - m[4].length
		});
	return list;
}
/** @param {string} text */
function unquote(text) {
	return /^["']/.test(text) ? text.slice(1, -1).replace(/\\(.)/g, '$1') : text.replace(/^`|`$/g, '');
}

/**
 * What is being typed at the caret: a label, an operator, or a value of a label; a choice replaces from … to.
 * @param {string} match
 * @param {number} caret
 * @returns {{kind: 'label'|'op'|'value', text: string, from: number, to: number, label: string, before: string}}
 */
export function completionAt(match, caret) {
	const head = match.slice(0, caret),
		whole = conditions(head).filter((c) => head[c.to] === ',');
	const start = whole.length ? whole[whole.length - 1].to + 1 : 0,
		before = head.slice(0, start).replace(/,\s*$/, '');
	const m = /^(\s*)("(?:[^"\\]|\\.)*"?|[\w.]*)(\s*)(=~|!~|!=|=|!)?(\s*)(["'`]?)(.*)$/s.exec(head.slice(start)) || [];
	const [, blank = '', label = '', gap = '', op = '', gap2 = '', quote = '', value = ''] = m;
	if (!op && !gap)
		return { kind: 'label', text: unquote(label), from: start + blank.length, to: caret, label: '', before };
	const at = start + blank.length + label.length + gap.length;
	if (!op || (op === '!' && !quote))
		return { kind: 'op', text: op, from: at, to: caret, label: unquote(label), before };
	const end = /^[^"'`,]*["'`]?/.exec(match.slice(caret)) || [''];
	return {
		kind: 'value',
		text: value.replace(/["'`]$/, ''),
		from: at + op.length + gap2.length,
		to: quote ? caret + end[0].length : caret,
		label: unquote(label),
		before
	};
}
