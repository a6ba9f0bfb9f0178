/* Parses the script, and plays its statements by time. */
#include "gpu/device/scripted.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/parse.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LINE_BYTES = 1024, HANG_MAX_S = 3600 };

/* --- a line ----------------------------------------------------------------------------------- */

/* Returns the next word, "" at the end. */
static char *word(char **at)
{
	*at += strspn(*at, " \t");
	char *start = *at;
	*at += strcspn(start, " \t");
	if (**at)
		*(*at)++ = '\0';
	return start;
}

static bool read_u64(char **at, uint64_t max, uint64_t *out)
{
	return parse_u64(word(at), out) == 0 && *out <= max;
}

static bool read_values(char **at, struct gpu_script_values *out)
{
	char *p = word(at);

	for (out->n = 0; out->n < GPU_SCRIPT_VALUES; p++) {
		char *end;
		double v = strtod(p, &end);
		if (end == p || !isfinite(v))
			return false;
		out->v[out->n++] = v;
		p = end;
		if (*p != ',')
			return !*p;
	}
	return false;
}

static bool read_device(char **at, const struct gpu_script *s, uint32_t *out)
{
	const char *label = word(at);

	for (size_t i = 0; i < s->machine.devices.n; i++)
		if (strcmp(s->machine.devices.v[i].label, label) == 0) {
			*out = (uint32_t)i;
			return true;
		}
	return false;
}

static bool add_driver(char *rest, struct gpu_script *s)
{
	gpu_text(s->machine.driver, rest, GPU_TEXT);
	return true;
}

static bool add_device(char *rest, struct gpu_script *s)
{
	struct gpu_device d = { .index = (uint32_t)s->machine.devices.n };
	const char *label = word(&rest), *uuid = word(&rest);
	uint64_t memory;

	if (!*label || strlen(label) >= sizeof d.label || s->machine.devices.n == GPU_MAX_DEVICES ||
	    !read_u64(&rest, UINT64_MAX, &memory))
		return false;
	snprintf(d.label, sizeof d.label, "%s", label);
	d.is_instance = strchr(label, ':') != NULL;
	d.memory_bytes = memory;
	gpu_text(d.uuid, uuid, GPU_TEXT);
	gpu_text(d.name, rest, GPU_TEXT);
	vec_push(&s->machine.devices, d);
	return true;
}

static bool add_metric(char *rest, struct gpu_script *s)
{
	struct gpu_script_metric m;

	if (!read_device(&rest, s, &m.device))
		return false;
	char *name = word(&rest), *value = strchr(name, ':');
	if (value)
		*value++ = '\0';
	int metric = gpu_metric_find(name, value ? value : "");
	if (metric < 0 || !read_values(&rest, &m.values))
		return false;
	m.metric = (enum gpu_metric)metric;
	vec_push(&s->metrics, m);
	return true;
}

static bool add_process(char *rest, struct gpu_script *s)
{
	struct gpu_script_process p;
	uint64_t pid;

	if (!read_device(&rest, s, &p.device) || !read_u64(&rest, INT32_MAX, &pid) ||
	    !read_u64(&rest, UINT64_MAX, &p.memory_bytes) || !read_values(&rest, &p.values))
		return false;
	p.pid = (uint32_t)pid;
	vec_push(&s->processes, p);
	return true;
}

static bool add_lost(char *rest, struct gpu_script *s)
{
	struct gpu_script_event e = { 0 };
	uint64_t reading;

	if (!read_device(&rest, s, &e.device) || !read_u64(&rest, UINT32_MAX, &reading))
		return false;
	e.reading = (uint32_t)reading;
	vec_push(&s->lost, e);
	return true;
}

static bool add_hang(char *rest, struct gpu_script *s)
{
	struct gpu_script_event e = { 0 };
	struct gpu_script_values seconds;
	uint64_t reading;

	if (!read_u64(&rest, UINT32_MAX, &reading) || !read_values(&rest, &seconds) ||
	    seconds.v[0] < 0 || seconds.v[0] > HANG_MAX_S)
		return false;
	e.reading = (uint32_t)reading;
	e.seconds = seconds.v[0];
	vec_push(&s->hangs, e);
	return true;
}

static bool add_line(char *line, struct gpu_script *s)
{
	static const struct {
		const char *word;
		bool (*add)(char *rest, struct gpu_script *s);
	} statements[] = {
		{ "driver", add_driver },   { "device", add_device }, { "metric", add_metric },
		{ "process", add_process }, { "lost", add_lost },     { "hang", add_hang },
	};
	const char *first = word(&line);

	if (!*first || *first == '#')
		return true;
	for (size_t i = 0; i < sizeof statements / sizeof *statements; i++)
		if (strcmp(statements[i].word, first) == 0)
			return statements[i].add(line, s);
	return false;
}

