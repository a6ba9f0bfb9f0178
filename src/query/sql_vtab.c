/* What all tables share. */
#include "base/mem.h"
#include "query/sql_state.h"

#include <math.h>

int sql_module_add(struct sql *sql, const char *name, const sqlite3_module *module,
		   const struct table *table)
{
	struct sql_module *m = xcalloc(1, sizeof *m);

	*m = (struct sql_module){ sql, table };
	return sqlite3_create_module_v2(sql->db, name, module, m, free);
}

int sql_vtab_connect(sqlite3 *db, const struct sql_module *module, const char *schema,
		     sqlite3_vtab **out)
{
	int rc = sqlite3_declare_vtab(db, schema);

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

void sql_result_string(sqlite3_context *ctx, const struct profile *p, uint32_t string)
{
	sqlite3_result_text64(ctx, strtab_get(&p->strings, string), strtab_len(&p->strings, string),
			      SQLITE_TRANSIENT, SQLITE_UTF8);
}
