/* format/perf_data/perf_data_frames.h: converts addresses of a perf.data file to frames and stacks
 * of the sink.
 *
 *     a file mapped by a process       {native, mapping(path, build id), address - start + pgoff}
 *     the kernel                       {kernel, [kernel], address without KASLR}, as in the
 *                                      collector (collect/walker/kernel_space.h)
 *     a kernel module                  {kernel, [ext4], address - start}
 *     a BPF program                    {kernel, "bpf_prog_…", binary [bpf]}: by name
 *     code generated at run time       {jit, its name here}, or "[unknown]" in [anon]; known at
 *                                      the end (perf_data_code.h)
 *     anything else                    "[unknown]"
 *
 * In a call chain the first address of each side is exact; later ones are return addresses, minus
 * 1. A user stack saved for unwinding is unwound by format_here. */
#ifndef CRESSET_FORMAT_PERF_DATA_PERF_DATA_FRAMES_H
#define CRESSET_FORMAT_PERF_DATA_PERF_DATA_FRAMES_H

#include "base/arena.h"
#include "base/hash.h"
#include "base/vec.h"
#include "format/perf_data/perf_data_code.h"
#include "format/perf_data/perf_data_event.h"
#include "format/perf_data/perf_data_info.h"
#include "profile/frame.h"

#include <stdbool.h>
#include <stdint.h>

enum { PD_MAX_OBJECTS = 1 << 20 };

enum pd_object_kind {
	PD_FILE,      /* frames by file offset */
	PD_CODE,      /* memory with code generated at run time */
	PD_KERNEL,    /* frames by address without KASLR */
	PD_MODULE,    /* frames by offset from the start of its code */
	PD_BPF_SYMBOL /* one frame, by name */
};
struct pd_object {
	enum pd_object_kind kind;
	uint32_t name;    /* string of the sink */
	const char *path; /* for PD_FILE; in pd_frames.paths */
	uint64_t identity, inode, generation;
	uint8_t build_id_len, build_id[BUILD_ID_MAX];
	bool shares_build_id; /* with another file: identified by its path */
	uint64_t start;       /* run-time address of [kernel] and modules */
	uint32_t mapping;     /* in the sink; MAPPING_NONE until a frame uses it */
};

struct pd_frames {
	struct sink *sink;
	const struct pd_info *info;
	struct pd_world *world;
	const struct format_here *here; /* may be NULL */
	VEC(struct pd_object) objects;
	struct map object_index;
	struct map by_build_id; /* hash → its first object */
	struct map replaced;    /* identity → whether another file is at its path here */
	struct arena paths;
	struct pd_code code;
	/* The kernel's own code, if known. */
	uint64_t text_start, text_end, text_shift;
	uint32_t text_object;
	VEC(uint32_t) stack; /* being built, leaf first */
	bool has_later;      /* … with frames of pd_code */
};

void pd_frames_init(struct pd_frames *f, struct sink *sink, const struct pd_info *info,
		    struct pd_world *world, const struct format_here *here);
void pd_frames_done(struct pd_frames *f);

/* A record's description of a mapped file; text need not end in NUL. */
struct pd_mapped {
	const char *name;
	size_t name_len;
	const uint8_t *build_id; /* NULL: see the table of build ids */
	uint8_t build_id_len;
	uint64_t identity, inode, generation; /* 0: unknown */
	uint32_t dev_major, dev_minor;        /* of the inode */
};

/* Return the id of an object, adding it if new; UINT32_MAX beyond PD_MAX_OBJECTS. */
uint32_t pd_object_of_file(struct pd_frames *f, const struct pd_mapped *m);
uint32_t pd_object_of_symbol(struct pd_frames *f, const char *name, size_t len);

/* Adds the kernel or a module at [start, end). text: the run-time address of _text. Returns false
 * at a limit. */
bool pd_frames_add_kernel(struct pd_frames *f, const struct pd_mapped *m, uint64_t start,
			  uint64_t end, uint64_t text);

/* Whether an object is memory with code of a process of this host. */
bool pd_frames_has_code(const struct pd_frames *f, uint32_t object);

/* Returns the stack of a sample, or one of pd_code, with PD_LATER. cpumode:
 * PERF_RECORD_MISC_KERNEL …, from the record's header. */
uint32_t pd_frames_stack(struct pd_frames *f, const struct pd_sample *s, unsigned cpumode);

/* Gives the sink the samples that wait, once everything is read. */
void pd_frames_give_held(struct pd_frames *f, const struct pd_wall *w);

#endif
