#!/usr/bin/env bash
# tier: live
# Erlang with and without +JPperf true, of this Debian and of the roots that tests/live/lib_python_roots.sh has fetched. With it, functions have names and shares
# of the program, and a stack starts at normal_exit/0, not at a row of what lies before it. Without it, code of the JIT has no table and no frame pointer:
# its stacks are marked as truncated and counted, and `cresset doctor` gives the option. Needs erl.
. tests/live/lib.sh
needs_recording
cat >"$tmp/prog.erl" <<'END_ERL'
-module(prog).
-export([main/1]).
hot_a(0, S) -> S; hot_a(N, S) -> hot_a(N - 1, (S + N * N rem 7) band 65535).
hot_b(0, S) -> S; hot_b(N, S) -> hot_b(N - 1, (S + N * N rem 7) band 65535).
middle(N) -> A = hot_a(N * 3, 0), B = hot_b(N, 0), A + B.
outer(N) -> X = middle(N), X + 1.
loop(0) -> ok;
loop(N) -> _ = lists:map(fun(K) -> outer(K) + 1 end, [100000]), loop(N - 1).
main([N]) -> loop(list_to_integer(N)).
END_ERL
roots=()
command -v erl >/dev/null && roots+=(/)
for root in "$PWD/$BUILD"/python/*; do [ ! -x "$root/usr/bin/erl" ] || roots+=("$root"); done
[ ${#roots[@]} -gt 0 ] || { skip "functions of Erlang" "no erl"; finish; exit; }

run() { # ROOT COMMAND…: in its own mount namespace, with the root's /proc
	[ "$1" = / ] && { "${@:2}"; return; }
	# shellcheck disable=SC2016 # the shell in there expands them
	unshare -m sh -c 'mount -t proc proc "$1/proc" && mount --bind /dev "$1/dev" && exec chroot "$@"' sh "$@"
}
folded_of() { # ROOT FILE OPTION…
	local root=$1 file=$2
	shift 2
	# shellcheck disable=SC2016
	timeout "$most_s" "$cresset" -q record -F 499 -o "$file" -- bash -c "$(declare -f run); run \"\$@\"" bash "$root" \
		sh -c 'cd "$0" && exec erl "$@"' "$place" "$@" +S 1 -noshell -run prog main 1000 -s erlang halt >"$tmp/log" 2>&1 </dev/null ||
		not_ok "$version: the recording" "$(tail -3 "$tmp/log")"
}
for root in "${roots[@]}"; do
	dir=$(mktemp -d "${root%/}/tmp/cresset-erlang.XXXXXX") place=/${dir#"${root%/}/"}
	cp "$tmp/prog.erl" "$dir"
	# shellcheck disable=SC2016
	run "$root" sh -c 'cd "$0" && erlc prog.erl' "$place" || not_ok "erlc" "in $root"
	version="Erlang $(run "$root" erl -noshell -eval 'io:put_chars(erlang:system_info(otp_release)), halt().' </dev/null)"
	folded_of "$root" "$tmp/jp.folded" +JPperf true
	n=$(folded_sum 'prog:hot_[ab]/2' <"$tmp/jp.folded")
	holds "$version +JPperf: enough samples ($n)" test "$n" -ge 200
	# At a function's entry, before its frame, the caller is not on the chain of frame pointers: middle/1 may be missing.
	whole=$(grep -v '\[truncated' "$tmp/jp.folded" | folded_sum ';erts_beamasm:normal_exit/0;.*;prog:loop/1;.*;prog:outer/1;.*prog:hot_[ab]/2')
	holds "$version +JPperf: whole ($whole of $n)" awk "BEGIN { exit !($whole >= .99 * $n) }"
	a=$(folded_sum 'prog:hot_a/2' <"$tmp/jp.folded")
	near "$version +JPperf: hot_a" "$a" "$(awk "BEGIN { print .75 * $n }")" "$(sigma "$n" .75 5)"
	is "$version +JPperf: no row of what lies before a function" "$(grep -c -e '-CodeInfoPrologue' "$tmp/jp.folded")" 0
	folded_of "$root" "$tmp/plain.folded"
	all=$(folded_sum '' <"$tmp/plain.folded") cut=$(folded_sum '\[truncated' <"$tmp/plain.folded")
	alone=$(grep -cE '^[^;]*;\[anon\] ' "$tmp/plain.folded")
	is "$version: no stack of one unknown frame counts as whole" "$alone" 0
	holds "$version: code of the JIT is marked as cut ($cut of $all)" test "$cut" -ge $((all / 2))
	rm -rf "$dir"
done
finish
