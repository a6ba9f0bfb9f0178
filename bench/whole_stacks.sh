#!/usr/bin/env bash
# How many user stacks of programs without frame pointers reach the start of their thread, each under load at 199 Hz, watched by
# cresset and by perf record in its DWARF mode (16 KiB of stack a sample) at the same time; how deep the stacks of both are, and how
# much the kernel writes for a sample of each. Wilson intervals of 95 %. Depth is compared with the stacks that perf did not
# cut; samples from before the tables were built count apart.
#
# bench/whole_stacks.sh [NAME…]: only these programs.
. bench/lib.sh
. bench/lib_loads.sh
seconds=${BENCH_SECONDS:-30}

# Where a process or a thread begins: by its name, and in a stripped program by what it calls.
# shellcheck disable=SC2016
is_start='function is_start(frame, callee) {
	if (frame ~ /^(_start|_dl_start_user|__clone3?|clone3?)$/) return 1
	return (frame == "[unknown]" || frame ~ /^[^ ]+\+0x[0-9a-f]+$/) && callee ~ /^__libc_start_main/
}
'
# Folded stacks of one thread name: "samples, those without a user side, whole ones"; the whole ones by user frames go to $tmp/depths.
count_folded() { # FILE COMM
	awk -v depths="$tmp/depths" -v comm="$2" "$is_start"'
		{
			value = $NF
			sub(/ [0-9]+$/, "")
			n = split($0, frame, ";")
			if (frame[1] != comm) next
			for (user = 0; user + 2 <= n && frame[user + 2] !~ /_\[k\]$/; user++) ;
			samples += value
			if (!user) none += value
			else if (is_start(frame[2], frame[3])) { whole += value; by_depth[user] += value }
		}
		END {
			for (user in by_depth) print user, by_depth[user] >depths
			print samples + 0, none + 0, whole + 0
		}' "$1"
}
# Mean depth of the shallower whole stacks: perf cuts the deepest, so that a share of all is what can be compared.
mean_depth() { # SHARE OF_SAMPLES
	sort -n "$tmp/depths" | awk -v left="$(calc "int($1 / 100 * $2)")" '
		left > 0 { take = $2 < left ? $2 : left; n += take; frames += $1 * take; left -= take }
		END { print n ? frames / n : 0 }'
}
# The same of what perf script prints, and the user frames of whole stacks.
count_script() { # COMM, standard input
	awk -v comm="$1" "$is_start"'
		function finish() {
			if (name != comm || !in_sample) return
			samples++
			if (!user) none++
			else if (is_start(last, before)) { whole++; frames += user }
		}
		/^[^ \t]/ { finish(); in_sample = 1; name = $1; user = 0; last = before = ""; next }
		/^$/ { finish(); in_sample = 0; next }
		in_sample && $1 !~ /^ffff[8-f]/ { user++; before = last; last = $2; sub(/[+@].*/, "", last) }
		END { finish(); print samples + 0, none + 0, whole + 0, frames + 0 }'
}
# 95 % interval of a share, as percents "share low high" (Wilson).
wilson() { # HITS N
	awk -v x="$1" -v n="$2" 'BEGIN {
		if (!n) { print "0 0 0"; exit }
		z = 1.96; p = x / n; m = (p + z * z / (2 * n)) / (1 + z * z / n)
		h = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
		high = m + h > 1 ? 1 : m + h
		low = m > h ? m - h : 0
		printf "%.2f %.2f %.2f\n", p * 100, low * 100, high * 100 }'
}
json() { jq -r ".$1" "$tmp/ours.json"; }

