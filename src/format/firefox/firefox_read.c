/* Reads Gecko and processed profiles of all versions. */
#include "format/firefox/firefox_tables.h"

#include "base/input.h"
#include "base/json/json_read.h"
#include "base/mem.h"
#include "format/common/value.h"
#include "format/firefox/firefox.h"
#include "profile/sink.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Reads a member's value into a string of texts; skips values other than text. */
static int fx_read_text(struct fx_reader *f, uint32_t *text)
{
	struct json_value v;
	int rc = json_scalar(f->json, &v, f->err);
	if (rc > 0 && v.token == JSON_STRING)
		*text = strtab_putn(&f->texts, v.text, v.len);
	return rc;
}

static int fx_read_number(struct fx_reader *f, double *number)
{
	struct json_value v;
	int rc = json_scalar(f->json, &v, f->err);
	if (rc > 0 && v.token == JSON_NUMBER && isfinite(json_double(&v)))
		*number = json_double(&v);
	return rc;
}

/* Reads a pid or tid: a number, or text that starts with one ("12.1" for processes that shared a
 * pid). */
static int fx_read_id(struct fx_reader *f, uint32_t *id)
{
	struct json_value v;
	int rc = json_scalar(f->json, &v, f->err);
	if (rc <= 0 || v.len == 0 || v.text[0] < '0' || v.text[0] > '9')
		return rc;
	if (v.token == JSON_NUMBER || v.token == JSON_STRING) {
		unsigned long long n = strtoull(v.text, NULL, 10);
		*id = n < SAMPLE_NO_ID ? n : SAMPLE_NO_ID;
	}
	return rc;
}

/* --- meta, libs ------------------------------------------------------------------------------- */

static uint8_t fx_kind_of_category(const struct strtab *texts, uint32_t name)
{
	for (int kind = 0; kind < FRAME_KINDS; kind++)
		if (strcasecmp(firefox_categories[kind].name, strtab_get(texts, name)) == 0)
			return kind;
	return FRAME_KINDS;
}

static int fx_read_category(struct fx_reader *f, struct fx_process *p)
{
	struct json_value key;
	uint32_t name = 0;
	int rc = json_enter(f->json, JSON_OBJECT, f->err);
	while (rc > 0 && (rc = json_key_next(f->json, &key, f->err)) > 0) {
		rc = json_is(&key, "name") ? fx_read_text(f, &name) : json_skip(f->json, f->err);
		rc = rc < 0 ? rc : 1;
	}
	if (p->kinds.n < UINT16_MAX)
		vec_push(&p->kinds, fx_kind_of_category(&f->texts, name));
	return rc;
}

static int fx_read_lib(struct fx_reader *f, struct fx_process *p)
{
	struct fx_lib lib = { .order = p->libs.n, .id = f->n_libs++ };
	struct json_value key;
	double start = 0, end = 0;
	int rc = json_enter(f->json, JSON_OBJECT, f->err);
	while (rc > 0 && (rc = json_key_next(f->json, &key, f->err)) > 0) {
		if (json_is(&key, "name"))
			rc = fx_read_text(f, &lib.name);
		else if (json_is(&key, "path"))
			rc = fx_read_text(f, &lib.path);
		else if (json_is(&key, "codeId"))
			rc = fx_read_text(f, &lib.code_id);
		else if (json_is(&key, "start"))
			rc = fx_read_number(f, &start);
		else if (json_is(&key, "end"))
			rc = fx_read_number(f, &end);
		else
			rc = json_skip(f->json, f->err);
		rc = rc < 0 ? rc : 1;
	}
	if (rc < 0)
		return rc;
	lib.start = start > 0 ? value_clamp(start) : 0;
	lib.end = end > 0 ? value_clamp(end) : 0;
	if (f->budget.cells_left) {
		f->budget.cells_left--;
		vec_push(&p->libs, lib);
	} else {
		f->budget.skipped++;
	}
	return 0;
}

/* Calls read_item for each item of an array. */
static int fx_read_list(struct fx_reader *f, struct fx_process *p,
			int (*read_item)(struct fx_reader *f, struct fx_process *p))
{
	int rc = json_enter(f->json, JSON_ARRAY, f->err);
	if (rc <= 0)
		return rc;
	while ((rc = json_item_next(f->json, f->err)) > 0) {
		rc = read_item(f, p);
		if (rc < 0)
			return rc;
	}
	return rc;
}

static int fx_read_libs(struct fx_reader *f, struct fx_process *p, struct fx_libs *out)
{
	out->first = p->libs.n;
	int rc = fx_read_list(f, p, fx_read_lib);
	out->n = p->libs.n - out->first;
	return rc;
}

