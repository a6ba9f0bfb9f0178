# shellcheck shell=bash disable=SC2034,SC2154 # variables of tests/live/lib.sh, and for those that read this
# tests/live/lib_java.sh: shared by tests of Java: compiles tests/live/java/Shapes.java, records it, compares its stacks with their known structure.
#
#     . tests/live/lib.sh; . tests/live/lib_java.sh
#     needs_java
#     look WORDS RECORD-OPTIONS -- JAVA-OPTIONS     writes $tmp/all.folded; $tmp/cpu.folded, once the JVM is known; and the measurements of the
#                                                   program itself to $tmp/truth
java_seconds=${java_seconds:-6} # of CPU time

needs_java() {
	local tool
	for tool in java javac; do
		command -v $tool >/dev/null || { echo "1..0 # SKIP no $tool" && exit 0; }
	done
	javac -d "$tmp/classes" tests/live/java/Shapes.java || { not_ok "javac" && finish && exit 1; }
}

# The functions that a thread may have below Shapes.loop, outermost first, as one expression: between them, lambdas and hidden classes.
S='Shapes\.' any='[^;]*' between='(;Shapes\$\$Lambda[^;]*)?'
burned="(;${S}burn\\(int\\))?"
chain="(;${S}(heavy|light)\\(int\\)(;${S}outer\\(int\\)(;${S}middle\\(int\\)(;${S}inner\\(int\\)$burned)?)?)?)?"
deep="(;${S}deep\\(int\\))*$burned"
locked="(;${S}locked\\(int\\)$burned)?"
declare -A legal=(
	[chain]="${S}chain\\(\\)$chain"
	[recurse]="${S}recurse\\(\\)$deep"
	[monitor]="${S}monitor\\(\\)$locked"
)

# Of the lines of a folded file that match one expression, 99 in 100, or five standard deviations less, match another: most WHAT FILE OF RIGHT [LEAST]
most() {
	local all with least=${5-30}
	all=$(grep -E -- "$3" "$2" | folded_sum)
	with=$(grep -E -- "$3" "$2" | grep -E -- "$4" | folded_sum)
	if awk "BEGIN { exit !($all >= $least && $with >= .99 * $all - 5 * sqrt(.0099 * $all)) }"; then
		ok "$1 ($with of $all)"
	else
		not_ok "$1" "$with of $all: $(grep -E -- "$3" "$2" | grep -Ev -- "$4" | awk '{ print $NF, $0 }' | sort -rn | head -4 | cut -c1-900)"
	fi
}

# look WORDS OPTION… -- JAVA-OPTION…
look() {
	local words=$1 options=() rc=0
	shift
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	timeout "$most_s" "$cresset" record -q "${options[@]}" -o "$tmp/java.cresset" -- java "$@" -cp "$tmp/classes" Shapes "$java_seconds" >"$tmp/truth" 2>"$tmp/err" || rc=$?
	[ $rc = 0 ] || not_ok "$words: the recording" "status $rc: $(tail -3 "$tmp/err")"
	"$cresset" convert -q "$tmp/java.cresset" --type cpu -o "$tmp/all.folded" 2>"$tmp/err" || not_ok "$words: convert" "$(tail -3 "$tmp/err")"
	# Until the JVM is known, a stack ends at its code: on a busy machine that takes a while.
	known_s=$("$cresset" sql -q --format csv --timeout 0 --data "$tmp/java.cresset" "SELECT (SELECT min(time) FROM samples JOIN frames USING (stack)
		WHERE kind = 'java') / 1e9 - min(time) / 1e9 + 0.1 FROM samples" | tail -n 1 | tr -d '\r')
	"$cresset" convert -q "$tmp/java.cresset" --type cpu --time "${known_s}s-" -o "$tmp/cpu.folded" 2>"$tmp/err" || not_ok "$words: convert" "$(tail -3 "$tmp/err")"
	holds "$words: the JVM is known for most of the time (after $known_s s)" [ "$((2 * $(folded_sum <"$tmp/cpu.folded")))" -gt "$(folded_sum <"$tmp/all.folded")" ]
}

