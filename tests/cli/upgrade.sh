#!/usr/bin/env bash
# tier: test
# A store and recordings that an earlier cresset wrote are read, word for word, and are gone on with; a store of a later one is refused, and
# left as it is. tests/golden/store-v1/make says how the store was made; docs/formats.md what is promised.
# shellcheck disable=SC2119 # stop takes a signal, or none
. tests/cli/lib.sh
. tests/cli/lib_serve.sh
command -v sqlite3 >/dev/null || { skip "stores of other versions" "no sqlite3"; finish; exit; }
range=(--from 2026-11-22T06:00:00Z --to 2026-11-22T08:00:00Z)
unpack() { # NAME
	rm -rf "${tmp:?}/$1"
	mkdir "$tmp/$1"
	tar xzf tests/golden/store-v1/store.tar.gz -C "$tmp/$1" --no-same-owner
	chmod o= "$tmp/$1"
}
folded() { "$cresset" query --data "$tmp/$1" "${range[@]}" "$2" -o - --format folded 2>"$tmp/err"; }
ask() { "$cresset" sql --data "$tmp/$1" --format csv "$2" 2>"$tmp/err" | tail -n +2 | tr -d '\r'; }
pushed() { ask "$1" "SELECT sum(value) FROM samples WHERE series IN (SELECT series FROM labels WHERE key = 'comm' AND value = '$2')"; }
host=$(printf 'main;work_%s 20\n' 0 1 2 late)
# The same by every way to ask, whoever opens it.
knows() { # STORE WHEN
	is "$2: its samples, also the batch that was on its way" "$(folded "$1" 'cpu{host="db7"}')" "$host"
	is "$2: what was pushed" "$(pushed "$1" pushed)" "7"
	is "$2: one function" "$(folded "$1" 'cpu{host="db7"}' | grep -c work_late)" 1
	is "$2: SQL" "$(ask "$1" "SELECT count(*), sum(value), max(time) FROM samples")" "82,87,1795330359000000020"
	is "$2: labels" "$(ask "$1" "SELECT DISTINCT key || '=' || value FROM labels ORDER BY 1" | tr '\n' ' ')" "comm=pushed cpu=3 host=db7 state=free "
	is "$2: metrics" "$("$cresset" query --data "$tmp/$1" "${range[@]}" 'memory.used{state="free"}' --range 1h --csv 2>&1 | tail -1 | cut -d, -f2- | tr -d '\r')" "$metric"
}
unpack old
metric=$("$cresset" query --data "$tmp/old" "${range[@]}" 'memory.used{state="free"}' --range 1h --csv 2>&1 | tail -1 | cut -d, -f2- | tr -d '\r')
has "a metric is there" "-5" "$metric"
knows old "only read"
ends "all of it is unchanged" 0 doctor --data "$tmp/old"
sums() { (cd "$tmp/$1" && find . -name '*.db' -exec sha256sum {} + | sort); }
unpack again
is "reading has changed no file" "$(sums old)" "$(sums again)"

# --- a server goes on with it
serve --data "$tmp/old" --retention 36500d
post "api/v1/profiles?type=cpu&label=comm=new" --data-binary 'main;new 9' >/dev/null
is "it takes more" "$(cat "$tmp/code")" 200
stop
is "it ends" "$status" 0
is "new data is there" "$(pushed old new)" 9
is "and earlier data" "$(folded old 'cpu{host="db7"}')" "$host"
ends "all of it is unchanged" 0 doctor --data "$tmp/old"

# --- a later one: refused, and as good as it was for who can read it
for file in meta.db inbox.db names.db; do
	unpack later
	version=$(sqlite3 "$tmp/later/$file" "PRAGMA user_version")
	sqlite3 "$tmp/later/$file" "PRAGMA user_version = 99"
	run_cresset serve --listen 127.0.0.1:0 --data "$tmp/later"
	has "$file of a later version is refused" "was written by a newer cresset (format version 99)" "$errs"
	run_cresset query --data "$tmp/later" "${range[@]}" 'cpu{}' -o - --format folded
	has "… also by who only reads" "was written by a newer cresset" "$errs"
	sqlite3 "$tmp/later/$file" "PRAGMA user_version = $version"
	is "… and has lost nothing" "$(folded later 'cpu{host="db7"}')" "$host"
done
unpack later
sqlite3 "$tmp/later/p/2026-11-22.db" "PRAGMA user_version = 99"
run_cresset query --data "$tmp/later" "${range[@]}" 'cpu{}'
has "a day of a later version is left out" "1 file of days cannot be read, and is left out: $tmp/later/p/2026-11-22.db: was written by a newer cresset (format version 99)" "$errs"

