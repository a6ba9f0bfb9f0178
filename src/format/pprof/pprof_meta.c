/* Writes and parses comments with metadata. */
#include "format/pprof/pprof_meta.h"

#include "base/buf.h"
#include "base/parse.h"
#include "format/pprof/pprof.h"
#include "profile/profile.h"
#include "profile/sink.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

enum { META_NUMBER = 24 }; /* length of the longest number, with its NUL */

enum meta_form { META_TEXT, META_U32, META_64 };
static const struct {
	const char *key;
	enum meta_form form;
	size_t at;
} meta_keys[] = {
	{ "host", META_TEXT, offsetof(struct profile_meta, host) },
	{ "kernel", META_TEXT, offsetof(struct profile_meta, kernel) },
	{ "command", META_TEXT, offsetof(struct profile_meta, command) },
	{ "clock", META_TEXT, offsetof(struct profile_meta, clock) },
	{ "cpus", META_U32, offsetof(struct profile_meta, cpus) },
	{ "start_mono_ns", META_64, offsetof(struct profile_meta, start_mono_ns) },
	{ "own_cpu_ns", META_64, offsetof(struct profile_meta, own_cpu_ns) },
	{ "own_peak_bytes", META_64, offsetof(struct profile_meta, own_peak_bytes) },
};

#define PPROF_LOSS_TIME "ns_"

/* Reads a number from text that need not end in NUL. */
static bool meta_number(const char *s, size_t len, uint64_t *out)
{
	char number[META_NUMBER];
	if (len >= sizeof number)
		return false;
	memcpy(number, s, len);
	number[len] = '\0';
	return strlen(number) == len && parse_u64(number, out) == 0;
}

/* LOSS_REASONS: none of this name. */
static enum loss loss_named(const char *name, size_t len)
{
	for (int i = 0; i < LOSS_REASONS; i++)
		if (strlen(loss_reasons[i].name) == len &&
		    memcmp(loss_reasons[i].name, name, len) == 0)
			return i;
	return LOSS_REASONS;
}

/* key: "ring_full", or "ns_ring_full" for the time that it stands for. */
static bool take_loss(struct sink *sink, const char *key, size_t len, uint64_t n)
{
	size_t prefix = strlen(PPROF_LOSS_TIME);
	bool is_time = len > prefix && memcmp(key, PPROF_LOSS_TIME, prefix) == 0;
	enum loss reason = is_time ? loss_named(key + prefix, len - prefix) : loss_named(key, len);
	if (reason == LOSS_REASONS)
		return false;
	if (is_time)
		sink->ops->loss_time(sink, reason, (int64_t)n);
	else
		sink->ops->loss(sink, reason, n);
	return true;
}

static bool take_column(struct sink *sink, const char *key, size_t key_len, const char *value,
			size_t len, struct pprof_column *columns, size_t n_columns)
{
	const char *dot = memchr(key, '.', key_len);
	uint64_t i, number = 0;
	if (!dot || !meta_number(key, dot - key, &i) || i >= n_columns)
		return false;
	struct pprof_column *c = &columns[i];
	const char *field = dot + 1;
	size_t field_len = key + key_len - field;
	bool is_number = meta_number(value, len, &number);
#define FIELD_IS(s) (field_len == sizeof(s) - 1 && memcmp(field, s, sizeof(s) - 1) == 0)
	if (FIELD_IS("name"))
		c->type.name = sink->ops->string(sink, value, len);
	else if (FIELD_IS("period_type"))
		c->type.period_type = sink->ops->string(sink, value, len);
	else if (FIELD_IS("period_unit"))
		c->type.period_unit = sink->ops->string(sink, value, len);
	else if (FIELD_IS("period") && is_number)
		c->period = number;
	else if (FIELD_IS("snapshot") && is_number)
		c->type.aggregation = number ? AGG_SNAPSHOT : AGG_SUM;
	else if (FIELD_IS("derived") && is_number && i > 0)
		c->derived = number;
	else
		return false;
#undef FIELD_IS
	return true;
}

static bool take_meta(struct sink *sink, const char *key, size_t key_len, const char *value,
		      size_t len)
{
	uint64_t number = 0;
	bool is_number = meta_number(value, len, &number);
	for (size_t i = 0; i < sizeof meta_keys / sizeof *meta_keys; i++) {
		if (strlen(meta_keys[i].key) != key_len || memcmp(meta_keys[i].key, key, key_len))
			continue;
		char *at = (char *)sink->ops->meta(sink) + meta_keys[i].at;
		uint32_t small = number;
		if (meta_keys[i].form == META_TEXT)
			small = sink->ops->string(sink, value, len);
		else if (!is_number || (meta_keys[i].form == META_U32 && number > UINT32_MAX))
			return false;
		if (meta_keys[i].form == META_64)
			memcpy(at, &number, sizeof number);
		else
			memcpy(at, &small, sizeof small);
		return true;
	}
	return false;
}