# Linux 6.18 marks the records of mappings of every reader as ones with a build id as soon as one reader, cresset, wants that; perf 6.1
# aborts over them. The mark is taken off again: bit 14 of misc in records of type 10 (MMAP2).
unmark() { # FILE of perf record
	python3 - "$1" <<-'PY'
		import struct, sys
		with open(sys.argv[1], "r+b") as f:
		    data = bytearray(f.read())
		    at, size = struct.unpack_from("<QQ", data, 40)
		    end = min(at + size, len(data)) if size else len(data)
		    while at + 8 <= end:
		        kind, misc, n = struct.unpack_from("<IHH", data, at)
		        if kind == 10:
		            struct.pack_into("<H", data, at + 4, misc & ~(1 << 14))
		        if n < 8:
		            break
		        at += n
		    f.seek(0)
		    f.write(data)
	PY
}
# Both at once, so that they see the same work; again when perf came to nothing.
watch_both() { # NAME
	local perf_pid
	perf record -q -B -N -p "$load_pids" -e cpu-clock -F 199 --call-graph dwarf,16384 -o "$tmp/perf.data" >/dev/null 2>"$tmp/perf.err" &
	perf_pid=$!
	pids+=("$perf_pid")
	"$cresset" record -q -p "$load_pids" -F 199 -d "$seconds" --annotate=k --json -o "$tmp/ours.folded" >"$tmp/ours.json" 2>"$tmp/ours.err" || return 1
	kill -INT $perf_pid
	wait $perf_pid 2>/dev/null
	unmark "$tmp/perf.data"
	timeout 300 perf script --no-inline --max-stack 1024 -F comm,tid,ip,sym -i "$tmp/perf.data" 2>"$tmp/script.err" |
		count_script "$load_comm" >"$tmp/theirs"
	read -r perf_samples perf_none perf_whole perf_frames <"$tmp/theirs"
	read -r samples none whole <<<"$(count_folded "$tmp/ours.folded" "$load_comm")"
	[ -n "${BENCH_KEEP-}" ] && mkdir -p "$BENCH_KEEP" && cp "$tmp/ours.folded" "$BENCH_KEEP/$1.folded" && cp "$tmp/perf.data" "$BENCH_KEEP/$1.data"
	[ "$perf_samples" -gt 0 ] && [ "$samples" -gt 0 ]
}
# What the kernel wrote for a sample, of every thread that was watched: perf has them all in its file.
bytes_rows() { # NAME
	local ours later theirs steady all_perf
	ours=$(calc "$(json read_bytes) / $(json samples)")
	later=$(json walked_in_user_space)
	steady=$(calc "($(json read_bytes) - $(json walked_in_user_space_bytes)) / ($(json samples) - $later + 1e-9)")
	all_perf=$(perf script -F tid -i "$tmp/perf.data" 2>/dev/null | grep -c .)
	theirs=$(calc "$(stat -c %s "$tmp/perf.data") / ($all_perf + 1e-9)")
	row "$1: bytes of a sample, perf's" "≤ 1/50" \
		"$steady against $theirs: 1/$(calc "$theirs / $steady"); with $later copied stacks $ours: 1/$(calc "$theirs / $ours")" \
		"$(met "$steady <= $theirs / 50")"
}
reasons() { # the markers of truncated stacks, and how often
	grep -o '\[truncated: [^]]*\].* [0-9]*$' "$tmp/ours.folded" | sed 's/\[truncated: \([^]]*\)\].* \([0-9]*\)$/\2 \1/' |
		awk '{ v = $1; sub(/^[0-9]+ /, ""); n[$0] += v } END { for (r in n) printf "%s%d %s", s++ ? ", " : "", n[r], r }'
}
one() { # NAME
	local share low high perf_share perf_low perf_high why depth perf_depth
	if ! load_begin "$1" $((seconds * 4 + 60)); then
		row "$1: whole stacks" "≥ 99 %" "${load_missing:-it did not start: $(tail -1 "$tmp/load.err")}" -
		return
	fi
	samples=0 perf_samples=0
	for _ in 1 2 3; do
		watch_both "$1" && break
		say "$1: again: $(cat "$tmp/ours.err" "$tmp/perf.err" "$tmp/script.err" 2>/dev/null | tail -1)"
	done
	load_end
	if [ "$samples" = 0 ] || [ "$perf_samples" = 0 ]; then
		row "$1: whole stacks" "≥ 99 %" "not watched: $samples samples, perf $perf_samples" no
		return
	fi
	read -r share low high <<<"$(wilson "$whole" $((samples - none)))"
	read -r perf_share perf_low perf_high <<<"$(wilson "$perf_whole" $((perf_samples - perf_none)))"
	why=$(reasons)
	depth=$(calc "$(mean_depth "$perf_share" $((samples - none)))") perf_depth=$(calc "$perf_frames / ($perf_whole + 1e-9)")
	row "$1: whole stacks" "≥ 99 %" \
		"$share % ($low–$high) of $((samples - none))${why:+; not: $why}$([ "$none" = 0 ] || echo "; no user side: $none"); perf $perf_share % ($perf_low–$perf_high) of $((perf_samples - perf_none))" \
		"$(met "$share >= 99")"
	row "$1: depth of user frames, perf's" "within 5 %" \
		"$depth, perf $perf_depth: $(calc "$depth / ($perf_depth + 1e-9)") ×" "$(met "$depth >= 0.95 * $perf_depth && $depth <= 1.05 * $perf_depth")"
	bytes_rows "$1"
}
say "load of the machine: $(cut -d' ' -f1-3 /proc/loadavg)"
[ $# -gt 0 ] || set -- $loads # by words
for name; do one "$name"; done
