#!/usr/bin/env bash
# tier: test
# deploy/Containerfile: its first stage installs what quickstart says a build needs; its second what the program loads, and no more. That its
# commands work takes a machine that may fetch packages, and is tried by hand.
. tests/cli/lib.sh
file=deploy/Containerfile
packages() { # STAGE: the words between --no-install-recommends and what follows
	awk -v stage="$1" '/^FROM/ { n++ } n == stage' "$file" | tr -d '\\\n' | grep -oE -- '--no-install-recommends[^&]*' |
		sed 's/^[^ \t]*//; s/COPY.*//' | tr ' \t' '\n\n' | grep . | sort
}
needs=$(sed -n "/^build_needs='/,/^'/p" quickstart | sed -n 's/ *|.*//p' | sort)
is "a build's packages are quickstart's" "$(packages 1)" "$needs"

# What it is linked with, and what it opens when needed: each of one package that is named, and each name is of one.
command -v dpkg-query >/dev/null || { skip "packages of libraries" "no dpkg"; finish; exit; }
libraries=$(readelf -d "$cresset" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -vE '^(libc|libm)\.so')
opened=$(grep -rhoE '"lib[a-z-]+\.so\.[0-9]+"' src --include='*.[ch]' | tr -d '"' |
	grep -vx -e 'libcurl\.so\..*' -e 'libgnutls\.so\..*' | sort -u) # libcurl-gnutls comes first; libmicrohttpd needs GnuTLS
owner() { # SONAME
	dpkg-query -S "*/$1" 2>/dev/null | grep -v '^diversion' | sed 's/:.*//' | head -1
}
wanted=$(for library in $libraries $opened; do owner "$library"; done | sort -u)
is "its libraries are of the second stage's packages" "$(comm -23 <(echo "$wanted") <(packages 2))" ""
is "… and nothing else is there" "$(comm -13 <(echo "$wanted") <(packages 2))" "ca-certificates"
finish
