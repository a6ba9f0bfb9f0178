/* collect/heap/collect_heap.h: the collector's part for allocations of programs that have the
 * library (mem/inject/library.h): opens the memory with its blocks in use, requests samples as long
 * as the recording runs, and joins blocks with the stacks that the resolver has of them.
 *
 *     seen       a process maps the library: its memory is there some ms later
 *     applied    in time order: a fork, an exec, an end
 *     begin_cut  copies the rows; until cut, the resolver gets their stacks
 *     cut        puts sums by stack into the sink
 *
 * A recording with an end has one cut. Always on, each cut has the allocations since the last one,
 * and one in six also has the memory in use.
 *
 * In a recording with an end a process that has ended counts with its memory in use at its end. A
 * child of fork has separate memory from its first sample on; until then it counts nothing. */
#ifndef CRESSET_COLLECT_HEAP_COLLECT_HEAP_H
#define CRESSET_COLLECT_HEAP_COLLECT_HEAP_H

#include "base/hash.h"
#include "base/vec.h"
#include "collect/gpu/gpu_beats.h"
#include "collect/gpu/gpu_probes.h"
#include "collect/heap/heap_opts.h"
#include "collect/kernel/sampler.h"
#include "collect/kernel/side_band.h"
#include "collect/resolve/gpu_origins.h"
#include "collect/resolve/resolve.h"
#include "mem/go/go_heap.h"
#include "mem/live/live_read.h"
#include "mem/switch/byte_switch.h"

#include <stdbool.h>
#include <stdint.h>

struct heap_program {
	struct heap_owner owner;
	struct live live; /* memory NULL: not opened yet */
	bool has_run;     /* was seen to sample */
	uint64_t next_ns, pause_ns, until_ns;
	/* Always on: not selected, so taken only if a person has attached it (live_decide). */
	bool by_hand;
	const void *watched; /* of one that is not taken: a person's decision; NULL: not known */
	uint64_t old_rows;   /* rows up to this number are of earlier recordings */
	uint64_t counted;    /* samples up to this number are in the statistics */
	uint64_t counted_dropped;
	struct live_block *rows; /* copied by begin_cut; n_rows */
	size_t n_rows;
	bool is_cut;      /* there were more */
	uint64_t rung_ns; /* last request to run again */
	/* When it was seen to map the library; again: last, maybe after an exec that is handled
	 * later. */
	uint64_t mapped_ns, again_ns;
};

struct go_program;
struct java_program;
struct collect_heap { /* zeroed = not recorded */
	const struct sampler_opts *asked;
	const struct heap_opts *opts;
	struct sampler *sampler;
	struct resolver *resolver;
	struct proc_reader *reader;
	struct gpu_probes *probes;
	struct gpu_beats *beats;
	VEC(struct heap_program) programs;
	VEC(struct go_program *) go;
	VEC(struct java_program *) java;
	struct byte_switch byte_switch;
	bool has_switch; /* it is wanted, also while it is not running */
	struct go_clock go_clock;
	struct map go_seen;        /* processes at the last search, by pid and start */
	uint64_t next_snapshot_ns; /* always on */
	uint32_t n_cuts;
	bool is_snapshot; /* the current cut */
	struct heap_stats stats;
	bool is_on;     /* allocations or mutexes are recorded */
	bool is_memory; /* allocations are */
	bool is_ending; /* of Go: this is the last reading */
};

/* What the resolver calls. */
struct resolve_links;
void collect_heap_hooks(struct collect_heap *h, struct resolve_links *links,
			const struct sampler_opts *asked);
/* Everything that h points to is set, and stays the caller's. Probes the library that a command
 * will load. */
void collect_heap_open(struct collect_heap *h);
void collect_heap_done(struct collect_heap *h);

/* Finds programs that have the library, or HotSpot, already. */
void collect_heap_scanned(struct collect_heap *h);
/* The same, and waits until they sample, 7 s at most. Probes are placed. */
void collect_heap_start(struct collect_heap *h);
/* Returns whether the process has mapped one of them. */
bool collect_heap_seen(struct collect_heap *h, const struct side_record *r);
/* The same in time order, after the resolver has handled the record. */
void collect_heap_applied(struct collect_heap *h, const struct side_record *r);
/* Returns when it wants to run again; UINT64_MAX: never. */
uint64_t collect_heap_due_ns(const struct collect_heap *h);
void collect_heap_run(struct collect_heap *h, uint64_t now_ns);

void collect_heap_begin_cut(struct collect_heap *h, uint64_t now_ns);
void collect_heap_cut(struct collect_heap *h, uint64_t now_ns);
/* Stops sampling; the libraries park. */
void collect_heap_stop(struct collect_heap *h, uint64_t now_ns);

/* --- go_programs.c ---------------------------------------------------------------------------- */

/* Programs of Go: their runtime profiles its own heap, and nothing runs in them. The profile is
 * read once a second, as it ends with the process; always on for each cut, and less often where
 * that takes more than 0.2 % of a CPU. */

/* Looks whether the process is one. exec_ns: since when; 0: it may have allocated already, which
 * does not count as allocated. Returns whether it is one, or may be. */
bool go_programs_add(struct collect_heap *h, uint32_t pid, uint64_t exec_ns);
/* Always on: looks at processes that have come since the last call. */
void go_programs_search(struct collect_heap *h, uint64_t now_ns);
/* The switch is another one: it has to know these programs. */
void go_programs_renew_switch(struct collect_heap *h);
void go_programs_ended(struct collect_heap *h, uint32_t pid);
uint64_t go_programs_due_ns(const struct collect_heap *h);
void go_programs_run(struct collect_heap *h, uint64_t now_ns, bool all);
/* Between resolve_heap_begin and resolve_heap_end. */
void go_programs_cut(struct collect_heap *h, uint64_t now_ns);
/* For resolve_links.heap_renamed. */
void go_programs_renamed(void *heap, gpu_origin_move *move, void *moves);
void go_programs_done(struct collect_heap *h);

/* --- java_programs.c -------------------------------------------------------------------------- */

/* Programs of Java: their runtime samples allocations (runtime/hotspot_sampler.h), if a byte is
 * set. Only selected programs are taken: by -p, a command, --mem-switch. */

/* Finds programs that run already, and missed ones. */
void java_programs_scanned(struct collect_heap *h);
/* Returns whether the process has mapped HotSpot. */
bool java_programs_seen(struct collect_heap *h, const struct side_record *r);
/* Of an exec, or an end: the HotSpot that it mapped before is gone. */
void java_programs_ended(struct collect_heap *h, uint32_t pid, uint64_t time_ns);
uint64_t java_programs_due_ns(const struct collect_heap *h);
void java_programs_run(struct collect_heap *h, uint64_t now_ns);
/* Waits until all found programs sample, 2 s at most. */
void java_programs_start(struct collect_heap *h);
/* As go_programs_renew_switch. */
void java_programs_renew_switch(struct collect_heap *h);
/* For resolve_links.java_weight. */
double java_programs_weight(void *heap, uint32_t pid, const struct gpu_info *g);
void java_programs_done(struct collect_heap *h);

#endif
