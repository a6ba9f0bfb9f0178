#!/usr/bin/env bash
# tier: test
# tools/version: what a clone with tags, a clone without and a tarball call themselves. cresset --version: what the program was built from, and how.
. tests/cli/lib.sh

tree=$tmp/tree
mkdir -p "$tree/tools"
cp tools/version "$tree/tools"
echo 1.2.3-dev >"$tree/VERSION"
git() { command git -C "$tree" -c user.name=t -c user.email=t@example.org -c commit.gpgsign=false "$@" >/dev/null; }
commit() { command git -C "$tree" rev-parse --short HEAD; }

is "a tarball" "$("$tree/tools/version")" 1.2.3-dev
is "… has no commit" "$?$("$tree/tools/version" commit)" 0
git init -q
git commit -q --allow-empty -m one
is "a clone without tags" "$("$tree/tools/version")" "1.2.3-dev-g$(commit)"
is "… and its commit" "$("$tree/tools/version" commit)" "$(command git -C "$tree" rev-parse HEAD)"
git add VERSION
git commit -q -m file
git tag v1.2.3
is "a release has its commit as well" "$("$tree/tools/version" commit)" "$(command git -C "$tree" rev-parse HEAD)"
touch -d 2001-01-01 "$tree/VERSION" "$tree/new"
is "… also with other times, and files that are not its own" "$("$tree/tools/version" commit)" "$(command git -C "$tree" rev-parse HEAD)"
echo 1.2.4-dev >"$tree/VERSION"
is "a file that was changed" "$("$tree/tools/version" commit)" "$(command git -C "$tree" rev-parse HEAD)-dirty"
echo 1.2.3-dev >"$tree/VERSION"
is "a release" "$("$tree/tools/version")" 1.2.3
git commit -q --allow-empty -m two
git tag other
is "a commit after it" "$("$tree/tools/version")" "1.2.3-1-g$(commit)"
mkdir "$tree/unpacked"
cp -r "$tree/tools" "$tree/VERSION" "$tree/unpacked"
is "a tarball that lies in a clone of something else" "$("$tree/unpacked/tools/version")" 1.2.3-dev
is "… has no commit" "$("$tree/unpacked/tools/version" commit)" ""

# --- the program
said() { "$1" --version | sed -n "s/^$2: *//p"; }
for program in "$cresset" "$BUILD/portable/cresset"; do
	name=${program#"$PWD/"}
	[ -x "$program" ] || { skip "$name" "it is not built"; continue; }
	is "$name: the version comes first" "$("$program" --version | head -1)" "cresset $(tools/version)"
	is "… the commit" "$(said "$program" commit)" "$(tools/version commit)"
	is "… the build id" "$(said "$program" 'build id')" "$(readelf -n "$program" 2>/dev/null | sed -n 's/ *Build ID: //p')"
	compiler=$(said "$program" compiler)
	has "… the compiler" " ${compiler#* }" "$(readelf -p .comment "$program")"
	has "… the BPF compiler" "clang version" "$(said "$program" 'BPF compiler')"
	is "… and not the build directory" "$("$program" --version | grep -cF "$PWD")" 0
done
is "the libraries are the system's" "$(said "$cresset" libraries)" "the system's"
finish
