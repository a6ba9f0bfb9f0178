#!/usr/bin/env bash
# tier: test
# Where programs begin and end all the time, the inside of exec and exit is no loss, and the time of BPF programs is told.
. tests/live/lib.sh
needs_recording

begin "$tmp/out.folded" -a -v -F 997
for _ in $(seq 300); do /bin/true; done
end

cut=$(folded_sum ";\[truncated: [^;]*;.*(exit_mmap|elf_load|setup_arg_pages|map_vdso)" <"$tmp/out.folded")
holds "samples in exec are marked as such" test "$(folded_sum ';\[exec\];' <"$tmp/out.folded")" -ge 5
holds "… and in exit" test "$(folded_sum ';\[exit\];' <"$tmp/out.folded")" -ge 5
is "… and none of them is truncated" "$cut" 0
holds "the time of BPF programs is told" grep -Eq 'self .* while recording, and [0-9.]+ % in BPF programs' "$tmp/begin.err"
finish
