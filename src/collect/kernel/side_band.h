/* collect/kernel/side_band.h: perf's side band: records of what processes do, next to the samples.
 *
 * Two software dummy events per CPU: one ring carries MMAP2 (without build ids), the other COMM,
 * FORK and EXIT; both carry LOST. Each record is handed out once, all of one reading in time
 * order. The reader is woken when a quarter of a ring is full, since a wakeup costs more than
 * reading what a new process maps. Files that were not seen before may be gone in a moment: see
 * collect/kernel/program_news.h.
 */
#ifndef CRESSET_COLLECT_KERNEL_SIDE_BAND_H
#define CRESSET_COLLECT_KERNEL_SIDE_BAND_H

#include "base/buf.h"
#include "collect/proc/mapped_file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

enum side_kind { SIDE_MMAP, SIDE_COMM, SIDE_FORK, SIDE_EXIT, SIDE_LOST };

enum { SIDE_NAME_MAX = 4096 };

/* One decoded record. name points into the decoder's buffer: copy what must be retained. */
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
	/* Not the kernel's. MMAP: 1 + the id of the object (collect/process/object.h) that the
	 * record refers to; 0: none yet. FORK: whether the child is known to have ended since. */
	uint32_t object;
	bool is_over;
};

/* The file of an MMAP record; its path is the record's name. */
struct mapped_file side_file(const struct side_record *r);

struct side_band;

/* ring_pages: data pages of each ring, a power of two. Adds the rings to epoll_fd (EPOLLIN,
 * data.u64 = tag). -EACCES/-EPERM when not permitted. */
int side_band_open(int epoll_fd, uint64_t tag, uint32_t ring_pages, struct side_band **out,
		   struct err *err);
/* Opens rings of CPUs that came online since the last call; harmless to call often. */
int side_band_update_cpus(struct side_band *sb, struct err *err);
/* Returns whether the unread records would wake the reader; the ring that woke it may have been
 * read since. */
bool side_band_is_urgent(const struct side_band *sb);
/* Passes the unread FORK, EXIT and LOST records to fn, ring by ring, and leaves them unread. */
void side_band_peek(struct side_band *sb, void (*fn)(void *ctx, const struct side_record *r),
		    void *ctx);
/* Reads everything there is now and passes each record to fn, in time order: a process that is
 * forked on one CPU and runs on another is not seen to run first. */
void side_band_drain(struct side_band *sb, void (*fn)(void *ctx, const struct side_record *r),
		     void *ctx);
/* Sets whether records wake the reader. A process that maps and unmaps without end would keep it
 * busy. */
void side_band_quiet(struct side_band *sb, bool quiet);
/* Drops all unread records; fn gets one record, SIDE_LOST, with their number. */
void side_band_skip(struct side_band *sb, void (*fn)(void *ctx, const struct side_record *r),
		    void *ctx);
void side_band_close(struct side_band *sb);

/* --- side_ring.c ------------------------------------------------------------------------------ */

/* The bytes of a side-band ring: splits them into records and decodes those (perf_event_open(2)).
 *
 *     data      |---- record ----|-- record --|-- re      a record may wrap around the end
 *               ^ tail % size                 ^ head % size
 *
 * head and tail only grow; tail ≤ head ≤ tail + size. Only the kernel writes records, yet every
 * length is checked. */
struct side_ring {
	const uint8_t *data;
	uint64_t size; /* a power of two */
	uint64_t head, tail;
	struct buf wrapped; /* the last record that wrapped, reassembled */
};

/* Returns the next record and moves tail past it; false at the end. A record with an invalid length
 * ends the reading: everything up to head is dropped. *rec is valid until the next call, as long as
 * the kernel does not get the new tail. */
bool side_ring_next(struct side_ring *r, const uint8_t **rec, size_t *len);
void side_ring_done(struct side_ring *r); /* data stays the caller's */

/* perf's sample_id, requested with every record. */
#define SIDE_SAMPLE_TYPE (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU)

/* Decodes one record written with SIDE_SAMPLE_TYPE. Returns false for unknown kinds and malformed
 * records. out->name points into rec. */
bool side_record_decode(const uint8_t *rec, size_t len, struct side_record *out);
/* Returns whether a record is a FORK, EXIT or LOST. */
bool side_record_is_of_task(const uint8_t *rec, size_t len);

#endif
