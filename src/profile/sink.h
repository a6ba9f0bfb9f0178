/* profile/sink.h: the interface between producers of samples (the collector, readers of files, a
 * network receiver) and their consumers (a profile in memory, a recording being written, a store).
 *
 * A producer adds entries before the ones that refer to them and gets ids back: strings, mappings,
 * frames, names, stacks, series, then samples. Ids belong to the sink and are valid for its life;
 * passing an id that it did not return is a programming error. Strings may be any bytes. No call
 * fails: a sink that cannot store its input (disk full) remembers the error and reports it when it
 * is closed. */
#ifndef CRESSET_PROFILE_SINK_H
#define CRESSET_PROFILE_SINK_H

#include "base/vec.h"

#include <stddef.h>
#include <stdint.h>

struct buf;
struct frame;
struct function;
struct label;
struct line;
struct mapping;
struct reading_key;
struct reading_point;
struct series;
struct stack_list;
struct thread_times;
struct trace_link;
struct type;

enum { SAMPLE_NO_ID = UINT32_MAX }; /* unknown pid, tid or cpu */

struct sample {
	/* CLOCK_MONOTONIC of the recording host, or since the start; 0 in all samples if times are
	 * unknown. */
	int64_t time_ns;
	int64_t length_ns; /* time covered from time_ns on (a wait); 0: a moment */
	int64_t value;     /* in the type's unit */
	uint32_t series, stack;
	uint32_t pid, tid, cpu; /* SAMPLE_NO_ID */
	uint32_t link;          /* the span of a trace it belongs to; 0: none */
};

/* Losses by reason; a table in profile/meta.c names and explains each. */
enum loss {
	LOSS_RING_FULL = 0,   /* samples dropped because the ring buffer was full */
	LOSS_RING_BUSY,       /* samples of ticks that met their ring locked by another CPU */
	LOSS_STACK_RING_FULL, /* samples kept without their stack contents */
	LOSS_SAMPLER_BUSY, /* ticks that met a running BPF program and were skipped by the kernel */
	/* periods in which others had the hardware counter: samples also stand for these */
	LOSS_UNCOUNTED,
	LOSS_CYCLES_GONE,     /* periods of busy CPUs without a tick of the hardware counter */
	LOSS_MAPPINGS_FULL,   /* processes and mappings beyond the limits of tables */
	LOSS_TARGETS_FULL,    /* children not followed: the target table was full */
	LOSS_WAITS_UNSEEN,    /* waits whose end was not seen: only the exact times include them */
	LOSS_THREADS_UNKNOWN, /* threads without exact times: the table is full */
	LOSS_SIDE_BAND,  /* records of new processes and mappings; processes were scanned again */
	LOSS_QUEUE_FULL, /* samples that the store did not take in time (agent/) */
	LOSS_LATE,       /* records that arrived after their time had been resolved */
	/* files gone, or written again, before they could be read: frames by offset only */
	LOSS_OBJECT_GONE,
	LOSS_OBJECT_CLOSED, /* files closed under the descriptor limit, gone when needed again */
	LOSS_INPUT_SKIPPED, /* lines or records of an input file that could not be read */
	/* symbol tables, perf maps and jitdumps, or entries of them, that could not be read */
	LOSS_SYMBOLS_SKIPPED,
	/* samples of an input file whose time (and CPU) was dropped: too many */
	LOSS_TIMES_DROPPED,
	LOSS_LINKS_DROPPED, /* samples whose trace was dropped: too many spans (profile/link.h) */
	/* samples of threads whose span could not be read (bpf/trace.h) */
	LOSS_TRACES_UNREAD,
	LOSS_TRACED_FULL,       /* processes whose threads' spans are not read: too many */
	LOSS_PYTHON_UNREAD,     /* stacks without all frames of Python (bpf/cpython_walk.h) */
	LOSS_PYTHON_UNNAMED,    /* frames without a name: freed, or read too late */
	LOSS_PYTHONS_FULL,      /* processes whose frames of Python are not read: too many */
	LOSS_GPU_RING_FULL,     /* calls of a GPU's libraries dropped because the ring was full */
	LOSS_GPU_UNSEEN,        /* calls not examined (bpf/gpu_call.h): no space */
	LOSS_GPU_UNREADABLE,    /* calls with arguments that could not be read */
	LOSS_GPU_MEMORY_FULL,   /* allocations not retained: the table is full */
	LOSS_GPU_FREES_UNKNOWN, /* frees of memory whose allocation was not seen */
	LOSS_GPU_UNPROBED,  /* launch functions and libraries without a probe (gpu/code/probes.h) */
	LOSS_GPU_RECORDS,   /* GPU activity records dropped in the program (gpu/ring/ring.h) */
	LOSS_GPU_UNWATCHED, /* ms of closed windows: Cresset did not get to run */
	LOSS_GPU_NAMES,     /* names of kernels not retained: the table is full */
	LOSS_GPU_RING_BAD,  /* GPU activity records with impossible values */
	LOSS_GPU_STALLS,    /* samples of stalls lost as the device's or our buffer was full */
	LOSS_GPU_CODE,      /* samples of stalls in missing device code */
	LOSS_GPU_CODE_UNREAD, /* device code in a program's files that cannot be read */
	LOSS_READINGS_FULL,   /* readings beyond what a profile retains (profile/readings.h) */
	LOSS_LEFT_OUT,        /* samples of series not requested (collect/proc/series_hook.h) */
	/* frames of generated code whose files could not be read (collect/walker/jit.h) */
	LOSS_CODE_UNREAD,
	LOSS_INPUT_CUT,       /* slices of an input file cut where they overlap another one */
	LOSS_INPUT_ROUNDED,   /* stacks of an input file whose value was rounded */
	LOSS_INPUT_SCALED,    /* stacks with a fraction for which all values were scaled */
	LOSS_INPUT_PRUNED,    /* samples without the frames that the file says to leave out */
	LOSS_INPUT_SUMMARY,   /* events of an input file that sum up others */
	LOSS_BUILD_ID_SHARED, /* files with the build id of another file: known by path */
	LOSS_INPUT_ASYNC, /* asynchronous events of an input file, which no thread's stack has */
	LOSS_INPUT_TOO_LARGE, /* values of an input file that cannot be, or do not fit */
	LOSS_REASONS
};
struct loss_info {
	const char *name;   /* machine name: "ring_full" */
	const char *text;   /* "ring buffer full" */
	const char *remedy; /* "use a larger --buffer", may be "" */
	int is_sample;      /* 1: a lost sample, counts in "lost N samples"; 0: a lost detail */
	int is_input;       /* 1: left out, cut or scaled by the reader of an input file */
};
extern const struct loss_info loss_reasons[LOSS_REASONS];

