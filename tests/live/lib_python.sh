# shellcheck shell=bash disable=SC2034,SC2154 # variables of tests/live/lib.sh, and for those that read this
# tests/live/lib_python.sh: shared by tests of Python: which interpreters there are, and one full test of one of them.
#
#     . tests/live/lib.sh; . tests/live/lib_python.sh
#     interpreters          prints "VERSION BUILD PATH" of each, oldest first: of this Debian, of those that tests/live/lib_python_roots.sh
#                           has fetched (debian-SUITE), and of pyenv (shared)
#     look BUILD PATH [SHAPE…]   records tests/live/python/shapes.py on it, and compares
python_seconds=0.5
results=$BUILD/tap/python # a row for each interpreter; docs/languages.md has their ranges
mkdir -p "$results"

version_of() { "$@" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])' 2>/dev/null; }
interpreters() {
	local path version
	{
		for path in /usr/bin/python3.[0-9] /usr/bin/python3.[0-9][0-9]; do
			if [ -x "$path" ] && version=$(version_of "$path"); then echo "$version debian $path"; fi
		done
		for path in "$PWD/$BUILD"/python/*/usr/bin/python3.[0-9]*[0-9]; do
			if [ -x "$path" ] && version=$(version_of chroot "${path%/usr/bin/*}" "${path#"${path%/usr/bin/*}"}"); then
				echo "$version debian-$(basename "${path%/usr/bin/*}") $path"
			fi
		done
		for path in "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.*/bin/python3; do
			if [ -x "$path" ] && version=$(version_of "$path"); then echo "$version shared $path"; fi
		done
	} | sort -V
}
# Sets command to the command that runs shapes.py there, and to the place of its files: command_of BUILD PATH
command_of() {
	command=("$2" "$PWD/tests/live/python/shapes.py" --lib "$progs/python_ext") place=$tmp
	[[ $1 = debian-* ]] || return 0
	local root=${2%/usr/bin/*}
	place=$root/tmp
	cp tests/live/python/shapes.py "$progs/python_ext" "$place"
	command=(chroot "$root" "${2#"$root"}" /tmp/shapes.py --lib /tmp/python_ext)
}
# The part of a recording that check.py reads: rows_of RECORDING NAME
rows_of() {
	"$cresset" sql -q --format json --timeout 0 --data "$1" 'SELECT stack, depth, kind, function, file, line FROM frames ORDER BY stack, depth' >"$2.frames"
	"$cresset" sql -q --format json --timeout 0 --data "$1" 'SELECT stack, type, tid, time, value FROM samples' >"$2.samples"
}
# Compares a recording NAME.cresset with NAME.truth, [with faulthandler's output]: compare NAME VERSION WORDS [FAULTS]
compare() {
	local word what out=$1.out
	rows_of "$1.cresset" "$1"
	python3 tests/live/python/check.py "$2" "$1.truth" "$1.frames" "$1.samples" ${4:+"$4"} >"$out" 2>&1 || not_ok "$3: check.py" "$(tail -3 "$out")"
	while read -r word what; do
		case $word in
		ok) ok "$3: $what" ;;
		not) not_ok "$3: ${what#ok }" "$(awk -v w="not ok ${what#ok }" 'on && !/^#/ { exit } on { print substr($0, 1, 600) } $0 == w { on = 1 }' "$out")" ;;
		esac
	done <"$out"
	figures=$(sed -n 's/^| //p' "$out")
}
# Records shapes.py and sets figures: recorded NAME WORDS RECORD-OPTIONS -- ARG…, with command set
recorded() {
	local name=$1 words=$2 options=() rc=0
	shift 2
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	timeout 120 "$cresset" record -q "${options[@]}" -o "$name.cresset" -- "${command[@]}" "$@" >"$name.truth" 2>"$name.err" || rc=$?
	[ $rc = 0 ] && ok "$words: the recording" || not_ok "$words: the recording" "status $rc: $(tail -3 "$name.err")"
}
look() { # VERSION BUILD PATH [SHAPE…]
	local version=$1 build=$2 path=$3 name=$tmp/$1-$2 row
	shift 3
	command_of "$build" "$path"
	recorded "$name" "$version $build" -F 999 -e cpu,off-cpu,sched-wait -- --seconds $python_seconds "$@"
	compare "$name" "$version" "$version $build"
	row=$figures
	recorded "$name" "$version $build, beside faulthandler" -F 999 -- --seconds 3 --faults "${place#"${path%/usr/bin/*}"}/faults" shares
	compare "$name" "$version" "$version $build, beside faulthandler" "$place/faults"
	rm -f "$name".*
	echo "| $version | $build | ${row% |} | ${figures#*| *| *| *| *| }" >"$results/$version-$build"
}
