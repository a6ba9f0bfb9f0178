/* format/perf_data/perf_data_frames.h: converts addresses of a perf.data file to frames and stacks
 * of the sink.
 *
 *     a file mapped by a process       {native, mapping(path, build id), address - start + pgoff}
 *     the kernel                       {kernel, [kernel], address without KASLR}, as in the
 *                                      collector (collect/walker/kernel_space.h)
 *     a kernel module                  {kernel, [ext4], address - start}
 *     a BPF program                    {kernel, "bpf_prog_…", binary [bpf]}: by name
 *     code generated at run time       {jit, its name here}, or "[unknown]" in [anon]
 *     anything else                    "[unknown]"
 *
 * In a call chain the first address of each side is exact; later ones are return addresses, minus
 * 1. A user stack saved for unwinding is unwound by format_here. */
#ifndef CRESSET_FORMAT_PERF_DATA_PERF_DATA_FRAMES_H
#define CRESSET_FORMAT_PERF_DATA_PERF_DATA_FRAMES_H

#include "base/arena.h"
#include "base/hash.h"
#include "base/vec.h"
#include "format/perf_data/perf_data_event.h"
#include "profile/frame.h"

#include <stdbool.h>
#include <stdint.h>

/* --- perf_data_info.c ---
 *
 * Metadata of a perf.data file: the sections after its data, or the feature records of a pipe
 * (tools/perf/Documentation/perf.data-file-format.txt in the kernel's source). */

enum pd_feature {
	PD_FEATURE_BUILD_ID = 2,
	PD_FEATURE_HOSTNAME = 3,
	PD_FEATURE_OSRELEASE = 4,
	PD_FEATURE_ARCH = 6,
	PD_FEATURE_NRCPUS = 7,
	PD_FEATURE_CMDLINE = 11,
	PD_FEATURE_EVENT_DESC = 12,
	PD_FEATURE_CLOCK_DATA = 29,
	PD_FEATURES = 256,
};
enum { PD_MAX_FEATURE_BYTES = 64 << 20, PD_MAX_BUILD_IDS = 1 << 20 };

struct pd_build_id {
	const char *path;
	uint8_t len, id[BUILD_ID_MAX];
};
struct pd_info { /* zeroed = empty */
	struct arena text;
	const char *host, *kernel, *arch, *command; /* NULL: unknown */
	uint32_t cpus;                              /* online */
	/* The wall clock at a time on the samples' clock; both 0: unknown. */
	uint64_t wall_ns, clock_ns;
	VEC(struct pd_build_id) build_ids;
	struct map by_path;
};

void pd_info_done(struct pd_info *i);

/* Reads the known parts of a section; names the events it describes. */
void pd_info_feature(struct pd_info *i, struct pd_events *e, uint64_t feature, struct wire data);

/* Whether pd_info_feature uses this feature. */
bool pd_info_wants(uint64_t feature);

/* Adds a record of the build id table: `misc` of its header, and the bytes after that header. */
void pd_info_build_id(struct pd_info *i, uint16_t misc, struct wire record);

/* Returns the build id of the file mapped under this path, or NULL. */
const struct pd_build_id *pd_info_find_build_id(const struct pd_info *i, const char *path,
						size_t len);

/* --- addresses --- */

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
	uint64_t start;   /* run-time address of [kernel] and modules */
	uint32_t mapping; /* in the sink; MAPPING_NONE until a frame uses it */
};

struct pd_frames {
	struct sink *sink;
	const struct pd_info *info;
	struct pd_world *world;
	const struct format_here *here; /* may be NULL */
	VEC(struct pd_object) objects;
	struct map object_index;
	struct map replaced; /* identity → whether another file is at its path here */
	struct arena paths;
	/* The kernel's own code, if known. */
	uint64_t text_start, text_end, text_shift;
	uint32_t text_object;
	VEC(uint32_t) stack; /* being built, leaf first */
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

/* Returns the stack of a sample. cpumode: PERF_RECORD_MISC_KERNEL …, from the record's header. */
uint32_t pd_frames_stack(struct pd_frames *f, const struct pd_sample *s, unsigned cpumode);

#endif
