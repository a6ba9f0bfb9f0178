#!/usr/bin/env bash
# tier: test
# cresset doctor --self: the files of a program against the list of sha256sum that a release has, the library beside it, and what it loads by name.
. tests/cli/lib.sh

# The program of this build as an archive has it, without debug information; the list is made by `list`. Its name is that of a library as of another version.
built=$PWD/$BUILD
dir=$tmp/archive
mkdir -p "$dir/man"
chmod 755 "$tmp"
strip -o "$dir/cresset" "$built/cresset"
cp "$built/libcresset-cuda.so" "$dir"
echo page >"$dir/man/cresset.1"
list() { (cd "$dir" && sha256sum "$@" >SHA256SUMS); }
files=(cresset libcresset-cuda.so man/cresset.1)
cresset=$dir/cresset
version=$("$cresset" --version | sed -n '1s/cresset //p')
# self NAME STATUS: runs it for JSON, into $tmp/json
self() {
	ends "$1" "$2" doctor --self --json
	cp "$tmp/out" "$tmp/json"
}
ask() { jq -r "$1" "$tmp/json"; }
state() { ask ".files[] | select(.name == \"$1\").state"; } # of a file
check() { ask ".checks[] | select(.name == \"$1\").$2"; }    # NAME FIELD

# --- without a list
self "without a list" 0
is "… it is sound, but not verified" "$(ask '"\(.sound) \(.verified) \(.checksums)"')" "true false null"
has "… it reports this" "SHA256SUMS is missing" "$(check files detail)"
has "… and where it looked" "$dir"$'\n'"$tmp/lib/cresset" "$(check files remedy)"
is "… that is a limit" "$(check files state)" limited
ends "… as text" 0 doctor --self
has "… with its verdict" "not compared with its release" "$out"

# --- all as listed
list "${files[@]}"
self "all as listed" 0
is "… sound and verified" "$(ask '"\(.sound) \(.verified) \(.checksums)"')" "true true $dir/SHA256SUMS"
is "… every file" "$(ask '.files[] | "\(.name) \(.state)"')" "$(printf '%s same\n' "${files[@]}")"
is "… the version" "$(ask .version)" "$version"
is "… the build id" "$(ask .build_id)" "$(readelf -n "$cresset" | sed -n 's/ *Build ID: //p')"
ends "… as text" 0 doctor --self
has "… one line for all files" "3 match $dir/SHA256SUMS" "$out"
hasnt "… and no others" "man/cresset.1" "$out"
has "… the verdict" "are as SHA256SUMS has them" "$out"
ends "… with -v" 0 doctor --self -v
has "… every file" "man/cresset.1" "$out"
LC_ALL=C "$cresset" doctor --self -v >"$tmp/ascii"
is "ASCII without UTF-8" "$(LC_ALL=C grep -c '[^ -~]' "$tmp/ascii")" 0
(cd "$dir" && sha256sum -b "${files[@]}" | sed 's/$/\r/' >SHA256SUMS)
self "binary mode, and CR LF" 0
is "… all the same" "$(ask '[.files[] | select(.state == "same")] | length')" 3
(cd "$dir" && sha256sum "${files[@]}" | head -c -1 >SHA256SUMS)
self "no newline at the end" 0
is "… all the same" "$(ask '[.files[] | select(.state == "same")] | length')" 3
(cd / && "$cresset" doctor --self >"$tmp/out")
is "from another directory" $? 0
ln -s "$cresset" "$tmp/link"
is "by a link" "$("$tmp/link" doctor --self --json | jq .verified)" true

