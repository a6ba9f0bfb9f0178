#!/usr/bin/env bash
# tier: live
# Node with --perf-basic-prof: a function that V8's tiers compile in turn, marked in the perf map ("JS:~f", "JS:^f", "JS:+'f", "JS:*'f"), is one function;
# its shares are the program's, and stacks are whole. With --jit-names raw each tier has its row. Needs node.
. tests/live/lib.sh
needs_recording
command -v node >/dev/null || { skip "functions of Node" "no node"; finish; exit; }
cat >"$tmp/app.js" <<'END_JS'
'use strict';
let sink = 0;
function spin(n) { let s = 0; for (let i = 0; i < n; i++) s = (s + i * i % 7) & 65535; return s; }
function heavy(n) { return spin(3 * n) + 1; }
function light(n) { return spin(n) + 1; }
function tiers(n) { return n % 2 ? heavy(20000) : light(60000); }
const closures = [1, 2, 3].map(k => function inner(n) { return spin(n * k) + k; });
function all(n) { sink += heavy(20000) + light(20000) + tiers(n); for (const f of closures) sink += f(5000); }
function main(end) { for (let n = 0; process.cpuUsage().user < end; n++) all(n); }
main(Number(process.argv[2]) * 1e6);
END_JS
version=$(node --version)
cd "$tmp" || exit
look() { # FILE OPTION…
	timeout "$most_s" "$cresset" -q record -F 999 "${@:2}" -o "$1" -- node --perf-basic-prof --interpreted-frames-native-stack --no-turbo-inlining app.js 2 >"$tmp/log" 2>&1 ||
		not_ok "$version: the recording" "$(tail -3 "$tmp/log")"
}
look out.folded
n=$(folded_sum ';JS:main [^;]*;' <out.folded)
holds "$version: enough samples ($n)" test "$n" -ge 1000
names=$(tr ';' '\n' <out.folded | sed 's/ [0-9]*$//' | grep -E '^JS:.?.?(spin|heavy|light|tiers|inner|all|main) ' | sort -u)
is "$version: one name for each function" "$(sed -E 's/ .*//' <<<"$names" | sort | uniq -c | awk '{ print $1, $2 }' | paste -sd ' ')" \
	"1 JS:all 1 JS:heavy 1 JS:inner 1 JS:light 1 JS:main 1 JS:spin 1 JS:tiers"
is "$version: no mark of a tier" "$(grep -cE "^JS:[~^+*']" <<<"$names")" 0
whole=$(grep -v '\[truncated' out.folded | folded_sum ';JS:main [^;]*;')
holds "$version: whole ($whole of $n)" awk "BEGIN { exit !($whole >= .99 * $n) }"
# all() runs heavy for 60000 and light for 20000 turns.
a=$(folded_sum ';JS:all [^;]*;JS:heavy [^;]*;JS:spin' <out.folded) b=$(folded_sum ';JS:all [^;]*;JS:light [^;]*;JS:spin' <out.folded)
near "$version: heavy and light" "$a" "$(awk "BEGIN { print .75 * ($a + $b) }")" "$(sigma "$((a + b))" .75 5)"
look raw.folded --jit-names raw
tiers=$(tr ';' '\n' <raw.folded | grep -oE "^JS:[~^+*]'?(spin|heavy|light|tiers|inner|all|main) " | cut -c4 | sort -u | wc -l)
holds "$version: raw names have the tier ($tiers tiers)" test "$tiers" -ge 2
finish
