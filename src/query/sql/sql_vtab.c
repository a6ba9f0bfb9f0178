/* Code shared by all tables. */
#include "base/mem.h"
#include "profile/profile.h"
#include "profile/strtab.h"
#include "query/sql/sql_state.h"

#include <math.h>
#include <string.h>

enum { PUSH_MAX = 32 };

int sql_module_add(struct sql *sql, const char *name, const char *schema,
		   const sqlite3_module *module, const struct table *table)
{
	struct sql_module *m = xcalloc(1, sizeof *m);

	*m = (struct sql_module){ sql, schema, table };
	return sqlite3_create_module_v2(sql->db, name, module, m, free);
}

int sql_vtab_connect(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **out,
		     char **err)
{
	const struct sql_module *module = aux;
	int rc = sqlite3_declare_vtab(db, module->schema);

	(void)argc, (void)argv, (void)err;
	if (rc == SQLITE_OK)
		rc = sqlite3_vtab_config(db, SQLITE_VTAB_DIRECTONLY);
	if (rc != SQLITE_OK)
		return rc;
	struct sql_vtab *v = xcalloc(1, sizeof *v);
	v->sql = module->sql;
	v->table = module->table;
	*out = &v->base;
	return SQLITE_OK;
}

int sql_vtab_disconnect(sqlite3_vtab *vtab)
{
	free(vtab);
	return SQLITE_OK;
}

int sql_vtab_fail(sqlite3_vtab *vtab, int rc)
{
	const struct sql *sql = ((struct sql_vtab *)vtab)->sql;

	if (rc != SQLITE_OK && sql->failed.code) {
		sqlite3_free(vtab->zErrMsg);
		vtab->zErrMsg = sqlite3_mprintf("%s", sql->failed.text);
	}
	return rc;
}

/* Returns the letter for a constraint on a column; 0: not pushed down. */
static char letter_of(const struct sql_push *push, int op)
{
	bool is_time = push->letter == SQL_PUSH_AT;

	switch (op) {
	case SQLITE_INDEX_CONSTRAINT_EQ:
		return push->letter;
	case SQLITE_INDEX_CONSTRAINT_GT:
	case SQLITE_INDEX_CONSTRAINT_GE:
		return is_time ? SQL_PUSH_FROM : 0;
	case SQLITE_INDEX_CONSTRAINT_LT:
	case SQLITE_INDEX_CONSTRAINT_LE:
		return is_time ? SQL_PUSH_TO : 0;
	}
	return 0;
}

static char push_one(sqlite3_index_info *info, int i, const struct sql_pushes *pushes)
{
	const struct sqlite3_index_constraint *c = &info->aConstraint[i];
	const struct sql_push *push = NULL;

	for (size_t k = 0; k < pushes->n; k++)
		if (pushes->columns[k].column == c->iColumn)
			push = &pushes->columns[k];
	char letter = push && c->usable ? letter_of(push, c->op) : 0;
	if (!letter || (push->is_text && strcmp(sqlite3_vtab_collation(info, i), "BINARY") != 0))
		return 0;
	return pushes->lists && sqlite3_vtab_in(info, i, 1) ? letter + SQL_PUSH_LIST : letter;
}

static void estimate(sqlite3_index_info *info, const struct sql_pushes *pushes, const char *pushed)
{
	double rows = pushes->rows;

	for (; *pushed; pushed++)
		rows *= strchr("<>", *pushed)    ? 1.0 / 3
			: *pushed == SQL_PUSH_AT ? 1e-4
						 : pushes->equal_part;
	info->estimatedRows = rows < 1 ? 1 : (sqlite3_int64)rows;
	info->estimatedCost = pushes->cost + rows;
}

int sql_push_all(sqlite3_index_info *info, const struct sql_pushes *pushes)
{
	char pushed[PUSH_MAX + 1] = "";
	int n = 0;

	for (int i = 0; i < info->nConstraint && n < PUSH_MAX; i++) {
		char letter = push_one(info, i, pushes);
		if (!letter)
			continue;
		pushed[n++] = letter;
		info->aConstraintUsage[i].argvIndex = n;
	}
	estimate(info, pushes, pushed);
	info->idxStr = sqlite3_mprintf("%s", pushed);
	info->needToFreeIdxStr = 1;
	return info->idxStr ? SQLITE_OK : SQLITE_NOMEM;
}

bool sql_integer_of(sqlite3_value *v, bool up, int64_t *out)
{
	int type = sqlite3_value_numeric_type(v);

	if (type == SQLITE_INTEGER) {
		*out = sqlite3_value_int64(v);
		return true;
	}
	double real = up ? ceil(sqlite3_value_double(v)) : floor(sqlite3_value_double(v));
	if (type != SQLITE_FLOAT || !(real > -9.2e18 && real < 9.2e18))
		return false;
	*out = (int64_t)real;
	return true;
}

void sql_push_time(sqlite3_value *v, char push, int64_t *from_ns, int64_t *to_ns)
{
	int64_t t;

	if (push != SQL_PUSH_TO && sql_integer_of(v, false, &t) && t > *from_ns)
		*from_ns = t;
	if (push != SQL_PUSH_FROM && sql_integer_of(v, true, &t) && t < *to_ns)
		*to_ns = t + 1;
}

bool sql_string_is(const struct profile *p, uint32_t string, sqlite3_value *v)
{
	const char *text = (const char *)sqlite3_value_text(v);
	size_t len = sqlite3_value_bytes(v);

	return text && strtab_len(&p->strings, string) == len &&
	       memcmp(strtab_get(&p->strings, string), text, len) == 0;
}

void sql_result_string(sqlite3_context *ctx, const struct profile *p, uint32_t string)
{
	sqlite3_result_text64(ctx, strtab_get(&p->strings, string), strtab_len(&p->strings, string),
			      SQLITE_TRANSIENT, SQLITE_UTF8);
}
