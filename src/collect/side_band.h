/* collect/side_band.h: perf's side band: what processes do while they are watched.
 *
 * Two software dummy events per CPU: the ring of one carries MMAP2 (without build ids), that of the other COMM, FORK, EXIT; both
 * LOST. The reader is woken at every mapping (measured: the file of 500 of 500 processes that live 5 ms could still be opened,
 * against 65 with batching), for the rest only when an eighth of its ring is full: they are read with the next mapping, or with the
 * samples. Of what is read at once the records come in time order. */
#ifndef CRESSET_COLLECT_SIDE_BAND_H
#define CRESSET_COLLECT_SIDE_BAND_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum side_kind { SIDE_MMAP, SIDE_COMM, SIDE_FORK, SIDE_EXIT, SIDE_LOST };

enum { SIDE_NAME_MAX = 4096 };

/* One record, decoded. name points into the decoder's buffer: copy what is kept. */
struct side_record {
	enum side_kind kind;
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint32_t cpu;
	uint32_t pid, tid, ppid, ptid; /* ppid, ptid: FORK and EXIT; pid is the process (tgid) */
	bool exec;                     /* COMM caused by exec */
	uint64_t start, len, pgoff;    /* MMAP: run-time address, bytes, file offset */
	uint32_t maj, min;             /* MMAP */
	uint64_t ino, ino_generation;
	uint64_t lost;    /* LOST: how many records */
	const char *name; /* MMAP: path as the process sees it; COMM: the new name */
};

struct side_band;

/* ring_pages: data pages of each ring, a power of two. -EACCES/-EPERM when not permitted. Adds its rings
 * to epoll_fd (EPOLLIN, with data.u64 = tag). */
int side_band_open(int epoll_fd, uint64_t tag, uint32_t ring_pages, struct side_band **out,
		   struct err *err);
/* Opens the rings of CPUs that came online since; harmless to call often. */
int side_band_update_cpus(struct side_band *sb, struct err *err);
/* Whether there is what wakes the reader: a ring that did may have been read meanwhile. */
bool side_band_is_urgent(const struct side_band *sb);
/* Reads everything there is now and hands each record to fn, in time order: a process that is begun on one CPU and runs on another is
 * not seen to run first. */
void side_band_drain(struct side_band *sb, void (*fn)(void *ctx, const struct side_record *r),
		     void *ctx);
/* Whether records wake the reader: whoever maps and unmaps without end would have it do nothing else. */
void side_band_quiet(struct side_band *sb, bool quiet);
/* Drops what there is: one record, SIDE_LOST, tells how many. */
void side_band_skip(struct side_band *sb, void (*fn)(void *ctx, const struct side_record *r),
		    void *ctx);
void side_band_close(struct side_band *sb);

#endif
