/* store/check.h: verifies the files of a store and reports their contents. Reads everything and
 * changes nothing. It may run next to a writer: each file is checked in a consistent state. */
#ifndef CRESSET_STORE_CHECK_H
#define CRESSET_STORE_CHECK_H

#include "base/err.h"
#include "base/vec.h"
#include "store/codec/store.h"

#include <stdbool.h>
#include <stdint.h>

struct store_file_check {
	char *name; /* in the directory: "inbox.db", "p/2026-11-21.db" */
	uint64_t bytes;
	struct err problem; /* code 0: none */
	/* Only of a partition. */
	bool is_part, sealed, has_detail;
	int64_t day_ns;
	uint64_t blocks, rows, bad_blocks;
};
/* Files of the store that others than its owner and group may read: earlier versions made such.
 * Those of the directory's owner are mended when they are found, if this process may. */
struct store_modes {
	uint32_t mended, left;
	bool is_open; /* others may enter the directory, or change it */
};
struct store_check {
	VEC(struct store_file_check) files; /* partitions by day */
	uint64_t bytes, rows, blocks, bad_blocks;
	uint32_t series, days, unsound; /* files */
	uint64_t batches, bad_batches;  /* in the inbox */
	struct store_kept kept;
	/* rows and points of batches in the inbox whose stack or series is lost */
	uint64_t lost_rows;
	struct store_modes modes;
	int64_t from_ns, to_ns; /* start of the first day, end of the last; both 0: no days */
};

/* Returns 0 whatever is wrong with the files; -ENOENT: there is no store. */
int store_check(const char *dir, struct store_check *out, struct err *err);
void store_check_done(struct store_check *c);

#endif