# --- other content
list "${files[@]}"
echo more >>"$dir/man/cresset.1"
self "a changed file" 6
is "… which" "$(ask '.files[] | "\(.name) \(.state)"')" "$(printf '%s\n' "cresset same" "libcresset-cuda.so same" "man/cresset.1 changed")"
is "… as sha256sum finds" "$(cd "$dir" && sha256sum -c SHA256SUMS 2>/dev/null | grep -v ': OK$')" "man/cresset.1: FAILED"
is "… that is not sound" "$(ask '"\(.sound) \(.verified)"')" "false false"
ends "… as text" 6 doctor --self
has "… the file" "✗  man/cresset.1" "$out"
has "… and what to do" "unpack the archive of this version again" "$out"
rm "$dir/man/cresset.1"
self "a missing file" 6
is "… which" "$(state man/cresset.1)" missing
rm -r "$dir/man"
self "a missing directory" 6
is "… its file" "$(state man/cresset.1)" missing
mkdir -p "$dir/man/cresset.1"
self "a directory in its place" 6
is "… reports it" "$(state man/cresset.1)" not_a_file
rmdir "$dir/man/cresset.1"
mkfifo "$dir/man/cresset.1"
ends "a pipe in its place" 6 doctor --self
has "… reports it" "not a regular file" "$out"
rm "$dir/man/cresset.1"
ln -s cresset.1 "$dir/man/cresset.1"
self "a link to itself" 6
is "… is not readable" "$(state man/cresset.1)" not_readable
rm "$dir/man/cresset.1"
echo page >"$dir/man/cresset.1"
if [ "$(id -u)" = 0 ] && setpriv --reuid 65534 --regid 65534 --clear-groups "$cresset" --version >/dev/null 2>&1; then
	chmod 600 "$dir/man/cresset.1"
	setpriv --reuid 65534 --regid 65534 --clear-groups "$cresset" doctor --self --json >"$tmp/json"
	is "a file that this user may not read: a permission is missing" $? 3
	is "… which, and why" "$(ask '.files[] | select(.state != "same") | "\(.name) \(.state): \(.error)"')" "man/cresset.1 not_readable: Permission denied"
	rm "$dir/man/cresset.1"
	setpriv --reuid 65534 --regid 65534 --clear-groups "$cresset" doctor --self >/dev/null
	is "… and another one missing: that is reported first" $? 6
	echo page >"$dir/man/cresset.1"
	chmod 600 "$dir/SHA256SUMS"
	setpriv --reuid 65534 --regid 65534 --clear-groups "$cresset" doctor --self --json >"$tmp/json"
	is "a list that this user may not read" $? 3
	chmod 644 "$dir/SHA256SUMS"
else
	skip "files that may not be read" "not root"
fi
list man/cresset.1
self "a list without this program" 0
is "… does not verify it" "$(ask '"\(.sound) \(.verified)"') $(check files state)" "true false limited"

# --- lists that are none
text() { printf '%s\n' "$@" >"$dir/SHA256SUMS"; }
zeros=$(printf '%064d' 0)
: >"$dir/SHA256SUMS"
self "an empty list" 6
has "… names no file" "names no file" "$(check files detail)"
list "${files[@]}"
sed -i '2i\not a line of it' "$dir/SHA256SUMS"
self "a line of another form" 6
has "… which" "line 2 is not as sha256sum writes it in $dir/SHA256SUMS" "$(check files detail)"
is "… the others are compared" "$(ask '[.files[] | select(.state == "same")] | length')" 3
text a "$zeros  no" b c
self "several such lines" 6
has "… how many" "line 1 is not as sha256sum writes it, and 2 more, in" "$(check files detail)"
for line in '' "$zeros" "$zeros  " "$zeros cresset" "${zeros%0} cresset" "g${zeros#0}  cresset" "SHA256 (cresset) = $zeros" "$zeros  $(printf '%05000d' 0)" "\\$zeros  a\\nb"; do
	text "$line"
	self "no line of sha256sum: '${line:0:70}'" 6
	is "… is the first" "$(ask '.files | length') $(check files detail | grep -o '^line 1 ')" "0 line 1 "
done
printf '%s  cresset\0.txt\n' "$zeros" >"$dir/SHA256SUMS"
self "a name with a zero byte" 6
is "… is not checked" "$(ask '.files | length')" 0
for name in /etc/passwd ../link ../../etc/passwd man/../../link ./../link man/..//../link ..; do
	text "$zeros  $name"
	self "a name that leads out: $name" 6
	is "… is not checked" "$(state "$name")" outside
done
(cd "$dir" && sha256sum ./man/../cresset man//cresset.1 >SHA256SUMS)
self "other ways to write a name" 0
is "… are fine" "$(ask '.files[].state')" $'same\nsame'
printf '%s  \e[31m\xff\n' "$zeros" >"$dir/SHA256SUMS"
ends "a name with a control sequence" 6 doctor --self
hasnt "… which the terminal does not get" $'\e' "$out"
self "… as JSON" 6
holds "… that can be read" jq -e '.files[0].state == "missing"' "$tmp/json"
yes "$zeros  cresset" | head -1000000 >"$dir/SHA256SUMS"
self "a million lines" 6
has "… are too many" "larger than 1048576 bytes" "$(check files detail)"
yes "$zeros  no" | head -15000 >"$dir/SHA256SUMS"
self "as many as there may be" 6
is "… are all checked" "$(ask '.files | length')" 15000
for kind in directory pipe; do
	rm -rf "$dir/SHA256SUMS"
	case $kind in directory) mkdir "$dir/SHA256SUMS" ;; pipe) mkfifo "$dir/SHA256SUMS" ;; esac
	self "a $kind instead of the list" 6
	has "… reports it" "not a regular file" "$(check files detail)"
