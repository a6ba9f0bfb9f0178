/* attach/attach_frames.h: the frames of a stopped thread, by the unwind tables of the files that
 * its process has mapped.
 *
 * The words on a stack include stale ones, of earlier calls. Frames are never stale: so they decide
 * whether a thread that allocates all the time is in its allocator now. A walk counts only when
 * rules led from the leaf to the thread's first frame: a frame pointer may skip a caller. */
#ifndef CRESSET_ATTACH_ATTACH_FRAMES_H
#define CRESSET_ATTACH_ATTACH_FRAMES_H

#include "bpf/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct attach_frames;
struct attach_symbols;
struct gpu_attach_view;

/* Returns the frames of a process without any mapping, until attach_frames_update. */
struct attach_frames *attach_frames_new(uint32_t pid, const struct gpu_attach_view *view);
void attach_frames_free(struct attach_frames *f); /* NULL is fine */

/* Reads the mappings, and builds the tables that a walk lacked; libraries of 100 MB take a second.
 * Call it while no thread is stopped. Returns whether the next walk may get further. */
bool attach_frames_update(struct attach_frames *f);

/* Does so before a thread is stopped: reads the mappings, and builds the tables of all files that
 * its frames may be in, by pc and the return addresses on its stack, sp to end. */
void attach_frames_prepare(struct attach_frames *f, uint64_t pc, uint64_t sp, uint64_t end);

/* Returns whether a call instruction of that process ends at addr. Unreadable code counts as
 * one. */
bool attach_frames_is_behind_call(uint32_t pid, uint64_t addr);

struct attach_walk {
	const uint64_t *pc; /* leaf first: an instruction, or the last byte of a call */
	size_t n;           /* valid until the next walk */
	bool is_whole;
	bool is_early;    /* it ended where a table or mapping has not been read yet */
	bool has_handler; /* one of them is a signal handler */
};

/* Walks from the registers (struct pt_regs, bpf/event.h) on. Opens and builds nothing. */
struct attach_walk attach_frames_walk(struct attach_frames *f, const uint64_t regs[PT_REGS_WORDS]);

/* Returns whether a thread with these frames, parked in a system call, holds no lock of an
 * allocator or of the loader. */
bool attach_frames_are_free(struct attach_frames *f, const struct attach_walk *w,
			    const struct attach_symbols *symbols);
/* Returns whether the frame of a condition or semaphore is among them. */
bool attach_frames_wait(const struct attach_walk *w, const struct attach_symbols *symbols);
/* Returns the same for a thread that was stopped between two instructions: here it must also be in
 * nothing else of the C library, which has separate locks for threads. */
bool attach_frames_are_outside(struct attach_frames *f, const struct attach_walk *w,
			       const struct attach_symbols *symbols);

#endif
