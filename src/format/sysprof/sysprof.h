/* format/sysprof/sysprof.h: captures of sysprof (.syscap), in either byte order.
 *
 *     u32 magic 0xfdca975e, u8 version = 1, u8 bit 0: little endian, u16
 *     char[64] time of the start as text (ISO 8601); u64 start, u64 end    ns, CLOCK_MONOTONIC
 *     to byte 256: zeros
 *
 *     u16 length, i16 cpu, i32 pid, i64 time, u8 type, 7 bytes             a frame, of these types:
 *      2 sample       u16 addresses, u16, i32 thread, u64 addresses
 *      3 map          u64 start, end, offset, inode; file, NUL; "@" and its build id in hex
 *      4 process      command line, or name
 *      5 fork         i32 child;  pid is the thread that called it
 *      6 exit
 *      7 jitmap       u32 number, each u64 address, name
 *     11 metadata     char[40] key, text
 *     12 log          u16 severity, 6 bytes, char[32] domain, text
 *     13 file chunk   u16, u16 length, char[256] name, bytes
 *     14 allocation   u64 address, i64 size (0: freed), i32 thread, u16 addresses, u16, u64 …
 *
 * Addresses are leaf first; the kernel's markers (PERF_CONTEXT_USER …) separate the sides. Frames
 * are not in the order of their times. The embedded file "__symbols__" names addresses:
 * sysprof_symbols.c. Other types (counters, marks, traces, messages) are not read. */
#ifndef CRESSET_FORMAT_SYSPROF_SYSPROF_H
#define CRESSET_FORMAT_SYSPROF_SYSPROF_H

#include "base/buf.h"
#include "base/hash.h"
#include "base/vec.h"
#include "format/common/format.h"
#include "format/perf_data/perf_data_space.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	/* limit: bytes of a capture, decompressed */
	SYSPROF_MAX_BYTES = 1 << 30,
	/* limit: bytes of its symbols, decompressed */
	SYSPROF_MAX_SYMBOLS = 256 << 20,
	/* limit: its names of generated code; later ones are skipped */
	SYSPROF_MAX_JITS = 1 << 22,
};

extern const struct format format_sysprof;

struct give_row;
struct sink;
struct wire;

/* --- sysprof_symbols.c: names that the capture itself has --- */

struct sysprof_jit {
	const char *name; /* in the capture */
	size_t len;
};
struct sysprof_symbols { /* zeroed = empty */
	struct buf packed;
	bool is_packed; /* gzip */
	struct buf table;
	size_t n;
	bool big;
	VEC(struct sysprof_jit) jits;
	struct map by_address; /* → jits */
};

/* Appends a part of the embedded file; data of other files are ignored. */
void sysprof_symbols_add(struct sysprof_symbols *s, const char *file, size_t file_len,
			 struct wire data);
/* Call after the last part. Returns false if the file cannot be read. */
bool sysprof_symbols_ready(struct sysprof_symbols *s, bool big);
/* Adds the rows of a jitmap. Returns false if it is cut, or at the limit. */
bool sysprof_symbols_add_jits(struct sysprof_symbols *s, struct wire w);
/* Returns the name at an address of a process, or NULL. */
const char *sysprof_symbols_find(const struct sysprof_symbols *s, uint32_t pid, uint64_t address,
				 size_t *len);
const struct sysprof_jit *sysprof_symbols_jit(const struct sysprof_symbols *s, uint64_t address);
void sysprof_symbols_done(struct sysprof_symbols *s);

/* --- sysprof_frames.c: addresses to frames of the sink --- */

struct sysprof_object { /* of a map */
	uint32_t at;    /* its file name in the capture */
	uint32_t len;   /* of that and the build id */
	uint32_t mapping;
};
struct sysprof_range { /* a map, whenever it was made */
	uint64_t start, end, pgoff;
	uint32_t pid, object;
};
struct sysprof_frames {
	struct sink *sink;
	const char *bytes; /* the capture */
	struct sysprof_symbols symbols;
	VEC(struct sysprof_object) objects;
	struct pd_world now; /* at the time of a sample */
	/* By pid and start: maps of /proc are sometimes dated later than a sample. */
	VEC(struct sysprof_range) ranges;
	struct map threads; /* tid → pid, where they differ */
	VEC(uint32_t) stack;
};

/* In the first pass: returns the object of a map. sysprof_maps_ready: after the last one. */
uint32_t sysprof_add_range(struct sysprof_frames *f, uint32_t pid, struct wire w);
void sysprof_maps_ready(struct sysprof_frames *f);

/* In the order of their times. sysprof_map returns false at a limit. */
bool sysprof_map(struct sysprof_frames *f, uint32_t pid, uint32_t object, struct wire w);
void sysprof_process(struct sysprof_frames *f, uint32_t pid, struct wire w);
void sysprof_fork(struct sysprof_frames *f, uint32_t parent_tid, uint32_t child);

/* Returns the stack of n addresses, leaf first. is_exact: the first one is where it ran, not a
 * return address. */
uint32_t sysprof_stack(struct sysprof_frames *f, uint32_t pid, struct wire addresses,
		       bool is_exact);
void sysprof_frames_done(struct sysprof_frames *f);

/* --- sysprof_live.c: allocations by stack: made, and never freed --- */

struct sysprof_site { /* a stack of a thread */
	uint32_t stack, pid, tid;
	int64_t objects, bytes, live_objects, live_bytes;
};
struct sysprof_block {
	int64_t size;
	uint32_t site;
};
struct sysprof_live { /* zeroed = empty */
	VEC(struct sysprof_site) sites;
	VEC(struct sysprof_block) blocks; /* ever allocated */
	struct id_index site_index;
	struct map by_address; /* of a process → blocks that live */
};

/* row: stack, pid, tid and the size as value. */
void sysprof_live_add(struct sysprof_live *l, const struct give_row *row, uint64_t address);
void sysprof_live_free(struct sysprof_live *l, uint32_t pid, uint64_t address);
/* Passes the sums to the sink; returns the number of stacks. Call after the last addition.
 * is_shown: all bytes are the default type. */
uint64_t sysprof_live_give(struct sysprof_live *l, struct sink *s, bool is_shown);
void sysprof_live_done(struct sysprof_live *l);

#endif