/* Facts about the recording as a whole. Strings are ids; 0 or "" = unknown. */
struct profile_meta {
	int64_t start_wall_ns; /* Unix time of the first moment */
	int64_t start_mono_ns; /* the same moment on the samples' clock */
	int64_t duration_ns;
	/* "db7", "6.1.0-13-amd64", "cresset record -a", "cpu-clock" */
	uint32_t host, kernel, command, clock;
	uint32_t cpus;
	uint32_t default_type; /* sample type shown first, 0 = the first one */
	/* pprof's fields, kept for the round trip. */
	uint32_t doc_url, drop_frames, keep_frames, default_column;
	uint64_t own_cpu_ns, own_peak_bytes; /* cost of recording */
	VEC(uint32_t) comments;              /* strings */
	/* Type ids in the order of the source's columns, if it had any. */
	VEC(uint32_t) sample_types;
	uint64_t loss[LOSS_REASONS];
	int64_t loss_ns[LOSS_REASONS]; /* the time they stand for, as far as it is known */
};

/* Appends ", 1.50 ms in all" if the time of the losses of this reason is known. */
void loss_time_text(struct buf *b, const struct profile_meta *m, enum loss reason);

struct sink;
struct sink_ops {
	uint32_t (*string)(struct sink *s, const char *data, size_t len);
	uint32_t (*mapping)(struct sink *s, const struct mapping *m);
	uint32_t (*frame)(struct sink *s, const struct frame *f);
	uint32_t (*function)(struct sink *s, const struct function *f);
	/* The lines of a frame, innermost first; replaces earlier ones. */
	void (*names)(struct sink *s, uint32_t frame, const struct line *lines, uint32_t n);
	/* Adds n to the number of a mapping's frames whose names come from origin (see struct
	 * origin). */
	void (*origin)(struct sink *s, uint32_t mapping, uint32_t origin, uint64_t n);
	/* Frames root first, any number. */
	uint32_t (*stack)(struct sink *s, const uint32_t *frames, uint32_t n);
	/* Does the same for up to STACK_BATCH stacks at the same time, which is faster. */
	void (*stacks)(struct sink *s, const struct stack_list *lists, uint32_t n, uint32_t *ids);
	/* A stack with n further frames at its leaf. */
	uint32_t (*stack_above)(struct sink *s, uint32_t stack, const uint32_t *frames, uint32_t n);
	uint32_t (*type)(struct sink *s, const struct type *t);
	uint32_t (*labels)(struct sink *s, const struct label *labels, uint32_t n);
	uint32_t (*series)(struct sink *s, const struct series *series);
	/* Returns 0, and counts the loss, if there is no space for more. */
	uint32_t (*link)(struct sink *s, const struct trace_link *link);
	void (*sample)(struct sink *s, const struct sample *sample);
	/* The exact times of a thread; a later row of the same thread replaces it. */
	void (*thread)(struct sink *s, const struct thread_times *row);
	/* Adds points to a series of readings. Points without space are counted as lost. */
	void (*readings)(struct sink *s, const struct reading_key *key,
			 const struct reading_point *points, size_t n);
	void (*loss)(struct sink *s, enum loss reason, uint64_t n); /* adds */
	/* Adds to the time that losses of this reason stand for. */
	void (*loss_time)(struct sink *s, enum loss reason, int64_t ns);
	/* The memory of everything but the samples. It grows with entries that were not seen
	 * before. */
	uint64_t (*kept_bytes)(const struct sink *s);
	/* The meta, for the producer to fill in; valid for the sink's life. */
	struct profile_meta *(*meta)(struct sink *s);
};
struct sink { /* embedded first in the sink's own struct */
	const struct sink_ops *ops;
};

static inline uint32_t sink_string(struct sink *s, const char *str)
{
	return s->ops->string(s, str ? str : "", str ? __builtin_strlen(str) : 0);
}

#endif
