/* The texts of root frames for each key. */
#include "profile/tree/tree_keys.h"

#include "base/buf.h"
#include "profile/frame.h"
#include "profile/profile.h"
#include "profile/series.h"
#include "profile/sink.h"

#include <string.h>

const char *const tree_by_names[BY_KEYS + 1] = { TREE_BY_NAMES };

/* The parts of a sample that each key consists of. */
static const struct key_parts key_uses[BY_KEYS] = {
	[BY_COMM] = { .labels = 1 },
	[BY_PID] = { .labels = 1, .pid = 1 },
	[BY_TID] = { .labels = 1, .pid = 1, .tid = 1 },
	[BY_PROCESS] = { .labels = 1 },
	[BY_CPU] = { .cpu = 1 },
	[BY_CONTAINER] = { .labels = 1 },
	[BY_POD] = { .labels = 1 },
	[BY_NAMESPACE] = { .labels = 1 },
	[BY_UNIT] = { .labels = 1 },
	[BY_USER] = { .labels = 1 },
	[BY_EXECUTABLE] = { .labels = 1 },
	[BY_SERVICE] = { .labels = 1 },
};

void tree_keys_init(struct tree_keys *k, struct profile *p, struct tree *t,
		    const struct tree_opts *opts)
{
	*k = (struct tree_keys){ .p = p, .t = t };
	for (int i = 0; i < opts->n_by; i++) {
		const struct key_parts *uses = &key_uses[opts->by[i]];
		if (opts->by[i] == BY_NONE)
			continue;
		k->by[k->n++] = opts->by[i];
		k->uses.labels |= uses->labels;
		k->uses.pid |= uses->pid;
		k->uses.tid |= uses->tid;
		k->uses.cpu |= uses->cpu;
	}
}

void tree_keys_done(struct tree_keys *k)
{
	vec_done(&k->seen);
	vec_done(&k->group_of_seen);
	vec_done(&k->nodes);
	map_done(&k->seen_index);
	map_done(&k->group_of_node);
}

static struct key_parts parts_of(const struct tree_keys *k, size_t row)
{
	const struct sample_columns *c = &k->p->samples;
	struct key_parts parts = { 0 };
	if (k->uses.labels)
		parts.labels = k->p->series.series.v[c->series[row]].labels;
	if (k->uses.pid)
		parts.pid = c->pid[row];
	if (k->uses.tid)
		parts.tid = c->tid[row];
	if (k->uses.cpu)
		parts.cpu = c->cpu[row];
	return parts;
}

static bool parts_equal(const struct key_parts *a, const struct key_parts *b)
{
	return a->labels == b->labels && a->pid == b->pid && a->tid == b->tid && a->cpu == b->cpu;
}

static const struct label *label_of(const struct tree_keys *k, uint32_t set, const char *key)
{
	return label_find(&k->p->series, set, strtab_find(&k->p->strings, key));
}

/* other: the label to use if there is none named key; NULL: shows "?". */
static void add_label(struct buf *text, const struct tree_keys *k, uint32_t set, const char *key,
		      const char *other)
{
	const struct label *l = label_of(k, set, key);
	l = !l && other ? label_of(k, set, other) : l;
	if (!l)
		buf_addc(text, '?');
	else if (l->is_num)
		buf_addf(text, "%lld", (long long)l->num);
	else
		buf_add(text, profile_str(k->p, l->str), strtab_len(&k->p->strings, l->str));
}

static void add_name(struct buf *text, const struct tree_keys *k, uint32_t set, const char *key)
{
	size_t start = text->len;
	add_label(text, k, set, key, NULL);
	for (size_t i = start; i < text->len; i++)
		if (text->data[i] == ' ')
			text->data[i] = '_';
}

static void add_id(struct buf *text, uint32_t id)
{
	if (id == SAMPLE_NO_ID)
		buf_addc(text, '?');
	else
		buf_addu(text, id);
}

/* Appends the text of one root frame, as documented for the CLI and in the manual. */
static void add_key(struct buf *text, const struct tree_keys *k, enum tree_by by,
		    const struct key_parts *parts)
{
	switch (by) {
	case BY_COMM:
		add_name(text, k, parts->labels, "comm");
		break;
	case BY_PID:
	case BY_TID:
		add_name(text, k, parts->labels, "comm");
		buf_addc(text, '-');
		add_id(text, parts->pid);
		if (by == BY_PID)
			break;
		buf_addc(text, '/');
		add_id(text, parts->tid);
		break;
	case BY_PROCESS:
		add_name(text, k, parts->labels, "process");
		break;
	case BY_CPU:
		buf_adds(text, "cpu");
		add_id(text, parts->cpu);
		break;
	case BY_CONTAINER:
		add_label(text, k, parts->labels, "container", "container_id");
		break;
	case BY_SERVICE:
		add_label(text, k, parts->labels, "service.name", "service");
		break;
	case BY_POD:
	case BY_NAMESPACE:
	case BY_UNIT:
	case BY_USER:
	case BY_EXECUTABLE:
		add_label(text, k, parts->labels, tree_by_names[by], NULL);
		break;
	case BY_NONE:
	case BY_KEYS:
		break;
	}
}

static uint32_t key_node(struct tree_keys *k, const struct key_parts *parts)
{
	uint32_t node = TREE_ROOT;
	struct buf text = { 0 };
	for (int i = 0; i < k->n; i++) {
		buf_clear(&text);
		add_key(&text, k, k->by[i], parts);
		struct tree_func f = { .name = strtab_putn(&k->t->strings, text.data, text.len),
				       .kind = FRAME_MARKER };
		node = tree_child(k->t, node, tree_func_intern(k->t, &f));
	}
	buf_done(&text);
	return node;
}

/* Different parts may have the same text: they are one group. */
static uint32_t group_of_parts(struct tree_keys *k, const struct key_parts *parts)
{
	uint32_t node = key_node(k, parts);
	const uint32_t *known = map_get(&k->group_of_node, node);
	if (known)
		return *known;
	uint32_t group = k->nodes.n;
	map_put(&k->group_of_node, node, group);
	vec_push(&k->nodes, node);
	return group;
}

struct parts_key {
	const struct tree_keys *k;
	const struct key_parts *parts;
};

static bool parts_same(const void *ctx, uint32_t id)
{
	const struct parts_key *key = ctx;
	return parts_equal(&key->k->seen.v[id], key->parts);
}

static uint32_t find_group(struct tree_keys *k, const struct key_parts *parts)
{
	struct parts_key key = { k, parts };
	uint64_t hash = hash_mix((uint64_t)parts->labels << 32 | parts->cpu,
				 (uint64_t)parts->pid << 32 | parts->tid);
	uint32_t fresh = k->seen.n;
	uint32_t id = map_intern(&k->seen_index, hash, fresh, parts_same, &key);
	if (id == fresh) {
		vec_push(&k->seen, *parts);
		vec_push(&k->group_of_seen, group_of_parts(k, parts));
	}
	return k->group_of_seen.v[id];
}

uint32_t tree_keys_group(struct tree_keys *k, size_t row)
{
	struct key_parts parts = parts_of(k, row);
	if (!k->seen.n || !parts_equal(&parts, &k->last)) {
		k->last_group = find_group(k, &parts);
		k->last = parts;
	}
	return k->last_group;
}
