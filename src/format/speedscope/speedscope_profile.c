/* Profiles of the file: sampled or evented, units and weights. */
#include "base/buf.h"
#include "base/vec.h"
#include "format/speedscope/speedscope.h"
#include "format/speedscope/speedscope_calls.h"
#include "profile/series.h"
#include "profile/sink.h"
#include "profile/sum.h"

#include <string.h>

static const struct {
	const char *name;
	enum quantity quantity;
	int64_t scale; /* of the values */
} speedscope_units[] = {
	{ "none", QUANTITY_COUNT, 1 },
	{ "bytes", QUANTITY_BYTES, 1 },
	{ "nanoseconds", QUANTITY_TIME, 1 },
	{ "microseconds", QUANTITY_TIME, 1000 },
	{ "milliseconds", QUANTITY_TIME, 1000000 },
	{ "seconds", QUANTITY_TIME, 1000000000 },
};

uint8_t speedscope_unit(const char *name)
{
	for (size_t i = 0; i < sizeof speedscope_units / sizeof *speedscope_units; i++)
		if (strcmp(name, speedscope_units[i].name) == 0)
			return i;
	return 0;
}

void speedscope_profile_begin(struct speedscope_profile *p)
{
	buf_clear(&p->name);
	p->unit = 0;
	p->has_start = p->has_end = false;
	vec_clear(&p->summed);
	vec_clear(&p->samples);
	vec_clear(&p->weights);
	p->has_samples = p->has_weights = false;
	p->n_samples = p->n_weights = 0;
	p->has_events = p->has_now = false;
	vec_clear(&p->open);
	p->beyond = 0;
	vec_clear(&p->changes);
}

void speedscope_profile_done(struct speedscope_profile *p)
{
	buf_done(&p->name);
	vec_done(&p->sums);
	vec_done(&p->summed);
	vec_done(&p->samples);
	vec_done(&p->weights);
	vec_done(&p->open);
	vec_done(&p->changes);
}

/* --- sampled --- */

static void add_to_call(struct speedscope_profile *p, uint32_t call, struct amount value)
{
	while (p->sums.n <= call)
		vec_push(&p->sums, (struct call_sum){ 0 });
	struct call_sum *sum = &p->sums.v[call];
	if (sum->samples++ == 0)
		vec_push(&p->summed, call);
	sum->value = amount_add(sum->value, value);
}

static void add_pair(struct speedscope_profile *p, uint32_t call, struct amount weight)
{
	if (call == CALL_NONE || isnan(weight.part))
		p->calls->skipped++;
	else
		add_to_call(p, call, weight);
}

void speedscope_sample(struct speedscope_profile *p, uint32_t call)
{
	uint64_t i = p->n_samples++;
	if (p->has_weights && i < p->weights.n)
		add_pair(p, call, p->weights.v[i]);
	else if (!p->has_weights && i < SPEEDSCOPE_MAX_SAMPLES)
		vec_push(&p->samples, call);
}

void speedscope_weight(struct speedscope_profile *p, struct amount weight)
{
	uint64_t i = p->n_weights++;
	if (p->has_samples && i < p->samples.n)
		add_pair(p, p->samples.v[i], weight);
	else if (!p->has_samples && i < SPEEDSCOPE_MAX_SAMPLES)
		vec_push(&p->weights, weight);
}

/* --- evented --- */

static uint32_t open_call(struct speedscope_profile *p)
{
	uint32_t call = p->open.n ? p->open.v[p->open.n - 1].call : (uint32_t)CALL_ROOT;
	return p->beyond && call != CALL_NONE ? speedscope_call(p->calls, call, FRAME_TOO_DEEP)
					      : call;
}

/* Records that the stack was this one from now to end. Once there is no space for more changes,
 * values are summed up without their time. */
