/* Converts call nodes to stacks, and samples to values. */
#include "format/v8/v8.h"

#include "base/buf.h"
#include "base/decimal.h"
#include "base/hash.h"
#include "base/json/json_read.h"
#include "format/common/stack_tree.h"
#include "profile/frame.h"
#include "profile/series.h"
#include "profile/sink.h"
#include "profile/sum.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { V8_NS_PER_US = 1000 };

void v8_profile_done(struct v8_profile *p)
{
	vec_done(&p->nodes);
	vec_done(&p->edges);
	vec_done(&p->samples);
	vec_done(&p->sampled);
	vec_done(&p->times_ns);
}

bool v8_us(const struct json_value *v, int64_t *ns)
{
	enum { US_TO_NS = 3 }; /* digits */
	if (v->token == JSON_NUMBER && v->is_integer) {
		*ns = sum_mul(v->integer, V8_NS_PER_US);
		return true;
	}
	return (v->token == JSON_NUMBER || v->token == JSON_STRING) &&
	       decimal_parse_shifted(v->text, v->len, US_TO_NS, ns, NULL);
}

bool v8_id(const struct json_value *v, uint64_t *id)
{
	char *end;
	if (v->token == JSON_NUMBER && v->is_integer) {
		*id = v->integer;
		return true;
	}
	if ((v->token != JSON_STRING && v->token != JSON_KEY) || v->len == 0)
		return false;
	*id = strtoull(v->text, &end, 10);
	if (end != v->text + v->len)
		*id = hash_bytes(v->text, v->len);
	return true;
}

uint32_t v8_frame(struct sink *sink, const char *name, size_t name_len, const char *url,
		  size_t url_len, uint32_t line)
{
	static const char root[] = "(root)";
	if (name_len == strlen(root) && memcmp(name, root, name_len) == 0)
		return STACK_TREE_NO_FRAME;
	/* "(program)", "(idle)", "[GC Young Gen]": the engine's own work. */
	bool engine = url_len == 0 && name_len && (name[0] == '(' || name[0] == '[');
	struct frame f = { .kind = engine ? FRAME_NATIVE : FRAME_JS,
			   .mapping = MAPPING_NONE,
			   .line = line };
	f.function = name_len ? sink->ops->string(sink, name, name_len)
			      : sink_string(sink, "(anonymous)");
	f.file = sink->ops->string(sink, url, url_len);
	return sink->ops->frame(sink, &f);
}

/* --- nodes ------------------------------------------------------------------------------------ */

/* A node being read; its members arrive in any order. */
struct v8_draft {
	uint64_t id, parent;
	bool has_id, has_parent;
	int64_t hits, line; /* from 0; -1: unknown */
	struct buf name, url;
	size_t first_edge; /* of its children; their parent is set once the id is known */
};

static void v8_keep_text(struct buf *b, const struct json_value *v)
{
	buf_clear(b);
	if (v->token == JSON_STRING)
		buf_add(b, v->text, v->len);
}

/* State shared by the functions below. */
struct v8_reading {
	struct v8_profile *p;
	struct json_reader *r;
	struct sink *sink;
	bool nested; /* children are nodes, not ids */
	struct err *err;
};

/* Returns 1 if key is a member of a function and its value was read. */
static int v8_read_call_member(struct v8_reading *in, struct v8_draft *d,
			       const struct json_value *key)
{
	struct json_value v;
	bool name = json_is(key, "functionName"), url = json_is(key, "url");
	if (!name && !url && !json_is(key, "lineNumber"))
		return 0;
	int rc = json_scalar(in->r, &v, in->err);
	if (rc <= 0)
		return rc < 0 ? rc : 1;
	if (name)
		v8_keep_text(&d->name, &v);
	else if (url)
		v8_keep_text(&d->url, &v);
	else if (v.token == JSON_NUMBER && v.is_integer)
		d->line = v.integer;
	return 1;
}

static int v8_read_call_frame(struct v8_reading *in, struct v8_draft *d)
{
	struct json_value key;
	int rc = json_enter(in->r, JSON_OBJECT, in->err);
	if (rc <= 0)
		return rc;
	while ((rc = json_key_next(in->r, &key, in->err)) > 0) {
		rc = v8_read_call_member(in, d, &key);
		if (rc == 0)
			rc = json_skip(in->r, in->err);
		if (rc < 0)
			return rc;
	}
	return rc;
}

