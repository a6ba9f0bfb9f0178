#include "format/trace_counters.h"

#include "profile/sink.h"
#include "profile/sum.h"

#include <string.h>

static int put_counter(const struct format_counter *c, uint32_t pid, int64_t start_wall_ns,
		       struct trace_put *put, struct err *err)
{
	const struct trace_track track = { pid, SAMPLE_NO_ID };
	struct json *j = &put->json;
	size_t i = 0;
	int rc = 0;
	while (i + 1 < c->points.n && c->points.v[i + 1].time_ns <= start_wall_ns)
		i++;
	for (; rc == 0 && i < c->points.n; i++) {
		int64_t at_ns = sum_sub(c->points.v[i].time_ns, start_wall_ns);
		at_ns = at_ns > 0 ? at_ns : 0;
		trace_put_begin(put, "C", track);
		json_key_str(j, "name", c->name);
		trace_put_time(put, "ts", at_ns);
		json_key(j, "args");
		json_obj(j);
		json_key_num(j, "value", c->points.v[i].value);
		json_end(j);
		json_end(j);
		rc = trace_put_flush(put, TRACE_FLUSH_BYTES, err);
	}
	return rc;
}

int trace_counters_put(const struct format_counters *c, int64_t start_wall_ns,
		       struct trace_put *put, struct err *err)
{
	uint32_t pid = TRACE_COUNTERS_PID;
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < c->all.n; i++) {
		const struct format_counter *counter = &c->all.v[i];
		struct trace_track track = { pid, SAMPLE_NO_ID };
		if (i == 0 || strcmp(counter[-1].track, counter->track) != 0) {
			track.pid = pid += i > 0;
			trace_put_name(put, track, "process_name", counter->track);
			trace_put_order(put, track, "process_sort_index",
					-500000 + (int64_t)(pid - TRACE_COUNTERS_PID));
		}
		rc = put_counter(counter, pid, start_wall_ns, put, err);
	}
	return rc;
}
