/* Parses columns of integers and their schemas. */
#include "format/firefox/firefox_tables.h"

#include "base/json/json_read.h"
#include "profile/strtab.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const fx_table_names[FX_TABLES] = {
	"samples", "stackTable", "frameTable", "funcTable", "resourceTable", "sources",
};

/* The target of a table's member: a column, or FX_COLUMNS + a measure. */
static const struct fx_place {
	uint8_t table, column;
	const char *name;
} fx_places[] = {
	{ FX_SAMPLES_TABLE, FX_SAMPLE_STACK, "stack" },
	{ FX_SAMPLES_TABLE, FX_COLUMNS + FX_TIME, "time" },
	{ FX_SAMPLES_TABLE, FX_COLUMNS + FX_TIME_DELTA, "timeDeltas" },
	{ FX_SAMPLES_TABLE, FX_COLUMNS + FX_WEIGHT, "weight" },
	{ FX_SAMPLES_TABLE, FX_COLUMNS + FX_CPU_DELTA, "threadCPUDelta" },
	{ FX_STACK_TABLE, FX_STACK_PREFIX, "prefix" },
	{ FX_STACK_TABLE, FX_STACK_FRAME, "frame" },
	{ FX_FRAME_TABLE, FX_FRAME_FUNC, "func" },
	{ FX_FRAME_TABLE, FX_FRAME_LOCATION, "location" },
	{ FX_FRAME_TABLE, FX_FRAME_ADDRESS, "address" },
	{ FX_FRAME_TABLE, FX_FRAME_CATEGORY, "category" },
	{ FX_FRAME_TABLE, FX_FRAME_LINE, "line" },
	{ FX_FUNC_TABLE, FX_FUNC_NAME, "name" },
	{ FX_FUNC_TABLE, FX_FUNC_IS_JS, "isJS" },
	{ FX_FUNC_TABLE, FX_FUNC_RESOURCE, "resource" },
	{ FX_FUNC_TABLE, FX_FUNC_FILE, "fileName" },
	{ FX_FUNC_TABLE, FX_FUNC_SOURCE, "source" },
	{ FX_FUNC_TABLE, FX_FUNC_LINE, "lineNumber" },
	{ FX_RESOURCE_TABLE, FX_RESOURCE_NAME, "name" },
	{ FX_RESOURCE_TABLE, FX_RESOURCE_LIB, "lib" },
	{ FX_SOURCE_TABLE, FX_SOURCE_FILE, "filename" },
};
enum { FX_PLACES = sizeof fx_places / sizeof *fx_places, FX_NOWHERE = UINT8_MAX };

void fx_tables_done(struct fx_tables *t)
{
	for (int i = 0; i < FX_COLUMNS; i++)
		vec_done(&t->columns[i]);
	for (int i = 0; i < FX_MEASURES; i++)
		vec_done(&t->measures[i]);
	vec_done(&t->strings);
}

struct fx_reading {
	struct fx_tables *t;
	int table;
	struct json_reader *r;
	struct fx_budget *budget;
	struct err *err;
};

static uint8_t fx_place_of(const struct fx_reading *in, const struct json_value *key)
{
	for (int i = 0; i < FX_PLACES; i++)
		if (fx_places[i].table == in->table && json_is(key, fx_places[i].name))
			return fx_places[i].column;
	return FX_NOWHERE;
}

static bool fx_has_room(struct fx_budget *b)
{
	if (b->cells_left == 0) {
		b->skipped++;
		return false;
	}
	b->cells_left--;
	return true;
}

/* v: NULL if missing or not a scalar. */
static void fx_push(struct fx_reading *in, uint8_t place, const struct json_value *v)
{
	if (place == FX_NOWHERE || !fx_has_room(in->budget))
		return;
	if (place >= FX_COLUMNS) {
		double missing = place == FX_COLUMNS + FX_CPU_DELTA ? NAN : 0;
		double number = v && v->token == JSON_NUMBER ? json_double(v) : missing;
		vec_push(&in->t->measures[place - FX_COLUMNS], number);
		return;
	}
	int32_t cell = -1;
	if (v && v->token == JSON_NUMBER && v->is_integer && v->integer >= 0 &&
	    v->integer <= INT32_MAX)
		cell = v->integer;
	else if (v && v->token == JSON_BOOL)
		cell = v->boolean;
	vec_push(&in->t->columns[place], cell);
}

static int fx_read_column(struct fx_reading *in, uint8_t place)
{
	struct json_value v;
	int rc = json_enter(in->r, JSON_ARRAY, in->err);
	if (rc <= 0)
		return rc;
	while ((rc = json_item_next(in->r, in->err)) > 0) {
		rc = json_scalar(in->r, &v, in->err);
		if (rc < 0)
			return rc;
		fx_push(in, place, rc ? &v : NULL);
	}
	return rc;
}