done
rm -rf "$dir/SHA256SUMS"
# Memory does not grow with the files; sha256sum is the judge of the sum, too.
truncate -s 100M "$dir/large"
list cresset large
python3 - "$cresset" "$tmp/json" >"$tmp/kib" <<-'END'
	import resource, subprocess, sys
	said = subprocess.run([sys.argv[1], "doctor", "--self", "--json"], stdout=open(sys.argv[2], "wb"))
	print(said.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
END
read -r status kib <"$tmp/kib"
is "a large file" "$status$(state large)" 0same
holds "… in little memory ($kib KiB)" [ "$kib" -le 30000 ]
rm "$dir/large"

# --- the libraries for programs
old=$(printf '%s' "$version" | tr 0-9 1-90)
for library in libcresset-cuda.so libcresset-mem.so; do
	sed "s/Cresset\\x00$version/Cresset\\x00$old/" "$built/$library" >"$dir/$library"
	if readelf -p .note.cresset "$dir/$library" | grep -qF "$old"; then
		list cresset $library
		self "$library of another version" 6
		is "… both are named" "$(check $library detail)" "of version $old, but this program is of $version"
		is "… though it is as listed" "$(state $library)" same
	else
		not_ok "$library of another version" "cannot make one"
	fi
	objcopy --remove-section .note.cresset "$built/$library" "$dir/$library"
	list cresset $library
	self "$library without a version" 6
	has "… reports it" "of unknown version" "$(check $library detail)"
	echo text >"$dir/$library"
	self "$library that is none" 6
	strip -o "$dir/$library" "$built/$library"
	list cresset $library
	self "$library without symbols" 0
	is "… has its version" "$(check $library detail)" "$version"
	rm "$dir/$library"
done
list cresset
self "no library" 0
has "… and what that costs" "no GPU time" "$(check libcresset-cuda.so detail)"
has "… and without the other one" "no allocations" "$(check libcresset-mem.so detail)"

# --- as packages have it
mkdir -p "$tmp/usr/bin" "$tmp/usr/lib/cresset" "$tmp/usr/share/man"
cp "$dir/cresset" "$tmp/usr/bin"
cp "$built/libcresset-cuda.so" "$tmp/usr/lib/cresset"
echo page >"$tmp/usr/share/man/cresset.1"
echo other >"$tmp/other"
cresset=$tmp/usr/bin/cresset
(cd "$tmp/usr/lib/cresset" && sha256sum ../../bin/cresset libcresset-cuda.so ../../share/man/cresset.1 >SHA256SUMS)
self "the list of a package" 0
is "… is below lib" "$(ask '"\(.checksums) \(.verified)"')" "$tmp/usr/lib/cresset/SHA256SUMS true"
(cd "$tmp/usr/lib/cresset" && sha256sum ../../../other >>SHA256SUMS)
self "a name that leads above its prefix" 6
is "… is not checked" "$(state ../../../other)" outside
rm "$tmp/usr/lib/cresset/SHA256SUMS"
mv "$tmp/usr/lib" "$tmp/usr/lib64"
: >"$tmp/usr/lib"
self "a file where the directory would be" 0

# --- what is loaded by name
# Libraries that are damaged, in place of those of this machine.
mkdir "$tmp/damaged"
for library in libmicrohttpd.so.12 libgnutls.so.30 libcurl-gnutls.so.4 libcurl.so.4; do echo damaged >"$tmp/damaged/$library"; done
for program in "$built/cresset" "$built/portable/cresset"; do
	name=${program#"$PWD/"}
	[ -x "$program" ] || { skip "$name" "it is not built"; continue; }
	cresset=$program
	LD_LIBRARY_PATH=$tmp/damaged "$program" doctor --self --json >"$tmp/json"
	status=$?
	if [ "$program" = "$built/cresset" ]; then
		is "$name needs libmicrohttpd" "$status $(check 'HTTP server' state)" "4 missing"
		has "… and reports the failures" "up and serve do not start" "$(check 'HTTP server' remedy)"
	else
		is "$name has it inside" "$status $(check 'HTTP server' state) $(check 'HTTP server' detail)" "0 ok inside this program"
	fi
	is "… no TLS" "$(check TLS state)" limited
	has "… which library" libgnutls.so.30 "$(check TLS detail)"
	has "… what that costs" --tls-cert "$(check TLS remedy)"
	is "… no HTTP client" "$(check 'HTTP client' state)" limited
	has "… what that costs" "debuginfod, agent and query --server do not work" "$(check 'HTTP client' remedy)"
	is "… and no distribution is named" "$(grep -ciE 'debian|fedora|apt|dnf|libgnutls30|libcurl3' "$tmp/json")" 0
done

# --- the command line
fails "--self and a process" 2 "either a process, --data or --self" doctor --self 1
fails "--self and --data" 2 "either a process, --data or --self" doctor --self --data "$tmp"
fails "a process and --data" 2 "either a process, --data or --self" doctor 1 --data "$tmp"
finish