static void fx_keep_type(struct fx_reader *f, uint32_t label, uint32_t value)
{
	const struct {
		const char *label;
		uint32_t *to;
	} known[] = { { "type", &f->type.name },
		      { "sample type", &f->type.sample_type },
		      { "unit", &f->type.unit },
		      { "period type", &f->type.period_type },
		      { "period unit", &f->type.period_unit } };
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		if (strcmp(known[i].label, strtab_get(&f->texts, label)) != 0)
			continue;
		*known[i].to = value;
		f->type.is_said = true;
	}
	if (strcmp(strtab_get(&f->texts, label), "period") == 0)
		f->type.period = strtoll(strtab_get(&f->texts, value), NULL, 10);
}

static int fx_read_extra_entry(struct fx_reader *f, struct fx_process *p)
{
	struct json_value key;
	uint32_t label = 0, value = 0;
	int rc = json_enter(f->json, JSON_OBJECT, f->err);
	(void)p;
	while (rc > 0 && (rc = json_key_next(f->json, &key, f->err)) > 0) {
		if (json_is(&key, "label"))
			rc = fx_read_text(f, &label);
		else if (json_is(&key, "value"))
			rc = fx_read_text(f, &value);
		else
			rc = json_skip(f->json, f->err);
		rc = rc < 0 ? rc : 1;
	}
	if (rc == 0)
		fx_keep_type(f, label, value);
	return rc;
}

/* Reads {"label": "cresset", "entries": […]}, in this order. */
static int fx_read_extra(struct fx_reader *f, struct fx_process *p)
{
	struct json_value key;
	uint32_t label = 0;
	int rc = json_enter(f->json, JSON_OBJECT, f->err);
	while (rc > 0 && (rc = json_key_next(f->json, &key, f->err)) > 0) {
		bool ours = strcmp(strtab_get(&f->texts, label), "cresset") == 0;
		if (json_is(&key, "label"))
			rc = fx_read_text(f, &label);
		else if (ours && json_is(&key, "entries"))
			rc = fx_read_list(f, p, fx_read_extra_entry);
		else
			rc = json_skip(f->json, f->err);
		rc = rc < 0 ? rc : 1;
	}
	return rc;
}

/* Reads {"threadCPUDelta": "ns", …}. */
static int fx_read_units(struct fx_reader *f, struct fx_process *p)
{
	struct json_value key;
	int rc = json_enter(f->json, JSON_OBJECT, f->err);
	while (rc > 0 && (rc = json_key_next(f->json, &key, f->err)) > 0) {
		rc = json_is(&key, "threadCPUDelta") ? fx_read_text(f, &p->cpu_unit)
						     : json_skip(f->json, f->err);
		rc = rc < 0 ? rc : 1;
	}
	return rc;
}

static int fx_read_meta(struct fx_reader *f, struct fx_process *p)
{
	struct json_value key;
	int rc = json_enter(f->json, JSON_OBJECT, f->err);
	while (rc > 0 && (rc = json_key_next(f->json, &key, f->err)) > 0) {
		if (json_is(&key, "startTime"))
			rc = fx_read_number(f, &p->start_ms);
		else if (json_is(&key, "interval"))
			rc = fx_read_number(f, &p->interval_ms);
		else if (json_is(&key, "importedFrom"))
			rc = fx_read_text(f, &f->origin);
		else if (json_is(&key, "sampleUnits"))
			rc = fx_read_units(f, p);
		else if (json_is(&key, "categories"))
			rc = fx_read_list(f, p, fx_read_category);
		else if (json_is(&key, "extra"))
			rc = fx_read_list(f, p, fx_read_extra);
		else
			rc = json_skip(f->json, f->err);
		rc = rc < 0 ? rc : 1;
	}
	return rc;
}

/* --- threads ---------------------------------------------------------------------------------- */

static int fx_read_thread_member(struct fx_reader *f, struct fx_process *p, struct fx_thread *t,
				 const struct json_value *key)
{
	if (json_is(key, "name"))
		return fx_read_text(f, &t->name);
	if (json_is(key, "processName"))
		return fx_read_text(f, &t->process_name);
	if (json_is(key, "pid"))
		return fx_read_id(f, &t->pid);
	if (json_is(key, "tid"))
		return fx_read_id(f, &t->tid);
	if (json_is(key, "libs"))
		return fx_read_libs(f, p, &t->libs);
	int rc = fx_read_table(&t->tables, key, f->json, &f->texts, &f->budget, f->err);
	return rc ? rc : json_skip(f->json, f->err);
}

static int fx_read_thread(struct fx_reader *f, struct fx_process *p)
{
	struct json_value key;
	if (f->threads.n >= FIREFOX_MAX_THREADS) {
		f->budget.skipped++;
		return json_skip(f->json, f->err);
	}
	struct fx_thread *t = xcalloc(1, sizeof *t);
	t->process = p->index;
	t->pid = t->tid = SAMPLE_NO_ID;
	vec_push(&f->threads, t);
	int rc = json_enter(f->json, JSON_OBJECT, f->err);
	while (rc > 0 && (rc = json_key_next(f->json, &key, f->err)) > 0) {
		rc = fx_read_thread_member(f, p, t, &key);
		rc = rc < 0 ? rc : 1;
	}
	return rc;
}

