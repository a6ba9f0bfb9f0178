/* store/check.h: whether the files of a store are what was written, and what is in them. Reads everything and changes nothing; beside a process that
 * writes, too: each file is looked at as of one moment. */
#ifndef CRESSET_STORE_CHECK_H
#define CRESSET_STORE_CHECK_H

#include "base/err.h"
#include "base/vec.h"
#include "store/kept.h"

#include <stdbool.h>
#include <stdint.h>

struct store_file_check {
	char *name; /* in the folder: "inbox.db", "p/2026-11-21.db" */
	uint64_t bytes;
	struct err problem; /* code 0: it is sound */
	/* Of a partition. */
	bool is_part, sealed, has_detail;
	int64_t day_ns;
	uint64_t blocks, rows, bad_blocks;
};
struct store_check {
	VEC(struct store_file_check) files; /* partitions by day */
	uint64_t bytes, rows, blocks, bad_blocks;
	uint32_t series, days, unsound; /* files */
	uint64_t batches, bad_batches;  /* in the inbox */
	struct store_kept kept;
	uint64_t
		lost_rows; /* of batches in the inbox: their stack or series is lost; points, too */
	int64_t from_ns, to_ns; /* first moment of the first day, end of the last; both 0: none */
};

/* 0, whatever is wrong with the files; -ENOENT where there is no store. */
int store_check(const char *dir, struct store_check *out, struct err *err);
void store_check_done(struct store_check *c);

#endif
