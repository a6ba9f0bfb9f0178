#!/usr/bin/env bash
# The cost of seeing PHP: the run time of the sampling program for a stack of 30 frames of PHP, interpreted and by its JIT, against one of 30 native
# frames and one of 30 frames of Python.
# shellcheck disable=SC2154 # set by bench/lib_deep.sh
. bench/lib.sh
. bench/lib_deep.sh
if ! command -v php >/dev/null; then
	row "one sample of 30 frames of PHP" "≤ 15 µs" "no php here" -
	exit 0
fi
version=$(php -r 'echo PHP_VERSION;')
measure_others
for mode in "interpreted -d opcache.enable_cli=0" "JIT -d opcache.enable_cli=1 -d opcache.jit=tracing -d opcache.jit_buffer_size=32M"; do
	# shellcheck disable=SC2086 # options
	start php ${mode#* } bench/deep.php 30
	running=${pids[-1]}
	"$cresset" record -q -F 199 -d 2 -p "$running" -o "$tmp/deep.cresset"
	seen=$(frames php) all=$(frames)
	measure php "$running"
	row "one sample of ${seen%.*} frames of PHP (${all%.*} in all), ${mode%% *}, hot (BPF run time), PHP $version" "≤ 15 µs" \
		"$php_us µs of $php_n samples: $(calc "$php_us / $native_us")× 30 native frames ($native_us µs), $(calc "$php_us / $python_us")× 30 of Python ($python_us µs)" \
		"$(met "$php_us <= 15")"
done
