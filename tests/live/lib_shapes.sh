# shellcheck shell=bash disable=SC2154 # variables of tests/live/lib.sh, and of the tests
# tests/live/lib_shapes.sh: compares stacks of a program with its known structure: the names of its functions, and their shares of the time, which it has
# measured itself. The program prints "cpu FUNCTION MICROSECONDS".
#
#     . tests/live/lib.sh; . tests/live/lib_shapes.sh
#     legal[FUNCTION]='OUTER;…;burn'    the functions between its main function and burn, outermost first; least: how many samples there have to be
#     also[FUNCTION]='EXPRESSION'       functions that work for it, where these are not OUTER alone
#     look_at WORDS COMMAND…            records it: folded stacks in $tmp/all.folded, stacks of its functions in $tmp/cpu.folded, its output in $tmp/truth
#     whole_stacks WORDS; shares WORDS
declare -A legal also

look_at() { # WORDS COMMAND…
	local words=$1 rc=0
	shift
	timeout "$most_s" "$cresset" record -q -F 499 -e cpu,off-cpu -o "$tmp/shapes.cresset" -- "$@" >"$tmp/truth" 2>"$tmp/err" || rc=$?
	[ $rc = 0 ] || not_ok "$words: the recording" "status $rc: $(tail -3 "$tmp/err")"
	"$cresset" convert -q "$tmp/shapes.cresset" --type cpu -o "$tmp/all.folded" 2>"$tmp/err" || not_ok "$words: convert" "$(tail -3 "$tmp/err")"
	sed -i -E 's/ ?\[(abi|clone)[^];]*\]//g' "$tmp/all.folded" # in names of C++
	# Without the start of the runtime itself.
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

whole_stacks() { # WORDS
	local name
	most "$1: stacks are whole" .97 . '^[^;]*;_start;'
	most "$1: names are of functions" .97 . '^[^[]*$'
	for name in "${!legal[@]}"; do
		most "$1: stacks of $name are as it was written" .97 ";${legal[$name]%%;*};(.*;)?burn" ";${legal[$name]}([; ]|$)"
	done
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
		of=${also[$name]-${legal[$name]%%;*}}
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
