#!/usr/bin/env bash
# tier: kernels
# run: alone
# The oldest kernel that everything works on, and the newest there is: every BPF program loads in every way, recordings of all kinds have the right
# functions, and the page shows them. make test-kernels does more, on more kernels.
. tests/kernels/lib.sh
. tests/live/lib.sh
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP making machines needs root"; exit 0; }

packages_for features
stage_features "$tmp/project"
for kind in bookworm/cloud trixie-backports/cloud; do
	tools/kernels run --packages "$packages" --timeout 500 --out "$tmp/out" "$kind" "$tmp/project" bash tests/kernels/inside short >"$tmp/run" 2>&1
	rc=$?
	if [ $rc = 123 ]; then
		skip "$kind" "$(sed -n 's/^kernels: unavailable: //p' "$tmp/run" | tail -n 1)"
		continue
	fi
	is "$kind: the machine ran to its end" $rc 0
	for part in features bpf; do
		while read -r result name; do
			if [ "$result" = ok ]; then ok "$kind: $name"; else not_ok "$kind: $name"; fi
		done < <(sed -nE 's/^(ok|not ok) [0-9]+ (- )?/\1 /p; s/^(Bail out!)/not ok \1/p' "$tmp/out/$part.tap" | sed 's/^not ok/not_ok/')
		is "$kind: $part has a result" "$(grep -cE '^1\.\.[1-9]' "$tmp/out/$part.tap")" 1
		grep -hE '^# ' "$tmp/out/$part.tap"
		[ "$part" != bpf ] || grep -E 'tests/unit|libbpf' "$tmp/out/bpf.log" | sed 's/^/# /'
	done
	rm -rf "$tmp/out"
done
finish
