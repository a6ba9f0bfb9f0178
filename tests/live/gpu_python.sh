#!/usr/bin/env bash
# tier: live
# run: alone
# Launches of a program in Python: its own functions are above the runtime's call, and have the launches that they made.
. tests/live/lib.sh
. tests/live/lib_python.sh
needs_recording
export LD_LIBRARY_PATH=$PWD/$BUILD/doubles CRESSET_DOUBLE=$tmp/double
printf 'kernel * ns 1000\n' >"$CRESSET_DOUBLE"
while read -r version _ python; do
	case $version in 3.[6-9].* | 3.10.*) continue ;; esac
	"$python" -c 'import ctypes' 2>/dev/null || continue
	timeout "$most_s" "$cresset" record --no-progress -e gpu-launch -o "$tmp/py.cresset" -- "$python" tests/live/gpu_train.py 600 2>"$tmp/err"
	is "$version: it runs" $? 0
	for function in train:600 infer:300; do
		is "$version: launches of ${function%:*}()" \
			"$(folded "$tmp/py.cresset" gpu-launch | awk -v f="${function%:*}" '$0 ~ ";main;" f ";step;.*;cudaLaunchKernel " { n += $NF } END { print n + 0 }')" "${function#*:}"
	done
done < <(interpreters)
[ "$t_count" -gt 0 ] || skip "Python" "no interpreter from 3.11 on with ctypes is here"
finish
