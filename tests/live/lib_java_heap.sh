# shellcheck shell=bash disable=SC2154 # variables of tests/live/lib.sh
# tests/live/lib_java_heap.sh: shared by tests of Java's heap: runs tests/live/java/Allocates.java, and compares with its own account.
#
#     . tests/live/lib.sh; . tests/live/lib_java_heap.sh
#     allocates JAVA OPTION… -- MIB     starts it: $pid; it reads lines from &$to; its output comes to $tmp/truth
#     states LINE                       waits for a line of it
#     own_java NAME [strip]             a Java of this name in $tmp/NAME/bin/NAME; strip: its libjvm has no symbols
#     sampler PID, until_sampler 0|1 PID     the byte that turns the sampler on
#     inside WORDS FILE [TYPE]          alloc of its functions, and alloc-objects; or one of them
needs_allocates() {
	local tool
	for tool in java javac; do
		command -v $tool >/dev/null || { echo "1..0 # SKIP no $tool" && exit 0; }
	done
	javac --release 11 -d "$tmp/classes" tests/live/java/Allocates.java || { not_ok "javac" && finish && exit 1; }
}

# shellcheck disable=SC2034 # to is for the tests
allocates() { # JAVA OPTION… -- MIB
	local command=()
	while [ "$1" != -- ]; do
		command+=("$1")
		shift
	done
	rm -f "$tmp/lines" "$tmp/truth"
	mkfifo "$tmp/lines"
	: >"$tmp/truth"
	exec {to}<>"$tmp/lines"
	"${command[@]}" -cp "$tmp/classes" Allocates "$2" <"$tmp/lines" >"$tmp/truth" 2>"$tmp/java.err" &
	pid=$!
	pids+=("$pid")
	holds "a program runs" states ready
}
states() { # LINE
	for _ in $(seq 6000); do
		grep -qx "$1" "$tmp/truth" && return
		kill -0 "$pid" 2>/dev/null || return 1
		sleep 0.01
	done
	return 1
}

sampler() {
	local lib start at
	read -r start lib < <(awk '$NF ~ /\/libjvm\.so$/ { split($1, a, "-"); print a[1], $NF; exit }' "/proc/$1/maps")
	at=$((16#$start + 16#$(nm "$lib" | awk '$3 ~ /_should_post_sampled_object_alloc/ { print $1 }')))
	dd if="/proc/$1/mem" bs=1 skip="$at" count=1 status=none | od -An -t u1 | tr -d ' '
}
until_sampler() { # VALUE PID
	for _ in $(seq 600); do
		[ "$(sampler "$2")" != "$1" ] || return 0
		sleep 0.05
	done
	return 1
}

# The launcher finds its libraries from its own place.
own_java() { # NAME [strip]
	local home
	home=$(readlink -f "$(command -v java)")
	home=${home%/bin/java}
	mkdir -p "$tmp/$1/bin" "$tmp/$1/lib"
	cp "$home/bin/java" "$tmp/$1/bin/$1"
	ln -s "$home"/lib/* "$tmp/$1/lib/"
	ln -s "$home/conf" "$tmp/$1/conf"
	[ -n "${2-}" ] || return 0
	rm "$tmp/$1/lib/server"
	mkdir "$tmp/$1/lib/server"
	ln -s "$home"/lib/server/* "$tmp/$1/lib/server/"
	rm "$tmp/$1/lib/server/libjvm.so"
	strip -o "$tmp/$1/lib/server/libjvm.so" "$home/lib/server/libjvm.so"
}

# Five standard deviations, while the report states 1.96.
inside() { # WORDS FILE [TYPE]
	local name bytes objects type want
	while read -r name bytes objects; do
		for type in ${3:-alloc alloc-objects}; do
			[ $type = alloc ] && want=$bytes || want=$objects
			"$cresset" report "$2" --type $type --top 0 --json >"$tmp/report" 2>"$tmp/report.err"
			jq -r --arg f "Allocates.$name(int)" '.top[] | select(.function == $f) | [.total, (.total_high - .total_low) / 2] | @tsv' "$tmp/report" >"$tmp/got"
			if awk -v want="$want" '{ got = $1; half = $2 } END { d = got - want; d = d < 0 ? -d : d; exit !(got > 0 && d <= half * 5 / 1.96) }' "$tmp/got"; then
				ok "$1: $type of $name ($(tr '\t' ' ' <"$tmp/got"), truth $want)"
			else
				not_ok "$1: $type of $name" "want $want: $(cat "$tmp/got")"
			fi
		done
	done < <(grep -E '^[a-z]+ [0-9]+ [0-9]+$' "$tmp/truth")
}