static int fx_read_shared(struct fx_reader *f, struct fx_process *p)
{
	struct json_value key;
	int rc = json_enter(f->json, JSON_OBJECT, f->err);
	while (rc > 0 && (rc = json_key_next(f->json, &key, f->err)) > 0) {
		rc = fx_read_table(&p->shared, &key, f->json, &f->texts, &f->budget, f->err);
		if (rc == 0)
			rc = json_skip(f->json, f->err);
		rc = rc < 0 ? rc : 1;
	}
	return rc;
}

/* Reads a profile: the whole file, or one nested in it, up to the nesting limit of JSON. */
static int fx_read_profile(struct fx_reader *f, struct fx_process *outer)
{
	struct json_value key;
	(void)outer;
	if (f->processes.n >= FIREFOX_MAX_PROCESSES) {
		f->budget.skipped++;
		return json_skip(f->json, f->err);
	}
	struct fx_process *p = xcalloc(1, sizeof *p);
	p->index = f->processes.n;
	vec_push(&f->processes, p);
	int rc = json_enter(f->json, JSON_OBJECT, f->err);
	while (rc > 0 && (rc = json_key_next(f->json, &key, f->err)) > 0) {
		if (json_is(&key, "meta"))
			rc = fx_read_meta(f, p);
		else if (json_is(&key, "libs"))
			rc = fx_read_libs(f, p, &p->own);
		else if (json_is(&key, "threads"))
			rc = fx_read_list(f, p, fx_read_thread);
		else if (json_is(&key, "shared"))
			rc = fx_read_shared(f, p);
		else if (json_is(&key, "processes"))
			rc = fx_read_list(f, p, fx_read_profile);
		else if (json_is(&key, "profile")) /* in files saved by the developer tools */
			rc = fx_read_profile(f, p);
		else
			rc = json_skip(f->json, f->err);
		rc = rc < 0 ? rc : 1;
	}
	return rc;
}

/* --- the file --------------------------------------------------------------------------------- */

static void fx_reader_done(struct fx_reader *f)
{
	for (size_t i = 0; i < f->threads.n; i++) {
		fx_tables_done(&f->threads.v[i]->tables);
		free(f->threads.v[i]);
	}
	vec_done(&f->threads);
	for (size_t i = 0; i < f->processes.n; i++) {
		struct fx_process *p = f->processes.v[i];
		vec_done(&p->libs);
		vec_done(&p->by_start);
		vec_done(&p->kinds);
		fx_tables_done(&p->shared);
		fx_stacks_done(&p->shared_stacks);
		free(p);
	}
	vec_done(&f->processes);
	strtab_done(&f->texts);
	json_reader_free(f->json);
}

int firefox_read(struct input *in, struct sink *sink, struct err *err)
{
	return firefox_read_here(in, sink, NULL, err);
}

int firefox_read_here(struct input *in, struct sink *sink, const struct format_here *here,
		      struct err *err)
{
	struct fx_reader f = { .sink = sink,
			       .here = here,
			       .json = json_reader_new(in),
			       .err = err,
			       .budget = { .cells_left = FIREFOX_MAX_CELLS },
			       .first_ns = INT64_MAX,
			       .last_ns = INT64_MIN };
	strtab_init(&f.texts);
	json_set_lenient(f.json);
	int rc = fx_read_profile(&f, NULL);
	if (rc == 0)
		rc = fx_give(&f, input_name(in));
	fx_reader_done(&f);
	return rc;
}

/* --- detection -------------------------------------------------------------------------------- */

struct fx_signs {
	bool meta, threads, profile, other;
};

static bool fx_sign(void *ctx, const struct json_value *key, const struct json_value *value,
		    int depth)
{
	struct fx_signs *s = ctx;
	s->other |= depth != 1 || json_is(key, "traceEvents") || json_is(key, "$schema");
	s->meta |= json_is(key, "meta") && value->token == JSON_OBJECT;
	s->threads |= json_is(key, "threads") && value->token == JSON_ARRAY;
	s->profile |= json_is(key, "profile") && value->token == JSON_OBJECT;
	return !s->other;
}

static bool fx_has(const char *head, size_t len, const char *word)
{
	return memmem(head, len, word, strlen(word)) != NULL;
}

bool firefox_detect(const char *head, size_t len)
{
	struct fx_signs s = { 0 };
	if (!json_peek_keys(head, len, fx_sign, &s) || s.other)
		return false;
	return (s.meta &&
		(fx_has(head, len, "\"preprocessedProfileVersion\"") ||
		 fx_has(head, len, "\"stackwalk\"") || fx_has(head, len, "\"interval\""))) ||
	       (s.threads &&
		(fx_has(head, len, "\"stackTable\"") || fx_has(head, len, "\"frameTable\"") ||
		 fx_has(head, len, "\"processType\""))) ||
	       (s.profile &&
		(fx_has(head, len, "\"breakpadId\"") || fx_has(head, len, "\"stackwalk\"")));
}
