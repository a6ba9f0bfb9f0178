/* store/names/names_db_opts.h: how names.db (store/names/names_db.h) is opened. */
#ifndef CRESSET_STORE_NAMES_NAMES_DB_OPTS_H
#define CRESSET_STORE_NAMES_NAMES_DB_OPTS_H

#include <stdbool.h>
#include <stdint.h>

struct names_db;

struct names_db_opts {
	bool read_only; /* names can be added and found, but are never written */
	bool foreign;   /* db.h */
	uint64_t cache_bytes;
	uint64_t seen_bytes; /* for the hashes of recent offers; 0: 1 MiB */
	/* lookups find names that this one has gathered as well; must live longer; may be NULL */
	struct names_db *beside;
	const char *vfs;
	uint8_t reader; /* whose names these are; 0: NAMES_READER */
};

#endif
