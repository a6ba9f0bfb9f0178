/* collect/host/host_processes.h: the busiest processes of an interval: their CPU time, and their
 * resident memory.
 *
 *     process_cpu_time{process}       s, counter
 *     process_memory_usage{process}   By, gauge
 *
 * Reading /proc of every process would cost more than profiling does. The samples show which
 * processes were busy: /proc/PID/stat is read for the HOST_READ_PROCESSES with the most samples.
 * CPU time is the kernel's if a process was also read at the end of the previous interval, or
 * started since. Otherwise, as for ended processes, it is the number of samples times their period,
 * which is right on average. Processes of one name are added up: a pid is no label. A name that was
 * not among the busiest before gets a point at the start of the interval, so that none of its
 * growth is missing. Memory is that of the processes of a name that were read; shared memory counts
 * in each. */
#ifndef CRESSET_COLLECT_HOST_HOST_PROCESSES_H
#define CRESSET_COLLECT_HOST_HOST_PROCESSES_H

#include "base/buf.h"
#include "base/hash.h"
#include "base/vec.h"
#include "bpf/event.h"

#include <stdbool.h>
#include <stdint.h>

struct cur;
struct host_points;

enum {
	HOST_READ_PROCESSES = 64, /* limit: processes whose time and memory are read */
	HOST_BUSIEST = 20,        /* limit: process names given */
	/* Names whose sums are retained. With more, names that were not busy start from 0 again. */
	HOST_MAX_NAMES = 512, /* limit: process names with retained sums */
};

struct host_process {
	uint32_t pid;
	uint32_t name;       /* index in names */
	uint64_t sampled_ns; /* in this interval */
	uint64_t began_ns;   /* start, since boot */
	uint64_t on_cpu_ns;  /* since its start, as last read */
	bool is_read;
};
struct host_name {
	char text[EVENT_COMM_LEN];
	double on_cpu_s; /* since it was added */
	double grew_s;   /* in this interval */
	double resident_bytes;
	bool is_read;   /* resident_bytes is known */
	bool was_given; /* had a point at the end of the previous interval */
};

struct host_process_facts {
	uint64_t began_ns, on_cpu_ns, resident_bytes;
};
/* Parses a line of /proc/PID/stat. -EBADMSG: malformed. */
int host_process_parse(struct cur text, uint64_t ticks_per_s, uint64_t page_bytes,
		       struct host_process_facts *out);

struct host_processes {
	/* Reads an existing process; returns false if it does not exist. */
	bool (*read)(void *ctx, uint32_t pid, struct host_process_facts *out);
	void *ctx;
	VEC(struct host_process) now, before; /* of this interval; as read in the last one */
	VEC(struct host_name) names;
	struct map by_pid, by_name; /* of now; of names */
};
void host_processes_init(struct host_processes *h,
			 bool (*read)(void *ctx, uint32_t pid, struct host_process_facts *out),
			 void *ctx);
void host_processes_done(struct host_processes *h);

/* Adds a sample that stands for on_cpu_ns. */
void host_processes_sample(struct host_processes *h, uint32_t pid, const char *name,
			   uint64_t on_cpu_ns);
/* Ends the interval. start_boot_ns: its start, since boot; start_ns: the same as Unix time. */
void host_processes_put(struct host_processes *h, uint64_t start_boot_ns, int64_t start_ns,
			struct host_points *w);

#endif
