/* collect/heap/go_program.h: a Go program with profiles that are read, for go_programs.c and
 * go_locks.c. */
#ifndef CRESSET_COLLECT_HEAP_GO_PROGRAM_H
#define CRESSET_COLLECT_HEAP_GO_PROGRAM_H

#include "base/hash.h"
#include "base/vec.h"
#include "collect/heap/collect_heap.h"
#include "mem/go/go_heap.h"
#include "symbol/elf/elf_file.h"
#include "symbol/elf/elf_layout.h"
#include "symbol/go/gopclntab.h"

#include <stdbool.h>
#include <stdint.h>

struct go_row {
	uint64_t size, allocs, in_use;
	uint64_t given;           /* of allocs */
	uint32_t origin, since_s; /* since_s: as in its label */
};
struct go_lock_row {
	double read_waits; /* the counters, as they were read last */
	uint64_t read_cycles;
	double waits, cycles; /* not passed on yet */
	uint32_t origin, since_s;
	bool has_waited;
};
struct go_locks { /* the profile of mutexes; members as below */
	bool is_off, is_asked, is_read;
	bool is_full; /* there were more stacks than rows */
	uint32_t read_s, since_s;
	double scale; /* of the counters, at this reading */
	struct map index;
	VEC(struct go_lock_row) rows;
};

struct go_program {
	struct collect_heap *h;
	uint32_t pid;
	bool is_open, has_ended, is_read;
	bool is_cut, is_done; /* the last reading: by time; to its end */
	bool is_full;         /* there were more stacks than rows */
	bool is_other;        /* the process runs another program */
	bool skips;           /* earlier allocations than the first reading do not count */
	uint64_t seen_key;    /* always on: in go_seen */
	bool is_off;          /* at the last reading, at read_s (Unix time); rate is the last one */
	bool is_asked;        /* to be switched on, and was not seen on since then */
	uint32_t read_s;
	uint32_t since_s; /* its profile was switched on then, Unix time; 0: it is its own */
	struct go_heap heap;
	uint64_t bias, rate, opened_ns, next_ns, until_ns, ino;
	size_t max_rows, max_lock_rows; /* in this reading */
	int fd;
	struct elf_file file;
	struct elf_layout layout;
	struct gopclntab table;
	struct map index; /* of a bucket's address in rows */
	VEC(struct go_row) rows;
	struct go_locks locks;
};

/* --- go_programs.c ---------------------------------------------------------------------------- */

/* The first problem is shown. */
void go_program_note(struct collect_heap *h, uint32_t pid, const char *text);
void go_program_note_lock(struct collect_heap *h, uint32_t pid, const char *text);
/* Copies the return addresses of a bucket, except addresses of inlined calls. Returns their
 * number. */
uint32_t go_program_stack(struct go_program *p, const struct go_bucket *b,
			  uint64_t stack[GO_HEAP_STACK]);
/* Whether profiles of it that are off may be switched on. */
bool go_program_may_switch(const struct go_program *p);
/* is_on: it was switched on earlier. Returns 0 once it is requested, or -errno. */
int go_program_switch(const struct go_program *p, enum byte_switch_variable variable, bool is_on);

/* --- go_locks.c ------------------------------------------------------------------------------- */

/* Returns as go_locks_read; 0 if its profile is unknown. */
int go_locks_read_program(struct go_program *p, const struct go_heap_memory *m);
void go_locks_switch_on(struct go_program *p);
/* Passes on the waits since the last call. cycle_ns: go_clock_cycle_ns. */
void go_locks_cut(struct go_program *p, uint64_t now_ns, double cycle_ns);
void go_locks_renamed(struct go_program *p, gpu_origin_move *move, void *moves);
void go_locks_done(struct go_program *p);

#endif
