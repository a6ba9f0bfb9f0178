#!/usr/bin/env bash
# tier: test
# Stacks of a PHP program have its functions, with file and line, whole from the process's start on, in the shares that the program measures; and so are its
# waits. Functions that PHP frees immediately also have their names: closures, code of eval. The same with both kinds of its JIT.
. tests/live/lib.sh
. tests/live/lib_shapes.sh
. tests/live/lib_php.sh
needs_recording
needs_php
look interpreted
whole_stacks interpreted
shares interpreted
fibers interpreted
waits interpreted
# The line of the only call in middle.
line=$(awk '/^function middle/ { print NR + 2 }' tests/live/php/shapes.php)
"$cresset" sql -q --format csv --timeout 0 --data "$tmp/shapes.cresset" \
	"SELECT kind, line FROM frames WHERE function = 'middle' AND file LIKE '%/shapes.php' GROUP BY 1, 2" | tail -n +2 | tr -d '\r' >"$tmp/lines"
is "kind and line of a caller" "$(cat "$tmp/lines")" "php,$line"
if php -d opcache.enable_cli=1 -r 'exit(function_exists("opcache_get_status") ? 0 : 1);' 2>/dev/null; then
	for jit in tracing function; do
		php_seconds=1.5 look "jit: $jit" -d opcache.enable_cli=1 -d opcache.jit=$jit -d opcache.jit_buffer_size=32M
		whole_stacks "jit: $jit"
	done
else
	skip "with the JIT" "this PHP has no opcache"
fi
start php tests/live/php/shapes.php 60 >"$tmp/runs" 2>&1
right='"language":"php","state":"ok","by":"PHP [0-9.]*, identified by X-Powered-By; its loop is hybrid"'
"$cresset" doctor --json "${pids[-1]}" >"$tmp/doctor" 2>"$tmp/err"
holds "doctor names PHP" grep -qE "$right" "$tmp/doctor"
kill "${pids[-1]}"
finish
