/* format/perf_data_frames.h: addresses of a perf.data file → frames and stacks of the sink.
 *
 *     a file mapped by a process       {native, mapping(path, build id), address - start + pgoff}
 *     the kernel                       {kernel, [kernel], address as if there were no KASLR}, as the collector's
 *                                      (collect/kernel_space.h)
 *     a kernel module                  {kernel, [ext4], address - start}
 *     a BPF program                    {kernel, "bpf_prog_…", binary [bpf]}: by name
 *     code made at run time            {jit, its name here}, or "[unknown]" in [anon]
 *     anything else                    "[unknown]"
 *
 * In a call chain the first address of each side is where it was; those behind it are return
 * addresses, taken minus 1. A user stack that was kept to be unwound is walked by format_here. */
#ifndef CRESSET_FORMAT_PERF_DATA_FRAMES_H
#define CRESSET_FORMAT_PERF_DATA_FRAMES_H

#include "format/format.h"
#include "format/perf_data_event.h"
#include "format/perf_data_info.h"
#include "format/perf_data_space.h"

enum { PD_MAX_OBJECTS = 1 << 20 };

enum pd_object_kind {
	PD_FILE,      /* frames by file offset */
	PD_CODE,      /* memory with code made at run time */
	PD_KERNEL,    /* frames by address without KASLR */
	PD_MODULE,    /* frames by offset from the start of its code */
	PD_BPF_SYMBOL /* one frame, by name */
};
struct pd_object {
	enum pd_object_kind kind;
	uint32_t name;    /* string of the sink */
	const char *path; /* of PD_FILE; in pd_frames.paths */
	uint64_t identity, inode, generation;
	uint8_t build_id_len, build_id[BUILD_ID_MAX];
	uint64_t start;   /* run-time address of [kernel] and modules */
	uint32_t mapping; /* of the sink, MAPPING_NONE until a frame was given */
};

struct pd_frames {
	struct sink *sink;
	const struct pd_info *info;
	struct pd_world *world;
	const struct format_here *here; /* may be NULL */
	VEC(struct pd_object) objects;
	struct map object_index;
	struct arena paths;
	/* The kernel's own code, where it is known. */
	uint64_t text_start, text_end, text_shift;
	uint32_t text_object;
	VEC(uint32_t) stack; /* being made, leaf first */
};

void pd_frames_init(struct pd_frames *f, struct sink *sink, const struct pd_info *info,
		    struct pd_world *world, const struct format_here *here);
void pd_frames_done(struct pd_frames *f);

/* What a record says of a mapped file; text need not end in NUL. */
struct pd_mapped {
	const char *name;
	size_t name_len;
	const uint8_t *build_id; /* NULL: only what the table of build ids says */
	uint8_t build_id_len;
	uint64_t identity, inode, generation; /* 0: not known */
};

/* The id of an object, added when new; UINT32_MAX past PD_MAX_OBJECTS. */
uint32_t pd_object_of_file(struct pd_frames *f, const struct pd_mapped *m);
uint32_t pd_object_of_symbol(struct pd_frames *f, const char *name, size_t len);

/* The kernel itself, or a module, is at [start, end). text: the run-time address of _text. False past
 * a limit. */
bool pd_frames_add_kernel(struct pd_frames *f, const struct pd_mapped *m, uint64_t start,
			  uint64_t end, uint64_t text);

/* The stack of a sample. cpumode: PERF_RECORD_MISC_KERNEL …, of the record's header. */
uint32_t pd_frames_stack(struct pd_frames *f, const struct pd_sample *s, unsigned cpumode);

#endif
