/* collect/host_processes.h: the busiest processes of an interval: their time on the CPU, and their resident memory.
 *
 *     process_cpu_time{process}       s, counter
 *     process_memory_usage{process}   By, gauge
 *
 * To ask /proc about every process would cost more than profiling does. Who was busy is known already: those that were sampled. Of the
 * HOST_READ_PROCESSES sampled most, /proc/PID/stat is read. Time on the CPU is the kernel's where a process was read at the end of the interval
 * before, too, or began since then; else, as for what has ended meanwhile, samples times their period, which is right on average. Processes of one name are added up: a pid is no
 * label. Names that were not among the busiest before are given with a point at the start of the interval, so that nothing of their growth is
 * missing. Memory is that of the processes of a name that were read; what they share counts in each. */
#ifndef CRESSET_COLLECT_HOST_PROCESSES_H
#define CRESSET_COLLECT_HOST_PROCESSES_H

#include "base/hash.h"
#include "base/vec.h"
#include "bpf/event.h"
#include "collect/host_points.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	HOST_READ_PROCESSES = 64,
	HOST_BUSIEST = 20, /* names that are given */
	/* Whose sums are kept; of more, those that were not busy begin again from 0. */
	HOST_MAX_NAMES = 512,
};

struct host_process {
	uint32_t pid;
	uint32_t name;       /* index in names */
	uint64_t sampled_ns; /* in this interval */
	uint64_t began_ns;   /* since boot */
	uint64_t on_cpu_ns;  /* since then, when it was read last */
	bool is_read;
};
struct host_name {
	char text[EVENT_COMM_LEN];
	double on_cpu_s; /* since it is kept */
	double grew_s;   /* in this interval */
	double resident_bytes;
	bool is_read;   /* resident_bytes is known */
	bool was_given; /* at the end of the interval before */
};

struct host_process_facts {
	uint64_t began_ns, on_cpu_ns, resident_bytes;
};
/* The line in /proc/PID/stat. -EBADMSG: it is none. */
int host_process_parse(struct cur text, uint64_t ticks_per_s, uint64_t page_bytes,
		       struct host_process_facts *out);

struct host_processes {
	/* Of a process that is there; false: it is not. */
	bool (*read)(void *ctx, uint32_t pid, struct host_process_facts *out);
	void *ctx;
	VEC(struct host_process) now, before; /* of this interval; read in the last one */
	VEC(struct host_name) names;
	struct map by_pid, by_name; /* of now; of names */
};
void host_processes_init(struct host_processes *h,
			 bool (*read)(void *ctx, uint32_t pid, struct host_process_facts *out),
			 void *ctx);
void host_processes_done(struct host_processes *h);

/* A sample that stands for so much time. */
void host_processes_sample(struct host_processes *h, uint32_t pid, const char *name,
			   uint64_t on_cpu_ns);
/* The interval is over. start_boot_ns: when it began, since boot; start_ns: the same as Unix time. */
void host_processes_put(struct host_processes *h, uint64_t start_boot_ns, int64_t start_ns,
			struct host_points *w);

#endif