/* parent: UINT64_MAX until the id of the current node is known. */
static void v8_add_edge(struct v8_profile *p, uint64_t parent, uint64_t child)
{
	if (p->edges.n < V8_MAX_NODES)
		vec_push(&p->edges, (struct v8_edge){ parent, child });
	else
		p->skipped++;
}

static void v8_add_node(struct v8_profile *p, const struct v8_draft *d, struct sink *sink)
{
	if (!d->has_id || p->nodes.n >= V8_MAX_NODES) {
		p->skipped++;
		p->edges.n = d->first_edge;
		return;
	}
	uint32_t line = d->line >= 0 && d->line < INT32_MAX ? d->line + 1 : 0;
	uint32_t frame = v8_frame(sink, d->name.data, d->name.len, d->url.data, d->url.len, line);
	vec_push(&p->nodes, (struct v8_node){ d->id, d->hits, frame });
	for (size_t i = d->first_edge; i < p->edges.n; i++)
		if (p->edges.v[i].parent == UINT64_MAX)
			p->edges.v[i].parent = d->id;
	if (d->has_parent)
		v8_add_edge(p, d->parent, d->id);
}

static int v8_read_node(struct v8_reading *in, struct v8_draft *d);

static int v8_read_child(struct v8_reading *in)
{
	struct v8_draft d;
	struct json_value v;
	uint64_t id;
	if (in->nested) {
		int rc = v8_read_node(in, &d);
		if (rc > 0 && d.has_id)
			v8_add_edge(in->p, UINT64_MAX, d.id);
		return rc;
	}
	int rc = json_scalar(in->r, &v, in->err);
	if (rc > 0 && v8_id(&v, &id))
		v8_add_edge(in->p, UINT64_MAX, id);
	else if (rc >= 0)
		in->p->skipped++;
	return rc;
}

static int v8_read_children(struct v8_reading *in)
{
	int rc = json_enter(in->r, JSON_ARRAY, in->err);
	if (rc <= 0)
		return rc;
	while ((rc = json_item_next(in->r, in->err)) > 0) {
		rc = v8_read_child(in);
		if (rc < 0)
			return rc;
	}
	return rc;
}

static int v8_read_number(struct v8_reading *in, struct v8_draft *d, const struct json_value *key)
{
	bool id = json_is(key, "id"), parent = json_is(key, "parent");
	struct json_value v;
	if (!id && !parent && !json_is(key, in->p->is_heap ? "selfSize" : "hitCount"))
		return json_skip(in->r, in->err);
	int rc = json_scalar(in->r, &v, in->err);
	if (rc <= 0)
		return rc;
	if (id)
		d->has_id = v8_id(&v, &d->id);
	else if (parent)
		d->has_parent = v8_id(&v, &d->parent);
	else if (v.token == JSON_NUMBER && v.is_integer)
		d->hits = v.integer;
	return 1;
}

static int v8_read_node_member(struct v8_reading *in, struct v8_draft *d,
			       const struct json_value *key)
{
	if (json_is(key, "callFrame"))
		return v8_read_call_frame(in, d);
	if (json_is(key, "children"))
		return v8_read_children(in);
	int rc = v8_read_call_member(in, d, key);
	return rc ? rc : v8_read_number(in, d, key);
}

/* Reads a node. Returns 1 with *d filled (its texts are freed), or 0 if it is not an object.
 * Nesting is limited by the JSON reader. */
static int v8_read_node(struct v8_reading *in, struct v8_draft *d)
{
	struct json_value key;
	*d = (struct v8_draft){ .line = -1, .first_edge = in->p->edges.n };
	int rc = json_enter(in->r, JSON_OBJECT, in->err);
	if (rc == 0)
		in->p->skipped++;
	if (rc <= 0)
		return rc;
	while ((rc = json_key_next(in->r, &key, in->err)) > 0) {
		rc = v8_read_node_member(in, d, &key);
		if (rc < 0)
			break;
	}
	if (rc == 0)
		v8_add_node(in->p, d, in->sink);
	buf_done(&d->name);
	buf_done(&d->url);
	return rc < 0 ? rc : 1;
}

/* Calls item for each item of the next array; item must read it. */
static int v8_each(struct v8_reading *in, int (*item)(struct v8_reading *in))
{
	int rc = json_enter(in->r, JSON_ARRAY, in->err);
	if (rc <= 0)
		return rc;
	while ((rc = json_item_next(in->r, in->err)) > 0) {
		rc = item(in);
		if (rc < 0)
			return rc;
	}
	return rc;
}

