/* Writes events, with numbers in microseconds. */
#include "format/trace/trace_gpu.h"

#include "base/buf.h"
#include "base/fs.h"
#include "profile/sink.h"

void trace_put_init(struct trace_put *put, struct out *out)
{
	*put = (struct trace_put){ .out = out };
	put->json = json_to(&put->text);
}

void trace_put_done(struct trace_put *put)
{
	buf_done(&put->text);
}

void trace_put_begin(struct trace_put *put, const char *phase, struct trace_track track)
{
	json_obj(&put->json);
	json_key_str(&put->json, "ph", phase);
	if (track.pid != SAMPLE_NO_ID)
		json_key_u64(&put->json, "pid", track.pid);
	if (track.tid != SAMPLE_NO_ID)
		json_key_u64(&put->json, "tid", track.tid);
	else if (track.name && *track.name)
		json_key_str(&put->json, "tid", track.name);
}

void trace_put_time(struct trace_put *put, const char *key, int64_t ns)
{
	json_key_num(&put->json, key, (double)ns / 1e3);
}

static void begin_meta(struct trace_put *put, struct trace_track track, const char *what)
{
	trace_put_begin(put, "M", track);
	json_key_str(&put->json, "name", what);
	json_key(&put->json, "args");
	json_obj(&put->json);
}

static void end_meta(struct trace_put *put)
{
	json_end(&put->json);
	json_end(&put->json);
}

void trace_put_name(struct trace_put *put, struct trace_track track, const char *what,
		    const char *name)
{
	if (!*name)
		return;
	begin_meta(put, track, what);
	json_key_str(&put->json, "name", name);
	end_meta(put);
}

void trace_put_order(struct trace_put *put, struct trace_track track, const char *what, int64_t n)
{
	begin_meta(put, track, what);
	json_key_i64(&put->json, "sort_index", n);
	end_meta(put);
}

int trace_put_flush(struct trace_put *put, size_t keep, struct err *err)
{
	if (put->text.len <= keep)
		return 0;
	int rc = out_write(put->out, put->text.data, put->text.len, err);
	buf_clear(&put->text);
	return rc;
}