int gpu_script_parse(const char *text, size_t len, struct gpu_script *out, struct err *err)
{
	char line[LINE_BYTES];
	int n = 0;

	for (const char *end = text + len; text < end;) {
		const char *eol = memchr(text, '\n', (size_t)(end - text));
		size_t bytes = (size_t)((eol ? eol : end) - text);
		bool fits = bytes < sizeof line && ++n <= GPU_SCRIPT_LINES;
		if (fits) {
			memcpy(line, text, bytes);
			line[bytes] = '\0';
		}
		if (!fits || !add_line(line, out))
			return err_set(err, EBADMSG, "line %d of the script is not a statement", n);
		text += bytes + 1;
	}
	return 0;
}

void gpu_script_done(struct gpu_script *s)
{
	vec_done(&s->machine.devices);
	vec_done(&s->metrics);
	vec_done(&s->processes);
	vec_done(&s->lost);
	vec_done(&s->hangs);
}

/* --- the backend ------------------------------------------------------------------------------ */

struct gpu_session {
	struct gpu_script script;
	gpu_call *call;
	uint32_t readings;
};

static void scripted_close(struct gpu_session *s)
{
	if (!s)
		return;
	gpu_script_done(&s->script);
	free(s);
}

static int scripted_open(const struct gpu_source *opts, gpu_call *call, struct gpu_session **out,
			 struct err *err)
{
	struct buf text = { 0 };

	if (!opts->script) {
		err_set(err, ENODEV, "no script");
		return -ENODEV;
	}
	struct gpu_session *s = xcalloc(1, sizeof *s);
	s->call = call;
	int rc = fs_read_at(AT_FDCWD, opts->script, GPU_SCRIPT_BYTES, &text, err);
	if (!rc && text.len)
		rc = gpu_script_parse(text.data, text.len, &s->script, err);
	buf_done(&text);
	if (rc) {
		scripted_close(s);
		err_prefix(err, "%s", opts->script);
		return -EAGAIN;
	}
	*out = s;
	return 0;
}

static int scripted_discover(struct gpu_session *s, struct gpu_machine *out, struct err *err)
{
	(void)err;
	vec_clear(&out->devices);
	vec_append(&out->devices, s->script.machine.devices.v, s->script.machine.devices.n);
	memcpy(out->driver, s->script.machine.driver, sizeof out->driver);
	out->left_out = 0;
	return 0;
}

static double value_at(const struct gpu_script_values *values, uint32_t reading)
{
	return values->v[reading <= values->n ? reading - 1 : values->n - 1];
}

static void hang(const struct gpu_session *s)
{
	for (size_t i = 0; i < s->script.hangs.n; i++) {
		double seconds = s->script.hangs.v[i].seconds;
		const struct timespec t = { (time_t)seconds,
					    (long)((seconds - (time_t)seconds) * 1e9) };
		if (s->script.hangs.v[i].reading == s->readings)
			nanosleep(&t, NULL);
	}
}

static void put_metrics(const struct gpu_session *s, const struct gpu_machine *m, bool with_slow,
			struct gpu_reading *out)
{
	int64_t now_ns = (int64_t)clock_wall_ns();

	for (size_t i = 0; i < s->script.metrics.n; i++) {
		const struct gpu_script_metric *row = &s->script.metrics.v[i];
		if (!m->devices.v[row->device].is_lost &&
		    (with_slow || !gpu_metrics[row->metric].is_slow))
			gpu_point_put(out, row->device, row->metric, now_ns,
				      value_at(&row->values, s->readings));
	}
}

static void put_processes(const struct gpu_session *s, const struct gpu_machine *m,
			  struct gpu_reading *out)
{
	for (size_t i = 0; i < s->script.processes.n; i++) {
		const struct gpu_script_process *row = &s->script.processes.v[i];
		const struct gpu_process p = { .device = row->device,
					       .pid = row->pid,
					       .time_ns = (int64_t)clock_wall_ns(),
					       .has_memory = true,
					       .memory_bytes = row->memory_bytes,
					       .has_utilization = true,
					       .utilization = value_at(&row->values, s->readings) };
		if (!m->devices.v[row->device].is_lost)
			vec_push(&out->processes, p);
	}
}

static void scripted_metrics(struct gpu_session *s, struct gpu_machine *m, bool with_slow,
			     struct gpu_reading *out)
{
	s->readings++;
	atomic_store(s->call, clock_mono_ns());
	hang(s);
	atomic_store(s->call, 0);
	for (size_t i = 0; i < s->script.lost.n; i++)
		if (s->readings >= s->script.lost.v[i].reading)
			m->devices.v[s->script.lost.v[i].device].is_lost = true;
	put_metrics(s, m, with_slow, out);
	put_processes(s, m, out);
}

const struct gpu_backend gpu_scripted = {
	.name = "scripted",
	.open = scripted_open,
	.close = scripted_close,
	.discover = scripted_discover,
	.metrics = scripted_metrics,
};
