/* Reads the dictionary tables, and converts locations when used. */
#include "format/otlp/otlp_tables.h"

#include "base/hash.h"
#include "base/parse.h"
#include "base/pb.h"
#include "format/pprof/pprof.h"
#include "profile/link.h"
#include "profile/sink.h"

#include <string.h>
#include <xxhash.h>

void otlp_tables_init(struct otlp_tables *t, struct sink *sink, const void *file)
{
	*t = (struct otlp_tables){
		.sink = sink, .file = file, .no_mapping = UINT32_MAX, .kernel = UINT32_MAX
	};
}

void otlp_tables_done(struct otlp_tables *t)
{
	for (int i = 0; i < OTLP_TABLES; i++) {
		vec_done(&t->of[i].all);
		vec_done(&t->of[i].ids);
	}
	vec_done(&t->attrs);
	vec_done(&t->mappings);
	vec_done(&t->functions);
	vec_done(&t->lines);
	vec_done(&t->frames);
	vec_done(&t->lines_of_frame);
}

bool otlp_tables_add(struct otlp_tables *t, struct cur c)
{
	struct pb_field f;
	for (const uint8_t *at = c.p; pb_next(&c, &f); at = c.p) {
		if (f.wire != PB_LEN || f.num >= OTLP_TABLES)
			continue;
		struct otlp_entries *e = &t->of[f.num];
		if (e->all.n == OTLP_MAX_ENTRIES)
			return false;
		e->from = e->from ? e->from : at;
		e->is_torn |= e->to && e->to != at;
		e->to = c.p;
		vec_push(&e->all, (struct otlp_entry){ f.len.p - t->file, cur_left(&f.len) });
	}
	t->skipped += c.bad;
	return true;
}

/* --- tables of an earlier message ------------------------------------------------------------- */

static struct otlp_seen_table seen_table(const struct otlp_entries *e, uint64_t bytes, uint32_t n)
{
	XXH128_hash_t h = XXH3_128bits(e->from, bytes);
	return (struct otlp_seen_table){ .bytes = bytes, .hash = { h.low64, h.high64 }, .n = n };
}

/* Whether the first entries equal the earlier table, byte by byte. */
static bool begins_with(const struct otlp_tables *t, const struct otlp_entries *e,
			const struct otlp_seen_table *s)
{
	if (s->n == 0)
		return true;
	if (e->is_torn || e->all.n < s->n)
		return false;
	const struct otlp_entry *last = &e->all.v[s->n - 1];
	if (t->file + last->at + last->len != e->from + s->bytes)
		return false;
	struct otlp_seen_table now = seen_table(e, s->bytes, s->n);
	return now.hash[0] == s->hash[0] && now.hash[1] == s->hash[1];
}

static struct cur entry_cur(const struct otlp_tables *t, const struct otlp_entry *e)
{
	return cur_of(t->file + e->at, e->len);
}

/* Whether a role belongs to mappings and locations. Labels and threads differ from message to
 * message. */
static bool is_of_frames(enum otlp_role role)
{
	return (role >= ATTR_FRAME_TYPE && role <= ATTR_BUILD_ID_HASH) ||
	       (role >= ATTR_IDENTITY && role <= ATTR_AT_ZERO);
}

/* Hashes the first `n` attributes of frames with their indices. With fewer than n the hash
 * differs. */
static struct otlp_seen_table seen_attrs(const struct otlp_tables *t, uint32_t n)
{
	struct otlp_seen_table seen = { 0 };
	for (size_t i = 0; i < t->attrs.n && seen.n < n; i++) {
		if (!is_of_frames(t->attrs.v[i].role))
			continue;
		struct cur entry = entry_cur(t, &t->of[TABLE_ATTRIBUTE].all.v[i]);
		seen.hash[0] = hash_mix(seen.hash[0] ^ i, hash_bytes(entry.p, cur_left(&entry)));
		seen.n++;
	}
	return seen;
}

