# Folded stacks as stackcollapse-perf.pl spells names, added up again. It is run on what we write and on its
# own answers, which differ from ours in spelling only:
#
# - It drops the arguments of functions and quotes; we keep them, they tell overloads apart.
# - It drops the L in front of a Java class.
# - A frame without a name is called after its file there, "[dd]", "[perf-10939.map]"; here it is "[unknown]" and the file
#   is its binary.
{
	value = $NF
	sub(/ [0-9]+$/, "")
	n = split($0, frames, ";")
	stack = frames[1]
	for (i = 2; i <= n; i++) {
		name = frames[i]
		suffix = ""
		if (match(name, /_\[[a-z]\]$/)) {
			suffix = substr(name, RSTART)
			name = substr(name, 1, RSTART - 1)
		}
		if (name ~ /^\[[^\]]*\]$/)
			name = "[unknown]"
		if (name !~ /\.\(.*\)\./)
			sub(/\(.*/, "", name)
		gsub(/["']/, "", name)
		if (frames[1] ~ /^java/ && name ~ /\//)
			sub(/^L/, "", name)
		stack = stack ";" name suffix
	}
	sum[stack] += value
}
END {
	for (stack in sum)
		print stack, sum[stack]
}
