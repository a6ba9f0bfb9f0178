#!/usr/bin/env bash
# tier: live
# PHP of other Debians, which tests/live/lib_python_roots.sh has fetched: as tests/promise/php.sh, each in its own root.
. tests/live/lib.sh
. tests/live/lib_shapes.sh
. tests/live/lib_php.sh
needs_recording
fetched=0
for program in "$PWD/$BUILD"/python/*/usr/bin/php[0-9].[0-9]; do
	[ -x "$program" ] || continue
	root=${program%/usr/bin/*} name=${program##*/}
	fetched=$((fetched + 1))
	mkdir -p "$root/tests/live/php" && cp tests/live/php/*.php "$root/tests/live/php/" || not_ok "$name: its program"
	php=(chroot "$root" "/usr/bin/$name")
	look "$name"
	whole_stacks "$name"
	shares "$name"
	fibers "$name"
	waits "$name"
	[ "${name#php}" != 7.4 ] || continue # without a JIT
	for jit in tracing function; do
		look "$name, jit: $jit" -d opcache.enable_cli=1 -d opcache.jit=$jit -d opcache.jit_buffer_size=32M
		whole_stacks "$name, jit: $jit"
	done
done
[ $fetched -gt 0 ] || { echo "1..0 # SKIP tests/live/lib_python_roots.sh has fetched no PHP" && exit 0; }
finish