void otlp_tables_compare(struct otlp_tables *t)
{
	const enum otlp_table whole[] = { TABLE_MAPPING, TABLE_LOCATION, TABLE_FUNCTION,
					  TABLE_STRING, TABLE_STACK };
	struct otlp_known_stacks *k = t->known;
	const struct otlp_seen_table *before = &k->before.of[TABLE_ATTRIBUTE];
	struct otlp_seen_table attrs = seen_attrs(t, before->n);
	k->follows = k->n > 0 && attrs.n == before->n && attrs.hash[0] == before->hash[0];
	k->now.of[TABLE_ATTRIBUTE] = seen_attrs(t, UINT32_MAX);
	k->stacks = t->of[TABLE_STACK].all.n;
	for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
		const struct otlp_entries *e = &t->of[whole[i]];
		k->follows = k->follows && begins_with(t, e, &k->before.of[whole[i]]);
		if (e->is_torn)
			k->stacks = 0;
		else if (e->all.n)
			k->now.of[whole[i]] = seen_table(e, e->to - e->from, e->all.n);
	}
}

struct cur otlp_text(const struct otlp_tables *t, uint64_t index)
{
	const struct otlp_entries *e = &t->of[TABLE_STRING];
	return index < e->all.n ? entry_cur(t, &e->all.v[index]) : cur_of("", 0);
}

uint32_t otlp_string(struct otlp_tables *t, uint64_t index)
{
	struct otlp_entries *e = &t->of[TABLE_STRING];
	if (index >= e->all.n) {
		t->skipped += index != 0;
		return 0;
	}
	if (e->ids.v[index] == UINT32_MAX) {
		struct cur text = otlp_text(t, index);
		e->ids.v[index] =
			t->sink->ops->string(t->sink, (const char *)text.p, cur_left(&text));
	}
	return e->ids.v[index];
}

/* --- attributes ------------------------------------------------------------------------------- */

/* Caches roles by key. There are few keys, and all attributes with one share its bytes in the
 * message. */
static enum otlp_role role_of_key(struct otlp_tables *t, struct cur key)
{
	struct otlp_key_memo *memo = &t->key_memos[((uintptr_t)key.p >> 2) % OTLP_KEY_MEMOS];
	if (memo->key != key.p || memo->len != cur_left(&key)) {
		memo->key = key.p;
		memo->len = cur_left(&key);
		memo->role = otlp_role_of_key((const char *)key.p, memo->len);
	}
	return memo->role;
}

/* Field 1 is the key in a KeyValue and the key's index in a table entry; older messages have
 * KeyValues in the table as well. */
static void attr_take_field(struct otlp_tables *t, struct otlp_attr *a, const struct pb_field *f,
			    bool of_table)
{
	if (f->num == KEY_VALUE_KEY && f->wire == PB_LEN)
		a->key = f->len;
	else if (f->num == ATTRIBUTE_KEY_INDEX && f->wire == PB_VARINT && of_table)
		a->key = otlp_text(t, f->u);
	else if (f->num == KEY_VALUE_KEY_INDEX && f->wire == PB_VARINT && !of_table)
		a->key = otlp_text(t, f->u);
	else if (f->num == ATTRIBUTE_UNIT_INDEX && f->wire == PB_VARINT)
		a->unit = f->u;
	else if (f->num == ATTRIBUTE_VALUE && f->wire == PB_LEN)
		t->skipped += !otlp_value_read(f->len, &a->value);
}

static bool attr_read(struct otlp_tables *t, struct cur c, struct otlp_attr *a, bool of_table)
{
	struct pb_field f;
	*a = (struct otlp_attr){ .key = cur_of("", 0) };
	while (pb_next(&c, &f))
		attr_take_field(t, a, &f, of_table);
	if (a->value.form == FORM_STRING_INDEX) {
		a->value.form = FORM_TEXT;
		a->value.text = otlp_text(t, a->value.number);
	}
	a->role = role_of_key(t, a->key);
	return !c.bad;
}

bool otlp_attr_read(struct otlp_tables *t, struct cur c, struct otlp_attr *a)
{
	return attr_read(t, c, a, false);
}

struct otlp_attr *otlp_attr_at(struct otlp_tables *t, uint64_t index)
{
	return index < t->attrs.n ? &t->attrs.v[index] : NULL;
}

