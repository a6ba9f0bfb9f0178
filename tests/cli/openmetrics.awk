# tests/cli/openmetrics.awk: whether standard input is OpenMetrics text 1.0, read strictly
# (https://prometheus.io/docs/specs/om/open_metrics_spec/): one line "LINE: what is wrong" for each fault, status 1 when there are any.
#
# Of the types: counter, gauge, info, histogram.
function fault(what) {
	printf "%d: %s: %s\n", NR, what, $0
	faults++
}
# The rest of a label's value or of a help text must have no escapes but these.
function bad_escape(text) {
	gsub(/\\[\\n"]/, "", text)
	return text ~ /\\/
}
# Takes {name="value",…} from the front of rest into label[], and sets key to what tells series apart. False: it is none.
function take_labels(    name, value) {
	split("", label)
	if (rest !~ /^\{/) return 1
	rest = substr(rest, 2)
	while (match(rest, /^[a-zA-Z_][a-zA-Z0-9_]*="/)) {
		name = substr(rest, 1, RLENGTH - 2)
		rest = substr(rest, RLENGTH + 1)
		if (!match(rest, /^([^"\\]|\\.)*"/)) return 0
		value = substr(rest, 1, RLENGTH - 1)
		rest = substr(rest, RLENGTH + 1)
		if (name in label || bad_escape(value)) return 0
		label[name] = value
		key = key "\034" name "=" value
		if (rest ~ /^\}/) break
		if (rest !~ /^,[a-zA-Z_]/) return 0
		rest = substr(rest, 2)
	}
	if (rest !~ /^\}/) return 0
	rest = substr(rest, 2)
	return 1
}
function end_family() {
	if (type == "histogram" && has_buckets && (last_le != "+Inf" || counted != last_count))
		fault("the histogram before has no +Inf, or another count")
	has_buckets = 0
}
function bucket(value) {
	if (!("le" in label)) fault("a bucket without le")
	if (has_buckets && label["le"] != "+Inf" && label["le"] + 0 <= last_le + 0) fault("le does not grow")
	if (has_buckets && (last_le == "+Inf" || value + 0 < last_count + 0)) fault("buckets are not cumulative")
	has_buckets = 1
	last_le = label["le"]
	last_count = value
}
function sample(    name, suffix, value) {
	rest = $0
	match(rest, /^[a-zA-Z_:][a-zA-Z0-9_:]*/)
	name = key = substr(rest, 1, RLENGTH)
	rest = substr(rest, RLENGTH + 1)
	if (!take_labels()) { fault("labels"); return }
	if (rest !~ /^ (NaN|[+-]?Inf|[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?)$/) { fault("value"); return }
	value = substr(rest, 2)
	if (family == "" || index(name, family) != 1) { fault("not of the family before"); return }
	suffix = substr(name, length(family) + 1)
	if (key in series) fault("the same series twice")
	series[key] = 1
	if (type == "gauge" && suffix != "") fault("name of a gauge")
	if (type == "counter" && suffix != "_total") fault("a counter ends in _total")
	if (type == "counter" && value !~ /^[0-9]/) fault("a counter is a number from 0")
	if (type == "info" && (suffix != "_info" || value != 1)) fault("an info ends in _info and is 1")
	if (type == "histogram" && suffix == "_bucket") bucket(value)
	else if (type == "histogram" && suffix == "_count") counted = value
	else if (type == "histogram" && suffix != "_sum") fault("name of a histogram")
	has_samples = 1
}
ended { fault("after the end") }
/^# EOF$/ { end_family(); ended = 1; next }
/^# TYPE / {
	end_family()
	if (NF != 4 || $3 !~ /^[a-zA-Z_:][a-zA-Z0-9_:]*$/ || $4 !~ /^(counter|gauge|info|histogram)$/) fault("type")
	if ($3 in families) fault("a family twice")
	if ($3 ~ /_(total|bucket|count|sum|info)$/) fault("a name that is a suffix")
	families[$3] = 1
	family = $3
	type = $4
	has_samples = has_unit = has_help = 0
	next
}
/^# UNIT / {
	if ($3 != family || has_samples || has_unit++) fault("a unit out of place")
	if (NF != 4 || $3 !~ "_" $4 "$") fault("the name does not end in the unit")
	next
}
/^# HELP / {
	if ($3 != family || has_samples || has_help++) fault("a help out of place")
	if (bad_escape($0)) fault("escape")
	next
}
/^[a-zA-Z_:]/ { sample(); next }
{ fault("no line of OpenMetrics") }
END {
	if (!ended) fault("no # EOF")
	exit faults > 0
}
