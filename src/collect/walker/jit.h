/* collect/walker/jit.h: holds samples with code that was made at run time until its names are
 * known.
 *
 * A frame of such code is identified by its name, so the name must be known before the frame is
 * made. But compilers write their perf map or jitdump while the process runs, some at its end.
 * Another process (collect/worker/code_worker.h) opens the files when the first such sample is
 * seen, because they are gone with the process's mount namespace. It is requested names when the
 * process ends or changes its image, at each cut, at the end, or when JIT_MAX_PENDING_BYTES are
 * pending:
 *
 *     pending ──asked──▶ asked ──answered──▶ the sink
 *
 * A compiler may write a name after its code has run: a buffer later, or at its end. An address
 * gets the name that its file has at the time of the request, from its last entry. So a sample
 * has the name of newer code only if that replaced its own while the sample was waiting: until
 * the next cut but one if the process has such a file, otherwise until the next, or until the
 * process or the recording ends. Frames that were passed on without a name before the file
 * existed are counted once it does.
 *
 * A perf map is known by the pid only. One that was last written before the process started to run
 * its program is of an earlier process or program, and one written after an exec is of the next:
 * neither is used, and frames without a name are counted.
 *
 * No call here waits longer than its timeout. Samples whose names do not come go to the sink
 * without, and are counted (LOSS_CODE_UNREAD). The worker reports with which process it starts. If
 * its files block the worker for JIT_STALL_NS, it is not queried again, nor are others of its user
 * for a while: neither their names nor their files. */
#ifndef CRESSET_COLLECT_WALKER_JIT_H
#define CRESSET_COLLECT_WALKER_JIT_H

#include "base/buf.h"
#include "base/hash.h"
#include "base/stream.h"
#include "base/vec.h"
#include "collect/worker/left_alone.h"

#include <stdint.h>

struct sample;

enum {
	/* limit: samples waiting for names of run-time code */
	JIT_MAX_PENDING_BYTES = 4 << 20, /* of all processes: some 20,000 samples */
	JIT_CUT_MS = 50,                 /* how long a cut waits for names */
};
#define JIT_STALL_NS      10000000000ull /* on a busy machine a large file takes seconds */
#define JIT_LEFT_ALONE_NS 600000000000ull

/* Where samples are passed on to (collect/walker/account.h). */
struct accounts;

/* An element of a held stack: a frame of the sink, or, with this bit, a run-time address. */
#define JIT_ADDRESS (1ull << 63)

struct jit { /* one per process */
	uint32_t id;
	struct process *process; /* NULL: ended, or runs another program */
	uint32_t pid, uid;
	uint64_t begun_ns,
		exec_ns;  /* of the program whose code it is; 0: unknown, and it has ended */
	bool is_told;     /* the worker knows it */
	bool has_dump;    /* … and where its jitdump is */
	bool is_left;     /* reading its files blocks, or ends the worker */
	uint32_t deaths;  /* of workers that read its files */
	bool has_files;   /* a perf map or a jitdump, as of the last response */
	bool given_up;    /* … to the last request: it could not be read in part */
	uint64_t passed;  /* frames passed on without a name before it had one */
	uint64_t skipped; /* entries that could not be read and were counted */
	struct buf pending, asked;
	uint32_t n_asks;      /* addresses in asked */
	VEC(uint32_t) frames; /* their responses so far; FRAME_NONE: no name */
};
/* A message that the worker has not served. */
struct jit_sent {
	uint32_t id, uid; /* of its process, which may be forgotten by now */
	uint32_t type;    /* enum code_message */
};
struct jit_table {
	struct sink *sink;
	struct accounts *accounts;
	struct object_table *objects;
	bool is_raw;              /* names as in perf maps and jitdumps */
	struct map *leaf_samples; /* counts leaves of samples passed on */
	uint32_t unnamed_frame;   /* "[anon]"; FRAME_NONE until needed */
	VEC(struct jit *) all;
	size_t pending_bytes;
	bool is_settling; /* no sample waits for another response */
	uint32_t next_id;

	struct helper *helper, *own_helper;
	struct stream worker;
	VEC(struct jit_sent) sent;    /* in order; the worker is at the first … */
	bool has_started;             /* … and has started with it */
	uint32_t n_asked;             /* requests for names among them */
	uint64_t progress_ns;         /* last message from the worker, or first one to it */
	struct left_alone left_users; /* their files are not read */
};

/* helper stays the caller's; NULL: created when needed. */
void jit_table_init(struct jit_table *t, struct sink *sink, struct accounts *accounts,
		    struct object_table *objects, struct map *leaf_samples, struct helper *helper);
void jit_table_done(struct jit_table *t);
/* From here on samples go to another sink; none may be held (jit_settle). */
void jit_table_set_sink(struct jit_table *t, struct sink *sink);

/* Holds a sample. Its stack has n elements, root first; part: as for account_sample. */
void jit_hold(struct jit_table *t, struct process *p, const struct sample *s, uint32_t part,
	      const uint64_t *stack, uint32_t n);
/* Passes on samples with results. Call it some times a second. */
void jit_run(struct jit_table *t);
/* Requests names for all held samples, and passes on those answered within wait_ms. */
void jit_ask_all(struct jit_table *t, uint32_t wait_ms);
/* The same, and passes on the rest without names. */
void jit_settle(struct jit_table *t, uint32_t wait_ms);
/* Call it when the process ends, or runs another program: requests its last names. exec_ns: when it
 * started to run the other program, whose map has the same path; 0: it has ended. */
void jit_close(struct jit_table *t, struct process *p, uint64_t exec_ns);

#endif