bool otlp_attr_label(struct otlp_tables *t, struct otlp_attr *a, struct label *label)
{
	char room[OTLP_VALUE_ROOM];
	const char *name = otlp_roles[a->role].label;
	if (a->value.form == FORM_NONE || (cur_left(&a->key) == 0 && !name))
		return false;
	if (!a->has_label) {
		struct label l = { .is_num = a->value.form == FORM_NUMBER && !a->value.is_bool &&
					     !name };
		struct cur text = otlp_value_text(&a->value, room);
		struct sink *s = t->sink;
		l.key = name ? sink_string(s, name)
			     : s->ops->string(s, (const char *)a->key.p, cur_left(&a->key));
		if (l.is_num) {
			l.num = a->value.number;
			l.unit = otlp_string(t, a->unit);
		} else {
			l.str = s->ops->string(s, (const char *)text.p, cur_left(&text));
		}
		a->label = l;
		a->has_label = true;
	}
	*label = a->label;
	return true;
}

/* --- functions and mappings ------------------------------------------------------------------- */

const struct otlp_function *otlp_function(struct otlp_tables *t, uint64_t index)
{
	if (index >= t->functions.n)
		return NULL;
	struct otlp_function *fn = &t->functions.v[index];
	if (fn->is_loaded)
		return fn;
	fn->is_loaded = true;
	struct cur c = entry_cur(t, &t->of[TABLE_FUNCTION].all.v[index]);
	struct pb_field f;
	while (pb_next(&c, &f)) {
		if (f.num >= OTLP_FUNCTION_NAME && f.num <= OTLP_FUNCTION_FILE)
			fn->text[f.num - OTLP_FUNCTION_NAME] = f.u;
		else if (f.num == OTLP_FUNCTION_START_LINE)
			fn->f.start_line = f.u <= INT32_MAX ? f.u : 0;
	}
	t->skipped += c.bad;
	fn->f.name = otlp_string(t, fn->text[FUNCTION_TEXT_NAME]);
	fn->f.linkage = otlp_string(t, fn->text[FUNCTION_TEXT_LINKAGE]);
	fn->f.file = otlp_string(t, fn->text[FUNCTION_TEXT_FILE]);
	fn->id = t->sink->ops->function(t->sink, &fn->f);
	return fn;
}

/* Converts hex to the raw build id; retains any other text unchanged. */
static void set_build_id(struct otlp_tables *t, struct mapping *m, struct cur s)
{
	const char *text = (const char *)s.p;
	size_t len = cur_left(&s);

	m->build_id_len = parse_hex(text, len, m->build_id, BUILD_ID_MAX);
	if (!m->build_id_len)
		m->build_id_text = t->sink->ops->string(t->sink, text, len);
}

struct mapping_ids {
	struct cur gnu, go, hash;
	bool given;
};

static void mapping_take_attr(struct otlp_tables *t, struct otlp_mapping *m,
			      struct mapping_ids *ids, uint64_t index)
{
	const struct otlp_attr *a = otlp_attr_at(t, index);
	if (!a)
		t->skipped++;
	else if (a->role == ATTR_BUILD_ID_GNU)
		ids->gnu = a->value.text;
	else if (a->role == ATTR_BUILD_ID_GO)
		ids->go = a->value.text;
	else if (a->role == ATTR_BUILD_ID_HASH)
		ids->hash = a->value.text;
	else if (a->role == ATTR_IDENTITY)
		m->model.identity = a->value.number;
	else if (a->role == ATTR_MAPPING)
		m->model.flags = (a->value.number & (MAPPING_AS_GIVEN - 1)) | MAPPING_AS_GIVEN;
}

/* Uses the first id that is set. */
static void mapping_take_ids(struct otlp_tables *t, struct mapping *m,
			     const struct mapping_ids *ids)
{
	if (cur_left(&ids->gnu))
		set_build_id(t, m, ids->gnu);
	else if (cur_left(&ids->go))
		set_build_id(t, m, ids->go);
	else if (cur_left(&ids->hash) && !m->identity)
		m->identity = hash_bytes(ids->hash.p, cur_left(&ids->hash));
}

