/* profile/sink.h: the one interface between everything that produces samples (the collector,
 * readers of files, a network receiver) and everything that keeps them (a profile in memory, a
 * recording being written, a store).
 *
 * A producer hands over the parts before what refers to them and gets ids back: strings, mappings,
 * frames, names, stacks, series, then samples. Ids are the sink's and good for its life; passing
 * one that it never gave is a programming error. Strings may be any bytes. No call fails: a sink
 * that cannot keep what it is given (disk full) remembers that and says so when it is closed. */
#ifndef CRESSET_PROFILE_SINK_H
#define CRESSET_PROFILE_SINK_H

#include "profile/frame.h"
#include "profile/link.h"
#include "profile/names.h"
#include "profile/readings.h"
#include "profile/series.h"
#include "profile/stack.h"
#include "profile/thread.h"

#include <stddef.h>
#include <stdint.h>

enum { SAMPLE_NO_ID = UINT32_MAX }; /* pid, tid or cpu that the source does not know */

struct sample {
	/* CLOCK_MONOTONIC of the recording host, or since the start; 0 in all samples when there is
	 * no time. */
	int64_t time_ns;
	int64_t length_ns; /* it covers that much time from time_ns on (a wait); 0: a moment */
	int64_t value;     /* in the type's unit */
	uint32_t series, stack;
	uint32_t pid, tid, cpu; /* SAMPLE_NO_ID */
	uint32_t link;          /* the span of a trace it belongs to; 0: none */
};

/* What was lost or cut, by reason; a table in profile/meta.c names and explains each. */
enum loss {
	LOSS_RING_FULL = 0,   /* samples the ring buffer had no room for */
	LOSS_RING_BUSY,       /* samples of ticks that met their ring locked by another CPU */
	LOSS_STACK_RING_FULL, /* samples kept whose stack contents found no room */
	LOSS_SAMPLER_BUSY, /* ticks that met a running BPF program and were skipped by the kernel */
	LOSS_UNCOUNTED, /* periods in which others had the hardware counter: samples stand for them, too */
	LOSS_CYCLES_GONE,     /* periods of busy CPUs without a tick of the hardware counter */
	LOSS_MAPPINGS_FULL,   /* processes walked by frame pointers: no room for their mappings */
	LOSS_TARGETS_FULL,    /* children not followed: the target table was full */
	LOSS_WAITS_UNSEEN,    /* waits whose end was not seen: they are in the exact times only */
	LOSS_THREADS_UNKNOWN, /* threads without exact times: no room to keep them */
	LOSS_SIDE_BAND,   /* records of new processes and mappings; processes were scanned again */
	LOSS_QUEUE_FULL,  /* samples that the store did not take in time (agent/) */
	LOSS_LATE,        /* records that arrived after their time had been resolved */
	LOSS_OBJECT_GONE, /* files gone before they could be opened: frames by offset only */
	LOSS_OBJECT_CLOSED, /* files closed under the descriptor limit, gone when needed again */
	LOSS_INPUT_SKIPPED, /* lines or records of an input file that could not be read */
	LOSS_SYMBOLS_SKIPPED, /* symbol tables, perf maps and jitdumps, or entries of them, that could not be read */
	LOSS_TIMES_DROPPED, /* samples of an input file whose time (and CPU) was dropped: too many */
	LOSS_LINKS_DROPPED, /* samples whose trace was dropped: too many spans (profile/link.h) */
	LOSS_TRACES_UNREAD, /* samples whose thread has a span that could not be read (bpf/trace.h) */
	LOSS_TRACED_FULL,   /* processes the spans of whose threads are not read: too many */
	LOSS_PYTHON_UNREAD,     /* stacks without all frames of Python (bpf/cpython_walk.h) */
	LOSS_PYTHON_UNNAMED,    /* frames of Python without a name: their code was gone */
	LOSS_PYTHONS_FULL,      /* processes whose frames of Python are not read: too many */
	LOSS_GPU_RING_FULL,     /* calls of a GPU's libraries the ring buffer had no room for */
	LOSS_GPU_UNSEEN,        /* calls not looked at (bpf/gpu_call.h): no room to do so */
	LOSS_GPU_UNREADABLE,    /* calls with arguments that could not be read */
	LOSS_GPU_MEMORY_FULL,   /* allocations not kept: no room */
	LOSS_GPU_FREES_UNKNOWN, /* frees of what was not seen to be allocated */
	LOSS_GPU_UNPROBED,      /* launch functions and libraries without a probe (gpu/probes.h) */
	LOSS_GPU_RECORDS,       /* of what ran on GPUs: dropped in the program (gpu/ring.h) */
	LOSS_GPU_NAMES,         /* names of kernels there was no room for */
	LOSS_GPU_RING_BAD,      /* records of what ran on GPUs that cannot be */
	LOSS_GPU_STALLS, /* samples of stalls that the device or the collector had no room for */
	LOSS_GPU_CODE,   /* samples of stalls in device code that is not there */
	LOSS_GPU_CODE_UNREAD, /* pieces of device code in a program's files that cannot be read */
	LOSS_READINGS_FULL,   /* readings beyond what a profile keeps (profile/readings.h) */
	LOSS_LEFT_OUT,        /* samples of series that nobody asked for (collect/series_hook.h) */
	LOSS_CODE_UNREAD, /* frames of code made at run time whose files could not be read (collect/jit.h) */
	LOSS_REASONS
};
struct loss_info {
	const char *name;   /* machine name: "ring_full" */
	const char *text;   /* "ring buffer full" */
	const char *remedy; /* "use a larger --buffer", may be "" */
	int is_sample;      /* 1: a lost sample, counts in "lost N samples"; 0: a lost detail */
};
extern const struct loss_info loss_reasons[LOSS_REASONS];