# The stacks of the threads that use a CPU: whole, and as the program was written.
whole_stacks() { # WORDS
	local name
	for name in chain recurse monitor; do
		most "$1: stacks of $name are whole" "$tmp/cpu.folded" "^$name;.*(${S}|\\[)" "^$name;(clone3?|__clone3?|start_thread);.*;java\\.lang\\.Thread\\.run\\(\\);"
		most "$1: … and as it was written" "$tmp/cpu.folded" "^$name;.*;${S}loop\\(.*;${S}" \
			";${S}loop\\([^;]*\\)$between;${legal[$name]}(;[^;]*)* [0-9]+\$"
	done
	most "$1: 301 calls, each of them" "$tmp/cpu.folded" "^recurse;.*${S}burn" "${S}recurse\\(\\)(;${S}deep\\(int\\)){301};${S}burn"
	most "$1: functions of lambdas are below them" "$tmp/cpu.folded" "^lambdas;.*${S}burn" "${S}lambdas\\(\\);(.*;)?${S}lambda\\\$lambdas\\\$[0-9]+\\(int\\);${S}burn"
	most "$1: names are of Java's methods" "$tmp/cpu.folded" "^(chain|recurse|monitor|lambdas|interfaces);.*${S}loop" '^[^[]*$'
}

# Leaves out stacks with a frame whose name was read too late, which happens while others want all CPUs. Fails if nearly all are so.
named_only() { # WORDS
	local all late
	all=$(folded_sum <"$tmp/cpu.folded")
	late=$(grep -E '\[(unknown|gone)\]' "$tmp/cpu.folded" | folded_sum)
	holds "$1: names were read in time for most samples ($late of $all were not)" [ "$((2 * late))" -lt "$all" ]
	sed -i -E '/\[(unknown|gone)\]/d' "$tmp/cpu.folded"
	[ "$((50 * late))" -le "$all" ]
}

# Shares of the threads, and by path, against the program's clocks.
shares() { # WORDS
	thread_shares "$1"
	path_shares "$1"
}
thread_shares() { # WORDS
	local name ns all got sum
	all=$(awk '$1 == "cpu" { n += $3 } END { print n }' "$tmp/truth")
	sum=$(grep -E "^($(awk '$1 == "cpu" { print $2 }' "$tmp/truth" | paste -sd '|'));" "$tmp/all.folded" | folded_sum)
	while read -r name ns; do
		got=$(grep -E "^$name;" "$tmp/all.folded" | folded_sum)
		near "$1: percent of the time in $name" "$(awk "BEGIN { print 100 * $got / $sum }")" "$(awk "BEGIN { print 100 * $ns / $all }")" 3
	done < <(awk '$1 == "cpu" { print $2, $3 }' "$tmp/truth")
}
path_shares() { # WORDS
	local name of ns all got sum
	all=$(awk '$1 == "path" { n += $4 } END { print n }' "$tmp/truth")
	sum=$(grep -E "^chain;.*${S}(heavy|light)\\(" "$tmp/cpu.folded" | folded_sum)
	while read -r name of ns; do
		got=$(grep -E "^$name;.*${S}$of\\(" "$tmp/cpu.folded" | folded_sum)
		# 3.3 standard deviations of a share of that many samples, which a right share exceeds in one test of 1000
		near "$1: percent of the chain in $of" "$(awk "BEGIN { print 100 * $got / $sum }")" "$(awk "BEGIN { print 100 * $ns / $all }")" \
			"$(awk "BEGIN { s = $ns / $all; t = 330 * sqrt(s * (1 - s) / $sum); print t < 3 ? 3 : t }")"
	done < <(awk '$1 == "path" { print $2, $3, $4 }' "$tmp/truth")
}

# What threads off the CPU wait in.
waits() { # WORDS
	"$cresset" convert -q "$tmp/java.cresset" --type off-cpu -o "$tmp/off.folded" 2>"$tmp/err" || not_ok "$1: convert" "$(tail -3 "$tmp/err")"
	sed -i -E '/\[(unknown|gone)\]/d' "$tmp/off.folded"
	most "$1: sleeping threads" "$tmp/off.folded" "^sleeping;.*${S}nap" "${S}loop\\([^;]*\\)$between;${S}sleeping\\(\\);${S}nap\\(\\);java\\.lang\\.Thread\\.sleep\\(long[^;]*\\);" 1
	most "$1: parked threads" "$tmp/off.folded" "^parking;.*${S}park\\(" \
		"${S}loop\\([^;]*\\)$between;${S}parking\\(\\);${S}park\\(\\);java\\.util\\.concurrent\\.locks\\.LockSupport\\.parkNanos\\(long\\);(jdk\\.internal|sun)\\.misc\\.Unsafe\\.park\\(" 1
	most "$1: threads in wait" "$tmp/off.folded" "^waiting;.*${S}await" "${S}loop\\([^;]*\\)$between;${S}waiting\\(\\);${S}await\\(\\);java\\.lang\\.Object\\.wait0?\\(" 1
	most "$1: waits are whole" "$tmp/off.folded" "^(sleeping|parking|waiting);.*${S}" '^[^;]*;(clone3?|__clone3?|start_thread);' 1
}