static void add_interval(struct speedscope_profile *p, uint32_t call, struct amount end)
{
	uint32_t last = p->changes.n ? p->changes.v[p->changes.n - 1].call : (uint32_t)CALL_ROOT;
	bool is_full = p->changes.n + p->calls->intervals.n >= SPEEDSCOPE_MAX_TIMED;
	bool is_summed = is_full && call != last && call != CALL_ROOT;
	if (is_summed)
		add_to_call(p, call, amount_sub(end, p->now));
	if (call != last && !(is_summed && last == CALL_ROOT))
		vec_push(&p->changes,
			 (struct call_change){ p->now, is_summed ? (uint32_t)CALL_ROOT : call });
}

static void end_interval(struct speedscope_profile *p, struct amount end)
{
	uint32_t call = open_call(p);
	p->calls->skipped += call == CALL_NONE;
	add_interval(p, call == CALL_NONE ? (uint32_t)CALL_ROOT : call, end);
	p->now = end;
}

/* Advances the time. An event earlier than the previous one gets the previous time. */
static void move_to(struct speedscope_profile *p, struct amount at)
{
	if (!p->has_now) {
		p->now = at;
		p->has_now = true;
	} else if (amount_less(p->now, at)) {
		end_interval(p, at);
	} else if (amount_less(at, p->now)) {
		p->calls->skipped++;
	}
}

void speedscope_open_frame(struct speedscope_profile *p, uint32_t frame, struct amount at)
{
	move_to(p, at);
	if (p->open.n == SPEEDSCOPE_MAX_OPEN) {
		p->beyond++;
		return;
	}
	uint32_t call = open_call(p);
	if (call != CALL_NONE)
		call = speedscope_call(p->calls, call, frame);
	vec_push(&p->open, (struct open_frame){ frame, call });
}

/* Closes the innermost open frame of this index, and the frames inside it that should have been
 * closed before. */
void speedscope_close_frame(struct speedscope_profile *p, uint32_t frame, struct amount at)
{
	move_to(p, at);
	if (p->beyond) {
		p->beyond--;
		return;
	}
	size_t n = p->open.n;
	while (n && p->open.v[n - 1].frame != frame)
		n--;
	if (n == 0 || n != p->open.n)
		p->calls->skipped++;
	if (n)
		p->open.n = n - 1;
}

/* --- at the end --- */

/* Reads the number after the last `key` in text[0..*len) and truncates the text before the key.
 * Returns false if none exists. */
static bool take_id(const char *text, size_t *len, const char *key, uint32_t *out)
{
	enum { DIGITS = 10 };
	uint64_t v = 0;
	size_t at = *len, key_len = strlen(key);
	while (at && text[at - 1] >= '0' && text[at - 1] <= '9')
		at--;
	if (at == *len || *len - at > DIGITS || at < key_len ||
	    memcmp(text + at - key_len, key, key_len) != 0)
		return false;
	for (size_t i = at; i < *len; i++)
		v = 10 * v + (text[i] - '0');
	*len = at - key_len;
	*out = v;
	return v < SAMPLE_NO_ID;
}

/* Splits "redis-server (pid 12, tid 13)", the writer's name for a thread; takes any other name as
 * is. */
static uint32_t name_source(struct speedscope_profile *p, enum quantity quantity)
{
	struct sink *s = p->calls->sink;
	struct speedscope_source source = { quantity, 0, SAMPLE_NO_ID, SAMPLE_NO_ID };
	size_t len = p->name.len ? p->name.len - 1 : 0; /* without the ) */
	uint32_t pid, tid;
	if (len && p->name.data[len] == ')' && take_id(p->name.data, &len, ", tid ", &tid) &&
	    take_id(p->name.data, &len, " (pid ", &pid)) {
		source.pid = pid;
		source.tid = tid;
	} else {
		len = p->name.len;
	}
	struct label comm = { .key = sink_string(s, "comm"),
			      .str = s->ops->string(s, p->name.data, len) };
	source.labels = s->ops->labels(s, &comm, len ? 1 : 0);
	return speedscope_source(p->calls, &source);
}

