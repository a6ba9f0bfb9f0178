/* Lanes as JSON. */
#include "query/lanes/lanes.h"

#include "base/buf.h"
#include "base/json/json.h"
#include "profile/sum.h"
#include "query/answer_json.h"

#include <string.h>

enum { PARTS_OF_BUCKET = 500 };

static int64_t part_ns(const struct query_lanes *l)
{
	int64_t part = l->bucket_ns / PARTS_OF_BUCKET;
	return part ? part : 1;
}

/* --- density ---------------------------------------------------------------------------------- */

struct density {
	const struct query_lanes *l;
	const struct lane *lane;
	int64_t part_ns;
	int64_t left_ns[LANE_STATES]; /* remainder, not written yet */
};

/* Returns a bucket's times in parts. Carries remainders over, so that sums stay right. */
static void next_parts(struct density *d, size_t bucket, int64_t out[LANE_STATES])
{
	for (int s = 0; s < LANE_STATES; s++) {
		int64_t ns = d->lane->times_ns[s * d->l->buckets + bucket];
		ns = sum_add(ns, ns ? d->left_ns[s] : 0);
		out[s] = ns / d->part_ns;
		if (d->lane->times_ns[s * d->l->buckets + bucket])
			d->left_ns[s] = ns % d->part_ns;
	}
}

static void run_json(struct json *j, size_t gap, size_t n, const int64_t parts[LANE_STATES])
{
	json_u64(j, gap);
	json_u64(j, n);
	for (int s = 0; s < LANE_STATES; s++)
		json_i64(j, parts[s]);
}

static void density_json(struct json *j, const struct query_lanes *l, const struct lane *lane)
{
	struct density d = { .l = l, .lane = lane, .part_ns = part_ns(l) };
	int64_t run[LANE_STATES] = { 0 }, parts[LANE_STATES];
	static const int64_t nothing[LANE_STATES];
	size_t gap = 0, n = 0;
	json_arr(j);
	for (size_t i = 0; i < l->buckets; i++) {
		next_parts(&d, i, parts);
		if (n && memcmp(parts, run, sizeof run) != 0) {
			run_json(j, gap, n, run);
			gap = n = 0;
		}
		if (memcmp(parts, nothing, sizeof nothing) == 0) {
			gap++;
			continue;
		}
		memcpy(run, parts, sizeof run);
		n++;
	}
	if (n)
		run_json(j, gap, n, run);
	json_end(j);
}

/* --- lanes ------------------------------------------------------------------------------------ */

static void spans_json(struct json *j, const struct query_lanes *l, const struct lane *lane)
{
	int64_t at_ns = l->from_ns;
	json_arr(j);
	for (size_t i = 0; i < lane->n_spans; i++) {
		const struct lane_span *s = &lane->spans[i];
		json_i64(j, s->from_ns - at_ns);
		json_i64(j, s->to_ns - s->from_ns);
		json_u64(j, s->state);
		json_u64(j, s->stack);
		at_ns = s->to_ns;
	}
	json_end(j);
}

static void lane_json(struct json *j, const struct query_lanes *l, const struct lane *lane)
{
	struct buf key = { 0 };
	json_obj(j);
	if (lane->names)
		labels_json(j, l->by, lane->names, l->n_by);
	else
		json_key_u64(j, "count", lane->n);
	for (int s = 0; s < LANE_STATES; s++) {
		buf_clear(&key);
		buf_addf(&key, "%s_ns", lane_state_names[s]);
		json_key_i64(j, buf_cstr(&key), lane->total_ns[s]);
	}
	buf_done(&key);
	json_key(j, "density");
	density_json(j, l, lane);
	json_key(j, "spans");
	spans_json(j, l, lane);
	json_end(j);
}

static void put_texts(struct json *j, const char *const *texts, uint32_t n)
{
	json_arr(j);
	for (uint32_t i = 0; i < n; i++)
		json_str(j, texts[i]);
	json_end(j);
}

static void key_texts(struct json *j, const char *key, const char *const *texts, uint32_t n)
{
	json_key(j, key);
	put_texts(j, texts, n);
}

static void head_json(struct json *j, const struct query_lanes *l)
{
	json_key_str(j, "format", "cresset.lanes");
	json_key_u64(j, "version", 2);
	key_texts(j, "types", l->types, l->n_types);
	key_texts(j, "by", l->by, l->n_by);
	key_texts(j, "states", lane_state_names, LANE_STATES);
	json_key_i64(j, "from_ns", l->from_ns);
	json_key_i64(j, "to_ns", l->to_ns);
	json_key_str(j, "from", l->from);
	json_key_str(j, "to", l->to);
	json_key_i64(j, "bucket_ns", l->bucket_ns);
	json_key_u64(j, "buckets", l->buckets);
	json_key_bool(j, "exact", l->is_exact);
	json_key_i64(j, "resolution_ns", l->resolution_ns);
	json_key_bool(j, "ids_missing", l->ids_missing);
	json_key_i64(j, "part_ns", part_ns(l));
}

static void stacks_json(struct json *j, const struct query_lanes *l)
{
	json_key(j, "stacks");
	json_arr(j);
	for (uint32_t i = 0; i < l->n_stacks; i++) {
		json_arr(j);
		json_str(j, l->stacks[i].leaf);
		json_str(j, l->stacks[i].id);
		if (l->stacks[i].n_askers)
			put_texts(j, l->stacks[i].askers, l->stacks[i].n_askers);
		json_end(j);
	}
	json_end(j);
}

void lanes_json(const struct query_lanes *l, struct buf *b)
{
	struct json j = json_to(b);
	json_obj(&j);
	head_json(&j, l);
	json_key(&j, "lanes");
	json_arr(&j);
	for (uint32_t i = 0; i < l->n_lanes; i++)
		lane_json(&j, l, &l->lanes[i]);
	json_end(&j);
	json_key(&j, "others");
	if (l->rest.n)
		lane_json(&j, l, &l->rest);
	else
		json_str(&j, NULL);
	stacks_json(&j, l);
	json_end(&j);
	buf_addc(b, '\n');
}
