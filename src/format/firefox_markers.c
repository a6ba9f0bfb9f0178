#include "format/firefox_markers.h"

#include "profile/state.h"

#define FX_WAIT "Wait" /* name of the schema, and type of each marker's data */

enum { FX_PHASE_INTERVAL = 1 };

void fx_write_marker_schema(struct json *j)
{
	json_key(j, "markerSchema");
	json_arr(j);
	json_obj(j);
	json_key_str(j, "name", FX_WAIT);
	json_key(j, "display");
	json_arr(j);
	json_str(j, "marker-chart");
	json_str(j, "marker-table");
	json_end(j);
	json_key(j, "fields");
	json_arr(j);
	json_obj(j);
	json_key_str(j, "key", "state");
	json_key_str(j, "label", "State");
	json_key_str(j, "format", "string");
	json_end(j);
	json_end(j);
	json_end(j);
	json_end(j);
}

static enum thread_state state_of_sample(struct profile *p, size_t sample, uint32_t *reason)
{
	struct stack_state s = state_of_stack(p, p->samples.stack[sample]);
	const struct series *series = &p->series.series.v[p->samples.series[sample]];
	*reason = s.reason;
	return s.state ? s.state
		       : state_of_type(profile_str(p, p->series.types.v[series->type].name));
}

static void put_data(struct fx_markers *m, size_t sample)
{
	uint32_t reason;
	enum thread_state state = state_of_sample(m->tables->p, sample, &reason);
	json_obj(m->json);
	json_key_str(m->json, "type", FX_WAIT);
	json_key_str(m->json, "state", thread_state_names[state]);
	json_end(m->json);
}

static void put_name(struct fx_markers *m, size_t sample)
{
	struct profile *p = m->tables->p;
	uint32_t reason;
	enum thread_state state = state_of_sample(p, sample, &reason);
	if (!reason)
		reason = strtab_put(&p->strings, state ? thread_state_names[state] : FX_WAIT);
	json_u64(m->json, fx_put_string(m->tables, reason));
}

static void put_ms(struct fx_markers *m, size_t sample, int64_t length_ns)
{
	const struct profile *p = m->tables->p;
	json_num(m->json, ((double)p->samples.time_ns[sample] - (double)p->meta.start_mono_ns +
			   (double)length_ns) /
				  1e6);
}

static void put_start(struct fx_markers *m, size_t sample)
{
	put_ms(m, sample, 0);
}

static void put_end(struct fx_markers *m, size_t sample)
{
	put_ms(m, sample, sample_length_ns(&m->tables->p->samples, sample));
}

static void put_phase(struct fx_markers *m, size_t sample)
{
	(void)sample;
	json_u64(m->json, FX_PHASE_INTERVAL);
}

static void put_category(struct fx_markers *m, size_t sample)
{
	(void)sample;
	json_u64(m->json, FRAME_MARKER);
}

static const struct {
	const char *key;
	void (*put)(struct fx_markers *m, size_t sample);
} columns[] = {
	{ "data", put_data },   { "name", put_name },   { "startTime", put_start },
	{ "endTime", put_end }, { "phase", put_phase }, { "category", put_category },
};

void fx_write_markers(struct fx_markers *m)
{
	struct json *j = m->json;
	json_key(j, "markers");
	json_obj(j);
	json_key_u64(j, "length", m->samples.n);
	for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
		json_key(j, columns[c].key);
		json_arr(j);
		for (size_t i = 0; i < m->samples.n; i++) {
			columns[c].put(m, m->samples.v[i]);
			m->flush(m->ctx);
		}
		json_end(j);
	}
	json_end(j);
}
