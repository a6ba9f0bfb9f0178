#!/usr/bin/env bash
# tier: test
# cresset.yaml: what a file says counts less than what is typed and more than a default; what is wrong is said with file and line; the
# documented file has every key with its default; SIGHUP reads it again.
. tests/cli/lib.sh
. tests/cli/lib_serve.sh
conf=$tmp/cresset.yaml
says() { printf '%s\n' "$@" >"$conf"; } # LINE…

# --- mistakes
says 'retenton: 14d'
fails "an unknown key" 2 "$conf:1: unknown key 'retenton'" up --config "$conf"
has "… and the nearest key" "did you mean retention?" "$errs"
says '# one' '' 'tokens: x'
fails "a key of another command" 2 "$conf:3: unknown key 'tokens'" up --config "$conf"
has "… and its section" "a key of cresset serve" "$errs"
says 'freq: 19' 'retention: banana'
fails "no time" 2 "$conf:2: retention: 'banana' is not a time" up --config "$conf"
says 'freq: 5000'
fails "out of range" 2 "$conf:1: freq: '5000' is not between 1 and 1000" up --config "$conf"
fails "… also when something else was typed" 2 "$conf:1: freq: '5000'" up --config "$conf" --freq 20
says 'gpu: 0' 'gpu-budget: 200'
fails "more than all" 2 "$conf:2: gpu-budget: '200' is more than 100 percent" up --config "$conf"
says 'gpu: most'
fails "an unknown word" 2 "$conf:1: gpu: 'most' is not known" agent --config "$conf" --server https://prof.example
says 'events: [cpu, of-cpu]'
fails "an unknown word in a list" 2 "$conf:1: events: 'of-cpu' is not known" up --config "$conf"
says 'freq: [19]'
fails "a list in place of a number" 2 "$conf:1: freq has a single value" up --config "$conf"
says 'freq:'
fails "no value" 2 "$conf:1: freq has no value" up --config "$conf"
says 'insecure: yes'
fails "neither true nor false" 2 "$conf:1: insecure is true or false" serve --config "$conf"
says 'config: other.yaml'
fails "a file does not name another" 2 "unknown key 'config'" up --config "$conf"
says 'freq: 19' 'freq: 20'
fails "a key that comes twice" 2 "$conf:2: freq is repeated" up --config "$conf"
says 'a: &a [x, x]' 'b: &b [*a, *a]' 'c: [*b, *b]'
fails "a bomb of aliases" 2 "$conf:1: anchors (&), aliases (*)" up --config "$conf"
says '- freq'
fails "no mapping" 2 "$conf:1: expected 'key: value'" up --config "$conf"
printf 'data: a\0b\n' >"$conf"
fails "NUL" 2 "$conf:1: invalid YAML" up --config "$conf"
head -c 10000000 /dev/zero | tr '\0' '[' >"$conf"
fails "10 MB" 2 "is larger than" up --config "$conf"
fails "no file" 2 "cannot open $tmp/none" up --config "$tmp/none"
says 'relabel:' '- action: drop' '  source_labels: [comm]' '  regex: "("'
fails "a rule that is none" 2 "$conf:2: relabel: regex:" up --config "$conf"

# --- the documented file
"$cresset" help --config >"$tmp/documented.yaml"
holds "deploy/cresset.yaml is what cresset help --config prints" cmp -s "$tmp/documented.yaml" deploy/cresset.yaml

commands=$(sed -n 's/^# ----- cresset \([a-z]*\):.*/\1/p' deploy/cresset.yaml)
is "it has the commands that take it" "$commands" "$(for c in up agent serve; do "$cresset" help $c 2>/dev/null | grep -q -e --config && echo $c; done)"
for command in $commands; do
	sed -n "/^# ----- cresset $command:/,/^# ----- /p" deploy/cresset.yaml >"$tmp/part"
	sed -n 's/^#\([a-z-]*\): .*/\1/p' "$tmp/part" | sort >"$tmp/keys"
	"$cresset" help "$command" | sed '/^Common options/,$d' | grep -oE -- '^ *(-[a-zA-Z], )*--[a-z-]+' | sed 's/^.* //' | sed 's/^--//' | grep -vx config | sort >"$tmp/options"
	is "$command: every option is a key" "$(cat "$tmp/keys")" "$(cat "$tmp/options")"
	# In force, it says what the defaults are: nothing changes.
	grep -v 'by default none' "$tmp/part" | sed -n 's/^#\([a-z-]*:\)/\1/p; s/^#\(  [ -]\)/\1/p' >"$conf"
	ends "$command: the defaults are values" 0 "$command" --config "$conf" --help
done
ends "a file of comments only is valid" 0 up --config deploy/cresset.yaml --help

# --- what wins
says "data: $tmp/store" 'listen: 127.0.0.1:1' 'max-queries: 7' 'max-connections: 77'
serve --config "$conf" --max-queries 3
holds "the command line overrides the file" grep -q 'http://127.0.0.1:' "$tmp/url"
get healthz >/dev/null
is "… and it responds" "$(cat "$tmp/code")" 200
says "data: $tmp/store" 'listen: 127.0.0.1:1' 'max-queries: 9' 'max-connections: 78'
kill -HUP "$server"
for _ in $(seq 1200); do grep -q restart.to.apply "$tmp/serve.err" && break; sleep 0.05; done
has "SIGHUP reports the keys that need a restart" "max-connections has changed: restart to apply it" "$(cat "$tmp/serve.err")"
is "… not the command line" "$(grep max-queries "$tmp/serve.err")" ""
says 'max-conections: 3'
kill -HUP "$server"
for _ in $(seq 1200); do grep -q keeping "$tmp/serve.err" && break; sleep 0.05; done
has "a mistake changes nothing" "keeping the previous configuration: $conf:1: unknown key 'max-conections'" "$(cat "$tmp/serve.err")"
get healthz >/dev/null
is "… and it responds" "$(cat "$tmp/code")" 200
stop
is "… until it is stopped" "$status" 0
finish
