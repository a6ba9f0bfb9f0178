/* symbol/code_log.h: names of generated code, from the file to which its compiler appends: a perf
 * map or a jitdump.
 *
 * Only appended data are read, and names are not retained in memory. For each block of the file
 * only the address ranges it mentions are retained,
 *
 *     file   |-- 64 KiB --|-- 64 KiB --|-- …            perf map; of a jitdump: 256 records
 *     block    ≤ 6 ranges   ≤ 6 ranges                  112 bytes each
 *
 * and for a lookup the blocks that may mention the address are read again, newest first. Answers
 * are cached with the file position up to which they are valid, so a repeated lookup only checks
 * what was appended since. So a million entries (90 MB) take some 200 KB.
 *
 * A file that got shorter or was rewritten is read again; this is checked by its first bytes and
 * the last bytes that were read. Files are not trusted: bytes, records, lines, answers and time
 * are limited, and a file beyond the limits is given up. */
#ifndef CRESSET_SYMBOL_CODE_LOG_H
#define CRESSET_SYMBOL_CODE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

enum code_log_kind { CODE_LOG_MAP, CODE_LOG_DUMP };
enum {
	CODE_LOG_MAX_BYTES = 256 << 20, /* limit: bytes of a perf map; a larger one is given up */
	/* limit: its entries, or a jitdump's; with more it is given up */
	CODE_LOG_MAX_EVENTS = 4 << 20,
};

struct code_ask {
	uint64_t addr;
	uint64_t time_ns; /* of a jitdump: time of the lookup; UINT64_MAX: the end */
};
/* The code at an address. */
struct code_answer {
	uint64_t start, size; /* size 0: no named code */
	const char *name;     /* len bytes, as in the file; the log's, until the next call */
	uint32_t len;
};

struct code_log;

struct code_log *code_log_new(enum code_log_kind kind);
void code_log_free(struct code_log *l); /* NULL is fine */

/* Reads appended data. fd stays the caller's, and must be the same file each time unless the log
 * was reset. is_last: nothing will be appended any more, so a last line needs no newline and a
 * truncated last record counts as skipped. -EFBIG: past the limits, -EBADMSG and -ENOTSUP as
 * symbol_open_jitdump, or an error of reading. After an error there are no answers until the file
 * starts over. */
int code_log_read(struct code_log *l, int fd, bool is_last, struct err *err);

/* Sets answers[i] for asks[i], n of them. max_ns: limit of CPU time; past it the rest gets no
 * answer, and the function returns false. */
bool code_log_ask(struct code_log *l, int fd, const struct code_ask *asks, size_t n,
		  uint64_t max_ns, struct code_answer *answers);

/* Starts over with another file. */
void code_log_reset(struct code_log *l);

struct code_log_stats {
	uint64_t events, skipped; /* of the file */
	uint64_t read_bytes;      /* of all files, including repeated reads */
	size_t memory_bytes;
	uint32_t resets;
};
void code_log_get_stats(const struct code_log *l, struct code_log_stats *out);

#endif