static int v8_node_item(struct v8_reading *in)
{
	struct v8_draft d;
	return v8_read_node(in, &d);
}

/* --- samples ---------------------------------------------------------------------------------- */

static int v8_sample_item(struct v8_reading *in)
{
	struct v8_profile *p = in->p;
	struct json_value v;
	uint64_t id = UINT64_MAX; /* matches no node; keeps the columns aligned */
	int rc = json_scalar(in->r, &v, in->err);
	if (rc < 0)
		return rc;
	if (rc > 0)
		v8_id(&v, &id);
	if (p->sampled.n + p->samples.n < V8_MAX_SAMPLES)
		vec_push(&p->sampled, id);
	else
		p->skipped++;
	return rc;
}

static int v8_time_item(struct v8_reading *in)
{
	struct v8_profile *p = in->p;
	struct json_value v;
	int64_t ns = 0;
	int rc = json_scalar(in->r, &v, in->err);
	if (rc < 0)
		return rc;
	if (rc > 0)
		v8_us(&v, &ns);
	if (p->times_ns.n + p->samples.n < V8_MAX_SAMPLES)
		vec_push(&p->times_ns, ns);
	return rc;
}

static int v8_read_moment(struct v8_reading *in, int64_t *ns)
{
	struct json_value v;
	int rc = json_scalar(in->r, &v, in->err);
	if (rc > 0)
		v8_us(&v, ns);
	return rc;
}

int v8_read_member(struct v8_profile *p, const struct json_value *key, struct json_reader *r,
		   struct sink *sink, struct err *err)
{
	struct v8_reading in = { p, r, sink, false, err };
	struct v8_draft d;
	int rc;
	if (json_is(key, "nodes")) {
		rc = v8_each(&in, v8_node_item);
	} else if (json_is(key, "head")) {
		in.nested = true;
		rc = v8_read_node(&in, &d);
	} else if (json_is(key, "samples")) {
		rc = v8_each(&in, v8_sample_item);
	} else if (json_is(key, "timeDeltas") || json_is(key, "timestamps")) {
		p->times_are_stamps = json_is(key, "timestamps");
		rc = v8_each(&in, v8_time_item);
	} else if (json_is(key, "startTime")) {
		rc = v8_read_moment(&in, &p->start_ns);
	} else if (json_is(key, "endTime")) {
		rc = v8_read_moment(&in, &p->end_ns);
	} else {
		return 0;
	}
	return rc < 0 ? rc : 1;
}

void v8_join(struct v8_profile *p, int64_t *last_ns)
{
	for (size_t i = 0; i < p->sampled.n; i++) {
		int64_t t = i < p->times_ns.n ? p->times_ns.v[i] : 0;
		*last_ns = p->times_are_stamps ? t : sum_add(*last_ns, t);
		vec_push(&p->samples, (struct v8_sample){ *last_ns, p->sampled.v[i], 1, 0 });
	}
	vec_clear(&p->sampled);
	vec_clear(&p->times_ns);
}

/* --- output ----------------------------------------------------------------------------------- */

struct v8_giver {
	struct v8_profile *p;
	struct sink *sink;
	struct stack_tree tree;
	struct map row_of_id;
	struct sample sample;   /* of the current owner */
	uint32_t counts, times; /* series */
	uint64_t given;
};

/* Adds nodes as rows in their order. Of equal ids, and of several parents of a node, the first
 * counts. */
static void v8_plant(struct v8_giver *g)
{
	struct v8_profile *p = g->p;
	for (size_t i = 0; i < p->nodes.n; i++) {
		if (map_get(&g->row_of_id, p->nodes.v[i].id))
			p->skipped++;
		else
			map_put(&g->row_of_id, p->nodes.v[i].id, i);
		stack_tree_add(&g->tree, STACK_TREE_ROOT, p->nodes.v[i].frame);
	}
	for (size_t i = 0; i < p->edges.n; i++) {
		const uint32_t *parent = map_get(&g->row_of_id, p->edges.v[i].parent);
		const uint32_t *child = map_get(&g->row_of_id, p->edges.v[i].child);
		struct stack_tree_row *row = child ? &g->tree.rows.v[*child] : NULL;
		if (row && parent && (row->parent == STACK_TREE_ROOT || row->parent == *parent))
			row->parent = *parent;
		else
			p->skipped++;
	}
}