bool pprof_meta_take(struct sink *sink, const char *text, size_t len, struct pprof_column *columns,
		     size_t n_columns)
{
	const char *end = text + len, *equals;
	if (len < strlen(PPROF_COMMENT) || memcmp(text, PPROF_COMMENT, strlen(PPROF_COMMENT)) != 0)
		return false;
	text += strlen(PPROF_COMMENT);
	equals = memchr(text, '=', end - text);
	if (!equals)
		return false;
	const char *value = equals + 1;
	size_t key_len = equals - text, value_len = end - value;
	uint64_t n;
	if (key_len > strlen("column") && memcmp(text, "column", strlen("column")) == 0)
		return take_column(sink, text + strlen("column"), key_len - strlen("column"), value,
				   value_len, columns, n_columns);
	if (key_len > strlen("lost_") && memcmp(text, "lost_", strlen("lost_")) == 0)
		return meta_number(value, value_len, &n) &&
		       take_loss(sink, text + strlen("lost_"), key_len - strlen("lost_"), n);
	return take_meta(sink, text, key_len, value, value_len);
}

/* --- writing ---------------------------------------------------------------------------------- */

struct meta_giver {
	const struct profile *p;
	void (*add)(void *ctx, const struct buf *text);
	void *ctx;
	struct buf text;
};

static void give_text(struct meta_giver *g, const char *prefix, const char *key, uint32_t string)
{
	buf_clear(&g->text);
	buf_addf(&g->text, PPROF_COMMENT "%s%s=", prefix, key);
	buf_add(&g->text, profile_str(g->p, string), strtab_len(&g->p->strings, string));
	g->add(g->ctx, &g->text);
}

static void give_number(struct meta_giver *g, const char *prefix, const char *key, uint64_t n)
{
	buf_clear(&g->text);
	buf_addf(&g->text, PPROF_COMMENT "%s%s=%" PRIu64, prefix, key, n);
	g->add(g->ctx, &g->text);
}

void pprof_meta_give(const struct profile *p, void (*add)(void *ctx, const struct buf *text),
		     void *ctx)
{
	struct meta_giver g = { .p = p, .add = add, .ctx = ctx };
	for (size_t i = 0; i < sizeof meta_keys / sizeof *meta_keys; i++) {
		const char *at = (const char *)&p->meta + meta_keys[i].at;
		uint32_t small;
		uint64_t number;
		memcpy(&small, at, sizeof small);
		if (meta_keys[i].form == META_64)
			memcpy(&number, at, sizeof number);
		else
			number = small;
		if (number == 0)
			continue;
		if (meta_keys[i].form == META_TEXT)
			give_text(&g, "", meta_keys[i].key, small);
		else
			give_number(&g, "", meta_keys[i].key, number);
	}
	for (int i = 0; i < LOSS_REASONS; i++)
		if (p->meta.loss[i])
			give_number(&g, "lost_", loss_reasons[i].name, p->meta.loss[i]);
	for (int i = 0; i < LOSS_REASONS; i++)
		if (p->meta.loss_ns[i])
			give_number(&g, "lost_" PPROF_LOSS_TIME, loss_reasons[i].name,
				    (uint64_t)p->meta.loss_ns[i]);
	buf_done(&g.text);
}

void pprof_meta_give_column(const struct profile *p, size_t index, const struct pprof_column *real,
			    const struct pprof_column *guessed,
			    void (*add)(void *ctx, const struct buf *text), void *ctx)
{
	struct meta_giver g = { .p = p, .add = add, .ctx = ctx };
	char prefix[32];
	snprintf(prefix, sizeof prefix, "column%zu.", index);
	if (real->derived) {
		give_number(&g, prefix, "derived", 1);
		buf_done(&g.text);
		return;
	}
	if (real->type.name != guessed->type.name)
		give_text(&g, prefix, "name", real->type.name);
	if (real->type.period_type != guessed->type.period_type)
		give_text(&g, prefix, "period_type", real->type.period_type);
	if (real->type.period_unit != guessed->type.period_unit)
		give_text(&g, prefix, "period_unit", real->type.period_unit);
	if (real->period != guessed->period)
		give_number(&g, prefix, "period", real->period);
	if (real->type.aggregation != guessed->type.aggregation)
		give_number(&g, prefix, "snapshot", real->type.aggregation == AGG_SNAPSHOT);
	buf_done(&g.text);
}