/* --- Gecko: {schema: {name: place in the row}, data: [[…], …]} -------------------------------- */

enum { FX_MAX_ROW = 32 }; /* we need nothing from longer rows */

static int fx_read_schema(struct fx_reading *in, uint8_t places[FX_MAX_ROW])
{
	struct json_value key, v;
	int rc = json_enter(in->r, JSON_OBJECT, in->err);
	if (rc <= 0)
		return rc;
	while ((rc = json_key_next(in->r, &key, in->err)) > 0) {
		uint8_t place = fx_place_of(in, &key);
		rc = json_scalar(in->r, &v, in->err);
		if (rc < 0)
			return rc;
		if (rc && v.is_integer && v.integer >= 0 && v.integer < FX_MAX_ROW)
			places[v.integer] = place;
	}
	return rc;
}

/* Reads a row. If it is shorter than its schema, the rest is null, so that columns have equal
 * lengths. */
static int fx_read_row(struct fx_reading *in, const uint8_t places[FX_MAX_ROW])
{
	struct json_value v;
	int rc = json_enter(in->r, JSON_ARRAY, in->err), i = 0;
	if (rc < 0)
		return rc;
	bool open = rc > 0;
	while (open && (rc = json_item_next(in->r, in->err)) > 0) {
		rc = json_scalar(in->r, &v, in->err);
		if (rc < 0)
			return rc;
		if (i < FX_MAX_ROW)
			fx_push(in, places[i++], rc ? &v : NULL);
	}
	while (i < FX_MAX_ROW)
		fx_push(in, places[i++], NULL);
	return rc;
}

static int fx_read_rows(struct fx_reading *in, const uint8_t places[FX_MAX_ROW])
{
	int rc = json_enter(in->r, JSON_ARRAY, in->err);
	if (rc <= 0)
		return rc;
	while ((rc = json_item_next(in->r, in->err)) > 0) {
		rc = fx_read_row(in, places);
		if (rc < 0)
			return rc;
	}
	return rc;
}

/* --- tables ----------------------------------------------------------------------------------- */

static int fx_read_weight_type(struct fx_reading *in)
{
	struct json_value v;
	int rc = json_scalar(in->r, &v, in->err);
	if (rc > 0 && v.token == JSON_STRING)
		in->t->weight_type = json_is(&v, "tracing-ms") ? FX_TRACING_MS
				     : json_is(&v, "bytes")    ? FX_BYTES
							       : FX_SAMPLES;
	return rc;
}

static int fx_read_members(struct fx_reading *in)
{
	uint8_t places[FX_MAX_ROW];
	struct json_value key;
	memset(places, FX_NOWHERE, sizeof places);
	int rc = json_enter(in->r, JSON_OBJECT, in->err);
	if (rc <= 0)
		return rc;
	while ((rc = json_key_next(in->r, &key, in->err)) > 0) {
		uint8_t place = fx_place_of(in, &key);
		if (place != FX_NOWHERE)
			rc = fx_read_column(in, place);
		else if (json_is(&key, "schema"))
			rc = fx_read_schema(in, places);
		else if (json_is(&key, "data"))
			rc = fx_read_rows(in, places);
		else if (json_is(&key, "weightType"))
			rc = fx_read_weight_type(in);
		else
			rc = json_skip(in->r, in->err);
		if (rc < 0)
			return rc;
	}
	return rc;
}

static int fx_read_strings(struct fx_reading *in, struct strtab *texts)
{
	struct json_value v;
	int rc = json_enter(in->r, JSON_ARRAY, in->err);
	if (rc <= 0)
		return rc;
	while ((rc = json_item_next(in->r, in->err)) > 0) {
		rc = json_scalar(in->r, &v, in->err);
		if (rc < 0)
			return rc;
		bool text = rc && v.token == JSON_STRING;
		if (fx_has_room(in->budget))
			vec_push(&in->t->strings, text ? strtab_putn(texts, v.text, v.len) : 0);
	}
	return rc;
}

int fx_read_table(struct fx_tables *t, const struct json_value *key, struct json_reader *r,
		  struct strtab *texts, struct fx_budget *budget, struct err *err)
{
	struct fx_reading in = { t, 0, r, budget, err };
	int rc;
	if (json_is(key, "stringArray") || json_is(key, "stringTable")) {
		t->has_strings = true;
		rc = fx_read_strings(&in, texts);
		return rc < 0 ? rc : 1;
	}
	for (; in.table < FX_TABLES; in.table++) {
		if (!json_is(key, fx_table_names[in.table]))
			continue;
		t->seen |= 1 << in.table;
		rc = fx_read_members(&in);
		return rc < 0 ? rc : 1;
	}
	return 0;
}
