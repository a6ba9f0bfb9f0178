/* Events of the text: their types, periods and series. */
#include "base/hash.h"
#include "base/vec.h"
#include "format/perf_script/perf_script.h"
#include "format/perf_script/perf_script_line.h"
#include "profile/sink.h"

#include <stdint.h>
#include <string.h>

void perf_events_done(struct perf_events *e)
{
	vec_done(&e->attrs);
	vec_done(&e->events);
	map_done(&e->attr_of_name);
	map_done(&e->event_of_key);
	map_done(&e->series_of_key);
}

static uint32_t perf_put(struct perf_events *e, const char *s, size_t len)
{
	return e->sink->ops->string(e->sink, s, len);
}

/* --- '#' lines -------------------------------------------------------------------------------- */

/* Returns the number after `key` in a text, or -1. */
static int64_t perf_number_behind(const char *s, size_t len, const char *key)
{
	const char *at = memmem(s, len, key, strlen(key));
	int64_t v = 0;
	if (!at)
		return -1;
	at += strlen(key);
	const char *digits = at;
	for (; at < s + len && *at >= '0' && *at <= '9'; at++)
		if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *at - '0', &v))
			return -1;
	return at > digits ? v : -1;
}

static void perf_attr_add(struct perf_events *e, struct perf_attr a)
{
	const uint32_t *known = map_get(&e->attr_of_name, a.name);
	if (known) {
		e->attrs.v[*known] = a;
		return;
	}
	map_put(&e->attr_of_name, a.name, e->attrs.n);
	vec_push(&e->attrs, a);
}

/* Reads "name = cycles, , id = { 5, 6 }, …, { sample_period, sample_freq } = 99, …, freq = 1,
 * …". */
static void perf_attr_line(struct perf_events *e, const char *s, size_t len)
{
	static const char name_key[] = "name = ";
	const char *name = memmem(s, len, name_key, strlen(name_key));
	if (!name)
		return;
	name += strlen(name_key);
	const char *end = memchr(name, ',', s + len - name);
	struct perf_attr a = { .name = perf_put(e, name, (end ? end : s + len) - name) };
	a.period = perf_number_behind(s, len, "{ sample_period, sample_freq } = ");
	a.is_freq = perf_number_behind(s, len, ", freq = ") == 1;
	perf_attr_add(e, a);
}

/* Reads perf_script_write's description of its type. */
static void perf_type_line(struct perf_events *e, const char *s, size_t len)
{
	enum { FIELDS = 6 };
	uint32_t fields[FIELDS];
	const char *end = s + len;
	for (int i = 0; i < FIELDS; i++) {
		const char *tab = memchr(s, '\t', end - s);
		if (!tab)
			return;
		fields[i] = perf_put(e, s, tab - s);
		s = tab + 1;
	}
	int64_t period = perf_number_behind(s, end - s, "");
	int64_t is_scaled = perf_number_behind(s, end - s, "\t");
	if (period < 0 || is_scaled < 0)
		return;
	perf_attr_add(e, (struct perf_attr){ .name = fields[0],
					     .period = period,
					     .has_type = true,
					     .is_scaled = is_scaled,
					     .type = { .name = fields[1],
						       .sample_type = fields[2],
						       .unit = fields[3],
						       .period_type = fields[4],
						       .period_unit = fields[5] } });
}

static bool perf_key_is(const char *line, size_t len, const char *key)
{
	return len >= strlen(key) && memcmp(line, key, strlen(key)) == 0;
}

void perf_events_comment(struct perf_events *e, const char *line, size_t len)
{
	struct profile_meta *meta = e->sink->ops->meta(e->sink);
	if (perf_key_is(line, len, PERF_SCRIPT_TYPE)) {
		size_t key = strlen(PERF_SCRIPT_TYPE);
		perf_type_line(e, line + key, len - key);
		return;
	}
	const char *colon = memmem(line, len, " : ", 3);
	if (!colon)
		return;
	const char *value = colon + 3, *end = line + len;
	while (end > value && end[-1] == ' ')
		end--;
	if (perf_key_is(line, len, "# hostname :"))
		meta->host = perf_put(e, value, end - value);
	else if (perf_key_is(line, len, "# os release :"))
		meta->kernel = perf_put(e, value, end - value);
	else if (perf_key_is(line, len, "# cmdline :"))
		meta->command = perf_put(e, value, end - value);
	else if (perf_key_is(line, len, "# nrcpus online :")) {
		int64_t n = perf_number_behind(value, end - value, "");
		meta->cpus = n > 0 && n <= UINT32_MAX ? n : 0;
	} else if (perf_key_is(line, len, "# event :")) {
		perf_attr_line(e, value, end - value);
	}
}

