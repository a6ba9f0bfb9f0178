#!/usr/bin/env bash
# cresset serve under load: what a batch costs, 200 agents, as fast as it goes, too much, and questions. BENCH_SECONDS: of each load (20).
# A batch (bench/server/batches.h) has 2000 stacks of 30 frames, 2500 samples, 0.95 MB; its cost is that of a durable one, later work
# included. Full speed is 16 senders; the overload has 200 senders without a pause.
. bench/lib.sh
load=$PWD/$BUILD/bench/server_load seconds=${BENCH_SECONDS:-20}

measure() { # NAME MODE ARG…
	local name=$1 mode=$2
	shift 2
	say "$name"
	"$load" "$mode" "$cresset" "$tmp/$name.d" "$@" >"$tmp/$name" || exit 1
	rm -rf "$tmp/$name.d"
}
field() { awk -v mode="$2" -v key="$3" -v n="$4" '$1 == mode && (key == "" || $2 == key) { print $n }' "$tmp/$1"; } # NAME MODE KEY N
kb() { calc "$1 / 1e3"; }
mega() { calc "$1 / 1e6"; }

measure cost cost
batch() { # PROMISE BAR-MS NAME
	local ms
	ms=$(field cost cost "$3" 4)
	row "server CPU of a reference batch: $1" \
		"≤ $2 ms" "$ms ms ($(kb "$(field cost cost "$3" 3)") KB sent)" "$(met "$ms <= $2")"
}
batch "zstd, stacks known" 6 zstd
batch "zstd, packed against an earlier one" 6 delta
batch "gzip, stacks known" 9 gzip
batch "zstd, all stacks, files and names new" 25 new-zstd
batch "gzip, the same" 25 new-gzip

measure fleet fleet "$seconds"
share=$(field fleet fleet '' 3) p99=$(field fleet fleet '' 4)
refused=$(field fleet fleet '' 7) again=$(field fleet fleet '' 8)
row "200 agents, a batch each per 10 s: server CPU; p99 of acknowledgements; refused" "≤ 15 % of one; ≤ 250 ms; 0" \
	"$(calc "$share * 100") %; $p99 ms; $refused, and $again that had to come whole (the load program $(calc "$(field fleet fleet '' 5) * 100") %; peak $(mega "$(field fleet fleet '' 6)") MB)" \
	"$(met "$share <= 0.15 && $p99 <= 250 && $refused + $again == 0")"

measure full full "$seconds"
row "as fast as it goes: batches per second of server CPU" "stated" "$(field full full '' 3) ($(field full full '' 4) on the clock)" -

measure over over "$seconds"
lost=$(field over over '' 6)
row "200 clients without a pause: refusals without Retry-After; acknowledged and lost; memory" "0 without; 0 lost; ≤ 320 MB" \
	"$(field over over '' 2) accepted, $(field over over '' 3) refused, $(field over over '' 4) of them without; $lost lost; $(mega "$(field over over '' 7)") MB; the next one after $(field over over '' 8) ms" \
	"$(met "$(field over over '' 4) == 0 && $lost <= 0 && $lost >= -$(field over over '' 5) && $(field over over '' 7) <= 320e6")"

measure read read
slowest=$(for q in types labels values series range-one; do field read read $q 3; done | sort -g | tail -1)
row "800 series, 24 h: p99 of types, labels, values, series, range of one" "≤ 20 ms" "$slowest ms" "$(met "$slowest <= 20")"
row "… range over all, 60 s steps" "≤ 80 ms" "$(field read read range-all 3) ms" "$(met "$(field read read range-all 3) <= 80")"
