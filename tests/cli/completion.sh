#!/usr/bin/env bash
# tier: test
# cresset completion: what real shells offer.
. tests/cli/lib.sh

dir=$tmp/dir
mkdir "$dir" "$dir/folder"
: >"$dir/cpu.cresset"
: >"$dir/a.pb.gz"
: >"$dir/notes.md"
for shell in bash zsh fish; do
	ends "a script for $shell" 0 completion $shell
	cp "$tmp/out" "$tmp/$shell"
done
fails "another shell" 2 "did you mean 'zsh'?" completion zhs
fails "no shell" 2 "bash, zsh or fish is missing" completion

cat >"$tmp/bash.ask" <<'END'
cd "$1" && . "$2" || exit
COMP_WORDS=("${@:3}") COMP_CWORD=$(($# - 3))
_cresset
printf '%s\n' "${COMPREPLY[@]}"
END
# Bash hands words over cut at blanks and =.
ask_bash() { bash --norc "$tmp/bash.ask" "$dir" "$tmp/bash" "$@" 2>&1 | sort -u; }

cat >"$tmp/zsh.init" <<'END'
autoload -U compinit
compinit -u -D
zstyle ':completion:*' insert-tab false
bindkey '^I' complete-word
compadd() {
	if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then
		builtin compadd "$@"
		return
	fi
	local -a offered
	builtin compadd -O offered "$@"
	print -lr -- $'\n'offered:$^offered
	builtin compadd "$@"
}
comppostfuncs=(is_over)
is_over() { print OVER; exit; }
PROMPT=
END
cat >"$tmp/zsh.ask" <<'END'
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "cd $1; source $2.init; source $2; print READ''Y"
zpty -r shell text '*READY*'
zpty -n -w shell "$3"$'\t'
zpty -r shell text '*OVER*'
print -r -- "$text"
END
ask_zsh() { # the words as a line
	timeout 60 zsh -f "$tmp/zsh.ask" "$dir" "$tmp/zsh" "$*" 2>&1 | tr -d '\r' | sed -n 's/^offered://p' | sort -u
}
ask_fish() {
	(cd "$dir" && HOME=$tmp timeout 60 fish --no-config -c "source $tmp/fish; complete -C '$*'") | cut -f1 | sort -u
}

words() { tr '\n' ' ' | sed 's/ $//'; }
# The same questions for every shell: WANT is all that is offered, or, behind +, among it.
asks() { # SHELL ask
	local shell=$1
	if ! command -v "$shell" >/dev/null; then
		skip "completion in $shell" "no $shell here: ./quickstart test installs it"
		return
	fi
	offers "$shell: commands" "record report" re
	offers "$shell: commands that do not begin so" "" xyz
	offers "$shell: options" "--freq" record --fre
	offers "$shell: options for all" "--quiet" report --qu
	offers "$shell: no options of others" "" report --fre
	offers "$shell: words" "auto dwarf fp" record --unwind ''
	offers "$shell: … of an option for all" "always auto never" flame --color ''
	offers "$shell: formats to write" "folded" convert --to fo
	offers "$shell: formats to read" "cresset" convert --from cr
	offers "$shell: … not those only written" "" convert --from sv
	offers "$shell: an argument that only the user knows" "" report --top ''
	offers "$shell: files to read" "cpu.cresset" report cp
	offers "$shell: files to write" "notes.md" flame -o not
	offers "$shell: what has no files" "" doctor cp
	offers "$shell: help" "formats" help fo
	offers "$shell: shells" "bash fish zsh" completion ''
	offers "$shell: processes" "+1" record -p ''
}
offers() { # NAME WANT WORD…
	local name=$1 want=$2 got
	shift 2
	got=$("ask_$shell" cresset "$@" | words)
	case $want in
	+*) if [[ " $got " == *" ${want#+} "* ]]; then ok "$name"; else not_ok "$name" "${want#+} is not in: $got"; fi ;;
	*) is "$name" "$got" "$want" ;;
	esac
}
asks bash
asks zsh
asks fish

shell=bash
offers "bash: lists" "cpu,off-cpu" record -e cpu,o
offers "bash: --option=" "cpu,wall" record --event = cpu,w
offers "bash: an optional argument that is attached" "+k" record --annotate = ''
offers "bash: … and not" "" record --annotate ''
offers "bash: options in front of the command" "record" --color always rec
offers "bash: programs" "+sleep" record -- slee
offers "bash: … and their files" "a.pb.gz" record -- cat a
offers "bash: any file when none has an ending" "notes.md" report n
offers "bash: directories" "folder" record --cgroup f
if command -v fish >/dev/null; then
	shell=fish
	offers "fish: lists" "cpu,off-cpu" record -e cpu,o
	has "fish: describes options" "samples per second" "$(fish --no-config -c "source $tmp/fish; complete -C 'cresset record --fre'")"
fi
if command -v zsh >/dev/null; then
	shell=zsh
	offers "zsh: lists" "off-cpu" record -e cpu,o
fi
if command -v shellcheck >/dev/null; then
	is "shellcheck on bash's" "$(shellcheck -s bash "$tmp/bash")" ""
fi
finish