static void keep_sums(struct speedscope_profile *p, uint32_t source, int64_t scale)
{
	for (size_t i = 0; i < p->summed.n; i++) {
		struct call_sum *sum = &p->sums.v[p->summed.v[i]];
		struct amount value = amount_mul(sum->value, scale);
		vec_push(&p->calls->sums,
			 (struct speedscope_sum){ source, p->summed.v[i], sum->samples, value });
		*sum = (struct call_sum){ 0 };
	}
}

static int64_t in_ns(struct amount a, int64_t scale)
{
	return amount_round(amount_mul(a, scale));
}

static struct amount change_end(const struct speedscope_profile *p, size_t i)
{
	return i + 1 < p->changes.n ? p->changes.v[i + 1].since : p->now;
}

/* Starts and ends are rounded, not lengths, so that lengths add up to the whole. */
static void keep_intervals(struct speedscope_profile *p, uint32_t source, int64_t scale)
{
	vec_reserve(&p->calls->intervals, p->calls->intervals.n + p->changes.n);
	for (size_t i = 0; i < p->changes.n; i++) {
		uint32_t call = p->changes.v[i].call;
		int64_t start_ns = in_ns(p->changes.v[i].since, scale);
		int64_t value_ns = sum_sub(in_ns(change_end(p, i), scale), start_ns);
		struct speedscope_interval interval = { source, call, start_ns, value_ns };
		if (call != CALL_ROOT)
			vec_push(&p->calls->intervals, interval);
	}
}

/* Intervals in units other than time become plain values. */
static void sum_intervals(struct speedscope_profile *p)
{
	for (size_t i = 0; i < p->changes.n; i++)
		if (p->changes.v[i].call != CALL_ROOT)
			add_to_call(p, p->changes.v[i].call,
				    amount_sub(change_end(p, i), p->changes.v[i].since));
}

/* Sets the recording's span, from the first start to the last end of the evented profiles. */
static void note_time(struct speedscope_profile *p, int64_t scale)
{
	struct profile_meta *meta = p->calls->sink->ops->meta(p->calls->sink);
	if (!p->changes.n)
		return;
	struct amount first = p->changes.v[0].since;
	if (p->has_start && amount_less(p->start, first))
		first = p->start;
	int64_t start_ns = in_ns(first, scale), end_ns = in_ns(p->now, scale);
	if (p->calls->intervals.n) {
		int64_t known_end_ns = sum_add(meta->start_mono_ns, meta->duration_ns);
		start_ns = start_ns < meta->start_mono_ns ? start_ns : meta->start_mono_ns;
		end_ns = end_ns > known_end_ns ? end_ns : known_end_ns;
	}
	meta->start_mono_ns = start_ns;
	meta->duration_ns = sum_sub(end_ns, start_ns);
}

enum quantity speedscope_profile_end(struct speedscope_profile *p)
{
	enum quantity quantity = speedscope_units[p->unit].quantity;
	int64_t scale = speedscope_units[p->unit].scale;
	uint32_t source = name_source(p, quantity);
	uint64_t more = p->n_samples > p->n_weights ? p->n_samples : p->n_weights;
	uint64_t less = p->n_samples > p->n_weights ? p->n_weights : p->n_samples;

	/* Samples without a weight, weights without a sample, and those beyond the limit. */
	p->calls->skipped += more - (less < SPEEDSCOPE_MAX_SAMPLES ? less : SPEEDSCOPE_MAX_SAMPLES);
	/* Frames never closed were open until the end. */
	p->calls->skipped += p->open.n + p->beyond;
	if (p->has_end && p->has_now && amount_less(p->now, p->end))
		end_interval(p, p->end);
	if (quantity == QUANTITY_TIME) {
		note_time(p, scale);
		keep_intervals(p, source, scale);
	} else {
		sum_intervals(p);
		for (size_t i = 0; i < p->summed.n; i++)
			p->calls->has_fractions[quantity] |=
				p->sums.v[p->summed.v[i]].value.part != 0;
	}
	keep_sums(p, source, scale);
	vec_done(&p->changes); /* may be large, and is no longer needed */
	return quantity;
}