/* --- events ----------------------------------------------------------------------------------- */

/* Whether an event has this name, with or without modifiers (":u", ":ppp"). */
static bool perf_event_is(struct perf_text event, const char *name)
{
	size_t n = strlen(name);
	return perf_key_is(event.s, event.len, name) && (event.len == n || event.s[n] == ':');
}

/* Returns the period of an event whose lines do not have it; 0 if the '#' lines do not either. A
 * rate gives a period only for clocks. */
static int64_t perf_attr_period(const struct perf_attr *a, bool is_clock)
{
	if (!a || a->period <= 0)
		return 0;
	if (!a->is_freq)
		return a->period;
	return is_clock ? 1000000000 / a->period : 0;
}

static struct perf_event perf_event_with_type(struct perf_events *e, const struct perf_attr *a)
{
	return (struct perf_event){
		.type = e->sink->ops->type(e->sink, &a->type),
		.period = a->period,
		.divisor = a->is_scaled ? a->period : 0,
	};
}

static struct perf_event perf_event_new(struct perf_events *e, const struct perf_header *h,
					const struct perf_attr *a)
{
	struct sink *s = e->sink;
	struct perf_event event = { 0 };
	bool is_cpu_clock = perf_event_is(h->event, "cpu-clock");
	bool is_clock = is_cpu_clock || perf_event_is(h->event, "task-clock");
	struct type t = { .name = perf_put(e, h->event.s, h->event.len) };
	t.sample_type = t.period_type = t.name;
	t.period_unit = sink_string(s, is_clock ? "nanoseconds" : "count");
	if (is_clock)
		t.name = sink_string(s, "cpu");
	if (h->event.len == 0)
		t = (struct type){ .name = sink_string(s, "samples") };
	if (h->event.len == 0 || h->has_period) {
		t.sample_type = t.sample_type ? t.sample_type : t.name;
		t.unit = t.period_unit ? t.period_unit : sink_string(s, "count");
		t.period_type = t.period_unit = 0;
	} else if (is_cpu_clock && !e->has_cpu) {
		e->has_cpu = true;
		t.sample_type = sink_string(s, "samples");
		t.unit = sink_string(s, "count");
		t.period_type = t.name;
		event.period = perf_attr_period(a, true);
	} else {
		t.unit = sink_string(s, "samples");
		event.period = perf_attr_period(a, is_clock);
	}
	event.type = s->ops->type(s, &t);
	return event;
}

static const struct perf_event *perf_event_of(struct perf_events *e, const struct perf_header *h)
{
	uint32_t name = perf_put(e, h->event.s, h->event.len);
	uint64_t key = (uint64_t)name << 1 | h->has_period;
	const uint32_t *known = map_get(&e->event_of_key, key);
	if (known)
		return &e->events.v[*known];
	const uint32_t *at = map_get(&e->attr_of_name, name);
	const struct perf_attr *a = at ? &e->attrs.v[*at] : NULL;
	map_put(&e->event_of_key, key, e->events.n);
	vec_push(&e->events, a && a->has_type && h->has_period ? perf_event_with_type(e, a)
							       : perf_event_new(e, h, a));
	return &e->events.v[e->events.n - 1];
}

uint32_t perf_events_series(struct perf_events *e, const struct perf_header *h, int64_t *value)
{
	struct sink *s = e->sink;
	const struct perf_event *event = perf_event_of(e, h);
	*value = h->has_period ? h->period : 1;
	if (event->divisor)
		*value /= event->divisor;
	bool has_comm = h->comm.len && !(h->comm.len == 1 && h->comm.s[0] == '?');
	uint32_t comm = has_comm ? perf_put(e, h->comm.s, h->comm.len) : 0;
	uint64_t key = (uint64_t)(event - e->events.v) << 32 | comm;
	const uint32_t *known = map_get(&e->series_of_key, key);
	if (known)
		return *known;
	struct label label = { .key = sink_string(s, "comm"), .str = comm };
	struct series series = { .type = event->type, .period = event->period };
	series.labels = has_comm ? s->ops->labels(s, &label, 1) : 0;
	uint32_t id = s->ops->series(s, &series);
	map_put(&e->series_of_key, key, id);
	return id;
}
