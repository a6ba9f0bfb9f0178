/* tui/feed.h: the data source of `cresset top`: the collector of this process, a server, or a file.
 * The views know only this interface. It is implemented by cmd/top/top_live.c, cmd/top/top_server.c
 * and cmd/top/top_file.c.
 *
 *     ops->wait       returns on new data, a readable watched descriptor, or at the timeout
 *     ops->take       the current data: a time window and the state of the recording
 *     ops->source     the source to query about that window
 *
 * The feed owns the results of take and source until the next take. Between two takes a feed may
 * continue to collect. While it is held, the window of the last take stays unchanged. */
#ifndef CRESSET_TUI_FEED_H
#define CRESSET_TUI_FEED_H

#include <stdbool.h>
#include <stdint.h>

struct err;

struct feed_cpu {
	float user, sys, wait; /* shares of the time since the last take, 0 … 1; wait: for a disk */
};
struct feed_take {
	int64_t from_ns, to_ns;     /* the window, in the times of the source */
	int64_t history_ns;         /* time of the oldest samples, at or before from_ns */
	const struct feed_cpu *cpu; /* NULL: unknown except from samples */
	uint32_t n_cpus;            /* 0: unknown */
	uint64_t rate_hz;           /* requested, per second and CPU; 0: unknown */
	uint64_t samples, lost;     /* so far; lost UINT64_MAX: unknown */
	double own_cpu, bpf_cpu;    /* cost in CPUs; negative: unknown */
	char gpus[512];             /* their state in one line, untrusted text; "": no GPUs */
	char note[160];             /* the current problem, untrusted text; "": none */
};

struct feed;
struct feed_ops {
	/* Returns 0, or -errno with a message if no more data can come. */
	int (*wait)(struct feed *f, int timeout_ms, struct err *err);
	/* Makes wait also return when this descriptor of the caller is readable. */
	int (*watch)(struct feed *f, int fd, struct err *err);
	/* with_waits: include pending waits up to now. */
	int (*take)(struct feed *f, bool with_waits, struct feed_take *out, struct err *err);
	struct source *(*source)(struct feed *f);
	/* NULL if the feed has no later data anyway. */
	void (*hold)(struct feed *f, bool held);
	void (*close)(struct feed *f);
};
struct feed { /* embedded first in the feed's own struct */
	const struct feed_ops *ops;
	const char *what; /* "the whole machine", a server's address, a file's name: untrusted */
	bool goes_on;     /* a later take has more data */
	bool is_live;     /* data of this machine, current */
};

static inline void feed_close(struct feed *f) /* NULL is fine */
{
	if (f)
		f->ops->close(f);
}

#endif
