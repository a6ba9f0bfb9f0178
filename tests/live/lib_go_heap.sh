# shellcheck shell=bash disable=SC2154 # variables of tests/live/lib.sh
# tests/live/lib_go_heap.sh: shared by tests of Go's heap: builds tests/live/prog/go_heap, records it, and compares with Go's own profile of the same moment
# and with what the program has allocated.
#
#     . tests/live/lib.sh; . tests/live/lib_go_heap.sh
#     made NAME ROOT FLAG…     builds $tmp/go_heap-NAME with the Go at ROOT
#     whole_life WORDS NAME    a recording of all that it allocates
#     second_part WORDS NAME   one of the second part
export GOCACHE=$tmp/go-cache GOTOOLCHAIN=local

made() { # NAME ROOT FLAG…
	local name=$1 root=$2
	shift 2
	(cd tests/live/prog/go_heap && GOROOT=$root "$root/bin/go" build -buildvcs=false "$@" -o "$tmp/go_heap-$name" .) >"$tmp/made.err" 2>&1 ||
		not_ok "$name builds" "$(tail -3 "$tmp/made.err")"
}

# Waits until the program has written a line: states LINE
states() {
	for _ in $(seq 6000); do
		grep -qx "$1" "$tmp/truth" && return
		sleep 0.01
	done
	return 1
}

# The bytes between two samples in a process, 0: its profile is off; and waits for them: rate PID PROGRAM, until_rate BYTES PID PROGRAM
rate() {
	local at
	at=$((16#$(go tool nm "$2" | awk '$3 == "runtime.MemProfileRate" { print $1 }')))
	dd if="/proc/$1/mem" bs=1 skip="$at" count=8 status=none | od -An -t u8 | tr -d ' '
}
until_rate() {
	for _ in $(seq 600); do
		[ "$(rate "$2" "$3")" != "$1" ] || return 0
		sleep 0.05
	done
	return 1
}

# Go's profile, of our functions: NAME VALUE of each that is not 0.
by_go() { # PROGRAM FILE SAMPLE-INDEX
	go tool pprof -sample_index="$3" -unit=B -nodefraction=0 -edgefraction=0 -nodecount=1000 -top "$1" "$2" 2>/dev/null |
		awk '$NF == "(inline)" { NF-- } $NF ~ /^main\.(inner|keeps|churns|smalls|recurses|later)$/ { sub(/B$/, "", $4); if ($4 > 0) print $NF, $4 }' | sort
}
by_us() { # FILE TYPE
	"$cresset" report "$1" --type "$2" --top 0 --json |
		jq -r '.top[] | select(.function | test("^main\\.(inner|keeps|churns|smalls|recurses|later)$")) | select(.total > 0) | "\(.function) \(.total)"' | sort
}
# Both round: by at most one block of each bucket.
same() { # WORDS PROGRAM FILE-OF-GO OUR-FILE INDEX TYPE
	by_go "$2" "$3" "$5" >"$tmp/by_go"
	by_us "$4" "$6" >"$tmp/by_us"
	if [ -s "$tmp/by_go" ] && join -a 1 -a 2 -e 0 -o 0,1.2,2.2 "$tmp/by_go" "$tmp/by_us" |
		awk '{ d = $2 - $3; d = d < 0 ? -d : d; if (d > 1e-4 * $2 + 20) bad = 1 } END { exit bad }'; then
		ok "$1: $6 of $(wc -l <"$tmp/by_go") functions as Go has them"
	else
		not_ok "$1: $6 as Go has them" "$(join -a 1 -a 2 -e 0 -o 0,1.2,2.2 "$tmp/by_go" "$tmp/by_us")"
	fi
}
# Five standard deviations, while the report states 1.96: inside WORDS FILE TYPE FIELD FUNCTION…
inside() {
	local words=$1 file=$2 type=$3 field=$4 name want
	shift 4
	"$cresset" report "$file" --type "$type" --top 0 --json >"$tmp/report"
	for name; do
		want=$(awk -v n="$name" -v f="$field" '$1 == n { print $f }' "$tmp/truth")
		if jq -e --arg f "main.$name" --argjson want "$want" '[.top[] | select(.function == $f)] as $r
			| (if $r == [] then 0 else $r[0].total end) as $got | (if $r == [] then 0 else ($r[0].total_high - $r[0].total_low) / 2 end) as $half
			| (($got - $want) | if . < 0 then -. else . end) <= $half * 5 / 1.96 + 1' "$tmp/report" >"$tmp/jq"; then
			ok "$words: $type of $name"
		else
			not_ok "$words: $type of $name" "want $want: $(jq -c --arg f "main.$name" '.top[] | select(.function == $f)' "$tmp/report")"
		fi
	done
}

whole_life() { # WORDS NAME
	local program=$tmp/go_heap-$2 dir=$tmp/first-$2
	mkdir -p "$dir" && : >"$tmp/truth"
	start "$program" "$dir" >"$tmp/truth"
	holds "$1: the program has started" states started
	begin "$tmp/go.cresset" -e alloc,inuse -p "${pids[-1]}"
	: >"$dir/start"
	holds "$1: the program is ready" states ready
	end
	is "$1: the recording" $? 0
	same "$1" "$program" "$dir/first.pb.gz" "$tmp/go.cresset" inuse_space inuse
	same "$1" "$program" "$dir/first.pb.gz" "$tmp/go.cresset" inuse_objects inuse-objects
	same "$1" "$program" "$dir/first.pb.gz" "$tmp/go.cresset" alloc_space alloc
	same "$1" "$program" "$dir/first.pb.gz" "$tmp/go.cresset" alloc_objects alloc-objects
	inside "$1" "$tmp/go.cresset" alloc 2 keeps churns smalls recurses
	inside "$1" "$tmp/go.cresset" alloc-objects 3 keeps churns smalls recurses
	inside "$1" "$tmp/go.cresset" inuse 4 keeps churns smalls recurses
	inside "$1" "$tmp/go.cresset" inuse-objects 5 keeps churns smalls recurses
	"$cresset" convert -q "$tmp/go.cresset" --type inuse --to folded -o "$tmp/go.folded"
	holds "$1: inlined calls are there once" grep -qE ';runtime.main;main.main;main.keeps;main.outer;main.middle;main.inner(;runtime\.[^;]*)* [0-9]' "$tmp/go.folded"
	holds "$1: 21 calls, each of them" grep -qE ';main.main(;main.recurses){21};main.outer;main.middle;main.inner(;runtime\.[^;]*)* [0-9]' "$tmp/go.folded"
}

second_part() { # WORDS NAME
	local program=$tmp/go_heap-$2 dir=$tmp/second-$2
	mkdir -p "$dir" && touch "$tmp/truth" "$dir/start"
	start "$program" "$dir" >"$tmp/truth"
	holds "$1: the program is ready" states ready
	begin "$tmp/go.cresset" -e alloc,inuse -p "${pids[-1]}"
	: >"$dir/more"
	holds "$1: the program is done" states "done"
	end
	is "$1: the recording" $? 0
	same "$1" "$program" "$dir/second.pb.gz" "$tmp/go.cresset" inuse_space inuse
	inside "$1" "$tmp/go.cresset" alloc 2 later
	is "$1: earlier allocations are not there" "$(by_us "$tmp/go.cresset" alloc | grep -vE '^main\.(later|inner) ')" ""
}