# --- days that are none of ours: the others answer, and it is said
foreign() { # SQL
	unpack foreign
	sqlite3 "$tmp/foreign/p/2023-11-14.db" "$1"
}
note() { curl -sS -m 20 -o "$tmp/body" -D "$tmp/head" -G --data-urlencode "q=$1" -d from=2023-11-01T00:00:00Z -d to=2026-11-23T00:00:00Z "${url}api/v1/$2"; sed -n 's/\r$//; s/^X-Cresset-Note: //Ip' "$tmp/head"; }
all='SELECT count(*), sum(value) FROM samples'
for what in "PRAGMA user_version = 99" \
	"PRAGMA writable_schema = 1; UPDATE sqlite_schema SET sql = replace(sql, 'data BLOB)', 'data BLOB, extra INT)') WHERE name = 'dict'" \
	"CREATE TABLE more(x)" "DROP TABLE state"; do
	foreign "$what"
	is "$what: SQL" "$(ask foreign "$all")" "82,87"
	has "… reports it" "1 file of days cannot be read, and is left out" "$(cat "$tmp/err")"
	serve --data "$tmp/foreign" --retention 36500d
	for path in flame range top; do
		said=$(note 'memory.used{}' "$path")
		[ "$path" = range ] || said=$(note 'cpu{}' "$path")
		has "… $path: $(head -1 "$tmp/head" | tr -d '\r')" " 200 " "$(head -1 "$tmp/head")"
		has "… with a note" "1 file of days cannot be read, and is left out" "$said"
	done
	post "api/v1/profiles?type=cpu&label=comm=new" --data-binary 'main;new 9' >/dev/null
	is "… new data is accepted" "$(cat "$tmp/code")" 200
	is "… the status counts it" "$(get api/v1/status | jq .kept.left_out_files)" 1
	for _ in $(seq 1200); do
		grep -q "unreadable, skipped by queries" "$tmp/serve.err" && break
		sleep 0.05
	done
	has "… the log names it" "p/2023-11-14.db: unreadable, skipped by queries" "$(cat "$tmp/serve.err")"
	hasnt "… maintenance continues" "maintenance fails" "$(cat "$tmp/serve.err")"
	stop
done

# --- of before the first version: brought up to date by who writes; what cannot be taken over is said, and left as it is
before() { # FILE
	rm -rf "${tmp:?}/before"
	mkdir "$tmp/before"
	tar xzf "tests/golden/store-v0/$1.tar.gz" -C "$tmp/before" --no-same-owner
	chmod o= "$tmp/before"
}
before store
run_cresset query --data "$tmp/before" "${range[@]}" 'samples{}' -o - --format folded
has "a store of before the first version is not read only" "inbox.db: made by an older cresset, format 1" "$errs"
has "… with a remedy in the log" "open it once with write access" "$errs"
serve --data "$tmp/before" --retention 36500d
post "api/v1/profiles?type=cpu&label=comm=new" --data-binary 'main;new 9' >/dev/null
is "… a server continues with it" "$(cat "$tmp/code")" 200
stop
is "… its earlier data is there" "$(folded before 'samples{}')" "$(printf 'main;a;b 3\nmain;c 4')"
is "… and new data" "$(pushed before new)" 9
before waiting
run_cresset serve --listen 127.0.0.1:0 --data "$tmp/before"
has "batches of that version are not thrown away" "made by an older cresset, format 1, with pending batches: 1" "$errs"
has "… with a remedy" "start and stop the cresset that made it" "$errs"
is "… and they are still there" "$(sqlite3 "$tmp/before/inbox.db" "SELECT (SELECT count(*) FROM batch), user_version FROM pragma_user_version")" "1|1"

# --- today's files are those of the newest store above: one that changes needs a store of its own here
forms() { # STORE: of each kind, its number, version and tables
	find "$tmp/$1" -name '*.db' | while read -r file; do
		sqlite3 "$file" "PRAGMA application_id; PRAGMA user_version; SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY 1" | tr '\n' ' '
		echo
	done | sort -u
}
unpack again
serve --data "$tmp/today" --retention 36500d
post "api/v1/profiles?type=cpu" --data-binary 'main;it 9' >/dev/null
stop
is "a new store has the same six kinds of files" "$(forms today)" "$(forms again)"

# --- recordings
for recording in tests/golden/recording/*.cresset; do
	want=tests/golden/recording/expected/$(basename "$recording" .cresset).folded
	is "$recording" "$("$cresset" convert "$recording" -o - --format folded 2>/dev/null)" "$(cat "$want")"
done
finish
