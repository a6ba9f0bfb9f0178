#!/usr/bin/env bash
# tier: test
# tools/tapsum adds right, and takes no broken result for a good one.
. tests/live/lib.sh
tapsum=$PWD/$BUILD/tools/tapsum

# Sums one file with these lines; compares the last line, and that the status says the same.
sums() { # NAME LINES WANT
	local got status=0 want_status=1
	printf '%b' "$2" >"$tmp/x.tap"
	got=$("$tapsum" "$tmp/x.tap") || status=$?
	[[ $3 != *" 0 failed"* || $3 == "0 passed, 0 failed, 0 skipped" ]] || want_status=0
	is "$1" "${got##*$'\n'} → $status" "$3 → $want_status"
}

sums "plan first" '1..2\nok 1 - a\nok 2\n' '2 passed, 0 failed, 0 skipped'
sums "plan last" 'TAP version 13\nok 1 - a\n# a remark\nok 2 - b\n1..2\n' '2 passed, 0 failed, 0 skipped'
sums "a failure" 'ok 1 - a\nnot ok 2 - b\n1..2\n' '1 passed, 1 failed, 0 skipped'
sums "a skip" 'ok 1 - a # SKIP no GPU\nok 2 - b # skipped: old kernel\nok 3 - c #skip\n1..3\n' '0 passed, 0 failed, 3 skipped'
sums "a number sign alone is not a skip" 'ok 1 - issue # 3\nok 2 - escaped \\\\# SKIP\n1..2\n' '2 passed, 0 failed, 0 skipped'
sums "a failure cannot be skipped" 'not ok 1 - a # SKIP x\n1..1\n' '0 passed, 1 failed, 0 skipped'
sums "nor be left for later" 'not ok 1 - a # TO''DO x\n1..1\n' '0 passed, 1 failed, 0 skipped'
sums "all skipped" '1..0 # SKIP needs root\n' '0 passed, 0 failed, 1 skipped'
sums "CR LF" 'ok 1 - a\r\n1..1\r\n' '1 passed, 0 failed, 0 skipped'
sums "no plan" 'ok 1 - a\nok 2 - b\n' '2 passed, 1 failed, 0 skipped'
sums "fewer than planned" '1..3\nok 1 - a\n' '1 passed, 1 failed, 0 skipped'
sums "more than planned" '1..1\nok 1 - a\nok 2 - b\n' '2 passed, 1 failed, 0 skipped'
sums "a plan of nothing" '1..0\n' '0 passed, 1 failed, 0 skipped'
sums "nothing" '' '0 passed, 1 failed, 0 skipped'
sums "not TAP" 'Segmentation fault\nokay\nnot okay\n' '0 passed, 1 failed, 0 skipped'
sums "bail out" '1..1\nok 1 - a\nBail out! the disk is full\n' '1 passed, 1 failed, 0 skipped'
sums "invalid bytes" 'ok 1 - \0001\xff\n1..1\n' '1 passed, 0 failed, 0 skipped'

# Subtests are counted, their parents are not.
inner='    ok 1 - a\n    ok 2 - b # SKIP x\n'
sums "subtests" "$inner    1..2\nok 1 - parent\nok 2 - leaf\n1..2\n" '2 passed, 0 failed, 1 skipped'
sums "a subtest that fails counts once" '    not ok 1 - a\n    1..1\nnot ok 1 - parent\n1..1\n' '0 passed, 1 failed, 0 skipped'
sums "a parent that fails alone" "$inner    1..2\nnot ok 1 - parent\n1..1\n" '1 passed, 1 failed, 1 skipped'
sums "three deep" '        not ok 1 - a\n        1..1\n    not ok 1 - b\n    1..1\nnot ok 1 - c\n1..1\n' '0 passed, 1 failed, 0 skipped'
sums "subtests without a plan" "${inner}ok 1 - parent\n1..1\n" '1 passed, 1 failed, 1 skipped'
sums "fewer subtests than planned" "$inner    1..3\nok 1 - parent\n1..1\n" '1 passed, 1 failed, 1 skipped'
sums "subtests without a parent" "ok 1 - a\n1..1\n$inner    1..2\n" '2 passed, 1 failed, 1 skipped'
sums "YAML does not count as a result" "ok 1 - a\n  ---\n  stack: |-\n    not ok 1 - x\n  ...\nok 2 - b\n1..2\n" '2 passed, 0 failed, 0 skipped'
sums "YAML without end swallows what follows" "ok 1 - a\n  ---\nok 2 - b\n1..2\n" '1 passed, 1 failed, 0 skipped'

printf 'test_gpu\tno GPU\n' >"$tmp/x.skip"
sums "the list of skips" 'ok 1 - a\nok 2 - b\n1..2\n' '1 passed, 0 failed, 1 skipped'
sums "more skips than tests" 'not ok 1 - a\n1..1\n' '0 passed, 2 failed, 0 skipped'
rm "$tmp/x.skip"

cd "$tmp" || exit 1
printf 'ok 1 - a\n1..1\n' >a.tap
printf 'not ok 1 - this one\n1..1\n' >b.tap
got=$("$tapsum" a.tap b.tap a.tap none.tap)
is "several files, one of them not there" $? 1
is "… their sum" "${got##*$'\n'}" "2 passed, 2 failed, 0 skipped"
holds "… and who it was" grep -q '^b: FAILED this one$' <<<"$got"
is "each test, with --cases" "$("$tapsum" --cases a.tap b.tap)" $'a: passed a\nb: FAILED this one\n1 passed, 1 failed, 0 skipped'
"$tapsum" >/dev/null
is "no file at all" $? 1

if command -v node >/dev/null; then
	cat >node.test.js <<-'EOF'
		const { test, describe, it } = require('node:test');
		test('one', () => {});
		test('two', async t => { await t.test('a', () => {}); await t.test('b', () => { throw new Error('ok 1 - x'); }); });
		describe('three', () => { it('c', () => {}); it.skip('d', () => {}); it('e', t => t.skip('no browser')); });
	EOF
	node --test --test-reporter=tap node.test.js >node.tap
	got=$("$tapsum" node.tap)
	is "the output of node" "${got##*$'\n'}" "3 passed, 1 failed, 2 skipped"
else
	skip "the output of node" "no node"
fi
finish
