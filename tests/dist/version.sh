#!/usr/bin/env bash
# tier: full
# run: alone
# The versions of packages, and that dpkg and rpm order them as they were made.
. tests/cli/lib.sh
maps() { is "$1" "$(tools/package-version "$1" 2>&1)" "$2"; }
maps 0.1.0 0.1.0
maps 0.1.0-12-g2b42a04 0.1.0+12.g2b42a04
maps 0.1.0-dev 0.1.0~dev
maps 0.1.0-dev-g2b42a04 0.1.0~dev+g2b42a04
maps 0.1.0-rc1 0.1.0~rc1
maps 0.1.0-rc1-3-g2b42a04 0.1.0~rc1+3.g2b42a04
for bad in "" "0.1.0 " 0.1.0_1 v0.1.0 0.1.0-DEV "0.1.0; true"; do
	tools/package-version "$bad" >/dev/null 2>&1
	is "'$bad' is refused" $? 1
done

order=(0.1.0-dev 0.1.0-dev-g2b42a04 0.1.0-rc1 0.1.0-rc1-3-g2b42a04 0.1.0 0.1.0-2-g2b42a04 0.1.0-12-g1111111 0.1.1-dev)
for ((i = 1; i < ${#order[@]}; i++)); do
	a=$(tools/package-version "${order[i - 1]}") b=$(tools/package-version "${order[i]}")
	if command -v dpkg >/dev/null; then holds "dpkg: $a < $b" dpkg --compare-versions "$a" lt "$b"; else skip "dpkg: $a < $b" "no dpkg"; fi
	if command -v rpm >/dev/null; then is "rpm: $a < $b" "$(rpm --eval "%{lua:print(rpm.vercmp('$a', '$b'))}")" -1; else skip "rpm: $a < $b" "no rpm"; fi
done
finish
