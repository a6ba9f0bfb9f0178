/* symbol/code_log.h: names of code made at run time, from the file that its compiler appends to: a perf map or a jitdump.
 *
 * Only what was appended is read, and names are not kept: of each stretch of the file stays which addresses it tells of,
 *
 *     file   |-- 64 KiB --|-- 64 KiB --|-- …            perf map; of a jitdump: 256 records
 *     block    ≤ 6 ranges   ≤ 6 ranges                  112 bytes each
 *
 * and those that may tell of an address are read again when it is asked for, the newest first. Answers are kept with the place up to which they
 * are known to be right, so an address that is asked for again costs a look at what was appended since. A million entries (90 MB) so take some
 * 200 KB.
 *
 * A file that is shorter than before, or whose bytes are not those that were read (its first ones, and the last before where reading stopped),
 * is read anew. Everything in it is hostile: bytes, records, lines, answers and time have limits, and a file beyond them is given up. */
#ifndef CRESSET_SYMBOL_CODE_LOG_H
#define CRESSET_SYMBOL_CODE_LOG_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum code_log_kind { CODE_LOG_MAP, CODE_LOG_DUMP };
enum {
	CODE_LOG_MAX_BYTES = 256 << 20, /* of a perf map */
	CODE_LOG_MAX_EVENTS = 4 << 20,  /* of either */
	CODE_LOG_MAX_NAME = 1024,       /* longer names are cut */
	CODE_LOG_MAX_LINE = 4096,       /* the rest of a longer one is skipped */
};

struct code_ask {
	uint64_t addr;
	uint64_t time_ns; /* of a jitdump: what lay there then; UINT64_MAX: at the end */
};
/* What lies at an address. */
struct code_answer {
	uint64_t start, size; /* size 0: nothing that has a name */
	const char *name;     /* len bytes, as in the file; of the log, until the next call */
	uint32_t len;
};

struct code_log;

struct code_log *code_log_new(enum code_log_kind kind);
void code_log_free(struct code_log *l); /* NULL is fine */

/* Reads what was appended; fd stays the caller's, and is the same file each time unless the log was reset. is_last: nothing more will come, so a
 * last line needs no newline and a last record that is cut off counts as skipped. -EFBIG: past the limits, -EBADMSG and -ENOTSUP as symbol_open_jitdump, or
 * what reading says; from then on there are no answers until the file begins anew. */
int code_log_read(struct code_log *l, int fd, bool is_last, struct err *err);

/* Answers all n, answers[i] for asks[i]. max_ns of CPU time, beyond which the rest has none. False then. */
bool code_log_ask(struct code_log *l, int fd, const struct code_ask *asks, size_t n,
		  uint64_t max_ns, struct code_answer *answers);

/* Another file. */
void code_log_reset(struct code_log *l);

struct code_log_stats {
	uint64_t events, skipped; /* of the file */
	uint64_t read_bytes;      /* of all files, with what was read again */
	size_t memory_bytes;
	uint32_t resets;
};
void code_log_get_stats(const struct code_log *l, struct code_log_stats *out);

#endif
