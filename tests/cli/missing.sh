#!/usr/bin/env bash
# tier: test
# What hosts do not record, as their metric cresset_missing says: GET /api/v1/status has it for five minutes.
. tests/cli/lib.sh
. tests/cli/lib_serve.sh

# A message of OTLP metrics: one point for each HOST FEATURE AGE-S, and another metric beside it.
message() {
	python3 - "$@" <<-'EOF'
		import struct, sys, time
		def field(n, b): return bytes([n << 3 | 2]) + size(len(b)) + b
		def size(n): return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + size(n >> 7)
		def attribute(n, k, v): return field(n, field(1, k.encode()) + field(2, field(1, v.encode())))
		def point(age_s, *labels):
		    at = time.time_ns() - int(float(age_s) * 1e9)
		    return field(1, b"".join(attribute(7, k, v) for k, v in labels) + b"\x19" + struct.pack("<Q", at) + b"\x21" + struct.pack("<d", 4096))
		def metric(name, points): return field(2, field(1, name.encode()) + field(3, b"{feature}") + field(5, points))
		args = sys.argv[1:]
		points = b"".join(point(age, ("host", host), ("feature", feature), ("why", "the kernel of %s has no %s" % (host, feature)))
		    for host, feature, age in zip(args[0::3], args[1::3], args[2::3]))
		sys.stdout.buffer.write(field(1, field(2, metric("cresset_missing", points) + metric("other", point(1, ("host", "db"))) +
		    metric("cresset_kernel_memory", point(2, ("host", "db"), ("kind", "maps")) + point(2, ("host", "db"), ("kind", "rings"))) +
		    metric("cresset_truncated", point(2, ("host", "db"), ("reason", "stack not sent"))))))
	EOF
}
missing() { get api/v1/status | jq -c .missing; }
send() {
	message "$@" >"$tmp/message"
	post v1/metrics -H 'Content-Type: application/x-protobuf' --data-binary "@$tmp/message" >/dev/null
	cat "$tmp/code"
}

serve --data "$tmp/store"
is "nothing is known of a new store" "$(missing)" '[]'
is "hosts report their missing features" "$(send db waits 1 web waits 2 web Python 2)" 200
is "it is there, by host and feature" "$(missing)" '[{"host":"db","feature":"waits","why":"the kernel of db has no waits"},{"host":"web","feature":"Python","why":"the kernel of web has no Python"},{"host":"web","feature":"waits","why":"the kernel of web has no waits"}]'
is "so is what their collectors have of the kernel's memory" "$(get api/v1/status | jq -c .kernel_memory)" '[{"host":"db","kind":"maps","bytes":4096},{"host":"db","kind":"rings","bytes":4096}]'
is "so are stacks that end early, by reason" "$(get api/v1/status | jq -c .truncated)" '[{"host":"db","reason":"stack not sent","samples":4096}]'
stop
serve --data "$tmp/other"
is "one that was mended ten minutes ago …" "$(send old waits 600)" 200
is "… is there no more" "$(missing)" '[]'
stop
serve tests/golden/folded/recursion.txt
is "a file has no missing features" "$(missing)" '[]'
is "… and no stacks that end early" "$(get api/v1/status | jq -c .truncated)" '[]'
is "… and nothing of the kernel's memory" "$(get api/v1/status | jq -c .kernel_memory)" '[]'
finish
