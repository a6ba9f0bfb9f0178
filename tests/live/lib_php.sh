# shellcheck shell=bash disable=SC2034,SC2154 # variables of tests/live/lib.sh, and for tests/live/lib_shapes.sh
# tests/live/lib_php.sh: shared by tests of PHP: records tests/live/php/shapes.php, compares its stacks with their known structure.
#
#     . tests/live/lib.sh; . tests/live/lib_shapes.sh; . tests/live/lib_php.sh
#     needs_php
#     look WORDS [PHP-OPTION…]
php_seconds=${php_seconds:-3} # of CPU time
php=(php)
least=10
legal=(
	[heavy]='heavy;middle;inner;burn'
	[light]='light;middle;inner;burn'
	[recurse]='recurse;(deep;){301}burn'
	[classes]='classes;Shape::of;(opcache\.so\+0x[0-9a-f]+;)?Shape::__get;Shape::area;burn'
	[magic]='magic;Shape::__callStatic;burn'
	[sorts]='sorts;usort;\{closure:shapes\.php:[0-9]+\};burn'
	[closures]='closures;\{closure:shapes\.php:[0-9]+\};burn'
	[generates]='generates;Generator::(next|current);numbers;burn'
	[includes]='includes;included\.php;burn'
	[evals]="evals;shapes\\.php\\([0-9]+\\) : eval\\(\\)'d code;burn"
	[throws]='throws;raises;burn'
	[größe]='größe;burn'
)
also[fibers]='(fibers|in_fiber)'

needs_php() {
	command -v php >/dev/null || { echo "1..0 # SKIP no php" && exit 0; }
}

look() { # WORDS PHP-OPTION…
	local words=$1
	shift
	look_at "$words" "${php[@]}" "$@" tests/live/php/shapes.php "$php_seconds"
}

# The native stack of a fiber starts where the fiber does.
fibers() { # WORDS
	grep -q '^cpu fibers ' "$tmp/truth" || return
	most "$1: stacks of a fiber" .97 ';in_fiber;burn' '\[truncated: [a-z ]*\];.*;in_fiber;burn([; ]|$)' "$tmp/all.folded"
}
# The first nap comes before the walker knows the program's files.
waits() { # WORDS
	"$cresset" convert -q "$tmp/shapes.cresset" --type off-cpu -o "$tmp/off.folded" 2>"$tmp/err" || not_ok "$1: convert" "$(tail -3 "$tmp/err")"
	most "$1: waits are whole" .97 ';clock_nanosleep' '^[^;]*;_start;.*;main;naps;usleep;' "$tmp/off.folded"
}