static uint32_t v8_series(struct sink *s, uint32_t labels, const char *sample_type,
			  const char *unit)
{
	struct type type = { .name = sink_string(s, "cpu"),
			     .sample_type = sink_string(s, sample_type),
			     .unit = sink_string(s, unit) };
	struct series series = { .type = s->ops->type(s, &type), .labels = labels };
	return s->ops->series(s, &series);
}

static void v8_set_owner(struct v8_giver *g, const struct v8_owner *owner)
{
	g->sample = (struct sample){ .pid = owner->pid, .tid = owner->tid, .cpu = SAMPLE_NO_ID };
	g->counts = v8_series(g->sink, owner->labels, "samples", "count");
	g->times = v8_series(g->sink, owner->labels, "cpu", "nanoseconds");
}

static int v8_sample_cmp(const void *a, const void *b)
{
	const struct v8_sample *x = a, *y = b;
	if (x->owner != y->owner)
		return x->owner < y->owner ? -1 : 1;
	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

/* Chrome sometimes writes samples out of order. */
static void v8_sort(struct v8_profile *p)
{
	for (size_t i = 1; i < p->samples.n; i++) {
		if (v8_sample_cmp(&p->samples.v[i - 1], &p->samples.v[i]) <= 0)
			continue;
		qsort(p->samples.v, p->samples.n, sizeof *p->samples.v, v8_sample_cmp);
		return;
	}
}

static void v8_give_sample(struct v8_giver *g, const struct v8_sample *s, int64_t until_ns)
{
	const uint32_t *row = map_get(&g->row_of_id, s->node);
	g->sample.stack = row ? stack_tree_stack(&g->tree, g->sink, *row) : STACK_TREE_NONE;
	if (g->sample.stack == STACK_TREE_NONE) {
		g->p->skipped++;
		return;
	}
	g->sample.time_ns = s->time_ns;
	g->sample.series = g->counts;
	g->sample.value = s->weight;
	g->sink->ops->sample(g->sink, &g->sample);
	g->given++;
	g->sample.series = g->times;
	g->sample.value = sum_sub(until_ns, s->time_ns);
	if (g->sample.value > 0)
		g->sink->ops->sample(g->sink, &g->sample);
}

static void v8_give_samples(struct v8_giver *g, const struct v8_owner *owners)
{
	const struct v8_profile *p = g->p;
	for (size_t i = 0; i < p->samples.n; i++) {
		const struct v8_sample *s = &p->samples.v[i];
		bool first = i == 0 || s[-1].owner != s->owner;
		bool last = i + 1 == p->samples.n || s[1].owner != s->owner;
		if (first)
			v8_set_owner(g, &owners[s->owner]);
		v8_give_sample(g, s, last ? p->end_ns : s[1].time_ns);
	}
}

static void v8_give_hits(struct v8_giver *g)
{
	for (size_t i = 0; i < g->p->nodes.n; i++) {
		int64_t hits = g->p->nodes.v[i].hits;
		g->sample.value = hits;
		g->sample.stack =
			hits > 0 ? stack_tree_stack(&g->tree, g->sink, i) : STACK_TREE_NONE;
		if (g->sample.stack == STACK_TREE_NONE) {
			g->p->skipped += hits != 0;
			continue;
		}
		g->sink->ops->sample(g->sink, &g->sample);
		g->given++;
	}
}

static void v8_giver_done(struct v8_giver *g)
{
	stack_tree_done(&g->tree);
	map_done(&g->row_of_id);
}

uint64_t v8_give_nodes(struct v8_profile *p, struct sink *sink, uint32_t series)
{
	struct v8_giver g = { .p = p, .sink = sink };
	g.sample = (struct sample){
		.series = series, .pid = SAMPLE_NO_ID, .tid = SAMPLE_NO_ID, .cpu = SAMPLE_NO_ID
	};
	v8_plant(&g);
	v8_give_hits(&g);
	v8_giver_done(&g);
	return g.given;
}

uint64_t v8_give(struct v8_profile *p, struct sink *sink, const struct v8_owner *owners)
{
	struct v8_giver g = { .p = p, .sink = sink };
	v8_plant(&g);
	v8_sort(p);
	if (p->samples.n) {
		v8_give_samples(&g, owners);
	} else {
		v8_set_owner(&g, &owners[0]);
		g.sample.series = g.counts;
		v8_give_hits(&g);
	}
	v8_giver_done(&g);
	return g.given;
}
