#!/usr/bin/env bash
# tier: live
# run: alone
# Python as it was written: the stacks of programs of known structure (tests/live/python/shapes.py), with names and lines, in their place among the
# native frames, on this Debian's Python, on the newest available, and on an old one. All available ones: tests/soak/python.sh, and here with
# CRESSET_PYTHONS=all.
. tests/live/lib.sh
. tests/live/lib_python.sh
needs_recording

interpreters >"$tmp/interpreters"
[ -s "$tmp/interpreters" ] || { echo "1..0 # SKIP no Python"; exit 0; }
if [ "${CRESSET_PYTHONS-}" = all ]; then
	cp "$tmp/interpreters" "$tmp/chosen"
else # this Debian's, the newest, and the oldest shared one
	{
		grep ' debian ' "$tmp/interpreters"
		tail -1 "$tmp/interpreters"
		grep ' shared ' "$tmp/interpreters" | awk '$1 !~ /^3\.6\./' | head -1
	} | sort -Vu >"$tmp/chosen"
fi
while read -r -u 3 version build path; do look "$version" "$build" "$path"; done 3<"$tmp/chosen"
finish
