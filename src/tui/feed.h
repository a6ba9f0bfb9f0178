/* tui/feed.h: where `cresset top` gets its data from: the collector of this process, a server, or a file. The views know this interface and
 * nothing behind it; cmd/top_live.c, cmd/top_server.c and cmd/top_file.c are what is behind it.
 *
 *     ops->wait       until something comes, a watched descriptor is readable or the time is up
 *     ops->take       what there is now: a window of time, and how the recording itself is doing
 *     ops->source     what to ask about that window
 *
 * What take and source give stays the feed's, until the next take. Between two takes a feed may go on collecting; while it is held, the
 * window of the last take stays as it is. */
#ifndef CRESSET_TUI_FEED_H
#define CRESSET_TUI_FEED_H

#include "base/err.h"
#include "query/source.h"

#include <stdbool.h>
#include <stdint.h>

struct feed_cpu {
	float user, sys, wait; /* shares of the time since the last take, 0 … 1; wait: for a disk */
};
struct feed_take {
	int64_t from_ns, to_ns; /* the window, as the source's times are */
	int64_t history_ns;     /* from when on there are samples at all: at or before from_ns */
	const struct feed_cpu *cpu; /* NULL: not known, but from samples */
	uint32_t n_cpus;            /* 0: not known */
	uint64_t rate_hz;           /* asked for, a second and CPU; 0: not known */
	uint64_t samples, lost;     /* so far; lost UINT64_MAX: not known */
	double own_cpu, bpf_cpu;    /* what it costs, in CPUs; negative: not known */
	char gpus[512]; /* how they are, in one line: from outside; "": there are none */
	char note[160]; /* what is wrong at the moment, from outside; "" */
};

struct feed;
struct feed_ops {
	/* 0, or -errno with words: there is nothing more to come. */
	int (*wait)(struct feed *f, int timeout_ms, struct err *err);
	/* wait returns when this descriptor of the caller's is readable, too. */
	int (*watch)(struct feed *f, int fd, struct err *err);
	/* with_waits: those that go on are wanted, too, up to now. */
	int (*take)(struct feed *f, bool with_waits, struct feed_take *out, struct err *err);
	struct source *(*source)(struct feed *f);
	/* NULL: it does not go on anyway. */
	void (*hold)(struct feed *f, bool held);
	void (*close)(struct feed *f);
};
struct feed { /* embedded first in the feed's own struct */
	const struct feed_ops *ops;
	const char *what; /* "the whole machine", a server's address, a file's name: from outside */
	bool goes_on;     /* a later take has more */
	bool is_live;     /* of this machine, now */
};

static inline void feed_close(struct feed *f) /* NULL is fine */
{
	if (f)
		f->ops->close(f);
}

#endif
