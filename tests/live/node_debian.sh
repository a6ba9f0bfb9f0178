#!/usr/bin/env bash
# tier: live
# Functions of Node by Debian, with V8 in a stripped library, at its defaults and interpreted. Runs in the roots that tests/live/lib_python_roots.sh fetches.
. tests/live/lib.sh
. tests/live/lib_shapes.sh
. tests/live/lib_node.sh
needs_recording
for suite in bookworm trixie sid; do
	if ! node=$(debian_node "$suite"); then
		skip "Node of $suite" "tests/live/lib_python_roots.sh fetches it"
		continue
	fi
	look "Node of $suite"
	whole_stacks "Node of $suite"
	shares "Node of $suite"
	waits "Node of $suite"
	look "Node of $suite, interpreted" --no-opt --no-sparkplug
	whole_stacks "Node of $suite, interpreted"
done
finish
