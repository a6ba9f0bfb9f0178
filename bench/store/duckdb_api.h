/* bench/store/duckdb_api.h: as much of DuckDB's C interface (https://duckdb.org/docs/stable/clients/c/api) as bench/store/duckdb.c calls, out of the
 * libduckdb.so that its npm package carries: no header comes with that, and no program of ours is linked with it. */
#ifndef CRESSET_BENCH_STORE_DUCKDB_API_H
#define CRESSET_BENCH_STORE_DUCKDB_API_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
	uint64_t deprecated[3];
	void *columns;
	char *error;
	void *data;
} duckdb_result;
typedef struct {
	uint64_t offset, length;
} duckdb_list_entry;

enum { DUCKDB_OK = 0 };
enum {
	DUCKDB_UTINYINT = 6,
	DUCKDB_USMALLINT = 7,
	DUCKDB_UINTEGER = 8,
	DUCKDB_BIGINT = 5,
	DUCKDB_UBIGINT = 9,
	DUCKDB_VARCHAR = 17,
};

/* Result, name, arguments. Databases, connections, appenders, chunks, vectors and types are pointers. */
#define DUCKDB_FUNCTIONS(X) \
	X(int, open, (const char *path, void **db)) \
	X(void, close, (void **db)) \
	X(int, connect, (void *db, void **con)) \
	X(void, disconnect, (void **con)) \
	X(int, query, (void *con, const char *sql, duckdb_result *out)) \
	X(const char *, result_error, (duckdb_result *)) \
	X(void, destroy_result, (duckdb_result *)) \
	X(void *, fetch_chunk, (duckdb_result)) \
	X(void *, create_logical_type, (int type)) \
	X(void *, create_list_type, (void *child)) \
	X(void, destroy_logical_type, (void **type)) \
	X(void *, create_data_chunk, (void **types, uint64_t columns)) \
	X(void, destroy_data_chunk, (void **chunk)) \
	X(void, data_chunk_reset, (void *chunk)) \
	X(uint64_t, data_chunk_get_size, (void *chunk)) \
	X(void, data_chunk_set_size, (void *chunk, uint64_t size)) \
	X(void *, data_chunk_get_vector, (void *chunk, uint64_t column)) \
	X(uint64_t, vector_size, (void)) \
	X(void *, vector_get_data, (void *vector)) \
	X(void, vector_assign_string_element, (void *vector, uint64_t at, const char *text)) \
	X(void *, list_vector_get_child, (void *vector)) \
	X(int, list_vector_set_size, (void *vector, uint64_t size)) \
	X(int, list_vector_reserve, (void *vector, uint64_t size)) \
	X(int, appender_create, (void *con, const char *schema, const char *table, void **out)) \
	X(const char *, appender_error, (void *appender)) \
	X(int, appender_flush, (void *appender)) \
	X(int, appender_destroy, (void **appender)) \
	X(int, append_data_chunk, (void *appender, void *chunk))

#define DUCKDB_MEMBER(result, name, arguments) result(*name) arguments;
struct duckdb_api {
	DUCKDB_FUNCTIONS(DUCKDB_MEMBER)
};

/* false: the library cannot be loaded, or lacks one of them. */
bool duckdb_load(const char *library, struct duckdb_api *out);

#endif
