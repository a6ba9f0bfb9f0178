# shellcheck shell=bash
# tests/kernels/lib.sh: what scripts share that run parts of this project in machines of tools/kernels. From the project's root:
#
#     packages_for features|live|build     sets packages to the names of Debian packages
#     stage DIR FILE...                    copies the sources, and files and directories of the build, to DIR
#     stage_features DIR                   … with what features.sh and build/unit/t_bpf need
#     stage_all DIR                        … with the whole build, so that make has nothing to do
BUILD=${BUILD:-build}

# shellcheck disable=SC2034 # used by the scripts that read this file
packages_for() {
	if [ "$1" = build ]; then
		packages=$(sed -n "/^build_needs='/,/^'/ s/ *|.*//p" quickstart | paste -sd ' ')
	else
		packages=$(awk -F'|' -v want="$1" '/^#/ { next } { gsub(/ /, "", $1) } $1 == want || (want == "live" && $1 == "features") { print $2 }' tests/kernels/packages |
			paste -sd ' ')
	fi
}
# The files that git has or would add, as they are now, and what is named of the build directory.
stage() {
	local to=$1 file
	shift
	mkdir -p "$to/$BUILD"
	git ls-files -co --exclude-standard -z -- ':!docs' ':!bench' ':!web' ':!tests/fuzz/corpus' | cpio --quiet -0pdm "$to" 2>/dev/null
	for file; do [ ! -e "$BUILD/$file" ] || cp -a "$BUILD/$file" "$to/$BUILD/"; done
}
stage_features() {
	stage "$1" cresset libcresset-cuda.so libcresset-mem.so live doubles
	mkdir -p "$1/$BUILD/unit"
	cp -a "$BUILD"/unit/t_bpf "$BUILD"/unit/bpf-* "$1/$BUILD/unit/"
}
stage_all() {
	mkdir -p "$1"
	git ls-files -co --exclude-standard -z | cpio --quiet -0pdm "$1" 2>/dev/null
	mkdir -p "$1/$BUILD"
	find "$BUILD" -mindepth 1 -maxdepth 1 ! -name kernels ! -name unit ! -name tap ! -name soak ! -name fixture -exec cp -a -t "$1/$BUILD" {} +
}