static void mapping_finish(struct otlp_tables *t, struct otlp_mapping *m, struct cur name)
{
	struct mapping *model = &m->model;
	bool given = model->flags & MAPPING_AS_GIVEN, has_range = model->start || model->offset;
	bool has_id = model->build_id_len || model->build_id_text || model->identity;
	bool is_empty = cur_left(&name) == 0 && !has_id && !has_range && !model->limit;
	m->name_only = !has_id && !has_range && !model->limit && !given;
	if (cur_starts(name, OTLP_KERNEL_PREFIX))
		m->place = PLACE_KERNEL;
	else if (is_empty && !given)
		m->place = PLACE_NONE;
	if (has_range)
		model->flags |= MAPPING_AS_GIVEN;
	if (!(model->flags & MAPPING_AS_GIVEN))
		model->limit = 0;
	if (cur_is(name, PPROF_KERNEL))
		model->name = sink_string(t->sink, "[kernel]");
}

static void load_mapping(struct otlp_tables *t, struct cur c)
{
	struct otlp_mapping m = { .id = UINT32_MAX };
	struct mapping_ids ids = { 0 };
	struct pb_field f;
	uint64_t name = 0;
	while (pb_next(&c, &f)) {
		if (f.num == OTLP_MAPPING_START)
			m.model.start = f.u;
		else if (f.num == OTLP_MAPPING_LIMIT)
			m.model.limit = f.u;
		else if (f.num == OTLP_MAPPING_OFFSET)
			m.model.offset = f.u;
		else if (f.num == OTLP_MAPPING_NAME)
			name = f.u;
		else if (f.num == OTLP_MAPPING_ATTRIBUTES)
			for (struct cur a = f.len; cur_left(&a);)
				mapping_take_attr(t, &m, &ids, cur_varint(&a));
	}
	t->skipped += c.bad;
	m.model.name = otlp_string(t, name);
	mapping_take_ids(t, &m.model, &ids);
	mapping_finish(t, &m, otlp_text(t, name));
	vec_push(&t->mappings, m);
}

/* --- links ------------------------------------------------------------------------------------ */

static void link_take_field(struct trace_link *link, const struct pb_field *f)
{
	size_t len = cur_left(&f->len);
	if (f->num == OTLP_LINK_TRACE && f->wire == PB_LEN && len == LINK_TRACE_BYTES)
		memcpy(link->trace, f->len.p, len);
	else if (f->num == OTLP_LINK_SPAN && f->wire == PB_LEN && len == LINK_SPAN_BYTES)
		memcpy(link->span, f->len.p, len);
}

/* Only links that the sink accepted are cached: it counts each sample that loses its link. */
uint32_t otlp_link(struct otlp_tables *t, uint64_t index)
{
	struct otlp_entries *e = &t->of[TABLE_LINK];
	struct trace_link link = { 0 };
	struct pb_field f;
	if (index >= e->all.n) {
		t->skipped += index != 0;
		return 0;
	}
	if (e->ids.v[index] != UINT32_MAX)
		return e->ids.v[index];
	for (struct cur c = entry_cur(t, &e->all.v[index]); pb_next(&c, &f);)
		link_take_field(&link, &f);
	uint32_t id = link_is_none(&link) ? 0 : t->sink->ops->link(t->sink, &link);
	if (id || link_is_none(&link))
		e->ids.v[index] = id;
	return id;
}

/* --- all tables ------------------------------------------------------------------------------- */

void otlp_tables_load(struct otlp_tables *t)
{
	for (int i = 0; i < OTLP_TABLES; i++) {
		struct otlp_entries *e = &t->of[i];
		vec_reserve(&e->ids, e->all.n);
		e->ids.n = e->all.n;
		if (e->ids.n)
			memset(e->ids.v, 0xff, e->ids.n * sizeof *e->ids.v);
	}
	const struct otlp_entries *attrs = &t->of[TABLE_ATTRIBUTE];
	vec_reserve(&t->attrs, attrs->all.n);
	for (size_t i = 0; i < attrs->all.n; i++) {
		struct otlp_attr a;
		t->skipped += !attr_read(t, entry_cur(t, &attrs->all.v[i]), &a, true);
		vec_push(&t->attrs, a);
	}
	for (size_t i = 0; i < t->of[TABLE_MAPPING].all.n; i++)
		load_mapping(t, entry_cur(t, &t->of[TABLE_MAPPING].all.v[i]));
	vec_reserve(&t->functions, t->of[TABLE_FUNCTION].all.n);
	t->functions.n = t->of[TABLE_FUNCTION].all.n;
	if (t->functions.n)
		memset(t->functions.v, 0, t->functions.n * sizeof *t->functions.v);
}