struct sink;
struct profile_meta;
struct sink_ops {
	uint32_t (*string)(struct sink *s, const char *data, size_t len);
	uint32_t (*mapping)(struct sink *s, const struct mapping *m);
	uint32_t (*frame)(struct sink *s, const struct frame *f);
	uint32_t (*function)(struct sink *s, const struct function *f);
	/* The lines of a frame, innermost first; replaces earlier ones. */
	void (*names)(struct sink *s, uint32_t frame, const struct line *lines, uint32_t n);
	/* Adds n frames of a mapping to those whose names come from origin (see origins.h). */
	void (*origin)(struct sink *s, uint32_t mapping, uint32_t origin, uint64_t n);
	/* Frames root first, any number. */
	uint32_t (*stack)(struct sink *s, const uint32_t *frames, uint32_t n);
	/* The same of up to STACK_BATCH at once: what has many saves time. */
	void (*stacks)(struct sink *s, const struct stack_list *lists, uint32_t n, uint32_t *ids);
	/* A stack with n further frames at its leaf. */
	uint32_t (*stack_above)(struct sink *s, uint32_t stack, const uint32_t *frames, uint32_t n);
	uint32_t (*type)(struct sink *s, const struct type *t);
	uint32_t (*labels)(struct sink *s, const struct label *labels, uint32_t n);
	uint32_t (*series)(struct sink *s, const struct series *series);
	/* 0 where it has no room for more, which it counts. */
	uint32_t (*link)(struct sink *s, const struct trace_link *link);
	void (*sample)(struct sink *s, const struct sample *sample);
	/* The exact times of a thread; a later row of the same one replaces it. */
	void (*thread)(struct sink *s, const struct thread_times *row);
	/* More points of a series that was read beside the samples; what there is no room for is counted. */
	void (*readings)(struct sink *s, const struct reading_key *key,
			 const struct reading_point *points, size_t n);
	void (*loss)(struct sink *s, enum loss reason, uint64_t n); /* adds */
	/* The memory of all it was given but for the samples: what does not come again is what
	 * makes it grow. */
	uint64_t (*kept_bytes)(const struct sink *s);
	/* What is known about the whole (profile/profile.h): the producer fills in what it knows;
	 * valid for the sink's life. */
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
