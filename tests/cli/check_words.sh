#!/usr/bin/env bash
# tier: test
# tools/check-words finds odd expressions in every kind of text and subjects of the wrong form, and a count may only fall.
. tests/cli/lib.sh

root=$PWD dir=$tmp/tree
mkdir -p "$dir"/{src/base,web,docs,deploy,tests/unit,tools}
cp tools/check-words tools/words "$dir/tools"
words() { "$dir/tools/check-words" "$@" 2>&1; }
finds() { # NAME FILE LINES WANT: what the check lists for a file with these lines
	printf '%b' "$3" >"$dir/$2"
	is "$1" "$(words "$2" | cut -d: -f1-4)" "$4"
	rm "$dir/$2"
}

finds "a header comment" src/base/x.h '\n/* Likewise. */\n' 'src/base/x.h:2: header: "Likewise"'
finds "a comment of a .c file" src/base/x.c 'int x; // nobody\n' 'src/base/x.c:1: comment: "nobody"'
finds "an expression over two lines" src/base/x.c '/* It goes\n * on here. */\n' 'src/base/x.c:1: comment: "goes on"'
finds "a string" src/base/x.c 'f("the folder is read");\n' 'src/base/x.c:1: string: "folder"'
finds "a string in pieces" src/base/x.c 'f("the file is"\n  " to be read");\n' 'src/base/x.c:1: string: "is to be"'
finds "no word of code" src/base/x.c 'int packed = room;\nchar folder[] = "folder";\n' ''
finds "a label of the page" web/x.js "text('nothing at hand'); // anew\n" $'web/x.js:1: page: "at hand"\nweb/x.js:1: script: "anew"'
finds "a document" docs/x.md 'A file\nbeside it.\n' 'docs/x.md:2: docs: "beside"'
finds "no code of a document" docs/x.md '`folder`\n```\nbeside\n```\n' ''
finds "configuration" deploy/x.yaml '# The news.\na: 1\n' 'deploy/x.yaml:1: config: "news"'
finds "the name of a test in C" tests/unit/x.c 'START_TEST(nobody_reads)\n' 'tests/unit/x.c:1: test: "nobody"'
finds "the name of a test in shell" tests/x.sh 'is "it is kept" a b\n' 'tests/x.sh:1: test: "kept"'
finds "the name of a test of the page" tests/x.js "test('reads anew', () => {\n" 'tests/x.js:1: test: "anew"'
finds "a marked exception" src/base/x.c '/* words-ok: folder */\nf("the folder is read");\n' ''
finds "the mark of another expression" src/base/x.c '/* words-ok: anew */\nf("the folder is read");\n' 'src/base/x.c:2: string: "folder"'
is "the plain form is next to it" "$(echo 'The news.' >"$dir/docs/y.md"; words docs/y.md)" 'docs/y.md:1: docs: "news": event, update, change, new data'

is "a count without a limit" "$(words; echo $?)" $'docs: 1 odd expressions in docs texts, 0 allowed: tools/check-words docs/* lists them\n1'
words --write
is "… is written" "$(tail -n 1 "$dir/tools/words.counts")" "docs docs 1"
is "… and holds" "$(words; echo $?)" 0
echo 'The news.' >>"$dir/docs/y.md"
is "a count that rises" "$(words; echo $?)" $'docs: 2 odd expressions in docs texts, 1 allowed: tools/check-words docs/* lists them\n1'
words --write
is "… is not written" "$(tail -n 1 "$dir/tools/words.counts")" "docs docs 1"
words --write --raise
is "… unless requested" "$(tail -n 1 "$dir/tools/words.counts")" "docs docs 2"
echo 'A file.' >"$dir/docs/y.md"
words --write
is "a count that falls is written" "$(grep -c docs/ "$dir/tools/words.counts")" 0
echo 'Ten plain words and the news are in this file.' >"$dir/docs/y.md"
is "the density" "$(words --count | awk '$1 == "docs" { print $2, $3, $4; exit }')" "1 10 100.0"

subject() { "$root/tools/check-words" --subject "$1"; }
for good in "store: delete blocks that no series uses" "collect/gpu: read the ring once per tick" "tests, docs: add a case" "Merge branch 'x'" 'Revert "store: x"'; do
	is "a subject: $good" "$(subject "$good")" ""
done
has "a subject without an area" 'expected "area: verb object"' "$(subject "fix the reader")"
has "a subject without a verb" '"a" is not an imperative' "$(subject "store: a new reader")"
has "a subject in the past" '"fixed" is not an imperative' "$(subject "store: fixed the reader")"
has "an odd subject" '"at hand": write it plainly' "$(subject "store: read data at hand")"
has "a long subject" "73 columns, at most 72" "$(subject "store: read $(printf '%061d' 0)")"
is "72 columns" "$(subject "store: read $(printf '%060d' 0)")" ""

git init -q "$dir" && cd "$dir" && git config user.name t && git config user.email t@t
mkdir tools/hooks && cp "$root/tools/hooks/commit-msg" tools/hooks && git config core.hooksPath tools/hooks && git add tools
has "the hook refuses a commit" '"stuff" is not an imperative' "$(git commit -m "tools: stuff" 2>&1)"
is "… and takes a good one" "$(git commit -qm "tools: add the check" 2>&1; git log --format=%s)" "tools: add the check"
cd "$root" || exit 1

GIT_COMMITTER_DATE=2020-01-01T00:00:00Z git -C "$dir" commit -q --no-verify --allow-empty --date 2020-01-01T00:00:00Z -m "more stuff"
has "subjects of a range" "more stuff" "$("$dir/tools/check-words" --subjects HEAD~1..HEAD)"
has "subjects of new commits" "more stuff" "$(cd "$dir" && GIT_COMMITTER_DATE=2099-01-01T00:00:00Z git commit -q --no-verify --allow-empty --date 2099-01-01T00:00:00Z -m "more stuff" && tools/check-words --subjects)"
is "… not of earlier ones" "$("$dir/tools/check-words" --subjects | wc -l)" 1
if git rev-parse -q --verify HEAD >/dev/null 2>&1; then
	is "subjects of this tree's new commits" "$(tools/check-words --subjects 2>&1)" ""
else
	skip "subjects of this tree's new commits" "not in its repository"
fi
is "the texts of this tree" "$(tools/check-words 2>&1)" ""
finish
